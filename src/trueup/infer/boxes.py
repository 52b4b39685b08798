"""Least squares on a lattice of boxes: quadtrees, products of levels, margins of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.ask import BoxCounts
from trueup.axis import Axis
from trueup.infer.box_search import best_boxes, mean_energies, quadtree
from trueup.infer.lattice import LatticeErrors
from trueup.infer.model import FOR_NONNEGATIVE, Candidate, TableModel
from trueup.intervaltree import IntervalTree
from trueup.workload import Workload

_SAMPLED = 48  # ranges of an axis: for what whole noise does to the figure of noise on the line


class BoxModel(TableModel[BoxCounts]):
    """The nearest counts to noisy counts of boxes."""

    asks = BoxCounts

    @cached_property
    def errors(self) -> LatticeErrors:
        """The error of every combination of boxes."""
        asked = self.question
        return LatticeErrors(
            asked.widths, asked.levels, self.noise.scales, self.noise.law, asked.centred
        )

    @property
    def methods(self) -> tuple[str, ...]:
        """Where no cell was asked, none can be kept."""
        return ("top-down",) if self.margins else ("large-first", "top-down")

    @property
    def trees(self) -> list[IntervalTree]:
        """A tree over each axis."""
        return self.question.shapes

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The least-squares cells, the smallest where some are not determined."""
        return self.errors.fit(self.question.split(noisy))

    def fit_nonnegative(self, noisy: npt.NDArray[Any]) -> Floats:
        """The nearest table to the margins that has no negative count."""
        return self.errors.nonnegative(self.question.split(noisy))

    def mean_over_boxes(self, workloads: Sequence[Workload]) -> tuple[float, float]:
        """The mean from the levels' energies; what whole noise does to it as of some boxes."""
        asked = self.question
        scales = tuple(1 / weight for _, weight in asked.blocks)
        line = replace(self.errors, scales=scales, law="continuous")
        one = line.mean_variance(mean_energies(line, asked.axes, workloads))
        continuous = one * self.noise.variance_on_the_line / 2
        spans = [w.sample(axis, _SAMPLED) for axis, w in zip(asked.axes, workloads, strict=True)]
        low, high = (np.stack([span[end] for span in spans], axis=1) for end in (0, 1))
        means = [
            float(replace(self.errors, law=law).box_variances(low, high).mean())
            for law in self.noise.laws
        ]
        return continuous * means[0] / means[1], continuous

    @classmethod
    def candidates(
        cls, axes: Sequence[Axis], workloads: Sequence[Workload], nonnegative: bool
    ) -> list[Candidate]:
        """Boxes in boxes, which also suit counts shown non-negative, and the best lattice."""
        if len(axes) == 1:
            return []

        def lattice() -> BoxCounts | None:
            found = best_boxes(axes, workloads)
            return None if found is None or len(found.levels) == 1 else found

        found = [Candidate("quadtree", lambda: quadtree(axes), 50)]
        if not any(axis.traits.labelled for axis in axes):
            found.append(Candidate("lattice of boxes", lattice, 51))
        if nonnegative and quadtree(axes) is not None:
            own = partial(quadtree, axes)
            found.append(Candidate("for non-negative counts", own, FOR_NONNEGATIVE, "shown"))
        return found
