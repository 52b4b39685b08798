"""Lattices of boxes against the same question written out: dense linear algebra and scipy."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from scipy.optimize import nnls

from trueup.infer.lattice import LatticeErrors
from trueup.noise import LAWS, noise_variance

LATTICES = {
    "one axis": (((12, 4, 2, 1),), ((0,), (2,), (3,))),
    "quadtree": (((4, 2, 1), (4, 2, 1)), ((0, 0), (1, 1), (2, 2))),
    "products": (((6, 3, 1), (8, 2, 1)), ((0, 1), (1, 0), (2, 1), (2, 2))),
    "margins": (((4, 1), (3, 1), (2, 1)), ((1, 0, 0), (1, 1, 0), (0, 1, 1))),
    "centred margins": (
        ((4, 1), (3, 1), (2, 1)),
        ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1)),
    ),
}
every_lattice = pytest.mark.parametrize("name", LATTICES)
every_law = pytest.mark.parametrize("law", LAWS)


def lattice(name, law="discrete"):
    """The lattice, its rows written out, and the noise variance of each."""
    widths, levels = LATTICES[name]
    scales = tuple(Fraction(2 + number, 3) for number in range(len(levels)))
    rows, variances = [], []
    for asked, scale in zip(levels, scales, strict=True):
        sides = [
            side(each[0], each[level], name == "centred margins")
            for each, level in zip(widths, asked, strict=True)
        ]
        rows.append(reduce(np.kron, sides))
        variances += [noise_variance(scale, law)] * len(rows[-1])
    errors = LatticeErrors(widths, levels, scales, law, name == "centred margins")
    return errors, np.vstack(rows), np.array(variances)


def side(size, width, centred):
    """The nodes of an axis as rows: the sums of cells; centred, n times a cell less all of them."""
    if centred and width == 1:
        return size * np.eye(size) - np.ones((size, size))
    return np.kron(np.eye(size // width), np.ones((1, width)))


def blocks(errors, answers):
    """The answers of each tuple of levels, as an array of its boxes."""
    found, taken = [], 0
    for levels in errors.levels:
        sides = [w[0] // w[level] for w, level in zip(errors.widths, levels, strict=True)]
        size = int(np.prod(sides))
        found.append(answers[taken : taken + size].reshape(sides))
        taken += size
    return found


def estimator(rows, variances):
    """The matrix that makes cells of answers: the smallest of the nearest ones."""
    weights = 1 / np.sqrt(variances)
    return np.linalg.pinv(rows * weights[:, None], rcond=1e-10) * weights


def every_box(sizes):
    """The first and last ends of every box that is not empty, and the cells inside."""
    sides = [np.triu_indices(size + 1, 1) for size in sizes]
    numbers = np.indices([len(side[0]) for side in sides]).reshape(len(sizes), -1)
    low, high = (
        np.stack([side[end][n] for side, n in zip(sides, numbers, strict=True)], axis=1)
        for end in (0, 1)
    )
    inside = np.ones((len(low), *sizes), bool)
    for axis, size in enumerate(sizes):
        at = np.arange(size)
        each = (low[:, [axis]] <= at) & (at < high[:, [axis]])
        inside &= each.reshape(len(low), *(size if n == axis else 1 for n in range(len(sizes))))
    return low, high, inside.reshape(len(low), -1).astype(float)


@every_lattice
@every_law
def test_the_normal_equations_are_those_of_the_rows(name, law):
    errors, rows, variances = lattice(name, law)
    rng = np.random.default_rng(1)
    cells, answers = rng.normal(size=rows.shape[1]), rng.normal(size=len(rows))
    gram = rows.T @ (rows / variances[:, None])
    found = errors.gram(cells.reshape(errors.sizes)).ravel()
    np.testing.assert_allclose(found, gram @ cells, rtol=0, atol=1e-10 * np.abs(gram).max())
    right = errors.weighed(blocks(errors, answers)).ravel()
    np.testing.assert_allclose(right, rows.T @ (answers / variances), rtol=0, atol=1e-10)


@every_lattice
@every_law
def test_fitted_cells_are_dense_least_squares(name, law):
    errors, rows, variances = lattice(name, law)
    answers = np.random.default_rng(2).normal(50, 20, len(rows))
    wanted = estimator(rows, variances) @ answers
    found = errors.fit(blocks(errors, answers)).ravel()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(answers).sum())


@every_lattice
@every_law
def test_every_box_has_the_variance_of_the_dense_estimator(name, law):
    errors, rows, variances = lattice(name, law)
    inverse = estimator(rows, variances)
    low, high, inside = every_box(errors.sizes)
    wanted = ((inside @ inverse) ** 2) @ variances
    determined = np.abs(inside @ inverse @ rows - inside).max(axis=1) < 1e-9
    assert determined.any()
    assert determined.all() == ("margins" not in name)
    found = errors.box_variances(low, high)
    assert np.isinf(found[~determined]).all()
    np.testing.assert_allclose(found[determined], wanted[determined], rtol=1e-9)
    if determined.all():
        cells = errors.product_variances([np.arange(size + 1) for size in errors.sizes])
        np.testing.assert_allclose(cells.ravel(), (inverse**2) @ variances, rtol=1e-9)


@every_lattice
def test_a_combination_of_boxes_has_the_law_of_the_dense_estimator(name):
    errors, rows, variances = lattice(name)
    whole = tuple((0, size) for size in errors.sizes)
    first = ((0, 2), *whole[1:])
    combination = ((whole, 1.0), (first, -0.5))
    values = np.ones(errors.sizes)
    values[:2] -= 0.5
    coefficients = values.ravel() @ estimator(rows, variances)
    wanted = float(coefficients**2 @ variances)
    assert errors.variance(combination) == pytest.approx(wanted, rel=1e-9)
    law = errors.noise_law(combination)
    assert law.variance == pytest.approx(wanted, rel=1e-8)
    assert law.counts.sum() == np.count_nonzero(np.abs(coefficients) > 1e-12)


@every_lattice
def test_energies_are_squared_lengths_of_the_parts_of_a_range(name):
    errors, _, _ = lattice(name)
    for axis, widths in enumerate(errors.widths):
        starts, stops = np.triu_indices(widths[0] + 1, 1)
        at = np.arange(widths[0])
        ranges = ((starts[:, None] <= at) & (at < stops[:, None])).astype(float)
        means = [
            np.repeat(ranges.reshape(len(ranges), -1, w).mean(axis=2), w, axis=1) for w in widths
        ]
        parts = np.diff(np.stack(means, axis=1), axis=1, prepend=0.0)
        wanted = (parts**2).sum(axis=2)
        np.testing.assert_allclose(errors.energies(axis, starts, stops), wanted, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in LATTICES if "margins" not in name])
def test_the_mean_over_all_boxes_is_the_mean_of_each(name):
    errors, rows, variances = lattice(name, "continuous")
    _, _, inside = every_box(errors.sizes)
    each = ((inside @ estimator(rows, variances)) ** 2) @ variances
    energies = [
        errors.energies(axis, *np.triu_indices(size + 1, 1)).mean(axis=0)
        for axis, size in enumerate(errors.sizes)
    ]
    assert errors.mean_variance(energies) == pytest.approx(each.mean(), rel=1e-9)


@every_lattice
def test_cells_without_negative_counts_are_as_near_as_scipys(name):
    errors, rows, variances = lattice(name)
    answers = np.random.default_rng(3).normal(0, 20, len(rows))
    weights = 1 / np.sqrt(variances)
    _, least = nnls(rows * weights[:, None], answers * weights)
    cells = errors.nonnegative(blocks(errors, answers)).ravel()
    assert cells.min() >= 0
    off = np.linalg.norm((rows @ cells - answers) * weights)
    assert off == pytest.approx(least, rel=1e-4)


@every_lattice
@every_law
def test_a_multiple_of_a_box_has_its_variance_times_the_square(name, law):
    """Alone and within a sum; a box that nothing asked determines has an infinite one."""
    errors, rows, variances = lattice(name, law)
    inverse = estimator(rows, variances)
    low, high, inside = every_box(errors.sizes)
    known = np.abs(inside @ inverse @ rows - inside).max(axis=1) < 1e-9
    some = np.random.default_rng(5).integers(0, len(low), 30)
    for n in some.tolist():
        box = tuple(zip(low[n].tolist(), high[n].tolist(), strict=True))
        wanted = 9 * float((inside[n] @ inverse) ** 2 @ variances) if known[n] else np.inf
        assert errors.variance(((box, -3.0),)) == pytest.approx(wanted, rel=1e-8)
        if known[n]:
            parts = ((box, -1.0), (box, -2.0))
            assert errors.variance(parts) == pytest.approx(wanted, rel=1e-8)
            assert errors.variance(((box, 1.0), (box, -1.0))) == pytest.approx(0, abs=1e-9)
