"""The four parts of Theorem 4, checked with dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.ask import TreeCounts
from trueup.paper import theorem4
from trueup.paper.draws import Setting

SETTING = Setting(quick=True)


@pytest.mark.parametrize(("branching", "height"), [(2, 5), (2, 8), (4, 4)])
def test_ratio_without_the_ends_is_that_of_dense_least_squares(branching: int, height: int) -> None:
    A = TreeCounts(branching ** (height - 1), branching=branching).matrix().toarray()
    query = np.ones(A.shape[1])
    query[[0, -1]] = 0
    inferred = query @ np.linalg.inv(A.T @ A) @ query
    noisy = 2 * (branching - 1) * (height - 1) - branching
    ratio, promised = theorem4.all_but_the_ends(branching, height)
    assert ratio == pytest.approx(noisy / inferred)
    assert promised == pytest.approx(noisy / 3)
    assert ratio >= promised


def test_the_papers_example_is_at_least_nine_and_a_third() -> None:
    ratio, promised = theorem4.all_but_the_ends(2, 16)
    assert promised == pytest.approx(28 / 3)
    assert ratio > promised


def test_largest_error_is_that_of_dense_least_squares() -> None:
    A = TreeCounts(32, branching=2).matrix().toarray()
    starts, stops = theorem4.some_ranges(32, 10**6)
    assert len(starts) == 32 * 33 // 2
    cells = np.arange(32)
    ranges = ((cells >= starts[:, None]) & (cells < stops[:, None])).astype(float)
    variances = np.einsum("ij,jk,ik->i", ranges, np.linalg.inv(A.T @ A), ranges) * 2 * 6**2
    assert theorem4.largest_error(6)[0] == pytest.approx(variances.max())


def test_claims_hold() -> None:
    claims = theorem4.run(SETTING).claims
    assert len(claims) == 4
    assert all(claim.held for claim in claims)
