"""Many half-widths at once, compiled, against one after another."""

from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.law.laplace_rows import half_widths
from trueup._kernels.law.weighted_laplace import half_width


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999, 1 - 1e-8, 1 - 1e-12])
def test_many_sums_at_once_are_the_same_as_one_by_one(level: float) -> None:
    generator = np.random.default_rng(0)
    c, b = generator.uniform(0, 1, (60, 20)) ** 3, np.exp(generator.normal(0.5, 1.5, (60, 20)))
    m = generator.integers(0, 40, (60, 20)).astype(float)
    used = generator.integers(0, 21, 60)
    c[0], m[1], c[2] = 1, 0, c[2].round(1)  # on a lattice; without noise; on another lattice
    c[3, 5:], b[4] = 1e-15, 0.01  # what rounding leaves; no noise but once in e^100
    b[5], c[6, 1:] = 1e9, 1e-3
    together = half_widths(c, b, m, used, level)
    alone = [
        half_width(c[row, :end], b[row, :end], m[row, :end], level)
        for row, end in enumerate(used.tolist())
    ]
    np.testing.assert_allclose(together, alone, rtol=1e-6)
    assert (together[used > 0] > 0).sum() > 40


def test_lattices_are_answered_point_by_point() -> None:
    # P(|X| ≤ k) = 1 − 2p^(k + 1)/(1 + p) for one noise.
    p = np.exp(-1 / np.array([0.2, 1.0, 7.0, 30.0]))
    exact = np.ceil(np.log(0.05 * (1 + p) / 2) / np.log(p) - 1)
    ones = np.ones((4, 1))
    found = half_widths(ones, -1 / np.log(p)[:, None], ones, np.ones(4, np.int64), 0.95)
    assert found.tolist() == np.maximum(exact, 0).tolist()
