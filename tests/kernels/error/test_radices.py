from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup._kernels.error.radices import best_shares, best_tree, weights_of, widths_of
from trueup._kernels.error.tree_error import mean_over_prefixes, mean_over_ranges


def error_of(size, radices, shares, mean=mean_over_ranges):
    return mean(size, widths_of(size, radices[1:]), weights_of([float(p) for p in shares]))


def search(size, mean=mean_over_ranges):
    return best_tree(lambda widths, weights: mean(size, widths, weights), size)


@pytest.mark.parametrize(("size", "goal"), [(365, 97), (1024, 155), (4096, 262), (65536, 615)])
def test_the_best_tree_reaches_its_goal(size, goal):
    assert error_of(size, *search(size)) <= goal


def test_prefixes_reach_their_goal():
    assert error_of(4096, *search(4096, mean_over_prefixes), mean_over_prefixes) <= 193


SIZES = [*range(1, 40), 97, 365, 1009, 5040, 65537, 86_400, 10**6 - 17, 10**6]


@pytest.mark.parametrize("size", SIZES)
def test_never_worse_than_flat_and_shares_add_up(size):
    radices, shares = search(size)
    assert np.prod([int(k) for k in radices]) >= size
    assert sum(shares) == 1
    assert len(shares) == len(radices) + 1
    assert all(isinstance(p, Fraction) and p.denominator <= 100 for p in shares)
    assert error_of(size, radices, shares) <= 2 * (size + 2) / 3 * (1 + 1e-12)


def test_best_shares_are_a_minimum():
    widths = widths_of(1000, (10, 10))

    def error(widths, weights):
        return mean_over_ranges(1000, widths, weights)

    shares, least = best_shares(error, widths, [0, 1 / 3, 1 / 3, 1 / 3])
    generator = np.random.default_rng(0)
    for _ in range(200):
        nudged = np.array(shares) + np.append(0, generator.normal(0, 0.01, 3))
        nudged /= nudged.sum()
        assert error(widths, weights_of(nudged)) >= least * (1 - 1e-5)
