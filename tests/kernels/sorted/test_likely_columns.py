"""Where rows end on average, by noisy strips, against all falls written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import nbinom, norm

from trueup._kernels.sorted import likely_columns as kernel


@pytest.mark.parametrize("b", [0.5, 3.0])
@pytest.mark.parametrize("z", [-9.0, -0.2, 1.5, 4.0, 11.0])
def test_noise_over_places_is_the_integral(z, b):
    def noise(u):
        return np.exp(-abs(z - u) / b)

    expected, _ = quad(noise, 0, 4, points=[min(max(z, 0), 4)])
    assert kernel._alike(z, 4.0, b) == pytest.approx(expected / 4, rel=1e-7)
    for deviation in (0.4 * b, 1.3 * b):
        reach = 9 * deviation
        expected, _ = quad(
            lambda u, d=deviation: noise(u) * norm.pdf(u, scale=d),
            min(-reach, z - 1),
            max(reach, z + 1),
            points=[z],
            limit=200,
            epsabs=0,
        )
        assert kernel._normal(z, deviation, b) == pytest.approx(expected, rel=1e-6)


def test_the_law_of_a_fall_is_scipys_and_adds_up():
    likely = np.array([2.0, 0.3])
    law = kernel._law(likely, 400_000)
    assert law.sum() == pytest.approx(1)
    falls = np.arange(30)
    expected = np.zeros(30)
    for mean in likely:
        expected += (
            kernel.USUAL / 2 * nbinom.pmf(falls, kernel.EVEN, kernel.EVEN / (kernel.EVEN + mean))
        )
    for share, larger in zip(kernel.SELDOM, kernel.LARGER, strict=True):
        expected += share * nbinom.pmf(falls, 1, 1 / (1 + 2.0 * larger))
    assert np.allclose(law[:30], expected)


def by_brute_force(edges, noisy, likely, low, high, b, last):
    """How probable each sequence of numbers of rows is, and the means of rows where all are told.

    In single columns, rows end at the right edge of the last that they reach.
    """
    means, total = np.zeros(high[0] + 1), 0.0
    laws = [kernel._law(row, 60) for row in likely]
    at_end = np.zeros(high[-1] - low[-1] + 1)
    for path in itertools.product(*(range(a, z + 1) for a, z in zip(low, high, strict=True))):
        if (np.diff(path) > 0).any():
            continue
        weight = last[path[-1] - low[-1]]
        for k, answer in enumerate(noisy):
            weight *= laws[k][path[k] - path[k + 1]]
            weight *= sum(
                kernel._chances(
                    float(answer - (edges[k + 1] - edges[k]) * path[k + 1]),
                    path[k] - path[k + 1],
                    edges[k + 1] - edges[k],
                    b,
                )
            )
        total += weight
        at_end[path[-1] - low[-1]] += weight
        for q in range(1, high[0] + 1):
            means[q] += weight * sum(path[k] >= q for k in range(len(noisy)))
    return means / total, at_end / total


def chain(edges, noisy, likely, low, high, b, last):
    messages = kernel.pass_right(edges, noisy, likely, low, high, b)
    reach, within = np.zeros(high[0] + 2), np.zeros(high[0] + 2)
    kernel.pass_left(edges, noisy, likely, low, high, b, messages, last, reach, within)
    return messages, np.cumsum(reach[::-1])[::-1] + within


@pytest.mark.parametrize("b", [0.7, 2.0])
def test_means_in_single_columns_are_those_of_all_sequences(b):
    edges, noisy = np.arange(3, 7), np.array([7, 3, 4])
    low, high = np.array([3, 1, 1, 0]), np.array([8, 6, 6, 4])
    likely = np.array([[2.0, 1.0], [1.0, 0.5], [0.4, 0.1]])
    last = np.array([0.1, 0.6, 1.0, 0.2, 0.0])
    _, columns = chain(edges, noisy, likely, low, high, b, last)
    expected, _ = by_brute_force(edges, noisy, likely, low, high, b, last)
    assert np.allclose(columns[1 : high[0] + 1], expected[1:], atol=1e-5)
    assert (np.diff(columns[1:]) <= 1e-9).all()


@pytest.mark.parametrize("edges", [[0, 1, 2, 3], [0, 2, 5, 9], [4, 16, 28, 60]])
def test_the_last_message_is_that_of_all_sequences(edges):
    edges, b = np.array(edges), 1.5
    low, high = np.array([3, 1, 0, 0]), np.array([7, 6, 5, 4])
    noisy = np.diff(edges) * np.array([6, 3, 2]) + 1
    likely = np.array([[2.0, 1.0], [1.0, 0.5], [0.4, 0.1]])
    last = np.ones(5)
    messages, _ = chain(edges, noisy, likely, low, high, b, last)
    _, at_end = by_brute_force(edges, noisy, likely, low, high, b, last)
    assert np.allclose(messages[-1, :5], at_end, atol=1e-6)


@pytest.mark.parametrize(("cells", "ended", "wide"), [(2, 1, 4), (9, 3, 5), (17, 4, 6), (4, 2, 3)])
def test_rows_end_in_a_strip_where_all_their_places_would_have_them(cells, ended, wide):
    b, sums, total = 1.5, np.zeros(ended), 0.0
    for places in itertools.product(range(1, wide + 1), repeat=ended):
        weight = np.exp(-abs(cells - sum(places)) / b)
        total += weight
        sums += weight * np.sort(places)
    within = np.zeros(ended + 2)
    kernel._end(float(cells), 0, ended, wide, b, 0.0, 1.0, within)
    # The row with one row from it on is the longest.
    assert np.allclose(within[ended:0:-1], sums / total, atol=0.25 if ended > 1 else 1e-9)


def test_windows_hold_the_numbers_that_noise_allows():
    rng = np.random.default_rng(1)
    rising = np.sort(rng.geometric(0.02, 400))
    edges = np.concatenate([np.arange(40), np.arange(40, 400, 6)])
    going_on = np.array([(rising > edge).sum() for edge in edges])
    held = np.diff([np.minimum(rising, edge).sum() for edge in edges]) / np.diff(edges)
    low, high = kernel.windows(edges, held, float(going_on[-1]), 400, 1.0)
    assert ((low <= going_on) & (going_on <= high)).all()
    assert (high - low < 40).all()


def test_answers_far_from_any_number_have_means_all_the_same():
    edges, noisy = np.array([0, 1, 3, 9]), np.array([2**61, -(2**61), 5])
    low, high = np.array([2, 1, 0, 0]), np.array([9, 8, 7, 5])
    likely = kernel.falls(edges, np.array([8.0, 5.0, 1.0]), 0.0, 1.0)
    messages, columns = chain(edges, noisy, likely, low, high, 1.0, np.ones(6))
    assert np.isfinite(messages).all()
    assert np.isfinite(columns).all()


def test_rates_are_falls_from_middle_to_middle_and_without_the_largest_of_them():
    """As many rows as end between the middles of two strips; after the last strip, to its edge."""
    rng = np.random.default_rng(7)
    for _ in range(50):
        edges = np.cumsum(rng.integers(1, 9, 8))
        held, last, b = np.sort(rng.uniform(5, 90, 7))[::-1].copy(), 4.0, 2.5
        at = np.append((edges[:-1] + edges[1:]) / 2, edges[-1])
        rows = np.append(held, last)
        first, final = np.sort(rng.choice(8, 2, replace=False)).tolist()
        falls, apart = -np.diff(rows)[first:final], np.diff(at)[first:final]
        found = kernel._rates(edges, held, last, first, final, b)
        most = int(np.argmax(falls))
        whole = (falls.sum() + kernel.SOME) / (apart.sum() + b)
        rest = (falls.sum() - falls[most] + kernel.SOME) / (apart.sum() - apart[most] + b)
        assert found == pytest.approx((whole, rest))


@pytest.mark.parametrize("z", [0.0, 8.0, -15.0])
def test_noise_about_a_wide_normal_law_is_nearly_that_law(z):
    b, deviation = 1.5, 18.0
    expected, _ = quad(
        lambda u: np.exp(-abs(z - u) / b) * norm.pdf(u, scale=deviation),
        -150, 150, points=[z], limit=200,
    )  # fmt: skip
    assert kernel._normal(z, deviation, b) == pytest.approx(expected, rel=0.02)
