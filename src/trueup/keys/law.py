"""The law of a noisy count that is shown because it reached a threshold.

A count c with noise X is shown where y = c + X ≥ τ. Given that, y has the law of c + X cut off
below τ; the larger c, the larger y. An interval is found by inverting this law, so that it holds
the true count as often as it says among those keys that are shown. Nothing here is decided by
floats but what is told of numbers that are public already.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_FAR = 60.0  # scales beyond a noisy count where the true count never is


@dataclass(frozen=True)
class ShownLaw:
    """Discrete Laplace noise of scale b, and counts shown from a threshold on.

    >>> law = ShownLaw(1.0, 45)
    >>> [ends.tolist() for ends in law.intervals(np.array([45, 47, 60]), 0.95)]
    [[0, 0, 57], [47, 50, 63]]
    """

    scale: float
    threshold: int

    def survival(self, least: npt.ArrayLike) -> Floats:
        """P(X ≥ least), for whole numbers."""
        t = np.asarray(least, np.float64)
        up = np.exp(-np.maximum(t, 0) / self.scale) / (1 + math.exp(-1 / self.scale))
        down = np.exp(-np.maximum(1 - t, 0) / self.scale) / (1 + math.exp(-1 / self.scale))
        return np.where(t >= 1, up, 1 - down)

    def within(self, least: npt.ArrayLike, most: npt.ArrayLike) -> Floats:
        """P(least ≤ X ≤ most), without cancellation where both are far out on one side."""
        low, high = np.asarray(least, np.float64), np.asarray(most, np.float64)
        flipped = high < 0
        low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
        one = 1 + math.exp(-1 / self.scale)
        right = np.exp(-np.maximum(low, 0) / self.scale) * -np.expm1(
            -np.maximum(high - low + 1, 0) / self.scale
        )
        middle = 1 - self.survival(1 - low) - self.survival(high + 1)
        return np.where(low >= 0, right / one, np.maximum(middle, 0))

    def log_chance(self, count: int) -> float:
        """ln P(a count is shown)."""
        t = self.threshold - count
        if t >= 1:
            return -t / self.scale - math.log1p(math.exp(-1 / self.scale))
        return math.log1p(-math.exp((t - 1) / self.scale) / (1 + math.exp(-1 / self.scale)))

    def surely_shown(self, level: float) -> int:
        """The least count that is shown with at least this probability."""
        low, high = 0, self.threshold + math.ceil(_FAR * self.scale)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if self.log_chance(middle) >= math.log(level) else (middle, high)
            )
        return high

    @property
    def std_error(self) -> float:
        """The standard deviation of the noise itself, whether it is shown or not."""
        return math.sqrt(2 * math.exp(-1 / self.scale)) / -math.expm1(-1 / self.scale)

    def intervals(self, shown: npt.ArrayLike, level: float) -> tuple[Ints, Ints]:
        """The least and the greatest true count that go with each noisy count shown.

        Conditional on being shown: of all keys with one true count that are shown, at least this
        part has it in its interval. The least may be 0: nobody may have the key.
        """
        shown_counts = np.asarray(shown, np.int64)
        each, places = np.unique(shown_counts, return_inverse=True)
        far = math.ceil(_FAR * self.scale)
        miss = (1 - level) / 2
        # P(Y ≥ y | shown) grows with the true count: the least at which it is above `miss`.
        low = np.zeros(len(each), np.int64) - 1  # at `low` it is not, at `high` it is
        high = each.copy()
        while (high - low > 1).any():
            middle = (low + high) // 2
            enough = self.survival(each - middle) > miss * self.survival(self.threshold - middle)
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        least = np.maximum(high, 0)
        # P(Y ≤ y | shown) falls with the true count: the greatest at which it is above `miss`.
        low, high = each - 1, each + far + math.ceil(math.log(2 / miss) * self.scale)
        while (high - low > 1).any():
            middle = (low + high) // 2
            below = self.within(self.threshold - middle, each - middle)
            enough = below > miss * self.survival(self.threshold - middle)
            low, high = np.where(enough, middle, low), np.where(enough, high, middle)
        return least[places], np.maximum(low, least)[places]
