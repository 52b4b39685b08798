"""Tallies of names and whose rows count, against plain Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.owner import tally
from trueup.owner.tally import Tally, bounded, sizes, together, whole

KEY = "5e" * 32
names = st.sampled_from([b"", b"a", b"\xff", b"a\x00", b"x" * 50])
numbers = st.sampled_from([0, -1, 2**63 - 1, -(2**63), 2**53, 2**53 + 1])


def tallied(rows: list[tuple[Any, Any]], parts: int = 3) -> pa.Table:
    made = Tally()
    for part in range(parts):
        some = rows[part::parts]
        made.add(
            {
                "unit": _array([unit for unit, _ in some], rows[0][0]),
                "value": _array([value for _, value in some], rows[0][1]),
            }
        )
    return made.table


def _array(values: list[Any], like: Any) -> pa.Array:
    return pa.array(values, pa.large_binary() if isinstance(like, bytes) else pa.int64())


def counted(table: pa.Table) -> Counter[tuple[Any, Any]]:
    return Counter({(r["unit"], r["value"]): r["rows"] for r in table.to_pylist()})


tables = st.one_of(
    *(
        st.lists(st.tuples(units, values), min_size=1, max_size=60)
        for units in (names, numbers)
        for values in (names, numbers)
    )
)


@pytest.mark.parametrize(("at_once", "short"), [(1, 0), (7, 1 << 30), (7, 100), (1 << 20, 0)])
def test_rows_are_counted_by_their_names_to_the_byte(
    at_once: int, short: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally, "_AT_ONCE", at_once)
    monkeypatch.setattr(tally, "_SHORT", short)

    @given(tables, st.integers(1, 5))
    def law(rows: list[tuple[Any, Any]], parts: int) -> None:
        assert counted(tallied(rows, parts)) == Counter(rows)
        # The same by several tallies, as threads have them, some of which are empty.
        each = [Tally() for _ in range(parts)]
        for number, (unit, value) in enumerate(rows):
            names = {"unit": _array([unit], unit), "value": _array([value], value)}
            each[number * number % parts].add(names)
        assert counted(together(each)) == Counter(rows)

    law()
    assert together([Tally(), Tally()]) is None


def test_short_offsets_reach_all_names_that_have_them() -> None:
    assert np.iinfo(np.int32).max > tally._SHORT  # of a table's bytes, its names are a part


@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_of_each_unit_so_many_rows_are_kept_and_no_more(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally, "_AT_ONCE", at_once)

    @given(tables, st.integers(1, 5))
    def law(rows: list[tuple[Any, Any]], most: int) -> None:
        full, few = Counter(rows), counted(bounded(tallied(rows), most, KEY))
        assert all(few[row] <= full[row] for row in few)
        for unit in {unit for unit, _ in rows}:
            has = sum(n for (u, _), n in full.items() if u == unit)
            assert sum(n for (u, _), n in few.items() if u == unit) == min(has, most)

    law()


@given(tables, st.integers(1, 3), st.randoms())
def test_the_choice_depends_on_a_units_own_rows_alone(
    rows: list[tuple[Any, Any]], most: int, random: Any
) -> None:
    unit = random.choice(rows)[0]
    before = counted(bounded(tallied(rows), most, KEY))
    others = [row for row in rows if row[0] != unit]
    random.shuffle(others)
    if others:
        after = counted(bounded(tallied(others), most, KEY))
        assert after == Counter({row: n for row, n in before.items() if row[0] != unit})


def test_the_choice_follows_the_key() -> None:
    rows = [(unit, value) for unit in range(50) for value in range(10)]
    first, again = (counted(bounded(tallied(rows), 2, KEY)) for _ in range(2))
    assert first == again
    assert first != counted(bounded(tallied(rows), 2, "00" * 32))


@pytest.mark.parametrize("values", [list(range(10)), [b"%d" % i for i in range(10)]])
def test_each_row_of_a_unit_has_the_same_chance(values: list[Any]) -> None:
    # Nine rows in one cell and one each in two: of 4,000 units, 1 row each.
    rows = [(unit, values[0]) for unit in range(4000) for _ in range(8)]
    rows += [(unit, values[cell]) for unit in range(4000) for cell in (1, 2)]
    few = counted(bounded(tallied(rows), 1, KEY))
    for cell, share in ((0, 0.8), (1, 0.1), (2, 0.1)):
        kept = sum(n for (_, value), n in few.items() if value == values[cell])
        assert abs(kept - 4000 * share) < 5 * (4000 * share * (1 - share)) ** 0.5


@given(st.lists(numbers, max_size=9), st.integers(0, 9), st.integers(0, 9))
def test_a_part_of_a_column_is_that_part(values: list[int], start: int, length: int) -> None:
    part = pa.array(values, pa.int64()).slice(start, length)
    assert whole(part).tolist() == part.to_pylist() == whole(pa.chunked_array([part])).tolist()


@given(st.lists(st.integers(1, 9), min_size=1), st.integers(1, 9))
def test_of_too_many_groups_the_largest_are_kept(rows: list[int], most: int) -> None:
    found = sizes(pa.table({"rows": pa.array(rows, pa.int64())}), most)
    assert sorted(found.tolist()) == sorted(rows)[-most:]
    assert found.dtype == np.int64
