"""Whether noise fits its law: samplers of numpy and scipy pass, and others do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import dlaplace

from trueup.audit.fit import _CHUNK, gaussian_fit, noise_fit
from trueup.errors import InputError


def laplace(scale: float, seed: int = 1) -> Callable[[int], np.ndarray]:
    rng = np.random.default_rng(seed)
    p = -np.expm1(-1 / scale)
    return lambda size: rng.geometric(p, size) - rng.geometric(p, size)


def gauss(variance: float, seed: int = 2) -> Callable[[int], np.ndarray]:
    """By inverting the sums of exp(−x²/2σ²)."""
    rng = np.random.default_rng(seed)
    reach = int(12 * variance**0.5) + 2
    values = np.arange(-reach, reach + 1)
    chances = np.exp(-(values**2) / (2 * variance))
    return lambda size: rng.choice(values, size, p=chances / chances.sum())


@pytest.mark.parametrize("scale", [0.5, 3, 60])
def test_laplace_noise_of_numpy_and_scipy_fits_its_scale_and_no_other(scale: float) -> None:
    assert noise_fit(laplace(scale), scale, 100_000) > 1e-6
    by_scipy = dlaplace(1 / scale)
    assert noise_fit(lambda size: by_scipy.rvs(size, random_state=4), scale, 50_000) > 1e-6
    assert noise_fit(laplace(0.9 * scale), scale, 100_000) < 1e-9
    assert noise_fit(gauss(2 * scale**2), scale, 100_000) < 1e-9


@pytest.mark.parametrize("variance", [0.5, 9, 400])
def test_gaussian_noise_by_inversion_fits_its_variance_and_no_other(variance: float) -> None:
    assert gaussian_fit(gauss(variance), variance, 100_000) > 1e-6
    assert gaussian_fit(gauss(0.9 * variance), variance, 100_000) < 1e-9
    assert gaussian_fit(laplace((variance / 2) ** 0.5), variance, 100_000) < 1e-9


@pytest.mark.parametrize("fit", [noise_fit, gaussian_fit])
def test_as_many_samples_are_drawn_as_are_asked_for(fit: Callable[..., float]) -> None:
    asked = []

    def sampler(size: int) -> np.ndarray:
        asked.append(size)
        return np.zeros(size, np.int64)

    assert fit(sampler, 3, 2 * _CHUNK + 5) < 1e-9
    assert asked == [_CHUNK, _CHUNK, 5]
    for wrong in (0, -1, "x", None):
        with pytest.raises(InputError):
            fit(sampler, wrong, 10)
