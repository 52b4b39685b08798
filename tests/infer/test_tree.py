"""Inference on trees, and the variance of every range after it, against dense linear algebra."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.linalg import lstsq

import trueup as tu
from trueup.infer import figures_of
from trueup.infer.tree import fewest_nodes
from trueup.noise import Noise
from trueup.paper.noise import measure_for_experiment

from .dense_answers import noisy, variances
from .dense_figures import QUESTIONS


def dense(m):
    """The cells by dense weighted least squares."""
    weights = 1 / np.sqrt(variances(m))
    matrix = m.question.matrix().toarray()
    return lstsq(matrix * weights[:, None], m.noisy * weights, lapack_driver="gelsy")[0]


def assert_same(found, expected):
    largest = np.abs(np.cumsum(expected)).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * max(largest, 1))


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
    for size in (*range(1, 50), *rng.integers(50, 201, 12).tolist()):
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


def covariance(m):
    """(Aᵀ W A)⁻¹ of the cells, in 40 digits."""
    matrix = m.question.matrix().toarray()
    if isinstance(m.question, tu.TreeCounts) and m.question.answer_axis.size < m.question.size:
        kept = m.question.axis.levels()[m.question.levels[-1]]
        matrix = matrix[:, kept]
    with mpmath.workdps(40):
        weights = []
        for scale, (length, _) in zip(m.noise.scales, m.question.blocks, strict=True):
            b = mpmath.mpf(scale.numerator) / scale.denominator
            p = mpmath.exp(-1 / b)
            variance = 2 * p / (1 - p) ** 2 if m.law == "discrete" else 2 * b**2
            weights += [1 / variance] * length
        size = matrix.shape[1]
        information = mpmath.zeros(size)
        for row, weight in zip(matrix, weights, strict=True):
            inside = np.flatnonzero(row)
            for i, j in itertools.product(inside.tolist(), repeat=2):
                information[i, j] += weight
        return information**-1


def inferred(question, epsilon=1, law="discrete"):
    """A release of the question, and the exact covariance of its cells."""
    m = tu.Measurement(
        question, np.zeros(question.length, int), epsilon, private=law == "discrete", law=law
    )
    return tu.infer(m), covariance(m)


def furthest(release, exact):
    """How far the variance of any range, cell or total is from the exact one, relative to it."""
    size = release.axis.size
    starts, stops = np.triu_indices(size + 1, 1)
    expected = [
        float(mpmath.fsum(exact[i, j] for i in range(a, b) for j in range(a, b)))
        for a, b in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    cells = [float(exact[i, i]) for i in range(size)]
    found = [
        *release.errors.range_variances(starts, stops),
        *np.square(release.std_errors()),
        release.total().std_error ** 2,
    ]
    exactly = np.array([*expected, *cells, expected[size - 1]])
    return np.abs(np.array(found) / exactly - 1).max()


@pytest.mark.parametrize("law", ["discrete", "continuous"])
@pytest.mark.parametrize(
    "question",
    [
        tu.CellCounts(5),
        tu.TreeCounts(1, 2),
        tu.TreeCounts(13, 2),
        tu.TreeCounts(12, 3, root=False),
        tu.TreeCounts(14, radices=[3, 5], shares=["1/10", "2/5", "1/2"]),
        tu.TreeCounts(11, radices=[2, 3, 2], shares=["1/3", 0, "1/3", "1/3"]),
        tu.TreeCounts(7, radices=[2, 3, 2], shares=[0, "1/50", 0, "49/50"]),
        tu.TreeCounts(5, 16),
    ],
    ids=lambda q: f"{q.size}{getattr(q, 'radices', '')}",
)
def test_regular_trees_have_the_variances_of_the_dense_inverse(question, law):
    assert furthest(*inferred(question, law=law)) < 1e-11


def test_hierarchies_have_the_variances_of_the_dense_inverse():
    tree = {"a": ["b", "c", "d"], "e": {"f": ["g", "h"], "i": []}, "j": [], "k": {"l": ["m"]}}
    axis = tu.Axis.hierarchy("place", tree)
    days = tu.Axis.dates("day", "2012-12-24", "2013-01-05")
    for question in (
        tu.TreeCounts(axis),
        tu.TreeCounts(axis, levels=["level 1", "level 3"], shares=["1/7", "2/7", "4/7"]),
        tu.TreeCounts(axis, levels=["level 1", "level 2"]),
        tu.TreeCounts(days, levels=["year", "day"]),
    ):
        assert furthest(*inferred(question)) < 1e-11


@pytest.mark.parametrize("epsilon", ["1/100000", "1/10", "20", "700"])
def test_variances_hold_at_every_size_of_noise(epsilon):
    question = tu.TreeCounts(9, radices=[3, 3], shares=["1/10", "3/10", "3/5"])
    assert furthest(*inferred(question, epsilon)) < 1e-11


def test_differences_and_sums_of_ranges_have_their_common_noise_accounted_for():
    release, exact = inferred(tu.TreeCounts(13, 2))
    rng = np.random.default_rng(1)
    for _ in range(40):
        cuts = np.sort(rng.integers(0, 14, (3, 2)), axis=1).tolist()
        one, two, three = (release.range(a, b) for a, b in cuts)
        combined = one - two + three
        weights = np.zeros(13)
        for (a, b), sign in zip(cuts, (1, -1, 1), strict=True):
            weights[a:b] += sign
        inside = range(13)
        expected = mpmath.fsum(
            weights[i] * weights[j] * exact[i, j] for i in inside for j in inside
        )
        assert combined.std_error**2 == pytest.approx(float(expected), rel=1e-9, abs=1e-9)
        assert combined.value == one.value - two.value + three.value


def test_an_empty_range_is_zero_without_error():
    release, _ = inferred(tu.TreeCounts(4, 2))
    assert release.range(2, 2).value == 0
    assert release.range(2, 2).std_error == 0
    assert (release.range(0, 2) - release.range(0, 2)).std_error == 0
    assert release.range_errors([1, 2], [1, 4])[0] == 0


def test_many_ranges_at_once_are_each_range_alone():
    rng = np.random.default_rng(3)
    for question in (tu.TreeCounts(1000), tu.TreeCounts(777, 2), tu.CellCounts(50)):
        m = tu.Measurement(question, np.zeros(question.length, int), 1)
        release = tu.infer(m)
        ends = np.sort(rng.integers(0, question.size + 1, (200, 2)), axis=1)
        together = release.range_errors(ends[:, 0], ends[:, 1])
        alone = [release.range(a, b).std_error for a, b in ends.tolist()]
        np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_without_inference_is_known_for_regular_trees_only():
    with pytest.raises(tu.InputError, match="equal fan-outs"):
        fewest_nodes(Noise(QUESTIONS["hierarchy"], Fraction(1)))
    tree = tu.TreeCounts(64, branching=4)
    raw = fewest_nodes(Noise(tree, Fraction(1))).mean_over_ranges()
    assert raw > figures_of(Noise(tree, Fraction(1))).mean_over_ranges()
