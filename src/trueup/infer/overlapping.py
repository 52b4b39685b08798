"""What models of overlapping windows share: no node of a tree has a noisy count of its own."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.ask.question import even_radices
from trueup.ask.windows import WindowQuestion
from trueup.coefficient_classes import law_of
from trueup.infer.model import AxisModel, Line
from trueup.intervaltree import IntervalTree
from trueup.law import Combination, NoiseLaw, RangeErrors, cell_values
from trueup.measurement import Asked
from trueup.noise import Noise, noise_variance

Windows = TypeVar("Windows", bound=WindowQuestion)


@dataclass(frozen=True)
class InvertedErrors(RangeErrors, Generic[Windows]):
    """The error of ranges read back from one window a cell; `scale` is that of the noise in each.

    Laws and variances take time in the number of cells.
    """

    question: Windows
    scale: Fraction
    law: str = "discrete"

    @classmethod
    def of(cls, noise: Noise) -> Self:
        """Those of windows that were measured with this noise."""
        return cls(cast(Windows, noise.question), noise.scales[0], noise.law)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.question.size

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many answers of each noise scale."""
        return (self.size,)

    @property
    def work(self) -> int:  # type: ignore[override]
        """What one law takes."""
        return self.size

    @property
    def variance_work(self) -> int:  # type: ignore[override]
        """What one variance takes."""
        return self.size

    @cached_property
    def unit(self) -> float:
        """The variance of the noise in an answer."""
        return noise_variance(self.scale, self.law)

    @abstractmethod
    def coefficients(self, values: Floats) -> Floats:
        """What each noisy answer counts for in the sums of cells times these values, by line."""

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of ranges."""
        each = self.coefficients(cell_values(combination, self.size)[None])
        return law_of([each[0]], [self.scale], self.law)


class OverlappingModel(AxisModel[Asked]):
    """The nearest counts to noisy windows that overlap; its errors fit lines, too."""

    @property
    def tree(self) -> IntervalTree:
        """A narrow one, since neighbouring stretches share the noise of windows over both."""
        size = self.question.size
        return IntervalTree.regular(size, even_radices(size, 4))

    @property
    def line(self) -> Line:
        """The same windows, line by line."""
        return cast(Line, self.errors)

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The cells that the windows stand for."""
        return self.line.fit_lines(np.asarray(noisy, np.float64))
