"""The histogram protocol that plotting libraries share (UHI), so that they can draw a release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.axis import Axis


@dataclass(frozen=True)
class Traits:
    """What a plot must know of an axis: none of ours goes round; labels are discrete."""

    circular: bool
    discrete: bool


@dataclass(frozen=True)
class PlottableAxis:
    """An axis as UHI describes one: a sequence of intervals, or of labels."""

    axis: Axis

    @property
    def traits(self) -> Traits:
        """Whether it goes round, and whether its cells are labels."""
        return Traits(circular=False, discrete=self.axis.traits.scale is None)

    def __len__(self) -> int:
        return self.axis.size

    def __getitem__(self, cell: int) -> Any:
        if not 0 <= cell < self.axis.size:
            raise IndexError(cell)
        scale = self.axis.traits.scale
        if scale is None:
            return str(self.axis.edge(cell))
        low, high = self.axis.positions(np.array([cell, cell + 1])).tolist()
        return (low / 1e6, high / 1e6) if scale == "time" else (low, high)

    def __iter__(self) -> Iterator[Any]:
        return (self[cell] for cell in range(len(self)))
