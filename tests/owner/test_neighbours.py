"""The neighbour machine, at the size of every day; `make neighbours` goes on for longer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from neighbour_draw import family
from neighbour_machine import Machine, Outcome, Tally, judged
from neighbour_run import IN_PROCESS
from neighbour_stores import ENGINES
from neighbour_tables import Servers

FAMILIES = {"parquet-spark": 3, "spark": 5, "postgresql": 6}  # of other engines: 8
MEMBERS = {"spark": 8}  # tables of a family, of other engines: 6
# Families that tell themselves in version 0.1, which the machine was first run on.
KNOWN = {
    "parquet-pyarrow": (
        438,  # NaN is counted in the last cell until a value off the axis comes
        159, 304,  # a NaN on a regular axis reaches a cast, after the charge
        22,  # t[1].parquet is there and t1.parquet is counted
        1, 39,  # text that is not UTF-8
        45,  # long unit ids, which a planted cast to a float merged
    ),
    "arrow": (
        325,  # unit ids of 18 digits merge in a float
        1,  # a time in seconds at 10^17
        14,  # a unit that is not UTF-8
    ),
    "csv": (13,),  # a path with brackets in it
    "duckdb-relation": (240, 249),  # labels under a collation
    "pandas": (10, 16),  # a lone surrogate, before the charge
    "postgresql": (52,),  # labels under a collation
}  # fmt: skip


@pytest.fixture(scope="module")
def machine(postgres: Callable[[], str], spark: Callable[[], Any]) -> Iterator[Machine]:
    made = Machine(Servers(postgres, spark))
    yield made
    made.close()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.filterwarnings("ignore")  # of the writers: values past what they hold
def test_one_record_changes_counts_by_its_price_and_nothing_else(
    engine: str, machine: Machine
) -> None:
    tally = Tally()
    for seed in {*range(FAMILIES.get(engine, 8)), *KNOWN.get(engine, ())}:
        tally.add(machine.run(engine, seed, MEMBERS.get(engine, 6)))
    assert not tally.violations, "\n".join(map(str, tally.violations))
    # A machine whose tables cannot be written, or whose questions all fail, would find nothing.
    assert tally.pairs >= 50, tally
    assert tally.answered >= 0.9 * tally.pairs, (tally, tally.errors)
    assert tally.moved >= 0.1 * tally.pairs, tally


def test_the_daily_families_are_two_thousand_pairs() -> None:
    pairs = 0
    for engine in ENGINES:
        for seed in range(FAMILIES.get(engine, 8)):
            drawn = family(engine, seed, MEMBERS.get(engine, 6))
            tables = len(drawn.extras)
            each = tables - 1 if drawn.relation == "add-remove" else tables * (tables - 1) // 2
            pairs += each * len(drawn.asks)
    assert pairs >= 2000
    assert len(IN_PROCESS) == 11


def test_every_relation_unit_filter_and_question_is_drawn() -> None:
    drawn = [family(engine, seed, 2) for engine in ENGINES for seed in range(60)]
    asks = [ask for one in drawn for ask in one.asks]
    assert {one.relation for one in drawn} == {"add-remove", "replace"}
    assert {one.options.get("rows_per_unit") for one in drawn} == {None, 1, 2, 3}
    assert {ask.where is None for ask in asks} == {True, False}
    kinds = {type(ask.question).__name__ for ask in asks}
    assert len(kinds) >= 6, kinds  # cells, trees, hats, grids, sorted, and none for count_groups
    axes = {spec["kind"] for ask in asks if (spec := _axis(ask))}
    assert axes == {"integers", "regular", "edges", "categories", "dates", "ipv4", "hierarchy"}
    assert {one.columns["v"].family for one in drawn if "v" in one.columns} == {
        "integer", "float", "decimal", "text", "date", "time",
    }  # fmt: skip


def _axis(ask: Any) -> Any:
    axis = getattr(ask.question, "axis", None)
    return None if axis is None else axis.to_json()


def test_the_law_fires() -> None:
    blocks = ((2, Fraction(1)), (1, Fraction(1, 2)))
    import numpy as np

    one = Outcome((1, 2), "", Fraction(1), Fraction(1), np.array([1, 2, 3]), blocks)
    assert judged(one, one) is None
    near = replace(one, counts=(1, 2), answers=np.array([1, 2, 5]))
    assert judged(one, near) is None  # two steps at half the weight
    far = replace(one, answers=np.array([2, 2, 4]))
    assert "moved by 3/2, the price is 1" in str(judged(one, far))
    charged = replace(one, counts=None, error="SourceError: no")
    assert "charged 1 and not answered" in str(judged(charged, charged))
    failed = replace(charged, charge=Fraction(0))
    assert "another outcome" in str(judged(one, failed))
    assert "another outcome" in str(judged(failed, replace(failed, error="SourceError: No")))
    assert "another charge" in str(judged(one, replace(one, charge=Fraction(2))))
    assert judged(failed, failed) is None
