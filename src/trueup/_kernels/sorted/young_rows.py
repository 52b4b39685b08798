"""Rows of the Young diagram: read one after another until columns would pay.

The true counts are read in `_row` alone, which gives them away only with noise added; all that is
decided follows from what was found.
"""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import compiled, inlined
from trueup._kernels.sorted.young_columns import CORNER, WIDTH, stake
from trueup.arrays import Ints

GROUP = 8  # rows whose mean is looked at
FLAT = 128  # twice as many rows without a rise bring columns back, if as many are left
FEW_ROWS = 64  # rows that are read as rows in any case


@inlined
def _row(rising: Ints, row: int, base: int, noise: int) -> int:
    """The noisy number of cells of a row right of `base`."""
    return max(rising[row] - base, 0) + noise


@compiled
def read_rows_down(
    rising: Ints, first: int, lowest: int, base: int, b: float, noise: Ints, found: Ints, done: int
) -> tuple[int, int, bool]:
    """Reads rows first − 1, first − 2, … until GROUP of them look empty.

    `found[:done]` is read already; how many are read, noise used, and whether that is all.
    """
    used = 0
    while first - done > lowest:
        if done >= GROUP and _mean(found, done - GROUP, done) < 1.5 * b:
            return done, used, True
        if used == noise.size or done == found.size:
            return done, used, False
        found[done] = _row(rising, first - 1 - done, base, noise[used])
        used += 1
        done += 1
    return done, used, True


@compiled
def _mean(found: Ints, start: int, stop: int) -> float:
    total = 0.0
    for i in range(start, stop):
        total += found[i]
    return total / (stop - start)


@compiled
def spacing_of(found: Ints, done: int, group: int) -> float:
    """How far a row lies from the next, by the means of the last two groups."""
    later = _mean(found, done - group, done)
    return (later - _mean(found, done - 2 * group, done - group)) / group


@compiled
def _evenly(found: Ints, done: int, group: int) -> bool:
    """Whether the last two groups rise evenly, and not in one step."""
    part = group // 4
    before = _mean(found, done - 8 * part, done - 7 * part)
    whole = _mean(found, done - part, done) - before
    last = 0.0
    for i in range(6, -1, -1):
        level = _mean(found, done - (i + 1) * part, done - i * part)
        if level - before + last > 0.6 * whole:  # a step lies in at most two neighbouring rises
            return False
        last, before = level - before, level
    return True


@compiled
def _columns_pay(spacing: float, rows: int, b: float, saved: float) -> bool:
    """Whether a strip of the width that is due would see two rows end."""
    width = min(WIDTH * (spacing / b) ** (1 / 3), np.sqrt(stake(saved) / rows))
    return spacing < max(1.0, width * b) / 2


@compiled
def read_rows_up(
    rising: Ints,
    start: int,
    base: int,
    b: float,
    need: int,
    again: bool,
    saved: float,
    noise: Ints,
    found: Ints,
    done: int,
) -> tuple[int, int, bool]:
    """Reads rows start, start + 1, … until columns would pay, or no row is left.

    At first (not `again`) that is so once GROUP rows are no further apart than noise can tell.
    To come back to columns costs a corner: it must be covered by savings, or many rows must show
    that they lie close and evenly, or do not rise at all.
    """
    used = 0
    # Every corner that was not covered doubles how close rows must lie, or how many be equal.
    demand = 2.0 ** (max(-saved, 0.0) / CORNER)
    while start + done < rising.size:
        left = rising.size - start - done
        if done >= need and left > FEW_ROWS:
            above = not again or _mean(found, done - GROUP, done) > 1.5 * b
            near = max(spacing_of(found, done, GROUP), 0.02 * b)
            close = near < 0.15 * b or _columns_pay(near, left, b, saved)
            if above and close and (not again or saved >= CORNER):
                return done, used, True
            if above and again and done % 16 == 0:
                for group in (32, 128):
                    if done < 2 * group:
                        break
                    near = spacing_of(found, done, group)
                    sure = 6.0 * b / group**1.5  # three deviations of the noise in it
                    pays = near > sure and _columns_pay(near * demand, left, b, saved)
                    if pays and _evenly(found, done, group):
                        return done, used, True
                flat = int(FLAT * demand)
                if done >= 2 * flat and left > FLAT:
                    near = spacing_of(found, done, flat)
                    if near < 6.0 * b / flat**1.5:
                        return done, used, True
        if used == noise.size:
            return done, used, False
        found[done] = _row(rising, start + done, base, noise[used])
        used += 1
        done += 1
    return done, used, True
