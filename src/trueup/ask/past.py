"""Windows over the past: one answer a cell, known as soon as the cell is; for streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.question import as_axis, cell_counts
from trueup.ask.windows import MOST_CELLS, WindowQuestion
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.errors import InputError

if TYPE_CHECKING:
    from trueup._kernels.windows.past import PastBlock


@dataclass(frozen=True, init=False, repr=False)
class PastCounts(WindowQuestion):
    """For every cell a window over the cells up to it, which weighs the earlier ones less.

    What a stream asks under Gaussian noise. Each answer can be given as soon as its cell is known,
    and all totals can be read back. Weights are whole numbers; every cell's are scaled so that a
    record costs the same in each. Of 4,096 cells, no linear question answers all totals more than
    2.5 % better, though it may know all cells beforehand.

    Cells come in blocks of their own: the first is planned for `first` cells, by default for all,
    the next for 32 times as many, and none for more than `most`.

    >>> question = PastCounts(4)
    >>> question.matrix().toarray().astype(int)[:, 0].tolist()
    [13746176, 6873088, 5154816, 4295680]
    """

    axis: Axis
    first: int
    most: int
    kinds = ("past",)

    def __init__(self, axis: Axis | int, first: int | None = None, most: int | None = None) -> None:
        from trueup._kernels.windows.past import LONGEST_BLOCK

        axis = as_axis(axis)
        if axis.size > MOST_CELLS:
            raise InputError(
                f"Windows over the past are for up to {MOST_CELLS:,} cells; '{axis.name}' has "
                f"{axis.size:,}."
            )
        begin = min(axis.size, LONGEST_BLOCK) if first is None else whole_number(first, "first")
        longest = LONGEST_BLOCK if most is None else whole_number(most, "most")
        for name, length in (("first", begin), ("most", longest)):
            if not 1 <= length <= LONGEST_BLOCK:
                raise InputError(
                    f"{name} must be a number of cells from 1 to {LONGEST_BLOCK:,}, got {length}."
                )
        object.__setattr__(self, "axis", axis)
        object.__setattr__(self, "first", begin)
        object.__setattr__(self, "most", longest)

    def parts(self) -> Iterator[tuple[slice, PastBlock]]:
        """The cells of each block, and its weights."""
        from trueup._kernels.windows.past import block_starts, past_block

        for begin, length in block_starts(self.size, self.first, self.most):
            yield slice(begin, min(begin + length, self.size)), past_block(length)

    @property
    def heaviest(self) -> int:
        return max(
            int(block.by_age[0] * block.by_cell[: cells.stop - cells.start].max())
            for cells, block in self.parts()
        )

    def longest_column(self, power: int) -> int:
        found = 0
        for cells, block in self.parts():
            n = cells.stop - cells.start
            columns = np.cumsum(block.by_age[:n] ** power)[::-1] * block.by_cell[:n] ** power
            found = max(found, int(columns.max()))
        return found

    def answers(self, counts: npt.ArrayLike) -> Ints:
        given = cell_counts(counts, self.size)
        return np.concatenate([block.answers(given[cells]) for cells, block in self.parts()])

    def labels(self) -> dict[str, Any]:
        """The cell that each window ends with."""
        cells = np.arange(self.size)
        return {"window up to": cells, **self.axis.columns(cells, cells + 1)}

    def windows(self) -> Ints:
        found = np.zeros((self.size, self.size), np.int64)
        for cells, block in self.parts():
            ages = np.arange(cells.stop - cells.start)
            apart = ages[:, None] - ages
            weights = np.where(apart >= 0, block.by_age[np.maximum(apart, 0)], 0)
            found[cells, cells] = weights * block.by_cell[: len(ages)]
        return found
