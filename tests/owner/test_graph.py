"""Graphs: what one edge adds to, told by the kind alone."""

from __future__ import annotations

import pytest

import trueup as tu
from trueup.owner.graph import KINDS, Graph, check_ends


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


@pytest.mark.parametrize("ends", [1, 2])
@pytest.mark.parametrize("kind", [None, *KINDS])
def test_groups_are_asked_with_the_ends_that_a_row_has(kind, ends):
    graph = None if kind is None else Graph("a", "b", kind)
    space = tu.SortedCounts(5, ends=ends).space
    if ends == (2 if kind == "undirected" else 1):
        check_ends(graph, space)
        return
    with pytest.raises(tu.InputError, match=f"ask SortedCounts.*ends={3 - ends}"):
        check_ends(graph, space)
