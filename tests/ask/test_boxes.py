"""Lattices of boxes: quadtrees, margins, and what makes no sense."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu


def axis(name, size):
    return tu.Axis.integers(name, 0, size - 1)


@pytest.mark.parametrize(
    ("sizes", "branching", "radices"),
    [
        ((256, 256), 4, [(4, 4, 4, 4)] * 2),
        ((100, 16), 4, [(5, 5, 4), (4, 4)]),
        ((12, 30, 1), 3, [(4, 3), (5, 3, 2), ()]),
    ],
)
def test_quadtrees_cut_other_sizes_into_equal_parts_near_the_branching(sizes, branching, radices):
    quadtree = tu.BoxCounts.quadtree(*sizes, branching=branching)
    assert list(quadtree.radices) == radices
    assert quadtree.complete
    assert quadtree.levels[-1] == tuple(len(each) for each in radices)
    assert quadtree.price() == 1


def test_a_grid_of_marginals_asks_the_margins_of_a_contingency_table():
    age, sex, town = axis("age", 9), axis("sex", 2), axis("town", 4)
    wanted = [("age",), ("sex", "age"), ("town",)]
    question = tu.GridCounts(age, sex, town, marginals=wanted)
    assert question == tu.BoxCounts.marginals(age, sex, town, marginals=wanted)
    counts = np.random.default_rng(2).poisson(6, (9, 2, 4))
    noisy = tu.measure(counts, question, epsilon=1)
    for release in (tu.infer(noisy), tu.infer(noisy, nonnegative=True, integers=True)):
        both = release.margin("age", "sex")
        assert (both.margin("age").counts() == release.margin("age").counts()).all()
        assert both.total().value == release.margin("town").total().value == release.total().value
    shown = release.margin("age", "sex").counts()
    assert shown.dtype == np.int64
    assert shown.min() >= 0


def test_finer_levels_of_a_quadtree_have_so_many_times_the_share():
    plain, finer = (tu.BoxCounts.quadtree(64, 64, finer=times) for times in (1, "1.3"))
    assert plain == tu.BoxCounts.quadtree(64, 64)
    assert finer.levels == plain.levels
    assert [b / a for a, b in zip(finer.shares[:-1], finer.shares[1:], strict=True)] == [
        Fraction(13, 10)
    ] * 2
    assert sum(finer.shares) == 1
    with pytest.raises(tu.InputError, match="finer must be positive"):
        tu.BoxCounts.quadtree(64, 64, finer=0)


def test_boxes_that_make_no_sense_are_refused():
    for radices in ([(2, 3)], [(2,)], [(4, 0)], [(-2, -2)], [(4,), (1,)]):
        with pytest.raises(tu.InputError, match=r"multiply to its 4 cells|radices for 2"):
            tu.BoxCounts(4, radices=radices, shares={(1,): 1})
    x, y = axis("x", 3), axis("y", 2)
    for wrong in ([("x",), ("x",)], [("x", "x")], [("x", "y"), ("y", "x")]):
        with pytest.raises(tu.InputError, match="named twice"):
            tu.BoxCounts.marginals(x, y, marginals=wrong)
