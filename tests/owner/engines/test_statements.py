"""The statements that engines run, in DuckDB as a third one: filters, groups and units by numpy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.owner.graph import Graph
from trueup.owner.request import Request
from trueup.owner.where import checked, parse

from .duck_engine import run, wanted

RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("y = 2", lambda y, t: y == 2),
        ("y != 2", lambda y, t: y is not None and y != 2),
        ("y between 1 and 3 and not t in ('p', 'q')", lambda y, t: 1 <= (y or 0) <= 3 and t == "r"),
        ("y < 1 or t = 'q'", lambda y, t: (y is not None and y < 1) or t == "q"),
    ],
)
def test_a_filter_keeps_the_rows_that_python_keeps(where: str, kept: Any) -> None:
    axis = tu.Axis.integers("x", 0, 9)
    x = RNG.integers(0, 10, 200).tolist()
    y = [None if v == 4 else v for v in RNG.integers(0, 5, 200).tolist()]
    t = RNG.choice(["p", "q", "r"], 200).tolist()
    part = checked(parse(where), {"y": "integer", "t": "text"})
    compared = (wanted("y", "integer", "where0"), wanted("t", "text", "where1"))
    request = Request(10, (wanted("x", "integer", "value"),), (axis,), part, compared)
    table = pa.table({"x": x, "y": pa.array(y, pa.int64()), "t": t})
    expected = [v for v, one, other in zip(x, y, t, strict=True) if kept(one, other)]
    assert expected
    assert run(table, request).tolist() == np.bincount(expected, minlength=10).tolist()


@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_of_each_unit_so_many_rows_count_and_none_of_no_unit(rows_per_unit: int) -> None:
    axis = tu.Axis.integers("x", 0, 4)
    units = [None if v == 9 else v for v in RNG.integers(0, 10, 100).tolist()]
    x = RNG.integers(-1, 6, 100).tolist()
    table = pa.table({"x": x, "who": pa.array(units, pa.int64())})

    def counted(key: str) -> np.ndarray:
        unit = wanted("who", "integer", "unit")
        value = wanted("x", "integer", "value")
        return run(table, Request(5, (value,), (axis,), None, (), unit, rows_per_unit, key))

    inside = Counter(u for u, v in zip(units, x, strict=True) if u is not None and 0 <= v <= 4)
    expected = sum(min(number, rows_per_unit) for number in inside.values())
    seen = {tuple(counted(key).tolist()) for key in ("aa", "ab", "ac", "ad")}
    assert {sum(each) for each in seen} == {expected}
    assert len(seen) > 1  # the key chooses
    assert counted("aa").tolist() == counted("aa").tolist()


@pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])
def test_degrees_are_those_of_sets_of_neighbours(kind: str) -> None:
    ends = RNG.integers(0, 12, (60, 2)).tolist()
    neighbours: dict[int, set[int]] = {}
    for a, b in ends:
        if kind != "bipartite" and a == b:
            continue
        neighbours.setdefault(a, set()).add(b)
        if kind == "undirected":
            neighbours.setdefault(b, set()).add(a)
    table = pa.table({"a": [e[0] for e in ends] + [1], "b": [e[1] for e in ends] + [None]})
    values = (wanted("a", "integer", "source"), wanted("b", "integer", "target"))
    graph = Graph("a", "b", kind)
    found = run(table, Request(50, values, graph=graph))
    assert sorted(found.tolist()) == sorted(len(each) for each in neighbours.values())
    assert run(table, Request(50, values, graph=graph, number=True)).tolist() == [len(neighbours)]


def test_of_more_groups_than_were_declared_the_largest_are_kept() -> None:
    names = RNG.choice(list("abcdefghij"), 200, p=np.arange(1, 11) / 55).tolist()
    sizes = sorted(Counter(names).values(), reverse=True)
    for most in (1, 4, 10, 50):
        request = Request(most, (wanted("n", "text", "value"),))
        found = run(pa.table({"n": [*names, None]}), request)
        assert sorted(found.tolist(), reverse=True) == sizes[:most]
