"""How a quadtree that was asked adaptively is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.ask import AdaptiveBoxCounts
from trueup.axis import Axis
from trueup.facts import LEAST_SQUARES
from trueup.infer.adaptive_tree import AdaptiveTreeModel
from trueup.infer.box_search import quadtree
from trueup.infer.boxes import BoxModel
from trueup.infer.display import Wish, shown_cells
from trueup.infer.model import FOR_NONNEGATIVE, Candidate, TableModel
from trueup.infer.pooled_boxes import PooledBoxErrors
from trueup.intervaltree import IntervalTree
from trueup.measurement import Measurement
from trueup.release import Release
from trueup.workload import Workload


class AdaptiveBoxModel(TableModel[AdaptiveBoxCounts]):
    """An adaptive tree over the cells in nested order, and the errors of its boxes.

    As with that tree there are two answers from one transcript: `fit` goes from the top down and
    has errors that are known, what is shown large first takes all answers.
    """

    asks = AdaptiveBoxCounts

    @cached_property
    def _nested(self) -> AdaptiveTreeModel:
        return AdaptiveTreeModel(replace(self.noise, question=self.question.nested))

    @cached_property
    def errors(self) -> PooledBoxErrors:
        """The error of every combination of boxes of the fit."""
        own = self._nested.errors
        return PooledBoxErrors(self.question, own.levels, own.scales, self.noise.law)

    @property
    def trees(self) -> list[IntervalTree]:
        """A tree over each axis."""
        return self.question.boxes.shapes

    @property
    def methods(self) -> tuple[str, ...]:
        """The two that go from the root down."""
        return ("large-first", "top-down")

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The cells, from the top down: boxes in a box are moved alike until they sum to it."""
        return self.question.back(self._nested.fit(noisy))

    def fit_nonnegative(self, noisy: npt.NDArray[Any]) -> Floats:
        """The cells settled large first: every cell is known, as it were."""
        return self.question.back(self._nested.large_first(noisy))

    def release(self, measurement: Measurement, wish: Wish) -> Release:
        """The release of the fit, or the one whose counts are shown as wished."""
        noisy, own = measurement.noisy, self._nested
        cells = own.fit(noisy)
        facts = measurement.facts.made(LEAST_SQUARES)
        axes = self.question.axes
        release = Release.of(axes, self.question.back(cells), self.errors, facts)
        if not wish.shown:
            return release
        ways = partial(np.copy, cells), partial(own.nodes, noisy), partial(own.large_first, noisy)
        shown = shown_cells(own.tree, wish, *ways)
        return release.showing(self.question.back(shown), wish.words)

    def mean_over_boxes(self, workloads: Sequence[Workload]) -> tuple[float, float]:
        """That of the quadtree that is asked where nothing is small."""
        return BoxModel(replace(self.noise, question=self.question.boxes)).mean_over_boxes(
            workloads
        )

    @classmethod
    def candidates(
        cls, axes: Sequence[Axis], workloads: Sequence[Workload], nonnegative: bool
    ) -> list[Candidate]:
        """The quadtree of the axes, for counts that are shown, where it has levels to stop at."""
        if len(axes) == 1 or not nonnegative:
            return []
        plain = quadtree(axes)
        if plain is None or len(plain.levels) < 2:
            return []
        own = partial(type(plain).quadtree, *axes, adaptive=True)
        return [Candidate("adaptive quadtree", own, FOR_NONNEGATIVE - 10, "adaptive")]
