"""Which margins are decomposable, by brute force, and the order in which they are joined."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np

from trueup.release.joint import joined_in_order, largest_margins


def test_margins_within_others_are_left_out() -> None:
    assert largest_margins([("a",), ("a", "b"), ("b", "a"), ("c",)]) == [
        frozenset("ab"), frozenset("c"),
    ]  # fmt: skip


def decomposable(margins: list[frozenset[str]]) -> bool:
    """Conformal and chordal: the textbook's definition, by networkx."""
    graph = nx.Graph()
    for margin in margins:
        graph.add_nodes_from(margin)
        graph.add_edges_from(itertools.combinations(margin, 2))
    cliques = {frozenset(each) for each in nx.find_cliques(graph)}
    return nx.is_chordal(graph) and cliques == set(margins)


def test_an_order_is_found_for_decomposable_margins_and_for_no_others() -> None:
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(400):
        some = [
            tuple(rng.choice(list("abcdef"), rng.integers(1, 4), replace=False).tolist())
            for _ in range(rng.integers(1, 6))
        ]
        margins = largest_margins(some)
        order, cycle = joined_in_order(margins)
        true = decomposable(margins)
        seen.add(true)
        assert bool(order) is true
        assert bool(cycle) is not true
        if order:
            assert set(order) == set(margins)
            for place, margin in enumerate(order[1:], start=1):
                shared = margin & frozenset().union(*order[:place])
                assert any(shared <= before for before in order[:place])
    assert seen == {True, False}
