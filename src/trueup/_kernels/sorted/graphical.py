"""The degree sequence of some simple graph that is nearest to given numbers.

A falling sequence d of whole numbers with an even sum is graphical (Erdős–Gallai) if, for every
k, Σ_{i≤k} d_i ≤ k(k−1) + Σ_{i>k} min(d_i, k). The slack of k is the right side less the left;
only the k with d_k ≥ k − 1 need be looked at.

Rounding each number is best of all if it happens to be graphical, and an odd sum then costs one
step at the cheapest place: for sparse sequences that is nearly always the end of it. Where it is
not, the rounded sequence is first pulled inside the violated inequalities, then improved by
moves of two unit steps (±e_i ± e_j). Degree sequences form a jump system of constant parity, on
which a separable convex cost that no such move can lower is at its minimum (Murota 2006), so the
search ends at the nearest sequence. (On long inputs that are wildly impossible, thousands of
numbers far above n, it is cut short; what it has then is graphical, and near.) Because the
numbers are sorted, only the ends of runs of equal degrees need be tried; and of runs that bear
alike on the tight inequalities, the best two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup._kernels.compiled import PLAIN_PAIRS, compiled
from trueup._kernels.sorted.falling_order import falling
from trueup.arrays import Floats, Ints

GAIN = 1e-9  # a move must be worth more than rounding noise
WORK = 1_000_000_000  # comparisons, about a second: far beyond what noisy degrees need
PULLS = 200  # times that a violated inequality is repaired before the search takes over


@compiled(most=PLAIN_PAIRS)
def _slacks(degrees: Ints, slack: Ints) -> int:
    """Fill in the slack of k = 1, 2, …; return for how many k (the others cannot be violated)."""
    n = len(degrees)
    left, rest, reach, low = 0, degrees.sum(), n, 0
    for k in range(1, n + 1):
        if degrees[k - 1] < k - 1:
            return k - 1
        left += degrees[k - 1]
        rest -= degrees[k - 1]
        while reach > 0 and degrees[reach - 1] < k:  # reach: how many degrees are at least k
            reach -= 1
            low += degrees[reach]
        others = k * (reach - k) + low if reach >= k else rest
        slack[k - 1] = k * (k - 1) + others - left
    return n


@compiled(most=PLAIN_PAIRS)
def _fits(degrees: Ints, slack: Ints) -> bool:
    """Whether a falling sequence satisfies all inequalities, whatever its parity."""
    n = len(degrees)
    if n == 0:
        return True
    if degrees[0] > n - 1 or degrees[n - 1] < 0:
        return False
    count = _slacks(degrees, slack)
    return count == 0 or slack[:count].min() >= 0


@compiled(most=PLAIN_PAIRS)
def is_graphical(degrees: Ints) -> bool:
    """Whether a falling sequence is the degree sequence of some simple graph. O(n)."""
    return degrees.sum() % 2 == 0 and _fits(degrees, np.empty(len(degrees), np.int64))


def _rounded(values: Floats) -> Ints:
    return np.clip(np.floor(values + 0.5), 0, len(values) - 1).astype(np.int64)


def _pulled_inside(values: Floats, slack: Ints) -> Ints:
    """A sequence that satisfies all inequalities, not far from the values.

    For the worst inequality, the k largest are lowered and the small ones raised, all by the
    least common amount that repairs it; numbers beyond 0 … n − 1 give way only once they are
    inside. What is still violated after many rounds is moved toward the constant sequence, which
    never is: the slacks are concave.
    """
    n = len(values)
    for _ in range(PULLS):
        degrees = _rounded(values)
        count = _slacks(degrees, slack)
        if count == 0 or slack[:count].min() >= 0:
            return degrees
        k = int(np.argmin(slack[:count])) + 1
        top, rest = values[:k], values[k:]
        small = rest < k
        low, high = 0.0, max(values[0], 0.0) - min(values[-1], 0.0) + n
        while high - low > 1e-3 + 1e-12 * high:
            step = 0.5 * (low + high)
            raised = np.clip(rest[small] + step, 0, k).sum() + k * (len(rest) - small.sum())
            if k * (k - 1) + raised >= np.clip(top - step, 0, n - 1).sum():
                high = step
            else:
                low = step
        pulled = np.where(small, np.minimum(rest + high, k), rest)
        values = -np.sort(-np.concatenate([top - high, pulled]))
    middle = np.floor(np.clip(values, 0, n - 1).mean())
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        part = 0.5 * (low + high)
        if _fits(_rounded(middle + part * (values - middle)), slack):
            low = part
        else:
            high = part
    return _rounded(middle + low * (values - middle))


@compiled(most=PLAIN_PAIRS)
def _settle(degrees: Ints) -> None:
    """Make a nearly falling sequence falling, in place: an insertion sort."""
    for i in range(1, len(degrees)):
        value, j = degrees[i], i
        while j > 0 and degrees[j - 1] < value:
            degrees[j] = degrees[j - 1]
            j -= 1
        degrees[j] = value


@compiled(most=PLAIN_PAIRS)
def _position(tight: Ints, value: int) -> int:
    """How many of the tight k are below the value."""
    low, high = 0, len(tight)
    while low < high:
        middle = (low + high) // 2
        if tight[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(most=PLAIN_PAIRS)
def _candidates(degrees: Ints, values: Floats, tight: Ints) -> tuple[Ints, Floats]:
    """Single steps worth trying, as rows (place, ±1), and their costs, the cheapest first.

    Raise the first of a run of equal degrees, or the second; lower the last, or the one before.
    Steps with the same effect on every tight inequality follow one another, and only the two
    cheapest of them are kept.
    """
    n = len(degrees)
    steps = np.empty((4 * n + 8, 2), np.int64)
    costs = np.empty(4 * n + 8)
    count = 0
    for sign in (1, -1):
        best, second = count, count
        before = (-1, -1)
        i = 0
        while i < n:
            last = i
            while last + 1 < n and degrees[last + 1] == degrees[i]:
                last += 1
            value = degrees[i]
            if 0 <= value + sign <= n - 1:
                for rank in range(min(2, last - i + 1)):
                    place = i + rank if sign > 0 else last - rank
                    cost = 1.0 + 2.0 * sign * (value - values[place])
                    within = _position(tight, place + 1)
                    below = _position(tight, value + (1 if sign > 0 else 0))
                    if (within, below) != before:
                        before = (within, below)
                        best, second = count, -1
                    elif second < 0:
                        second = count
                    elif cost < max(costs[best], costs[second]):
                        worse = best if costs[best] > costs[second] else second
                        steps[worse, 0], steps[worse, 1], costs[worse] = place, sign, cost
                        continue
                    else:
                        continue
                    steps[count, 0], steps[count, 1], costs[count] = place, sign, cost
                    count += 1
            i = last + 1
    order = falling(-costs[:count])
    sorted_steps = np.empty((count, 2), np.int64)
    for rank in range(count):
        sorted_steps[rank, 0], sorted_steps[rank, 1] = steps[order[rank], 0], steps[order[rank], 1]
    return sorted_steps, costs[order]


@compiled(most=PLAIN_PAIRS)
def _effects(degrees: Ints, steps: Ints, tight: Ints) -> NDArray[np.int8]:
    """How each step changes each tight slack."""
    effects = np.zeros((len(steps), len(tight)), np.int8)
    for s in range(len(steps)):
        place, sign = steps[s]
        value = degrees[place]
        for t in range(len(tight)):
            if place < tight[t]:
                effects[s, t] = -sign
            elif value < tight[t] or (value == tight[t] and sign < 0):
                effects[s, t] = sign
    return effects


@compiled(most=PLAIN_PAIRS)
def _best_move(degrees: Ints, values: Floats, slack: Ints) -> tuple[Ints, bool, int]:
    """The nearest graphical sequence two unit steps away, whether it is nearer, and the work."""
    close = np.flatnonzero(slack[: _slacks(degrees, slack)] <= 1)
    steps, costs = _candidates(degrees, values, close + 1)
    effects = _effects(degrees, steps, close + 1)
    room = slack[close].astype(np.int8)
    best, found = -GAIN, degrees
    work = len(degrees)
    for a in range(len(steps)):
        if 2.0 * costs[a] >= best:
            break
        place, sign = steps[a]
        # Twice at one place: the second step costs 2 more than the first.
        if 2.0 * costs[a] + 2.0 < best and 0 <= degrees[place] + 2 * sign < len(degrees):
            moved = degrees.copy()
            moved[place] += 2 * sign
            _settle(moved)
            if _fits(moved, slack):
                best, found = 2.0 * costs[a] + 2.0, moved
        left = effects[a] + room
        for b in range(a + 1, len(steps)):
            if costs[a] + costs[b] >= best:
                break
            work += len(room)
            refused = steps[b, 0] == place
            for t in range(len(room)):
                refused |= left[t] + effects[b, t] < 0
            if not refused:
                moved = degrees.copy()
                moved[place] += sign
                moved[steps[b, 0]] += steps[b, 1]
                _settle(moved)
                work += len(moved)
                if _fits(moved, slack):
                    best, found = costs[a] + costs[b], moved
    return found, best < -GAIN, work


def nearest_graphical(values: Floats) -> Ints:
    """The graphical sequence nearest in L2 to a falling sequence of numbers."""
    n = len(values)
    slack = np.empty(n, np.int64)
    if n < 2:
        return np.zeros(n, np.int64)
    degrees = _rounded(values)
    fits = bool(_fits(degrees, slack))
    if not fits:
        degrees = _pulled_inside(values, slack)
    if degrees.sum() % 2 == 1:
        odd, degrees = degrees, np.zeros(n, np.int64)
        steps, _ = _candidates(odd, values, np.arange(1, n + 1))
        for rank, (place, sign) in enumerate(steps):
            moved = odd.copy()
            moved[place] += sign
            _settle(moved)
            if _fits(moved, slack):
                if fits and rank == 0:
                    return moved  # no even sequence of whole numbers is nearer
                degrees = moved
                break
    elif fits:
        return degrees
    spent, better = 0, True
    while better and spent < WORK:
        degrees, better, work = _best_move(degrees, values, slack)
        spent += work
    return degrees
