"""The law of a noisy count that is shown because it reached a threshold.

A count c with noise X is shown where y = c + X ≥ τ. Given that, y has the law of c + X cut off
below τ; the larger c, the larger y. An interval is found by inverting this law, so that it holds
the true count as often as it says among those keys that are shown. Nothing here is decided by
floats but what is told of numbers that are public already.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints

_FAR = 60.0  # scales beyond a noisy count where the true count never is
_FAR_GAUSS = 38.0  # the same in standard deviations: e^(−38²/2) is less than any float
_TABLE = 1 << 17  # standard deviations up to which the law is added up point by point


@dataclass(frozen=True)
class LaplaceTails:
    """Discrete Laplace noise of a scale; with `cut`, given that it lies within ±cut."""

    scale: float
    cut: int | None = None

    @property
    def far(self) -> int:
        """Beyond which X never is, but for a chance that no float can tell from 0."""
        return math.ceil(_FAR * self.scale) if self.cut is None else self.cut + 1

    @cached_property
    def std_error(self) -> float:
        """The standard deviation."""
        if self.cut is None:
            return math.sqrt(2 * math.exp(-1 / self.scale)) / -math.expm1(-1 / self.scale)
        x = np.arange(-self.cut, self.cut + 1, dtype=np.float64)
        return float(np.sqrt(np.average(x**2, weights=np.exp(-np.abs(x) / self.scale))))

    @cached_property
    def _inside(self) -> float:
        """P(|X| ≤ cut) of the noise before it is cut."""
        return 1.0 if self.cut is None else 1 - 2 * float(self._survival(self.cut + 1))

    def _survival(self, least: npt.ArrayLike) -> Floats:
        t = np.asarray(least, np.float64)
        up = np.exp(-np.maximum(t, 0) / self.scale) / (1 + math.exp(-1 / self.scale))
        down = np.exp(-np.maximum(1 - t, 0) / self.scale) / (1 + math.exp(-1 / self.scale))
        return np.where(t >= 1, up, 1 - down)

    def survival(self, least: npt.ArrayLike) -> Floats:
        """P(X ≥ least)."""
        if self.cut is None:
            return self._survival(least)
        return self.within(least, np.full(np.shape(least), self.cut))

    def within(self, least: npt.ArrayLike, most: npt.ArrayLike) -> Floats:
        """P(least ≤ X ≤ most), without cancellation where both are far out on one side."""
        low, high = np.asarray(least, np.float64), np.asarray(most, np.float64)
        if self.cut is not None:
            low, high = np.maximum(low, -self.cut), np.minimum(high, self.cut)
        flipped = high < 0
        low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
        one = 1 + math.exp(-1 / self.scale)
        right = np.exp(-np.maximum(low, 0) / self.scale) * -np.expm1(
            -np.maximum(high - low + 1, 0) / self.scale
        )
        middle = 1 - self._survival(1 - low) - self._survival(high + 1)
        found = np.where(low >= 0, right / one, np.maximum(middle, 0))
        return np.where(high >= low, found / self._inside, 0.0)


@dataclass(frozen=True)
class GaussTails:
    """Discrete Gaussian noise of a variance parameter."""

    variance: float

    @property
    def far(self) -> int:
        """As of Laplace noise."""
        return math.ceil(_FAR_GAUSS * math.sqrt(self.variance)) + 1

    @cached_property
    def _sums(self) -> Floats:
        """P(X ≥ t) for t from 0 to `far`, added up from the far end."""
        x = np.arange(self.far + 1, dtype=np.float64)
        weights = np.exp(-(x**2) / (2 * self.variance))
        return np.cumsum(weights[::-1])[::-1] / (2 * weights.sum() - 1)

    @cached_property
    def std_error(self) -> float:
        """The standard deviation."""
        if self.variance > 100:
            return math.sqrt(self.variance)
        x = np.arange(-self.far, self.far + 1, dtype=np.float64)
        return float(np.sqrt(np.average(x**2, weights=np.exp(-(x**2) / (2 * self.variance)))))

    def _upper(self, least: Floats) -> Floats:
        """P(X ≥ least) for least ≥ 0."""
        if self.variance > float(_TABLE) ** 2:
            from scipy.special import ndtr

            return np.asarray(ndtr((0.5 - least) / math.sqrt(self.variance)))
        places = np.minimum(least, self.far).astype(np.int64)
        return np.where(least > self.far, 0.0, self._sums[places])

    def survival(self, least: npt.ArrayLike) -> Floats:
        """P(X ≥ least)."""
        t = np.asarray(least, np.float64)
        up = self._upper(np.maximum(t, 0))
        return np.where(t >= 1, up, 1 - self._upper(np.maximum(1 - t, 0)))

    def within(self, least: npt.ArrayLike, most: npt.ArrayLike) -> Floats:
        """P(least ≤ X ≤ most)."""
        low, high = np.asarray(least, np.float64), np.asarray(most, np.float64)
        flipped = high < 0
        low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
        right = self._upper(np.maximum(low, 0)) - self._upper(np.maximum(high + 1, 0))
        middle = 1 - self._upper(np.maximum(1 - low, 0)) - self._upper(np.maximum(high + 1, 0))
        return np.where(high >= low, np.maximum(np.where(low >= 1, right, middle), 0), 0.0)


@dataclass(frozen=True)
class ShownLaw:
    """Noise, and counts shown from a threshold on.

    >>> law = ShownLaw(LaplaceTails(1.0), 45)
    >>> [ends.tolist() for ends in law.intervals(np.array([45, 47, 60]), 0.95)]
    [[0, 0, 57], [47, 50, 63]]
    """

    noise: LaplaceTails | GaussTails
    threshold: int

    def chance(self, count: int) -> float:
        """P(a count is shown)."""
        return float(self.noise.survival(self.threshold - count))

    def surely_shown(self, level: float) -> int:
        """The least count that is shown with at least this probability."""
        low, high = 0, self.threshold + self.noise.far
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.chance(middle) >= level else (middle, high)
        return high

    @property
    def std_error(self) -> float:
        """The standard deviation of the noise itself, whether it is shown or not."""
        return self.noise.std_error

    def intervals(self, shown: npt.ArrayLike, level: float) -> tuple[Ints, Ints]:
        """The least and the greatest true count that go with each noisy count shown.

        Conditional on being shown: of all keys with one true count that are shown, at least this
        part has it in its interval. The least may be 0: nobody may have the key.
        """
        shown_counts = np.asarray(shown, np.int64)
        each, places = np.unique(shown_counts, return_inverse=True)
        noise, miss = self.noise, (1 - level) / 2
        # P(Y ≥ y | shown) grows with the true count: the least at which it is above `miss`.
        low = np.zeros(len(each), np.int64) - 1  # at `low` it is not, at `high` it is
        high = each.copy()
        while (high - low > 1).any():
            middle = (low + high) // 2
            enough = noise.survival(each - middle) > miss * noise.survival(self.threshold - middle)
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        least = np.maximum(high, 0)
        # P(Y ≤ y | shown) falls with the true count: the greatest at which it is above `miss`.
        low, high = each - 1, each + 2 * noise.far
        while (high - low > 1).any():
            middle = (low + high) // 2
            below = noise.within(self.threshold - middle, each - middle)
            enough = below > miss * noise.survival(self.threshold - middle)
            low, high = np.where(enough, middle, low), np.where(enough, high, middle)
        return least[places], np.maximum(low, least)[places]
