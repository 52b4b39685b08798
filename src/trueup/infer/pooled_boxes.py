"""The error of every box of a quadtree that was asked adaptively: honest, though boxes were chosen.

Counts go down the quadtree, the boxes in a box moved alike until they sum to it; inside a pooled
box they are spread evenly. Let f(c) be the part of box c that lies in the box asked for. Then the
answer of c counts for f(c) − f(its parent), whatever was asked below it. So there are two errors:

*Noise.* Had everything been asked, it would be a sum S of known law. What was left out is symmetric
whatever was asked, so that it takes S nearer to zero at most half of the time: the noise of what
was asked is beyond t with at most twice the chance of S.

*What lies inside.* Inside a pooled box the truth need not lie evenly. It is not negative and adds
up to the box's count, of which the total of its run tells, with noise of its own. That noise chose
nothing: given all that was asked, its law is known.

Three quarters of the chance to fail are for the first, a quarter is for the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask import AdaptiveBoxCounts
from trueup.coefficient_classes import law_of
from trueup.infer.lattice import LatticeErrors, TableErrors
from trueup.law import Combination, NoiseLaw
from trueup.noise import noise_variance

_RUNS = 4.0  # the part of the chance to fail that is for what lies inside runs: one in so many
_NOISE = 2 / (1 - 1 / _RUNS)  # of twice the chance of what would have been asked, one in so many


@dataclass(frozen=True, eq=False)
class PooledBoxErrors(TableErrors):
    """The error of boxes; `levels` and `scales` as of the question's tree in nested order."""

    question: AdaptiveBoxCounts
    levels: tuple[int, ...]
    scales: tuple[Fraction, ...]
    law: str = "discrete"
    pooled = True

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.question.boxes.sizes

    @cached_property
    def _lattice(self) -> LatticeErrors:
        boxes = self.question.boxes
        return LatticeErrors(boxes.widths, boxes.levels, self.scales[: len(self.levels)], self.law)

    @cached_property
    def _each(self) -> Floats:
        """For each level the variance of an answer over the cells of a box."""
        widths = self.question.boxes.widths
        cells = [
            math.prod(own[at] for own, at in zip(widths, levels, strict=True))
            for levels in self._lattice.levels
        ]
        own = [noise_variance(scale, self.law) for scale in self._lattice.scales]
        return np.array(own) / np.array(cells)

    def _values(self, combination: Combination) -> Floats:
        """How often each cell counts in a combination of boxes, in nested order."""
        return self.values(combination).ravel()[self.question.order]

    def variance_of_several(self, combination: Combination) -> float:
        # As it would be, had everything been asked: so are those of single boxes.
        scales = self._lattice.scales
        parts = zip(self._coefficients(self._values(combination)), scales, strict=True)
        return sum(float(own @ own) * noise_variance(scale, self.law) for own, scale in parts)

    def box_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each box, had everything been asked; one column an axis."""
        low, high = np.asarray(starts, np.int64), np.asarray(stops, np.int64)
        sides = [self._lengths(axis, low[:, axis], high[:, axis]) for axis in range(low.shape[1])]
        lengths = np.stack([np.prod(each, axis=0) for each in zip(*sides, strict=True)])
        return np.maximum(self._each @ np.diff(lengths, axis=0, prepend=0.0), 0.0)

    def product_variances(self, cuts: Sequence[Ints]) -> Floats:
        """The same of all boxes between neighbouring cuts of each axis."""
        ends = [np.asarray(each, np.int64) for each in cuts]
        sides = [self._lengths(axis, own[:-1], own[1:]) for axis, own in enumerate(ends)]
        found, before = np.zeros([len(own) - 1 for own in ends]), np.zeros(())
        for variance, each in zip(self._each, zip(*sides, strict=True), strict=True):
            lengths = np.ones(())
            for own in each:
                lengths = np.multiply.outer(lengths, own)
            found += variance * np.maximum(lengths - before, 0.0)
            before = lengths
        return found

    def _lengths(self, axis: int, starts: Ints, stops: Ints) -> list[Floats]:
        """For each level asked the squared lengths of ranges of an axis, evened in its nodes."""
        all_levels = np.cumsum(self._lattice.energies(axis, starts, stops), axis=-1)
        return [all_levels[:, levels[axis]] for levels in self._lattice.levels]

    def _means(self, values: Floats, level: int) -> Floats:
        """f of every box of a level of the tree."""
        return values.reshape(self.question.nested.shape.length(level), -1).mean(axis=1)

    def _coefficients(self, values: Floats) -> list[Floats]:
        """What the answer of each box counts for, level by level, had everything been asked."""
        found, above = [], np.zeros(1)
        for level in self.levels:
            own = self._means(values, level)
            found.append(own - np.repeat(above, len(own) // len(above)))
            above = own
        return found

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of boxes, with what makes it honest."""
        values = self._values(combination)
        coefficients = self._coefficients(values)
        paths = law_of(coefficients, self._lattice.scales, self.law)
        if not any(own.any() for own in coefficients[1:]):  # between boxes of the first level
            return paths
        inside, open_ = self._inside(values)
        return replace(paths, among=_NOISE, left_open=open_, open_noise=inside)

    def _inside(self, values: Floats) -> tuple[NoiseLaw | None, float]:
        """What the truth inside pooled boxes can add: the law of its noise, and the rest."""
        asked, pooled = self.question.nested, self.question.pooled
        parts, scales, left_open = [], [], 0.0
        for number, level in enumerate(self.levels[:-1]):
            if pooled is None or not len(pooled.runs[level][0]):
                continue
            cells = values.reshape(asked.shape.length(level), -1)
            mean = cells.mean(axis=1)
            most = np.maximum(cells.max(axis=1) - mean, mean - cells.min(axis=1))
            both = np.stack(pooled.runs[level], axis=1).ravel()  # starts and ends, in turn
            own = np.maximum.reduceat(np.append(most, 0.0), both)[::2]
            left_open += float(own @ np.maximum(pooled.totals[level], 0))
            parts.append(own)
            scales.append(self.scales[len(self.levels) + number])
        if not any(own.any() for own in parts):
            return None, 0.0
        return replace(law_of(parts, scales, self.law), among=_RUNS), left_open

    def half_widths_between(self, cuts: Sequence[Ints], level: float) -> Floats:
        """The half width of the interval of each box between neighbouring cuts, for a map.

        What lies inside is that of each box. Noise reaches as many standard errors as in the two
        boxes whose intervals reach the most and the least of the map, whichever is more.
        """
        spread = np.sqrt(self.product_variances(cuts))
        places = np.unravel_index([spread.argmax(), spread.argmin()], spread.shape)
        some = [self._noise_of(cuts, place) for place in zip(*places, strict=True)]
        reach = [(law.half_width(level), law.variance**0.5) for law in some]
        found = spread * max(wide / each if each else 0.0 for wide, each in reach)
        return found + self._open_between(cuts, level).reshape(spread.shape)

    def _noise_of(self, cuts: Sequence[Ints], place: Sequence[int]) -> NoiseLaw:
        """The law of the noise in one box between cuts."""
        ends = [(int(own[at]), int(own[at + 1])) for own, at in zip(cuts, place, strict=True)]
        coefficients = self._coefficients(self._values(((ends, 1.0),)))
        paths = law_of(coefficients, self._lattice.scales, self.law)
        return replace(paths, among=_NOISE)

    def _open_between(self, cuts: Sequence[Ints], level: float) -> Floats:
        """What the truth inside pooled boxes can add to each box between cuts, with its noise."""
        pooled, asked = self.question.pooled, self.question.nested
        number = math.prod(len(own) - 1 for own in cuts)
        left_open, parts = np.zeros(number), [np.zeros((3, 0))]
        if pooled is None:
            return left_open
        labels = self._labels(cuts)[self.question.order]
        for at, level_of in enumerate(self.levels[:-1]):
            starts, stops = pooled.runs[level_of]
            nodes = np.concatenate(
                [np.arange(a, b) for a, b in zip(starts, stops, strict=True)] or [starts]
            )
            cells = labels.reshape(asked.shape.length(level_of), -1)[nodes]
            keys = np.arange(len(nodes))[:, None] * (number + 1) + cells
            pairs, many = np.unique(keys, return_counts=True)
            node, box = np.divmod(pairs, number + 1)
            cut = (box < number) & (many < cells.shape[1])  # boxes that lie in a part of a node
            inside = many[cut] / cells.shape[1]
            run = np.repeat(np.arange(len(starts)), stops - starts)[node[cut]]
            found, which = np.unique(run * number + box[cut], return_inverse=True)
            own = np.zeros(len(found))
            np.maximum.at(own, which, np.maximum(inside, 1 - inside))
            run, box = np.divmod(found, number)
            np.add.at(left_open, box, own * np.maximum(pooled.totals[level_of], 0)[run])
            scale = float(self.scales[len(self.levels) + at])
            parts.append(np.stack([box, own, np.full(len(own), scale)]))
        return left_open + self._noise_inside(np.concatenate(parts, axis=1), number, level)

    def _noise_inside(self, parts: Floats, number: int, level: float) -> Floats:
        """The reach of the noise of what lies inside: parts are boxes, coefficients and scales."""
        found, known = np.zeros(number), dict[bytes, float]()
        parts = parts[:, np.lexsort(parts[::-1])]
        for one in np.split(parts, np.flatnonzero(np.diff(parts[0])) + 1, axis=1):
            if not one.size:
                continue
            coefficients, scales = one[1].copy(), one[2].copy()
            key = coefficients.tobytes() + scales.tobytes()
            if key not in known:
                law = NoiseLaw(coefficients, scales, np.ones(len(scales)), self.law, among=_RUNS)
                known[key] = law.half_width(level)
            found[int(one[0, 0])] = known[key]
        return found

    def _labels(self, cuts: Sequence[Ints]) -> Ints:
        """The number of the box between cuts in which each cell lies; their number for none."""
        found, inside = np.zeros((), np.int64), np.ones((), bool)
        for own, size in zip(cuts, self.question.boxes.sizes, strict=True):
            at = np.searchsorted(own, np.arange(size), side="right") - 1
            found = np.add.outer(found * (len(own) - 1), at)
            inside = np.logical_and.outer(inside, (at >= 0) & (at < len(own) - 1))
        return np.where(inside, found, math.prod(len(own) - 1 for own in cuts)).ravel()
