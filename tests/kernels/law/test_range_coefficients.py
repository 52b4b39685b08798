"""The compiled walk of single ranges against the walk of any combination, class by class."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup._kernels.law.range_coefficients import cells_alike, range_classes
from trueup.infer import errors_of
from trueup.infer.tree import TreeErrors
from trueup.law import half_widths
from trueup.noise import Noise

QUESTIONS = {
    "cells": lambda n: tu.CellCounts(tu.Axis.integers("x", 0, n - 1)),
    "best": tu.TreeCounts,
    "binary": lambda n: tu.TreeCounts(n, branching=2),
    "ternary, no root": lambda n: tu.TreeCounts(n, branching=3, root=False),
    "some levels": lambda n: tu.TreeCounts(n, radices=(3, 4, 9), shares=("1/4", 0, 0, "3/4")),
}


def errors(name: str, size: int, epsilon: Fraction = Fraction(1)) -> TreeErrors:
    question = QUESTIONS[name](size)
    found = errors_of(Noise(question, epsilon))
    assert isinstance(found, TreeErrors)
    return found


def ranges(size: int, number: int) -> np.ndarray:
    generator = np.random.default_rng(size)
    some = np.sort(generator.integers(0, size + 1, (number, 2)), axis=1)
    return np.concatenate([[[0, size], [0, 1], [size - 1, size], [size // 2, size // 2]], some])


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("size", [1, 2, 5, 28, 100, 108])
def test_classes_are_those_of_the_walk_of_any_combination(name: str, size: int) -> None:
    model = errors(name, size)
    tree = model._coefficients
    assert tree.tree.regular
    asked = ranges(size, 60)
    starts, stops = asked.T.copy()
    known = tree.numbers.known, tree.numbers.under, tree.numbers.number
    c, levels, counts, used = range_classes(*known, starts, stops, 400)
    for row, (start, stop) in enumerate(asked.tolist()):
        if start == stop:
            assert used[row] == 0
            continue
        cuts = sorted({0, start, stop, size})
        values = [float(start <= cut < stop) for cut in cuts[:-1]]
        exact = sorted(zip(*(part.tolist() for part in tree.classes(cuts, values)), strict=True))
        mine = slice(0, used[row])
        some = (c[row, mine] != 0) & (counts[row, mine] > 0)
        parts = (c[row, mine][some], levels[row, mine][some], counts[row, mine][some])
        found = sorted(zip(*(part.tolist() for part in parts), strict=True))
        assert found == exact  # one source: to the last bit


@pytest.mark.parametrize("epsilon", ["1/100", "1", "20"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_half_widths_are_those_of_the_laws(name: str, epsilon: str) -> None:
    model = errors(name, 108, Fraction(epsilon))
    starts, stops = ranges(108, 30).T.copy()
    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    exact = half_widths([model.noise_law(((pair, 1.0),)) for pair in pairs], 0.95)
    np.testing.assert_allclose(model.many_half_widths(starts, stops, 0.95), exact, rtol=1e-5)


def test_a_row_too_short_says_so() -> None:
    model = errors("binary", 100)
    numbers, asked = model._coefficients.numbers, np.array([[13], [87]])
    known = numbers.known, numbers.under, numbers.number
    *_, used = range_classes(*known, asked[0], asked[1], 4)
    assert used.tolist() == [-1]


def test_an_irregular_tree_is_answered_all_the_same() -> None:
    place = tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa", "Yolo"], "NV": ["Clark"]})
    question = tu.TreeCounts(place, levels=list(place.levels()))
    model = errors_of(Noise(question, Fraction(1)))
    assert isinstance(model, TreeErrors)
    assert model.many_half_widths(np.array([0, 1]), np.array([3, 4]), 0.9) is None
    found = model.half_widths(np.array([0, 1]), np.array([3, 4]), 0.9)
    exact = half_widths([model.noise_law((((a, b), 1.0),)) for a, b in ((0, 3), (1, 4))], 0.9)
    np.testing.assert_allclose(found, exact, rtol=1e-9)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("size", [1, 2, 5, 28, 100, 107, 108])
def test_cells_that_are_alike_have_one_law(name: str, size: int) -> None:
    model = errors(name, size)
    known = model._coefficients.numbers.known
    starts = np.arange(size)
    which, first = cells_alike(known.widths, known.lengths, starts)
    assert len(first) <= len(known.widths) + 1
    written = [_written_out(model, cell) for cell in range(size)]
    for cell in range(size):
        assert written[cell] == written[first[which[cell]]]
    found = model.many_half_widths(starts, starts + 1, 0.95)
    alone = [model.noise_law((((start, start + 1), 1.0),)) for start in range(size)]
    assert np.allclose(found, half_widths(alone, 0.95), rtol=0.01)


def _written_out(model: TreeErrors, cell: int) -> Counter[tuple[float, float]]:
    """How often each coefficient and scale occurs in the law of a cell."""
    law = model.noise_law((((cell, cell + 1), 1.0),))
    found: Counter[tuple[float, float]] = Counter()
    for coefficient, scale, count in zip(law.coefficients, law.scales, law.counts, strict=True):
        if count and abs(coefficient) > 1e-14:
            found[round(abs(float(coefficient)), 12), float(scale)] += int(count)
    return found
