"""Least squares for leaves and hats: overlapping triangular windows at several strides.

Along each chain of intervals (see `hat_tables`) the hats around every joint are conditioned on as
they are completed; what is learned then flows back as one multiplier a hat.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled
from trueup._kernels.hats import hat_tables
from trueup._kernels.hats.hat_tables import HatTables, state_starts
from trueup.arrays import Floats, Ints

kind_of = compiled(hat_tables.kind_of)


@compiled
def slot_of(tables: HatTables, m: int, child: int) -> int:
    """Where the tables of the joint left of a child of level m are."""
    ratio = tables.ratios[m - 1]
    slot = tables.joints[m - 1] + child % ratio
    if m == len(tables.strides):
        return slot
    return slot + ratio * kind_of(child // ratio, tables.counts[m])


@compiled
def begin(state: Floats, m: int, ratio: int, chain: Floats) -> None:
    """Sets a chain of children to its first child alone."""
    for level in range(m):
        chain[level] = state[level]
        chain[m + 1 + level] = state[m + level]
    chain[m] = state[m - 1] + (ratio - 1) * state[2 * m - 1] / ratio
    chain[2 * m + 1] = state[2 * m - 1] / ratio


@compiled
def extend(chain: Floats, state: Floats, m: int, position: int, ratio: int) -> None:
    """Puts one more child at the end of a chain, whose right parts become the child's."""
    left, right = state[m - 1], state[2 * m - 1]
    chain[m] += ((ratio - position) * left + (ratio - position - 1) * right) / ratio
    chain[2 * m + 1] += (position * left + (position + 1) * right) / ratio
    for level in range(m):
        chain[m + 1 + level] = state[m + level]


class HatStretch(NamedTuple):
    """Some intervals that are solved together, and where their numbers lie: all, or a part.

    `low` and `high` are the intervals of each level. The hat on knot j, in cells, of level l is at
    knots[l] + j // strides[l]; the state of interval i of level m at starts[m] + 2(m + 1)i.
    """

    low: Ints
    high: Ints
    knots: Ints
    strides: Ints
    starts: Ints


@compiled
def add_lines(tables: HatTables, first: int, stop: int, cells: Floats, states: Floats) -> None:
    """The states of the finest intervals first … stop − 1, from their cells."""
    k = tables.strides[0]
    for j in range(first, stop):
        left, total, at = 0.0, 0.0, (j - first) * k
        for t in range(min(k, tables.size - j * k)):
            value = cells[at + t]
            left += value * (2 * k - 2 * t - 1)
            total += value
        states[2 * (j - first)] = left / (2 * k)
        states[2 * (j - first) + 1] = total - left / (2 * k)


@compiled
def go_up(
    tables: HatTables,
    part: HatStretch,
    bottom: int,
    top: int,
    hats: Floats,
    states: Floats,
    chain: Floats,
) -> None:
    """Puts the intervals of levels bottom … top together, each into those of the next.

    Leaves in `hats` inverse · innovation of each, and in `chain` the last state put together.
    """
    H = len(tables.strides)
    innovation = np.zeros(H)
    for m in range(bottom, top + 1):
        d, ratio, count = 2 * m + 2, tables.ratios[m - 1], tables.counts[m - 1]
        for child in range(part.low[m - 1], part.high[m - 1]):
            i = child % ratio
            at = part.starts[m - 1] + 2 * m * child
            state = states[at : at + 2 * m]
            if i == 0:
                begin(state, m, ratio, chain)
            else:
                slot, knot = slot_of(tables, m, child), child * tables.strides[m - 1]
                for level in range(m):
                    hat = part.knots[level] + knot // part.strides[level]
                    innovation[level] = hats[hat] - chain[m + 1 + level] - state[level]
                extend(chain, state, m, i, ratio)
                for level in range(m):
                    hat = part.knots[level] + knot // part.strides[level]
                    hats[hat] = 0.0
                    for other in range(m):
                        hats[hat] += tables.inverse[slot, level, other] * innovation[other]
                    for each in range(d):
                        chain[each] += tables.gain[slot, each, level] * innovation[level]
            if m < H and (i == ratio - 1 or child == count - 1):
                parent = part.starts[m] + d * (child // ratio)
                for each in range(d):
                    states[parent + each] = chain[each]


@compiled
def go_down(
    tables: HatTables,
    part: HatStretch,
    bottom: int,
    top: int,
    hats: Floats,
    states: Floats,
    chain: Floats,
) -> None:
    """Turns `hats` into the multiplier of each, and the finest states into those of their lines.

    States of the level above `top` hold multipliers already; or, if that is the highest, `chain`
    holds the multipliers of the parts of the whole.
    """
    H = len(tables.strides)
    for m in range(top, bottom - 1, -1):
        d, ratio, count = 2 * m + 2, tables.ratios[m - 1], tables.counts[m - 1]
        for child in range(part.high[m - 1] - 1, part.low[m - 1] - 1, -1):
            i = child % ratio
            if m < H and (i == ratio - 1 or child == count - 1):
                parent = part.starts[m] + d * (child // ratio)
                for each in range(d):
                    chain[each] = states[parent + each]
            at = part.starts[m - 1] + 2 * m * child
            slot, knot = slot_of(tables, m, child), child * tables.strides[m - 1]
            for level in range(m):
                multiplier = chain[level]
                if i > 0:
                    hat = part.knots[level] + knot // part.strides[level]
                    multiplier = hats[hat]
                    for each in range(d):
                        multiplier -= tables.gain[slot, each, level] * chain[each]
                    hats[hat] = multiplier
                states[at + level] = multiplier
            for level in range(m):
                states[at + m + level] = chain[m + 1 + level]
                chain[m + 1 + level] = states[at + level]
            falling, rising = chain[m], chain[d - 1]
            states[at + m - 1] += ((ratio - i) * falling + i * rising) / ratio
            states[at + 2 * m - 1] += ((ratio - i - 1) * falling + (i + 1) * rising) / ratio


@compiled
def settle_ends(tables: HatTables, first: Ints, last: Ints, hats: Floats, chain: Floats) -> None:
    """Turns the state of the whole into multipliers, and so the hats on the two ends.

    `first` and `last` are where these hats are, level by level.
    """
    H = len(tables.strides)
    ends = np.empty(2 * H)
    for level in range(H):
        ends[level] = hats[first[level]] - chain[level]
        ends[H + level] = hats[last[level]] - chain[H + 1 + level]
    chain[:] = 0.0
    for a in range(2 * H):
        for b in range(2 * H):
            chain[a + a // H] += tables.root[a, b] * ends[b]
    for level in range(H):
        hats[first[level]] = chain[level]
        hats[last[level]] = chain[H + 1 + level]


@compiled
def fit_lines(
    tables: HatTables, first: int, stop: int, cells: Floats, states: Floats, fitted: Floats
) -> None:
    """The fitted cells of the finest intervals first … stop − 1, from their multipliers."""
    k = tables.strides[0]
    for j in range(first, stop):
        left, right = states[2 * (j - first)], states[2 * (j - first) + 1]
        step = (right - left) / k
        value, at = left + 0.5 * step, (j - first) * k
        variances = tables.cells[kind_of(j, tables.counts[0])]
        for t in range(min(k, tables.size - j * k)):
            fitted[at + t] = cells[at + t] + variances[t] * value
            value += step


@compiled
def solve_into(
    tables: HatTables, cells: Floats, hats: Floats, states: Floats, starts: Ints, fitted: Floats
) -> None:
    """As `solve`: turns the hats into their multipliers in place; `states` is room to work in."""
    H, count = len(tables.strides), tables.counts[0]
    low = np.zeros(H, np.int64)
    part = HatStretch(low, tables.counts, tables.knots, tables.strides, starts)
    chain = np.zeros(2 * H + 2)
    add_lines(tables, 0, count, cells, states)
    go_up(tables, part, 1, H, hats, states, chain)
    settle_ends(tables, tables.knots[:-1], tables.knots[1:] - 1, hats, chain)
    go_down(tables, part, 1, H, hats, states, chain)
    fit_lines(tables, 0, count, cells, states, fitted)


def solve(tables: HatTables, cells: npt.ArrayLike, hats: npt.ArrayLike) -> tuple[Floats, Floats]:
    """The least-squares value of every cell, and the multiplier of every hat.

    `hats` are the noisy hats scaled by 1/2k, finest level first. The fitted cells are the noisy
    ones plus, at each, its variance times the multipliers of the hats over it times their weights.
    Linear time.
    """
    cells = np.ascontiguousarray(cells, np.float64)
    multipliers = np.array(hats, np.float64)
    if not len(tables.strides):
        return cells.copy(), multipliers
    starts = state_starts(tables)
    fitted = np.empty_like(cells)
    solve_into(tables, cells, multipliers, np.empty(int(starts[-1])), starts, fitted)
    return fitted, multipliers
