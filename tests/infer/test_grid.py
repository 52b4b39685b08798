"""Grids end to end: boxes, margins and slices that agree, with the errors of dense algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.infer import errors_of
from trueup.infer.grid import GridModel
from trueup.infer.hat_search import best_hats
from trueup.noise import Noise, noise_variance
from trueup.paper.noise import measure_for_experiment


def axis(name, size):
    return tu.Axis.integers(name, 0, size - 1)


def grids():
    a, b, c = axis("a", 11), axis("b", 6), axis("c", 3)
    yield tu.GridCounts(tu.HatCounts(a, [2]), tu.HatCounts(b, [3]))
    yield tu.GridCounts(tu.HatCounts(a, [1, 2], ["1/2", "1/3", "1/6"]), tu.CellCounts(b))
    yield tu.GridCounts(tu.TreeCounts(a, 3), tu.HatCounts(b, [1]))
    yield tu.GridCounts(
        tu.TreeCounts(a, 2, root=False), tu.TreeCounts(b, 2, shares=["0.1", 0, 0.4, 0.5])
    )
    yield tu.GridCounts(tu.CellCounts(a), tu.TreeCounts(b, 2), tu.HatCounts(c, [2]))
    yield tu.GridCounts(axis("a", 40), axis("b", 2))
    yield tu.BoxCounts.quadtree(axis("a", 8), axis("b", 8), branching=2)
    shares = {(0, 1): "1/8", (1, 0): "1/8", (2, 1): "1/4", (2, 2): "1/2"}
    yield tu.BoxCounts(axis("a", 6), axis("b", 8), radices=[(2, 3), (4, 2)], shares=shares)
    yield tu.BoxCounts.marginals(
        axis("a", 4), axis("b", 3), c, marginals=[("a", "b", "c"), ("a",), ("c", "a")]
    )


every_grid = pytest.mark.parametrize(
    "grid", list(grids()), ids=lambda g: f"{type(g).__name__}{'x'.join(map(str, g.sizes))}"
)
EPSILON = Fraction(3, 2)


def dense(grid, law):
    """The least-squares inverse of the question, and its noise variances."""
    scales = tu.Measurement(grid, np.zeros(grid.length, np.int64), EPSILON).noise.scales
    lengths = [length for length, _ in grid.blocks]
    variances = np.repeat([noise_variance(scale, law) for scale in scales], lengths)
    # Products are fitted with weights 1/scale², lattices with 1/variance.
    weights = np.repeat([1 / float(scale) ** 2 for scale in scales], lengths)
    if isinstance(grid, tu.BoxCounts):
        weights = 1 / variances
    matrix = grid.matrix().toarray()
    inverse = np.linalg.solve(matrix.T @ (weights[:, None] * matrix), (matrix * weights[:, None]).T)
    return inverse, variances, scales


def random_boxes(sizes, count, seed=0):
    rng = np.random.default_rng(seed)
    ends = np.sort([rng.integers(0, size + 1, (count, 2)) for size in sizes], axis=2)
    return ends[:, :, 0].T, ends[:, :, 1].T


@every_grid
@pytest.mark.parametrize("law", ["discrete", "continuous"])
def test_inferred_cells_equal_dense_least_squares(grid, law):
    counts = np.random.default_rng(3).integers(0, 500, grid.sizes)
    measurement = measure_for_experiment(counts, grid, EPSILON, seed=5, law=law)
    wanted = dense(grid, law)[0] @ measurement.noisy
    found = tu.infer(measurement).counts()
    np.testing.assert_allclose(found.ravel(), wanted, rtol=0, atol=1e-9 * np.abs(wanted).sum())


@every_grid
@pytest.mark.parametrize("law", ["discrete", "continuous"])
def test_variances_of_boxes_equal_those_of_the_dense_estimator(grid, law):
    inverse, variances, _ = dense(grid, law)
    errors = errors_of(Noise(grid, EPSILON, law=law))
    starts, stops = random_boxes(grid.sizes, 40)
    found = errors.box_variances(starts, stops)
    for start, stop, variance in zip(starts, stops, found, strict=True):
        inside = np.zeros(grid.sizes)
        inside[tuple(slice(a, b) for a, b in zip(start, stop, strict=True))] = 1
        wanted = float((inside.ravel() @ inverse) ** 2 @ variances)
        assert variance == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        box = tuple(zip(start.tolist(), stop.tolist(), strict=True))
        assert errors.variance(((box, 2.0),)) == pytest.approx(4 * wanted, rel=1e-9, abs=1e-9)
    cells = errors.product_variances([np.arange(size + 1) for size in grid.sizes])
    np.testing.assert_allclose(cells.ravel(), (inverse**2) @ variances, rtol=1e-9)


@every_grid
def test_noise_laws_of_differences_equal_those_of_the_dense_estimator(grid):
    inverse, variances, _ = dense(grid, "discrete")
    errors = errors_of(Noise(grid, EPSILON))
    one = tuple((0, size - 1) for size in grid.sizes)
    other = tuple((size // 2, size) for size in grid.sizes)
    values = np.zeros(grid.sizes)
    values[tuple(slice(a, b) for a, b in one)] += 1
    values[tuple(slice(a, b) for a, b in other)] -= 1
    coefficients = values.ravel() @ inverse
    law = errors.noise_law(((one, 1.0), (other, -1.0)))
    wanted = float(coefficients**2 @ variances)
    assert law.variance == pytest.approx(wanted, rel=1e-8)
    assert errors.variance(((one, 1.0), (other, -1.0))) == pytest.approx(wanted, rel=1e-8)
    assert law.counts.sum() == np.count_nonzero(np.abs(coefficients) > 1e-12)


@every_grid
def test_boxes_margins_and_slices_agree_exactly(grid):
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 10**7, grid.sizes)
    release = tu.infer(measure_for_experiment(counts, grid, Fraction(1, 7), seed=2))
    cells = release.counts()
    names = [axis.name for axis in grid.axes]
    for number, name in enumerate(names):
        margin = release.margin(name)
        others = tuple(n for n in range(len(names)) if n != number)
        assert (margin.counts() == cells.sum(axis=others)).all()
        assert margin.total().value == release.total().value
    assert cells.sum() == release.total().value
    for _ in range(100):
        (start,), (stop,) = random_boxes(grid.sizes, 1, int(rng.integers(1 << 30)))
        box = tuple(zip(start.tolist(), stop.tolist(), strict=True))
        value = release.range(*box).value
        assert value == cells[tuple(slice(a, b) for a, b in box)].sum()
        middle = int(rng.integers(start[0], stop[0] + 1))
        left = release.range((start[0], middle), *box[1:]).value
        assert left + release.range((middle, stop[0]), *box[1:]).value == value
        inside = release.slice(**{names[0]: box[0]})
        again = inside.range(*box[1]) if len(names) == 2 else inside.range(*box[1:])
        assert again.value == value
        assert again.std_error == pytest.approx(release.range(*box).std_error)


def test_many_boxes_at_once_equal_boxes_one_by_one():
    months = tu.Axis.dates("month", "2013-01", "2013-12", "month")
    grid = tu.GridCounts(axis("age", 100), months)
    release = tu.infer(measure_for_experiment(np.ones((100, 12), int), grid, 1, seed=3))
    low = ([0, 18, 65], ["2013-01", "2013-03", "2013-01"])
    high = ([100, 65, 66], ["2013-02", "2013-09", "2013-12"])
    values, errors = release.ranges(low, high), release.range_errors(low, high)
    for i in range(3):
        one = release.range((low[0][i], high[0][i]), (low[1][i], high[1][i]))
        assert one.value == values[i]
        assert one.std_error == pytest.approx(errors[i])
        assert (
            one.value
            == release.range(month=(low[1][i], high[1][i]), age=(low[0][i], high[0][i])).value
        )
    assert release.range().value == release.total().value
    assert release.range((0, 20), ("2013-01", "2013-04")).interval(0.95)[0] < 60
    assert (
        release.margin("month").node("2013-05").value
        == release.range(None, ("2013-05", "2013-06")).value
    )


@pytest.mark.parametrize(("size", "goal"), [(256, 2_250), (1_024, 8_200)])
def test_mean_error_over_all_rectangles_meets_its_goal(size, goal):
    grid = tu.GridCounts(axis("x", size), axis("y", size))
    errors = errors_of(Noise(grid, 1, law="continuous"))
    line = errors.lines[0]
    # For continuous noise the variance of a box is half the product of its sides'.
    exactly = line.mean_variances()[0] ** 2 / 2
    starts, stops = random_boxes(grid.sizes, 600, 7)
    found = errors.box_variances(starts, stops)
    sides = [line.range_variances(starts[:, n], stops[:, n]) for n in (0, 1)]
    np.testing.assert_allclose(found, sides[0] * sides[1] / 2, rtol=1e-9)
    assert exactly <= goal


def test_intervals_of_boxes_hold_the_truth_as_often_as_they_say():
    grid = tu.GridCounts(tu.HatCounts(axis("a", 30), [3]), tu.TreeCounts(axis("b", 9), 3))
    zero = np.zeros(grid.sizes, np.int64)
    rng = np.random.default_rng(6)
    boxes = [((0, 30), (0, 9)), ((4, 5), (3, 4)), ((3, 22), (2, 7))]
    release = tu.infer(measure_for_experiment(zero, grid, 1, rng))
    level, draws = 0.9, 1_500
    reach = np.array([release.between(*box).noise_law.half_width(level) for box in boxes])
    held = np.zeros(len(boxes))
    for _ in range(draws):
        again = tu.infer(measure_for_experiment(zero, grid, 1, rng))
        found = np.array([again.between(*box).value for box in boxes])
        held += np.abs(found) <= reach + 1e-9
    spread = (level * (1 - level) / draws) ** 0.5
    assert (np.abs(held / draws - level) < 5 * spread + 0.012).all()


@every_grid
@pytest.mark.parametrize("method", ["large-first", "top-down"])
def test_shown_counts_are_whole_and_not_negative(grid, method):
    counts = np.zeros(grid.sizes, np.int64)
    counts.flat[0] = 3_000
    measurement = measure_for_experiment(counts, grid, 1, seed=9)
    release = tu.infer(measurement, nonnegative=True, integers=True, method=method)
    cells = release.counts()
    assert cells.dtype == np.int64
    assert cells.min() >= 0
    assert release.facts.inferred == f"non-negative whole numbers, {method}"
    if method == "top-down":
        assert abs(cells.sum() - release.unbiased.total().value) <= 1
    assert (release.margin(grid.axes[0].name).counts() >= 0).all()
    wrong, was = np.abs(cells - counts).sum(), np.abs(release.unbiased.counts() - counts).sum()
    assert wrong < was
    with pytest.raises(tu.InputError, match=r"release\.unbiased"):
        release.std_errors()
    with pytest.raises(tu.InputError, match="large-first or top-down"):
        tu.infer(measurement, nonnegative=True, method="exact")


@every_grid
def test_grids_survive_files(grid, tmp_path):
    measurement = tu.measure(np.ones(grid.sizes, int), grid, epsilon=2)
    measurement.save(tmp_path / "noisy.parquet")
    assert tu.load(tmp_path / "noisy.parquet") == measurement
    release = tu.infer(measurement)
    name = grid.axes[0].name
    shown = tu.infer(measurement, nonnegative=True, integers=True)
    for number, each in enumerate((release, shown, release.margin(name), release.slice(b=(0, 2)))):
        each.save(tmp_path / f"{number}.json")
        again = tu.load(tmp_path / f"{number}.json")
        assert (again.counts() == each.counts()).all()
        assert again.total().value == each.total().value
        assert again.unbiased.total().interval() == each.unbiased.total().interval()
    assert "NOT PRIVATE" not in repr(release)
    assert "<svg" in release._repr_html_()
    assert len(release.to_frame()) == grid.size


def test_axes_get_the_question_that_suits_them():
    sex = tu.Axis.categories("sex", ["f", "m"])
    place = tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark"]})
    grid = tu.GridCounts(axis("age", 100), sex, place, axis("hour", 24))
    assert [type(factor).__name__ for factor in grid.factors] == [
        "HatCounts", "CellCounts", "TreeCounts", "HatCounts",
    ]  # fmt: skip
    assert grid.factors[3].strides == ()  # so few that plain counts are best


def test_products_are_offered_by_name_and_hats_where_an_axis_has_some():
    labels, more = tu.Axis.categories("k", list("abcd")), tu.Axis.categories("l", list("xyz"))
    ages, hours = axis("age", 100), axis("hour", 40)
    ranges = tu.Workload.all_ranges()

    def offered(*axes, nonnegative=False):
        found = GridModel.candidates(axes, [ranges] * len(axes), nonnegative)
        assert [each.rank for each in found] == sorted(each.rank for each in found)
        return {each.word: each.ask() for each in found}

    both = offered(ages, hours)
    assert list(both) == ["flat", "binary", "tree", "hats"]
    assert both["flat"] == tu.GridCounts(tu.CellCounts(ages), tu.CellCounts(hours))
    assert both["binary"] == tu.GridCounts(*(tu.TreeCounts(a, branching=2) for a in (ages, hours)))
    assert both["hats"] == tu.GridCounts(best_hats(ages, ranges), best_hats(hours, ranges))
    some = offered(ages, labels, nonnegative=True)
    assert list(some) == ["flat", "binary", "tree", "hats", "shown"]
    assert some["hats"] == tu.GridCounts(best_hats(ages, ranges), tu.CellCounts(labels))
    assert list(offered(labels, more)) == ["flat", "binary", "tree"]
    assert list(offered(ages, hours, nonnegative=True)) == list(both)  # boxes in boxes are shown
    assert offered(ages) == {}


# ---- bad input


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: tu.GridCounts(axis("a", 4)), "needs two axes or more, got 1; ask HatCounts"),
        (lambda: tu.GridCounts(axis("a", 4), axis("a", 4)), "needs a name of its own, got a, a"),
        (lambda: tu.GridCounts(1 << 20, 1 << 20), "GiB for one copy of them"),
        (lambda: tu.GridCounts(*[1 << 20] * 4), "past what 64 bits can number"),
        (lambda: tu.GridCounts(4, "b"), "A question needs an Axis or a number of cells, got a str"),
        (lambda: tu.GridCounts(4, tu.SortedCounts(3, adaptive=False)), "A question needs an Axis"),
        (
            lambda: tu.GridCounts(
                4, tu.TreeCounts(tu.Axis.dates("d", "2012", "2013"), levels=["year"])
            ),
            "the finest level of 'd' must be its cells",
        ),
        (lambda: tu.BoxCounts.quadtree(8, 101, branching=4), "'axis 1' cannot be"),
        (lambda: tu.BoxCounts.quadtree(9, 9, branching=1), "at least 2, got 1"),
        (lambda: tu.BoxCounts(4, 4, radices=[(2, 2)], shares={(0, 0): 1}), "radices for 1"),
        (
            lambda: tu.BoxCounts(4, 6, radices=[(2, 2), (2, 2)], shares={(2, 2): 1}),
            "must multiply to its 6 cells, got [2, 2]",
        ),
        (
            lambda: tu.BoxCounts(4, 4, radices=[(4,), (4,)], shares={(1, 2): 1}),
            "There are no levels (1, 2)",
        ),
        (
            lambda: tu.BoxCounts(4, 4, radices=[(4,), (4,)], shares={(1, 1): "1/2"}),
            "must be positive and add up to 1, not 1/2",
        ),
        (lambda: tu.BoxCounts(4, 4, radices=[(4,), (4,)], shares={}), "at least one"),
        (lambda: tu.BoxCounts.marginals(4, 4, marginals=[("b",)]), "There is no axis 'b'"),
        (
            lambda: tu.BoxCounts.marginals(axis("a", 4), 4, marginals=["a", "a"]),
            "['a'] is named twice",
        ),
        (
            lambda: tu.BoxCounts.marginals(axis("a", 4), 4, marginals=["a"], shares=[1, 2]),
            "1 marginals were given with 2 shares",
        ),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(make, told):
    with pytest.raises(tu.InputError) as refusal:
        make()
    assert told in str(refusal.value)


def test_counts_and_boxes_that_do_not_fit_are_refused():
    grid = tu.GridCounts(axis("a", 4), axis("b", 3))
    with pytest.raises(tu.InputError, match=r"has \(4, 3\) cells, but \(3, 4\) were given"):
        grid.answers(np.ones((3, 4), int))
    with pytest.raises(tu.InputError, match="has 12 cells, but 11 counts"):
        grid.answers(np.ones(11, int))
    release = tu.infer(tu.measure(np.ones((4, 3), int), grid, epsilon=1))
    for ask, told in (
        (lambda: release.range((0, 4), (0, 3), (0, 1)), "There are 2 axes, but 3 ranges"),
        (lambda: release.range((0, 5)), "outside axis 'a'"),
        (lambda: release.range(7), r"is \(low, high\) or None, got 7"),
        (lambda: release.range(c=(0, 1)), "There is no axis 'c'. Axes: a, b"),
        (lambda: release.range((0, 1), a=(0, 1)), "Axis 'a' is given twice"),
        (lambda: release.margin("c"), "There is no axis 'c'"),
        (lambda: release.margin(), "Name the axes to keep"),
        (lambda: release.slice(a=(0, 1), b=(0, 1)), "Every axis is fixed"),
        (lambda: release.ranges([[0]], [[1]]), "for each of the 2 axes"),
        (lambda: release.ranges([[0], [0, 1]], [[1], [1, 2]]), "different numbers of ends"),
    ):
        with pytest.raises(tu.InputError, match=told):
            ask()


def test_more_records_than_the_hats_leave_room_for_are_refused():
    grid = tu.GridCounts(tu.HatCounts(axis("a", 4), [2]), tu.HatCounts(axis("b", 4), [2]))
    with pytest.raises(tu.InputError, match="weights of up to 16 at most"):
        tu.measure(np.full((4, 4), 2**56), grid, 1)


def test_hats_too_heavy_for_64_bits_are_refused_whatever_the_counts():
    wide = [tu.HatCounts(axis(name, 10), [1 << 19]) for name in "ab"]
    assert tu.GridCounts(*wide).heaviest == 1 << 40
    with pytest.raises(tu.InputError, match=r"weigh up to .* Ask smaller strides"):
        tu.GridCounts(*wide, tu.HatCounts(axis("c", 1), [4]))


def test_large_first_keeps_clear_counts_where_most_cells_are_empty():
    generator = np.random.default_rng(4)
    counts = np.zeros((64, 64), np.int64)
    places = generator.integers(0, 64, (2, 40))
    counts[places[0], places[1]] = generator.integers(100, 5_000, 40)
    grid = tu.BoxCounts.quadtree(axis("a", 64), axis("b", 64))
    wrong = {}
    for seed in range(20):
        noisy = measure_for_experiment(counts, grid, 1, seed=seed)
        for name, way in {
            "unbiased": {},
            "large-first": {"nonnegative": True},
            "top-down": {"nonnegative": True, "method": "top-down"},
        }.items():
            found = tu.infer(noisy, **way)
            squares = [
                (found.range((a, a + 16), (b, b + 16)).value - counts[a : a + 16, b : b + 16].sum())
                ** 2
                for a in range(0, 48, 7)
                for b in range(0, 48, 7)
            ]
            wrong[name] = wrong.get(name, 0.0) + np.mean(squares)
    assert wrong["large-first"] < wrong["top-down"]
    assert wrong["large-first"] < wrong["unbiased"] / 2


def test_marginals_of_questions_are_refused():
    with pytest.raises(tu.InputError, match="give the axes alone"):
        tu.GridCounts(axis("a", 4), tu.HatCounts(axis("b", 9)), marginals=[("a",)])


def test_grids_are_copied_and_pickled():
    import copy
    import pickle

    grid = tu.GridCounts(axis("a", 4), axis("b", 40))
    assert copy.deepcopy(grid) == grid == pickle.loads(pickle.dumps(grid))
