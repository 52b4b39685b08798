"""Least squares on named counts: what several of them have in common agrees."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.tree.prefix import on_grid
from trueup.arrays import Floats
from trueup.ask import NamedCounts
from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES
from trueup.infer.display import Wish
from trueup.infer.model import Expected, Model
from trueup.intervaltree import IntervalTree
from trueup.law import QueryErrors
from trueup.measurement import Measurement
from trueup.release import NamedRelease

_MOST_QUERIES = 4_000


class NamedModel(Model[NamedCounts]):
    """The nearest answers to noisy ones that counts of cells can have.

    A plan offers none: what is named answers no other range.
    """

    asks = NamedCounts

    @cached_property
    def _solved(self) -> tuple[Floats, Floats, Floats]:
        """The matrix over cells that can be told apart, its pseudo-inverse and its range.

        Cells that enter the same queries cannot be told apart: one unknown stands for them all.
        """
        asked = self.question
        if asked.length > _MOST_QUERIES:
            raise InputError(
                f"Inference handles up to {_MOST_QUERIES:,} named queries, got {asked.length:,}. "
                f"Ask a tree over the axis instead."
            )
        matrix = asked.distinct().toarray()
        matrix = matrix[:, matrix.any(axis=0)]
        left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
        rank = np.count_nonzero(sizes > sizes[0] * 1e-10)
        basis = left[:, :rank]
        return matrix, right[:rank].T / sizes[:rank] @ basis.T, basis

    @cached_property
    def errors(self) -> QueryErrors:
        """The error of every combination of named counts."""
        _, _, basis = self._solved
        covariance = self.noise.variances[0] * (basis @ basis.T)
        return QueryErrors(self.question.names, covariance, self.noise.scales[0], self.noise.law)

    @property
    def methods(self) -> tuple[str, ...]:
        """One: the nearest to all noisy answers at once, which needs no name."""
        return ("", "exact")

    def release(self, measurement: Measurement, wish: Wish) -> NamedRelease:
        """The answers by name."""
        matrix, inverse, _ = self._solved
        values = inverse @ measurement.noisy
        # The unknowns are put on the grid and the answers added up from them, so that they agree.
        answers = matrix @ _with_room(values)
        facts = measurement.facts.made(LEAST_SQUARES)
        if not wish.shown:
            return NamedRelease(answers, self.errors, facts)
        if wish.nonnegative:
            from scipy.optimize import nnls

            values, _ = nnls(matrix, measurement.noisy.astype(np.float64))
        if wish.integers:
            from trueup.intervaltree.readable import whole_cells

            flat = IntervalTree.regular(len(values), (len(values),))
            cells: npt.NDArray[Any] = whole_cells(flat, values, wish.nonnegative)
            matrix = matrix.astype(np.int64)
        else:
            cells = _with_room(values)
        return NamedRelease(matrix @ cells, self.errors, facts.made(wish.words), answers)

    def expected(self) -> Expected:
        """Each named count."""
        return [
            (name, self.errors.noise_law(((name, 1.0),)).half_width(0.95))
            for name in self.question.names
        ]


def _with_room(values: Floats) -> Floats:
    """Values on a grid so coarse that sums of a thousand answers made of them are exact."""
    return on_grid(values, 1024 * float(np.abs(values).sum()))
