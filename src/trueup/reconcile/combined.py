"""Several releases or measurements over one axis, made into one.

Every noisy answer over an ordered axis is a difference of two prefix sums, P[stop] − P[start].
So least squares over any of them, from however many releases, is a network of springs between
the edges of the axis: sparse, and the variance of a range is the resistance between its ends.
Where the levels of all releases nest, they make one tree, and its two passes do the same faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from trueup._kernels.tree.prefix import prefix_on_grid
from trueup.arrays import Floats, Ints
from trueup.ask import Question
from trueup.axis import Axis
from trueup.axis.numbers import finite_number
from trueup.errors import InputError, shown
from trueup.facts import LEAST_SQUARES, Facts
from trueup.infer.model import AskedLevels, axis_model
from trueup.infer.tree import TreeErrors
from trueup.intervaltree import IntervalTree
from trueup.law import RangeErrors
from trueup.measurement import Measurement
from trueup.noise import common_law
from trueup.reconcile.averaged import (
    AveragedErrors,
    Part,
    averaged,
    averaged_errors,
    unbiased_of,
)
from trueup.reconcile.contradiction import Compared, check_agree
from trueup.reconcile.springs import CombinedLevel, SpringErrors
from trueup.reconcile.stacked import stacked_cells, stacked_errors
from trueup.release import Release

PINNED = 1e-18  # the variance of a known total, in units of the least other one


def combine(parts: Sequence[Release | Measurement], known_total: float | None) -> Release:
    """The least-squares release of all parts together."""
    facts = [facts_of(part) for part in parts]
    check_apart(parts, facts)
    questions = questions_of(facts)
    about = Facts.together(
        facts, combined=tuple(facts), known_total=known_total, inferred=LEAST_SQUARES
    )
    if any(_adaptive(facts)):
        return _mean(parts, about)
    asked = _asked_levels(facts)
    if asked is None:
        _check_total(known_total)
        axis, stacked = stacked_errors(questions, facts)
        every = [Compared(unbiased_of(part), np.arange(axis.size)) for part in parts]
        check_agree(axis, every, None)
        return Release.of((axis,), stacked_cells(stacked, questions, parts), stacked, about)
    check_agree(
        questions[0].space.axes[0],
        [
            Compared(unbiased_of(part), _first_cells(each))
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


def _adaptive(facts: Sequence[Facts]) -> list[bool]:
    """Of which parts noise had a say in what was asked."""
    return [axis_model(each.noise).adaptive for each in facts]


def split(parts: Sequence[Part]) -> tuple[list[Part], list[Part]]:
    """The parts that are adaptive trees, and the others."""
    adaptive = _adaptive([part.facts for part in parts])
    trees = [part for part, own in zip(parts, adaptive, strict=True) if own]
    return trees, [part for part, own in zip(parts, adaptive, strict=True) if not own]


def _mean(parts: Sequence[Part], about: Facts) -> Release:
    """The mean of adaptive trees and of least squares over all other parts."""
    axis, errors = _mean_errors(about)
    every = [Compared(unbiased_of(part), np.arange(axis.size)) for part in parts]
    check_agree(axis, every, about.known_total)
    trees, plain = split(parts)
    others = combine(plain, None) if plain else None
    prefix = averaged(trees, errors, others, about.known_total)
    return Release((axis,), prefix, errors.given(prefix), about)


def _mean_errors(about: Facts) -> tuple[Axis, AveragedErrors]:
    def least_squares(plain: Sequence[Facts]) -> tuple[Axis, RangeErrors]:
        return _least_squares_errors(plain, None)

    return averaged_errors(about.combined, least_squares, about.known_total is not None)


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
    if any(_adaptive(facts.combined)):
        questions_of(facts.combined)
        return _mean_errors(facts)
    return _least_squares_errors(facts.combined, facts.known_total)


def _least_squares_errors(
    facts: Sequence[Facts], known_total: float | None
) -> tuple[Axis, RangeErrors]:
    blank = questions_of(facts)
    asked = _asked_levels(facts)
    if asked is None:
        _check_total(known_total)
        return stacked_errors(blank, facts)
    axis, levels = _levels(blank, asked, facts, [None] * len(blank))
    return axis, _errors(axis.size, levels, known_total is not None)


def facts_of(part: Release | Measurement) -> Facts:
    """The facts of one part, refused if it is several put together."""
    if part.facts.question is None:
        raise InputError("Combine the releases themselves, all in one call, not a combined one.")
    return part.facts if isinstance(part, Measurement) else part.facts.made(LEAST_SQUARES)


def questions_of(facts: Sequence[Facts]) -> list[Question]:
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
    found = [axis_model(each.noise).levels() for each in facts]
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


def tree_of(errors: RangeErrors, size: int) -> tuple[IntervalTree, tuple[float, ...]]:
    """The tree that a combined release fits, and the variance of each level; flat for springs."""
    if isinstance(errors, TreeErrors):
        return errors.shape, errors.level_variances
    if isinstance(errors, AveragedErrors):
        return errors.tree
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
