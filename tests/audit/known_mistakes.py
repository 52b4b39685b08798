"""Mistakes that others made, rebuilt as small models; and the same done right.

Each mechanism takes an input and a number of runs, and gives a row of numbers a run. Noise on whole
answers is rounded, which costs nothing: left as floats, its last bits would tell.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Mechanism = Callable[[object, int], np.ndarray]


def _geometric(rng: np.random.Generator, scale: float, shape: tuple[int, ...]) -> np.ndarray:
    """Discrete Laplace noise."""
    p = -np.expm1(-1 / scale)
    return rng.geometric(p, shape) - rng.geometric(p, shape)


def tree(seed: int, rho: float = 0.5, right: bool = False, height: int = 5) -> Mechanism:
    """Gaussian noise on every node of a binary tree, for an L2 sensitivity of 1.

    A record is in one node of each level, so that it is √height.
    """
    rng = np.random.default_rng(seed)
    sigma = np.sqrt((height if right else 1) / (2 * rho))

    def run(counts: object, times: int) -> np.ndarray:
        level, nodes = np.asarray(counts, float), []
        for _ in range(height):
            nodes.append(level)
            level = level.reshape(-1, 2).sum(axis=1) if len(level) > 1 else level
        truth = np.concatenate(nodes)
        return truth + np.rint(rng.normal(0, sigma, (times, len(truth))))

    return run


def noisy_max(seed: int, epsilon: float = 1.0, right: bool = False) -> Mechanism:
    """The place of the largest noisy count. One record may raise many counts: noise of scale 2/ε.

    The model spends four times its budget: its noise has scale 1/(2ε).
    """
    rng = np.random.default_rng(seed)
    scale = 2 / epsilon if right else 1 / (2 * epsilon)

    def run(counts: object, times: int) -> np.ndarray:
        noisy = np.asarray(counts, float) + rng.laplace(0, scale, (times, len(counts)))  # type: ignore[arg-type]
        return noisy.argmax(axis=1).astype(float)[:, None]

    return run


def threshold(
    seed: int, epsilon: float = 1.0, delta: float = 1e-4, right: bool = False
) -> Mechanism:
    """A group is told only if its noisy count passes a threshold that hides groups of one.

    1 + ln(1/(2δ))/ε hides them with chance 1 − δ. The model takes δ for a far larger one.
    """
    rng = np.random.default_rng(seed)
    hidden = 1 + np.log(1 / (2 * (delta if right else 0.05))) / epsilon

    def run(counts: object, times: int) -> np.ndarray:
        truth = np.asarray(counts, float)
        noisy = truth + np.rint(rng.laplace(0, 1 / epsilon, (times, len(truth))))
        return np.where((truth > 0) & (noisy > hidden), noisy, 0.0)

    return run


def biased_sampler(seed: int, scale: float = 4.0, right: bool = False) -> Mechanism:
    """Noise whose sign is drawn apart from its size: zero comes up twice as often as it should."""
    rng = np.random.default_rng(seed)

    def run(count: object, times: int) -> np.ndarray:
        if right:
            noise = _geometric(rng, scale, (times, 1))
        else:
            size = rng.geometric(-np.expm1(-1 / scale), (times, 1)) - 1
            noise = size * rng.choice([-1, 1], (times, 1))
        return (np.asarray(count) + noise).astype(float)

    return run


def float_laplace(seed: int, epsilon: float = 1.0, right: bool = False) -> Mechanism:
    """Laplace noise added in floating point: the last bits tell what it was added to."""
    rng = np.random.default_rng(seed)

    def run(count: object, times: int) -> np.ndarray:
        if right:
            return np.asarray(count) + _geometric(rng, 1 / epsilon, (times, 1)).astype(float)
        u = rng.random((times, 1)) - 0.5
        return np.asarray(count) - np.sign(u) * np.log(1 - 2 * np.abs(u)) / epsilon

    return run
