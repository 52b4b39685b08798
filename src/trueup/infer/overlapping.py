"""What models of overlapping windows share: no node of a tree has a noisy count of its own."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from trueup.ask.question import even_radices
from trueup.infer.model import AxisModel, Line
from trueup.intervaltree import IntervalTree

Floats = npt.NDArray[np.float64]


class OverlappingModel(AxisModel):
    """The nearest counts to noisy windows that overlap; its errors fit lines, too."""

    @property
    def methods(self) -> tuple[str, ...]:
        """No node has a noisy count of its own."""
        return ("top-down",)

    @property
    def tree(self) -> IntervalTree:
        """A narrow one, since neighbouring stretches share the noise of windows over both."""
        size = self.noise.question.size
        return IntervalTree.regular(size, even_radices(size, 4))

    @property
    def line(self) -> Line:
        """The same windows, line by line."""
        return cast(Line, self.errors)

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The cells that the windows stand for."""
        return self.line.fit_lines(np.asarray(noisy, np.float64))
