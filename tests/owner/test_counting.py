"""Counting in an engine puts every float into the bin that numpy puts it into."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.owner.engines.bins import _arithmetic

EXAMPLES = [
    (0, 128, 1024, "multiply"),
    (0, 10, 64, "multiply and divide"),
    (0, 1, 10, "multiply and step back"),
    (-5, 5, 77, "compare"),
    (0, 24, 1440, "compare"),
    (0, 100, 1000, "multiply and step back"),
    (1e15, 1e15 + 64, 64, "multiply"),
]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> tu.Ledger:
    folder: Path = tmp_path_factory.mktemp("ledger")
    return tu.Ledger(folder / "ledger", limit=1)


@pytest.mark.parametrize(("low", "high", "bins", "way"), EXAMPLES)
def test_the_least_arithmetic_that_is_exact_is_chosen(
    low: float, high: float, bins: int, way: str
) -> None:
    assert _arithmetic(tu.Axis.regular("x", low, high, bins).cells)[0] == way


def check_beside_edges(axis: tu.Axis, polars: bool, ledger: tu.Ledger) -> None:
    """Every edge and its two neighbours among the floats fall as numpy's search has them."""
    import polars as pl

    edges = axis.cells.edges_at(np.arange(axis.size + 1))
    x = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
    table = pa.table({"x": x})
    owner = tu.Owner(pl.from_arrow(table) if polars else table, ledger)
    counted = owner._prepare(tu.CellCounts(axis), None, False)()
    inside = x[(x >= edges[0]) & (x < edges[-1])]
    expected = np.bincount(np.searchsorted(edges, inside, side="right") - 1, minlength=axis.size)
    assert counted.tolist() == expected.tolist()


@pytest.mark.parametrize("polars", [False, True])
@pytest.mark.parametrize(("low", "high", "bins", "way"), EXAMPLES)
def test_each_way_is_exact_beside_every_edge(
    low: float, high: float, bins: int, way: str, polars: bool, ledger: tu.Ledger
) -> None:
    check_beside_edges(tu.Axis.regular("x", low, high, bins), polars, ledger)


@given(
    low=st.one_of(st.integers(-1000, 1000), st.floats(-1e6, 1e6)),
    width=st.one_of(st.integers(1, 1000), st.floats(1e-3, 1e6)),
    bins=st.integers(1, 300),
    polars=st.booleans(),
)
def test_values_beside_an_edge_fall_as_numpy_has_them(
    low: float, width: float, bins: int, polars: bool, ledger: tu.Ledger
) -> None:
    check_beside_edges(tu.Axis.regular("x", low, low + width, bins), polars, ledger)
