"""Windows by distance: next to the best possible question for ranges under Gaussian noise."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.question import AxisQuestion, Block, Weights, as_axis, cell_counts
from trueup.axis import Axis
from trueup.errors import InputError, shown

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from trueup._kernels.windows.profile import Profile

For = Literal["ranges", "prefixes"]

_ENDS = {"ranges": -1, "prefixes": 1}
MOST_CELLS = 1 << 24
_WRITTEN_OUT = 8_192  # cells: a matrix of half a gibibyte
_PAIRS = 256  # cells whose every pair is looked at


class WindowQuestion(AxisQuestion):
    """One window a cell, none of whose weights is negative."""

    @abstractmethod
    def longest_column(self, power: int) -> int:
        """The largest sum over the windows of a cell's weights to a power."""

    @abstractmethod
    def windows(self) -> Ints:
        """The weights of every cell, a row a window; for some thousand cells."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        return ((self.size, Fraction(1)),)

    def moved(self, weights: Weights, power: int, replacing: bool) -> Fraction:
        one = self.longest_column(power)
        if replacing and self.size > 1:
            # No weight is negative: two columns are at most as far apart as both are long.
            one = self._furthest[power - 1] if self.size <= _PAIRS else 2 * one
        return Fraction(weights[0] * one)

    @cached_property
    def _furthest(self) -> tuple[int, int]:
        """How far apart two columns are at most, or one and none: in L1, and squared in L2."""
        columns = self.windows().T
        sums, squares = self.longest_column(1), self.longest_column(2)
        for column in columns:
            apart = np.abs(columns - column)
            sums = max(sums, int(apart.sum(axis=1).max()))
            squares = max(squares, int((apart * apart).sum(axis=1).max()))
        return sums, squares

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array

        if self.size > _WRITTEN_OUT:
            raise InputError(
                f"Every window weighs every cell: the matrix of {self.size:,} cells is too large. "
                f"It is written out for up to {_WRITTEN_OUT:,}."
            )
        return csr_array(self.windows().astype(np.float64))


@dataclass(frozen=True, init=False, repr=False)
class WindowCounts(WindowQuestion):
    """For every cell a window over the whole axis, which weighs the others less the further away.

    One answer a cell, nothing more: the windows can be read back. Weights are whole numbers that
    fall as the root of the distance; every cell's weights are scaled so that a record costs the
    same in each. Under Gaussian noise, over 50 cells or more, no linear question answers all ranges
    more than 0.2 % better, or all prefixes more than 0.6 %, where `best_for` is "prefixes". Under
    Laplace noise hats are better.

    >>> question = WindowCounts(1000)
    >>> question.length, question.matrix().toarray()[499, 498:502].astype(int).tolist()
    (1000, [1362944, 4193280, 1362944, 958464])
    """

    axis: Axis
    best_for: For = "ranges"
    kinds = ("windows",)

    def __init__(self, axis: Axis | int, best_for: For = "ranges") -> None:
        axis = as_axis(axis)
        if best_for not in _ENDS:
            raise InputError(f'best_for must be "ranges" or "prefixes", got {shown(best_for)}.')
        if axis.size > MOST_CELLS:
            raise InputError(
                f"Windows are for up to {MOST_CELLS:,} cells; '{axis.name}' has {axis.size:,}. "
                f"Ask hats or a tree."
            )
        object.__setattr__(self, "axis", axis)
        object.__setattr__(self, "best_for", best_for)

    @property
    def profile(self) -> Profile:
        """The weights, by distance and by cell."""
        from trueup._kernels.windows.profile import profile_of

        return profile_of(self.size, _ENDS[self.best_for])

    @property
    def heaviest(self) -> int:
        # A window on the first cell may meet itself thrown back.
        thrown = 2 if self.best_for == "prefixes" else 1
        return int(self.profile.by_distance[0]) * thrown * int(self.profile.by_cell.max())

    def longest_column(self, power: int) -> int:
        return int(self.profile.sums.max() if power == 1 else self.profile.squares.max())

    def windows(self) -> Ints:
        return self.profile.matrix()

    def answers(self, counts: npt.ArrayLike) -> Ints:
        cells = cell_counts(counts, self.size)
        profile = self.profile
        return profile.windows(cells * profile.by_cell)  # modulo 2^64, as everywhere

    def labels(self) -> dict[str, Any]:
        """The cell that each window stands on."""
        cells = np.arange(self.size)
        return {"window on": cells, **self.axis.columns(cells, cells + 1)}
