"""Where rows end on average, given how many cells strips of columns have, with noise.

The number of rows that go on at each edge between strips is a chain: it falls by the rows that end
in the strip. How many do is taken to be much as in the strips around, with a tail so heavy that a
cliff surprises nobody; where in the strip they end, anywhere alike, or now and then all in one
place. Given the chain and the noise, the mean of every row follows by passing messages from strip
to strip (the forward-backward algorithm): it is the sum over all columns of how probable it is that
the row reaches them.

Messages are probabilities of numbers of rows: at edge k, of low[k] … high[k], one in each place.
All of this reads noisy counts alone. The law of the falls is a guess: it decides how close the
answers are, and nothing about privacy.
"""

from __future__ import annotations

from math import erfc, exp, pi, sqrt

import numpy as np

from trueup._kernels.compiled import PLAIN_PAIRS, compiled
from trueup.arrays import Floats, Ints

REACH = 7.0  # numbers of rows lie within so many noise scales of their fit
SPARE = 2  # and so many rows more
AROUND = 6  # strips on either side whose falls are looked at
SOME = 0.1  # rows that may have ended unseen around
CLIFF = 0.03  # how often all rows that end in a strip end in one place
USUAL = 0.9  # how often falls are as around, by two guesses what that is
EVEN = 30.0  # then nearly as even as if rows ended independently, which would be infinite here
SELDOM = np.array([0.05, 0.04, 0.01])  # how often they are so many times larger
LARGER = np.array([4.0, 30.0, 1000.0])
FAINT = 1e-12  # chances too small to follow up
PLACES = 32  # in a strip where a single row may end
TINY = 1e-7  # and of an end in its place


@compiled
def _rates(
    edges: Ints, held: Floats, last: float, first: int, final: int, b: float
) -> tuple[float, float]:
    """How many rows end per column from strip `first` to `final`, which may be beyond the last.

    With all falls between two strips, and without the largest: it may be a cliff.
    """
    fallen, length, largest, wide = 0.0, 0.0, 0.0, 0.0
    for k in range(first, final):
        if k + 1 < held.size:
            fall, apart = held[k] - held[k + 1], 0.5 * (edges[k + 2] - edges[k])
        else:
            fall, apart = held[k] - last, 0.5 * (edges[k + 1] - edges[k])
        fallen += fall
        length += apart
        if fall > largest:
            largest, wide = fall, apart
    return (fallen + SOME) / (length + b), (fallen - largest + SOME) / (length - wide + b)


@compiled
def falls(edges: Ints, held: Floats, last: float, b: float) -> Floats:
    """How many rows are likely to end in each strip, by two guesses: between before and after.

    `held` are the fitted numbers of rows in the strips, `last` of those that go on beyond.
    """
    likely = np.empty((held.size, 2))
    for k in range(held.size):
        before = _rates(edges, held, last, max(k - AROUND, 0), k, b)
        after = _rates(edges, held, last, k, min(k + AROUND, held.size), b)
        for guess in range(2):
            likely[k, guess] = sqrt(before[guess] * after[guess]) * (edges[k + 1] - edges[k])
    return likely


@compiled
def windows(edges: Ints, held: Floats, last: float, most: int, b: float) -> tuple[Ints, Ints]:
    """The least and the largest number of rows that may go on at each edge."""
    strips = held.size
    low, high = np.empty(strips + 1, np.int64), np.empty(strips + 1, np.int64)
    for k in range(strips + 1):
        after = held[k] if k < strips else last
        before = held[k - 1] if k > 0 else float(most)
        wide = edges[k + 1] - edges[k] if k < strips else edges[k] - edges[k - 1]
        if k < strips and wide == 1:  # a single column holds just the rows that go on at its edge
            before = after
        if k > 0:
            wide = min(wide, edges[k] - edges[k - 1])
        room = REACH * b / wide + SPARE
        high[k] = min(int(np.ceil(before + room)), most)
        low[k] = min(max(int(after - room), 0), high[k])
    return low, high


@compiled
def _law(likely: Floats, size: int) -> Floats:
    """How probable falls of 0 … size − 1 are: negative binomial laws and geometric ones."""
    found = np.zeros(size)
    for mean in likely:
        ratio = mean / (EVEN + mean)
        value = USUAL / likely.size * (1 - ratio) ** EVEN
        for fall in range(size):
            found[fall] += value
            value *= ratio * (fall + EVEN) / (fall + 1)
    for part in range(SELDOM.size):
        mean = likely[0] * LARGER[part]
        ratio = mean / (1 + mean)
        value = SELDOM[part] * (1 - ratio)
        for fall in range(size):
            found[fall] += value
            value *= ratio
    return found


@compiled
def _alike(z: float, wide: float, b: float) -> float:
    """The mean of exp(−|z − u|/b) over all u from 0 to `wide`."""
    if z < 0:
        return b * exp(z / b) * (1 - exp(-wide / b)) / wide
    if z > wide:
        return b * exp((wide - z) / b) * (1 - exp(-wide / b)) / wide
    return b * (2 - exp(-z / b) - exp((z - wide) / b)) / wide


@compiled
def _normal(z: float, deviation: float, b: float) -> float:
    """The mean of exp(−|z − u|/b) over normal u of mean 0; of wide ones nearly."""
    if deviation > 4 * b or abs(z) > 12 * deviation + 30 * b:
        variance = deviation * deviation + 2 * b * b
        return 2 * b * exp(-0.5 * z * z / variance) / sqrt(2 * pi * variance)
    shift = deviation / b
    above = exp(-z / b) * erfc((shift - z / deviation) / sqrt(2.0))
    below = exp(z / b) * erfc((shift + z / deviation) / sqrt(2.0))
    return 0.5 * exp(0.5 * shift * shift) * (above + below)


@compiled
def _chances(cells: float, ended: int, wide: int, b: float) -> tuple[float, float]:
    """How probable it is that rows which end in a strip have so many cells of it, with noise.

    If they end in one place, and if each ends in its own; what is common to all is left out.
    """
    if ended == 0 or wide == 1:
        return 0.0, exp(-abs(cells - ended) / b)
    if ended == 1:
        if wide > 8:
            return 0.0, _alike(cells - 0.5, float(wide), b)
        total = 0.0
        for u in range(1, wide + 1):
            total += exp(-abs(cells - u) / b)
        return 0.0, total / wide
    one = CLIFF * _alike(cells - 0.5 * ended, float(ended * wide), b)
    deviation = sqrt(ended * (wide * wide - 1.0) / 12)
    return one, (1 - CLIFF) * _normal(cells - 0.5 * ended * (wide + 1), deviation, b)


@compiled(most=PLAIN_PAIRS)
def pass_right(edges: Ints, noisy: Ints, likely: Floats, low: Ints, high: Ints, b: float) -> Floats:
    """For each edge, how likely the strips before it make each number of rows."""
    messages = np.zeros((low.size, (high - low).max() + 1))
    messages[0] = 1.0
    for k in range(noisy.size):
        wide = edges[k + 1] - edges[k]
        law = _law(likely[k], high[k] - low[k + 1] + 1)
        total = 0.0
        for after in range(low[k + 1], high[k + 1] + 1):
            cells = float(noisy[k] - wide * after)
            value = 0.0
            for before in range(max(low[k], after), high[k] + 1):
                given = messages[k, before - low[k]] * law[before - after]
                if given > FAINT:
                    one, own = _chances(cells, before - after, wide, b)
                    value += given * (one + own)
            messages[k + 1, after - low[k + 1]] = value
            total += value
        size = high[k + 1] - low[k + 1] + 1
        for s in range(size):
            messages[k + 1, s] = messages[k + 1, s] / total if total > 0 else 1.0 / size
    return messages


@compiled(most=PLAIN_PAIRS)
def pass_left(
    edges: Ints,
    noisy: Ints,
    likely: Floats,
    low: Ints,
    high: Ints,
    b: float,
    messages: Floats,
    last: Floats,
    reach: Floats,
    within: Floats,
) -> None:
    """Adds the columns that the rows have on average: of the row with q rows from it on, the sum
    of `reach` from q on, whole strips, and `within` at q, a strip in part.

    `messages` are those to the right; `last` says how likely what comes after the strips makes each
    number of rows at the last edge.
    """
    after_message = last.copy()
    for k in range(noisy.size - 1, -1, -1):
        wide = edges[k + 1] - edges[k]
        law = _law(likely[k], high[k] - low[k + 1] + 1)
        before_message = np.zeros(high[k] - low[k] + 1)
        pairs = np.zeros((before_message.size, after_message.size, 2))
        total, largest = 0.0, 0.0
        for i in range(before_message.size):
            for j in range(min(after_message.size, low[k] + i - low[k + 1] + 1)):
                after, ended = low[k + 1] + j, low[k] + i - low[k + 1] - j
                given = after_message[j] * law[ended]
                if given > FAINT and messages[k, i] > FAINT:
                    one, own = _chances(float(noisy[k] - wide * after), ended, wide, b)
                    before_message[i] += given * (one + own)
                    given *= messages[k, i]
                    pairs[i, j, 0], pairs[i, j, 1] = given * one, given * own
                    total += given * (one + own)
            largest = max(largest, before_message[i])
        for i in range(before_message.size):
            for j in range(after_message.size):
                one, own = pairs[i, j, 0], pairs[i, j, 1]
                if one + own > TINY * total:
                    after = low[k + 1] + j
                    cells = float(noisy[k] - wide * after)
                    reach[after] += wide * (one + own) / total
                    ended = low[k] + i - after
                    _end(cells, after, ended, wide, b, one / total, own / total, within)
        after_message = before_message / largest if largest > 0 else np.ones(before_message.size)


@compiled
def _end(
    cells: float,
    after: int,
    ended: int,
    wide: int,
    b: float,
    one: float,
    own: float,
    within: Floats,
) -> None:
    """Adds where rows end that do so in a strip, in `one` place or each in its `own`."""
    if ended == 0:
        return
    if ended == 1:
        total, first, places = 0.0, 0.0, min(wide, PLACES)
        for i in range(places):
            u = 0.5 + (i + 0.5) * wide / places
            chance = exp(-abs(cells - u) / b)
            total += chance
            first += chance * u
        within[after + 1] += own * (first / total if total > 0 else 0.5 * (wide + 1))
        return
    place = min(max(cells / ended, 1.0), float(wide))
    # What the rows have together, given the answer, changes where each is expected, by its
    # covariance with the sum: of evenly spread values in order, j (ended + 1 − j).
    middle, variance = 0.5 * ended * (wide + 1), ended * (wide * wide - 1.0) / 12
    change = (cells - middle) * variance / (variance + 2 * b * b)
    for j in range(1, ended + 1):
        part = 6.0 * j * (ended + 1 - j) / (ended * (ended + 1.0) * (ended + 2.0))
        end = 0.5 + j * wide / (ended + 1) + change * part
        within[after + ended + 1 - j] += own * min(max(end, 1.0), float(wide)) + one * place
