"""Which margins are decomposable, by brute force, and the order in which they are joined."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

import trueup as tu
from trueup.release.joint import joined_in_order, largest_margins, row_cells


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


SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 2}
MARGINS = {
    "two axes shared": ["abc", "bcd"],
    "two axes shared, in another order": ["dca", "abc", "ecd"],
    "three axes shared": ["abcd", "bcde"],
    "three new ones": ["ab", "bcde"],
    "none shared": ["abc", "de"],
    "a chain of triples": ["abc", "bcd", "cde"],
    "a cycle, and an axis in no margin": ["ab", "bc", "ac"],
    "a cycle of triples": ["abc", "cde", "abd"],
    "a cycle, and a margin beside it": ["ac", "ce", "ae", "d"],
}


@pytest.mark.parametrize("name", MARGINS)
def test_rows_have_every_margin_however_many_axes_are_shared(name: str) -> None:
    """Axes of different sizes, whose cells are numbered together where several are shared."""
    axes = [tu.Axis.integers(letter, 0, size - 1) for letter, size in SIZES.items()]
    rng = np.random.default_rng(4)
    counts = rng.poisson(rng.choice([0.0, 0.2, 6.0], list(SIZES.values())))
    asked = [tuple(sorted(margin)) for margin in MARGINS[name]]
    question = tu.GridCounts(*axes, marginals=asked)
    release = tu.infer(tu.measure(counts, question, 1), nonnegative=True, integers=True)
    cells, cycle = row_cells(release, np.random.default_rng(1))
    assert set(cells) == set("".join(MARGINS[name]))
    assert bool(cycle) is name.startswith("a cycle")
    for margin in asked:
        sizes = [SIZES[letter] for letter in margin]
        flat = np.ravel_multi_index(tuple(cells[letter] for letter in margin), tuple(sizes))
        found = np.bincount(flat, minlength=int(np.prod(sizes))).reshape(sizes)
        assert (found == release.margin(*margin).counts()).all()
