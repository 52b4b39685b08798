from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.ask import question_from_json


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 11, 16, 33])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_price_is_the_most_that_one_record_moves(size, neighbours):
    generator = np.random.default_rng(size)
    parts = generator.integers(1, 9, len(tu.WaveletCounts(size).shares)).tolist()
    question = tu.WaveletCounts(size, [Fraction(part, sum(parts)) for part in parts])
    columns = question.matrix().toarray().T
    cells = [*columns, np.zeros(size)]  # off the axis, too, is a place for a record
    pairs = (
        itertools.combinations(cells, 2)
        if neighbours == "replace"
        else zip(columns, itertools.repeat(cells[-1]))
    )
    moves = [np.abs(a - b) for a, b in pairs]
    weights = np.repeat([float(w) for _, w in question.blocks], [n for n, _ in question.blocks])
    assert float(question.price(neighbours)) == pytest.approx(max(m @ weights for m in moves))
    assert question.sensitivity(neighbours) == max(m.sum() for m in moves)


@pytest.mark.parametrize("size", [2, 3, 5, 6, 7, 9, 12, 16, 21])
def test_the_square_price_is_the_most_that_one_record_moves_squared(size):
    """For shares that fall, rise, or are mostly of one level, which decide where cells part."""
    levels = len(tu.WaveletCounts(size).shares)
    weights = [[1 + 30 * (level == most) for level in range(levels)] for most in range(levels)]
    weights += [
        [2**level for level in range(levels)],
        [3 ** (9 - level) for level in range(levels)],
    ]
    for parts in weights:
        question = tu.WaveletCounts(size, [Fraction(part, sum(parts)) for part in parts])
        columns = question.matrix().toarray().astype(int).T
        squares = np.repeat(np.array(question.squares, object), [n for n, _ in question.blocks])
        one = max((column * column * squares).sum() for column in columns)
        assert question.square_price() == one
        pairs = itertools.combinations(columns, 2)
        apart = max(((a - b) * (a - b) * squares).sum() for a, b in pairs)
        assert question.square_price("replace") == max(one, apart)


@pytest.mark.parametrize("size", [1, 6, 64, 100])
def test_answers_are_the_matrix_times_the_counts(size):
    counts = np.random.default_rng(0).integers(0, 99, size)
    question = tu.WaveletCounts(size)
    np.testing.assert_array_equal(question.answers(counts), question.matrix() @ counts)
    assert question.length == size == sum(length for length, _ in question.blocks)


def test_the_question_survives_a_file():
    question = tu.WaveletCounts(tu.Axis.integers("age", 0, 9), ["0.2"] * 5)
    assert question_from_json(question.to_json()) == question


@pytest.mark.parametrize("shares", [["0.5", "0.5"], ["0.5", "0.6", "-0.1"], [1, 0, 0], ["0.3"] * 3])
def test_shares_that_do_not_split_epsilon_are_refused(shares):
    with pytest.raises(tu.InputError):
        tu.WaveletCounts(4, shares)
