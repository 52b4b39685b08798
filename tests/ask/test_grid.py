"""Grids and lattices: their prices against all pairs of cells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup import Axis, BoxCounts, CellCounts, GridCounts, HatCounts, TreeCounts


def axis(name, size):
    return Axis.integers(name, 0, size - 1)


def grids():
    for strides, others in (([2], [3]), ([2, 4], [1]), ([5], [9]), ([1, 3], [2])):
        yield GridCounts(
            HatCounts(axis("a", 9), strides, ends=True), HatCounts(axis("b", 5), others)
        )
    yield GridCounts(HatCounts(axis("a", 11), [2]), HatCounts(axis("b", 6), [3]))
    yield GridCounts(
        HatCounts(axis("a", 24), [2, 4], ["1/5", "1/5", "3/5"]), TreeCounts(axis("b", 3), 2)
    )
    yield GridCounts(
        HatCounts(axis("a", 7), [4]), CellCounts(axis("b", 2)), HatCounts(axis("c", 3), [2])
    )
    yield GridCounts(
        TreeCounts(axis("a", 8), 2, shares=[0.9, 0, 0, 0.1]), TreeCounts(axis("b", 4), 4)
    )
    yield GridCounts(TreeCounts(axis("a", 5), 5), CellCounts(axis("b", 1)))
    yield BoxCounts.quadtree(9, 9, branching=3)
    shares = {(0, 0): "0.6", (1, 2): "0.3", (0, 1): "0.1"}
    yield BoxCounts(6, 8, radices=[(6,), (4, 2)], shares=shares)


def random_factor(rng, over):
    kind = rng.integers(0, 3)
    if kind == 0:
        return CellCounts(over)
    if kind == 1:
        return TreeCounts(over, int(rng.integers(2, 5)), bool(rng.integers(0, 2)))
    strides = [int(rng.integers(1, over.size + 2))]
    while rng.random() < 0.5:
        strides.append(strides[-1] * int(rng.integers(2, 4)))
    parts = rng.integers(1, 6, len(strides) + 1).tolist()
    return HatCounts(over, strides, [Fraction(part, sum(parts)) for part in parts])


def random_grids():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 10, 2) if seed % 4 else rng.integers(1, 5, 3)
        yield GridCounts(
            *(random_factor(rng, axis(n, int(s))) for n, s in zip("abc", sizes, strict=False))
        )


@pytest.mark.parametrize("grid", [*grids(), *random_grids()])
def test_prices_are_the_largest_over_all_cells_and_all_pairs(grid):
    columns = grid.matrix().toarray().T
    columns = np.vstack([columns, np.zeros(columns.shape[1])])
    weights = np.concatenate([[float(w)] * length for length, w in grid.blocks])
    for weigh, found in ((np.ones(len(weights)), grid.sensitivity), (weights, grid.price)):
        each = columns * weigh
        assert float(found()) == pytest.approx(each.sum(axis=1).max())
        apart = max(np.abs(each - column).sum(axis=1).max() for column in each)
        assert float(found("replace")) == pytest.approx(apart)


@pytest.mark.parametrize("grid", list(grids()))
def test_answers_are_the_matrix_times_the_counts_in_rows(grid):
    counts = np.random.default_rng(3).integers(0, 50, grid.sizes)
    assert grid.answers(counts).tolist() == (grid.matrix() @ counts.ravel()).tolist()
    if isinstance(grid, GridCounts):
        answers = grid.answers(counts)
        assert (grid.as_flat(grid.as_array(answers)) == answers).all()


FRAMES = {
    "pandas": lambda table: __import__("pandas").DataFrame(table),
    "polars": lambda table: __import__("polars").DataFrame(table),
    "pyarrow": lambda table: __import__("pyarrow").table(table),
    "mapping": lambda table: table,
}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("kind", ["grid", "marginals", "quadtree"])
def test_count_counts_the_rows_of_a_table(library, kind):
    rng = np.random.default_rng(3)
    axes = tu.Axis.integers("age", 0, 15), tu.Axis.integers("hour", 0, 15)
    question = {
        "grid": lambda: tu.GridCounts(*axes),
        "marginals": lambda: tu.GridCounts(*axes, marginals=[("age",), ("hour",)]),
        "quadtree": lambda: tu.BoxCounts.quadtree(*axes),
    }[kind]()
    age, hour = rng.integers(-2, 20, (2, 500))
    table = FRAMES[library]({"hour": hour, "other": hour, "age": age})
    inside = (age >= 0) & (age < 16) & (hour >= 0) & (hour < 16)
    assert question.count(table).sum() == inside.sum()
    exact = np.zeros((16, 16), np.int64)
    np.add.at(exact, (age[inside], hour[inside]), 1)
    np.testing.assert_array_equal(question.count(table), exact)
    assert tu.measure(question.count(table), question, 1).question == question


def test_count_of_what_is_no_such_table_is_refused():
    import polars as pl

    question = tu.GridCounts(tu.Axis.integers("age", 0, 3), tu.Axis.integers("hour", 0, 3))
    for table, words in (
        ({"age": [1], "day": [2]}, "no column 'hour'. Columns: age, day"),
        (pl.DataFrame({"age": [1], "hour": [2]}).lazy(), "lazy"),
        ([1, 2, 3], "needs a table with a column for each axis"),
        ({"age": [1, 2], "hour": [1]}, "differ in length"),
    ):
        with pytest.raises(tu.InputError, match=words):
            question.count(table)


def test_a_hierarchy_is_counted_by_a_column_for_each_level():
    place = Axis.hierarchy("place", {"NV": ["Clark"], "CA": ["Kern", "Clark"]}, ["state", "county"])
    question = GridCounts(place, Axis.integers("hour", 0, 1))
    table = {
        "state": ["CA", "NV", "CA", "NV"],
        "county": ["Kern", "Clark", "Clark", "Kern"],
        "hour": [0, 1, 1, 0],
    }
    for library in FRAMES.values():
        assert question.count(library(table)).tolist() == [[0, 1], [1, 0], [0, 1]]


def test_hats_whose_products_leave_room_in_64_bits_are_asked_and_no_heavier_ones():
    def grid(one, other):
        axes = (tu.Axis.integers(name, 0, 9) for name in "ab")
        return tu.GridCounts(
            *(tu.HatCounts(a, [k]) for a, k in zip(axes, (one, other), strict=True))
        )

    assert grid(1 << 19, 1 << 19).heaviest == 1 << 40
    with pytest.raises(tu.InputError, match="weigh up to 2,199,023,255,552"):
        grid(1 << 19, 1 << 20)
