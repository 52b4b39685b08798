"""The histogram protocol that plotting libraries share (UHI), so that they can draw a release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trueup.axis import Axis
from trueup.axis.dates import DateCells
from trueup.axis.numbers import EdgeCells, IntegerCells, RegularCells


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
        return Traits(circular=False, discrete=not self._has_intervals)

    @property
    def _has_intervals(self) -> bool:
        return isinstance(self.axis.cells, (IntegerCells, RegularCells, EdgeCells, DateCells))

    def __len__(self) -> int:
        return self.axis.size

    def __getitem__(self, cell: int) -> Any:
        if not 0 <= cell < self.axis.size:
            raise IndexError(cell)
        cells = self.axis.cells
        if isinstance(cells, DateCells):
            edges = cells.edges / 1e6
            return float(edges[cell]), float(edges[cell + 1])
        if self._has_intervals:
            low, high = self.axis.interval(cell)
            return float(low), float(high)
        return str(cells.edge(cell))

    def __iter__(self) -> Iterator[Any]:
        return (self[cell] for cell in range(len(self)))
