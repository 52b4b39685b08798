"""What the rows of a Young diagram are on average, by strips of columns and the rows read after.

Strips and rows are one chain, joined by a number: how many rows go on beyond the last strip. The
strips say how likely each number is (`likely_columns`), the rows read there say the same
(`likely_rows`), and each side is then averaged over what both say together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup._kernels.sorted.likely_columns import falls, pass_left, pass_right, windows
from trueup._kernels.sorted.likely_rows import MOST, SEGMENT, rows_after_columns
from trueup.arrays import Floats, Ints

MOST_NUMBERS = 128  # of rows that may go on at an edge: more are as good as fitted
MOST_ROWS = 1 << 14  # that go on, for the sake of memory
MOST_PAIRS = 1 << 19  # of numbers at neighbouring edges, for the sake of time


@dataclass(frozen=True)
class Strips:
    """Noisy counts of the cells between neighbouring edges, of all rows from `start` on.

    `held` are the fitted numbers of rows in the strips, falling.
    """

    start: int
    edges: Ints
    noisy: Ints
    held: Floats


@dataclass(frozen=True)
class RowsAfter:
    """Noisy rows from `start` on, right of the last strip, and their rising fit.

    By the fit, `own` is the first of all rows that goes on there.
    """

    start: int
    own: int
    noisy: Ints
    rising: Floats


def likely_ends(
    strips: Strips, rows: RowsAfter, groups: int, b: float, fitted: Floats
) -> Floats | None:
    """The means of the rows that were read, and in `fitted` of those that end before.

    Nothing, with `fitted` as it was, where the last strips leave too much open. Strips from the
    first on that leave too much open are left out: rows that end there stay as they were fitted.
    """
    last = float(groups - rows.own)
    low, high = windows(strips.edges, strips.held, last, groups - strips.start, b)
    skipped = _left_open(low, high)
    many = len(rows.noisy) > MOST or rows.own - rows.start > SEGMENT // 2
    if skipped >= len(strips.noisy) or many:
        return None
    likely = falls(strips.edges, strips.held, last, b)[skipped:]
    edges, noisy = strips.edges[skipped:], strips.noisy[skipped:]
    low, high = low[skipped:], high[skipped:]
    messages = pass_right(edges, noisy, likely, low, high, b)
    numbers = np.arange(low[-1], high[-1] + 1)
    spacing = float(edges[-1] - edges[-2]) / likely[-1, 1]
    means, back = _join(numbers, messages[-1, : len(numbers)], rows, groups, b, spacing)

    first = min(max(groups - int(high[0]), strips.start), rows.start)
    reach, within = np.zeros(groups - first + 2), np.zeros(groups - first + 2)
    pass_left(edges, noisy, likely, low, high, b, messages, back, reach, within)
    columns = np.cumsum(reach[::-1])[::-1] + within
    stop = rows.start + len(means)
    values = columns[groups - np.arange(first, stop)] + float(edges[0])
    # Where it is not sure that a row goes on at the first edge, it ends before as fitted.
    before = fitted[first : rows.own] - float(edges[0])
    values[: len(before)] += np.minimum(before, 0.0)
    values[rows.start - first :] += means
    np.maximum.accumulate(values, out=values)
    fitted[first : rows.own] = values[: rows.own - first]
    return values[rows.start - first :]


def _left_open(low: Ints, high: Ints) -> int:
    """The last edge, of which or of those after too many numbers may be the right one; and one."""
    numbers = high - low + 1
    pairs = np.zeros(len(low))
    pairs[:-1] = np.cumsum((numbers[1:] * numbers[:-1])[::-1])[::-1]
    found = np.flatnonzero((numbers > MOST_NUMBERS) | (high > MOST_ROWS) | (pairs > MOST_PAIRS))
    return int(found[-1]) + 1 if len(found) else 0


def _join(
    numbers: Ints, chances: Floats, rows: RowsAfter, groups: int, b: float, spacing: float
) -> tuple[Floats, Floats]:
    """The means of the rows right of the strips, and how likely they make each number of rows that
    go on, which the strips gave these chances.
    """
    size = len(rows.noisy)
    if not size:
        return np.zeros(0), np.ones(len(numbers))
    # The first of the rows read that goes on; if none does, one past the last.
    begin = np.clip(groups - numbers - rows.start, 0, size)
    chance = np.bincount(begin, chances, size + 1)
    rest = np.cumsum(chance[::-1])[::-1]
    if_none_before = np.divide(chance, rest, out=np.zeros(size + 1), where=rest > 0)[:size]
    own = min(rows.own - rows.start, size - 1)
    means, beyond = rows_after_columns(rows.noisy, rows.rising, b, own, if_none_before, spacing)
    together = np.diff(np.concatenate([[0.0], beyond, [1.0]]))
    back = np.divide(together, chance, out=np.zeros(size + 1), where=chance > 0)
    return means, back[begin]
