"""Prices and square prices against brute force: all pairs of columns of a question's matrix."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, eye_array, vstack

import trueup as tu
from trueup.ask import moves
from trueup.ask.moves import furthest, greatest, moved_by_matrix

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
    tu.HatCounts(1, [2]),
    tu.WaveletCounts(16),
    tu.WaveletCounts(11),
    tu.WaveletCounts(6, shares=["1/2", "1/8", "1/8", "1/4"]),
    tu.NamedCounts(AXIS, {"low": [0, 1, 2], "even": [0, 2, 4], "all": slice(None)}),
    tu.GridCounts(tu.CellCounts(AXIS), tu.CellCounts(B)),
    tu.GridCounts(tu.TreeCounts(AXIS, branching=3, root=False), tu.CellCounts(B)),
    tu.GridCounts(tu.TreeCounts(AXIS, branching=3), tu.CellCounts(B)),
    tu.GridCounts(tu.CellCounts(1), tu.TreeCounts(tu.Axis.integers("b", 0, 0), radices=[2])),
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


@pytest.mark.parametrize("replacing", [False, True])
@pytest.mark.parametrize("question", TIGHT[2:6] + TIGHT[10:13], ids=lambda q: f"{q.kind}{q.size}")
def test_what_a_question_says_is_what_its_matrix_says(question, replacing):
    weights = [weight for _, weight in question.blocks]
    neighbours = "replace" if replacing else "add-remove"
    assert by_matrix(question, [1] * len(weights), 1, replacing) == question.sensitivity(neighbours)
    assert by_matrix(question, weights, 1, replacing) == question.price(neighbours)
    assert by_matrix(question, question.squares, 2, replacing) == question.square_price(neighbours)


def by_matrix(question, weights, power, replacing):
    lengths = [length for length, _ in question.blocks]
    return moved_by_matrix(question.matrix(), lengths, weights, power, replacing)


@pytest.mark.parametrize("power", [1, 2])
def test_a_matrix_of_fractions_or_of_other_answers_has_no_price(power):
    """Cut to whole numbers, or with rows left out, it would cost too little."""
    one = [Fraction(1)]
    with pytest.raises(tu.InputError, match="matrix of whole numbers with a row for each answer"):
        moved_by_matrix(csr_array(np.array([[1.0, 0.5]])), [1], one, power)
    with pytest.raises(tu.InputError, match="a row for each answer"):
        moved_by_matrix(csr_array(np.eye(2)), [1], one, power)
    assert moved_by_matrix(csr_array(np.eye(2)), [2], one, power) == 1


def test_signed_weights_can_cost_four_times_when_replaced():
    question = tu.WeightedCounts(2, [[1, -1], [1, 1]])
    assert (question.square_price(), question.square_price("replace")) == (2, 4)
    apart = tu.WeightedCounts(2, [[9, -9], [1, 1]])
    assert apart.square_price("replace") == 18**2


@pytest.mark.parametrize("size", [4_096, 4_097])
def test_signed_weights_of_many_cells_cost_what_their_furthest_pair_costs(size):
    """Twice the most of one cell is a bound only where no weight is negative."""
    alone = eye_array(size, dtype=np.int64)
    signed = csr_array(([9, -9], ([0, 0], [0, 1])), (1, size))
    question = tu.WeightedCounts(size, csr_array(vstack([alone, signed])))
    assert question.square_price() == 1 + 81
    assert question.square_price("replace") == 1 + 1 + 18**2
    plain = tu.WeightedCounts(size, csr_array(vstack([alone, abs(signed)])))
    assert plain.square_price("replace") == (1 + 1 + 81 if size == 4_096 else 2 * (1 + 81))


@pytest.mark.parametrize("weight", [2**29, 2**30, 2**31 - 1, 2**31, 3 * 2**30])
def test_squares_of_large_weights_are_exact_or_refused(weight):
    """Also where many of them add up in one cell: none wraps around."""
    for rows in (1, 3, 4, 17):
        question = tu.WeightedCounts(2, [*([[weight, 1]] * rows), [1, 0], [0, 1]])
        added = rows * weight**2 + 1
        worst = {"add-remove": added, "replace": max(added, rows * (weight - 1) ** 2 + 2)}
        for neighbours in worst:
            said = exactly(question, neighbours)
            assert said == worst[neighbours] or (said is None and 4 * (added + weight**2) >= 2**62)


@pytest.mark.parametrize("weight", [2**10, 2**15, 2**16, 2**20, 2**29, 2**30])
def test_the_furthest_pair_of_large_weights_is_exact_or_refused(weight):
    """Signed weights are twice as far apart as any is large; squares of units come on top."""
    for square in (1, 2**10, 2**30, 2**31, 2**33):
        for rows in (1, 3, 8):
            far = 4 * weight**2 * square * rows
            signed = csr_array(np.array([[weight, -weight]] * rows))
            try:
                found = furthest(signed, [square] * rows)
            except tu.InputError:
                found = far if far >= 2**62 else None
            assert found == far


def exactly(question, neighbours):
    """The square price by the matrix; None where it is refused."""
    try:
        return by_matrix(question, question.squares, 2, neighbours == "replace")
    except tu.InputError:
        return None


def test_as_many_pairs_are_looked_at_as_there_is_time_for_and_not_one_more(monkeypatch):
    rows = csr_array(np.array([[1, 2, 4], [0, 1, 0]]))
    monkeypatch.setattr(moves, "_MOST_PAIRS", 9)
    assert furthest(rows, [1, 1]) == 9
    monkeypatch.setattr(moves, "_MOST_PAIRS", 8)
    with pytest.raises(tu.InputError, match="too many cells"):
        furthest(rows, [1, 1])


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
    monkeypatch.setattr(moves, "_PAIRS_AT_ONCE", at_once)
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
