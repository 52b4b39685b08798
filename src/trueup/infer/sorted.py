"""S̄: isotonic regression of sorted counts; and the fit of those that were asked adaptively."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.ask import SortedCounts
from trueup.facts import LEAST_SQUARES, Facts
from trueup.infer.display import Wish
from trueup.infer.model import Expected, Model
from trueup.law import NoiseLaw, SumErrors
from trueup.measurement import Measurement
from trueup.release import SortedRelease


class SortedModel(Model[SortedCounts]):
    """Counts in rising order that are nearest to the noisy ones.

    A plan offers none: sorted counts answer no ranges.
    """

    asks = SortedCounts

    @property
    def errors(self) -> SumErrors:
        """The error of the sum of all answers: of single ranks see `SortedRelease.band`."""
        return SumErrors(self.question.length, self.noise.scales[0], self.noise.law)

    @property
    def methods(self) -> tuple[str, ...]:
        """One: clipping keeps the order, and needs no name."""
        return ("", "exact")

    @property
    def whole(self) -> bool:
        """Asked adaptively, they are."""
        return self.question.adaptive

    @property
    def graphical(self) -> bool:
        """Degrees are, where each record has two ends."""
        return self.question.ends == 2

    def raw(self, noisy: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
        """The noisy counts by rank; asked adaptively, answers are no ranks."""
        return None if self.question.adaptive else noisy

    def release(self, measurement: Measurement, wish: Wish) -> SortedRelease:
        """The counts in rising order, with the law of their noise."""
        facts = measurement.facts.made(LEAST_SQUARES)
        made = self._adaptive if self.question.adaptive else self._isotonic
        return made(measurement.noisy, facts, wish)

    def _isotonic(self, noisy: npt.NDArray[Any], facts: Facts, wish: Wish) -> SortedRelease:
        from trueup._kernels.sorted.isotonic import isotonic

        fit = isotonic(noisy)
        scale = self.noise.scales[0]
        if not wish.shown:
            return SortedRelease(fit, scale, facts)
        # Clipping and rounding keep the order, and bring no count further from a whole,
        # non-negative truth than half a step: what held of the fit holds of them.
        shown: npt.NDArray[Any] = fit
        if wish.graphical:
            shown = _graphical(fit)
        elif wish.nonnegative:
            shown = np.maximum(fit, 0.0)
        if wish.integers and not wish.graphical:
            shown = np.floor(shown + 0.5).astype(np.int64)
        return SortedRelease(shown, scale, facts.made(wish.words), fit)

    def _adaptive(self, noisy: npt.NDArray[Any], facts: Facts, wish: Wish) -> SortedRelease:
        from trueup._kernels.sorted.young_fit import fit, whole_numbers

        groups, scale = self.question.groups, self.noise.scales[0]
        transcript = self.question.transcript(noisy)
        width = float(self.noise.scale_to_choose_by)
        nearest = fit(transcript, groups, width)
        shown: npt.NDArray[Any] = fit(transcript, groups, width, likely=True)
        words = "likely counts"
        if wish.graphical:
            words, shown = wish.words, _graphical(shown)
        elif wish.integers:
            words, shown = "non-negative whole numbers", whole_numbers(shown)
        return SortedRelease(shown, scale, facts.made(words), nearest, transcript)

    def expected(self) -> Expected:
        """A noisy count by itself."""
        scale = np.array([float(self.noise.scales[0])])
        alone = NoiseLaw(np.ones(1), scale, np.ones(1), self.noise.law)
        return [("a count before inference", alone.half_width(0.95))]


def _graphical(rising: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The nearest degrees, in rising order, that some undirected graph has."""
    from trueup._kernels.sorted.graphical import nearest_graphical

    return nearest_graphical(rising[::-1].copy())[::-1].copy()
