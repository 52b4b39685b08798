"""Cells inside engines: values are counted in those that numpy finds, windows are what they say."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.owner.columns import Kind
from trueup.owner.request import Request

from .duck_engine import run, wanted

RNG = np.random.default_rng(1)


def microseconds(*days: str) -> list[int]:
    start = dt.datetime(1970, 1, 1)
    each = [dt.datetime.fromisoformat(day) - start for day in days]
    return [one // dt.timedelta(microseconds=1) for one in each]


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
    table = pa.table({"x": pa.array([*plain.tolist(), None])})
    assert run(table, request).tolist() == expected.tolist()
    for window in ((0, 1), (1, axis.size), (axis.size // 2, axis.size - 1)):
        found = run(table, replace(request, window=window))
        assert found.tolist() == expected[slice(*window)].tolist(), window


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
    for window in ((0, 2), (2, 7), (4, 5), (8, 9)):
        found = run(table, Request(9, values, (letters, whole), window=window))
        assert found.tolist() == both[slice(*window)].tolist(), window
