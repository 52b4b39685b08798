"""A question of a new type, whole, in one file: each cell, and each cell with the next but one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, eye_array, vstack

from trueup.ask import AxisQuestion, cell_counts
from trueup.ask.question import Block
from trueup.axis import Axis
from trueup.infer import Candidate, register
from trueup.infer.least_squares import LeastSquares
from trueup.workload import Workload


@dataclass(frozen=True)
class PairCounts(AxisQuestion):
    """The count of every cell, and of every cell together with the next but one."""

    axis: Axis
    kinds = ("pairs",)

    @property
    def _pairs(self) -> int:
        return max(self.size - 2, 0)

    @property
    def blocks(self) -> tuple[Block, ...]:
        pairs = ((self._pairs, Fraction(1, 4)),) if self._pairs else ()
        return ((self.size, Fraction(1, 2)), *pairs)

    def answers(self, counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
        cells = cell_counts(counts, self.size)
        return np.concatenate([cells, cells[: self._pairs] + cells[self.size - self._pairs :]])

    def labels(self) -> dict[str, Any]:
        cells = np.concatenate([np.arange(self.size), np.arange(self._pairs)])
        kind = np.repeat(["cell", "pair"], [self.size, self._pairs])
        return {"asked": kind, **self.axis.columns(cells, cells + 1)}

    def matrix(self) -> csr_array[Any]:
        cells = eye_array(self.size, format="csr")
        pairs = cells[: self._pairs] + cells[self.size - self._pairs :]
        return csr_array(vstack([cells, pairs]))


class PairModel(LeastSquares):
    """The nearest counts to the noisy cells and pairs."""

    asks = PairCounts

    @classmethod
    def candidates_over(cls, axis: Axis, workload: Workload, nonnegative: bool) -> list[Candidate]:
        if axis.size > 4_096:
            return []
        return [Candidate("cells and pairs", lambda: PairCounts(axis), word="pairs")]


register(PairModel)
