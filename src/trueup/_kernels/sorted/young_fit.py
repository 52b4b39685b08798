"""The rising counts nearest to what a walk over the Young diagram counted.

One misfit for all: the sum of squared differences between the noisy answers and the cells that a
Young diagram has in the same sets. Rows of a stretch are fitted by isotonic regression; so are the
strips, as means over their columns with weight width². Where stretches meet, the diagram has a
corner, and the corner's place is the one of least misfit:

- from rows to columns at column τ: rows before end by τ, strips before τ hold every row;
- from columns to rows at row r: strips hold at least the rows from r on, rows before r are empty.

Bounded isotonic regression is the unbounded one cut off, so that the misfit of every place follows
from running sums, and all takes linear time. Between the middles of strips rows are taken to end
evenly; where a strip falls far more than its neighbours, in one place.
"""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import compiled
from trueup._kernels.sorted.isotonic import isotonic
from trueup._kernels.sorted.likely_diagram import RowsAfter, Strips, likely_ends
from trueup._kernels.sorted.likely_rows import likely_rows
from trueup._kernels.sorted.transcript import Transcript
from trueup.arrays import Floats, Ints

CLIFF = 8.0  # a strip that falls so many times more than its neighbours ends rows in one place
LONE = 6.0  # b² · log(rows) that rows beyond a corner must explain
FIRST = 4.0  # b² of misfit allowed to an earlier end of the first rows: the last of them is high
GAP = 3.0  # b² · log(gap) of misfit allowed to a flat run of strips before a gap
GAP_AT_MOST = 9.0  # b²


@compiled
def _falling(values: Floats, weights: Floats, fitted: Floats) -> None:
    """The nearest falling sequence, weighted."""
    sums, weight = np.empty(values.size), np.empty(values.size)
    first = np.empty(values.size + 1, np.int64)
    blocks = 0
    for i in range(values.size):
        total, heavy, start = values[i] * weights[i], weights[i], i
        while blocks > 0 and sums[blocks - 1] * heavy <= total * weight[blocks - 1]:
            blocks -= 1
            total += sums[blocks]
            heavy += weight[blocks]
            start = first[blocks]
        sums[blocks], weight[blocks], first[blocks] = total, heavy, start
        blocks += 1
    first[blocks] = values.size
    for block in range(blocks):
        for i in range(first[block], first[block + 1]):
            fitted[i] = sums[block] / weight[block]


@compiled
def _rising(noisy: Ints, fitted: Floats) -> None:
    """The nearest rising sequence, none below zero."""
    sums, first = fitted, np.empty(noisy.size + 1, np.int64)
    blocks = 0
    for i in range(noisy.size):
        total, start = float(noisy[i]), i
        while blocks > 0 and sums[blocks - 1] * (i + 1 - start) >= total * (
            start - first[blocks - 1]
        ):
            blocks -= 1
            total += sums[blocks]
            start = first[blocks]
        sums[blocks], first[blocks] = total, start
        blocks += 1
    first[blocks] = noisy.size
    for block in range(blocks - 1, -1, -1):
        mean = max(sums[block] / (first[block + 1] - first[block]), 0.0)
        for i in range(first[block], first[block + 1]):
            fitted[i] = mean


@compiled
def _first_corner(
    rows: Floats, base: int, edges: Ints, means: Floats, fit: Floats, most: int, room: float
) -> tuple[int, int]:
    """How many strips hold every row, at least misfit; and the fewest with `room` more of it."""
    strips = means.size
    costs, tried, columns = np.empty(strips + 1), 0, 0.0
    over, total, square = 0, 0.0, 0.0  # rows beyond the edge, which moves right
    for i in range(rows.size):
        if rows[i] > edges[0] - base:
            over += 1
            total += rows[i]
            square += rows[i] * rows[i]
    for k in range(strips + 1):
        edge = float(edges[k] - base)
        while over > 0 and rows[rows.size - over] <= edge:
            total -= rows[rows.size - over]
            square -= rows[rows.size - over] ** 2
            over -= 1
        beyond = square - 2 * edge * total + over * edge * edge if over and k < strips else 0.0
        costs[k] = columns + beyond
        tried += 1
        if over == 0 or k == strips:
            break
        wide = float(edges[k + 1] - edges[k])
        columns += wide * wide * ((most - means[k]) ** 2 - (fit[k] - means[k]) ** 2)
    best = int(costs[:tried].argmin())
    early = 0
    while costs[early] > costs[best] + room:
        early += 1
    return best, early


@compiled
def _misfits(noisy: Ints) -> Floats:
    """Of rows i … fitted to rise and be at least 0, with rows … i − 1 taken as empty: for each i.

    From the last row down the fit grows by a row at a time. Squares of large rows are never taken
    from each other: beside them those of small rows, which decide where the corner is, are lost.
    """
    size = noisy.size
    misfit = np.zeros(size + 1)
    for i in range(size):
        misfit[i + 1] = misfit[i] + float(noisy[i]) ** 2
    sums, stops = np.empty(size), np.empty(size, np.int64)
    # Of each block and all above it: the squares about their means, or about 0 if below.
    spreads, missed = np.empty(size), np.zeros(size + 1)
    blocks = 0
    for i in range(size - 1, -1, -1):
        total, stop, spread = float(noisy[i]), i + 1, 0.0
        # The block above begins at `stop`; it is merged unless its mean is larger.
        while blocks > 0 and sums[blocks - 1] * (stop - i) <= total * (stops[blocks - 1] - stop):
            blocks -= 1
            own, other = float(stop - i), float(stops[blocks] - stop)
            apart = total / own - sums[blocks] / other
            spread += spreads[blocks] + apart * apart * own * other / (own + other)
            total += sums[blocks]
            stop = stops[blocks]
        sums[blocks], stops[blocks], spreads[blocks] = total, stop, spread
        below = min(total, 0.0)
        missed[blocks + 1] = missed[blocks] + spread + below * below / (stop - i)
        blocks += 1
        misfit[i] += missed[blocks]
    return misfit


@compiled
def _second_corner(noisy: Ints, start: int, groups: int, edges: Ints, fit: Floats, b: float) -> int:
    """The first row that goes on beyond the strips: from columns to rows at least misfit.

    `noisy` are the rows from `start` on of the stretch after.
    """
    size = noisy.size
    misfit = _misfits(noisy)
    best, chosen = np.inf, size
    # Strips below the rows that go on are lifted to them: running sums from the last strip.
    weight, mean, square = 0.0, 0.0, 0.0
    strip = fit.size - 1
    for i in range(size, -1, -1):
        on = float(groups - start - i)
        while strip >= 0 and fit[strip] < on:
            heavy = float(edges[strip + 1] - edges[strip]) ** 2
            weight += heavy
            mean += heavy * fit[strip]
            square += heavy * fit[strip] ** 2
            strip -= 1
        lifted = weight * on * on - 2 * on * mean + square
        cost = misfit[i] + lifted + LONE * b * b * np.log(1.0 + size - i)
        if cost < best:
            best, chosen = cost, i
    return start + chosen


@compiled
def _flatten(
    edges: Ints, means: Floats, fit: Floats, rows: int, from_strip: int, room: float
) -> None:
    """The last strips brought down to the rows that go on, as far as misfit allows."""
    misfit = 0.0
    for k in range(fit.size - 1, from_strip - 1, -1):
        wide = float(edges[k + 1] - edges[k])
        misfit += wide * wide * ((rows - means[k]) ** 2 - (fit[k] - means[k]) ** 2)
        if misfit > room:
            break
        fit[k] = rows


@compiled
def _ends(
    edges: Ints, fit: Floats, start: int, stop: int, groups: int, floor: float, ends: Floats
) -> None:
    """Where rows start … stop − 1 end, from how many rows each strip holds."""
    strips = fit.size
    at, value = np.empty(2 * strips + 2), np.empty(2 * strips + 2)
    at[0], value[0] = edges[0], groups - start
    points = 1
    on = float(groups - stop)
    for k in range(strips):
        wide = float(edges[k + 1] - edges[k])
        up = fit[k - 1] if k > 0 else float(groups - start)
        down = fit[k + 1] if k + 1 < strips else on
        further_up = fit[k - 2] if k > 1 else up
        further_down = fit[k + 2] if k + 2 < strips else down
        around = max(further_up - up, down - further_down)
        if wide > 1 and up - down > CLIFF * around + 4:
            at[points] = at[points + 1] = edges[k] + wide * (fit[k] - down) / (up - down)
            value[points], value[points + 1] = up, down
            points += 2
        else:
            at[points], value[points] = edges[k] + wide / 2, fit[k]
            points += 1
    at[points], value[points] = edges[strips], on
    points += 1
    point = 0
    for row in range(start, stop):
        level = groups - row - 0.5  # the row is in a strip that holds more than so many
        while point < points and value[point] > level:
            point += 1
        if point <= 1:
            end = float(edges[0])
        elif point == points:
            end = float(edges[strips])
        else:
            part = (value[point - 1] - level) / (value[point - 1] - value[point])
            step = at[point] - at[point - 1]
            end = at[point - 1] + step * part
            if step == 1.0:  # between two single columns the end is known to a column
                end = np.rint(at[point - 1] + 0.5)
        ends[row] = max(end, floor)


def fit(transcript: Transcript, groups: int, b: float, likely: bool = False) -> Floats:
    """The counts in rising order; real numbers, none below zero.

    Those nearest in squares, or what is `likely`: the means of all rows, given steps and falls like
    those of their neighbours.
    """
    fitted = np.zeros(groups)
    parts = transcript.stretches
    taken, own = 0, parts[0].start  # answers used; the first row that is the next stretch's own
    given: Floats | None = None  # the means of the next rows, if the strips before gave them
    for number in range(0, len(parts), 2):
        rows = parts[number]
        noisy = transcript.noisy[taken : taken + rows.stop - rows.start]
        taken += len(noisy)
        part = fitted[own : rows.stop]
        _rising(noisy[own - rows.start :], part)
        if number + 1 == len(parts):
            part[:] = _shown_rows(noisy, part, own - rows.start, rows.base, b, likely, given)
            break
        edges = parts[number + 1].edges
        assert edges is not None
        strips = len(edges) - 1
        widths = np.diff(edges).astype(np.float64)
        counted = transcript.noisy[taken : taken + strips]
        means = counted / widths
        taken += strips
        most = groups - rows.stop
        held = np.empty(strips)
        _falling(means, widths * widths, held)
        np.clip(held, 0, most, out=held)
        room = FIRST * b * b
        best, whole = _first_corner(part, rows.base, edges, means, held, most, room)
        held[:whole] = most
        floor = float(edges[whole]) if whole < strips else 0.0
        part[:] = _shown_rows(noisy, part, own - rows.start, rows.base, b, likely, given)
        if best < strips:
            # Within the strip where the corner lies, rows know better than its edge where they end.
            np.minimum(part, float(edges[best + 1]), out=part)
        after = parts[number + 2]
        ahead = transcript.noisy[taken : taken + after.stop - after.start]
        own = int(_second_corner(ahead, after.start, groups, edges, held, b))
        np.maximum(held, groups - own, out=held)
        strips_fitted = Strips(rows.stop, edges, counted, held.copy())
        gap = _gap(transcript, number + 2, ahead[own - after.start :], b)
        room = min(GAP * float(np.log1p((gap / (2 * b)) ** 2)), GAP_AT_MOST)
        _flatten(edges, means, held, groups - own, whole, room * b * b)
        _ends(edges, held, rows.stop, own, groups, floor, fitted)
        if likely:
            rising = np.empty(len(ahead))
            _rising(ahead, rising)
            following = RowsAfter(after.start, own, ahead, rising)
            given = likely_ends(strips_fitted, following, groups, b, fitted)
    rises = bool((fitted[1:] >= fitted[:-1]).all())
    return fitted if rises else isotonic(fitted)


def _shown_rows(
    noisy: Ints,
    fitted: Floats,
    first: int,
    base: int,
    b: float,
    likely: bool,
    given: Floats | None,
) -> Floats:
    """Rows from the first on that are a stretch's own: as fitted, or likely, or given as such."""
    if given is not None:
        return given[first:]
    return (likely_rows(noisy[first:], fitted, b) if likely else fitted) + base


def _gap(transcript: Transcript, number: int, first: Ints, b: float) -> float:
    """How far the first rows reach that go on beyond the strips."""
    if len(first):
        return max(float(first[:4].mean()), 0.0)
    if number + 1 < len(transcript.stretches):
        edges = transcript.stretches[number + 1].edges
        assert edges is not None
        return float(edges[0] - transcript.stretches[number].base)
    return 40 * b  # no row goes on: as far as can be


@compiled
def whole_numbers(fitted: Floats) -> Ints:
    """The nearest whole numbers; of two that are equal and halfway, one goes down and one up.

    Such a pair comes from two noisy counts pooled: the truth is more often apart than equal.
    """
    shown = np.empty(fitted.size, np.int64)
    i = 0
    while i < fitted.size:
        stop = i + 1
        while stop < fitted.size and fitted[stop] == fitted[i]:
            stop += 1
        low = np.floor(fitted[i])
        if stop - i == 2 and fitted[i] - low == 0.5:
            shown[i], shown[i + 1] = int(low), int(low) + 1
        else:
            for j in range(i, stop):
                shown[j] = int(np.rint(fitted[i]))
        i = stop
    return shown
