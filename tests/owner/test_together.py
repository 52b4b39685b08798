"""Several questions, one charge and one pass: the counts are those of each by itself."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.ask import Neighbours
from trueup.cost import Cost
from trueup.errors import InputError, LedgerError
from trueup.owner import together
from trueup.owner.together import (
    Standing,
    Together,
    complete_all,
    measure_together,
    spend_together,
    stored_answers,
)

FARE = tu.Axis.integers("fare", 0, 9)
TOWN = tu.Axis.categories("town", ["a", "b"])


def table(rows: int = 3000) -> pa.Table:
    chance = np.random.default_rng(3)
    days = np.datetime64("2026-03-01") + chance.integers(0, 3, rows)
    towns = pa.array(chance.choice(["a", "b", "c"], rows)).dictionary_encode()
    return pa.table(
        {
            "fare": chance.integers(0, 12, rows),
            "user": [f"u{n}" for n in chance.integers(0, 50, rows)],
            "town": towns,
            "at": pa.array(days.astype("datetime64[us]")),
        }
    )


QUESTIONS = [
    (tu.CellCounts(FARE), None),
    (tu.CellCounts(FARE), "town = 'a'"),
    (tu.TreeCounts(FARE, branching=2), None),
    (tu.GridCounts(tu.CellCounts(FARE), tu.CellCounts(TOWN)), "fare > 2"),
    (tu.SortedCounts(60, by="user", adaptive=False), None),
]


def standing(cost: Cost) -> list[Standing]:
    return [Standing(f"s{n}", question, cost, part) for n, (question, part) in enumerate(QUESTIONS)]


def owner(folder: Path, source: object, limit: object, **options: Any) -> tu.Owner:
    name = f"l{len(list(folder.iterdir()))}"
    return tu.Owner(source, tu.Ledger(folder / name, limit=limit, per="day", date="at"), **options)


@pytest.mark.parametrize("unit", [{}, {"unit": "user", "rows_per_unit": 10**5}])
def test_one_pass_counts_what_each_question_counts(tmp_path: Path, unit: dict[str, Any]) -> None:
    """Also over files that store a column in two types, which no pass can put together."""
    whole = table()
    narrow = whole.set_column(0, "fare", whole["fare"].cast(pa.int16()))
    for number, part in enumerate((whole[:1000], narrow[1000:2000], whole[2000:])):
        pq.write_table(part, tmp_path / f"t{number}.parquet", row_group_size=100)
    certain = Cost.of(1000 * unit.get("rows_per_unit", 1))
    for source in (whole, str(tmp_path / "t*.parquet")):
        door = owner(tmp_path, source, 10**12, **unit)
        found = measure_together(door, standing(certain), "2026-03-02", "k")
        for n, (question, part) in enumerate(QUESTIONS):
            alone = door.measure(question, certain, where=part, period="2026-03-02")
            assert found[f"s{n}"].noisy.tolist() == alone.noisy.tolist()
            assert found[f"s{n}"].facts.period == alone.facts.period
        assert sum(found["s0"].noisy) > 0


@pytest.mark.parametrize(
    ("unit", "neighbours"),
    [({}, "add-remove"), ({"unit": "user", "rows_per_unit": 3}, "replace")],
)
def test_each_answer_has_the_noise_of_its_question_by_itself(
    tmp_path: Path, unit: dict[str, Any], neighbours: Neighbours
) -> None:
    """Rows of a unit, relation, cost, period: all that decides the noise, and what is told."""
    door = owner(tmp_path, table(), 100, **unit)
    found = measure_together(door, standing(Cost.of("1/9")), "2026-03-02", "k", neighbours)
    for n, (question, part) in enumerate(QUESTIONS):
        how: Any = {"where": part, "neighbours": neighbours, "period": "2026-03-02"}
        alone = door.measure(question, "1/9", **how)
        assert found[f"s{n}"].noise == alone.noise
        assert replace(found[f"s{n}"].facts, id=None) == replace(alone.facts, id=None)


def test_noise_too_large_for_many_rows_is_refused_before_the_charge(tmp_path: Path) -> None:
    """Of one row it could be drawn."""
    fine = Standing("x", QUESTIONS[0][0], Cost.of("1e-9"))
    measure_together(owner(tmp_path, table(), 1), [fine], "2026-03-01", "k")
    door = owner(tmp_path, table(), 1, unit="user", rows_per_unit=10**6)
    with pytest.raises(InputError):
        measure_together(door, [fine], "2026-03-01", "k")
    assert door.ledger.history() == ()


def test_all_are_charged_at_once_and_the_same_key_gives_the_same_bytes(tmp_path: Path) -> None:
    door = owner(tmp_path, table(), 1)
    first = measure_together(door, standing(Cost.of("1/10")), "2026-03-01", "k")
    again = measure_together(door, standing(Cost.of("1/10")), "2026-03-01", "k")
    assert first == again
    assert door.ledger.spent_in("2026-03-01") == Fraction(1, 2)
    (charge,) = door.ledger.history()
    assert complete_all(door, [charge])[0] == first
    assert stored_answers(door.ledger.stored(charge)) == first
    assert {name: m.epsilon for name, m in first.items()} == dict.fromkeys(first, Fraction(1, 10))


def test_costs_in_epsilon_are_added_up_as_the_ledger_counts_them(tmp_path: Path) -> None:
    ledger = tu.Ledger(tmp_path / "r", rho=1, per="day", date="at")
    door = tu.Owner(table(), ledger)
    mixed = [*standing(Cost.of("1/10"))[:1], Standing("r", QUESTIONS[1][0], Cost.of(rho="1/8"))]
    found = measure_together(door, mixed, "2026-03-01", "k")
    assert ledger.spent_in("2026-03-01") == Fraction(1, 200) + Fraction(1, 8)
    assert (found["s0"].rho, found["r"].epsilon) == (None, None)


def test_what_can_fail_fails_before_the_charge(tmp_path: Path) -> None:
    door = owner(tmp_path, table(), 1)
    bad = Standing("x", tu.CellCounts(tu.Axis.integers("none", 0, 3)), Cost.of("1/10"))
    tiny = Standing("y", QUESTIONS[0][0], Cost.of("1e-14"))
    for wrong in (bad, tiny):
        with pytest.raises((InputError, tu.SourceError)):
            measure_together(door, [*standing(Cost.of("1/10")), wrong], "2026-03-01", "k")
    for wrong_list in ([], [*standing(Cost.of("1/10")), *standing(Cost.of("1/10"))]):
        with pytest.raises(InputError, match="each its own"):
            measure_together(door, wrong_list, "2026-03-01", "k")
    assert door.ledger.history() == ()


def test_a_charge_is_completed_only_for_those_it_protects(tmp_path: Path) -> None:
    door = owner(tmp_path, table(), 1, unit="user", rows_per_unit=2)
    measure_together(door, standing(Cost.of("1/10")), dt.date(2026, 3, 1), "k")
    other = tu.Owner(table(), door.ledger, unit="user", rows_per_unit=3)
    with pytest.raises(LedgerError, match="charged for 2 rows of each user"):
        complete_all(other, [door.ledger.history()[0]])
    charge = door.ledger.history()[0]
    said = json.loads(charge.request)
    said["period"]["periods"][0][1] += 1
    with pytest.raises(LedgerError, match="time zones have changed since"):
        complete_all(door, [replace(charge, request=json.dumps(said))])
    with pytest.raises(LedgerError, match="holds no answers"):
        stored_answers(b"x")


def test_in_one_pass_only_units_in_their_turn_count(tmp_path: Path) -> None:
    ledger = tu.Ledger(tmp_path / "l", limit=10**9, per="day", date="at", periods_per_unit=(2, 9))
    door = tu.Owner(table(), ledger, unit="user", rows_per_unit=1000)
    certain = Cost.of(10**6)
    asked = [Standing("one", tu.SortedCounts(60, by="user", adaptive=False), certain)]
    asked += [Standing("two", tu.CellCounts(FARE), certain)]
    found = measure_together(door, asked, "2026-03-02", "k")
    for one in asked:
        alone = door.measure(one.question, certain, period="2026-03-02")
        assert found[one.name].noisy.tolist() == alone.noisy.tolist()
    assert 0 < np.count_nonzero(found["one"].noisy) < 30  # of fifty about eleven


@pytest.mark.parametrize("unit", [{}, {"unit": "user", "rows_per_unit": 10**5}])
def test_several_days_are_counted_in_one_pass_as_each_by_itself(
    tmp_path: Path, unit: dict[str, Any]
) -> None:
    certain = Cost.of(900 * unit.get("rows_per_unit", 1))
    days = ["2026-03-03", "2026-03-01", "2026-03-02"]
    door = owner(tmp_path, table(), 10**9, **unit)
    passes = []
    together = door._source.together
    assert together is not None

    def counted(requests: Any) -> Any:
        count = together(requests)
        return lambda: (passes.append(len(requests)), count())[1]

    door._source = replace(door._source, together=counted)
    asked = [Together.of(door, standing(certain), day, day) for day in days]
    found, wrong = spend_together(door, asked)
    assert wrong is None
    assert passes == [3 * len(QUESTIONS)]
    assert [[*charge.periods] for charge in door.ledger.history()] == [[day] for day in days]
    alone = owner(tmp_path, table(), 10**9, **unit)
    for day, answers in zip(days, found, strict=True):
        by_itself = measure_together(alone, standing(certain), day, day)
        for name, each in answers.items():
            assert (each.noisy == by_itself[name].noisy).all()
            assert each.facts.period.names == (day,)
    assert complete_all(door, door.ledger.history()) == found
    assert passes == [3 * len(QUESTIONS)]


def test_days_before_one_that_cannot_be_charged_are_answered(tmp_path: Path) -> None:
    door = owner(tmp_path, table(), 1)
    measure_together(door, standing(Cost.of("1/10"))[:1], "2026-03-02", "before")
    small, days = standing(Cost.of("19/100")), ["2026-03-01", "2026-03-02", "2026-03-03"]
    asked = [Together.of(door, small[1:], day, day) for day in days]
    door.measure(tu.CellCounts(FARE), "1/2", period="2026-03-02")
    found, wrong = spend_together(door, asked)
    assert isinstance(wrong, tu.BudgetError)
    assert len(found) == 1
    assert door.ledger.spent_in("2026-03-01") == Fraction(76, 100)
    assert door.ledger.spent_in("2026-03-02") == Fraction(6, 10)
    assert door.ledger.spent_in("2026-03-03") == 0
    assert all(charge.answer is not None for charge in door.ledger.history())


def test_one_stored_answer_is_handed_out_only_if_it_is_private() -> None:
    good = tu.measure(np.zeros(10, int), tu.CellCounts(FARE), 1)
    bad = replace(good, private=False)
    kept = together._packed({"good": good, "bad": bad})
    assert together.stored_answer(kept, "good") == good.to_bytes()
    with pytest.raises(tu.NoiseError, match="NOT PRIVATE"):
        together.stored_answer(kept, "bad")
    with pytest.raises(LedgerError, match="no answer called"):
        together.stored_answer(kept, "other")
    with pytest.raises(LedgerError, match="no answers to several"):
        together.stored_answer(good.to_bytes(), "good")


def test_what_another_process_stored_first_is_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = owner(tmp_path, table(), 10)
    asked = Together.of(mine, standing(Cost.of("1/10")), "2026-03-01", "k")
    packed, first = together._packed, []

    def late(measured: Any) -> bytes:
        if not first:  # while this one is drawn, another process is quicker
            monkeypatch.setattr(together, "_packed", packed)
            first.append(spend_together(mine, [asked])[0][0])
        return packed(measured)

    monkeypatch.setattr(together, "_packed", late)
    (found,), wrong = spend_together(mine, [asked])
    assert wrong is None
    assert found == first[0]
    assert len(mine.ledger.charges) == 1
