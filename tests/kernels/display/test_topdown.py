"""From the root down: the plain projection, and large counts settled first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from trueup._kernels.display.nonnegative import leaves_of, node_sums
from trueup._kernels.display.topdown import (
    CLEAR,
    EVENLY_CLEAR,
    FEWEST,
    SLOPED,
    keep_large_first,
    project_top_down,
    settle_large_first,
)
from trueup._kernels.tree.any_tree import fit
from trueup.intervaltree import IntervalTree

from .irregular_trees import random_tree


def permuted(first, rng):
    """The tree with every node's children shuffled, and the old node of each new one."""
    old = [0]
    fans = []
    for v in old:
        children = rng.permutation(np.arange(first[v], first[v + 1]))
        fans.append(len(children))
        old.extend(children.tolist())
    return np.concatenate([[1], 1 + np.cumsum(fans)]).astype(np.int64), np.array(old)


def excess(price, children, parent):
    return np.maximum(children - price, 0).sum() - parent


def test_projection_of_one_family_is_the_nearest_point():
    """The optimality conditions ask for one price τ, found here by bisection."""
    rng = np.random.default_rng(14)
    for _ in range(300):
        k = rng.integers(1, 40)
        children = rng.normal(0, 10, k)
        parent = rng.exponential(20)
        first = np.concatenate([[1], np.full(k + 1, k + 1)]).astype(np.int64)
        values = np.concatenate([[parent], children])
        found = project_top_down(first, values)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(parent, rel=1e-12)
        price = brentq(excess, -1e4, 1e4, args=(children, parent), xtol=1e-13)
        expected = np.maximum(children - price, 0)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_projection_ends_on_geometric_children():
    k = 300
    first = np.concatenate([[1], np.full(k + 1, k + 1)]).astype(np.int64)
    values = np.concatenate([[1.0], -(8.0 ** np.arange(k))])
    found = project_top_down(first, values)
    assert found.sum() == pytest.approx(1.0)
    assert found[0] == 1.0


@given(st.integers(0, 2**32 - 1))
def test_projection_keeps_totals_and_leaves_consistent_counts_alone(seed):
    rng = np.random.default_rng(seed)
    first = random_tree(rng)
    leaves = len(leaves_of(first))
    counts = rng.integers(0, 50, leaves).astype(float)
    consistent = node_sums(first, counts)
    assert np.array_equal(project_top_down(first, consistent), counts)
    signed = node_sums(first, rng.normal(3, 10, leaves))
    found = project_top_down(first, signed)
    assert found.min() >= 0
    total = max(signed[0], 0)
    assert found.sum() == pytest.approx(total, rel=1e-12, abs=1e-12)
    again = project_top_down(first, node_sums(first, found))
    np.testing.assert_allclose(again, found, atol=1e-12 * max(1, total))


def noisy_tree(rng):
    first = random_tree(rng)
    nodes = len(first) - 1
    counts = rng.integers(0, 200, len(leaves_of(first))) * (rng.random() < 0.5)
    w = 10 ** rng.uniform(-1, 1, nodes)
    w[(np.diff(first) > 0) & (rng.random(nodes) < 0.3)] = 0
    noise = rng.laplace(0, 1, nodes) / np.sqrt(2 * np.where(w > 0, w, 1))
    return first, node_sums(first, counts.astype(float)) + 9 * noise, w


def test_large_first_adds_up_and_is_never_negative():
    rng = np.random.default_rng(15)
    for _ in range(500):
        first, y, w = noisy_tree(rng)
        found = settle_large_first(first, y, w, 9.0, 0.0)
        assert found.min() >= 0
        fitted = fit(first, y, w)
        if fitted[leaves_of(first)].min() >= 0:
            np.testing.assert_allclose(found, fitted[leaves_of(first)], atol=1e-9)
        again = settle_large_first(first, node_sums(first, found), w, 9.0, 0.0)
        np.testing.assert_allclose(again, found, atol=1e-9 * (1 + np.abs(y).max()))


def test_large_children_keep_their_unbiased_counts():
    """Against the same arithmetic written out for one family."""
    rng = np.random.default_rng(16)
    for _ in range(300):
        k = int(rng.integers(2, 30))
        first = np.concatenate([[1], np.full(k + 1, k + 1)]).astype(np.int64)
        counts = rng.choice([0, 0, 0, 3, 100], k)
        noisy = counts + rng.laplace(0, 5, k)
        found = settle_large_first(
            first, np.append([0.0], noisy), np.append([0.0], np.ones(k)), 5 * np.sqrt(2), 0.0
        )
        large = noisy > CLEAR * 5 * np.sqrt(2)
        if noisy.min() >= 0:
            np.testing.assert_allclose(found, noisy)
            continue
        np.testing.assert_allclose(found[large], noisy[large], atol=1e-9)
        remains = max(noisy[~large].sum(), 0)
        assert found[~large].sum() == pytest.approx(remains, abs=1e-9)
        if remains > 0:
            price = brentq(excess, -1e4, 1e4, args=(noisy[~large], remains), xtol=1e-13)
            settled = np.maximum(noisy[~large] - price, 0)
            np.testing.assert_allclose(found[~large], settled, atol=1e-9)


def test_a_parent_that_was_asked_is_kept_by_its_children():
    first = np.array([1, 3, 5, 7, 7, 7, 7, 7])
    y = np.array([0.0, 50.0, 60.0, 55.0, -5.0, 40.0, 30.0])
    w = np.array([0.0, 1e9, 1e9, 1.0, 1.0, 1.0, 1.0])
    found = settle_large_first(first, y, w, 1.0, 0.0)
    np.testing.assert_allclose(found, [50, 0, 35, 25], atol=1e-6)


def test_permuting_subtrees_permutes_both_answers():
    rng = np.random.default_rng(17)
    for _ in range(200):
        first, y, w = noisy_tree(rng)
        shuffled, old = permuted(first, rng)
        here = node_sums(first, settle_large_first(first, y, w, 9.0, 0.0))
        there = node_sums(shuffled, settle_large_first(shuffled, y[old], w[old], 9.0, 0.0))
        np.testing.assert_allclose(there, here[old], atol=1e-9 * (1 + np.abs(y).max()))
        ours = node_sums(first, rng.normal(1, 3, len(leaves_of(first))))
        top = node_sums(first, project_top_down(first, ours))
        moved = node_sums(shuffled, project_top_down(shuffled, ours[old]))
        np.testing.assert_allclose(moved, top[old], atol=1e-11)


def test_large_first_leaves_large_counts_less_wrong_than_the_projection():
    rng = np.random.default_rng(18)
    first = np.concatenate([[1], np.full(33, 33)]).astype(np.int64)
    counts = np.zeros(32)
    counts[:2] = 1_000
    weights = np.append([0.0], np.ones(32))
    plain = settled = 0.0
    for _ in range(200):
        noisy = counts + rng.laplace(0, 10, 32)
        values = np.append([noisy.sum()], noisy)
        plain += ((project_top_down(first, values) - counts) ** 2).sum()
        settled += ((settle_large_first(first, values, weights, 14.1, 0.0) - counts) ** 2).sum()
    assert settled < plain


@pytest.mark.parametrize("seed", range(20))
def test_kept_large_first_is_settled_large_first_where_only_leaves_were_asked(seed):
    generator = np.random.default_rng(seed)
    shape = IntervalTree.regular(int(generator.integers(5, 60)), (4, 4, 4))
    leaves = generator.poisson(3, shape.size) * 20.0 + generator.laplace(0, 15, shape.size)
    nodes = len(shape.first) - 1
    noisy, weights = np.zeros(nodes), np.zeros(nodes)
    noisy[nodes - shape.size :], weights[nodes - shape.size :] = leaves, 1.0
    wanted = settle_large_first(shape.first, noisy, weights, 20.0, 0.0)
    variances = 400.0 * node_sums(shape.first, np.ones(shape.size))
    found = keep_large_first(shape.first, node_sums(shape.first, leaves), variances)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_kept_counts_are_never_negative_and_counts_that_are_not_stay(seed):
    generator = np.random.default_rng(seed)
    shape = IntervalTree.regular(64, (4, 4, 4))
    variances = generator.uniform(1, 100, len(shape.first) - 1)
    leaves = generator.laplace(2, 10, 64)
    assert keep_large_first(shape.first, node_sums(shape.first, leaves), variances).min() >= 0
    fine = np.abs(leaves)
    found = keep_large_first(shape.first, node_sums(shape.first, fine), variances)
    np.testing.assert_allclose(found, fine, atol=1e-9)


def family(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One parent, whose children are leaves, and which is their sum."""
    k = len(values)
    first = np.concatenate([[1], np.full(k + 1, k + 1)]).astype(np.int64)
    return first, np.concatenate([[values.sum()], values])


def drawn(values: np.ndarray, evened: float) -> np.ndarray:
    """The children of that family, their noise of variance 1, drawn together; the parent is known
    as well as they are."""
    first, y = family(values)
    return settle_large_first(first, y, np.ones(len(y)), 1.0, evened)


def by_least_squares(values: np.ndarray, evened: float) -> np.ndarray:
    """What James and Stein say of values about a line that numpy fits, its slope lowered by two
    variances of its noise."""
    at = np.arange(len(values)) - (len(values) - 1) / 2
    slope, mean = np.polyfit(at, values, 1)
    noise = 1 / (at**2).sum()
    slope = slope * max(0.0, 1 - 2 * noise / slope**2)
    line = mean + slope * at
    spread = ((values - line) ** 2).sum() / (len(values) - 1)
    return line + max(0.0, 1 - evened / spread) * (values - line)


@pytest.mark.parametrize("middle", [2.0, 100.0])
@pytest.mark.parametrize("tilt", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("evened", [0.5, 1.0])
def test_sibling_leaves_are_drawn_towards_a_line(middle: float, tilt: float, evened: float) -> None:
    """Clear ones and others alike; a slope that noise may have made is none."""
    g = np.random.default_rng(5)
    for _ in range(20):
        noise = g.uniform(-0.9, 0.9, 9)
        values = middle + tilt * np.arange(-4, 5) + noise - noise.mean()
        values = values if middle > 50 else np.clip(values, 0.05, EVENLY_CLEAR - 0.05)
        np.testing.assert_allclose(
            drawn(values, evened), by_least_squares(values, evened), rtol=1e-10
        )


def test_a_clear_leaf_and_the_others_are_drawn_together_apart() -> None:
    """Five small leaves and four large ones: each group keeps its sum, and is even inside."""
    values = np.array([1.0, 90.0, 1.4, 90.5, 0.8, 1.2, 89.7, 1.1, 90.2])
    found = drawn(values, 1.0)
    clear = values > 50
    for group in (clear, ~clear):
        np.testing.assert_allclose(found[group], values[group].mean(), rtol=1e-12)
    np.testing.assert_allclose(drawn(values, 0.0), values, rtol=1e-12)


@pytest.mark.parametrize(
    ("top", "apart"), [(EVENLY_CLEAR - 0.01, False), (EVENLY_CLEAR + 0.01, True)]
)
def test_a_leaf_is_clear_from_four_deviations_on(top: float, apart: bool) -> None:
    values = np.array([1.0, 1.0, 1.0, 1.0, top])
    found = drawn(values, 1.0)
    assert (found[-1] == pytest.approx(top, rel=1e-12)) == apart


@pytest.mark.parametrize("number", [FEWEST - 1, FEWEST, SLOPED - 1, SLOPED])
def test_few_leaves_are_not_drawn_and_somewhat_more_not_towards_a_slope(number: int) -> None:
    rising = 100.0 + 3.0 * np.arange(number)
    found = drawn(rising, 1.0)
    if number < FEWEST or number >= SLOPED:  # those on a line stay on it, their slope lowered
        slopes = np.diff(found)
        np.testing.assert_allclose(slopes, slopes[0], rtol=1e-9)
        assert (slopes[0] == pytest.approx(3.0, rel=1e-12)) == (number < FEWEST)
    mean = rising.mean()
    spread = ((rising - mean) ** 2).sum() / (number - 1)
    if FEWEST <= number < SLOPED:
        np.testing.assert_allclose(found, mean + (1 - 1 / spread) * (rising - mean), rtol=1e-12)
