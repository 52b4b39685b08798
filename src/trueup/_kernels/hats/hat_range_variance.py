"""The variance of ranges after least squares on leaves and hats, one range at a time, compiled.

The same steps as `hat_variance` takes for many ranges at once in numpy: Q, the variance of the part
of a range inside an interval, and C, its covariance with the interval's state, are carried from the
two ends of the range up to the whole.
"""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import compiled
from trueup._kernels.hats.hat_tables import HatTables
from trueup._kernels.hats.hats import begin, extend, kind_of, slot_of
from trueup.arrays import Floats, Ints


@compiled
def _pass_up(
    tables: HatTables,
    m: int,
    parent: int,
    left: int,
    right: int,
    ends: Floats,
    chain: Floats,
    room: Floats,
) -> float:
    """Leaves in `chain` the C of a range inside a parent, and tells how much Q changes.

    The children between `left` and `right` are counted whole, those two by their C in `ends`. A
    range that comes from left of its parent has left = −1, and one that goes on beyond its end has
    right = number of children.
    """
    d, ratio, count = 2 * m + 2, tables.ratios[m - 1], tables.counts[m - 1]
    first = parent * ratio
    child, met = room[0], room[1]
    chain[:d] = 0.0
    change = 0.0
    for i in range(max(left, 0), min(ratio, count - first)):  # up to there nothing is inside
        for part in range(2 * m):
            child[part] = 0.0
        if left < i < right:
            own = kind_of(first + i, count)
            change += tables.child_q[m - 1, own]
            for part in range(2 * m):
                child[part] = tables.child_c[m - 1, own, part]
        for side in range(2):
            if i == (right if side else left):
                for part in range(2 * m):
                    child[part] += ends[side, part]
        if i == 0:
            begin(child, m, ratio, chain)
            continue
        slot = slot_of(tables, m, first + i)
        for level in range(m):
            met[level] = chain[m + 1 + level] + child[level]
        extend(chain, child, m, i, ratio)
        for level in range(m):
            for other in range(m):
                change -= met[level] * tables.inverse[slot, level, other] * met[other]
            for part in range(d):
                chain[part] -= tables.gain[slot, part, level] * met[level]
    return change


@compiled
def fill_variances(tables: HatTables, starts: Ints, stops: Ints, found: Floats) -> None:
    """The variance of each range [start, stop), none of them empty, in units of a leaf's."""
    k, H = tables.strides[0], len(tables.strides)
    ends, up, room = np.zeros((2, 2 * H + 2)), np.zeros((2, 2 * H + 2)), np.zeros((2, 2 * H + 2))
    nothing = np.zeros((2, 2 * H + 2))
    for one in range(len(starts)):
        left, right = starts[one] // k, (stops[one] - 1) // k
        stop = k if left < right else stops[one] - left * k
        kind = kind_of(left, tables.counts[0])
        from_left = tables.lines[kind, stop] - tables.lines[kind, starts[one] - left * k]
        ends[:] = 0.0
        ends[0, :2] = from_left[:2]
        Q = from_left[2]
        if left < right:
            to_right = tables.lines[kind_of(right, tables.counts[0]), stops[one] - right * k]
            ends[1, :2] = to_right[:2]
            Q += to_right[2]
        for m in range(1, H + 1):
            ratio = tables.ratios[m - 1]
            above, other = left // ratio, right // ratio
            i, j = left - above * ratio, right - other * ratio
            up[1] = 0.0
            if above < other:
                Q += _pass_up(tables, m, above, i, ratio, ends, up[0], room)
                nothing[1] = ends[1]
                Q += _pass_up(tables, m, other, -1, j, nothing, up[1], room)
            else:
                Q += _pass_up(tables, m, above, i, j, ends, up[0], room)
            ends[:] = up
            left, right = above, other
        for a in range(2 * H):
            for b in range(2 * H):
                Q -= ends[0, a + a // H] * tables.root[a, b] * ends[0, b + b // H]
        found[one] = max(Q, 0.0)
