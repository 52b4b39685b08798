"""Offers: the ways to ask about an axis that can be bought, and what each would give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from statistics import NormalDist

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.ask import Neighbours, Question
from trueup.axis import Axis
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.infer import axis_model, table_model
from trueup.law import RangeErrors
from trueup.noise import Noise
from trueup.plan.choice import candidates
from trueup.release.wording import check_level
from trueup.workload import Workload, default_workload

NAMES = {
    "flat": "cells alone",
    "tree": "best tree",
    "binary": "the paper's binary tree",
    "hats": "hats: overlapping windows",
    "windows": "windows: next to the best possible",
    "shown": "for non-negative counts, asked at once",
    "adaptive": "adaptive: pools what is empty",
}
"""What ways to ask are called where people choose among them; others by their own words."""
_SAMPLED = 400  # ranges looked at for means that have no closed form, and for a typical one
_LENGTHS = 40  # ranges looked at for each length
_PLACES = 5  # boxes looked at for each size
_LONG = 1 << 16  # cells: beyond, ways for Gaussian noise alone take too long to look at


@dataclass(frozen=True, eq=False)
class Offer:
    """One way to ask, with its expected errors: none of it looks at data.

    `mean` is the expected squared error of an answer of the workload, `typical` how far from the
    truth such an answer will be at most, at the level; `by_length` the same for ranges of so many
    cells.
    """

    way: str
    name: str
    question: Question
    mean: float
    typical: float
    by_length: tuple[tuple[int, float], ...]


def ways(*axes: Axis, gaussian: bool = False) -> tuple[str, ...]:
    """The ways to ask about an axis, or several, by their words; some for Gaussian noise alone."""
    return tuple(_words(axes, [default_workload(axis) for axis in axes], gaussian))


def _words(axes: Sequence[Axis], workloads: Sequence[Workload], gaussian: bool) -> list[str]:
    """The ways by their words; the last is the best for counts that are shown non-negative."""
    some = candidates(axes, workloads, nonnegative=True, gaussian=gaussian)
    return [each.word for each in some if each.word is not None]


@lru_cache(maxsize=64)
def question(axes: tuple[Axis, ...], way: str, workloads: tuple[Workload, ...]) -> Question:
    """The question that a way to ask puts to an axis, or several, for a workload of each."""
    for each in candidates(axes, workloads, nonnegative=True, gaussian=True):
        if each.word == way:
            asked = each.ask()
            if asked is None and each.plainly is not None:
                asked = each.plainly()
            if asked is not None:
                return asked
    raise InputError(f"{' × '.join(repr(axis.name) for axis in axes)} cannot be asked by {way!r}.")


def offers(
    axis: Axis,
    cost: Cost,
    workload: Workload,
    level: float = 0.95,
    *,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
    at_once: bool = False,
) -> tuple[Offer, ...]:
    """The ways to ask, those that noise cannot pay left out; `at_once` leaves out adaptive ones.

    First comes the plan's best question for counts that are shown non-negative, which everybody
    asks who does not say what to ask; then the others, the best for the workload first.

    >>> from trueup.workload import Workload
    >>> age = Axis.integers("age", 0, 99)
    >>> [offer.way for offer in offers(age, Cost.of(1), Workload.prefixes())]
    ['adaptive', 'hats', 'tree', 'shown', 'flat', 'binary']
    >>> [offer.way for offer in offers(age, Cost.of(rho=1), Workload.prefixes())][:2]
    ['shown', 'windows']
    """
    check_level(level)
    workload.check(axis)
    noise_of = partial(_noise, cost=cost, neighbours=neighbours, rows_per_unit=rows_per_unit)
    known = _words((axis,), (workload,), gaussian=cost.rho is not None)
    if axis.size > _LONG:
        known = [way for way in known if way in ways(axis)]
    found, best = _payable((axis,), (workload,), known, noise_of, at_once)
    offered = [_offer(way, noise, workload, level) for way, noise in found]
    same = [offer for offer in offered if offer.question == best]
    first = same[0] if same else None  # by its plainer name where it has one
    others = [offer for offer in offered if offer not in same]
    return (*([first] if first else []), *sorted(others, key=lambda offer: offer.mean))


def _noise(asked: Question, cost: Cost, neighbours: Neighbours, rows_per_unit: int) -> Noise:
    return Noise(asked, cost.epsilon, neighbours, rows_per_unit, rho=cost.rho)


def _payable(
    axes: tuple[Axis, ...],
    workloads: tuple[Workload, ...],
    known: Sequence[str],
    noise_of: Callable[[Question], Noise],
    at_once: bool,
) -> tuple[list[tuple[str, Noise]], Question | None]:
    """The ways whose noise can be drawn, with that noise; and the last question, the best of all.

    It is an error only if none of them can.
    """
    found, best, refused = [], None, None
    for way in known:
        asked = question(axes, way, workloads)
        if at_once and not asked.settled:
            continue
        best, noise = asked, noise_of(asked)
        try:
            noise.check_drawable()
        except InputError as wrong:
            refused = wrong
            continue
        found.append((way, noise))
    if refused is not None and not found:
        raise refused
    return found, best


@lru_cache(maxsize=512)
def _offer(way: str, noise: Noise, workload: Workload, level: float) -> Offer:
    model = axis_model(noise)
    axis, errors = noise.question.space.axes[0], model.errors
    starts, stops, likely = workload.sample(axis, _SAMPLED)
    variances = errors.range_variances(starts, stops)
    if workload.kind in ("ranges", "prefixes"):
        mean = workload.mean(model.figures(), axis)
    else:
        mean = float(variances @ likely)
    nearest = int(np.argmin(np.abs(variances - mean)))
    law = errors.noise_law((((int(starts[nearest]), int(stops[nearest])), 1.0),))
    times = law.half_width(level) / math.sqrt(max(float(variances[nearest]), 1e-300))
    lengths = Workload.log_uniform().cells(axis)
    by_length = times * np.sqrt(_mean_by_length(errors, axis.size, lengths))
    pairs = tuple(zip(lengths.tolist(), by_length.tolist(), strict=True))
    asked = noise.question
    return Offer(way, NAMES.get(way, way), asked, mean, times * math.sqrt(mean), pairs)


def grid_offers(
    axes: tuple[Axis, ...],
    cost: Cost,
    workloads: tuple[Workload, ...],
    level: float = 0.95,
    *,
    neighbours: Neighbours = "add-remove",
    rows_per_unit: int = 1,
    at_once: bool = False,
) -> tuple[Offer, ...]:
    """As `offers`, for the boxes of several axes; `by_length` is by the cells of a box.

    >>> axes = Axis.integers("x", 0, 99), Axis.integers("y", 0, 9)
    >>> [offer.way for offer in grid_offers(axes, Cost.of(1), (Workload.all_ranges(),) * 2)]
    ['shown', 'hats', 'tree', 'flat', 'adaptive', 'binary']
    """
    check_level(level)
    for axis, workload in zip(axes, workloads, strict=True):
        workload.check(axis)
    noise_of = partial(_noise, cost=cost, neighbours=neighbours, rows_per_unit=rows_per_unit)
    known = _words(axes, workloads, gaussian=False)
    found, best = _payable(axes, workloads, known, noise_of, at_once)
    offered = [_grid_offer(way, noise, workloads, level) for way, noise in found]
    return tuple(sorted(offered, key=lambda offer: (offer.question != best, offer.mean)))


@lru_cache(maxsize=128)
def _grid_offer(way: str, noise: Noise, workloads: tuple[Workload, ...], level: float) -> Offer:
    model = table_model(noise)
    mean = model.mean_over_boxes(workloads)[0]
    # A box of typical error holds the noise of many answers, which adds up to nearly normal noise.
    times = NormalDist().inv_cdf(0.5 + level / 2)
    sizes = [axis.size for axis in noise.question.space.axes]
    steps = range(max(sizes).bit_length())
    by_size = []
    for sides in dict.fromkeys(tuple(max(size >> step, 1) for size in sizes) for step in steps):
        variance = float(model.errors.box_variances(*_boxes(sizes, sides)).mean())
        by_size.append((math.prod(sides), times * math.sqrt(variance)))
    asked = noise.question
    pairs = tuple(by_size[::-1])
    return Offer(way, NAMES.get(way, way), asked, mean, times * math.sqrt(mean), pairs)


def _boxes(sizes: Sequence[int], sides: Sequence[int]) -> tuple[Ints, Ints]:
    """Some boxes of these sides, from one corner of the grid to the opposite one."""
    places = np.linspace(0, 1, _PLACES)
    starts = np.stack(
        [
            (places * (size - side)).astype(np.int64)
            for size, side in zip(sizes, sides, strict=True)
        ],
        axis=1,
    )
    return starts, starts + np.array(sides, np.int64)


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
    if noise.gaussian:
        return noise.variances[0], NormalDist().inv_cdf(0.975) * math.sqrt(noise.scales[0])
    return noise.variances[0], -float(noise.scales[0]) * math.log(0.05)
