"""Several releases or measurements over one axis, made into one.

Every noisy answer over an ordered axis is a difference of two prefix sums, P[stop] − P[start].
So least squares over any of them, from however many releases, is a network of springs between
the edges of the axis: sparse, and the variance of a range is the resistance between its ends.
Where the levels of all releases nest, they make one tree, and its two passes do the same faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.tree.prefix import prefix_on_grid
from trueup.ask import Question
from trueup.axis import Axis
from trueup.axis.numbers import finite_number
from trueup.errors import InputError, shown
from trueup.facts import LEAST_SQUARES, Facts
from trueup.infer.display import Wish
from trueup.infer.model import AskedLevels, axis_model, model_of
from trueup.infer.tree import TreeErrors
from trueup.intervaltree import IntervalTree
from trueup.law import Combination, NoiseLaw, RangeErrors
from trueup.measurement import Measurement
from trueup.noise import common_law, noise_variance
from trueup.reconcile.contradiction import Compared, check_agree
from trueup.reconcile.stacked import stacked_cells, stacked_errors
from trueup.release import Release

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


PINNED = 1e-18  # the variance of a known total, in units of the least other one


@dataclass(frozen=True, eq=False)
class CombinedLevel:
    """Answers for consecutive intervals that cover the axis, with noise of one scale and law."""

    starts: Ints
    values: Floats
    scale: Fraction
    law: str

    @property
    def variance(self) -> float:
        """The variance of the noise in each answer."""
        return noise_variance(self.scale, self.law)


def combine(parts: Sequence[Release | Measurement], known_total: float | None) -> Release:
    """The least-squares release of all parts together."""
    facts = [_facts(part) for part in parts]
    check_apart(parts, facts)
    questions = _questions(facts)
    about = Facts.together(
        facts, combined=tuple(facts), known_total=known_total, inferred=LEAST_SQUARES
    )
    asked = _asked_levels(facts)
    if asked is None:
        _check_total(known_total)
        axis, stacked = stacked_errors(questions, facts)
        every = [Compared(_inferred(part), np.arange(axis.size)) for part in parts]
        check_agree(axis, every, None)
        return Release.of((axis,), stacked_cells(stacked, questions, parts), stacked, about)
    check_agree(
        questions[0].space.axes[0],
        [
            Compared(_inferred(part), _first_cells(each))
            for part, each in zip(parts, asked, strict=True)
        ],
        known_total,
    )
    axis, levels = _levels(questions, asked, facts, parts)
    errors = _errors(axis.size, levels, known_total is not None)
    if isinstance(errors, TreeErrors):
        cells = _tree_cells(errors.shape, levels, known_total)
    else:
        assert isinstance(errors, SpringErrors)
        cells = np.diff(errors.prefix(levels, known_total))
    prefix = prefix_on_grid(cells)
    if known_total is not None:
        prefix[-1] = known_total
    return Release((axis,), prefix, errors, about)


def _inferred(part: Release | Measurement) -> Release:
    """The release of a part, to be compared with others."""
    if isinstance(part, Release):
        return part
    release: Release = model_of(part.noise).release(part, Wish(False, False))
    return release


def check_apart(parts: Sequence[object], facts: Sequence[Facts]) -> None:
    """Refuses parts that hold the same noise: errors would be told too small.

    A measurement made by `measure` has an id, which its releases keep, and so does what was
    reconciled from them; those without one are told apart only as objects.
    """
    check_once([each.measured for each in facts])
    if len({id(part) for part in parts}) < len(parts):
        raise _twice()


def check_once(measured: Sequence[Sequence[str]]) -> None:
    """Refuses a measurement that is among those of two of the things to be put together."""
    known = [name for each in measured for name in set(each)]
    if len(set(known)) < len(known):
        raise _twice()


def _twice() -> InputError:
    return InputError(
        "Two of these come from one measurement, whose noise would be counted twice. Give the "
        "measurement, or one release of it, once."
    )


def errors_from(facts: Facts) -> tuple[Axis, RangeErrors]:
    """The axis and errors of a combined release, from its facts."""
    blank = _questions(facts.combined)
    asked = _asked_levels(facts.combined)
    if asked is None:
        _check_total(facts.known_total)
        return stacked_errors(blank, facts.combined)
    axis, levels = _levels(blank, asked, facts.combined, [None] * len(blank))
    return axis, _errors(axis.size, levels, facts.known_total is not None)


def _facts(part: Release | Measurement) -> Facts:
    if part.facts.question is None:
        raise InputError("Combine the releases themselves, all in one call, not a combined one.")
    return part.facts if isinstance(part, Measurement) else part.facts.made(LEAST_SQUARES)


def _questions(facts: Sequence[Facts]) -> list[Question]:
    """What each part asked, refused unless it is all about one axis."""
    if len({each.features for each in facts}) > 1:
        raise InputError(
            "These count other things: rows, or people by other features. Combine releases of the "
            "same feature."
        )
    questions: list[Question] = []
    for each in facts:
        if each.question is None or not each.question.space.one_axis:
            raise InputError("Only counts over an axis can be combined cell by cell.")
        questions.append(each.question)
    base = questions[0].space.axes[0]
    for question in questions:
        (axis,) = question.space.axes
        if axis != base:
            raise InputError(
                f"These are over different axes, '{base.name}' and '{axis.name}', or "
                f"differ in their cells. Combine what shares one axis."
            )
    return questions


def _asked_levels(facts: Sequence[Facts]) -> list[AskedLevels] | None:
    """The levels of trees that the parts asked; None if the answers of some are no nodes."""
    models = [axis_model(each.noise) for each in facts]
    if not all(model.errors.alike for model in models):
        raise InputError(
            "An adaptive tree cannot be combined with other counts: its noise had a say in what "
            "was asked, so that least squares would tell errors too small. Ask TreeCounts(axis)."
        )
    found = [model.levels() for model in models]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else None


def _check_total(known_total: float | None) -> None:
    if known_total is not None:
        raise InputError("A known total can be combined with trees and cells, not with hats.")


def _levels(
    questions: Sequence[Question],
    asked: Sequence[AskedLevels],
    facts: Sequence[Facts],
    parts: Sequence[Release | Measurement | None],
) -> tuple[Axis, list[CombinedLevel]]:
    """The finest axis, and the levels of all parts in its cells.

    A release's own answers stand for the noisy ones: they fit their tree, so with the same
    weights they say the same.
    """
    finest = max(range(len(asked)), key=lambda part: asked[part].tree.size)
    axis = questions[finest].space.answer_axes[0]
    fine = _first_cells(asked[finest])
    levels: list[CombinedLevel] = []
    for each, about, part in zip(asked, facts, parts, strict=True):
        cells, taken = np.searchsorted(fine, _first_cells(each)), 0
        for level, scale in zip(each.asked, about.noise.scales, strict=True):
            starts = each.tree.starts(level)
            if isinstance(part, Measurement):
                values = part.noisy[taken : taken + len(starts)].astype(np.float64)
            elif part is not None:
                values = np.diff(part.unbiased.prefix[np.append(starts, each.tree.size)])
            else:
                values = np.zeros(len(starts))
            taken += len(starts)
            levels.append(CombinedLevel(cells[starts], values, scale, about.law))
    return axis, levels


def _first_cells(asked: AskedLevels) -> Ints:
    return np.arange(asked.tree.size) if asked.first_cells is None else asked.first_cells


def _errors(size: int, levels: Sequence[CombinedLevel], pinned: bool) -> RangeErrors:
    """A tree's errors if the levels nest, those of springs otherwise."""
    scales: dict[bytes, list[Fraction]] = {}
    cuts: dict[bytes, Ints] = {}
    # An experiment's continuous noise among discrete noise: the difference is below 1/6 a variance.
    law = common_law([level.law for level in levels])
    for level in levels:
        key = level.starts.tobytes()
        scales.setdefault(key, []).append(level.scale)
        cuts[key] = level.starts
    order = sorted(cuts, key=lambda key: len(cuts[key]))
    nested = all(np.isin(cuts[a], cuts[b]).all() for a, b in pairwise(order))
    if not nested or len(cuts[order[-1]]) < size:
        edges = [(cuts[key], tuple(scales[key])) for key in order]
        return SpringErrors(size, tuple(edges), pinned, law)
    each = [tuple(scales[key]) for key in order]
    starts = [cuts[key] for key in order]
    if len(starts[0]) > 1:
        starts, each = [np.zeros(1, np.int64), *starts], [(), *each]
    return TreeErrors(IntervalTree.irregular(size, starts[1:]), tuple(each), law, pinned)


def _tree_cells(
    shape: IntervalTree, levels: Sequence[CombinedLevel], known_total: float | None
) -> Floats:
    from trueup._kernels.tree.any_tree import fit

    weights = np.zeros(int(shape.level_starts[-1]))
    noisy = np.zeros_like(weights)
    place = {shape.starts(k).tobytes(): k for k in range(shape.height)}
    for level in levels:
        k = place[level.starts.tobytes()]
        here = slice(shape.level_starts[k], shape.level_starts[k + 1])
        weights[here] += 1 / level.variance
        noisy[here] += level.values / level.variance
    asked = weights > 0
    noisy[asked] /= weights[asked]
    if known_total is not None:
        noisy[0], weights[0] = known_total, weights.max() / PINNED
    return fit(shape.first, noisy, weights / weights.max())[len(weights) - shape.size :]


@dataclass(frozen=True, eq=False)
class SpringErrors(RangeErrors):
    """The error of ranges when the intervals asked do not nest: resistances between edges.

    `edges` holds sets of intervals, by where they start, with the scales of their noisy answers.
    """

    size: int
    edges: tuple[tuple[Ints, tuple[Fraction, ...]], ...]
    pinned: bool = False
    law: str = "discrete"

    @cached_property
    def _weights(self) -> list[list[float]]:
        """Of each set of intervals: 1/variance of each of its noisy answers."""
        return [[1 / noise_variance(b, self.law) for b in scales] for _, scales in self.edges]

    @cached_property
    def _free(self) -> int:
        """The prefix sums that are unknown: 1 … n, or n − 1 if the total is known."""
        return self.size - 1 if self.pinned else self.size

    @cached_property
    def _springs(self) -> tuple[Ints, Ints, Floats]:
        starts = np.concatenate([cuts for cuts, _ in self.edges])
        stops = np.concatenate([np.append(cuts[1:], self.size) for cuts, _ in self.edges])
        each = zip(self.edges, self._weights, strict=True)
        weights = np.concatenate([np.full(len(cuts), sum(weight)) for (cuts, _), weight in each])
        return starts, stops, weights

    @cached_property
    def _factor(self) -> tuple[Any, Any]:
        from scipy.sparse import coo_array, csc_array
        from scipy.sparse.linalg import splu

        starts, stops, weights = self._springs
        unit = weights.max()
        row = np.concatenate([starts, stops, starts, stops])
        column = np.concatenate([starts, stops, stops, starts])
        data = np.concatenate([weights, weights, -weights, -weights]) / unit
        whole = csc_array(coo_array((data, (row, column)), (self.size + 1, self.size + 1)))
        free = slice(1, self._free + 1)
        try:
            return splu(csc_array(whole[free, free])) if self._free else None, unit
        except RuntimeError:
            raise InputError(
                "Some cells were asked by none of these, so nothing is known about them."
            ) from None

    def _solve(self, right: Floats) -> Floats:
        full = np.zeros((self.size + 1, *right.shape[1:]))
        factor, unit = self._factor
        if self._free:
            full[1 : self._free + 1] = factor.solve(right[1 : self._free + 1]) / unit
        return full

    def prefix(self, levels: Sequence[CombinedLevel], known_total: float | None) -> Floats:
        """The prefix sums at rest."""
        right = np.zeros(self.size + 1)
        for level in levels:
            force = level.values / level.variance
            np.add.at(right, np.append(level.starts[1:], self.size), force)
            np.add.at(right, level.starts, -force)
        if known_total is not None:
            starts, stops, weights = self._springs
            ends = stops == self.size
            np.add.at(right, starts[ends], weights[ends] * known_total)
        found = self._solve(right)
        if known_total is not None:
            found[-1] = known_total
        return found

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each range [start, stop) of cells; one sparse solve a range."""
        starts = np.atleast_1d(np.asarray(starts, np.int64))
        stops = np.atleast_1d(np.asarray(stops, np.int64))
        found = np.empty(len(starts))
        for begin in range(0, len(starts), 64):
            a, b = starts[begin : begin + 64], stops[begin : begin + 64]
            right = np.zeros((self.size + 1, len(a)))
            column = np.arange(len(a))
            right[b, column] += 1.0
            right[a, column] -= 1.0
            solved = self._solve(right)
            found[begin : begin + 64] = solved[b, column] - solved[a, column]
        return np.maximum(found, 0.0)

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of ranges."""
        right = self._right(combination)
        return max(float(right @ self._solve(right)), 0.0)

    def _right(self, combination: Combination) -> Floats:
        right = np.zeros(self.size + 1)
        for (start, stop), coefficient in combination:
            right[stop] += coefficient
            right[start] -= coefficient
        return right

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error: weight · Cov(answer, interval) is each noise's coefficient."""
        solved = self._solve(self._right(combination))
        parts = []
        for (cuts, scales), weights in zip(self.edges, self._weights, strict=True):
            with_interval = solved[np.append(cuts[1:], self.size)] - solved[cuts]
            distinct, counts = np.unique(with_interval, return_counts=True)
            for scale, weight in zip(scales, weights, strict=True):
                parts.append((weight * distinct, np.full(len(distinct), float(scale)), counts))
        found = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return NoiseLaw(found[0], found[1], found[2], self.law)


def tree_of(errors: RangeErrors, size: int) -> tuple[IntervalTree, tuple[float, ...]]:
    """The tree that a combined release fits, and the variance of each level; flat for springs."""
    if isinstance(errors, TreeErrors):
        return errors.shape, errors.level_variances
    each = float(errors.range_variances([0], [1])[0])
    return IntervalTree.regular(size, (size,)), (np.inf, each)


def known_total_of(known: Mapping[Any, Any] | None) -> float | None:
    """The one thing that may be known of an axis: its total."""
    if not known:
        return None
    if set(known) != {"total"}:
        raise InputError(
            f"For an axis known= accepts only the total: known={{'total': …}}, "
            f"got {shown(dict(known))}."
        )
    return finite_number(known["total"], "The known total")
