"""The bound that no linear question beats: against dense algebra, and never above a question."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import eigh

from trueup._kernels.error import least_possible
from trueup._kernels.error.least_possible import (
    columns_of_root,
    least_mean_variance,
    resolvent_traces,
    shifts_and_parts,
)
from trueup._kernels.windows.profile import profile_of
from trueup._kernels.windows.spectrum import mean_variances


def gram(size, prefixes):
    """How many prefixes, or ranges, hold both cells; and how many there are."""
    i = np.arange(1, size + 1)
    after = size + 1.0 - np.maximum(i[:, None], i)
    return (after, size) if prefixes else (after * np.minimum(i[:, None], i), size * (size + 1) / 2)


@pytest.mark.parametrize("prefixes", [False, True])
@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_it_is_the_dual_bound_of_its_weights(size, prefixes):
    both, number = gram(size, prefixes)
    weights = columns_of_root(size, prefixes) ** (2.2 if prefixes else 2.0)
    root = np.sqrt(weights)
    values = np.linalg.eigvalsh(root[:, None] * both * root)
    dual = np.sqrt(np.maximum(values, 0)).sum() ** 2 / weights.sum() / number
    assert dual * (1 - 1e-5) < least_mean_variance(size, prefixes) <= dual


@pytest.mark.parametrize(
    ("size", "prefixes", "told"),
    [(1024, False, 12.3558), (4096, False, 17.0902), (1024, True, 8.7347), (65536, False, 28.9094)],
)
def test_it_is_the_optimum_that_a_search_certified(size, prefixes, told):
    # By the fixed point of the best question, dense; the bound is at most a little below.
    assert told * (1 - 1e-3) < least_mean_variance(size, prefixes) <= told * (1 + 1e-5)


@pytest.mark.parametrize("size", [1, 3, 8, 64, 365, 4096])
def test_windows_are_next_to_it_and_never_below(size):
    for end, prefixes in ((-1, False), (1, True)):
        profile = profile_of(size, end)
        mean = mean_variances(profile)[prefixes] * float(profile.squares.max())
        bound = least_mean_variance(size, prefixes)
        assert bound <= mean <= bound * (1.006 if size > 60 else 1.02)


def test_no_other_question_is_below():
    both, number = gram(40, False)
    generator = np.random.default_rng(1)
    bound = least_mean_variance(40)
    for _ in range(20):
        rows = np.vstack([np.eye(40), generator.normal(size=(30, 40)) * generator.random()])
        squares = rows.T @ rows
        mean = squares.diagonal().max() * np.trace(np.linalg.solve(squares, both)) / number
        assert mean > bound


@pytest.mark.parametrize("free", [False, True])
def test_traces_are_those_of_resolvents(free):
    weights = np.random.default_rng(2).random(30) + 0.1
    second = 2 * np.eye(30) - np.eye(30, k=1) - np.eye(30, k=-1)
    second[0, 0] = 1 if free else 2
    shifts, found = np.array([1e-6, 0.1, 50.0]), np.zeros(3)
    resolvent_traces(weights, shifts, free, found)
    values = eigh(second, np.diag(weights), eigvals_only=True)
    np.testing.assert_allclose(found, (1 / (values + shifts[:, None])).sum(axis=1), rtol=1e-10)


def test_the_sum_of_shifts_is_nowhere_above_the_root():
    shifts, parts = shifts_and_parts(1e-10, 4.0)
    inside, outside = np.geomspace(1e-10, 4, 999), np.geomspace(1e-30, 1e20, 999)
    near = (parts / (inside[:, None] + shifts)).sum(axis=1) * np.sqrt(inside)
    assert near.min() > 1 - 1e-5
    assert near.max() <= 1
    assert ((parts / (outside[:, None] + shifts)).sum(axis=1) * np.sqrt(outside)).max() <= 1


def test_what_the_sum_exceeds_the_root_by_is_what_poisson_says(monkeypatch):
    monkeypatch.setattr(least_possible, "_STEP", 4.0)  # coarse enough to be seen
    shifts, parts = shifts_and_parts(1e-10, 4.0)
    inside = np.geomspace(1e-6, 1e-3, 999)
    near = (parts / (inside[:, None] + shifts)).sum(axis=1) * np.sqrt(inside)
    exceeds = 2 / math.cosh(math.pi**2 / 2)
    assert near.max() <= 1
    assert near.min() == pytest.approx((1 - exceeds) / (1 + exceeds), rel=1e-3)
