"""What is said of a release wherever one of its numbers stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import trueup as tu
from trueup.cli import app
from trueup.facts import Facts, counted_rows
from trueup.server.releases import caption

HOUR = tu.Axis.integers("hour", 0, 23)
TRIPS = pa.table(
    {
        "user": np.repeat(np.arange(50), 20),
        "hour": np.tile(np.arange(20), 50),
        "fare": np.tile(np.arange(20), 50) % 7,
    }
)
CAPPED = "t most 3 rows of each user are counted: true totals may be higher"
"""With or without a capital letter."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tu.Measurement:
    ledger = tu.Ledger(tmp_path_factory.mktemp("ledger") / "l", limit=9)
    owner = tu.Owner(TRIPS, ledger, unit="user", rows_per_unit=3)
    return owner.measure(tu.TreeCounts(HOUR), 1)


def run(*arguments: object) -> str:
    ran = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert ran.exit_code == 0, ran.output
    return " ".join(ran.output.split())


def words(markup: str) -> str:
    """The words of a drawing or caption, without its tags and lines."""
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


SHOWN: dict[str, Callable[[Any], str]] = {
    "repr of a release": repr,
    "repr of a total": lambda release: repr(release.total()),
    "repr of a share": lambda release: repr(release.range(0, 5) / release.total()),
    "describe": lambda release: release.total().describe(),
    "describe of a share": lambda release: (release.range(0, 5) / release.total()).describe(),
    "notebook": lambda release: words(release._repr_html_()),
    "picture": lambda release: words(release.plot().layout.annotations[0].text),
}


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("way", [{}, {"nonnegative": True, "integers": True}])
def test_every_number_says_that_rows_of_a_unit_are_left_out(
    shown: str, way: dict[str, bool], measured: tu.Measurement
) -> None:
    release = tu.infer(measured, **way)
    assert CAPPED in SHOWN[shown](release)


@pytest.mark.parametrize("command", ["query", "show", "quantile", "infer"])
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_every_command_that_prints_numbers_says_so(
    command: str, as_json: list[str], measured: tu.Measurement, tmp_path: Path
) -> None:
    file = tmp_path / "m.parquet"
    measured.save(file)
    given = {"query": ["0:12"], "quantile": ["0.5"], "infer": ["-o", tmp_path / "r.parquet"]}
    if command == "infer" and as_json:
        return  # it prints no number
    assert CAPPED in run(command, file, *given.get(command, []), *as_json)


def test_files_and_server_say_so(measured: tu.Measurement, tmp_path: Path) -> None:
    assert CAPPED in repr(measured)
    assert CAPPED in caption(measured.facts)
    measured.save(tmp_path / "m.parquet")
    tu.infer(measured).save(tmp_path / "r.json")
    assert CAPPED in str(pq.read_schema(tmp_path / "m.parquet").metadata)
    assert CAPPED in (tmp_path / "r.json").read_text()
    assert tu.load(tmp_path / "m.parquet").facts == measured.facts
    both = tu.reconcile([measured, tu.measure(np.full(24, 6), tu.CellCounts(HOUR), 1)])
    assert CAPPED in repr(both)
    assert CAPPED in repr(both.total())


def test_counts_of_rows_say_nothing_of_the_kind() -> None:
    release = tu.publish(TRIPS, HOUR, 1)
    for words in (repr(release), release.total().describe(), release._repr_html_()):
        assert "true totals" not in words
    assert Facts.of(tu.CellCounts(HOUR), 1, unit="edge").capped == ""
    assert counted_rows("user", 1) == (
        "at most 1 row of each user is counted: true totals may be higher"
    )


def test_a_unit_without_a_number_of_rows_is_refused(tmp_path: Path) -> None:
    ledger = tu.Ledger(tmp_path / "l", limit=1)
    for ask in (
        lambda: tu.Owner(TRIPS, ledger, unit="user"),
        lambda: tu.publish(TRIPS, HOUR, 1, unit="user"),
        lambda: tu.measure(np.zeros(24, int), tu.CellCounts(HOUR), 1, unit="user"),
    ):
        with pytest.raises(tu.InputError, match=r"unit='user' goes with rows_per_unit="):
            ask()
    assert ledger.spent == 0
    (tmp_path / "trueup.toml").write_text(
        "[datasets.x]\nsource='x.parquet'\nledger='x.ledger'\nlimit='1'\nunit='user'\n"
    )
    from trueup.config import read_config

    with pytest.raises(tu.FileError, match="goes with rows_per_unit="):
        read_config(tmp_path / "trueup.toml")
