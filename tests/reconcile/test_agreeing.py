"""Counts, measurements and releases that are to agree: what goes in, and what keeps its stamp."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.files import codec as files
from trueup.paper.noise import measure_for_experiment as measured

from .dense_agreement import dense


def test_one_count_measured_twice_is_the_weighted_mean():
    agreed = tu.reconcile({"x": [(10, 1.0), (20, 4.0)], "y": (5, 1.0)})
    assert agreed["x"].value == pytest.approx((10 / 1 + 20 / 4) / (1 + 1 / 4))
    assert agreed["x"].std_error == pytest.approx(np.sqrt(1 / (1 + 1 / 4)))
    triples = tu.reconcile([("x", 10, 1.0), ("x", 20, 4.0), ("y", 5, 1.0)])
    assert np.array_equal(triples.counts(), agreed.counts())


def test_unmeasured_counts_follow_from_others():
    agreed = tu.reconcile({"total": (100, 9.0), "passing": (78, 4.0), "F": None}, "total=passing+F")
    assert agreed["F"].value == pytest.approx(22)
    assert agreed["F"].std_error == pytest.approx(np.sqrt(13))
    with pytest.raises(tu.InputError, match="'y', 'z'"):
        tu.reconcile({"x": (1, 1.0), "y": None, "z": None}, "x = y + z")


def test_estimates_of_one_release_carry_their_common_noise():
    counts = np.arange(64)
    m = measured(counts, tu.TreeCounts(64, branching=4), 1, seed=5)
    release = tu.infer(m)
    given = {"left": release.range(0, 20), "right": release.range(20, 64)}
    agreed = tu.reconcile({**given, "all": None}, "all = left + right")
    assert agreed["all"].value == pytest.approx(release.total().value)
    assert agreed["all"].std_error == pytest.approx(release.total().std_error, rel=1e-6)


def test_two_query_releases_are_as_good_as_one_inference():
    grade = tu.Axis.categories("grade", list("ABCDF"))
    queries = {"total": slice(None), "passing": list("ABCD"), **{g: [g] for g in "ABCDF"}}
    question = tu.NamedCounts(grade, queries)
    first, second = (measured([20, 30, 18, 12, 17], question, e, e) for e in (1, 2))
    expected, covariance = dense(
        np.concatenate([first.noisy, second.noisy]).astype(float),
        np.concatenate([first.variances, second.variances]),
        *_stacked(question),
    )
    for parts in ([first, second], [tu.infer(first), tu.infer(second)], [first, tu.infer(second)]):
        # Noisy measurements obey nothing by themselves: the equations are stated.
        agreed = tu.reconcile(parts, ["total = passing + F", {"passing": list("ABCD")}])
        np.testing.assert_allclose(agreed.counts(), expected[:7], atol=1e-4)
        np.testing.assert_allclose(agreed.errors.covariance, covariance[:7, :7], atol=1e-4)


def _stacked(question):
    """The constraints of two sets of the same answers, and that they are the same."""
    own = question.relations().toarray()
    size = question.length
    none = np.zeros_like(own)
    same = np.hstack([np.eye(size), -np.eye(size)])
    matrix = np.vstack([np.hstack([own, none]), same])
    return matrix, np.zeros(len(matrix))


@pytest.mark.parametrize(
    ("estimates", "constraints", "words"),
    [
        ({"x": (1, 0)}, "", "variance of 'x' must be positive, got 0"),
        ({"x": (1, -2.0)}, "", "must be positive, got -2"),
        ({"x": (1, float("nan"))}, "", "must be finite"),
        ({"x": (float("inf"), 1)}, "", "must be finite"),
        ({"x": 3}, "", "value, variance"),
        ({"x": []}, "", "value, variance"),
        ({"x": (1, 1)}, "x = y", "'y', for which no estimate"),
        ({"x": (1, 1)}, "x", "Cannot read"),
        ({"x": (1, 1)}, "x = = 1", "Cannot read"),
        ({"x": (1, 1)}, "x + = 1", "Cannot read"),
        ({"x": (1, 1)}, "x >= 1", "only equations"),
        ({"x": (1, 1)}, 7, "Constraints are text"),
        ({"x": (1, 1)}, {"x": "ab"}, "list of names"),
        ({}, "", "no estimates"),
        ({"x": None}, "", "None of the counts was measured"),
        (5, "", "mapping, triples or releases"),
        ([("x", 1)], "", "name, value, variance"),
        ({"x": (1, 1)}, np.ones((1, 3)), "1 estimates"),
    ],
)
def test_bad_input_is_refused_with_a_reason(estimates, constraints, words):
    with pytest.raises(tu.InputError, match=words):
        tu.reconcile(estimates, constraints)


def test_releases_that_do_not_belong_together_are_refused():
    here = tu.infer(measured([1, 2], tu.CellCounts(tu.Axis.integers("a", 0, 1)), 1, 1))
    there = tu.infer(measured([1, 2], tu.CellCounts(tu.Axis.integers("b", 0, 1)), 1, 1))
    with pytest.raises(tu.InputError, match="different axes"):
        tu.reconcile([here, there])
    with pytest.raises(tu.InputError, match="constraints are for named counts"):
        tu.reconcile([here], "a = b")
    with pytest.raises(tu.InputError, match="only the total"):
        tu.reconcile([here], known={"x": 1})
    with pytest.raises(tu.InputError, match="not a combined one"):
        tu.reconcile([tu.reconcile([here]), here])
    a, b = (tu.CellCounts(tu.Axis.integers(name, 0, 1)) for name in "ab")
    tables = [
        tu.infer(tu.measure(np.eye(2, dtype=int), tu.GridCounts(a, b), epsilon=1)) for _ in range(2)
    ]
    groups = [tu.infer(tu.measure([3, 4], tu.SortedCounts(2), epsilon=1))]
    for parts in (tables, [*tables, here], groups):
        with pytest.raises(tu.InputError, match="neither one axis nor named counts: these are"):
            tu.reconcile(parts)


def test_an_experiment_keeps_its_stamp_among_named_counts(tmp_path):
    question = tu.NamedCounts(2, {"all": slice(None), "last": [1]})
    experiment, real = measured([3, 4], question, 1, 1), tu.measure([3, 4], question, 1)
    agreed = tu.reconcile([experiment, tu.infer(real)])
    agreed.save(tmp_path / "x.json")
    again = tu.reconcile([tu.load(tmp_path / "x.json"), tu.measure([3, 4], question, 1)])
    for release in (tu.reconcile([experiment]), agreed, tu.load(tmp_path / "x.json"), again):
        assert "NOT PRIVATE" in repr(release)
        assert "NOT PRIVATE" in release._repr_html_()
        assert "NOT PRIVATE" in release.plot().layout.annotations[0].text
    assert again.facts.epsilon == Fraction("3")
    assert "NOT PRIVATE" not in repr(tu.reconcile([real]))
    lie = {
        **agreed.facts.to_json(),
        "private": True,
        "covariance": agreed.errors.covariance.tolist(),
    }
    files.write(tmp_path / "y.json", "query release", agreed.columns(), lie)
    with pytest.raises(tu.FileError, match="stamp"):
        tu.load(tmp_path / "y.json")


def test_estimates_of_an_experiment_keep_its_stamp(tmp_path):
    axis, other = tu.Axis.integers("x", 0, 3), tu.Axis.integers("y", 0, 1)
    cells = tu.infer(measured([3, 4, 0, 1], tu.CellCounts(axis), 1, 1))
    grid = tu.GridCounts(tu.CellCounts(axis), tu.CellCounts(other))
    named = tu.NamedCounts(2, {"all": slice(None), "last": [1]})
    plain = tu.SortedCounts(2, adaptive=False)
    sorted_counts = tu.infer(measured([3, 4], plain, 1, 1))
    estimates = {
        "range": cells.range(0, 2),
        "difference": cells.range(0, 3) - cells.range(0, 1),
        "sum": sum([cells.range(0, 1), cells.range(2, 3)]),
        "shown": tu.infer(measured([3, 4], tu.CellCounts(2), 1, 1), nonnegative=True).total(),
        "sorted": sorted_counts.total(),
        "adaptive": tu.infer(measured([3, 4], tu.SortedCounts(2), 1, 1)).total(),
        "grid": tu.infer(measured(range(8), grid, 1, 1)).total(),
        "named": tu.infer(measured([3, 4], named, 1, 1))["all"],
    }
    real = tu.infer(tu.measure([3, 4, 0, 1], tu.CellCounts(axis), 1)).range(0, 2)
    for kind, estimate in estimates.items():
        agreed = tu.reconcile({"a": estimate, "b": real, "c": (7, 1)}, "a = b + c")
        assert agreed.facts.private is False, kind
        agreed.save(tmp_path / f"{kind}.json")
        for release in (agreed, tu.load(tmp_path / f"{kind}.json")):
            assert "NOT PRIVATE" in repr(release), kind
            assert "NOT PRIVATE" in repr(tu.reconcile({"x": release["a"], "y": (1, 1)})), kind
    assert "NOT PRIVATE" not in repr(tu.reconcile({"a": real, "b": (7, 1)}, "a = b"))


def test_nothing_is_said_of_a_price_that_is_not_known():
    typed = tu.reconcile({"a": (1, 1), "b": (2, 1)}, "a = b")
    assert "None" not in typed._repr_html_()
    assert "None" not in typed.plot().layout.annotations[0].text


def test_an_estimate_is_refused_if_its_variance_does_not_tell_how_far_off_it_is():
    """Inside what was pooled: of a tree and of a quadtree. Ranges that cut nothing are taken."""
    line = tu.Axis.integers("x", 0, 63)
    tree = tu.TreeCounts(line, radices=(4, 4, 4), shares=("2/5", "3/10", "3/10"), adaptive=True)
    counts = np.where(np.arange(64) < 32, 0, 10**6)
    release = tu.infer(measured(counts, tree, 1, 1))
    with pytest.raises(tu.InputError, match="'cut' is of cells that an adaptive question has poo"):
        tu.reconcile({"whole": release.range(0, 16), "cut": release.range(5, 48)})
    for estimate in (release.range(0, 16), release.range(37, 50)):
        assert tu.reconcile({"x": estimate})["x"].std_error == pytest.approx(estimate.std_error)
    grid = tu.BoxCounts.quadtree(16, 16, branching=2, adaptive=True)
    table = tu.infer(measured(np.zeros(256, int), grid, 1, 1), nonnegative=True)
    with pytest.raises(tu.InputError, match="asked with adaptive=False"):
        tu.reconcile({"cut": table.between((3, 9), (0, 5))})
    tu.reconcile({"whole": table.between((0, 8), (0, 16))})


def test_counts_from_pooled_cells_are_refused_because_no_variance_is_known():
    counts = np.zeros(4096, np.int64)
    counts[2000] = 60
    pooled = tu.infer(measured(counts, tu.TreeCounts(4096, adaptive=True), "1/10", 1))
    with pytest.raises(tu.InputError, match="an adaptive question has pooled"):
        tu.reconcile({"a": pooled.between(2000, 2001), "b": (1, 1)}, "a = b")
    assert tu.reconcile({"a": pooled.total(), "b": (60, 100)}, "a = b")["a"].std_error < 10
