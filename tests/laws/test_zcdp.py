"""Law: no two neighbouring databases are further apart than ρ says, at any order of Rényi.

Tiny databases are enumerated, with their neighbours, and the noise that each answer really gets is
taken down. The divergence of two answers with Gaussian noise is added up point by point.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup._kernels.noise import gauss
from trueup._kernels.windows import profile
from trueup.ask import AdaptiveTreeCounts
from trueup.audit import forced, replay

ORDERS = (1.1, 1.5, 2.0, 3.0, 4.0, 8.0, 17.3, 32.0, 64.0)
A, B = tu.Axis.integers("a", 0, 3), tu.Axis.integers("b", 0, 1)
SIGNED = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, "-1/2", 0, 1], [1, -2, 1, 0]]


class SmallWindows(tu.WindowCounts):
    """Windows of small weights: noise can be written out point by point."""

    @property
    def profile(self):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(profile, "_BITS", 2)
            patch.setattr(profile, "SCALE", 2)
            return profile.profile_of.__wrapped__(self.size, -1 if self.best_for == "ranges" else 1)


QUESTIONS = {
    "windows": SmallWindows(3),
    "windows for prefixes": SmallWindows(4, "prefixes"),
    "cells": tu.CellCounts(A),
    "tree": tu.TreeCounts(A, branching=2),
    "shares": tu.TreeCounts(A, branching=2, shares=["1/8", "1/2", "3/8"]),
    "hats": tu.HatCounts(A, [2]),
    "hats without ends": tu.HatCounts(5, [1], ends=False),
    "wavelet": tu.WaveletCounts(A),
    "wavelet of 3": tu.WaveletCounts(3),
    "named": tu.NamedCounts(A, {"all": slice(None), "low": [0, 1], "odd": [1, 3]}),
    "weighted": tu.WeightedCounts(A, SIGNED),
    "grid": tu.GridCounts(tu.TreeCounts(2, branching=2), tu.CellCounts(B)),
    "boxes": tu.BoxCounts.quadtree(2, 2, branching=2),
    "marginals": tu.BoxCounts.marginals(
        2, B, marginals=[("axis 0",), ("b",)], shares=["1/4", "3/4"]
    ),
    "centred marginals": tu.BoxCounts.marginals(2, B, marginals=[("axis 0", "b")], gaussian=True),
    "sorted": tu.SortedCounts(3, adaptive=False),
    "degrees": tu.SortedCounts(3, ends=2, adaptive=False),
}
NOT_TIGHT = {("hats", "replace"), ("hats without ends", "replace"), ("grid", "replace")}
DRAWN_LESS_WIDE = {"degrees"}  # three nodes have too few edges to move four degrees


@functools.cache
def divergence(order: float, move: int, variance: Fraction) -> float:
    """Rényi's divergence of discrete Gaussian noise from itself, moved: added up in full."""
    v = float(variance)
    reach = math.ceil(12 * math.sqrt(v)) + abs(move) * math.ceil(order + 1)
    x = np.arange(-reach, reach + 1)
    mass = np.logaddexp.reduce(-(x**2) / (2 * v))
    p, q = -(x**2) / (2 * v) - mass, -((x - move) ** 2) / (2 * v) - mass
    return float(np.logaddexp.reduce(order * p + (1 - order) * q)) / (order - 1)


def noise_given(question, rho, neighbours, rows):
    """The variance of the noise that `measure` puts into each answer, as the kernel is told."""
    told: list[Fraction] = []

    def note(values, lengths, variances):
        for length, variance in zip(lengths, variances, strict=True):
            told.extend([Fraction(variance)] * length)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gauss, "add_noise_blocks", note)
        empty = np.zeros(question.size, np.int64)
        unit = {"unit": "user", "rows_per_unit": rows} if rows > 1 else {}
        tu.measure(empty, question, neighbours=neighbours, rho=rho, **unit)
    return told


def databases(question, most):
    """The counts of all databases of up to so many records; of graphs, the degrees."""
    if getattr(question, "ends", 1) == 2 and isinstance(question, tu.SortedCounts):
        edges = list(itertools.combinations(range(question.groups), 2))
        for number in range(most + 1):
            for some in itertools.combinations(edges, number):
                yield (
                    frozenset(some),
                    np.bincount(np.array(some, int).ravel(), minlength=question.groups),
                )
        return
    for number in range(most + 1):
        for rows in itertools.combinations_with_replacement(range(question.size), number):
            yield rows, np.bincount(np.array(rows, int), minlength=question.size)


def moves(question, neighbours, rows):
    """By how much neighbours' answers differ: all pairs that differ by a unit of so many rows."""
    found = set()
    every = [
        (who, question.answers(counts), counts) for who, counts in databases(question, 2 + rows)
    ]
    for (one, first, a), (two, second, b) in itertools.permutations(every, 2):
        if isinstance(one, frozenset):
            gone, come = len(one - two), len(two - one)
        else:
            gone, come = int(np.maximum(a - b, 0).sum()), int(np.maximum(b - a, 0).sum())
        limit = rows if neighbours == "replace" else rows * (not (gone and come))
        if max(gone, come) <= limit:
            found.add(tuple((second - first).tolist()))
    return found


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_divergence_is_above_rho_and_the_worst_one_is_rho(name, neighbours, rows):
    question, rho = QUESTIONS[name], Fraction(1, 7)
    variances = noise_given(question, rho, neighbours, rows)
    assert len(variances) == question.length
    worst = dict.fromkeys(ORDERS, 0.0)
    for move in moves(question, neighbours, rows):
        for order in ORDERS:
            each = (divergence(order, m, v) for m, v in zip(move, variances, strict=True) if m)
            worst[order] = max(worst[order], math.fsum(each) / order)
    assert all(found <= float(rho) * (1 + 1e-9) for found in worst.values())
    if (name, neighbours) not in NOT_TIGHT and not (
        name in DRAWN_LESS_WIDE and rows + (neighbours == "replace") > 1
    ):
        assert worst[2.0] == pytest.approx(float(rho), rel=1e-9)


def tape(seed, sigma, size):
    return np.rint(np.random.default_rng(seed).normal(0, sigma, size)).astype(np.int64)


def test_whatever_was_asked_adaptively_one_record_costs_rho_once():
    """Sorted counts: all sets are disjoint, so that squared moves of one record add up to 1."""
    groups, worst = 400, {}
    rng = np.random.default_rng(3)
    for number, counts in enumerate((np.zeros(groups, int), rng.zipf(1.7, groups) % 5000)):
        noise = tape(number, 2, 4000)
        for ends, places in ((1, [(0,), (groups - 1,), (7,)]), (2, [(0, 1), (5, 399), (398, 399)])):
            question = tu.SortedCounts(groups, ends=ends)
            for place in places:
                more = counts.copy()
                more[list(place)] += 1
                found = forced(question, counts, more, 2, noise, squared=True)
                assert found.passed, str(found)
                assert found.allowed == ends**2
                worst[ends] = max(worst.get(ends, 0), found.move)
    # Both ends of an edge may lie in one set: then the answer moves by 2, which squared is 4.
    assert worst == {1: 1, 2: 4}


def test_replaced_edges_cost_no_more_than_is_said():
    question = tu.SortedCounts(400, ends=2)
    assert question.square_price("replace") == 8
    counts = np.repeat([0, 40], [370, 30])
    gone, come = counts.copy(), counts.copy()
    gone[[398, 399]] += 1
    come[[0, 1]] += 1
    found = forced(question, gone, come, 2, tape(5, 2, 4000), "replace", squared=True)
    assert found.passed, str(found)


@pytest.mark.parametrize("sigma", [1, 4])
def test_squares_on_every_path_of_an_adaptive_tree_add_up_to_the_square_price(sigma):
    shares = ["0", "1/2", "1/3", "1/6"]
    question = AdaptiveTreeCounts(tu.TreeCounts(60, radices=(3, 4, 5), shares=shares))
    rng = np.random.default_rng(sigma)
    counts = rng.integers(0, 3, 60) + np.repeat([0, 40, 0], 20)
    noise = tape(sigma, sigma, 4000)
    added, replaced = set(), set()
    for cell in range(60):
        more, other = counts.copy(), counts.copy()
        more[cell] += 1
        other[(cell + 31) % 60] += 1
        found = forced(question, counts, more, sigma, noise, squared=True)
        assert found.passed, str(found)
        added.add(found.move)
        found = forced(question, more, other, sigma, noise, "replace", squared=True)
        assert found.passed, str(found)
        replaced.add(found.move)
    assert added == {Fraction(1, 4) + Fraction(1, 9) + Fraction(1, 36)}  # pooled or not
    assert max(replaced) == 2 * max(added) == question.square_price("replace")


@pytest.mark.parametrize("name", ["cells", "tree", "weighted", "sorted"])
def test_the_same_noise_on_neighbours_moves_answers_by_rho(name):
    question = QUESTIONS[name]
    counts = [2, 1, 3, 0][: question.size]
    more = [2, 1, 4, 0][: question.size]
    found = replay(lambda data: tu.measure(data, question, rho="1/9"), counts, more)
    assert found.passed, str(found)
    assert 0 < found.move <= found.allowed == Fraction(1, 9)
    twice = replay(lambda data: tu.measure(data, question, rho="1/9"), counts, [4, *more[1:]])
    assert not twice.passed
