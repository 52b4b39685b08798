"""How far the intervals of ranges reach, found in a moment where an exact law takes time.

A law of hats takes time in the number of cells. But the exact intervals of ranges of about one
length reach about the same number of standard errors. So the widest of a few of them, and some
more, stands for all; where those few are not alike, each range is looked at by itself.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

import numpy as np

from trueup.arrays import Bools, Floats, Ints
from trueup.law import RangeErrors
from trueup.release.intervals import reaches

MOST_WORK = 1 << 23
"""Cells × laws: what the intervals of one request may take."""
SLOW = 1 << 10
"""Cells from which on a law is not found anew for every range."""
FEW = 8
"""Laws that stand for all of about one length."""
ALIKE = 0.02
"""How much wider the widest of them may be than the least."""
LONGEST = 7
"""Lengths of 2**LONGEST cells and more are one class; shorter ones are classed by powers of two."""
_MOST_KEPT = 200  # classes and levels that are remembered


@dataclass(frozen=True, eq=False)
class Reach:
    """The reach of intervals by the errors of one release over `size` cells."""

    errors: RangeErrors
    size: int
    _times: dict[tuple[int, float], float | None] = field(default_factory=dict, repr=False)

    def of(self, starts: Ints, stops: Ints, spread: Floats, level: float) -> tuple[Floats, Bools]:
        """How far the interval of each [start, stop) reaches, and whether that is exact.

        `spread` are their standard errors.
        """
        errors = self.errors
        exact = np.ones(len(starts), np.bool_)
        if errors.work <= SLOW or not errors.alike:
            if errors.work * len(starts) <= MOST_WORK:
                return errors.half_widths(starts, stops, level), exact
            return self._roughly(starts, stops, level)
        classes = _classes(stops - starts)
        wanted = [each for each in np.unique(classes).tolist() if (each, level) not in self._times]
        if errors.work * FEW * len(wanted) > MOST_WORK:
            return self._roughly(starts, stops, level)
        known = {each: self._kept(each, level) for each in set(classes.tolist())}
        exact = np.array([known[each] is None for each in classes.tolist()], np.bool_)
        times = np.array([known[each] or 0.0 for each in classes.tolist()])
        reach = times * spread
        if exact.any():
            if errors.work * int(exact.sum()) > MOST_WORK:
                return self._roughly(starts, stops, level)
            reach[exact] = errors.half_widths(starts[exact], stops[exact], level)
        return reach, exact

    def _kept(self, each: int, level: float) -> float | None:
        """As `_found`, remembered."""
        with contextlib.suppress(KeyError):
            return self._times[each, level]
        if len(self._times) > _MOST_KEPT:
            self._times.clear()
        found = self._times[each, level] = self._found(each, level)
        return found

    def _roughly(self, starts: Ints, stops: Ints, level: float) -> tuple[Floats, Bools]:
        """By the laws of a few of these ranges themselves."""
        few = 2 if self.errors.work > MOST_WORK >> LONGEST else FEW
        found = reaches(self.errors, starts, stops, level, few)
        return found, np.zeros(len(starts), np.bool_)

    def _found(self, each: int, level: float) -> float | None:
        """How many standard errors ranges of a class reach at most; None if they are not alike.

        Looked at from the first cell to the last, at places that fall together with no stride.
        """
        longest = self.size if each == LONGEST else min((2 << each) - 1, self.size)
        lengths = np.geomspace(1 << each, longest, FEW).round().astype(np.int64)
        place = np.arange(FEW) * (5**0.5 - 1) / 2 % 1
        place[-1] = 1.0
        starts = (place * (self.size - lengths)).astype(np.int64)
        spread = np.sqrt(self.errors.range_variances(starts, starts + lengths))
        if spread.min() <= 0:
            return None
        times = self.errors.half_widths(starts, starts + lengths, level) / spread
        least, most = float(times.min()), float(times.max())
        return None if most > (1 + ALIKE) * least else most + (most - least) / 2


def _classes(lengths: Ints) -> Ints:
    """The class of each length: the power of two under it."""
    found = np.frexp(np.maximum(lengths, 1).astype(np.float64))[1] - 1
    return np.minimum(found, LONGEST).astype(np.int64)
