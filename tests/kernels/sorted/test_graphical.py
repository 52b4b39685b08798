"""The nearest graphical sequence, against brute force and networkx."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from trueup._kernels.sorted.graphical import _candidates, is_graphical, nearest_graphical


def all_graphical(n):
    sequences = itertools.combinations_with_replacement(range(n - 1, -1, -1), n)
    return np.array([s for s in sequences if nx.is_graphical(s)], float)


def numbers(rng, graphical, n):
    """Noisy degrees, or numbers that are no degrees at all."""
    kind = rng.integers(4)
    if kind == 0:
        drawn = graphical[rng.integers(len(graphical))] + rng.laplace(0, rng.choice([0.3, 1, 3]), n)
    elif kind == 1:
        drawn = rng.uniform(-1, n + 1, n)
    elif kind == 2:
        drawn = rng.choice([0.0, n - 1.0], n) + rng.normal(0, 0.5, n)
    else:
        drawn = rng.pareto(1, n)
    return -np.sort(-drawn)


@pytest.mark.parametrize(
    ("n", "trials"), [(2, 50), (3, 100), (5, 300), (6, 600), (7, 300), (9, 60)]
)
def test_nearest_equals_brute_force(n, trials):
    rng = np.random.default_rng(n)
    graphical = all_graphical(n)
    for _ in range(trials):
        y = numbers(rng, graphical, n)
        found = nearest_graphical(y)
        assert nx.is_graphical(found.tolist())
        best = ((graphical - y) ** 2).sum(axis=1).min()
        assert ((found - y) ** 2).sum() <= best + 1e-7


@pytest.mark.parametrize("n", [4, 6])
def test_nearest_to_numbers_far_beyond_all_degrees_equals_brute_force(n):
    rng = np.random.default_rng(n)
    graphical = all_graphical(n)
    for _ in range(150):
        low, high = -rng.choice([0, 3, 30]), n + rng.choice([0, 3, 30])
        y = -np.sort(-rng.uniform(low, high, n))
        found = nearest_graphical(y)
        best = ((graphical - y) ** 2).sum(axis=1).min()
        assert ((found - y) ** 2).sum() <= best + 1e-7


def slacks(degrees, tight):
    """How far each inequality of Erdős and Gallai is from being violated, every degree in place."""
    return tuple(
        int(k * (k - 1) + np.minimum(degrees[k:], k).sum() - degrees[:k].sum()) for k in tight
    )


def test_of_steps_with_one_effect_the_two_cheapest_are_tried():
    """Against every step at an end of a run, and what it does to each inequality, written out."""
    rng = np.random.default_rng(6)
    for _ in range(150):
        n = int(rng.integers(3, 25))
        degrees = np.sort(rng.integers(0, min(n, 7), n))[::-1].copy()
        values = degrees + rng.normal(0, 1, n)
        tight = np.sort(rng.choice(np.arange(1, n + 1), int(rng.integers(1, 5)))).astype(np.int64)
        tight = np.unique(tight)
        steps, costs = _candidates(degrees, values, tight)
        assert (np.diff(costs) >= 0).all()
        kept, every = {}, {}
        for (place, sign), cost in zip(steps.tolist(), costs.tolist(), strict=True):
            moved = degrees.copy()
            moved[place] += sign
            assert cost == pytest.approx(((moved - values) ** 2 - (degrees - values) ** 2).sum())
            kept.setdefault((sign, slacks(moved, tight)), []).append(cost)
        for value in np.unique(degrees):
            run = np.flatnonzero(degrees == value)
            for sign, places in ((1, run[:2]), (-1, run[-2:])):
                if not 0 <= value + sign < n:
                    continue
                for place in places:
                    moved = degrees.copy()
                    moved[place] += sign
                    cost = ((moved - values) ** 2 - (degrees - values) ** 2).sum()
                    every.setdefault((sign, slacks(moved, tight)), []).append(cost)
        assert kept.keys() == every.keys()
        for effect, all_costs in every.items():
            assert sorted(kept[effect])[:2] == pytest.approx(sorted(all_costs)[:2])


def test_check_agrees_with_networkx_on_every_short_sequence():
    for n in range(1, 7):
        for falling in itertools.combinations_with_replacement(range(n, -2, -1), n):
            assert is_graphical(np.array(falling)) == nx.is_graphical(falling)


def test_a_thousand_noisy_sequences_are_realised_by_havel_hakimi():
    rng = np.random.default_rng(1)
    for number in range(1_000):
        n = int(rng.integers(2, 60))
        graph = nx.gnp_random_graph(n, rng.beta(0.5, 0.5), seed=number)
        degrees = np.sort([degree for _, degree in graph.degree()])
        noisy = degrees + rng.laplace(0, rng.choice([0.5, 2, 20]), n)
        found = nearest_graphical(isotonic_regression(noisy).x[::-1].copy())
        assert nx.is_graphical(found.tolist())
        realised = nx.havel_hakimi_graph(found.tolist())
        assert sorted(degree for _, degree in realised.degree()) == sorted(found.tolist())


def test_graphical_sequences_are_left_alone():
    rng = np.random.default_rng(2)
    for number in range(100):
        graph = nx.gnp_random_graph(40, rng.random(), seed=number)
        degrees = -np.sort(-np.array([degree for _, degree in graph.degree()]))
        assert np.array_equal(nearest_graphical(degrees.astype(float)), degrees)


def test_sparse_sequences_pay_for_parity_alone():
    rng = np.random.default_rng(3)
    for _ in range(20):
        degrees = np.minimum(rng.zipf(2.2, 20_000), 2_000)
        noisy = -isotonic_regression(np.sort(-(degrees + rng.laplace(0, 2, 20_000)))).x
        found = nearest_graphical(noisy)
        assert is_graphical(found)
        assert np.abs(found - np.clip(np.rint(noisy), 0, None)).sum() <= 1


@pytest.mark.parametrize("n", [500, 2_000])
def test_impossible_numbers_still_give_a_graph(n):
    rng = np.random.default_rng(n)
    for drawn in (
        np.where(rng.random(n) < 0.5, n - 1.0, 0.0),
        rng.uniform(-n, 2 * n, n),
        np.linspace(0, n - 1, n) + rng.laplace(0, 3, n),
    ):
        found = nearest_graphical(-np.sort(-drawn))
        assert nx.is_graphical(found.tolist())
