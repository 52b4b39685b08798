"""What rising counts are on average, given each of them with noise.

Isotonic regression leaves a row that stands alone as noisy as it was, and pools rows that lie close
into steps. Here rows are a chain: each exceeds the one before by a step, whose law is a mixture of
geometric ones around the steps of its neighbourhood, with a tail so heavy that a gap surprises
nobody. Given the chain and the noise, the mean of every row follows by passing messages up and
down (the forward-backward algorithm). A geometric law makes a message a running sum, so that a row
takes time in proportion to the values it may have. How many rows equal the one before is not known:
of several guesses the one is taken under which the noisy rows are most probable.

All of this reads noisy counts alone. The law of the steps is a guess: it decides how close the
answers are, and nothing about privacy.
"""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import compiled
from trueup.arrays import Floats, Ints

REACH = 8.0  # values of a row lie within so many b of its isotonic fit
FINE = 3  # values to a b, where b is large
NEAR, FAR = 8, 100  # rows on either side whose steps are looked at
LEAST_STEP = 0.0005  # of b: rows without any step among them may still rise
PARTS = np.array([0.7, 0.2, 0.08, 0.02])  # of the mixture, and how much longer their steps are
LONGER = np.array([1.0, 6.0, 40.0, 1000.0])
SELDOM = 0.2  # how often a row equals the one before, besides, where noise hides single steps
OFTEN = (0.5, 0.85)  # or so often, whatever the noisy rows fit best
MOST = 1 << 15  # rows at most, for time's sake: beyond, they stay as they were fitted
SEGMENT = 1024  # rows at a time
OVERLAP = 128  # rows on either side of a segment that are read and not kept


def likely_rows(noisy: Ints, fitted: Floats, b: float) -> Floats:
    """The mean of every row, rising and none below zero; `fitted` is the isotonic fit."""
    if len(noisy) > MOST:
        return fitted.copy()
    sure = np.zeros(len(noisy))
    sure[:1] = 1.0
    return np.maximum.accumulate(_in_segments(noisy, fitted, b, 0, sure, np.inf)[0])


def rows_after_columns(
    noisy: Ints, fitted: Floats, b: float, own: int, begin: Floats, gap: float
) -> tuple[Floats, Floats]:
    """The mean of every row, and how probable it is that the row reaches beyond the columns.

    `begin` says, by the columns, how probable each row is the first that does, if none before
    did, and `gap` how far it then is likely to; `own` is the one that does by the fit. A row that
    does not reach beyond counts as 0.
    """
    means, beyond = _in_segments(noisy, fitted, b, own, begin, gap)
    return np.maximum.accumulate(means), np.maximum.accumulate(beyond)


def _in_segments(
    noisy: Ints, fitted: Floats, b: float, own_from: int, begin: Floats, gap: float
) -> tuple[Floats, Floats]:
    """Means and chances of `rows_after_columns`; all of the chances are decided in one segment."""
    found, beyond = np.empty(len(noisy)), np.ones(len(noisy))
    unit = max(1, int(b / FINE))
    half = int(np.ceil(REACH * b / unit))
    equal = (SELDOM * max(1 - 1 / b, 0.0), *OFTEN)
    for start in range(0, len(noisy), SEGMENT):
        stop = min(start + SEGMENT, len(noisy))
        low, high = max(start - OVERLAP, 0), min(stop + OVERLAP, len(noisy))
        skipped = min(max(own_from - low, 0), high - low - 1)
        steps = np.empty(high - low)
        steps[skipped:] = _steps(fitted[low + skipped : high], b) / unit
        steps[:skipped] = steps[skipped]
        middle, own = _alone(noisy[low:high], fitted[low:high], b, unit, half)
        empty = np.exp(-np.abs(noisy[low:high]) / b)
        first = begin[low:high].copy()
        if low > 0:
            first[0] = 1.0
        wide = gap / unit if low == 0 else np.inf
        tried = [_means(middle, own, empty, first, wide, steps, e) for e in equal]
        _, means, reach = max(tried, key=lambda found: found[0])
        found[start:stop] = means[start - low : stop - low] * unit
        if low == 0:
            beyond[start:stop] = reach[start - low : stop - low]
    return found, beyond


@compiled
def _mean_step(fitted: Floats, row: int, near: int) -> float:
    """The mean of the steps around a row, the largest left out: it may be a gap."""
    first, last = max(row - near, 0), min(row + near, fitted.size - 1)
    largest = 0.0
    for i in range(first, last):
        largest = max(largest, fitted[i + 1] - fitted[i])
    return (fitted[last] - fitted[first] - largest) / max(last - first - 1, 1)


@compiled
def _steps(fitted: Floats, b: float) -> Floats:
    """What each row's step is likely to be: in a long run of equal rows hardly anything."""
    steps = np.empty(fitted.size)
    for i in range(fitted.size):
        step = min(_mean_step(fitted, i, NEAR), _mean_step(fitted, i, FAR))
        steps[i] = max(step, LEAST_STEP * b)
    return steps


@compiled
def _alone(noisy: Ints, fitted: Floats, b: float, unit: int, half: int) -> tuple[Ints, Floats]:
    """The middle of each row's values, in units, and how likely they are by the row alone."""
    states = 2 * half + 1
    middle, own = np.empty(noisy.size, np.int64), np.empty((noisy.size, states))
    for i in range(noisy.size):
        middle[i] = int(np.rint(fitted[i] / unit))
        for s in range(states):
            value = middle[i] - half + s
            distance = abs(float(value * unit - noisy[i]))
            own[i, s] = np.exp(-distance / b) if value >= 0 else 0.0
        if not own[i].max() > 0:  # a row far from its fit, pooled with many
            for s in range(states):
                own[i, s] = 1.0 if middle[i] - half + s >= 0 else 0.0
    return middle, own


@compiled
def _means(
    middle: Ints,
    own: Floats,
    empty: Floats,
    begin: Floats,
    gap: float,
    steps: Floats,
    equal: float,
) -> tuple[float, Floats, Floats]:
    """How probable the rows are, as a logarithm, their means in units, and which are not empty.

    So many are `equal` to the one before. A row is the first that is not empty with probability
    `begin`; its value is then about `gap`, which may be infinite.
    """
    rows, states = own.shape
    half = states // 2
    ratio = np.empty((rows, PARTS.size))  # of the geometric laws of the step to the row
    up = np.empty((rows, states))  # how likely each value is, by the row and those before
    still = np.empty(rows)  # how likely the row is empty, by the same
    for i in range(rows):
        for part in range(PARTS.size):
            step = LONGER[part] * steps[i] / (1 - equal)
            ratio[i, part] = step / (1 + step)
    evidence = 0.0
    before, first = np.zeros(states), np.empty(states)
    for i in range(rows):
        waiting = 1.0 if i == 0 else still[i - 1]
        if i > 0:
            _pass_up(up[i - 1], middle[i] - middle[i - 1], ratio[i], equal, before)
        enter = waiting * begin[i]
        if enter > 0:
            _first_step(middle[i] - half, gap, steps[i], first)
            for s in range(states):
                before[s] += enter * first[s]
        total = 0.0
        for s in range(states):
            up[i, s] = own[i, s] * before[s]
            total += up[i, s]
        still[i] = waiting * (1 - begin[i]) * empty[i]
        total += still[i]
        if not total > 0:
            up[i], total = own[i], own[i].sum()
        evidence += np.log(total)
        still[i] /= total
        for s in range(states):
            up[i, s] /= total
    means, beyond = np.empty(rows), np.empty(rows)
    after, weighed, idle = np.ones(states), np.empty(states), 1.0
    for i in range(rows - 1, -1, -1):
        if i + 1 < rows:
            idle *= empty[i + 1]
            largest = idle
            for s in range(states):
                weighed[s] = own[i + 1, s] * after[s]
                largest = max(largest, weighed[s])
            for s in range(states):
                weighed[s] = weighed[s] / largest if largest > 0 else own[i + 1, s]
            idle = idle / largest if largest > 0 else 0.0
            _pass_down(weighed, middle[i + 1] - middle[i], ratio[i + 1], equal, after)
            idle *= 1 - begin[i + 1]
            if begin[i + 1] > 0:
                _first_step(middle[i + 1] - half, gap, steps[i + 1], first)
                for s in range(states):
                    idle += begin[i + 1] * first[s] * weighed[s]
        total, value = 0.0, 0.0
        for s in range(states):
            total += up[i, s] * after[s]
            value += up[i, s] * after[s] * (middle[i] - half + s)
        none = still[i] * idle
        if not total + none > 0:
            after[:] = 1.0
            for s in range(states):
                total += up[i, s]
                value += up[i, s] * (middle[i] - half + s)
        means[i] = value / (total + none)
        beyond[i] = total / (total + none)
    return evidence, means, beyond


@compiled
def _first_step(lowest: int, gap: float, step: float, found: Floats) -> None:
    """How likely each value of the first row that is not empty is, before it was read."""
    if gap == np.inf:
        found[:] = 1.0
        return
    found[:] = 0.0
    for about in (gap, step):
        for part in range(PARTS.size):
            mean = about * LONGER[part]
            ratio = mean / (1 + mean)
            value = 0.5 * PARTS[part] * (1 - ratio) * ratio ** max(lowest, 0)
            for s in range(max(-lowest, 0), found.size):
                found[s] += value
                value *= ratio


@compiled
def _pass_up(message: Floats, shift: int, ratio: Floats, equal: float, found: Floats) -> None:
    """For each value of a row, how likely the row before makes it: it is `shift` units lower.

    The four geometric laws go side by side, which is several times faster than in turn.
    """
    states = message.size
    p, q, r, t = ratio
    a, b, c, d = (1 - equal) * PARTS * (1 - ratio)
    sum_p = sum_q = sum_r = sum_t = 0.0
    for s in range(min(shift, states)):
        value = message[s]
        sum_p, sum_q = p * sum_p + value, q * sum_q + value
        sum_r, sum_t = r * sum_r + value, t * sum_t + value
    if shift > states:
        sum_p, sum_q = sum_p * p ** (shift - states), sum_q * q ** (shift - states)
        sum_r, sum_t = sum_r * r ** (shift - states), sum_t * t ** (shift - states)
    for s in range(states):
        value = message[s + shift] if s + shift < states else 0.0
        sum_p, sum_q = p * sum_p + value, q * sum_q + value
        sum_r, sum_t = r * sum_r + value, t * sum_t + value
        found[s] = equal * value + a * sum_p + b * sum_q + c * sum_r + d * sum_t


@compiled
def _pass_down(message: Floats, shift: int, ratio: Floats, equal: float, found: Floats) -> None:
    """For each value of a row, how likely it makes the row after: that is `shift` units higher.

    The same as passing up, with both rows' values turned around.
    """
    _pass_up(message[::-1], shift, ratio, equal, found[::-1])
