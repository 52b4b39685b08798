"""Named counts against the constrained solution and the projection of dense linear algebra."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import dlaplace

import trueup as tu
from trueup.infer.named import NamedModel
from trueup.noise import Noise

from .dense_answers import noisy


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


def test_a_hundred_prefixes_are_told_apart_and_stay_as_they_are() -> None:
    """Their matrix can be inverted, though its least singular value is 1/127 of its largest."""
    question = tu.NamedCounts(100, {f"{n}": slice(0, n + 1) for n in range(100)})
    given = np.random.default_rng(3).integers(0, 10**6, 100)
    release = tu.infer(tu.Measurement(question, given, 1))
    assert release.counts().tolist() == pytest.approx(given.tolist())


@pytest.mark.parametrize("epsilon", [1, 100, 700])
def test_a_named_count_is_expected_within_19_of_20_draws_of_its_noise(epsilon: int) -> None:
    """One count alone: the least q with P(|X| ≤ q) ≥ 0.95, by scipy's law."""
    question = tu.NamedCounts(100, {"some": slice(0, 9)})
    noise = Noise(question, Fraction(epsilon, 1000))
    ((name, within),) = NamedModel(noise).expected()
    q = np.arange(20_000)
    inside = 1 - 2 * dlaplace(epsilon / 1000).sf(q)
    least = int(q[np.argmax(inside >= 0.95)])
    assert name == "some"
    assert least <= within <= 1.01 * least  # never too narrow, and hardly too wide
