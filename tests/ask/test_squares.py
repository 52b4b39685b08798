"""Square prices against brute force: all pairs of columns of every question's matrix."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import trueup as tu
from trueup.ask import squares
from trueup.ask.squares import furthest, greatest

AXIS = tu.Axis.integers("a", 0, 11)
B = tu.Axis.integers("b", 0, 2)


def brute(question, neighbours):
    """The greatest squared move of one record, from the matrix and the blocks' squares alone."""
    rows = np.asarray(question.matrix().todense()).astype(int)
    lengths = [length for length, _ in question.blocks]
    squares = np.repeat(np.array(question.squares, object), lengths)
    moves = rows.T
    if neighbours == "replace":
        moves = np.array([*(a - b for a, b in combinations(rows.T, 2)), *rows.T])
    return max((move * move * squares).sum() for move in moves)


TIGHT = [
    tu.CellCounts(AXIS),
    tu.CellCounts(1),
    tu.TreeCounts(AXIS, branching=3),
    tu.TreeCounts(AXIS, branching=2, root=False),
    tu.TreeCounts(AXIS, radices=(3, 4), shares=["1/5", "1/5", "3/5"]),
    tu.HatCounts(AXIS, [3], ends=True),
    tu.HatCounts(AXIS, [2, 4], shares=["1/2", "1/4", "1/4"], ends=True),
    tu.WaveletCounts(16),
    tu.WaveletCounts(11),
    tu.WaveletCounts(6, shares=["1/2", "1/8", "1/8", "1/4"]),
    tu.NamedCounts(AXIS, {"low": [0, 1, 2], "even": [0, 2, 4], "all": slice(None)}),
    tu.GridCounts(tu.CellCounts(AXIS), tu.CellCounts(B)),
    tu.GridCounts(tu.TreeCounts(AXIS, branching=3, root=False), tu.CellCounts(B)),
    tu.GridCounts(tu.TreeCounts(AXIS, branching=3), tu.CellCounts(B)),
    tu.BoxCounts.marginals(AXIS, B, marginals=[("a",), ("b",), ()], shares=["1/2", "1/4", "1/4"]),
    tu.BoxCounts.quadtree(8, 8, branching=2),
    tu.WeightedCounts(3, [[1, 0, 0], [0, 1, 0], [0, 0, 1], ["1/2", "-1/3", 0], [0, "1/2", 2]]),
    tu.WeightedCounts(3, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [7, -9, 1]]),
]
NOT_TIGHT = [  # replacing: a bound, of cells that share an answer wherever they lie
    tu.HatCounts(AXIS, [2, 12]),
    tu.GridCounts(tu.TreeCounts(AXIS, branching=3), tu.TreeCounts(B, branching=3)),
    tu.HatCounts(40, [2, 6]),
    tu.HatCounts(60, [9]),
]


@pytest.mark.parametrize("question", [*TIGHT, *NOT_TIGHT], ids=lambda q: f"{q.kind}{q.size}")
def test_square_price_is_the_greatest_squared_move(question):
    assert question.square_price("add-remove") == brute(question, "add-remove")


@pytest.mark.parametrize("question", TIGHT, ids=lambda q: f"{q.kind}{q.size}")
def test_square_price_of_replacing_is_that_of_the_furthest_pair(question):
    assert question.square_price("replace") == brute(question, "replace")


@pytest.mark.parametrize("question", NOT_TIGHT, ids=lambda q: q.kind)
def test_square_price_of_replacing_is_never_below_the_furthest_pair(question):
    worst = brute(question, "replace")
    assert worst < question.square_price("replace") <= 2 * question.square_price()


@pytest.mark.parametrize("question", TIGHT[2:6] + TIGHT[9:12], ids=lambda q: f"{q.kind}{q.size}")
def test_what_a_question_says_is_what_its_matrix_says(question):
    for neighbours in ("add-remove", "replace"):
        said = tu.ask.Question.square_price(question, neighbours)
        assert said == question.square_price(neighbours)


def test_signed_weights_can_cost_four_times_when_replaced():
    question = tu.WeightedCounts(2, [[1, -1], [1, 1]])
    assert (question.square_price(), question.square_price("replace")) == (2, 4)
    apart = tu.WeightedCounts(2, [[9, -9], [1, 1]])
    assert apart.square_price("replace") == 18**2


def test_long_weights_that_cannot_be_compared_are_refused():
    question = tu.WeightedCounts(2, [[1, "1/1000000007"], ["1/1000000009", 1]])
    assert question.square_price() == 1 + Fraction(1, 1000000007**2)
    with pytest.raises(tu.InputError, match="price of replacing a record cannot be found"):
        question.square_price("replace")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(-5, 5), min_size=4, max_size=4), min_size=1, max_size=4))
def test_the_furthest_pair_is_found(rows):
    from scipy.sparse import csr_array

    squares = [1 + i for i in range(len(rows))]
    pairs = combinations(np.array(rows).T, 2)
    worst = max(int(((a - b) ** 2 * squares).sum()) for a, b in pairs)
    assert furthest(csr_array(np.array(rows)), squares) == worst


def test_the_greatest_sum_is_exact_where_floats_cannot_tell():
    big = 10**18
    parts = [np.array([big, big + 1, 3]), np.array([1, 0, 0])]
    assert greatest(parts, [Fraction(1), Fraction(1, 3)]) == big + 1
    assert greatest(parts, [Fraction(1), Fraction(3, 2)]) == big + Fraction(3, 2)


@pytest.mark.parametrize("at_once", [1, 40, 1 << 22])
def test_the_furthest_columns_are_found_however_few_are_looked_at_together(at_once, monkeypatch):
    monkeypatch.setattr(squares, "_PAIRS_AT_ONCE", at_once)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.integers(-3, 4, (4, 13)) * (rng.random((4, 13)) < 0.6)
        rows[:, :2] *= 1 + 3 * (seed % 3)  # the furthest are often the first
        rows[0, 0] += 1
        weights = rng.integers(1, 9, 4).tolist()
        wanted = max(
            sum(w * (a - b) ** 2 for w, a, b in zip(weights, *pair, strict=True))
            for pair in combinations(rows.T.tolist(), 2)
        )
        assert furthest(csr_array(rows), weights) == wanted
