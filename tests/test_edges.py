"""Graphs as people have them: networkx graphs, names of nodes, frames of two columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest

import trueup as tu
from trueup.edges import graph_kind, numbered_pairs
from trueup.shortcuts import degrees

EXACT = 200
"""An ε at which there is no noise."""

PAIRS = [
    ("ann", "bob"),
    ("bob", "cy"),
    ("cy", "ann"),
    ("cy", "dan"),
    ("ann", "bob"),
    ("dan", "dan"),
]
GIVEN: dict[str, Any] = {
    "pairs": PAIRS,
    "array of text": np.array(PAIRS),
    "array of objects": np.array(PAIRS, object),
    "pandas": pd.DataFrame(PAIRS, columns=["from", "to"]),
    "polars": pl.DataFrame(PAIRS, schema=["from", "to"], orient="row"),
    "networkx": nx.Graph(PAIRS),
    "networkx, edges twice": nx.MultiGraph(PAIRS),
}


@pytest.mark.parametrize("given", GIVEN)
def test_names_of_nodes_count_as_numbers_do(given: str) -> None:
    for nodes in (4, 6, 2):
        found = tu.degree_sequence(GIVEN[given], nodes=nodes, epsilon=EXACT).counts().tolist()
        assert found == sorted([*[0] * nodes, 1, 2, 2, 3])[-nodes:]


def test_a_networkx_graph_has_the_degrees_that_networkx_counts() -> None:
    graph = nx.barabasi_albert_graph(60, 3, seed=1)
    found = tu.degree_sequence(graph, nodes=60, epsilon=EXACT).counts().tolist()
    assert found == sorted(degree for _, degree in graph.degree())
    directed = nx.gnp_random_graph(40, 0.1, seed=2, directed=True)
    found = tu.degree_sequence(directed, nodes=40, epsilon=EXACT).counts().tolist()
    assert found == sorted(degree for _, degree in directed.out_degree())
    grid = nx.grid_2d_graph(4, 5)  # its nodes are tuples
    found = tu.degree_sequence(grid, nodes=20, epsilon=EXACT).counts().tolist()
    assert found == sorted(degree for _, degree in grid.degree())


def test_a_graph_says_itself_whether_it_is_directed() -> None:
    assert graph_kind(nx.DiGraph(PAIRS), None) == "directed"
    assert graph_kind(nx.Graph(PAIRS), None) == "undirected"
    assert graph_kind(nx.DiGraph(PAIRS), "undirected") == "undirected"
    assert graph_kind(PAIRS, None) == "undirected"
    with pytest.raises(tu.InputError, match="This graph is undirected"):
        graph_kind(nx.Graph(PAIRS), "directed")


def test_edges_with_a_missing_end_are_left_out() -> None:
    odd = [("a", "b"), (None, "b"), ("a", float("nan")), (3, "a")]
    assert numbered_pairs(odd, "undirected").tolist() == [[0, 1], [2, 0]]


def test_the_columns_of_a_bipartite_graph_are_named_apart() -> None:
    rated = [("x", "x"), ("x", "y"), ("z", "x")]
    pairs = numbered_pairs(rated, "bipartite")
    assert degrees(pairs, 2, "bipartite").tolist() == [2, 1]
    counted = Counter(user for user, _ in rated)
    found = tu.degree_sequence(rated, nodes=2, epsilon=EXACT, kind="bipartite").counts()
    assert found.tolist() == sorted(counted.values())
