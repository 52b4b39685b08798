"""Unions on a table of cells by a tree, against the errors of the same table in memory."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.infer import errors_of
from trueup.infer.unions import UnionErrors, tree_of_lines
from trueup.noise import Noise, noise_variance

CODES = np.unique(np.random.default_rng(5).integers(0, 10**6, 90))
PLACE = tu.Axis.codes("block", CODES, {"state": 1, "county": 3, "block": 6})
KIND = tu.Axis.categories("kind", ["a", "b", "c", "d"])


def table(*shares: str) -> tu.GridCounts:
    return tu.GridCounts(tu.CellCounts(KIND), tu.TreeCounts(PLACE, shares=shares))


TABLE = table("1/10", "1/5", "3/10", "2/5")
NOISES = [
    Noise(TABLE, Fraction(1)),
    Noise(TABLE, Fraction(3)),
    Noise(table("0", "1/2", "0", "1/2"), Fraction(1), "replace"),
    Noise(TABLE, rho=Fraction(1, 4)),
]


def coefficients(noise: Noise, cells: np.ndarray) -> np.ndarray:
    """What each noisy answer counts for in the sum of these cells: weights go as shares squared."""
    A = noise.question.matrix().toarray()
    W = np.repeat([float(share) ** 2 for _, share in noise.question.blocks], noise.lengths)
    return np.linalg.solve(A.T @ (W[:, None] * A), cells.ravel()) @ (A.T * W)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("seed", range(4))
def test_variance_and_law_of_a_union_are_those_of_dense_algebra(noise: Noise, seed: int) -> None:
    draws = np.random.default_rng(seed)
    chosen = draws.random((4, PLACE.size)) < 0.4
    chosen[2] = chosen[1]  # lines that are alike are taken together
    combination = tuple(
        (((line, line + 1), (cell, cell + 1)), 1.0) for line, cell in np.argwhere(chosen).tolist()
    )
    each = np.repeat([noise_variance(b, noise.law) for b in noise.scales], noise.lengths)
    wanted = float(coefficients(noise, chosen.astype(float)) ** 2 @ each)
    errors = UnionErrors.of(noise)
    assert errors.variance(combination) == pytest.approx(wanted, rel=1e-9)
    law, other = errors.noise_law(combination), errors_of(noise).noise_law(combination)
    assert law.variance == pytest.approx(wanted, rel=1e-9)
    assert law.half_width(0.95) == pytest.approx(other.half_width(0.95), rel=1e-3)


@pytest.mark.parametrize("noise", NOISES)
def test_boxes_over_several_lines_have_the_noise_of_each_of_them(noise: Noise) -> None:
    """One box, and two with other coefficients that overlap, against dense algebra."""
    each = np.repeat([noise_variance(b, noise.law) for b in noise.scales], noise.lengths)
    errors = UnionErrors.of(noise)
    for combination in (
        ((((0, 3), (5, 40)), 1.0),),
        ((((0, 4), (0, 31)), 2.0), (((1, 3), (20, 70)), -1.0)),
    ):
        values = np.zeros((4, PLACE.size))
        for ((top, bottom), (start, stop)), by in combination:
            values[top:bottom, start:stop] += by
        wanted = float(coefficients(noise, values) ** 2 @ each)
        assert errors.variance(combination) == pytest.approx(wanted, rel=1e-9)
        law, other = errors.noise_law(combination), errors_of(noise).noise_law(combination)
        assert law.variance == pytest.approx(wanted, rel=1e-9)
        assert law.half_width(0.95) == pytest.approx(other.half_width(0.95), rel=1e-3)


@pytest.mark.parametrize("noise", NOISES[:2])
def test_boxes_are_those_of_the_table_in_memory(noise: Noise) -> None:
    draws = np.random.default_rng(3)
    ends = [np.sort(draws.integers(0, size + 1, (30, 2)), axis=1) for size in (4, PLACE.size)]
    starts, stops = (np.stack([each[:, end] for each in ends], axis=1) for end in (0, 1))
    found, other = UnionErrors.of(noise), errors_of(noise)
    np.testing.assert_allclose(
        found.box_variances(starts, stops), other.box_variances(starts, stops), rtol=1e-9
    )
    cuts = [np.array([0, 1, 4]), np.array([0, 7, 30, PLACE.size])]
    np.testing.assert_allclose(
        found.product_variances(cuts), other.product_variances(cuts), rtol=1e-9
    )


def test_a_difference_of_regions_has_the_noise_that_they_share_once() -> None:
    errors = UnionErrors.of(NOISES[0])
    here, there = ((0, 2), (0, 30)), ((1, 3), (20, 60))
    found = errors.variance(((here, 1.0), (there, -1.0)))
    other = errors_of(NOISES[0]).variance(((here, 1.0), (there, -1.0)))
    assert found == pytest.approx(other, rel=1e-9)
    assert errors.variance(((here, 1.0), (here, -1.0))) == 0.0


@pytest.mark.parametrize(
    "question",
    [
        tu.GridCounts(tu.TreeCounts(PLACE), tu.CellCounts(KIND)),
        tu.GridCounts(tu.CellCounts(KIND), tu.CellCounts(PLACE)),
        tu.GridCounts(tu.CellCounts(3), tu.CellCounts(KIND), tu.TreeCounts(PLACE)),
        tu.TreeCounts(PLACE),
    ],
)
def test_only_cells_by_a_tree_are_such_a_table(question: tu.Question) -> None:
    assert tree_of_lines(question) is None
    assert tree_of_lines(TABLE) == TABLE.factors[1]


@pytest.mark.parametrize("ends", [(1, 8), (8, 17), (0, 20), (3, 4)])
def test_boxes_over_many_lines_have_the_noise_of_each_of_them(ends: tuple[int, int]) -> None:
    """Of lines anywhere among twenty, and of two boxes that share some of them."""
    kinds = tu.Axis.integers("kind", 0, 19)
    tree = tu.TreeCounts(PLACE, shares=("1/10", "1/5", "3/10", "2/5"))
    noise = Noise(tu.GridCounts(tu.CellCounts(kinds), tree), Fraction(1))
    errors, line = UnionErrors.of(noise), UnionErrors.of(NOISES[0])
    one, other = (5, 40), (30, 77)

    def alone(*values: tuple[tuple[int, int], float]) -> float:
        return line.variance(tuple((((0, 1), along), by) for along, by in values))

    start, stop = ends
    found = errors.variance((((ends, one), 1.0),))
    assert found == pytest.approx((stop - start) * alone((one, 1.0)))
    shared = max(min(stop, 16) - max(start, 2), 0)
    both = (((ends, one), 2.0), (((2, 16), other), -1.0))
    wanted = shared * alone((one, 2.0), (other, -1.0))
    wanted += (stop - start - shared) * alone((one, 2.0)) + (14 - shared) * alone((other, -1.0))
    assert errors.variance(both) == pytest.approx(wanted)
    assert errors.noise_law(both).variance == pytest.approx(wanted, rel=1e-6)
