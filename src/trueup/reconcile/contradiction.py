"""Whether parts can be of the same data: what they say of the same counts must differ by noise.

Parts that differ by more than chance allows, but for one time in a million, are refused: least
squares would give their mean, which is the count of nothing. Over an axis, the counts of all, of
its halves, quarters and so on are compared, by the exact law of the difference of two of them;
the chances are added up. Of named counts, each is compared with what all together make of it, by a
bound that holds for Laplace noise, whole or not, and for noise of lighter tails.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.law import added, times
from trueup.release import Release
from trueup.release.wording import written

BY_CHANCE = 1e-6
"""How often parts of the same data are refused, at most."""

_ODDS = "but for one time in a million"
_MOST_CELLS = 2048  # into which an axis is cut for the comparison
_FEW_CELLS = 256  # the same where cells are on a disk: each is a page to be read
_LOOKED_AT = 4  # ranges that differ the most, for which the exact law is worked out


@dataclass(frozen=True, eq=False)
class Compared:
    """A release to be compared, and where its cells begin on the axis that all share.

    None where its cells are those of the axis, too many to be listed.
    """

    release: Release
    first_cells: Ints | None

    def places(self, edges: Ints) -> Ints:
        """How many of its cells lie before each edge."""
        return edges if self.first_cells is None else np.searchsorted(self.first_cells, edges)


def check_agree(axis: Axis, parts: Sequence[Compared], known_total: float | None) -> None:
    """Refuses parts over one axis that contradict each other, or the total that is known."""
    number = max(len(parts) * (len(parts) - 1) // 2 + len(parts) * (known_total is not None), 1)
    for (i, one), (j, other) in combinations(enumerate(parts, start=1), 2):
        _check_pair(axis, (i, one), (j, other), BY_CHANCE / number)
    if known_total is None:
        return
    for i, part in enumerate(parts, start=1):
        total = part.release.unbiased.total()
        most = total.noise_law.half_width(1 - BY_CHANCE / number)
        gap = abs(total.value - known_total)
        if gap > most * (1 + 1e-9) + 1e-6:
            raise InputError(
                f"Part {i} contradicts the known total: it counts {written(total.value)}, not "
                f"{written(known_total)}. They differ by {written(gap)}; noise explains at most "
                f"{written(most)}, {_ODDS}. Check the total, or leave the part out."
            )


def _check_pair(
    axis: Axis, first: tuple[int, Compared], second: tuple[int, Compared], chance: float
) -> None:
    (i, one), (j, other) = first, second
    starts, stops = _halves(_shared(one, other, axis.size), axis.size)
    counts, variances, cells = [], [], []
    for part in (one, other):
        ends = [part.places(side) for side in (starts, stops)]
        own = part.release.unbiased
        counts.append(own.prefix[ends[1]] - own.prefix[ends[0]])
        variances.append(own.errors.range_variances(*ends))
        cells.append(ends)
    gaps = np.abs(counts[0] - counts[1]).astype(np.float64)
    apart = gaps / np.sqrt(np.maximum(variances[0] + variances[1], 1e-300))
    for place in np.argsort(-apart)[:_LOOKED_AT].tolist():
        laws = [
            part.release.errors.noise_law((((int(a[place]), int(b[place])), sign),))
            for part, (a, b), sign in zip((one, other), cells, (1.0, -1.0), strict=True)
        ]
        most = added([times(law, 1.0) for law in laws]).half_width(1 - chance / len(starts))
        if gaps[place] > most * (1 + 1e-9) + 1e-6:
            where = f"{axis.name} {axis.words(int(starts[place]), int(stops[place]))}"
            one_count, other_count = (written(float(each[place])) for each in counts)
            raise InputError(
                f"Parts {i} and {j} contradict each other: of {where} they count {one_count} and "
                f"{other_count}. They differ by {written(gaps[place])}; noise explains at most "
                f"{written(most)}, {_ODDS}. They are not of the same data. For the change between "
                f"two releases subtract them: second.total() - first.total()."
            )


def _shared(one: Compared, other: Compared, size: int) -> Ints:
    """Edges at which cells of both begin; of cells that are not listed, some."""
    if one.first_cells is None or other.first_cells is None:
        return np.arange(0, size, -(-size // _FEW_CELLS))
    return np.intersect1d(one.first_cells, other.first_cells)


def _halves(edges: Ints, size: int) -> tuple[Ints, Ints]:
    """All of an axis, its halves, quarters and so on, between edges that parts have in common."""
    cuts = np.append(edges, size)
    while len(cuts) - 1 > _MOST_CELLS:
        cuts = np.unique(np.append(cuts[::2], size))
    starts, stops = [], []
    while True:
        starts.append(cuts[:-1])
        stops.append(cuts[1:])
        if len(cuts) == 2:
            return np.concatenate(starts), np.concatenate(stops)
        cuts = np.unique(np.append(cuts[::2], size))


def check_named(
    names: Sequence[str], given: Sequence[tuple[int, float, float]], fitted: Floats
) -> None:
    """Refuses a count, given as (place, value, variance), that the others contradict."""
    if not given:
        return
    places = np.array([place for place, _, _ in given])
    values, variances = (np.array(each, np.float64) for each in list(zip(*given, strict=True))[1:])
    off = np.abs(values - fitted[places])
    worst = int(np.argmax(off / np.sqrt(variances)))
    most = most_by_chance(float(variances[worst]), BY_CHANCE / len(given))
    if off[worst] > most * (1 + 1e-9) + 1e-9 * abs(values[worst]):
        name = names[places[worst]]
        raise InputError(
            f"These counts contradict each other: {name!r} is given as {written(values[worst])}, "
            f"and all together make it {written(float(fitted[places[worst]]))}. They differ by "
            f"{written(off[worst])}; noise explains at most {written(most)}, {_ODDS}. Check the "
            f"counts, their variances and the constraints: they are not of the same data."
        )


def most_by_chance(variance: float, chance: float) -> float:
    """How far noise of a variance goes, but for this chance.

    By Chernoff's bound: 1 / (1 − v(cosh t − 1)) is at least the moment generating function of any
    sum of c·X with |c| ≤ 1 and variance v in all, where the X are discrete Laplace, Laplace or
    normal.
    """
    limit = math.acosh(1 + 1 / variance)
    t = limit * np.linspace(0.02, 0.9999, 400)
    room = math.log(2 / chance) - np.log1p(-variance * (np.cosh(t) - 1))
    return float(np.min(room / t))


def blocks_given(blocks: Sequence[tuple[list[int], Any, Any]]) -> list[tuple[int, float, float]]:
    """The counts of releases as (place, value, variance)."""
    return [
        (place, float(value), float(variance))
        for places, values, covariance in blocks
        for place, value, variance in zip(places, values, np.diag(covariance), strict=True)
        if variance > 0
    ]
