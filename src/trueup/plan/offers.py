"""Offers: the ways to ask about an axis that can be bought, and what each would give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from trueup.ask import (
    CellCounts,
    HatCounts,
    Histogram,
    Neighbours,
    TreeCounts,
)
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.infer import errors_of
from trueup.linear_errors import HatErrors
from trueup.noise import Noise
from trueup.plan.figures import figures_of
from trueup.plan.hats import best_hats
from trueup.plan.search import best_question
from trueup.plan.workload import Floats, Ints, Workload
from trueup.release.estimate import check_level
from trueup.uncertainty import RangeErrors

Way = Literal["flat", "tree", "binary", "hats"]
NAMES: dict[Way, str] = {
    "flat": "cells alone",
    "tree": "best tree",
    "binary": "the paper's binary tree",
    "hats": "hats: overlapping windows",
}
_SAMPLED = 400  # ranges looked at for means that have no closed form, and for a typical one
_LENGTHS = 40  # ranges looked at for each length


@dataclass(frozen=True, eq=False)
class Offer:
    """One way to ask, with its expected errors: none of it looks at data.

    `mean` is the expected squared error of an answer of the workload, `typical` how far from the
    truth such an answer will be at most, at the level; `by_length` the same for ranges of so many
    cells.
    """

    way: Way
    name: str
    question: Histogram
    mean: float
    typical: float
    by_length: tuple[tuple[int, float], ...]


def ways(axis: Axis) -> tuple[Way, ...]:
    """The ways that make sense for an axis: labels have no windows that overlap."""
    if axis.size == 1:
        return ("flat",)
    if axis.traits.labelled:
        return ("flat", "tree", "binary")
    return ("flat", "tree", "binary", "hats")


@lru_cache(maxsize=64)
def question(axis: Axis, way: Way, workload: Workload) -> Histogram:
    """The question that a way to ask puts to an axis, for a workload."""
    match way:
        case "flat":
            return CellCounts(axis)
        case "binary":
            return TreeCounts(axis, branching=2)
        case "hats":
            return best_hats(axis, workload) or HatCounts(axis)
    return best_question(axis, workload)


def offers(
    axis: Axis,
    epsilon: Fraction,
    workload: Workload,
    level: float = 0.95,
    *,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
) -> tuple[Offer, ...]:
    """The ways to ask, the best for the workload first; those that noise cannot pay are left out.

    >>> from trueup.plan.workload import Workload
    >>> [offer.way for offer in offers(Axis.integers("x", 0, 99), Fraction(1), Workload.prefixes())]
    ['hats', 'tree', 'flat', 'binary']
    """
    check_level(level)
    workload.check(axis)
    found, refused = [], None
    for way in ways(axis):
        asked = question(axis, way, workload)
        try:
            Noise(asked, epsilon, neighbours, rows_per_unit).check_drawable()
        except InputError as wrong:
            refused = wrong
            continue
        found.append(_offer(axis, way, epsilon, workload, level, neighbours, rows_per_unit))
    if refused is not None and not found:
        raise refused
    return tuple(sorted(found, key=lambda offer: offer.mean))


@lru_cache(maxsize=512)
def _offer(
    axis: Axis,
    way: Way,
    epsilon: Fraction,
    workload: Workload,
    level: float,
    neighbours: Neighbours,
    rows: int,
) -> Offer:
    asked = question(axis, way, workload)
    errors = errors_of(Noise(asked, epsilon, neighbours, rows))
    starts, stops, likely = workload.sample(axis, _SAMPLED)
    variances = errors.range_variances(starts, stops)
    mean = _mean(asked, errors, epsilon, workload, neighbours, rows)
    if mean is None:
        mean = float(variances @ likely)
    nearest = int(np.argmin(np.abs(variances - mean)))
    law = errors.noise_law((((int(starts[nearest]), int(stops[nearest])), 1.0),))
    times = law.half_width(level) / math.sqrt(max(float(variances[nearest]), 1e-300))
    lengths = _lengths(axis.size)
    by_length = times * np.sqrt(_mean_by_length(errors, axis.size, lengths))
    pairs = tuple(zip(lengths.tolist(), by_length.tolist(), strict=True))
    return Offer(way, NAMES[way], asked, mean, times * math.sqrt(mean), pairs)


def _mean(
    asked: Histogram,
    errors: RangeErrors,
    epsilon: Fraction,
    workload: Workload,
    neighbours: Neighbours,
    rows: int,
) -> float | None:
    """The mean where it has a closed form that is quick; None otherwise."""
    if workload.kind not in ("ranges", "prefixes"):
        return None
    if isinstance(errors, HatErrors):
        return errors.mean_variances()[workload.kind == "prefixes"]
    if isinstance(asked, (CellCounts, TreeCounts)) and (
        isinstance(asked, CellCounts) or asked.radices
    ):
        figures = figures_of(Noise(asked, epsilon, neighbours, rows))
        if workload.kind == "ranges":
            return figures.mean_over_ranges()
        return figures.mean_over_prefixes()
    return None


def _lengths(size: int) -> Ints:
    """Lengths from one cell to the whole axis, doubling."""
    return np.unique(np.append(1 << np.arange(size.bit_length()), size)).astype(np.int64)


def _mean_by_length(errors: RangeErrors, size: int, lengths: Ints) -> Floats:
    """The mean variance of a range of each length, over places spread evenly."""
    starts = [
        np.unique(np.linspace(0, size - length, _LENGTHS).astype(np.int64))
        for length in lengths.tolist()
    ]
    each = np.concatenate(starts)
    stops = each + np.repeat(lengths, [len(some) for some in starts])
    variances = errors.range_variances(each, stops)
    ends = np.cumsum([len(some) for some in starts])
    return np.array([part.mean() for part in np.split(variances, ends[:-1])])


def sorted_error(noise: Noise) -> tuple[float, float]:
    """The squared error of a count before inference, and what 95 % of them are within."""
    return noise.variances[0], -float(noise.scales[0]) * math.log(0.05)
