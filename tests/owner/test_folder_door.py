"""What the door to a folder does before the charge, and what a refused charge leaves behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import trueup as tu
from trueup._kernels.noise import laplace_tables
from trueup.ask import Question
from trueup.facts import Facts
from trueup.owner.folder import FolderDoor
from trueup.owner.source import open_source
from trueup.scale import FolderJob

AXIS = tu.Axis.integers("place", 0, 9)
ROWS = pl.DataFrame({"place": [1, 2, 2, 7], "who": [1, 1, 2, 3], "kind": [0, 1, 1, 0]})
TREE = tu.TreeCounts(AXIS, radices=(2, 5), shares=("0", "1/3", "2/3"))
LINES = tu.GridCounts(tu.CellCounts(tu.Axis.integers("kind", 0, 1)), TREE)


@pytest.mark.parametrize("question", [TREE, LINES], ids=["tree", "lines"])
def test_the_tables_of_the_noise_that_is_drawn_are_made_before_the_charge(
    question: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the unit's rows and of the relation: another scale's tables would be missed later."""
    ledger = tu.Ledger(tmp_path / "ledger", limit=9)
    owner = tu.Owner(ROWS, ledger, unit="who", rows_per_unit=3)
    before, real = set[Any](), laplace_tables.tables

    def noted(scale: Fraction) -> Any:
        if not ledger.spent:
            before.add(scale)
        return real(scale)

    monkeypatch.setattr(laplace_tables, "tables", noted)
    found = owner.publish(question, 1, neighbours="replace", to=tmp_path / "out")
    assert found.facts.noise.scales == (18, 9)  # 2 · 3 over the share
    assert before >= {18, 9}


def test_a_plan_whose_charge_is_refused_is_deleted_though_another_process_made_it(
    tmp_path: Path,
) -> None:
    """Killed before the charge, asked again when nothing is left: the folder is free again."""
    ledger = tu.Ledger(tmp_path / "ledger", limit=1)
    owner = tu.Owner(ROWS, ledger)
    FolderJob.open(tmp_path / "out", Facts.of(tu.TreeCounts(AXIS), 1), "k", ledger.name)
    owner.measure(tu.CellCounts(AXIS), "1/2")
    with pytest.raises(tu.BudgetError):
        owner.publish(tu.TreeCounts(AXIS), 1, to=tmp_path / "out", nonnegative=False, key="k")
    assert not list(tmp_path.glob("out*"))
    owner.publish(tu.CellCounts(AXIS), "1/2", to=tmp_path / "out")


def test_a_graph_goes_to_no_folder_and_is_not_charged(tmp_path: Path) -> None:
    """An edge adds to two nodes: cells of one of its columns are no question about edges."""
    ledger = tu.Ledger(tmp_path / "ledger", limit=1)
    owner = tu.Owner(ROWS, ledger, edges=("place", "who"))
    with pytest.raises(tu.InputError, match="degree sequence"):
        owner.publish(tu.TreeCounts(AXIS), 1, to=tmp_path / "out")
    assert not ledger.spent
    assert not list(tmp_path.glob("out*"))


def test_a_source_of_one_connection_is_opened_by_one_measurement_at_a_time(tmp_path: Path) -> None:
    owner = tu.Owner(ROWS, tu.Ledger(tmp_path / "ledger", limit=1))
    source, turns = open_source(ROWS), list[str]()

    @contextlib.contextmanager
    def turn() -> Iterator[None]:
        turns.append("begins")
        yield
        turns.append("ends")

    def prepare(request: Any) -> Any:
        turns.append("opened")
        return source.prepare(request)

    door = FolderDoor(owner, replace(source, prepare=prepare), turn())
    door.publish(AXIS, tu.Cost.of(1), tmp_path / "out", None, True, None, {})
    assert turns == ["begins", "opened", "ends"]
