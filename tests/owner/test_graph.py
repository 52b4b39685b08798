"""Graphs: what one edge adds to, told by the kind alone."""

from __future__ import annotations

import pytest

import trueup as tu
from trueup.owner.graph import KINDS, Graph


def test_an_edge_ends_at_two_nodes_unless_it_points_or_joins_two_kinds():
    assert {kind: Graph("a", "b", kind).ends for kind in KINDS} == {
        "undirected": 2,
        "directed": 1,
        "bipartite": 1,
    }
    assert Graph("a", "b") == Graph("a", "b", "undirected")


@pytest.mark.parametrize(
    "given", [("a", "b", "mixed"), ("a", "a"), ("", "b"), ("a", 3), ("a", None)]
)
def test_what_is_no_edge_table_is_refused(given):
    with pytest.raises(tu.InputError):
        Graph(*given)
