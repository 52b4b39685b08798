"""Windows read back: against dense linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup._kernels.windows import spectrum
from trueup._kernels.windows.profile import profile_of

SIZES = [1, 2, 5, 8, 127, 128, 129, 300]


def exact_inverse(rows):
    """Of a whole matrix, in fractions."""
    n = len(rows)
    both = [
        [Fraction(int(v)) for v in row] + [Fraction(i == j) for j in range(n)]
        for i, row in enumerate(rows)
    ]
    for i in range(n):
        both[i] = [value / both[i][i] for value in both[i]]  # no pivot is 0: A is definite
        for j in range(n):
            if j != i:
                both[j] = [a - both[j][i] * b for a, b in zip(both[j], both[i], strict=True)]
    return [row[n:] for row in both]


@pytest.mark.parametrize("end", [-1, 1])
@pytest.mark.parametrize("size", [5, 12])
def test_variances_are_those_of_fractions(size, end):
    profile = profile_of(size, end)
    inverse = exact_inverse(profile.matrix())
    for start, stop in ((0, 1), (1, 4), (0, size), (size - 3, size)):
        exact = sum(sum(inverse[i][k] for i in range(start, stop)) ** 2 for k in range(size))
        found = spectrum.range_variances(profile, np.array([start]), np.array([stop]))[0]
        assert abs(Fraction(float(found)) / exact - 1) < Fraction(1, 10**13)


@pytest.mark.parametrize("end", [-1, 1])
@pytest.mark.parametrize("size", SIZES)
def test_cells_and_variances_are_those_of_the_inverse(size, end, monkeypatch):
    monkeypatch.setattr(spectrum, "_NUMBERS", 1000)
    profile = profile_of(size, end)
    rows = profile.matrix().astype(float)
    covariance = np.linalg.inv(rows.T @ rows)
    generator = np.random.default_rng(size)
    answers = generator.normal(size=size)
    near = {"rtol": 1e-9, "atol": 1e-9 * np.abs(np.linalg.inv(rows)).max()}
    np.testing.assert_allclose(
        spectrum.cells_of(profile, answers), np.linalg.solve(rows, answers), **near
    )
    each = spectrum.coefficients(profile, answers[None])[0]
    np.testing.assert_allclose(each, np.linalg.solve(rows.T, answers), **near)
    below = np.tril(np.ones((size + 1, size)), -1)
    prefixes = below @ covariance @ below.T
    np.testing.assert_allclose(
        spectrum.prefix_variances(profile), np.diag(prefixes), rtol=1e-8, atol=0
    )
    edges = np.arange(size + 1)
    np.testing.assert_allclose(
        spectrum.prefix_covariance(profile, edges), prefixes, rtol=1e-8, atol=1e-20
    )
    own = np.diag(prefixes)
    between = own[:, None] + own - 2 * prefixes
    starts, stops = np.triu_indices(size + 1, 1)
    expected = between[starts, stops]
    some = generator.integers(0, len(starts), 20)
    found = spectrum.range_variances(profile, starts[some], stops[some])
    np.testing.assert_allclose(found, expected[some], rtol=1e-8)
    means = expected.mean(), own[1:].mean()
    np.testing.assert_allclose(spectrum.mean_variances(profile), means, rtol=1e-8)
