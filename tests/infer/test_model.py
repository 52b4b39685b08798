"""The variance of every range against the dense inverse of the information matrix."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

import trueup as tu


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


def test_named_counts_have_the_covariance_of_the_projection():
    rng = np.random.default_rng(2)
    for _ in range(50):
        members = rng.random((rng.integers(1, 9), 6)) < 0.5
        members[:, 0] |= ~members.any(axis=1)
        queries = {f"q{i}": np.flatnonzero(row).tolist() for i, row in enumerate(members)}
        m = tu.Measurement(tu.NamedCounts(6, queries), np.zeros(len(members), int), "1/3")
        release = tu.infer(m)
        matrix = members.astype(float)
        projection = matrix @ np.linalg.pinv(matrix)
        p = math.exp(-1 / m.noise.scales[0])
        expected = 2 * p / (1 - p) ** 2 * projection
        found = [release[name].std_error ** 2 for name in release.names]
        np.testing.assert_allclose(found, np.diag(expected), rtol=1e-9, atol=1e-9)
        both = release["q0"] - release[release.names[-1]]
        weights = np.zeros(len(members))
        weights[0] += 1
        weights[-1] -= 1
        assert both.std_error**2 == pytest.approx(weights @ expected @ weights, abs=1e-9)


def test_many_ranges_at_once_are_each_range_alone():
    rng = np.random.default_rng(3)
    for question in (tu.TreeCounts(1000), tu.TreeCounts(777, 2), tu.CellCounts(50)):
        m = tu.Measurement(question, np.zeros(question.length, int), 1)
        release = tu.infer(m)
        ends = np.sort(rng.integers(0, question.size + 1, (200, 2)), axis=1)
        together = release.range_errors(ends[:, 0], ends[:, 1])
        alone = [release.range(a, b).std_error for a, b in ends.tolist()]
        np.testing.assert_allclose(together, alone, rtol=1e-12)
