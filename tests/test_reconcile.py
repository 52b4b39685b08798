"""Reconciling named counts and releases, against dense algebra, scipy and brute force."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize

import trueup as tu
from trueup.files import codec as files
from trueup.paper.noise import measure_for_experiment as measured
from trueup.reconcile.statements import statements

STUDENT = {
    "total": (100, 9.0),
    "passing": (78, 4.0),
    "A": (20, 2.0),
    "B": (31, 1.0),
    "C": (18, 2.0),
    "D": (12, 5.0),
    "F": (17, 3.0),
}
GRADES = ["total = passing + F", "passing = A + B + C + D"]


def dense(values, variances, matrix, right):
    """Estimates and covariance by the textbook formula."""
    spread = np.diag(variances)
    gain = spread @ matrix.T @ np.linalg.inv(matrix @ spread @ matrix.T)
    return values - gain @ (matrix @ values - right), spread - gain @ matrix @ spread


def as_rows(constraints, names):
    found = statements(constraints, None, names)
    matrix = np.zeros((len(found), len(names)))
    for i, statement in enumerate(found):
        for name, c in statement.coefficients.items():
            matrix[i, names.index(name)] = float(c)
    return matrix, np.array([float(s.constant) for s in found])


def check_against_dense(estimates, constraints):
    names = list(estimates)
    values = np.array([estimates[name][0] for name in names], float)
    variances = np.array([estimates[name][1] for name in names], float)
    matrix, right = as_rows(constraints, names)
    expected, covariance = dense(values, variances, matrix, right)
    agreed = tu.reconcile(estimates, constraints)
    np.testing.assert_allclose(agreed.counts(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(agreed.errors.covariance, covariance, rtol=1e-7, atol=1e-9)
    first, last = names[0], names[-1]
    both = agreed[first] - agreed[last]
    variance = covariance[0, 0] + covariance[-1, -1] - 2 * covariance[0, -1]
    assert both.std_error == pytest.approx(np.sqrt(max(variance, 0)), abs=1e-6)
    return agreed


def test_student_counts_agree_exactly():
    agreed = check_against_dense(STUDENT, GRADES)
    value = {name: agreed[name].value for name in agreed.names}
    assert value["total"] == value["passing"] + value["F"]
    assert value["passing"] == value["A"] + value["B"] + value["C"] + value["D"]


def test_every_way_of_stating_constraints_says_the_same():
    names = list(STUDENT)
    matrix, right = as_rows(GRADES, names)
    expected = tu.reconcile(STUDENT, GRADES).counts()
    for stated in (
        "total = passing + F; passing = A + B + C + D",
        "passing + F == total\nA+B+C+D - passing = 0",
        {"total": ["passing", "F"], "passing": ["A", "B", "C", "D"]},
        [{"total": 1, "passing": -1, "F": -1}, "2 * passing = 2*A + 2*B + 2 * C + 2 * D"],
        sparse.csr_array(matrix),
        (matrix, right),
        [*GRADES, "total = A + B + C + D + F"],
    ):
        np.testing.assert_allclose(tu.reconcile(STUDENT, stated).counts(), expected, atol=1e-9)


def test_random_systems_match_dense_algebra():
    rng = np.random.default_rng(1)
    for _ in range(60):
        size, equations = rng.integers(3, 12), rng.integers(1, 3)
        names = [f"x{i}" for i in range(size)]
        rows = rng.integers(-2, 3, (equations, size)).astype(float)
        if np.linalg.matrix_rank(rows) < equations:
            continue
        right = rng.integers(-5, 6, equations)
        truth = rng.normal(0, 100, size)
        truth += np.linalg.pinv(rows) @ (right - rows @ truth)
        variances = 10 ** rng.uniform(-2, 3, size)
        values = truth + rng.laplace(0, np.sqrt(variances / 2))
        estimates = dict(zip(names, zip(values, variances, strict=True), strict=True))
        check_against_dense(estimates, (rows, right))


def test_trees_and_sparse_algebra_agree():
    rng = np.random.default_rng(2)
    for _ in range(30):
        parents = {f"n{i}": f"n{rng.integers(0, i)}" for i in range(1, 40)}
        names = [f"n{i}" for i in range(40)]
        sums = {p: [c for c, q in parents.items() if q == p] for p in set(parents.values())}
        estimates = {n: (rng.normal(10, 20), 10 ** rng.uniform(2, 5)) for n in names}
        check_against_dense(estimates, [{p: c} for p, c in sums.items()])
        # The same with a redundant equation is no tree; the answer must not change.
        more = [{p: c} for p, c in sums.items()]
        leaves = [n for n in names if n not in sums]
        for way in ({}, {"nonnegative": True}):
            tree = tu.reconcile(estimates, more, **way).counts()
            other = tu.reconcile(estimates, [*more, {"n0": leaves}], **way).counts()
            np.testing.assert_allclose(tree, other, atol=1e-6)


def test_nonnegative_is_the_nearest_point():
    rng = np.random.default_rng(3)
    for _ in range(15):
        names = list("abcdef")
        estimates = {n: (rng.normal(2, 6), rng.uniform(0.5, 4)) for n in names}
        equations = "a = b + c; d = b + e; f + c = d"
        found = tu.reconcile(estimates, equations, nonnegative=True)
        matrix, right = as_rows(equations, names)
        values = np.array([estimates[n][0] for n in names])
        weights = 1 / np.array([estimates[n][1] for n in names])
        best = minimize(
            lambda x, w=weights, v=values: (w * (x - v) ** 2).sum(),
            np.full(6, 5.0),
            jac=lambda x, w=weights, v=values: 2 * w * (x - v),
            constraints=LinearConstraint(matrix, right, right),
            bounds=[(0, None)] * 6,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert found.counts().min() >= 0
        np.testing.assert_allclose(matrix @ found.counts(), right, atol=1e-9)
        misfit = (weights * (found.counts() - values) ** 2).sum()
        assert misfit <= best.fun + 1e-6
        np.testing.assert_allclose(found.counts(), best.x, atol=1e-3)
        assert found["a"].unbiased.value == tu.reconcile(estimates, equations)["a"].value


def test_whole_numbers_obey_and_are_nearest():
    rng = np.random.default_rng(4)
    for _ in range(20):
        estimates = {n: (rng.uniform(0, 6), 1.0) for n in "abcd"}
        equations = "a + b = c + d; a = 2 * b"
        real = tu.reconcile(estimates, equations, nonnegative=True).counts()
        found = tu.reconcile(estimates, equations, nonnegative=True, integers=True)
        a, b, c, d = found.counts().tolist()
        assert a + b == c + d
        assert a == 2 * b
        assert min(a, b, c, d) >= 0
        best = min(
            ((np.array([2 * b, b, c, 3 * b - c]) - real) ** 2).sum()
            for b, c in itertools.product(range(12), range(30))
            if 3 * b >= c
        )
        assert ((found.counts() - real) ** 2).sum() <= best + 1e-6


def test_student_counts_become_whole():
    shown = tu.reconcile(STUDENT, GRADES, nonnegative=True, integers=True)
    value = {name: shown[name].value for name in shown.names}
    assert all(isinstance(v, int) for v in value.values())
    assert value["total"] == value["passing"] + value["F"]
    assert value["passing"] == sum(value[g] for g in "ABCD")
    with pytest.raises(tu.InputError, match="unbiased"):
        _ = shown["total"].std_error
    low, high = shown["total"].interval()
    assert low <= value["total"] <= high


def test_known_totals_are_met_exactly():
    for extra in ({}, {"nonnegative": True}, {"nonnegative": True, "integers": True}):
        agreed = tu.reconcile(STUDENT, GRADES, known={"total": 95}, **extra)
        assert agreed["total"].value == 95
        assert agreed["passing"].value + agreed["F"].value == 95
    plain = tu.reconcile(STUDENT, GRADES, known={"total": 95})
    assert plain["total"].std_error == pytest.approx(0, abs=1e-6)
    same = tu.reconcile(STUDENT, [*GRADES, "total = 95"])
    np.testing.assert_allclose(same.counts(), plain.counts())
    inside = tu.reconcile(STUDENT, GRADES, known={"passing": 80, "A": 20.5})
    assert inside["passing"].value == 80
    assert inside["A"].value == 20.5


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


AXIS = tu.Axis.integers("age", 0, 99)
PAIRS = [
    (tu.TreeCounts(AXIS, branching=2), tu.TreeCounts(AXIS, branching=2)),
    (tu.TreeCounts(AXIS, branching=2), tu.TreeCounts(AXIS, branching=16, root=False)),
    (tu.TreeCounts(AXIS, branching=3), tu.TreeCounts(AXIS, branching=16)),
    (tu.CellCounts(AXIS), tu.CellCounts(AXIS)),
    (tu.CellCounts(AXIS), tu.TreeCounts(AXIS, radices=(7, 15), shares=("0.2", "0.3", "0.5"))),
]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_two_releases_of_one_axis_are_as_good_as_one_inference(pair, tmp_path):
    counts = np.arange(100)
    first = measured(counts, pair[0], 1, seed=1)
    second = measured(counts, pair[1], "0.5", seed=2)
    matrix = np.vstack([q.matrix().toarray() for q in pair])
    weights = 1 / np.concatenate([first.variances, second.variances])
    noisy = np.concatenate([first.noisy, second.noisy])
    gram = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    expected = gram @ (matrix.T @ (weights * noisy))
    shown = tu.infer(second, nonnegative=True, integers=True)
    for parts in ([first, second], [tu.infer(first), shown]):
        agreed = tu.reconcile(parts)
        np.testing.assert_allclose(agreed.counts(), expected, atol=1e-7)
        for low, high in ((0, 100), (3, 4), (10, 57), (99, 100)):
            query = np.zeros(100)
            query[low:high] = 1
            answer = agreed.range(low, high if high < 100 else None)
            assert answer.std_error == pytest.approx(np.sqrt(query @ gram @ query), rel=1e-8)
        cut = agreed.range(0, 30) - agreed.range(50, 80)
        query = np.zeros(100)
        query[:30], query[50:80] = 1, -1
        assert cut.std_error == pytest.approx(np.sqrt(query @ gram @ query), rel=1e-7)
        assert agreed.range(0, 41).value + agreed.range(41, None).value == agreed.total().value
        assert agreed.facts.epsilon == Fraction("3/2")
        assert not agreed.facts.private
        agreed.save(tmp_path / "both.parquet")
        again = tu.load(tmp_path / "both.parquet")
        assert np.array_equal(again.counts(), agreed.counts())
        assert again.range(3, 9).std_error == pytest.approx(agreed.range(3, 9).std_error)
    whole = tu.reconcile([first, second], nonnegative=True, integers=True)
    assert whole.counts().min() >= 0
    assert whole.counts().dtype == np.int64
    assert np.array_equal(whole.unbiased.counts(), tu.reconcile([first, second]).counts())


@pytest.mark.parametrize(("both", "root"), [(False, False), (False, True), (True, True)])
def test_a_known_total_pins_an_axis(both, root):
    counts = np.arange(100)
    one = measured(counts, tu.TreeCounts(AXIS, branching=4), 1, seed=3)
    other = measured(counts, tu.TreeCounts(AXIS, branching=10, root=root), 1, seed=4)
    parts = [one, other] if both else [other]
    agreed = tu.reconcile(parts, known={"total": 4950})
    assert agreed.total().value == 4950
    assert agreed.total().std_error == pytest.approx(0, abs=1e-6)
    matrix = np.vstack([m.question.matrix().toarray() for m in parts])
    variances = np.concatenate([m.variances for m in parts])
    noisy = np.concatenate([m.noisy for m in parts])
    free = np.linalg.inv(matrix.T @ (matrix / variances[:, None]))
    unpinned = free @ (matrix.T @ (noisy / variances))
    toward = free.sum(axis=1) / free.sum()
    expected = unpinned + toward * (4950 - unpinned.sum())
    covariance = free - np.outer(toward, free.sum(axis=0))
    np.testing.assert_allclose(agreed.counts(), expected, atol=1e-8)
    half = agreed.range(0, 50).std_error
    assert half == pytest.approx(np.sqrt(covariance[:50, :50].sum()), rel=1e-8)


def test_coarse_and_fine_releases_of_one_hierarchy_combine():
    place = tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa", "Yolo"], "NV": ["Clark", "Nye"]})
    coarse = measured([5, 6, 7, 8, 9], tu.TreeCounts(place, levels=["level 1"]), 1, seed=1)
    fine = measured([5, 6, 7, 8, 9], tu.CellCounts(place), 1, seed=2)
    agreed = tu.reconcile([coarse, fine])
    matrix = np.vstack([coarse.question.matrix().toarray(), np.eye(5)])
    noisy = np.concatenate([coarse.noisy, fine.noisy])
    weights = 1 / np.concatenate([coarse.variances, fine.variances])
    gram = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    np.testing.assert_allclose(agreed.counts(), gram @ (matrix.T @ (weights * noisy)), atol=1e-9)
    assert agreed.node("CA").std_error == pytest.approx(np.sqrt(gram[:3, :3].sum()))


def test_a_large_tree_of_names_is_quick_and_agrees():
    rng = np.random.default_rng(6)
    sums = {f"s{i}": [f"s{i}c{j}" for j in range(50)] for i in range(200)}
    sums["all"] = [f"s{i}" for i in range(200)]
    names = ["all", *sums["all"], *(c for i in range(200) for c in sums[f"s{i}"])]
    estimates = {name: (rng.normal(1, 5), 2.0) for name in names}
    agreed = tu.reconcile(estimates, sums, nonnegative=True, integers=True)
    value = dict(zip(agreed.names, agreed.counts().tolist(), strict=True))
    assert min(value.values()) >= 0
    assert all(value[p] == sum(value[c] for c in children) for p, children in sums.items())
    plain = agreed.unbiased
    assert plain["all"].value == sum(plain.counts()[plain.names.index(s)] for s in sums["all"])
    assert plain["all"].std_error == pytest.approx(_root_error(2.0, 50, 200))
    with pytest.raises(tu.InputError, match="no query"):
        agreed["s999"]


def _root_error(variance, children, families):
    below = 1 / (1 / variance + 1 / (children * variance))
    return np.sqrt(1 / (1 / variance + 1 / (families * below)))


def test_contradictions_are_named():
    with pytest.raises(tu.InputError, match=r"'total = 90'.*'total = 95'.*0 = ") as caught:
        tu.reconcile(STUDENT, [*GRADES, "total = 90", "total = 95"])
    assert "passing" not in str(caught.value)
    stated = [*GRADES, "passing = 1", "A = 1", "B = 1", "C = 0", "D = 0"]
    with pytest.raises(tu.InputError, match=r"A \+ B \+ C \+ D.*passing = 1.*A = 1.*B = 1"):
        tu.reconcile(STUDENT, stated)
    with pytest.raises(tu.InputError, match="non-negative"):
        tu.reconcile({"a": (1, 1.0), "b": (2, 1.0)}, "a + b = 5", known={"b": 6}, nonnegative=True)


@pytest.mark.parametrize(
    ("estimates", "constraints", "words"),
    [
        ({"x": (1, 0)}, "", "variance of 'x' must be positive, got 0"),
        ({"x": (1, -2.0)}, "", "must be positive, got -2"),
        ({"x": (1, float("nan"))}, "", "must be finite"),
        ({"x": (float("inf"), 1)}, "", "must be finite"),
        ({"x": 3}, "", "value, variance"),
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


def test_names_with_spaces_and_signs_are_quoted():
    estimates = {"North East": (5, 1.0), "co-op": (2, 1.0), "rest": (2, 1.0)}
    agreed = tu.reconcile(estimates, "'North East' = \"co-op\" + rest")
    assert agreed["North East"].value == agreed["co-op"].value + agreed["rest"].value


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


LINE = tu.Axis.integers("line", 0, 59)
TOGETHER = {
    "hats and a tree": [tu.HatCounts(LINE), tu.TreeCounts(LINE)],
    "hats twice": [tu.HatCounts(LINE, [4, 20]), tu.HatCounts(LINE, [4, 20])],
    "a strategy and cells": [
        tu.WeightedCounts(LINE, np.vstack([np.eye(60, dtype=int), np.ones((1, 60), int)])),
        tu.CellCounts(LINE),
    ],
    "a wavelet and hats": [tu.WaveletCounts(LINE), tu.HatCounts(LINE)],
}


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("name", TOGETHER)
def test_hats_with_anything_equal_dense_least_squares(name, released, tmp_path):
    counts = np.random.default_rng(3).poisson(30, 60)
    parts = [
        measured(counts, question, epsilon, seed=seed)
        for seed, (question, epsilon) in enumerate(zip(TOGETHER[name], ("1", "1/2"), strict=True))
    ]
    rows = np.vstack([part.question.matrix().toarray() for part in parts])
    weights = np.concatenate([1 / part.variances for part in parts])
    noisy = np.concatenate([part.noisy for part in parts])
    covariance = np.linalg.inv(rows.T @ (weights[:, None] * rows))
    wanted = covariance @ (rows.T @ (weights * noisy))
    given = [tu.infer(part) if released else part for part in parts]
    release = tu.reconcile(given)
    np.testing.assert_allclose(release.counts(), wanted, atol=1e-7)
    inside = (np.arange(60) >= 7) & (np.arange(60) < 31)
    assert release.range(7, 31).std_error == pytest.approx((inside @ covariance @ inside) ** 0.5)
    assert release.range(7, 31).std_error < tu.infer(parts[0]).range(7, 31).std_error
    assert release.range(0, 7).value + release.range(7, 60).value == release.total().value
    release.save(tmp_path / "both.parquet")
    again = tu.load(tmp_path / "both.parquet")
    assert (again.counts() == release.counts()).all()
    assert again.range(7, 31).std_error == pytest.approx(release.range(7, 31).std_error)
    shown = tu.reconcile(given, nonnegative=True, integers=True)
    assert shown.counts().min() >= 0


def test_hats_that_cannot_be_combined_are_refused():
    m = tu.measure(np.ones(60, int), tu.HatCounts(LINE), epsilon=1)
    with pytest.raises(tu.InputError, match="not with hats"):
        tu.reconcile([m], known={"total": 60})
    large = tu.measure(np.ones(5000, int), tu.HatCounts(5000), epsilon=1)
    with pytest.raises(tu.InputError, match="up to 4,096 cells"):
        tu.reconcile([large])
    other = tu.measure(np.ones(61, int), tu.HatCounts(61), epsilon=1)
    with pytest.raises(tu.InputError, match="different axes"):
        tu.reconcile([m, other])
