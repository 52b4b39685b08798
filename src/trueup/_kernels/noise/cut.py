"""Thresholds for keys that nobody declared: from which count on a key may be shown, given a δ.

Only keys that somebody has get noise, so a key of one unit alone betrays it when it is shown: that
must happen with a chance of at most δ. With Laplace noise the rule that shows most is known
(Desfontaines, Voss, Gipson, Mandayam 2022): noise on −K … K, P(X = x) ∝ a^|x|, and keys shown above
K, where K is the least with P(X = K) ≤ δ. With Gaussian noise keys are shown from τ on, the least
with P(X ≥ τ − 1) ≤ δ. Both in ball arithmetic: no float takes part.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from trueup._kernels.noise.gauss_tables import tail
from trueup._kernels.noise.inversion import exp, precisions, working
from trueup.arrays import Ints
from trueup.errors import NoiseError


def cut_for(delta: Fraction, scale: Fraction) -> int:
    """The least K ≥ 1 with (1 − a)a^K/(1 + a − 2a^(K+1)) ≤ δ: P(X = K) of noise cut to ±K.

    >>> [cut_for(Fraction(1, 10**digits), Fraction(1)) for digits in (5, 8)]
    [11, 18]
    """

    def last(cut: int) -> Any:
        a = exp(-1 / scale)
        return (1 - a) * exp(-cut / scale) / (1 + a - 2 * exp(-(cut + 1) / scale))

    return _least(last, delta)


def gaussian_threshold(delta: Fraction, variance: Fraction) -> int:
    """The least τ ≥ 2 with P(X ≥ τ − 1) ≤ δ, for discrete Gaussian noise of this variance."""
    return 1 + _least(lambda first: tail(first, variance) / (1 + 2 * tail(1, variance)), delta)


def _least(falling: Callable[[int], Any], delta: Fraction) -> int:
    """The least whole number from 1 on at which a falling function is at most δ."""
    if _at_most(falling, 1, delta):
        return 1
    low, high = 1, 2
    while not _at_most(falling, high, delta):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _at_most(falling, middle, delta) else (middle, high)
    return high


def _at_most(falling: Callable[[int], Any], place: int, delta: Fraction) -> bool:
    for precision in precisions(128):
        with working(precision):
            found = falling(place)
            bound = flint.arb(flint.fmpq(delta.numerator, delta.denominator))
            if found <= bound:
                return True
            if found > bound:
                return False
    raise NoiseError("A threshold could not be made certain; nothing was drawn.")


def cut_noise(size: int, scale: Fraction, cut: int, draw: Callable[[int, Fraction], Ints]) -> Ints:
    """Discrete Laplace noise given that it lies within ±cut: drawn again where it does not."""
    noise = draw(size, scale)
    beyond = np.flatnonzero(np.abs(noise) > cut)
    while beyond.size:
        again = draw(beyond.size, scale)
        noise[beyond] = again
        beyond = beyond[np.abs(again) > cut]
    return noise
