"""The search for a lattice of boxes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.ask.boxes import equal_parts
from trueup.ask.several import grid_axis
from trueup.infer import box_search
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


@pytest.mark.parametrize("widths", [(12, 4, 2, 1), (12, 1)])
def test_mean_energies_of_prefixes_are_those_of_every_prefix(widths):
    errors = LatticeErrors((widths,), ((0,),), (Fraction(1),))
    stops = np.arange(1, 13)
    wanted = errors.energies(0, np.zeros(12, np.int64), stops).mean(axis=0)
    (found,) = mean_energies(errors, [grid_axis(12, 0)], [tu.Workload.prefixes()])
    np.testing.assert_allclose(found, wanted, rtol=2e-3)  # prefixes are a sample


@pytest.mark.parametrize("turned", [1, -1])
def test_the_lattice_is_the_best_of_all_ways_to_cut_the_axes(turned, monkeypatch):
    """Its error is the one of the shares that were searched; of no cut is it less, in any order."""
    monkeypatch.setattr(box_search, "_BRANCHINGS", box_search._BRANCHINGS[::turned])
    axes, workloads = [grid_axis(64, 0), grid_axis(48, 1)], [RANGES, tu.Workload.prefixes()]
    question = best_boxes(axes, workloads)
    scales = tuple(Fraction(1) / share for share in question.shares)
    errors = LatticeErrors(question.widths, question.levels, scales, "continuous")
    least = errors.mean_variance(mean_energies(errors, axes, workloads))
    found = set()
    for branching in box_search._BRANCHINGS:
        radices = tuple(equal_parts(axis.size, branching) for axis in axes)
        if None not in radices:
            error, _, shares = box_search._best_shares(axes, workloads, radices)
            assert sum(shares.values()) == 1
            assert shares[tuple(len(each) for each in radices)] > 0  # every cell is determined
            found.add(error)
    assert len(found) > 2
    assert least == pytest.approx(min(found), rel=1e-9)


def test_boxes_in_boxes_have_about_sixteen_in_each_whatever_the_number_of_axes():
    for number, branching in ((1, 16), (2, 4), (3, 3), (4, 2), (6, 2)):
        size = branching**3
        axes = [grid_axis(size, n) for n in range(number)]
        question = box_search.quadtree(axes)
        assert question.widths == ((size, branching**2, branching, 1),) * number
        assert box_search.quadtree([*axes[1:], grid_axis(101, 9)]) is None
        assert box_search.quadtree([*axes[1:], tu.Axis.categories("k", list("abcdefgh"))]) is None
