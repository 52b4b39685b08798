"""How a tree that was asked adaptively is answered."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.ask import AdaptiveTreeCounts
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.infer.adaptive_errors import PathErrors
from trueup.infer.figures import TreeFigures
from trueup.infer.model import FOR_NONNEGATIVE, LARGE, AxisModel, Candidate, Line
from trueup.infer.tree import TreeModel
from trueup.infer.tree_search import shown_question
from trueup.intervaltree import IntervalTree
from trueup.workload import Workload, default_workload

Nodes = tuple[Floats, Floats]
WeighedRuns = tuple[npt.NDArray[Any], ...]

EVENED = 0.5  # how much of the spread of cells that noise explains is taken away: from experiments


class AdaptiveTreeModel(AxisModel[AdaptiveTreeCounts]):
    """Two answers from one transcript: one whose errors are known, and one to be shown.

    `fit` takes the answers of levels alone and goes from the top down, see `adaptive_errors`. What
    is shown large first also takes those of the runs, and is nearer to the truth.
    """

    asks = AdaptiveTreeCounts
    adaptive = True

    @cached_property
    def errors(self) -> PathErrors:
        """The error of every combination of ranges of the fit."""
        asked, noise = self.question, self.noise
        levels = tuple(level for level, share in enumerate(asked.shares) if share)
        if levels[0] == 0 and len(levels) > 1:
            levels = levels[1:]  # one answer for all, with little of ε: for the shown counts alone
        own = [(asked.shares[level], asked.shares[level] ** 2) for level in levels]
        pooled = [(asked.left(level), asked.square_left(level)) for level in levels[:-1]]
        scales = tuple(noise.scale_of(weight, square) for weight, square in own + pooled)
        choose_by = noise.scale_to_choose_by
        split_from = tuple(asked.split_from(level, choose_by) for level in levels[:-1])
        return PathErrors(asked, levels, scales, split_from, noise.law)

    @property
    def tree(self) -> IntervalTree:
        """The tree by which counts for people are rounded."""
        return self.question.tree.shape

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
        from trueup._kernels.tree.pooled import moved_to_parents, spread_evenly

        asked, found = self.question, self.question.reached
        answers = asked.by_level(noisy)
        before, *below = self.errors.levels
        own = np.asarray(answers[before][0], np.float64)
        cells = np.empty(self.tree.size)
        for level in below:
            starts, stops = found.spans(before)
            end = found.ends(before)
            spread_evenly(starts[end], stops[end], own[end], cells)
            own = moved_to_parents(own, found.below(before, level), answers[level][0])
            before = level
        if len(own) == len(cells):  # every cell was asked
            return own
        cells[found.nodes[-1]] = own
        return cells

    def large_first(self, noisy: npt.NDArray[Any]) -> Floats:
        """The cells settled large first, from all answers, on the tree that was asked."""
        from trueup._kernels.display.topdown import settle_nodes
        from trueup._kernels.tree.pooled import spread_leaves, with_runs

        found = self.question.reached
        nodes, runs = self._answers(noisy)
        unit, upper = min(self.noise.variances) ** 0.5, len(found.nodes) - 1
        if not len(runs[0]):  # every cell was asked
            each = np.repeat(nodes[1], np.diff(found.level_starts))
            settle_nodes(found.first, nodes[0], each, unit, EVENED)
            return nodes[0][-self.tree.size :]
        levels = found.level_starts, nodes[1]
        children, settled, each, which = with_runs(found.first, nodes[0], *levels, *runs)
        settle_nodes(children, settled, each, unit, EVENED)
        spans = zip(*(found.spans(level) for level in range(upper)), strict=True)
        starts, stops = map(np.concatenate, spans)
        cells = np.empty(self.tree.size)
        spread_leaves(children, which, settled, (starts, stops), found.nodes[-1], cells)
        return cells

    def _answers(self, noisy: npt.NDArray[Any]) -> tuple[Nodes, WeighedRuns]:
        """The answers of nodes, 0 where not asked, and the weights of their levels; the runs,
        counting the nodes, with answers and weights."""
        asked, found = self.question, self.question.reached
        weights = iter(self.noise.relative_weights)
        values, levels, runs = [], [], []
        for level, (own, pooled) in enumerate(asked.by_level(noisy)):
            values.append(np.zeros(len(found.nodes[level])) if own is None else own)
            levels.append(0.0 if own is None else next(weights))
            if pooled is not None:
                starts, stops = (ends + found.level_starts[level] for ends in found.runs[level])
                runs.append((starts, stops, pooled, np.full(len(pooled), next(weights))))
        nodes = np.concatenate(values, dtype=np.float64), np.array(levels)
        types = np.int64, np.int64, np.float64, np.float64
        each = zip(*runs, strict=True) if runs else ((),) * 4
        return nodes, tuple(
            np.concatenate([*some, np.empty(0, kind)], dtype=kind)
            for some, kind in zip(each, types, strict=True)
        )

    def answers_of(self, prefix: Floats) -> Floats:
        """Answers that stand for the noisy ones: what counts with these prefix sums say of nodes,
        and the totals of runs as they were answered."""
        asked = self.question
        assert asked.pooled is not None
        found: list[npt.NDArray[Any]] = []
        for level, share in enumerate(asked.shares):
            if share:
                starts, stops = asked.reached.spans(level)
                found.append(prefix[stops] - prefix[starts])
            if asked.can_pool(level):
                found.append(asked.pooled.totals[level])
        return np.concatenate(found, dtype=np.float64)

    def figures(self) -> TreeFigures:
        """The expected squared errors of the tree that is asked where nothing is small."""
        return self._at_once.figures()

    @cached_property
    def _at_once(self) -> TreeModel:
        return TreeModel(replace(self.noise, question=self.question.tree))

    @classmethod
    def candidates_over(cls, axis: Axis, workload: Workload, nonnegative: bool) -> list[Candidate]:
        """The tree of the axis, for counts that are shown, where it has levels to stop at.

        It is the best of them at an ε below so many cells that a tree is asked in one pass, unless
        the workload needs another tree than the axis has by itself.
        """
        if not nonnegative:
            return []
        asked = AdaptiveTreeCounts(axis)
        if not any(map(asked.can_pool, range(asked.shape.height))):
            return []
        best = axis.size < LARGE and _usual(axis, workload)
        ranks = FOR_NONNEGATIVE + 10 if best else FOR_NONNEGATIVE - 10, FOR_NONNEGATIVE - 10
        made = Candidate("adaptive tree", lambda: asked, ranks[0], "adaptive", rank_at_rho=ranks[1])
        return [made]


def _usual(axis: Axis, workload: Workload) -> bool:
    """Whether a workload has the same tree asked at once as the axis has where none is given."""
    usual = default_workload(axis)
    return workload == usual or shown_question(axis, workload) == shown_question(axis, usual)
