"""What analysts ask is put as the library itself puts it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import trueup as tu
from trueup.budget import Budget
from trueup.config import Dataset
from trueup.cost import Cost
from trueup.server.questions import Asked, AskedPart, asking


@pytest.mark.parametrize(("graph", "price"), [("undirected", 2), ("directed", 1), ("bipartite", 1)])
def test_degrees_are_asked_as_the_library_asks_them(graph: str, price: int) -> None:
    ledger = Path("friends.ledger")
    friends = Dataset(
        "friends",
        "edges",
        ledger,
        Budget("epsilon", Fraction(1)),
        edges=("src", "dst"),
        graph=graph,
        nodes=5000,
    )
    asked = Asked((AskedPart(None),), Cost.of("1/2"), "best", None, None)
    found = asking(friends, asked, most_cells=5000)
    assert found.question == tu.SortedCounts(5000, ends=price)
    assert found.question.price() == price
    with pytest.raises(tu.InputError, match="more than this server answers"):
        asking(friends, asked, most_cells=4999)


def test_sizes_of_groups_are_asked_as_the_library_asks_them() -> None:
    words = tu.Axis.integers("word", 0, 399)
    table = Dataset(
        "t", "t", Path("t.ledger"), Budget("epsilon", Fraction(1)), axes={"word": words}
    )
    asked = Asked((AskedPart("word"),), Cost.of(1), "sorted", None, None)
    assert asking(table, asked, most_cells=400).question == tu.SortedCounts(400, by="word")
