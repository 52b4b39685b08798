"""The statements that engines run, in DuckDB as a third one: cells, groups and units by numpy."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.owner.columns import Kind, Wanted
from trueup.owner.engines import statements
from trueup.owner.graph import Graph
from trueup.owner.request import Request
from trueup.owner.where import checked, parse


@dataclass(frozen=True)
class DuckRows:
    """Rows of DuckDB: a statement around a statement."""

    statement: str

    def select(self, columns: Mapping[str, str]) -> DuckRows:
        listed = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
        return DuckRows(f"SELECT {listed} FROM ({self.statement})")

    def adding(self, name: str, expression: str) -> DuckRows:
        return DuckRows(f"SELECT *, {expression} AS {name} FROM ({self.statement})")

    def where(self, condition: str) -> DuckRows:
        return DuckRows(f"SELECT * FROM ({self.statement}) WHERE {condition}")

    def sizes(self, by: Sequence[str]) -> DuckRows:
        listed = ", ".join([*by, "count(*) AS rows"])
        grouped = f" GROUP BY {', '.join(by)}" if by else ""
        return DuckRows(f"SELECT {listed} FROM ({self.statement}){grouped}")

    def located(self, column: str, edges: Sequence[float], name: str) -> DuckRows:
        steps = [f"CASE WHEN {column} >= {edge!r}::DOUBLE THEN 1 ELSE 0 END" for edge in edges]
        inside = f"{column} >= {edges[0]!r}::DOUBLE AND {column} < {edges[-1]!r}::DOUBLE"
        return self.adding(name, f"CASE WHEN {inside} THEN {' + '.join(steps)} - 1 END")


class DuckSpelling:
    """Columns are in their plain form already."""

    number = "DOUBLE"
    searched = 8

    def plain(self, wanted: Wanted) -> str:
        return f'"{wanted.column}"'

    def text(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def digest(self, value: str) -> str:
        return f"sha256({value})"

    def mixed(self, key: str, wholes: Sequence[str], digests: Sequence[str]) -> str:
        return f"sha256(concat_ws('/', '{key}', {', '.join([*wholes, *digests])}))"

    def quotient(self, whole: str, width: int) -> str:
        return f"{whole} // {width}"

    def both(self, first: str, second: str) -> str:
        return f"unnest([{first}, {second}])"


def run(table: pa.Table, request: Request) -> np.ndarray:
    with duckdb.connect() as connection:
        connection.register("given", table)
        rows = statements.counted(DuckRows("SELECT * FROM given"), request, DuckSpelling())
        relation = connection.sql(rows.statement)
        found = relation.fetchall()
        columns = {name: [row[i] for row in found] for i, name in enumerate(relation.columns)}
    return statements.answer(request, columns)


def wanted(column: str, kind: Kind, name: str) -> Wanted:
    return Wanted(column, "something else", kind, name)


def microseconds(*days: str) -> list[int]:
    start = dt.datetime(1970, 1, 1)
    each = [dt.datetime.fromisoformat(day) - start for day in days]
    return [one // dt.timedelta(microseconds=1) for one in each]


RNG = np.random.default_rng(1)
NUMBERS = [*RNG.uniform(-20, 130, 300).tolist(), 0.0, 1.0, 50.0, 99.999, 100.0, 1e308, -1e308]
EDGES = [*range(0, 101, 10), *(0.1 + np.arange(402) * 77.2 / 401).tolist()]
NUMBERS += [np.nextafter(edge, side) for edge in EDGES for side in (-1e9, edge, 1e9)]
TIMES = microseconds("2019-12-31 23:59:59.999999", "2020-01-01", "2020-02-29 12:00", "2021-03-01")
TIMES += [TIMES[1] + int(x) for x in RNG.integers(-(10**14), 10**14, 200)]
WHOLE = [*range(-5, 40), 2**63 - 1, -(2**63), 2**32 - 1]
AXES: list[tuple[tu.Axis, Kind, list[Any]]] = [
    (tu.Axis.integers("x", 0, 30), "integer", WHOLE),
    (tu.Axis.integers("x", -(2**62), -(2**62) + 3), "integer", [*WHOLE, -(2**62), 3 - 2**62]),
    (tu.Axis.regular("x", 0, 100, bins=5), "number", NUMBERS),
    (tu.Axis.regular("x", 0, 100, bins=10), "number", NUMBERS),
    (tu.Axis.regular("x", 1, 77, bins=41), "number", NUMBERS),
    (tu.Axis.regular("x", 0.1, 77.3, bins=401), "number", NUMBERS),
    (tu.Axis.edges("x", [0, 1, 10, 50, 100]), "number", NUMBERS),
    (tu.Axis.dates("x", "2020-01-01", "2020-12-31"), "time", TIMES),
    (tu.Axis.dates("x", "2020-01", "2021-02", "month"), "time", TIMES),
    (tu.Axis.dates("x", "2019", "2022", "year"), "time", TIMES),
    (tu.Axis.ipv4("x", "0.0.0.0/27", 30), "address", [*range(40), 2**32 - 1]),
    (tu.Axis.codes("x", [3, 7, 8, 31, 35], {"ten": 1, "one": 2}), "integer", WHOLE),
]


@pytest.mark.parametrize(
    ("axis", "kind", "values"), AXES, ids=[f"{axis.size} {axis.cells}"[:40] for axis, *_ in AXES]
)
def test_values_are_counted_in_the_cells_that_numpy_finds(
    axis: tu.Axis, kind: Kind, values: list[Any]
) -> None:
    request = Request(axis.size, (wanted("x", kind, "value"),), (axis,))
    plain = np.array(values, np.float64 if kind == "number" else np.int64)
    cells = axis.place(plain)
    expected = np.bincount(cells[cells >= 0], minlength=axis.size)
    assert expected.sum() > 0
    assert expected.sum() < len(values)
    found = run(pa.table({"x": pa.array([*plain.tolist(), None])}), request)
    assert found.tolist() == expected.tolist()


def test_labels_are_counted_and_a_grid_has_the_cells_of_both() -> None:
    letters = tu.Axis.categories("x", ["a", "it's", "ü"])
    whole = tu.Axis.integers("y", 0, 2)
    x = ["a", "it's", "ü", "a", "A", None, "ü", "b"]
    y = [0, 1, 2, 3, 0, 1, None, 2]
    table = pa.table({"x": x, "y": pa.array(y, pa.int64())})
    values = (wanted("x", "text", "value0"), wanted("y", "integer", "value1"))
    alone = run(table, Request(3, (wanted("x", "text", "value"),), (letters,)))
    assert alone.tolist() == [2, 1, 2]
    both = run(table, Request(9, values, (letters, whole)))
    assert both.reshape(3, 3).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


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


def test_the_least_whole_number_has_a_literal() -> None:
    with duckdb.connect() as connection:
        for value in (-(2**63), -1, 0, 2**63 - 1):
            assert connection.execute(f"SELECT {statements.whole(value)}").fetchone() == (value,)
