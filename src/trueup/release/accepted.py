"""Which ratios are not ruled out: all r for which 0 lies in the interval of a − r·b.

Ratios are looked at as directions (x, y), r = y/x, so that those beyond every number are directions
too, and a denominator that may be 0 needs no case of its own. With a and b in units of their
errors, the direction at an angle t from the measured one is accepted if ρ·sin t is within the half
width of its law, ρ the length of (a, b).

Each end is found from the inside out: from the measured ratio, which is always accepted, to the
first that is ruled out. Counts are a lattice, and at simple fractions the law of a − r·b is one
too: there a half width may jump, and a ratio a little outside be accepted. So what lies beyond an
end is tried, simple fractions among it, and an end moves out to the furthest that is accepted.
Ends are the first ratios seen to be ruled out, so that they are never too near.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

Reach = Callable[[float, float], float]
Pieces = tuple[tuple[float, float], ...]

EVERYTHING: Pieces = ((-math.inf, math.inf),)
_FINE = 2e-4  # of an end's angle: how far outside of it the ratio given may lie
_BEYOND = (1.02, 1.05, 1.1, 1.2)  # of an end's angle: where gaps are looked for
_LARGEST_DENOMINATOR = 12  # finer lattices have no jump that shows
_MOST_FRACTIONS = 24
_LEAST = 1e-12  # an angle that is none: of a ratio without noise


@dataclass(frozen=True)
class Ratios:
    """The ratios of two noisy numbers a and b, with deviations above 0 as units for both.

    `reach` is the half width of the interval of x·a − y·b at the level wanted.
    """

    a: float
    b: float
    units: tuple[float, float]
    reach: Reach

    @cached_property
    def _length(self) -> float:
        return math.hypot(self.a / self.units[0], self.b / self.units[1])

    @cached_property
    def _middle(self) -> float:
        """The angle of the measured ratio, between −π/2 and π/2."""
        sign = -1.0 if self.b < 0 else 1.0
        return math.atan2(sign * self.a / self.units[0], sign * self.b / self.units[1])

    def _excess(self, angle: float) -> float:
        """How much further from 0 than noise explains, at an angle from the measured ratio."""
        at = self._middle + angle
        reach = self.reach(math.cos(at) / self.units[0], math.sin(at) / self.units[1])
        return self._length * math.sin(abs(angle)) - reach

    def _ratio(self, angle: float) -> float:
        return math.tan(self._middle + angle) * self.units[0] / self.units[1]

    def accepted(self) -> Pieces:
        """The ratios not ruled out: one interval, two rays, or all numbers."""
        above, below = math.pi / 2 - self._middle, math.pi / 2 + self._middle
        if abs(self.b) > self.reach(0.0, 1.0):
            low, high = self._end(-1.0, 0.0, below), self._end(1.0, 0.0, above)
            return ((_outward(self._ratio(-low), -1), _outward(self._ratio(high), 1)),)
        # The denominator may be 0: the nearer way to it is all accepted.
        starts = (0.0, above) if above <= below else (below, 0.0)
        high = self._end(1.0, starts[1], math.pi - starts[0])
        low = self._end(-1.0, starts[0], math.pi - high)
        first, last = _outward(self._ratio(high), 1), _outward(self._ratio(-low), -1)
        if low + high >= math.pi * (1 - 1e-9) or first >= last:
            return EVERYTHING
        return ((-math.inf, first), (last, math.inf))

    def _end(self, sign: float, start: float, top: float) -> float:
        """The angle of the end on one side, where all is accepted up to `start`; at most `top`."""

        def excess(angle: float) -> float:
            return self._excess(sign * angle)

        inside, near = start, excess(start)
        share = -near / self._length if self._length else 1.0
        step = max(math.asin(min(max(share, 0.0), 1.0)), 0.1 * start, _LEAST)
        while True:
            outside, far = inside + 0.9 * step, 0.0
            while outside < top and (far := excess(outside)) <= 0:
                inside, near = outside, far
                outside += 0.2 * step
                step *= 1.5
            if outside >= top:
                outside, far = top, excess(top)
                if far <= 0:
                    return top
            inside, outside = _between(excess, (inside, near), (outside, far))
            further = max(self._gaps(sign, outside, top), default=0.0)
            if further <= outside:
                return outside
            inside, near = further, excess(further)

    def _gaps(self, sign: float, end: float, top: float) -> Iterable[float]:
        """The accepted angles among some beyond an end."""
        for times in _BEYOND:
            if end * times < top and self._excess(sign * end * times) <= 0:
                yield end * times
        ratio = self._ratio(sign * end)
        for fraction in _fractions(self.b, ratio, self.reach(1.0, ratio), sign):
            if abs(self.a - fraction * self.b) <= self.reach(1.0, fraction):
                at = math.atan(fraction * self.units[1] / self.units[0]) - self._middle
                if end < sign * at < top:
                    yield sign * at


def _between(
    excess: Callable[[float], float], inside: tuple[float, float], outside: tuple[float, float]
) -> tuple[float, float]:
    """Two angles close together, the first accepted and the second not.

    Each is given with its excess. The next angle tried is a little to that side of where a straight
    line meets 0 that leaves the shorter bracket; every third time it is the middle.
    """
    (low, near), (high, far) = inside, outside
    for turn in range(200):
        width, fine = high - low, _FINE * high
        if width <= fine or high <= _LEAST:
            break
        at = low + width / 2
        if turn % 3 < 2 and far > near:
            meets = low + width * -near / (far - near)
            at = meets - 0.4 * fine if meets - low > high - meets else meets + 0.4 * fine
            at = min(max(at, low + 0.01 * width), high - 0.01 * width)
        over = excess(at)
        if over <= 0:
            low, near = at, over
        else:
            high, far = at, over
    return low, high


def _fractions(b: float, ratio: float, reach: float, sign: float) -> list[float]:
    """Simple fractions just beyond a ratio: a − r·b lies less than a step of their lattice out."""
    found: list[float] = []
    if not b or not math.isfinite(ratio):
        return found
    for denominator in range(1, _LARGEST_DENOMINATOR + 1):
        room = (1 / denominator + 0.05 * reach) / abs(b)
        ends = sorted((ratio, ratio + sign * room))
        first, last = math.ceil(ends[0] * denominator), math.floor(ends[1] * denominator)
        some = range(first, min(last, first + _MOST_FRACTIONS) + 1)
        found += [number / denominator for number in some]
    return list(dict.fromkeys(found))[:_MOST_FRACTIONS]


def _outward(ratio: float, sign: int) -> float:
    """A little further out than the ratio: angles and their tangents are rounded."""
    return ratio + sign * (4e-13 * abs(ratio) + 5e-324)
