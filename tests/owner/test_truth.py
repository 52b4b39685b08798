"""The filter over columns is that of three-valued logic, row by row."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.owner.columns import Kind, Wanted
from trueup.owner.plain import Plain, plain, storage_of
from trueup.owner.truth import kept
from trueup.owner.where import Combined, Comparison, Part

KINDS: dict[str, tuple[Kind, pa.DataType]] = {
    "whole": ("integer", pa.int64()),
    "real": ("number", pa.float64()),
    "text": ("text", pa.string()),
    "flag": ("boolean", pa.bool_()),
}
VALUES: dict[str, Any] = {
    "whole": st.sampled_from([0, 1, 2, 2**63 - 1, -(2**63)]),
    "real": st.sampled_from([0.0, -0.0, 1.5, math.inf, -math.inf]),
    "text": st.sampled_from(["", "a", "A", "b"]),
    "flag": st.booleans(),
}
SIGNS = ["=", "!=", "in"]


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    column = draw(st.sampled_from(list(KINDS)))
    ranged = ["<", "<=", ">", ">=", "between"] if column in ("whole", "real") else []
    sign = draw(st.sampled_from(SIGNS + ranged))
    value = VALUES[column].filter(lambda v: v not in (math.inf, -math.inf))
    length = 2 if sign == "between" else 3 if sign == "in" else 1
    return Comparison(column, sign, tuple(draw(value) for _ in range(length)))


parts = st.recursive(
    comparisons(),
    lambda inner: st.one_of(
        st.builds(Combined, st.just("not"), st.tuples(inner)),
        st.builds(Combined, st.sampled_from(["and", "or"]), st.tuples(inner, inner)),
    ),
    max_leaves=8,
)
rows = st.fixed_dictionaries(
    {
        name: st.none() | values | (st.just(math.nan) if name == "real" else st.nothing())
        for name, values in VALUES.items()
    }
)


def truth(part: Part, row: dict[str, Any]) -> bool | None:
    """What a filter says of a row: true, false, or neither."""
    if isinstance(part, Comparison):
        x, values = row[part.column], part.values
        if x is None or x != x:
            return None
        return {
            "=": lambda: x == values[0],
            "!=": lambda: x != values[0],
            "<": lambda: x < values[0],
            "<=": lambda: x <= values[0],
            ">": lambda: x > values[0],
            ">=": lambda: x >= values[0],
            "in": lambda: x in values,
            "between": lambda: values[0] <= x <= values[1],
        }[part.sign]()
    inner = [truth(one, row) for one in part.parts]
    if part.word == "not":
        return None if inner[0] is None else not inner[0]
    decisive = part.word == "or"
    if decisive in inner:
        return decisive
    return None if None in inner else not decisive


@given(parts, st.lists(rows, min_size=1, max_size=10))
def test_a_row_is_kept_where_the_whole_filter_is_true(
    part: Part, table: list[dict[str, Any]]
) -> None:
    columns = {}
    for name, (kind, stored) in KINDS.items():
        column = pa.array([row[name] for row in table], stored)
        wanted = Wanted(name, storage_of(stored), kind, name)
        columns[name] = (wanted, plain(column, len(table), wanted))
    assert kept(part, columns).tolist() == [truth(part, row) is True for row in table]


@pytest.mark.parametrize("kind", ["integer", "number", "time"])
def test_between_holds_both_its_ends(kind: Kind) -> None:
    values = np.arange(5).astype(np.float64 if kind == "number" else np.int64)
    wanted = Wanted("x", "float" if kind == "number" else "integer", kind, "filter0")
    column = Plain(values, np.ones(5, np.bool_))
    part = Comparison("x", "between", (1, 3))
    assert kept(part, {"x": (wanted, column)}).tolist() == [False, True, True, True, False]
    assert kept(Combined("not", (part,)), {"x": (wanted, column)}).tolist() == [
        True, False, False, False, True,
    ]  # fmt: skip


def test_and_or_and_not_are_those_of_three_values() -> None:
    """All pairs and triples of true, false and unknown, as they are and under not."""
    for number, word in itertools.product((2, 3), ("and", "or")):
        every = list(itertools.product((1, 0, None), repeat=number))
        names = [f"c{place}" for place in range(number)]
        columns = {}
        for place, name in enumerate(names):
            wanted = Wanted(name, "integer", "integer", name)
            column = pa.array([row[place] for row in every], pa.int64())
            columns[name] = (wanted, plain(column, len(every), wanted))
        part = Combined(word, tuple(Comparison(name, "=", (1,)) for name in names))
        rows = [dict(zip(names, row, strict=True)) for row in every]
        for asked in (part, Combined("not", (part,)), Combined("not", (Combined("not", (part,)),))):
            assert kept(asked, columns).tolist() == [truth(asked, row) is True for row in rows]
