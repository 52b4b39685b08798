"""S̄ against the paper's examples, scipy, and the min-max formula of Theorem 1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import isotonic_regression

from trueup._kernels.sorted.isotonic import isotonic

reals = arrays.arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e9, 1e9))


@pytest.mark.parametrize(
    ("noisy", "nearest"),
    [
        ([9, 10, 14], [9, 10, 14]),
        ([9, 14, 10], [9, 12, 12]),
        ([14, 9, 10, 15], [11, 11, 11, 15]),
        ([1, 2, 0, 11], [1, 1, 1, 11]),
    ],
)
def test_the_examples_of_the_paper(noisy, nearest):
    assert isotonic(noisy).tolist() == nearest


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=24))
def test_every_value_is_the_min_max_of_means(noisy):
    n = len(noisy)
    mean = {
        (i, j): Fraction(sum(noisy[i : j + 1]), j - i + 1) for i in range(n) for j in range(i, n)
    }
    lower = [min(max(mean[i, j] for i in range(j + 1)) for j in range(k, n)) for k in range(n)]
    upper = [max(min(mean[i, j] for j in range(i, n)) for i in range(k + 1)) for k in range(n)]
    assert lower == upper
    assert isotonic(noisy).tolist() == [float(value) for value in lower]


@given(reals)
def test_the_fit_is_the_one_of_scipy(noisy):
    expected = isotonic_regression(noisy).x
    np.testing.assert_allclose(isotonic(noisy), expected, rtol=0, atol=1e-9 * np.abs(noisy).max())


def test_the_fit_is_the_one_of_scipy_on_long_noisy_steps():
    rng = np.random.default_rng(5)
    for steps in (1, 30, 3_000):
        truth = np.repeat(np.sort(rng.integers(0, 10_000, steps)), 30_000 // steps)
        noisy = truth + np.rint(rng.laplace(0, 20, len(truth)))
        expected = isotonic_regression(noisy).x
        np.testing.assert_allclose(isotonic(noisy), expected, rtol=0, atol=1e-7)


@given(reals)
def test_the_fit_rises_without_tolerance(noisy):
    assert (np.diff(isotonic(noisy)) >= 0).all()


@given(arrays.arrays(np.int64, st.integers(1, 60), elements=st.integers(-(2**46), 2**46)))
def test_a_rising_sequence_is_left_as_it_is(noisy):
    rising = np.sort(noisy)
    assert np.array_equal(isotonic(rising), rising)


@given(reals, st.integers(0, 2**32))
def test_the_fit_is_never_further_off_than_the_largest_noise(truth, seed):
    truth = np.sort(truth)
    noise = np.random.default_rng(seed).laplace(0, 100, len(truth))
    off = np.abs(isotonic(truth + noise) - truth).max()
    assert off <= np.abs(noise).max() + 1e-9 * (1 + np.abs(truth).max())


def test_nothing_in_gives_nothing_out_and_the_input_is_left_alone():
    assert isotonic([]).tolist() == []
    noisy = np.array([3.0, 1.0])
    noisy.setflags(write=False)
    assert isotonic(noisy).tolist() == [2.0, 2.0]
    assert noisy.tolist() == [3.0, 1.0]
    assert isotonic(np.arange(10)[::-2]).tolist() == [5.0] * 5
