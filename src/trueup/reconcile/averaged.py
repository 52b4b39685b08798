"""Adaptive trees together with whatever else was asked of the same axis: a mean by fixed weights.

Least squares over all noisy answers would weigh them by what was asked, and noise had a say in
that: its errors would be told too small. So each adaptive tree is first answered by itself, in its
own honest way; the others are put together by least squares. The release is the mean of these, by
weights that follow from the questions and their costs alone. Its error is the same mean of
independent errors. Each of them has an honest law, and so has their sum.

A known total moves all counts alike, by shares of the tree that are known beforehand too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.tree.prefix import prefix_on_grid
from trueup.arrays import Floats
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.facts import Facts
from trueup.infer.adaptive_errors import (
    ALL_THE_WAY,
    OTHER_WAYS,
    RUNS,
    SLIP,
    PathErrors,
    rough_reach,
)
from trueup.infer.model import axis_model
from trueup.intervaltree import IntervalTree
from trueup.law import Combination, Law, NoiseLaw, RangeErrors, added, product, times
from trueup.measurement import Measurement
from trueup.release import Release

Part = Release | Measurement

_ALL_THE_WAY, _OTHER_WAYS = 2.0, 4.0  # parts of the chance to fail, of a mean: one in so many
_PLACES = 16  # ranges of each length that are looked at for the weights


@dataclass(frozen=True, eq=False)
class AveragedErrors(RangeErrors):
    """The error of ranges of a mean of releases with independent noise, each with its weight.

    `paths` are the errors of adaptive trees, `others` those of least squares over everything else.
    Where the total is known, `shares` says which part of what it moves is that of the cells before
    each. `prefix` are the prefix sums of the mean, where they are there.
    """

    paths: tuple[PathErrors, ...]
    others: RangeErrors | None
    weights: tuple[float, ...]
    shares: Floats | None
    prefix: Floats | None = None
    alike = False
    pooled = True

    @property
    def _each(self) -> list[tuple[RangeErrors, float]]:
        every = [*self.paths, *([] if self.others is None else [self.others])]
        return list(zip(every, self.weights, strict=True))

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.paths[0].question.tree.shape.size

    def given(self, prefix: Floats) -> AveragedErrors:
        """The errors of counts with these prefix sums."""
        return replace(self, prefix=prefix)

    def _moved(self, combination: Combination) -> Combination:
        """The combination of the mean as one of what it was before the total was known."""
        if self.shares is None:
            return combination
        part = sum(c * float(self.shares[b] - self.shares[a]) for (a, b), c in combination)
        return (*combination, ((0, self.size), -part))

    def variance(self, combination: Combination) -> float:
        """The variance of the noise in a combination of ranges."""
        moved = self._moved(combination)
        return sum(weight**2 * errors.variance(moved) for errors, weight in self._each)

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of the noise in each range [start, stop) of cells."""
        first, end = (np.atleast_1d(np.asarray(ends, np.int64)) for ends in (starts, stops))
        if self.shares is None:
            each = [w**2 * errors.range_variances(first, end) for errors, w in self._each]
            return np.asarray(np.sum(each, axis=0))
        pairs = zip(first.tolist(), end.tolist(), strict=True)
        return np.array([self.variance(((pair, 1.0),)) for pair in pairs])

    def noise_law(self, combination: Combination) -> Law:
        """The law of the error of a combination of ranges, with what makes it honest."""
        moved = self._moved(combination)
        paths = [errors.by_paths(moved) for errors in self.paths]
        laws: list[Law] = [law for law, _ in paths]
        if self.others is not None:
            laws.append(self.others.noise_law(moved))
        found = added([times(law, w) for law, w in zip(laws, self.weights, strict=True)])
        open_to_noise = [law.among for law, _ in paths if law.slip]
        if not isinstance(found, NoiseLaw) or not open_to_noise:
            return found
        among = _shared(open_to_noise, any(stopped for _, stopped in paths))
        found = replace(found, among=among, unclear=among)
        # A tree of which only one way is left to end has given all of its chance to that.
        runs = self._by_runs(combination) if len(open_to_noise) == len(self.weights) else None
        return found if runs is None or rough_reach(found) < rough_reach(runs) else runs

    def _by_runs(self, combination: Combination) -> NoiseLaw | None:
        """The law of the error of a range that each tree pooled as a whole; None for any other.

        Every tree bounds the true count by its runs, and so does the mean of these bounds.
        """
        if self.prefix is None or self.others is not None or len(combination) != 1:
            return None
        ((start, stop), factor) = combination[0]
        known = []
        for errors in self.paths:
            bounds = errors.by_runs(start, stop)
            if bounds is None:
                return None
            known.append(bounds)
        mean = [w * np.array(each[:2]) for each, w in zip(known, self.weights, strict=True)]
        least, most = np.sum(mean, axis=0)
        value = float(self.prefix[stop] - self.prefix[start])
        laws = [times(law, factor * w) for (_, _, law), w in zip(known, self.weights, strict=True)]
        law = added(laws)
        assert isinstance(law, NoiseLaw)
        left_open = abs(factor) * max(value - least, most - value, 0.0)
        slip = SLIP * len(self.paths)
        return replace(law, among=RUNS, unclear=RUNS, slip=slip, left_open=float(left_open))

    @cached_property
    def tree(self) -> tuple[IntervalTree, tuple[float, ...]]:
        """The tree by which counts for people are handed down, and the variances of its levels."""
        shape = self.paths[0].question.tree.shape
        starts = [shape.starts(level) for level in range(shape.height)]
        first = [int(each[len(each) // 2]) for each in starts]
        after = [int(np.append(each, shape.size)[len(each) // 2 + 1]) for each in starts]
        each = self.range_variances(first, after)
        least = float(each[each > 0].min(initial=1.0)) * 1e-18
        return shape, tuple(float(max(variance, least)) for variance in each)


def _shared(among: Sequence[float], stopped: bool) -> float:
    """Among how many the law of a mean is one, from those of the trees whose ways noise chose.

    Half of the chance to fail is for paths that all go all the way down, a quarter is shared by the
    other ways, of which one path `stopped` at least, a quarter is for runs. A set of ways, one of
    each tree, has a part of that quarter as the product of theirs: of a tree, 1/4 is all the way
    and 1/2 are the others.
    """
    if not stopped:
        return _ALL_THE_WAY
    one = 1 / ALL_THE_WAY
    others: float = (one + 1 / OTHER_WAYS) ** len(among) - one ** len(among)
    return product([*among, others * _OTHER_WAYS])


LeastSquares = Callable[[Sequence[Facts]], tuple[Axis, RangeErrors]]


def averaged_errors(
    facts: Sequence[Facts], least_squares: LeastSquares, pinned: bool
) -> tuple[Axis, AveragedErrors]:
    """The axis that all parts share, and the errors of their mean."""
    models = [axis_model(each.noise) for each in facts]
    plain = [each for each, model in zip(facts, models, strict=True) if not model.adaptive]
    trees = [model for model in models if model.adaptive]
    axis = trees[0].axis
    axes, others = [model.axis for model in trees], None
    if plain:
        own, others = least_squares(plain)
        axes.append(own)
    if any(each != axis for each in axes):
        raise InputError(
            "An adaptive tree is combined with counts of the same cells: these have finer cells "
            "and coarser ones. Combine what was asked of the same levels."
        )
    paths = [model.errors for model in trees]
    before = [axis_model(replace(m.noise, question=m.noise.question.anew)).errors for m in trees]
    weights = _weights([*before, *([] if others is None else [others])], axis.size)
    known = tuple(each for each in paths if isinstance(each, PathErrors))
    shares = _shares(known[0]) if pinned else None
    return axis, AveragedErrors(known, others, weights, shares)


def _weights(every: Sequence[RangeErrors], size: int) -> tuple[float, ...]:
    """The weight of each release: what it is worth before anything is asked.

    By the geometric mean of the variances of ranges of all lengths. One weight for all ranges
    keeps sums adding up.
    """
    lengths = 2 ** np.arange(int(np.log2(size)) + 1)
    starts = [np.linspace(0, size - length, _PLACES).astype(np.int64) for length in lengths]
    stops = [first + length for first, length in zip(starts, lengths, strict=True)]
    ends = np.concatenate(starts), np.concatenate(stops)
    worth = [np.exp(-np.mean(np.log(errors.range_variances(*ends)))) for errors in every]
    return tuple(float(each / sum(worth)) for each in worth)


def _shares(errors: PathErrors) -> Floats:
    """Which part of what moves the total is that of the cells before each: siblings move alike."""
    shape = errors.question.shape
    part = np.full(shape.length(errors.levels[0]), 1 / shape.length(errors.levels[0]))
    for above, below in pairwise(errors.levels):
        first = np.searchsorted(shape.starts(below), shape.starts(above))
        children = np.diff(np.append(first, shape.length(below)))
        part = np.repeat(part / children, children)
    shares = np.concatenate([[0.0], np.cumsum(part)])
    shares[-1] = 1.0
    return shares


def averaged(
    parts: Sequence[Part], errors: AveragedErrors, others: Release | None, total: float | None
) -> Floats:
    """The prefix sums of the mean of adaptive parts and of the others, put together."""
    own = [unbiased_of(part).prefix for part in parts]
    every = [*own, *([] if others is None else [others.prefix])]
    prefix = np.average(np.array(every, np.float64), axis=0, weights=errors.weights)
    if total is not None:
        assert errors.shares is not None
        prefix = prefix + (total - prefix[-1]) * errors.shares
    found = prefix_on_grid(np.diff(prefix))
    if total is not None:
        found[-1] = total
    return found


def shown_mean(
    parts: Sequence[Part], errors: AveragedErrors, others: npt.NDArray[Any] | None
) -> Floats:
    """The mean of the counts that adaptive parts show, and of those of the others: nothing
    negative."""
    own = [_shown(part) for part in parts]
    every = [*own, *([] if others is None else [others])]
    return np.average(np.array(every, np.float64), axis=0, weights=errors.weights)


def unbiased_of(part: Part) -> Release:
    """The unbiased release of a part."""
    from trueup.infer.display import Wish

    if isinstance(part, Release):
        return part.unbiased
    found: Release = axis_model(part.noise).release(part, Wish(False, False))
    return found


def _shown(part: Part) -> Floats:
    """The non-negative counts of a part: its own, where it shows them."""
    model = axis_model(part.facts.noise)
    if isinstance(part, Measurement):
        return model.large_first(part.noisy)
    if part.unbiased is not part and (np.diff(part.prefix) >= 0).all():
        return part.counts().astype(np.float64)
    return model.large_first(model.answers_of(part.unbiased.prefix))
