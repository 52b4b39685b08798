"""One call each: numpy.histogram's shape, and degree sequences against networkx."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest

import trueup as tu
from trueup._kernels.noise import laplace
from trueup.shortcuts import degrees


@pytest.fixture
def draws(monkeypatch):
    """Every run of noise that is drawn."""
    drawn = []
    real = laplace.sample_into

    def spy(values, *rest):
        drawn.append(len(values))
        real(values, *rest)

    monkeypatch.setattr(laplace, "sample_into", spy)
    return drawn


HARDLY_NOISY = 100  # at this ε a noise of at most three levels is 0 but for a chance of 10^-14


# ---- histogram


def test_a_histogram_has_numpy_s_shape_and_counts():
    rng = np.random.default_rng(1)
    x = rng.normal(5, 3, 1000)
    for bins in (1, 10, 64):
        counts, edges = tu.histogram(x, bins=bins, range=(0, 10), epsilon=HARDLY_NOISY)
        expected, expected_edges = np.histogram(x, bins=bins, range=(0, 10))
        np.testing.assert_allclose(counts, expected, atol=1e-9)
        np.testing.assert_allclose(edges, expected_edges, rtol=1e-15)
    given = [0, 1, 2.5, 10]
    counts, edges = tu.histogram(x, bins=given, epsilon=HARDLY_NOISY)
    np.testing.assert_allclose(counts, np.histogram(x, given)[0], atol=1e-9)
    assert edges.tolist() == given


def test_a_histogram_is_private_at_the_epsilon_given():
    x = np.full(1000, 5.0)
    counts, _ = tu.histogram(x, bins=64, range=(0, 10), epsilon="1/10")
    assert counts[32] != 1000 or counts[0] != 0  # chance below 10^-100
    assert abs(counts[32] - 1000) < 20_000


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"bins": 10}, r"histogram needs range=\(low, high\): choosing the ends"),
        ({}, r"histogram needs range=\(low, high\)"),
        ({"bins": 10, "range": (1,)}, r"range must be \(low, high\), got a tuple of 1"),
        ({"bins": 10, "range": 5}, r"range must be \(low, high\), got 5"),
        ({"bins": 10, "range": (5, 5)}, "the high end must be above the low one"),
        ({"bins": 10, "range": (0, float("inf"))}, "must be finite, got inf"),
        ({"bins": 0, "range": (0, 1)}, "needs at least 1 bin, got 0"),
        ({"bins": 10.0, "range": (0, 1)}, r"bins, unless edges, must be a whole number, got 10\.0"),
        (
            {"bins": "auto", "range": (0, 1)},
            "bins, unless edges, must be a whole number, got 'auto'",
        ),
        ({"bins": True, "range": (0, 1)}, "must be a whole number, got True"),
        ({"bins": [0, 1], "range": (0, 1)}, "Give either edges as bins, or a number of bins"),
        ({"bins": [0, 2, 1]}, "must rise"),
        ({"bins": 10, "range": (0, 1), "epsilon": 0}, "epsilon must be positive"),
        ({"bins": 10, "range": (0, 1), "x": np.array(["a"])}, "takes numbers"),
        ({"bins": 10, "range": (0, 1), "x": np.zeros((3, 2))}, "in one dimension, got 2"),
        ({"bins": 10, "range": (0, 1), "x": [[1], [2, 3]]}, "a flat list of values"),
        ({"bins": 10, "range": (0, 1), "x": {"a": 1}}, "got a dict"),
        ({"bins": 10, "range": (0, 1), "x": None}, "a list of values, got None"),
        ({"bins": 10, "range": (0, 1), "x": iter([1])}, "got a list_iterator"),
        ({"bins": 10, "range": np.array([0, 1, 2])}, "range must be"),
    ],
)
def test_a_histogram_that_makes_no_sense_is_refused_and_nothing_drawn(arguments, told, draws):
    with pytest.raises(tu.InputError, match=told):
        tu.histogram(**{"x": [1, 2], "epsilon": 1, **arguments})
    assert draws == []


def test_epsilon_must_be_said():
    with pytest.raises(tu.InputError, match="epsilon or as rho"):
        tu.histogram([1, 2], 10, (0, 1))
    with pytest.raises(tu.InputError, match="epsilon or as rho"):
        tu.degree_sequence([(0, 1)], 2)


# ---- degrees


def random_edges(rng, nodes, many):
    """Pairs with repetitions, both directions and loops."""
    edges = rng.integers(0, nodes, (many, 2))
    return np.concatenate([edges, edges[::3], edges[::5, ::-1]])


def test_degrees_are_networkx_s():
    rng = np.random.default_rng(2)
    for nodes in (1, 2, 5, 40):
        for many in (0, 1, 10, 100):
            edges = random_edges(rng, nodes, many)
            simple = [(a, b) for a, b in edges.tolist() if a != b]
            graph = nx.Graph(simple)
            graph.add_nodes_from(range(nodes))
            expected = [graph.degree(v) for v in range(nodes)]
            assert degrees(edges, nodes, "undirected").tolist() == expected
            directed = nx.DiGraph(simple)
            directed.add_nodes_from(range(nodes))
            expected = [directed.out_degree(v) for v in range(nodes)]
            assert degrees(edges, nodes, "directed").tolist() == expected
            pairs = {(a, b) for a, b in edges.tolist()}
            expected = [sum(a == v for a, _ in pairs) for v in range(nodes)]
            assert degrees(edges, nodes, "bipartite").tolist() == expected


def test_the_other_side_of_a_bipartite_graph_may_be_numbered_as_it_likes():
    edges = np.array([[0, 2**62], [0, -5], [1, -5], [0, 2**62]])
    assert degrees(edges, 2, "bipartite").tolist() == [2, 1]
    assert degrees(edges.astype(np.int64), 4_000_000, "bipartite")[:2].tolist() == [2, 1]


@pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])
def test_nodes_with_numbers_past_2_to_the_53_are_not_taken_for_each_other(kind):
    edges = np.array([[1, 2**63 + i] for i in range(5)] + [[2, 2**63]], np.uint64)
    found = tu.degree_sequence(edges, nodes=None, epsilon=HARDLY_NOISY, kind=kind)
    assert found.counts()[-2:].tolist() == ([2, 5] if kind == "undirected" else [1, 5])


def test_a_degree_sequence_is_the_sorted_degrees():
    graph = nx.karate_club_graph()
    sure = {"epsilon": HARDLY_NOISY}
    found = tu.degree_sequence(list(graph.edges()), nodes=34, **sure)
    assert found.counts().tolist() == sorted(d for _, d in graph.degree())
    assert found.facts.question.ends == 2
    assert found.scale == Fraction(2, HARDLY_NOISY)
    one_sided = tu.degree_sequence([(0, 7), (0, 8)], nodes=3, **sure, kind="bipartite")
    assert one_sided.counts().tolist() == [0, 0, 2]
    assert one_sided.scale == Fraction(1, HARDLY_NOISY)
    assert tu.degree_sequence([], nodes=3, **sure).counts().tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"edges": [(0.0, 1.0)]}, "edges must be pairs of whole node numbers"),
        ({"edges": [(0, 1, 2)]}, "edges must be pairs of whole node"),
        ({"edges": [(0, 1), (2,)]}, "edges must be pairs of whole node"),
        ({"edges": [0, 1]}, "edges must be pairs of whole node"),
        ({"edges": [("a", "b", "c")]}, "edges must be pairs of whole node numbers"),
        ({"edges": [({}, "b")]}, "edges must be pairs of whole node numbers"),
        ({"nodes": 0}, "nodes must be at least 1, got 0"),
        ({"nodes": 2.5}, r"nodes must be a whole number, got 2\.5"),
        ({"nodes": 2**40}, "groups must be at most"),
        ({"nodes": "3"}, "nodes must be a whole number, got '3'"),
        ({"kind": "ring"}, "kind must be undirected, directed or bipartite, got 'ring'"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number, got nan"),
    ],
)
def test_a_graph_that_makes_no_sense_is_refused_and_nothing_drawn(arguments, told, draws):
    with pytest.raises(tu.InputError, match=told):
        tu.degree_sequence(**{"edges": [(0, 1)], "nodes": 3, "epsilon": 1, **arguments})
    assert draws == []


@pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])
def test_more_nodes_than_declared_raise_nothing_and_the_largest_degrees_are_kept(kind):
    edges = [(0, 1), (0, 2), (0, 9), (-4, 0), (9, 2), (9, 9), (10**12, 2)]
    graph = (nx.Graph if kind == "undirected" else nx.DiGraph)(edges)
    graph.remove_edges_from(nx.selfloop_edges(graph))
    degree = graph.degree() if kind == "undirected" else graph.out_degree()
    expected = sorted(d for _, d in degree)
    if kind == "bipartite":  # the two columns are numbered apart: (9, 9) is no loop
        expected = sorted(np.unique([a for a, _ in edges], return_counts=True)[1].tolist())
    for nodes in (1, 2, 3):
        found = tu.degree_sequence(edges, nodes=nodes, epsilon=HARDLY_NOISY, kind=kind)
        assert found.counts().tolist() == expected[-nodes:]
    many = tu.degree_sequence(edges, nodes=12, epsilon=HARDLY_NOISY, kind=kind).counts()
    assert many[many > 0].tolist() == [d for d in expected if d]


# ---- lists of frequencies, and groups whose number is not public


def test_more_values_than_declared_raise_nothing_and_the_largest_counts_are_kept():
    values = ["the"] * 50 + ["a"] * 20 + ["of"] * 10
    for groups, expected in ((1, [50]), (2, [20, 50]), (3, [10, 20, 50]), (4, [0, 10, 20, 50])):
        found = tu.frequency_list(values, groups=groups, epsilon=HARDLY_NOISY)
        assert found.counts().tolist() == expected


def test_a_frequency_list_is_the_sorted_counts_of_values():
    words = ["the"] * 50 + ["a"] * 20 + ["of"] * 20
    found = tu.frequency_list(words, groups=5, epsilon=HARDLY_NOISY)
    assert found.counts().tolist() == [0, 0, 20, 20, 50]
    assert found.how_many(20).value == 2


def test_a_degree_sequence_is_asked_adaptively_and_whole():
    graph = nx.barabasi_albert_graph(500, 3, seed=1)
    found = tu.degree_sequence(list(graph.edges()), nodes=500, epsilon=1)
    assert found.facts.question.kind == "young"
    assert found.counts().dtype == np.int64
    directed = tu.degree_sequence(list(graph.edges()), nodes=500, epsilon=1, kind="directed")
    assert directed.facts.question.ends == 1


@pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])
def test_groups_of_unknown_number_are_those_with_an_edge(kind):
    edges = np.array([(10**12, 7), (10**12, 8), (5, 7), (7, 7), (5, 7)])
    found = tu.degree_sequence(edges, nodes=None, epsilon=HARDLY_NOISY, kind=kind)
    expected = {
        "undirected": [1, 1, 2, 2],
        "directed": [1, 2],
        "bipartite": [1, 1, 2],
    }[kind]
    counts = found.counts()
    assert counts[counts > 0].tolist() == expected
    number = found.facts.number_of_groups
    assert number.epsilon == Fraction(HARDLY_NOISY, 10)
    assert found.facts.epsilon == Fraction(9 * HARDLY_NOISY, 10)
    assert number.estimated == len(counts) >= len(expected)


def test_the_number_of_groups_is_itself_noisy():
    values = np.arange(1000)
    sizes = {len(tu.frequency_list(values, None, epsilon=1).counts()) for _ in range(20)}
    assert len(sizes) > 5
    assert 1000 < np.mean(list(sizes)) < 1100


def test_lists_that_make_no_sense_are_refused(draws):
    for arguments in (
        {"values": [[1, 2]]},
        {"groups": 0},
        {"groups": 2.5},
        {"epsilon": 0},
    ):
        with pytest.raises(tu.InputError):
            tu.frequency_list(**{"values": [1, 2, 2], "groups": 3, "epsilon": 1, **arguments})
    assert draws == []


@pytest.mark.parametrize(
    "values", [[1.0, math.nan, math.nan], np.array([1.0, math.nan, math.nan]), ["a", None, None]]
)
def test_what_is_missing_is_no_group(values: Any) -> None:
    assert tu.frequency_list(values, groups=2, epsilon=1000).counts().tolist() == [0, 1]


@pytest.mark.parametrize(
    "values", [np.zeros((3, 2)), [[1], [2, 3]], {"a": 1}, (n for n in range(3)), "text", 7, None]
)
def test_frequencies_are_of_one_column(values: Any) -> None:
    with pytest.raises(tu.InputError):
        tu.frequency_list(values, groups=2, epsilon=1)


@pytest.mark.parametrize("nodes", [4, 2, None])
@pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])
def test_a_graph_says_that_it_protects_an_edge(nodes, kind):
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    release = tu.degree_sequence(ring, nodes=nodes, epsilon=1, kind=kind)
    assert release.facts.unit == "edge"
    assert "protects one edge" in release._repr_html_()
    caption = release.plot().layout.annotations[0].text
    assert "protects one edge" in caption.replace("<br>", " ")
    assert "true totals" not in repr(release)


def test_every_shortcut_takes_a_cost_in_rho() -> None:
    counts, _ = tu.histogram([1, 2, 2.5, 9], bins=8, range=(0, 10), rho=500)
    assert counts == pytest.approx([1, 1, 1, 0, 0, 0, 0, 1], abs=2)
    words = ["the"] * 30 + ["a"] * 9
    assert tu.frequency_list(words, groups=2, rho=500).counts() == pytest.approx([9, 30], abs=3)
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    found = tu.degree_sequence(ring, nodes=4, rho=500)
    assert found.counts() == pytest.approx([2, 2, 2, 2], abs=2)
    assert found.facts.rho == 500
    for ask in (lambda: tu.frequency_list(words, None, rho=1),
                lambda: tu.degree_sequence(ring, None, rho=1)):  # fmt: skip
        with pytest.raises(tu.InputError, match="is not estimated: say"):
            ask()
    with pytest.raises(tu.InputError, match="epsilon"):
        tu.histogram([1], bins=8, range=(0, 10))
