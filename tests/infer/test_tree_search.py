"""The best tree for a workload: its error and its place among others by dense linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.infer.tree_search import (
    best_branching,
    best_own_levels,
    best_question,
    shown_question,
    tree_error,
)

SIZE = 36
AXIS = tu.Axis.integers("age", 0, SIZE - 1)
PLACES = tu.Axis.hierarchy(
    "place", {"a": ["b", "c", "d"], "e": ["f"], "g": ["h", "i"]}, levels=["state", "county"]
)
WORKLOADS = {
    "ranges": tu.Workload.all_ranges(),
    "prefixes": tu.Workload.prefixes(),
    "cells": tu.Workload.cell_counts(),
    "given": tu.Workload.given([(0, 12), (5, 30), (35, 36)]),
    "lengths": tu.Workload.lengths([2, 9]),
}
every_workload = pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)


def dense_error(question, workload):
    """The mean variance of the workload's ranges, at ε = 1 and noise on the line."""
    rows = question.matrix().toarray()
    weights = np.concatenate([[float(w) ** 2 / 2] * length for length, w in question.blocks])
    prefix = np.vstack([np.zeros(question.size), np.tril(np.ones([question.size] * 2))])
    between = prefix @ np.linalg.inv(rows.T @ (weights[:, None] * rows)) @ prefix.T
    own = np.diag(between)
    each = own[:, None] + own[None, :] - 2 * between
    means = {
        "ranges": lambda: each[np.triu_indices(question.size + 1, 1)].mean(),
        "prefixes": lambda: each[0, 1:].mean(),
        "cells": lambda: np.diag(each, 1).mean(),
        "given": lambda: np.mean([each[a, b] for a, b in ((0, 12), (5, 30), (35, 36))]),
        "lengths": lambda: np.mean([np.diag(each, 2).mean(), np.diag(each, 9).mean()]),
    }
    return next(means[name]() for name, one in WORKLOADS.items() if one is workload)


@every_workload
def test_the_error_that_is_searched_is_that_of_dense_least_squares(workload):
    error = tree_error(AXIS, workload)
    for radices, parts in (((6, 6), (1, 2, 3)), ((3, 4, 3), (0, 1, 1, 4)), ((36,), (1, 5))):
        shares = [Fraction(part, sum(parts)) for part in parts]
        tree = tu.TreeCounts(AXIS, radices=radices, shares=shares)
        weights = [float(share) ** 2 / 2 for share in shares]
        found = error(tree.shape.widths, weights)
        near = (
            0.01 if workload is WORKLOADS["lengths"] else 1e-9
        )  # some of the ranges stand for all
        assert found == pytest.approx(dense_error(tree, workload), rel=near)


@every_workload
def test_the_best_branching_is_the_best_of_all(workload):
    found = best_branching(AXIS, workload)
    assert not found.shares[0]
    least = min(
        dense_error(tu.TreeCounts(AXIS, branching=k, root=False), workload) for k in range(2, SIZE)
    )
    assert dense_error(found, workload) == pytest.approx(least, rel=1e-9)


@every_workload
def test_the_best_tree_is_better_than_trees_at_random_and_of_one_fan_out(workload):
    best = dense_error(best_question(AXIS, workload), workload)
    assert best <= dense_error(best_branching(AXIS, workload), workload) * 1.01  # a quick search
    rng = np.random.default_rng(1)
    for _ in range(200):
        radices = [int(rng.integers(2, 9))]
        while np.prod(radices) < SIZE:
            radices.append(int(rng.integers(2, 9)))
        parts = rng.integers(0, 9, len(radices) + 1).tolist()
        parts[-1] += 1
        shares = [Fraction(part, sum(parts)) for part in parts]
        other = tu.TreeCounts(AXIS, radices=radices, shares=shares)
        assert best <= dense_error(other, workload) * 1.01


def test_no_share_of_the_axis_s_own_levels_can_be_moved_to_gain():
    workload = WORKLOADS["prefixes"]
    best = best_own_levels(PLACES, workload)
    least = dense_error(best, workload)
    assert least < dense_error(tu.TreeCounts(PLACES, levels=["state", "county"]), workload)
    for number, share in enumerate(best.shares):
        for times in (Fraction(8, 10), Fraction(12, 10)):
            moved = list(best.shares)
            moved[number] = share * times if share else Fraction(1, 50)
            parts = [part / sum(moved) for part in moved]
            other = tu.TreeCounts(PLACES, levels=["state", "county"], shares=parts)
            assert dense_error(other, workload) >= least * (1 - 1e-6)


@pytest.mark.parametrize("axis", [tu.Axis.integers("age", 0, 999), PLACES], ids=str)
def test_a_tree_to_be_shown_gives_its_root_a_tenth_and_leaves_the_rest_as_it_was(axis):
    workload = WORKLOADS["ranges"]
    own = best_own_levels(axis, workload) if axis is PLACES else best_question(axis, workload)
    shown = shown_question(axis, workload)
    assert shown.shares[0] == Fraction(1, 10)
    assert sum(shown.shares) == 1
    rest = sum(own.shares[1:])
    assert [s / Fraction(9, 10) for s in shown.shares[1:]] == [s / rest for s in own.shares[1:]]
    assert shown.shape.widths == own.shape.widths


def test_cells_that_are_shown_alone_are_asked_alone():
    assert isinstance(shown_question(AXIS, tu.Workload.cell_counts()), tu.CellCounts)
