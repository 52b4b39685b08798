"""How a tree that was asked adaptively is answered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.ask import AdaptiveTreeCounts
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.infer.adaptive_errors import PathErrors
from trueup.infer.figures import TreeFigures
from trueup.infer.model import FOR_NONNEGATIVE, AxisModel, Candidate, Line
from trueup.infer.tree import TreeModel
from trueup.intervaltree import IntervalTree
from trueup.noise import Noise
from trueup.workload import Workload

Floats = npt.NDArray[np.float64]

EVENED = 0.5  # how much of the spread of cells that noise explains is taken away: from experiments


class AdaptiveTreeModel(AxisModel):
    """Two answers from one transcript: one whose errors are known, and one to be shown.

    `fit` takes the answers of levels alone and goes from the top down, see `adaptive_errors`. What
    is shown large first also takes those of the runs, and is nearer to the truth.
    """

    asks = AdaptiveTreeCounts

    @property
    def _question(self) -> AdaptiveTreeCounts:
        assert isinstance(self.noise.question, AdaptiveTreeCounts)
        return self.noise.question

    @cached_property
    def errors(self) -> PathErrors:
        """The error of every combination of ranges of the fit."""
        asked, unit = self._question, self.noise.unit
        levels = tuple(level for level, share in enumerate(asked.shares) if share)
        if levels[0] == 0 and len(levels) > 1:
            levels = levels[1:]  # one answer for all, with little of ε: for the shown counts alone
        nodes = [unit / asked.shares[level] for level in levels]
        runs = [unit / asked.left(level) for level in levels[:-1]]
        return PathErrors(asked, levels, (*nodes, *runs), self.noise.law)

    @property
    def tree(self) -> IntervalTree:
        """The tree by which counts for people are rounded."""
        return self._question.tree.shape

    @property
    def line(self) -> Line:
        """None: what is asked along one line would depend on the others."""
        raise InputError("A grid has no adaptive trees: ask TreeCounts along its axes.")

    @property
    def methods(self) -> tuple[str, ...]:
        """The two that go from the root down."""
        return ("large-first", "top-down")

    def fit(self, noisy: npt.NDArray[Any]) -> Floats:
        """The cells, from the top down: siblings are moved alike until they sum to their parent."""
        from trueup._kernels.tree.pooled import spread_evenly

        asked, found = self._question, self._question.reached
        answers = asked.by_level(noisy)
        cells = np.zeros(self.tree.size)
        parents: Floats | None = None
        before = 0
        for level in self.errors.levels:
            own = np.asarray(answers[level][0], np.float64)
            if parents is not None:
                families = _descendants(found.nodes, found.first, found.level_starts, before, level)
                number = np.diff(families)
                sums = np.add.reduceat(own, families[:-1]) if len(own) else own
                own = own + np.repeat((parents - sums) / np.maximum(number, 1), number)
            starts, stops = found.spans(level)
            end = _ends_here(found.first, found.level_starts, level)
            cells += spread_evenly(starts[end], stops[end], own[end], self.tree.size)
            parents, before = own[~end], level
        return cells

    def large_first(self, noisy: npt.NDArray[Any]) -> Floats:
        """The cells settled large first, from all answers, on the tree that was asked."""
        from trueup._kernels.display.nonnegative import leaves_of
        from trueup._kernels.display.topdown import settle_large_first
        from trueup._kernels.tree.pooled import spread_evenly, with_runs

        asked, found = self._question, self._question.reached
        weights = iter(self.noise.relative_weights)
        values, each, starts, stops, pooled, w = [], [], [], [], [], []
        for level, (own, runs) in enumerate(asked.by_level(noisy)):
            length, offset = len(found.nodes[level]), found.level_starts[level]
            values.append(np.zeros(length) if own is None else np.asarray(own, np.float64))
            each.append(np.full(length, 0.0 if own is None else next(weights)))
            if runs is not None:
                starts.append(found.runs[level][0] + offset)
                stops.append(found.runs[level][1] + offset)
                pooled.append(np.asarray(runs, np.float64))
                w.append(np.full(len(runs), next(weights)))
        none = [np.empty(0)]
        tree = with_runs(
            found.first,
            np.concatenate(values),
            np.concatenate(each),
            np.concatenate([*starts, np.empty(0, np.int64)]),
            np.concatenate([*stops, np.empty(0, np.int64)]),
            np.concatenate(pooled + none),
            np.concatenate(w + none),
        )
        unit = min(self.noise.variances) ** 0.5
        settled = settle_large_first(*tree[:3], unit, EVENED)
        at = tree[3][leaves_of(tree[0])]
        spans = [found.spans(level) for level in range(len(found.nodes))]
        first, end = (np.concatenate(ends)[at] for ends in zip(*spans, strict=True))
        return spread_evenly(first, end, settled, self.tree.size)

    def figures(self) -> TreeFigures:
        """The expected squared errors of the tree that is asked where nothing is small."""
        return self._at_once.figures()

    @cached_property
    def _at_once(self) -> TreeModel:
        noise, tree = self.noise, self._question.tree
        return TreeModel(
            Noise(tree, noise.epsilon, noise.neighbours, noise.rows_per_unit, noise.law)
        )

    @classmethod
    def candidates(
        cls, axes: Sequence[Axis], workloads: Sequence[Workload], nonnegative: bool
    ) -> list[Candidate]:
        """The tree of the axis, for counts that are shown, where it has levels to stop at."""
        if len(axes) > 1 or not nonnegative:
            return []
        asked = AdaptiveTreeCounts(axes[0])
        if not any(map(asked.can_pool, range(asked.shape.height))):
            return []
        return [Candidate("adaptive tree", lambda: asked, FOR_NONNEGATIVE - 10, "adaptive")]


def _ends_here(first: npt.NDArray[np.int64], level_starts: Any, level: int) -> npt.NDArray[np.bool]:
    """Which nodes reached on a level have nothing asked below them."""
    begin, end = level_starts[level], level_starts[level + 1]
    return np.asarray(first[begin + 1 : end + 1] == first[begin:end])


def _descendants(
    nodes: Any, first: npt.NDArray[np.int64], level_starts: Any, above: int, level: int
) -> npt.NDArray[np.int64]:
    """Where the nodes of a level begin under each node of a level above that was split."""
    begin, end = level_starts[above], level_starts[above + 1]
    places = first[begin : end + 1]
    places = np.append(places[:-1][np.diff(places) > 0], places[-1])
    for _ in range(above + 1, level):
        places = first[places]
    return np.asarray(places - level_starts[level], np.int64)
