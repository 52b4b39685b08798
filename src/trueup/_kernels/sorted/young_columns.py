"""Columns of the Young diagram: strips counted from the left until rows pay better.

The true counts are read in `_strip` alone, which gives them away only with noise added; which row
it has passed is its own bookmark. All that is decided follows from what was found.
"""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import compiled, inlined
from trueup.arrays import Floats, Ints

WIDTH = 2.5  # strips of 2.5 b λ^(−1/3), λ rows ending per b: found by simulation, near-flat optimum
BEND = 1.3  # strips narrow enough for a curve that bends as far as it has come
STAKE = 64.0  # b² that a strip may lose if all its rows end in one place
REINVEST = 4.0  # part of the savings that a strip may stake beyond that
CORNER = 10.0  # b² that a turn from columns to rows costs
PROVEN = 200.0  # b² of savings after which twice as many strips are in view
ROUGH = 8  # strips over which roughness is judged


@compiled
def _strip(rising: Ints, passed: int, left: int, right: int, noise: int) -> tuple[int, int]:
    """The noisy number of cells between two columns, and the first row that goes on.

    Rows before `passed` end left of the strip.
    """
    while passed < rising.size and rising[passed] <= left:
        passed += 1
    cells = 0
    while passed < rising.size and rising[passed] < right:
        cells += rising[passed] - left
        passed += 1
    return cells + (rising.size - passed) * (right - left) + noise, passed


@inlined
def stake(saved: float) -> float:
    """What a strip may lose, in b²: some, and part of what was saved."""
    return STAKE + REINVEST * max(saved, 0.0)


# What a columns stretch remembers between calls, in one array of numbers.
PASSED, SEEN, SPREAD, RATE, SAVED, OLDER, NEWER = range(7)


@compiled
def _roughness(edges: Ints, found: Ints, strips: int, b: float) -> float:
    """How many rows end together, by the third differences of neighbouring strips; at least 1."""
    number = min(ROUGH, strips - 3)
    if number < 3:
        return 1.0
    rough, noise, fall = 0.0, 0.0, 0.0
    value, weight = np.empty(4), np.empty(4)
    for i in range(strips - number, strips):
        for j in range(4):
            width = edges[i - 2 + j] - edges[i - 3 + j]
            value[j] = found[i - 3 + j] / width
            weight[j] = 1.0 / width**2
        rough += (value[0] - 3 * value[1] + 3 * value[2] - value[3]) ** 2
        noise += 2 * b * b * (weight[0] + 9 * weight[1] + 9 * weight[2] + weight[3])
        fall += (value[0] - value[3]) / 3
    if fall <= 1:
        return 1.0
    return max(1.0, (rough - noise) / (18 * fall))


@compiled
def count_strips(
    rising: Ints,
    start: int,
    b: float,
    before: float,
    flat_until: float,
    noise: Ints,
    edges: Ints,
    found: Ints,
    sums: Floats,
    strips: int,
    state: Floats,
) -> tuple[int, int, bool]:
    """Counts strips until columns no longer pay; how many, noise used, and whether that is all.

    `before` columns lie between the first edge and where the curve is known to have begun; up to
    `flat_until` no row is expected to end. `sums` are the running sums of `found`.
    """
    rows = rising.size - start
    used = 0
    passed = max(int(state[PASSED]), start)
    seen, spread, rate, saved = state[SEEN], state[SPREAD], state[RATE], state[SAVED]
    older, newer = int(state[OLDER]), int(state[NEWER])
    first = edges[0]
    finished = False
    while not finished and used < noise.size and strips + 1 < edges.size:
        at = edges[strips]
        guess = min(max(seen + spread, 1.0), float(rows))
        rough = _roughness(edges, found, strips, b)
        width = WIDTH * b * (1 / (rough * rate * b)) ** (1 / 3)
        width = min(width, np.sqrt(1 + stake(saved) / guess * b * b))
        bend = at - first + before + 1
        width = min(width, BEND * (bend * bend * b / guess) ** (1 / 3))
        wide = max(1, int(width + 0.5))
        found[strips], passed = _strip(rising, passed, at, at + wide, noise[used])
        sums[strips + 1] = sums[strips] + found[strips]
        used += 1
        strips += 1
        at += wide
        edges[strips] = at
        back = max(strips - 2, 0)
        last = seen
        seen = min(max((sums[strips] - sums[back]) / (at - edges[back]), 0.0), float(rows))
        spread = np.sqrt(2.0 * (strips - back)) * b / (at - edges[back])
        if seen <= 1.5 and spread <= 1.5:
            finished = True
            continue
        # What isotonic rows would have lost here, and what a strip wider than a column may lose.
        fell = max(last - seen - spread, 0.0)
        units = wide / b
        saved += min(1.03 * fell ** (1 / 3) * units ** (2 / 3), 2 * fell)
        saved -= min(0.2 * fell * (units * units - 1 / (b * b)), max(saved, 0.0))
        rate = max(seen, 1.0) / (at - first + before + 1)
        # The fall between the halves of the strips in view.
        longer = 1 + min(max(saved, 0.0) / PROVEN, 1.0)
        view = longer * max(3 * units, 3.25 * units ** (1 / 3)) * b
        while at - edges[older] > view and older < strips - 2:
            older += 1
        while newer < strips - 1 and (
            newer <= older or at - edges[newer] > (at - edges[older]) / 2
        ):
            newer += 1
        if newer > older:
            late, early = at - edges[newer], edges[newer] - edges[older]
            apart = (late + early) / 2
            fall = (sums[newer] - sums[older]) / early - (sums[strips] - sums[newer]) / late
            unsure = 2 * (strips - newer) / late**2 + 2 * (newer - older) / early**2
            unsure = np.sqrt(unsure) * b
            rate = min(rate, (max(fall, 0.0) + 2 * unsure) / apart)
            finished = at >= flat_until + view and fall * wide < apart + unsure * wide
    state[PASSED], state[SEEN], state[SPREAD] = passed, seen, spread
    state[RATE], state[SAVED], state[OLDER], state[NEWER] = rate, saved, older, newer
    return strips, used, finished


@compiled
def rows_that_go_on(edges: Ints, sums: Floats, strips: int, b: float) -> float:
    """How many rows go on right of the last edge: the mean of the strips as far as they agree."""
    at = edges[strips]
    from_strip = strips - 1
    while from_strip > 0:
        wide = at - edges[from_strip]
        mean = (sums[strips] - sums[from_strip]) / wide
        next_wide = edges[from_strip] - edges[from_strip - 1]
        other = (sums[from_strip] - sums[from_strip - 1]) / next_wide
        noise = np.sqrt(2.0 / next_wide**2 + 2.0 * (strips - from_strip) / wide**2) * b
        if abs(other - mean) > 2.5 * noise + 0.5:
            break
        from_strip -= 1
    return (sums[strips] - sums[from_strip]) / (at - edges[from_strip])
