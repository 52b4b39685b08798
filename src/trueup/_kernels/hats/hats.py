"""Least squares for leaves and hats: overlapping triangular windows at several strides.

Along each chain of intervals (see `hat_tables`) the hats around every joint are conditioned on as
they are completed; what is learned then flows back as one multiplier a hat.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled
from trueup._kernels.hats import hat_tables
from trueup._kernels.hats.hat_tables import HatTables, state_starts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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


@compiled
def _up(tables: HatTables, cells: Floats, hats: Floats, states: Floats, starts: Ints) -> Floats:
    """Leaves in `hats` inverse · innovation of each, gives the state of the whole."""
    k, H = tables.strides[0], len(tables.strides)
    for j in range(tables.counts[0]):
        stop = min(k, tables.size - j * k)
        left, total = 0.0, 0.0
        for t in range(stop):
            value = cells[j * k + t]
            left += value * (2 * k - 2 * t - 1)
            total += value
        states[2 * j] = left / (2 * k)
        states[2 * j + 1] = total - left / (2 * k)
    chain = np.zeros(2 * H + 2)
    innovation = np.zeros(H)
    for m in range(1, H + 1):
        d, ratio, count = 2 * m + 2, tables.ratios[m - 1], tables.counts[m - 1]
        for child in range(count):
            i = child % ratio
            at = starts[m - 1] + 2 * m * child
            state = states[at : at + 2 * m]
            if i == 0:
                begin(state, m, ratio, chain)
            else:
                slot = slot_of(tables, m, child)
                for level in range(m):
                    hat = tables.knots[level] + child * (
                        tables.strides[m - 1] // tables.strides[level]
                    )
                    innovation[level] = hats[hat] - chain[m + 1 + level] - state[level]
                extend(chain, state, m, i, ratio)
                for level in range(m):
                    hat = tables.knots[level] + child * (
                        tables.strides[m - 1] // tables.strides[level]
                    )
                    hats[hat] = 0.0
                    for other in range(m):
                        hats[hat] += tables.inverse[slot, level, other] * innovation[other]
                    for part in range(d):
                        chain[part] += tables.gain[slot, part, level] * innovation[level]
            if m < H and (i == ratio - 1 or child == count - 1):
                parent = starts[m] + d * (child // ratio)
                for part in range(d):
                    states[parent + part] = chain[part]
    return chain


@compiled
def _down(tables: HatTables, hats: Floats, chain: Floats, states: Floats, starts: Ints) -> None:
    """Turns `hats` into the multiplier of each, and the finest states into those of their lines.

    `chain` holds the multipliers of the parts of the whole.
    """
    H = len(tables.strides)
    for m in range(H, 0, -1):
        d, ratio, count = 2 * m + 2, tables.ratios[m - 1], tables.counts[m - 1]
        for child in range(count - 1, -1, -1):
            i = child % ratio
            if m < H and (i == ratio - 1 or child == count - 1):
                parent = starts[m] + d * (child // ratio)
                for part in range(d):
                    chain[part] = states[parent + part]
            at = starts[m - 1] + 2 * m * child
            slot = slot_of(tables, m, child)
            for level in range(m):
                multiplier = chain[level]
                if i > 0:
                    hat = tables.knots[level] + child * (
                        tables.strides[m - 1] // tables.strides[level]
                    )
                    multiplier = hats[hat]
                    for part in range(d):
                        multiplier -= tables.gain[slot, part, level] * chain[part]
                    hats[hat] = multiplier
                states[at + level] = multiplier
            for level in range(m):
                states[at + m + level] = chain[m + 1 + level]
                chain[m + 1 + level] = states[at + level]
            falling, rising = chain[m], chain[d - 1]
            states[at + m - 1] += ((ratio - i) * falling + i * rising) / ratio
            states[at + 2 * m - 1] += ((ratio - i - 1) * falling + (i + 1) * rising) / ratio


@compiled
def solve_into(
    tables: HatTables, cells: Floats, hats: Floats, states: Floats, starts: Ints, fitted: Floats
) -> None:
    """As `solve`: turns the hats into their multipliers in place; `states` is room to work in."""
    k, H = tables.strides[0], len(tables.strides)
    chain = _up(tables, cells, hats, states, starts)
    ends = np.empty(2 * H)
    for level in range(H):
        ends[level] = hats[tables.knots[level]] - chain[level]
        ends[H + level] = hats[tables.knots[level + 1] - 1] - chain[H + 1 + level]
    chain[:] = 0.0
    for a in range(2 * H):
        for b in range(2 * H):
            chain[a + a // H] += tables.root[a, b] * ends[b]
    for level in range(H):
        hats[tables.knots[level]] = chain[level]
        hats[tables.knots[level + 1] - 1] = chain[H + 1 + level]
    _down(tables, hats, chain, states, starts)
    for j in range(tables.counts[0]):
        step = (states[2 * j + 1] - states[2 * j]) / k
        value = states[2 * j] + 0.5 * step
        variances = tables.cells[kind_of(j, tables.counts[0])]
        for t in range(min(k, tables.size - j * k)):
            fitted[j * k + t] = cells[j * k + t] + variances[t] * value
            value += step


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
