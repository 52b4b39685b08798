"""Inference against dense linear algebra, scipy, and the paper's own numbers."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import lstsq, null_space
from scipy.optimize import isotonic_regression

import trueup as tu
from trueup.paper.noise import measure_for_experiment


def variances(m):
    """The noise variance of every answer, from the exact scales, by the textbook formula."""
    each = []
    for scale, (length, _) in zip(m.noise.scales, m.question.blocks, strict=True):
        p = math.exp(-1 / scale)
        each += [2 * p / (1 - p) ** 2 if m.law == "discrete" else 2 * float(scale) ** 2] * length
    return np.array(each)


def dense(m):
    """The cells by dense weighted least squares."""
    weights = 1 / np.sqrt(variances(m))
    matrix = m.question.matrix().toarray()
    return lstsq(matrix * weights[:, None], m.noisy * weights, lapack_driver="gelsy")[0]


def assert_same(found, expected):
    largest = np.abs(np.cumsum(expected)).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * max(largest, 1))


def noisy(rng, length):
    return rng.integers(-100, 1000, length)


# ---- the paper's own numbers


def test_figure_2_of_the_paper():
    tree = tu.TreeCounts(4, branching=2)
    release = tu.infer(tu.Measurement(tree, [13, 3, 11, 4, 1, 12, 1], epsilon=1))
    nodes = [release.total(), release.range(0, 2), release.range(2, 4)]
    assert [node.value for node in nodes] == [14, 3, 11]
    assert release.counts().tolist() == [3, 0, 11, 0]
    ordered = tu.infer(tu.Measurement(tu.SortedCounts(4, adaptive=False), [1, 2, 0, 11], epsilon=1))
    assert ordered.counts().tolist() == [1, 1, 1, 11]
    plain = tu.infer(tu.Measurement(tu.CellCounts(4), [3, 1, 11, 1], epsilon=1))
    assert plain.counts().tolist() == [3, 1, 11, 1]
    assert plain.total().value == 16


@pytest.mark.parametrize(
    ("given", "nearest"),
    [
        ([9, 10, 14], [9, 10, 14]),
        ([9, 14, 10], [9, 12, 12]),
        ([14, 9, 10, 15], [11, 11, 11, 15]),
    ],
)
def test_the_three_isotonic_examples(given, nearest):
    m = tu.Measurement(tu.SortedCounts(len(given), adaptive=False), given, epsilon="1/2")
    assert tu.infer(m).counts().tolist() == nearest
    if given == [14, 9, 10, 15]:
        assert ((np.array(given) - nearest) ** 2).sum() == 14


def test_the_students_of_the_introduction_add_up():
    grade = tu.Axis.categories("grade", ["A", "B", "C", "D", "F"])
    letters = {letter: [letter] for letter in "ABCDF"}
    question = tu.NamedCounts(
        grade, {"total": slice(None), "passing": ["A", "B", "C", "D"], **letters}
    )
    m = tu.Measurement(question, [100, 81, 10, 22, 33, 17, 15], epsilon=1)
    release = tu.infer(m)
    total, passing, *each = release.counts()
    assert total == passing + each[-1]
    assert passing == sum(each[:-1])
    # The same by hand: minimise Σ (q − noisy)² subject to the two relations (KKT).
    relations = np.array([[1, -1, 0, 0, 0, 0, -1], [0, 1, -1, -1, -1, -1, 0]], float)
    system = np.block([[np.eye(7), relations.T], [relations, np.zeros((2, 2))]])
    expected = np.linalg.solve(system, [*m.noisy, 0, 0])[:7]
    np.testing.assert_allclose(release.counts(), expected, rtol=0, atol=1e-9)


# ---- trees


def intervals(size, branching, root):
    """The tree's nodes over its cells, written out from its definition, breadth first."""
    widths = [1]
    while widths[-1] < size:
        widths.append(widths[-1] * branching)
    if not root and len(widths) > 1:
        widths.pop()
    owners = [np.arange(size) // width for width in reversed(widths)]
    return np.concatenate([np.eye(owner[-1] + 1)[:, owner] for owner in owners])


@pytest.mark.parametrize("branching", range(2, 21))
def test_trees_of_every_branching_and_size_are_dense_least_squares(branching):
    rng = np.random.default_rng(branching)
    for size in range(1, 201):
        root = bool(rng.integers(2))
        matrix = intervals(size, branching, root)
        given = noisy(rng, len(matrix))
        m = tu.Measurement(tu.TreeCounts(size, branching, root), given, epsilon="1/2")
        expected = lstsq(matrix, given, lapack_driver="gelsy", check_finite=False)[0]
        assert_same(tu.infer(m).counts(), expected)


def random_shares(rng, height):
    """Shares of ε that add up to 1, some of them 0, the last not."""
    parts = rng.integers(1, 20, height) * (rng.random(height) < 0.7)
    parts[-1] = max(parts[-1], 1)
    return [f"{part}/{parts.sum()}" for part in parts]


@pytest.mark.parametrize("law", ["discrete", "continuous"])
def test_trees_with_unequal_and_unasked_levels_are_dense_least_squares(law):
    rng = np.random.default_rng(1)
    for _ in range(100):
        radices = rng.integers(2, 6, rng.integers(1, 5)).tolist()
        size = int(rng.integers(1, math.prod(radices) + 1))
        question = tu.TreeCounts(size, radices=radices, shares=random_shares(rng, len(radices) + 1))
        epsilon = rng.choice(["1/100", "1", "7"])
        m = tu.Measurement(question, noisy(rng, question.length), epsilon, private=False, law=law)
        assert_same(tu.infer(m).counts(), dense(m))


def random_hierarchy(rng):
    paths = []
    for state in range(rng.integers(1, 6)):
        if rng.random() < 0.2:
            paths.append((f"s{state}",))
            continue
        for county in range(rng.integers(1, 5)):
            towns = rng.integers(0, 4)
            base = (f"s{state}", f"c{state}.{county}")
            paths += [(*base, f"t{state}.{county}.{town}") for town in range(towns)] or [base]
    return tu.Axis.hierarchy("place", paths)


def test_hierarchies_are_dense_least_squares():
    rng = np.random.default_rng(2)
    for _ in range(100):
        axis = random_hierarchy(rng)
        levels = list(axis.levels())
        chosen = [level for level in levels[:-1] if rng.random() < 0.7] + levels[-1:]
        shares = random_shares(rng, len(chosen) + 1)
        question = tu.TreeCounts(axis, levels=chosen, shares=shares)
        m = tu.Measurement(question, noisy(rng, question.length), epsilon=1)
        assert_same(tu.infer(m).counts(), dense(m))


def test_a_coarse_level_of_a_calendar_is_inferred_over_its_own_cells():
    rng = np.random.default_rng(3)
    days = tu.Axis.dates("day", "2012-11-20", "2014-02-10")
    question = tu.TreeCounts(days, levels=["year", "month"])
    m = tu.Measurement(question, noisy(rng, question.length), epsilon=1)
    release = tu.infer(m)
    assert release.axis.size == 16
    coarse = tu.Measurement(
        tu.TreeCounts(release.axis, levels=["year", "month"]), m.noisy, epsilon=1
    )
    assert_same(release.counts(), dense(coarse))
    assert release.node("2013").value == release.range("2013-01", "2014-01").value


def estimator(question, epsilon=1):
    """The matrix that takes the noisy answers to the inferred cells: inference is linear."""
    big = 2**20
    columns = []
    for i in range(question.length):
        one = np.zeros(question.length, int)
        one[i] = big
        columns.append(tu.infer(tu.Measurement(question, one, epsilon)).counts() / big)
    return np.array(columns).T


TREES = [
    tu.TreeCounts(16, 2),
    tu.TreeCounts(27, 3),
    tu.TreeCounts(21, 2),
    tu.TreeCounts(23, 4, root=False),
    tu.TreeCounts(13, radices=[3, 5], shares=["1/10", "2/5", "1/2"]),
]


@pytest.mark.parametrize("question", TREES, ids=lambda q: f"{q.size} cells {q.radices}")
def test_inferred_trees_are_unbiased(question):
    # E[estimator · (answers + noise)] = estimator · matrix · counts, and that is the counts.
    identity = estimator(question) @ question.matrix().toarray()
    np.testing.assert_allclose(identity, np.eye(question.size), rtol=0, atol=1e-12)


def test_the_mean_of_many_seeded_inferences_is_the_truth():
    counts = np.array([2, 0, 10, 2, 7, 7, 0, 1])
    question = tu.TreeCounts(8, 2)
    rng = np.random.default_rng(4)
    runs = [measure_for_experiment(counts, question, 1, seed=rng) for _ in range(400)]
    mean = np.mean([tu.infer(m).counts() for m in runs], axis=0)
    errors = tu.infer(runs[0]).std_errors() / math.sqrt(400)
    assert (np.abs(mean - counts) < 5 * errors).all()


def fewest(question):
    """The least number of nodes that make up each range, by trying every first node."""
    shape = question.shape
    nodes = {
        (int(a), int(b))
        for level in range(shape.height)
        for a, b in zip(shape.starts(level), shape.stops(level), strict=True)
    }
    least = {(c, c): 0 for c in range(question.size + 1)}
    for length in range(1, question.size + 1):
        for a in range(question.size - length + 1):
            b = a + length
            least[a, b] = 1 + min(least[c, b] for s, c in nodes if s == a and c <= b)
    return least


@pytest.mark.parametrize("question", TREES[:3], ids=lambda q: f"{q.size} cells {q.radices}")
def test_no_range_is_worse_after_inference(question):
    coefficients = estimator(question)
    m = tu.Measurement(question, np.zeros(question.length, int), 1)
    (variance,) = set(variances(m))
    least = fewest(question)
    better = 0
    for a, b in itertools.combinations(range(question.size + 1), 2):
        inferred = (coefficients[a:b].sum(axis=0) ** 2).sum() * variance
        plain = least[a, b] * variance
        assert inferred <= plain * (1 + 1e-12)
        better += inferred < plain / 2
    assert better > 0


def test_one_range_is_better_by_the_factor_of_theorem_4():
    # (2(ℓ − 1)(k − 1) − k)/3, at all but the two outermost cells: 9.33 at ℓ = 16, k = 2.
    for branching, height in ((2, 16), (2, 7), (3, 8), (16, 4)):
        size = branching ** (height - 1)
        question = tu.TreeCounts(size, branching)
        assert question.height == height
        nodes = 2 * (height - 1) * (branching - 1) - branching
        m = tu.Measurement(question, np.zeros(question.length, int), 1)
        inferred = tu.infer(m).range(1, size - 1).std_error ** 2
        ratio = nodes * variances(m)[0] / inferred
        assert ratio >= nodes / 3
        if (branching, height) == (2, 16):
            assert ratio >= 9.33
        if size <= 64:
            assert fewest(question)[1, size - 1] == nodes


# ---- sorted counts


def test_sorted_counts_are_scipy_s_isotonic_regression():
    rng = np.random.default_rng(5)
    for size in (1, 2, 3, 10, 1000):
        m = tu.Measurement(tu.SortedCounts(size, adaptive=False), noisy(rng, size), epsilon=1)
        expected = isotonic_regression(m.noisy).x
        np.testing.assert_allclose(tu.infer(m).counts(), expected, rtol=0, atol=1e-8)


def mean_square(counts, epsilon, runs, estimate):
    rng = np.random.default_rng(6)
    question = tu.SortedCounts(len(counts), adaptive=False)
    truth = np.sort(counts)
    each = [measure_for_experiment(counts, question, epsilon, seed=rng) for _ in range(runs)]
    return np.mean([((estimate(m) - truth) ** 2).sum() for m in each])


def test_sorted_counts_gain_where_counts_repeat_and_never_lose():
    def plain(m):
        return m.noisy

    def inferred(m):
        return tu.infer(m).counts()

    repeated = np.repeat([0, 5, 30, 400], 1024)
    assert mean_square(repeated, 1, 20, inferred) < mean_square(repeated, 1, 20, plain) / 50
    different = np.arange(1000) * 1000
    assert mean_square(different, 1, 5, inferred) == mean_square(different, 1, 5, plain)
    some = np.random.default_rng(1).integers(0, 50, 500)
    assert mean_square(some, "1/10", 10, inferred) < mean_square(some, "1/10", 10, plain) / 5


# ---- named counts


def test_named_counts_are_the_dense_constrained_solution():
    rng = np.random.default_rng(7)
    for _ in range(150):
        size, length = rng.integers(1, 12), rng.integers(1, 15)
        members = rng.random((length, size)) < rng.uniform(0.1, 0.9)
        members[:, 0] |= ~members.any(axis=1)
        queries = {f"q{i}": np.flatnonzero(row).tolist() for i, row in enumerate(members)}
        m = tu.Measurement(tu.NamedCounts(int(size), queries), noisy(rng, length), epsilon=1)
        relations = null_space(members.T.astype(float)).T  # every relation among the answers
        system = np.block(
            [[np.eye(length), relations.T], [relations, np.zeros((len(relations),) * 2)]]
        )
        given = np.concatenate([m.noisy, np.zeros(len(relations))])
        expected = np.linalg.lstsq(system, given, rcond=None)[0][:length]
        found = tu.infer(m).counts()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
        for relation in m.question.relations().toarray().tolist():
            terms = [Fraction(c) * Fraction(v) for c, v in zip(relation, found, strict=True)]
            assert sum(terms) == 0
            if sum(map(abs, relation)) < 1000:
                assert np.dot(relation, found) == 0


def test_named_counts_add_up_whatever_the_signs_of_their_cells():
    rng = np.random.default_rng(8)
    size = 40
    queries = {f"cell {i}": [i] for i in range(size)}
    for i in range(30):
        chosen = np.flatnonzero(rng.random(size) < 0.5).tolist()
        queries[f"set {i}"] = chosen
    answers = np.concatenate([(-1) ** np.arange(size) * 2**44, rng.integers(-(2**40), 2**40, 30)])
    release = tu.infer(tu.Measurement(tu.NamedCounts(size, queries), answers, epsilon=1))
    for i in range(30):
        parts = [release[f"cell {c}"].value for c in queries[f"set {i}"]]
        rng.shuffle(parts)
        assert sum(parts) == release[f"set {i}"].value


def test_too_many_named_counts_are_sent_to_a_tree():
    question = tu.NamedCounts(5000, {f"q{i}": [i] for i in range(5000)})
    m = tu.Measurement(question, np.zeros(5000, int), epsilon=1)
    with pytest.raises(tu.InputError, match=r"up to 4,000 named queries, got 5,000\. Ask a tree"):
        tu.infer(m)


# ---- what inference reads


@pytest.mark.parametrize("wrong", [None, "m", [1, 2, 3], tu.CellCounts(3), tu.Measurement])
def test_only_a_measurement_is_inferred_from(wrong):
    with pytest.raises(tu.InputError, match="infer needs a Measurement, got"):
        tu.infer(wrong)


def test_inference_is_a_function_of_the_measurement_alone():
    rng = np.random.default_rng(9)
    for question in (tu.CellCounts(9), tu.TreeCounts(9, 2), tu.SortedCounts(9, adaptive=False)):
        m = tu.Measurement(question, noisy(rng, question.length), epsilon="1/3")
        first, second = tu.infer(m), tu.infer(m)
        assert np.array_equal(first.counts(), second.counts())
        assert first.facts.inferred == "least squares"
        assert replace(first.facts, inferred=None) == m.facts


def test_scales_at_the_ends_of_what_can_be_drawn_are_inferred_from():
    rng = np.random.default_rng(10)
    question = tu.TreeCounts(32, radices=[4, 8], shares=["1/2", "1/1000", "499/1000"])
    for epsilon in ("1/1000000", "1000"):
        m = tu.Measurement(question, noisy(rng, question.length), epsilon)
        release = tu.infer(m)
        assert np.isfinite(release.counts()).all()
        assert np.isfinite(release.std_errors()).all()
    sure = tu.infer(tu.Measurement(question, question.answers(range(32)), epsilon="1000"))
    assert sure.counts().tolist() == list(range(32))
