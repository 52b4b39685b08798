"""Windows as a question: price, answers, files, refusals. Weights: tests/kernels/windows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import trueup as tu
from trueup.ask import question_from_json, windows

BOTH = ["ranges", "prefixes"]


@pytest.mark.parametrize("best_for", BOTH)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 40])
def test_prices_are_the_most_that_one_record_moves(size, best_for):
    question = tu.WindowCounts(size, best_for)
    columns = question.matrix().toarray().astype(np.int64).astype(object).T
    nothing = np.zeros(size, object)
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
    few, many = tu.WindowCounts(256), tu.WindowCounts(257)
    for price in ("sensitivity", "square_price"):
        assert getattr(few, price)("replace") < 2 * getattr(few, price)()
        assert getattr(many, price)("replace") == 2 * getattr(many, price)()
        monkeypatch.setattr(windows, "_PAIRS", 0)
        assert getattr(few, price)("replace") == 2 * getattr(few, price)()
        monkeypatch.undo()


@pytest.mark.parametrize("best_for", BOTH)
def test_answers_are_the_matrix_times_the_counts(best_for):
    question = tu.WindowCounts(77, best_for)
    counts = np.random.default_rng(0).integers(0, 10**9, 77)
    exact = question.matrix().toarray().astype(np.int64).astype(object).dot(counts.astype(object))
    assert question.answers(counts).tolist() == exact.tolist()
    assert question.length == 77


def test_the_question_survives_a_file():
    question = tu.WindowCounts(tu.Axis.integers("age", 0, 9), "prefixes")
    assert question_from_json(question.to_json()) == question
    assert question != tu.WindowCounts(question.axis)


def test_what_makes_no_windows_is_refused(monkeypatch):
    with pytest.raises(tu.InputError, match="best_for"):
        tu.WindowCounts(5, "cells")
    with pytest.raises(tu.InputError, match="hats or a tree"):
        tu.WindowCounts((1 << 24) + 1)
    with pytest.raises(tu.InputError, match="8,192"):
        tu.WindowCounts(8_193).matrix()
    with pytest.raises(tu.InputError, match="at most"):
        tu.measure([1 << 50] * 5, tu.WindowCounts(5), epsilon=1)
