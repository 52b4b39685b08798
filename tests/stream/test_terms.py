"""What a stream says of itself to a ledger, and what a ledger does for a stream."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import trueup as tu
from trueup.errors import BudgetError, FileError, InputError, LedgerError
from trueup.stream.keeping import answers_of
from trueup.stream.past import PastSchedule
from trueup.stream.schedule import Schedule
from trueup.stream.terms import StreamTerms

TERMS = StreamTerms(
    Schedule.best(30), tu.Cost.of("1/2"), "replace", "user", 3, 2,
    tu.Axis.integers("age", 0, 9), "f" * 32,
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "visits.stream"


@pytest.fixture
def ledger(tmp_path: Path) -> tu.Ledger:
    return tu.Ledger(tmp_path / "table.ledger", limit=1)


def test_terms_are_written_and_read() -> None:
    windows = replace(TERMS, schedule=PastSchedule(30, 1000), cost=tu.Cost.of(rho="1/9"))
    for terms in (TERMS, replace(TERMS, axis=None), windows):
        assert StreamTerms.from_json(terms.to_json()) == terms
    assert (TERMS.rows, TERMS.cells) == (6, 10)


def test_it_is_said_whom_the_cost_protects() -> None:
    assert TERMS.protected == "user"
    assert replace(TERMS, steps_per_unit=1).protected == "user in one step"
    assert replace(TERMS, steps_per_unit=1, unit="row").protected == "row"
    assert "id" not in TERMS.request()
    assert TERMS.request()["unit"] == "user"


@pytest.mark.parametrize("cost", [{"epsilon": "1/2"}, {"rho": "1/2"}])
def test_what_protects_a_step_of_somebody_is_not_charged_as_what_protects_them(
    path: Path, cost: dict[str, str]
) -> None:
    """Whoever is in many steps would lose the cost of each: their charges do not add up."""
    limit = {"rho": 9} if "rho" in cost else {"limit": 9}
    whom = {"unit": "user", "rows_per_unit": 2}
    ledger = tu.Ledger(path.with_name("l"), **limit, unit="user", neighbours="add-remove")  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="protects"):
        tu.Stream.open(path, **cost, **whom, ledger=ledger)  # type: ignore[arg-type]
    assert not ledger.history()
    tu.Stream.open(path, **cost, **whom, steps_per_unit=5, ledger=ledger).leave()  # type: ignore[arg-type]
    assert [charge.charged.amount for charge in ledger.history()] == [Fraction(1, 2)]
    other = tu.Ledger(path.with_name("m"), **limit)  # type: ignore[arg-type]
    tu.Stream.open(path.with_name("s"), **cost, **whom, ledger=other).leave()  # type: ignore[arg-type]
    table = tu.Owner(pa.table({"user": [1], "x": [0]}), other, unit="user", rows_per_unit=2)
    with pytest.raises(LedgerError, match="protects"):
        table.measure(tu.CellCounts(tu.Axis.integers("x", 0, 1)), **cost)  # type: ignore[arg-type]


def test_a_stream_is_charged_once_for_its_whole_life(path: Path, ledger: tu.Ledger) -> None:
    with tu.Stream.open(path, epsilon="2/3", steps=9, ledger=ledger, key="visits") as stream:
        for count in range(4):
            stream.step(count)
    with tu.Stream.resume(path, ledger) as stream:
        stream.step(4)
        stream.close()
    assert ledger.spent == Fraction(2, 3)
    assert ledger.last_step("visits") is not None
    with pytest.raises(BudgetError):
        tu.Stream.open(path.with_name("b"), epsilon="1/2", ledger=ledger)
    assert not path.with_name("b").exists()


def test_a_ledger_in_rho_charges_half_the_square(path: Path, tmp_path: Path) -> None:
    ledger = tu.Ledger(tmp_path / "rho.ledger", rho=1)
    tu.Stream.open(path, epsilon="1/2", ledger=ledger).leave()
    assert ledger.spent == Fraction(1, 8)


def test_a_ledger_refuses_older_copies_of_both_files(path: Path, ledger: tu.Ledger) -> None:
    with tu.Stream.open(path, epsilon="1/2", ledger=ledger) as stream:
        stream.step(1)
    copies = [shutil.copy(each, f"{each}.copy") for each in (path, answers_of(path))]
    with tu.Stream.resume(path, ledger) as stream:
        stream.step(2)
    for copy, place in zip(copies, (path, answers_of(path)), strict=True):
        shutil.copy(copy, place)
    with pytest.raises(FileError, match="not the one that its ledger knows"):
        tu.Stream.resume(path, ledger)


def test_of_two_copies_only_one_goes_on(path: Path, ledger: tu.Ledger) -> None:
    tu.Stream.open(path, epsilon="1/2", ledger=ledger).leave()
    other = path.with_name("other")
    shutil.copy(path, other)
    with tu.Stream.resume(path, ledger) as one, tu.Stream.resume(other, ledger) as two:
        one.step(1)
        with pytest.raises(LedgerError, match="older copy"):
            two.step(1)
        assert two.steps == 0


@pytest.mark.parametrize("told", [True, False])
def test_a_crash_around_the_ledger_loses_no_step(
    path: Path, ledger: tu.Ledger, monkeypatch: pytest.MonkeyPatch, told: bool
) -> None:
    """Killed before the ledger knows a step, it was not taken; after that, it was."""
    with tu.Stream.open(path, epsilon="1/2", ledger=ledger) as stream:
        stream.step(1)

        def die(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            if told:
                patched.setattr("trueup.stream.keeping.os.replace", _only_drafts(os.replace))
            else:
                patched.setattr(type(ledger), "take_step", die)
            with pytest.raises(KeyboardInterrupt):
                stream.step(2)
    with tu.Stream.resume(path, ledger) as stream:
        assert stream.steps == 1 + told
        stream.step(3)
        assert len(stream.answers) == 2 + told


def _only_drafts(replace_file):  # type: ignore[no-untyped-def]
    def replaced(source: Path, target: Path) -> None:
        if str(source).endswith(".next"):
            raise KeyboardInterrupt
        replace_file(source, target)

    return replaced


def test_a_charge_whose_stream_was_never_made_is_used(
    path: Path, ledger: tu.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    given = {"epsilon": "1/2", "ledger": ledger, "key": "visits"}
    with monkeypatch.context() as patched:
        patched.setattr("trueup.stream.mechanism.Secret.start", die)
        with pytest.raises(KeyboardInterrupt):
            tu.Stream.open(path, **given)  # type: ignore[arg-type]
    with tu.Stream.open(path, **given) as stream:  # type: ignore[arg-type]
        stream.step(1)
    (charge,) = ledger.history()
    assert stream.terms.id == ledger.stored(charge).decode()  # the name that was paid for
    assert ledger.spent == Fraction(1, 2)
    with pytest.raises(InputError, match="was opened before"):
        tu.Stream.open(path.with_name("b"), **given)  # type: ignore[arg-type]


def test_a_stream_is_resumed_with_its_own_ledger(
    path: Path, ledger: tu.Ledger, tmp_path: Path
) -> None:
    tu.Stream.open(path, epsilon="1/2", ledger=ledger).leave()
    with pytest.raises(InputError, match="was opened with a ledger: give it"):
        tu.Stream.resume(path)
    with pytest.raises(InputError, match="does not know the stream"):
        tu.Stream.resume(path, tu.Ledger(tmp_path / "other.ledger", limit=1))
    tu.Stream.open(path.with_name("b"), epsilon=1).leave()
    with pytest.raises(InputError, match="was opened with no ledger"):
        tu.Stream.resume(path.with_name("b"), ledger)
    with pytest.raises(InputError, match="A key is for the ledger"):
        tu.Stream.open(path.with_name("c"), epsilon=1, key="c")
