"""Parts of axes: never beyond, never finer, and every edge an edge of what was declared."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.config import Dataset
from trueup.server.questions import Asked, asking, part_of

AXES = [
    tu.Axis.regular("x", 0, 96, 480),
    tu.Axis.integers("x", 1, 120),
    tu.Axis.edges("x", [0, 1, 2.5, 7, 100]),
    tu.Axis.dates("x", "2012-12-15", "2013-03-31"),
    tu.Axis.dates("x", "2013-01-01T00", "2013-01-03T23", "hour"),
    tu.Axis.ipv4("x", "10.0.0.0/8", 12),
    tu.Axis.categories("x", ["a", "b", "c"]),
    tu.Axis.hierarchy("x", {"CA": ["Kern", "Napa"], "NV": ["Clark"]}),
]


def edges(axis: tu.Axis) -> list[Any]:
    return [axis.cells.edge(index) for index in range(axis.size + 1)]


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: str(axis.to_json()["kind"]))
@given(data=st.data())
def test_a_part_is_made_of_declared_cells(axis: tu.Axis, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, axis.size - 1))
    stop = data.draw(st.integers(start + 1, axis.size))
    cells = data.draw(st.none() | st.integers(1, stop - start) | st.integers(1, 12))
    ends = data.draw(st.sampled_from([None, (axis.cells.edge(start), axis.cells.edge(stop))]))
    try:
        part = part_of(axis, ends, cells)
    except tu.InputError:
        assert cells is not None or (ends is not None and (start, stop) != (0, axis.size))
        return
    assert part.name == axis.name
    if cells is not None:
        assert part.size == cells
    # Every edge of the part is an edge of the axis, in the axis's own words or its level's.
    first, last = (0, axis.size) if ends is None else (start, stop)
    found = [axis.span(None, edge)[1] for edge in edges(part)[:-1] if edge is not None]
    if found and not part.has_nodes:
        assert found[0] == first
        assert all(first <= cell <= last for cell in found)


@pytest.mark.parametrize("cells", [0, -1, 1 << 30])
@pytest.mark.parametrize("axis", AXES, ids=lambda axis: str(axis.to_json()["kind"]))
def test_finer_than_declared_is_refused(axis: tu.Axis, cells: int) -> None:
    with pytest.raises(tu.InputError):
        part_of(axis, None, cells)


def test_a_month_of_days_may_be_asked_by_itself() -> None:
    day = AXES[3]
    part = part_of(day, ("2013-02-01", "2013-03-01"), None)
    assert (part.size, part.cells.edge(0), part.cells.edge(28)) == (28, "2013-02-01", "2013-03-01")
    assert part_of(day, ("2013-01-01", "2013-03-01"), 2).size == 2


@pytest.mark.parametrize(("graph", "price"), [("undirected", 2), ("directed", 1), ("bipartite", 1)])
def test_degrees_are_asked_as_the_library_asks_them(graph: str, price: int) -> None:
    ledger = Path("friends.ledger")
    friends = Dataset(
        "friends", "edges", ledger, Fraction(1), edges=("src", "dst"), graph=graph, nodes=5000
    )
    asked = Asked(None, None, None, Fraction(1, 2), "best", None, None)
    found = asking(friends, asked, most_cells=5000)
    assert found.question == tu.YoungCounts(5000, ends=price)
    assert found.question.price() == price
    with pytest.raises(tu.InputError, match="more than this server answers"):
        asking(friends, asked, most_cells=4999)


def test_sizes_of_groups_are_asked_as_the_library_asks_them() -> None:
    words = tu.Axis.integers("word", 0, 399)
    table = Dataset("t", "t", Path("t.ledger"), Fraction(1), axes={"word": words})
    asked = Asked("word", None, None, Fraction(1), "sorted", None, None)
    assert asking(table, asked, most_cells=400).question == tu.YoungCounts(400, by="word")
