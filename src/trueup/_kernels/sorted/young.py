"""The walk over a Young diagram: which cells to count next, from noisy answers so far.

Counts in rising order, drawn as rows of cells, make a Young diagram; one record is one cell. The
walk counts disjoint sets of cells and goes from low counts to high in turns:

- *rows*: the cells of one row right of column `base`, row after row, smallest first;
- *columns*: the cells of all rows from `start` on between two columns (a strip).

A set is chosen from noisy answers, the number of groups and the noise scale alone: the rising
counts are read in `_row` and `_strip`, which give them away only with noise added. docs/sorted.md
proves what follows from that, and says why rows or columns are taken.

Lengths along a row are in columns; the noise scale b is the unit in which they matter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueup._kernels.sorted.transcript import Stretch, Transcript
from trueup._kernels.sorted.young_columns import (
    CORNER,
    RATE,
    SAVED,
    SEEN,
    count_strips,
    rows_that_go_on,
)
from trueup._kernels.sorted.young_rows import GROUP, read_rows_down, read_rows_up, spacing_of
from trueup.arrays import Ints

Draw = Callable[[int], Ints]

FEWEST = 300  # groups below which all is read as rows: what columns save is not worth a corner
FEWEST_SHARP = 120  # the same where noise is small beside a count, and rounding of rows would cost
MARGIN = 2.0  # columns begin so far below the last rows, in b


class _Noise:
    """Fresh noise, drawn in ever larger batches and used once."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._size = 1 << 9
        self._ahead = np.empty(0, np.int64)

    def ahead(self) -> Ints:
        """Noise that was not used yet; at least one."""
        if not len(self._ahead):
            self._size = min(2 * self._size, 1 << 16)
            self._ahead = self._draw(self._size)
        return self._ahead

    def use(self, number: int) -> None:
        """Drops what was used."""
        self._ahead = self._ahead[number:]


def walk(rising: Ints, b: float, draw: Draw) -> Transcript:
    """Counts disjoint sets of cells until all that matter are counted.

    `rising` are the true counts in rising order, `draw(size)` fresh noise of scale b. Only the
    transcript may leave.
    """
    groups = len(rising)
    noise = _Noise(draw)
    stretches: list[Stretch] = []
    answers: list[Ints] = []
    start, base, saved, need = 0, 0, 0.0, 2 * GROUP
    if groups < (FEWEST_SHARP if b <= 2 else FEWEST):
        need = groups
    lowest = 0  # rows from here on are not yet counted right of base
    strips_left = groups
    while True:
        below = _read_down(rising, start, lowest, base, b, noise)
        up = _read_up(rising, start, base, b, need, bool(stretches), saved, noise)
        stop = start + len(up)
        stretches.append(Stretch(start - len(below), start, stop, base, None))
        answers += [below[::-1], up] if len(below) else [up]
        if stop == groups:
            break
        level = base + float(up[-GROUP:].mean())
        spacing = float(spacing_of(up, len(up), GROUP))
        first = base + max(0, int(np.floor(level - base - MARGIN * b)))
        before = 2 * GROUP * max(spacing - 0.15 * b, 0.0)
        edges, found, seen, saved = _read_columns(
            rising, stop, first, b, (before, max(level, float(first))), saved, strips_left, noise
        )
        stretches.append(Stretch(stop, stop, groups, 0, edges))
        answers.append(found)
        saved -= CORNER
        strips_left -= len(found)
        lowest, base = stop, int(edges[-1])
        start = groups - min(max(round(seen), 0), groups - stop)
        need = min(2 * need, groups) if start - stop < 2 * GROUP else 2 * GROUP
        if strips_left <= 0:
            need = groups
    return Transcript(stretches, np.concatenate(answers))


def _read_down(rising: Ints, first: int, lowest: int, base: int, b: float, noise: _Noise) -> Ints:
    found, done, all_read = np.empty(min(first - lowest, 1 << 10), np.int64), 0, first == lowest
    while not all_read:
        if done == len(found):
            found = np.concatenate([found, np.empty(len(found), np.int64)])
        done, used, all_read = read_rows_down(
            rising, first, lowest, base, b, noise.ahead(), found, done
        )
        noise.use(used)
    return found[:done]


def _read_up(
    rising: Ints,
    start: int,
    base: int,
    b: float,
    need: int,
    again: bool,
    saved: float,
    noise: _Noise,
) -> Ints:
    # Untouched pages of an empty array take no memory.
    found, done, all_read = np.empty(len(rising) - start, np.int64), 0, start == len(rising)
    while not all_read:
        done, used, all_read = read_rows_up(
            rising, start, base, b, need, again, saved, noise.ahead(), found, done
        )
        noise.use(used)
    return found[:done]


def _read_columns(
    rising: Ints,
    start: int,
    first: int,
    b: float,
    rows_before: tuple[float, float],
    saved: float,
    most: int,
    noise: _Noise,
) -> tuple[Ints, Ints, float, float]:
    """Edges and noisy counts of the strips, the rows that go on, and what was saved.

    Of the rows before, how far they rise, and up to which column none is likely to end.
    """
    before, flat_until = rows_before
    rows = len(rising) - start
    room = 1 << 12
    edges, found, sums = np.empty(room + 1, np.int64), np.empty(room, np.int64), np.zeros(room + 1)
    edges[0] = first
    state = np.zeros(7)
    state[SEEN], state[RATE], state[SAVED] = rows, rows / (before + 1), saved
    strips, finished = 0, False
    while not finished and strips < most:
        if strips + 1 == len(edges):
            edges = np.concatenate([edges, np.empty(room, np.int64)])
            found = np.concatenate([found, np.empty(room, np.int64)])
            sums = np.concatenate([sums, np.zeros(room)])
            room *= 2
        strips, used, finished = count_strips(
            rising, start, b, before, flat_until, noise.ahead(), edges, found, sums, strips, state
        )
        noise.use(used)
    seen = float(rows_that_go_on(edges, sums, strips, b))
    return edges[: strips + 1].copy(), found[:strips].copy(), seen, float(state[SAVED])
