"""Centred margins: prices by brute force, and the least total variance by dense algebra."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import trueup as tu
from trueup.ask import question_from_json
from trueup.ask.margins import margins_below


def up_to_two(sizes):
    """All marginals of one and of two axes, by name."""
    names = [f"axis {number}" for number in range(len(sizes))]
    return [*((name,) for name in names), *itertools.combinations(names, 2)]


def levels_of(sizes, marginals):
    names = [f"axis {number}" for number in range(len(sizes))]
    return [tuple(int(name in each) for name in names) for each in marginals]


@pytest.mark.parametrize("sizes", [(2, 3), (4, 2), (2, 3, 2)])
def test_prices_are_the_most_that_one_record_moves(sizes):
    question = tu.BoxCounts.marginals(*sizes, marginals=up_to_two(sizes), gaussian=True)
    rows = question.matrix().toarray().astype(np.int64).astype(object)
    weights = np.repeat([w for _, w in question.blocks], [n for n, _ in question.blocks])
    nothing = np.zeros(len(rows), object)
    pairs = {
        "add-remove": [(column, nothing) for column in rows.T],
        "replace": list(itertools.combinations([*rows.T, nothing], 2)),
    }
    for neighbours, each in pairs.items():
        moves = [abs(a - b) for a, b in each]
        assert question.sensitivity(neighbours) == max(m.sum() for m in moves)
        assert question.price(neighbours) == max((m * weights).sum() for m in moves)
        assert question.square_price(neighbours) == max((m**2 * weights**2).sum() for m in moves)
    counts = np.random.default_rng(1).integers(0, 99, math.prod(sizes))
    assert question.answers(counts).tolist() == rows.dot(counts).tolist()
    assert question.heaviest >= abs(rows).max()
    assert question_from_json(question.to_json()) == question


def total_variance(question, sizes, marginals):
    """Of all cells of the marginals, by dense algebra, for a longest column of length 1."""
    rows = question.matrix().toarray()
    weights = [float(w) for _, w in question.blocks]
    rows = rows * np.repeat(weights, [n for n, _ in question.blocks])[:, None]
    asked = tu.BoxCounts.marginals(*sizes, marginals=marginals).matrix().toarray()
    covariance = asked @ np.linalg.pinv(rows.T @ rows) @ asked.T
    return np.trace(covariance) * np.square(rows).sum(axis=0).max()


def least_total_variance(sizes, marginals):
    """No linear question has a smaller total variance over all cells of these marginals.

    Per unit of noise variance, for columns of length 1: (Σ dimension · √w)² over the table's cells,
    where w is the sum, over the marginals above a margin, of Πn over their other axes.
    """
    root = 0.0
    for below in margins_below(marginals):
        above = [each for each in marginals if all(np.array(each) >= below)]
        w = sum(math.prod(n for n, lv in zip(sizes, each, strict=True) if not lv) for each in above)
        dimension = math.prod(n - 1 for n, lv in zip(sizes, below, strict=True) if lv)
        root += dimension * math.sqrt(w)
    return root**2 / math.prod(sizes)


@pytest.mark.parametrize("sizes", [(2, 2, 2, 2, 2, 2, 2, 2), (4, 3, 5)])
def test_margins_for_gaussian_noise_are_the_best_possible(sizes):
    marginals = up_to_two(sizes)
    least = least_total_variance(sizes, levels_of(sizes, marginals))
    best = tu.BoxCounts.marginals(*sizes, marginals=marginals, gaussian=True)
    plain = tu.BoxCounts.marginals(*sizes, marginals=marginals)
    assert least * (1 - 1e-9) < total_variance(best, sizes, marginals) < least * 1.0001
    assert total_variance(plain, sizes, marginals) > 1.2 * least


def test_the_least_is_a_bound_for_any_question():
    sizes, generator = (3, 2, 2), np.random.default_rng(0)
    marginals = up_to_two(sizes)
    least = least_total_variance(sizes, levels_of(sizes, marginals))
    asked = tu.BoxCounts.marginals(*sizes, marginals=marginals).matrix().toarray()
    for _ in range(30):
        rows = np.vstack([np.eye(12), asked * generator.random((len(asked), 1)) * 3])
        covariance = asked @ np.linalg.inv(rows.T @ rows) @ asked.T
        assert np.trace(covariance) * np.square(rows).sum(axis=0).max() > least


def test_a_release_of_centred_margins_is_least_squares():
    sizes = (3, 2, 4)
    marginals = up_to_two(sizes)
    question = tu.BoxCounts.marginals(*sizes, marginals=marginals, gaussian=True)
    counts = np.random.default_rng(2).integers(0, 50, sizes)
    measurement = tu.measure(counts, question, epsilon=1)
    release = tu.infer(measurement)
    rows = question.matrix().toarray()
    weighed = rows / np.sqrt(measurement.variances)[:, None]
    inverse = np.linalg.pinv(weighed.T @ weighed)
    cells = inverse @ rows.T @ (measurement.noisy / measurement.variances)
    for fixed in ({"axis 0": (1, 2)}, {"axis 0": (0, 2), "axis 2": (1, 3)}, {}):
        box = tuple(slice(*fixed.get(f"axis {k}", (0, n))) for k, n in enumerate(sizes))
        inside = np.zeros(sizes)
        inside[box] = 1
        inside = inside.ravel()
        estimate = release.range(**fixed) if fixed else release.total()
        assert estimate.value == pytest.approx(float(inside @ cells), abs=1e-6)
        assert estimate.std_error**2 == pytest.approx(float(inside @ inverse @ inside))
    shown = tu.infer(measurement, nonnegative=True, integers=True)
    assert shown.margin("axis 0", "axis 1").counts().min() >= 0


def test_subsets_are_listed_once_and_wrong_requests_refused():
    assert margins_below([(1, 1, 0), (0, 1, 1)]) == (
        (0, 0, 0),
        (1, 0, 0),
        (0, 1, 0),
        (0, 0, 1),
        (1, 1, 0),
        (0, 1, 1),
    )
    with pytest.raises(tu.InputError, match="two cells or more"):
        tu.BoxCounts.marginals(1, 3, marginals=[("axis 1",)], gaussian=True)
    with pytest.raises(tu.InputError, match="give none"):
        tu.BoxCounts.marginals(2, 3, marginals=[("axis 1",)], shares=[1], gaussian=True)
