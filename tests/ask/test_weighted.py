"""Strategies: exact prices of any matrix, and matrices that make no sense."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array

import trueup as tu
from trueup import FileError, HatCounts, InputError, WeightedCounts
from trueup.ask import moves, question_from_json


def test_rows_are_asked_in_the_smallest_unit_that_makes_them_whole():
    question = WeightedCounts(2, [["1/2", "1/3"], [4, -6], [0.25, 0], [0, Decimal("0.5")]])
    assert question.units == (Fraction(1, 6), Fraction(2), Fraction(1, 4), Fraction(1, 2))
    assert question.matrix().toarray().tolist() == [[3, 2], [2, -3], [1, 0], [0, 1]]
    assert question.answers([10, 1]).tolist() == [32, 17, 10, 1]
    assert question.price() == Fraction(1, 3) + 6 + Fraction(1, 2)
    assert question.sensitivity() == 6


def test_whole_weights_and_sparse_ones_are_asked_in_the_smallest_unit_too():
    """However they are given: entries of a sparse matrix that name one cell twice are added up."""
    rows = np.array([[4, 6], [0, 15], [7, 0]])
    twice = csr_array(([1, 3, 6, 20, -5, 7], [0, 0, 1, 1, 1, 0], [0, 3, 5, 6]), (3, 2))
    for matrix in (rows, rows.tolist(), csr_array(rows), twice, twice.tocoo(), rows.astype(float)):
        question = WeightedCounts(2, matrix)
        assert question.matrix().toarray().tolist() == [[2, 3], [0, 1], [1, 0]]
        assert question.units == (2, 15, 7)
        assert question.price() == 6 + 15
        assert question.price("replace") == 2 + 15 + 7
        assert question.sensitivity() == 4
        assert question == WeightedCounts(2, rows)
    assert (twice.data.tolist(), twice.indptr.tolist()) == ([1, 3, 6, 20, -5, 7], [0, 3, 5, 6])


def test_scaling_a_matrix_changes_no_noise_scale():
    rows = [[1, 0, 0], [0, 2, 0], [0, 0, 3], [1, -1, 5]]
    one = WeightedCounts(3, rows)
    ten = WeightedCounts(3, [[Fraction(w, 10) for w in row] for row in rows])
    assert [one.price() / w for _, w in one.blocks] == [ten.price() / w for _, w in ten.blocks]


@pytest.mark.parametrize("seed", range(10))
def test_price_of_replacing_is_the_largest_distance_of_two_columns(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 60))
    weights = rng.integers(-5, 6, (int(rng.integers(1, 40)), size))
    weights[rng.random(weights.shape) < 0.5] = 0
    matrix = np.vstack([np.eye(size, dtype=int), weights[weights.any(axis=1)]])
    question = WeightedCounts(size, csr_array(matrix))
    columns = np.vstack([matrix.T, np.zeros(len(matrix), int)])
    apart = np.abs(columns[:, None] - columns[None]).sum(axis=2)
    assert question.price("replace") == apart.max()
    assert question.price() == np.abs(matrix).sum(axis=0).max()


def test_hats_written_as_a_matrix_cost_what_hats_cost():
    hats = HatCounts(90, [5, 15], ends=True)
    rows = hats.matrix().toarray().astype(int)
    weights = np.concatenate([[weight] * length for length, weight in hats.blocks])
    question = WeightedCounts(
        90, [[w * int(x) for x in row] for w, row in zip(weights, rows, strict=True)]
    )
    for relation in ("add-remove", "replace"):
        assert question.price(relation) == hats.price(relation)
    assert question.answers(np.arange(90)).tolist() == hats.answers(np.arange(90)).tolist()
    assert question.blocks == hats.blocks


def test_weights_too_long_for_64_bits_have_an_exact_price_all_the_same():
    big = Fraction(10**30 + 57, 10**30)
    question = WeightedCounts(2, [[big, 0], [0, Fraction(1, 3**40)]])
    assert question.price() == big
    with pytest.raises(InputError, match="no common denominator that fits 64 bits"):
        question.price("replace")


@pytest.mark.parametrize(
    ("matrix", "told"),
    [
        ([[1, 0], [0, 0]], "Row 1 has no weights other than 0"),
        ([[1, 0], [1, 0]], "Cell 1 enters no row: nothing would be known of it"),
        ([[1, 1]], "The rows tell apart only 1 of 2 cells"),
        ([[1, 2], [2, 4], [3, 6]], "The rows tell apart only 1 of 2 cells"),
        ([[1, 0, 0], [0, 1, 0]], "The matrix has 3 columns; there are 2 cells"),
        ([1, 2], "must have rows and columns, got 1 dimensions"),
        ([], "must have rows and columns, got 1 dimensions"),
        (np.zeros((0, 2), int), "The matrix has no weights other than 0"),
        ([[1, 0], [0]], "must have"),
        ([[1, 0], [0, 2**0.5]], "has more digits than a float holds exactly"),
        ([[1, 0], [0, float("nan")]], "A weight must be a finite number, got nan"),
        ([[1, 0], [0, float("inf")]], "A weight must be a finite number, got inf"),
        ([[1, 0], [0, "one"]], "A weight must be a number such as 0.1"),
        ([[1, 0], [0, None]], "A weight must be an int, Fraction, Decimal, text or float"),
        ([[1, 0], [0, True]], "A weight must be a number, got True"),
        ([[1, 0], [0, 1j]], "A weight must be"),
        ([[1, 0], [0, 1], [1, Fraction(1, 10**15)]], "Row 2 has no small unit"),
    ],
)
def test_a_matrix_that_makes_no_sense_is_refused(matrix, told):
    with pytest.raises(InputError) as refusal:
        WeightedCounts(2, matrix)
    assert told in str(refusal.value)


def test_many_cells_need_a_row_each():
    size = 5_000
    assert WeightedCounts(size, eye_array(size, dtype=int)).price() == 1
    with pytest.raises(InputError, match=r"each cell needs a row of its own; cell 0 has none"):
        WeightedCounts(size, eye_array(size, dtype=int) + eye_array(size, k=1, dtype=int))


def test_the_price_of_replacing_is_found_in_as_many_steps_as_there_is_time_for(monkeypatch):
    question = WeightedCounts(3, [[1, 2, 0], [0, 1, 0], [0, 0, 5]])
    steps = 2**2 + 1 + 1 + 3**2  # pairs of cells in each row, and of all cells
    monkeypatch.setattr(moves, "_MOST_STEPS", steps)
    assert question.price("replace") == 8
    monkeypatch.setattr(moves, "_MOST_STEPS", steps - 1)
    with pytest.raises(InputError, match=f"would take {steps} steps"):
        question.price("replace")


def test_more_records_than_the_weights_leave_room_for_are_refused():
    question = WeightedCounts(2, [[1, 2**30], [0, 1]])
    with pytest.raises(InputError, match=r"at most 4,294,967,296 records can be counted"):
        tu.measure([0, 2**33], question, 2**30)
    assert len(tu.measure([0, 2**31], question, 2**30).noisy) == 2


def test_no_weight_is_taken_for_smaller_than_it_is():
    # -2^63 is its own absolute value in 64 bits; taken for less, cell 0 would pay next to nothing.
    for kind, weight in ((np.int64, -(2**63)), (np.int64, 2**63 - 1), (np.uint64, 2**64 - 1)):
        with pytest.raises(InputError, match="Row 0 has no small unit"):
            WeightedCounts(2, np.array([[weight, 1], [1, 0], [0, 1]], kind))
    small = WeightedCounts(2, np.array([[-128, 1], [1, 0], [0, 1]], np.int8))
    assert small.price() == small.sensitivity() == 129


@pytest.mark.parametrize(
    "change",
    [
        {"cells": [0, 1, 0, 5]},
        {"cells": [0, 1, 1, 1]},
        {"cells": [0, 1, -2, -1]},
        {"lengths": [3, -1, 2]},
        {"weights": [1, 1, 0, 1]},
        {"weights": [1, 1]},
        {"lengths": [1, 1]},
        {"units": [[3, "-1"]]},
        {"units": [[3, "0"]]},
        {"units": [[2, "1"], [1, "0/7"]]},
        {"units": [[3, "x"]]},
        {"units": [[3, "1/0"]]},
        {"units": [[3, "1e999999999"]]},
        {"units": [[3, float("inf")]]},
        {"units": [[10**12, "1"]]},
        {"units": [[-1, "1"], [3, "1"]]},
        {"weights": [-(2**63), 1, 1, 2]},
        {"weights": [2**70, 1, 1, 2]},
        {"weights": [1.5, 1, 1, 2]},
        {"lengths": [2**62, 2**62, 2**63 - 4]},
    ],
)
def test_a_damaged_strategy_is_refused(change):
    spec = WeightedCounts(2, [[1, 0], [0, 1], [1, 2]]).to_json()
    assert question_from_json(spec).length == 3
    with pytest.raises(FileError):
        question_from_json({**spec, **change})
