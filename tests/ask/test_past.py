"""Windows over the past as a question: price, answers, files, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import trueup as tu
from trueup.ask import past, question_from_json, windows


@pytest.mark.parametrize("question", [tu.PastCounts(1), tu.PastCounts(9), tu.PastCounts(40, 3)])
def test_prices_are_the_most_that_one_record_moves(question):
    columns = question.matrix().toarray().astype(np.int64).astype(object).T
    nothing = np.zeros(question.size, object)
    pairs = {
        "add-remove": [(column, nothing) for column in columns],
        "replace": list(itertools.combinations([*columns, nothing], 2)),
    }
    for neighbours, each in pairs.items():
        moves = [abs(a - b) for a, b in each]
        assert question.sensitivity(neighbours) == max(m.sum() for m in moves)
        assert question.price(neighbours) == question.sensitivity(neighbours)
        assert question.square_price(neighbours) == max((m * m).sum() for m in moves)
    assert question.heaviest >= max(column.max() for column in columns)


def test_replacing_among_many_cells_costs_at_most_twice(monkeypatch):
    few, many = tu.PastCounts(256), tu.PastCounts(257)
    for price in ("sensitivity", "square_price"):
        assert getattr(few, price)("replace") <= 2 * getattr(few, price)()
        assert getattr(many, price)("replace") == 2 * getattr(many, price)()
        exact = getattr(few, price)("replace")
        monkeypatch.setattr(windows, "_PAIRS", 0)
        assert getattr(few, price)("replace") == 2 * getattr(few, price)() >= exact
        monkeypatch.undo()


@pytest.mark.parametrize("first", [77, 5])
def test_answers_are_the_matrix_times_the_counts(first):
    question = tu.PastCounts(77, first)
    counts = np.random.default_rng(0).integers(0, 10**9, 77)
    exact = question.matrix().toarray().astype(np.int64).astype(object).dot(counts.astype(object))
    assert question.answers(counts).tolist() == exact.tolist()
    assert question.length == 77
    assert question.labels()["window up to"].tolist() == list(range(77))


def test_the_question_survives_a_file():
    question = tu.PastCounts(tu.Axis.integers("age", 0, 9), 3, 50)
    assert question_from_json(question.to_json()) == question
    assert question != tu.PastCounts(question.axis)


def test_what_makes_no_windows_is_refused(monkeypatch):
    with pytest.raises(tu.InputError, match="first must be a number of cells from 1 to 1,048,576"):
        tu.PastCounts(9, 0)
    with pytest.raises(tu.InputError, match="most must be"):
        tu.PastCounts(9, 1, 1 << 21)
    monkeypatch.setattr(past, "MOST_CELLS", 8)
    with pytest.raises(tu.InputError, match="up to 8 cells; 'cell' has 9"):
        tu.PastCounts(9)
    monkeypatch.setattr(windows, "_WRITTEN_OUT", 5)
    with pytest.raises(tu.InputError, match="matrix of 6 cells is too large"):
        tu.PastCounts(6).matrix()
