"""The search for a lattice of boxes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.ask.several import grid_axis
from trueup.infer.box_search import best_boxes, mean_energies
from trueup.infer.lattice import LatticeErrors

RANGES = tu.Workload.all_ranges()


@pytest.mark.parametrize("widths", [(12, 4, 2, 1), (12, 1), (12, 6, 3, 1)])
def test_mean_energies_are_those_of_every_range(widths):
    errors = LatticeErrors((widths,), ((0,),), (Fraction(1),))
    starts, stops = np.triu_indices(13, 1)
    wanted = errors.energies(0, starts, stops).mean(axis=0)
    (found,) = mean_energies(errors, [grid_axis(12, 0)], [RANGES])
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "goal"), [((256, 256), 3_000), ((1024, 1024), 11_104), ((64, 64, 16), 3_300)]
)
def test_the_lattice_found_is_better_than_products_of_trees(sizes, goal):
    found = tu.plan(list(sizes), 1)
    lattice = found["lattice of boxes"]
    assert lattice.continuous <= goal
    assert lattice.continuous < found["best trees"].continuous
    assert lattice.question.price() == 1
    assert lattice.question.complete


def test_no_single_share_can_be_moved_to_gain_much():
    axes = [grid_axis(64, 0), grid_axis(48, 1)]
    question = best_boxes(axes, [RANGES, RANGES])

    def error(shares):
        scales = tuple(Fraction(1) / share for share in shares)
        errors = LatticeErrors(question.widths, question.levels, scales, "continuous")
        return errors.mean_variance(mean_energies(errors, axes, [RANGES, RANGES]))

    least = error(question.shares)
    for number in range(len(question.shares)):
        for times in (Fraction(9, 10), Fraction(11, 10)):
            moved = list(question.shares)
            moved[number] *= times
            assert error([share / sum(moved) for share in moved]) >= least * 0.999


def test_axes_that_cannot_be_cut_have_no_lattice():
    assert best_boxes([grid_axis(101, 0), grid_axis(64, 1)], [RANGES, RANGES]) is None
    names = [strategy.name for strategy in tu.plan([101, 64], 1).strategies]
    assert "lattice of boxes" not in names
    assert "lattice of boxes" not in [s.name for s in tu.plan([20, 12, 7], 1).strategies]
