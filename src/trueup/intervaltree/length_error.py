"""The error of a range of a given length, averaged over where it lies, on a regular tree.

A range [i, i + m) cuts a level at x = i and y = i + m. All full nodes of a level are alike, and
y − x is always m modulo the width of the level, so only two offsets occur: y lies the remainder
further on in its node than x in its own (kept), or that less a whole width (carried over). Sums
over all such pairs of cuts obey a recursion from level to level, a few operations each whatever
the number of cells; the last node of a level, cut short, is carried beside the full ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.intervaltree.variance import TreeVariance


class _Pairs(NamedTuple):
    """Sums over pairs of cuts, x in one node and y in another or the same; an entry a length.

    f is Cov(prefix, total) of the node that a cut lies in, g is Var(prefix).
    """

    number: Floats
    fx: Floats
    fy: Floats
    fxx: Floats
    fyy: Floats
    fxy: Floats
    gx: Floats
    gy: Floats

    def spread(self) -> Floats:
        """Σ (f(y) − f(x))²: of C², where both cuts lie in the same node."""
        return self.fxx + self.fyy - 2 * self.fxy

    def between(self, V: float, step: Ints) -> Floats:
        """ΣVar of the ranges from x to y, y lying `step` ≥ 1 siblings further on."""
        return step * V * self.number - 2 * self.fx + self.gx + self.gy


def _moved(pairs: _Pairs, V: float, start: Ints, stop: Ints, step: Ints) -> _Pairs:
    """The pairs seen from the parent: x in child a, y in child a + step, a in [start, stop)."""
    first, past = start.astype(float), np.maximum(start, stop).astype(float)
    count = past - first
    a = count * (first + past - 1) / 2
    aa = ((past - 1) * past * (2 * past - 1) - (first - 1) * first * (2 * first - 1)) / 6
    b = a + step * count
    ab = aa + step * a
    bb = ab + step * b
    number, fx, fy, fxx, fyy, fxy, gx, gy = pairs
    return _Pairs(
        count * number,
        V * a * number + count * fx,
        V * b * number + count * fy,
        V * (V * aa * number + 2 * a * fx) + count * fxx,
        V * (V * bb * number + 2 * b * fy) + count * fyy,
        V * (V * ab * number + a * fy + b * fx) + count * fxy,
        V * a * number + count * gx,
        V * b * number + count * gy,
    )


def _alone(child: Ints, limit: int) -> tuple[Ints, Ints]:
    """The child as a run of one, or of none if there is no such child."""
    valid = (child >= 0) & (child < limit)
    return np.where(valid, child, 0), np.where(valid, child + 1, 0)


def _together(parts: Sequence[_Pairs]) -> _Pairs:
    return _Pairs(*(np.sum(columns, axis=0) for columns in zip(*parts, strict=True)))


def mean_by_length(tree: TreeVariance, lengths: npt.ArrayLike) -> Floats:
    """The error of a range of each length, averaged over all its places.

    >>> from trueup.intervaltree import IntervalTree
    >>> flat = TreeVariance(IntervalTree.regular(10, (10,)), (0, 1 / 2))
    >>> mean_by_length(flat, [1, 5, 10]).round(9).tolist()
    [2.0, 10.0, 20.0]
    """
    m = np.asarray(lengths, np.int64)
    size, widths = tree.shape.size, tree.shape.widths
    zero = np.zeros(len(m))
    none = _Pairs(*[zero] * 8)
    one = none._replace(number=zero + 1)
    # x and y in two full nodes; x in a full and y in the last node; both in the last node.
    kept, carried, kept_last, carried_last, inside_last = one, none, one, none, one
    within, within_last = zero, zero  # ΣVar of the ranges that lie inside one node
    for level in range(len(widths) - 2, -1, -1):
        known = tree.levels[level]
        V = float(tree.levels[level + 1].variance[0])
        k, before_last = tree.fan_out(level)
        fits = m < widths[level + 1]
        apart = (m if level == 0 else m % widths[level]) // widths[level + 1]
        on, all_, none_ = apart + 1, np.full_like(m, k), np.zeros_like(m)
        at, at_carried = before_last - apart, before_last - on  # x's child if y's is the last

        # Ranges inside the last node.
        left, left_stop = _alone(at, before_last)
        parts = [
            _moved(kept, V, none_, before_last - apart, apart),
            _moved(carried, V, none_, before_last - on, on),
            _moved(kept_last, V, left, left_stop, apart),
            _moved(carried_last, V, *_alone(at_carried, before_last), on),
            _moved(
                inside_last, V, none_ + before_last, np.where(apart == 0, before_last + 1, 0), none_
            ),
        ]
        inside = _together(parts)
        spans = (
            np.where(apart > 0, np.maximum(before_last - apart, 0), 0) * kept.between(V, apart)
            + np.maximum(before_last - on, 0) * carried.between(V, on)
            + np.where(apart > 0, left_stop - left, 0) * kept_last.between(V, apart)
            + (at_carried >= 0) * carried_last.between(V, on)
        )
        own = np.where(fits, before_last * within + within_last, 0)
        total_last = own + spans - known.gain[1] * inside.spread()
        if level == 0:
            ends = tree.range_variances(size - m, np.full_like(m, size))
            return (total_last + ends) / (size - m + 1)

        spans = np.where(apart > 0, k - apart, 0) * kept.between(V, apart)
        spans = spans + np.maximum(k - on, 0) * carried.between(V, on)
        wraps, wraps_on = k - apart, k - on
        new_kept = [_moved(kept, V, none_, wraps, apart), _moved(carried, V, none_, wraps_on, on)]
        new_carried = [
            _moved(kept, V, wraps, all_, apart - k),
            _moved(carried, V, wraps_on, all_, on - k),
        ]
        new_kept_last = [
            _moved(kept, V, none_, np.minimum(before_last - apart, k), apart),
            _moved(carried, V, none_, np.minimum(before_last - on, k), on),
            _moved(kept_last, V, *_alone(at, k), apart),
            _moved(carried_last, V, *_alone(at_carried, k), on),
        ]
        new_carried_last = [
            _moved(kept, V, wraps, np.minimum(wraps + before_last, k), apart - k),
            _moved(carried, V, wraps_on, np.minimum(wraps_on + before_last, k), on - k),
            _moved(kept_last, V, *_alone(wraps + before_last, k), apart - k),
            _moved(carried_last, V, *_alone(wraps_on + before_last, k), on - k),
        ]
        full = _together(new_kept)
        within = np.where(fits, k * within, 0) + spans - known.gain[0] * full.spread()
        within_last = total_last
        kept = _observed(full, tree, level, 0, 0)
        carried = _observed(_together(new_carried), tree, level, 0, 0)
        kept_last = _observed(_together(new_kept_last), tree, level, 0, 1)
        carried_last = _observed(_together(new_carried_last), tree, level, 0, 1)
        inside_last = _observed(inside, tree, level, 1, 1)
    return np.full(len(m), float(tree.levels[0].variance[-1]))


def _observed(pairs: _Pairs, tree: TreeVariance, level: int, x: int, y: int) -> _Pairs:
    """The pairs once the nodes of kind x and y have their own answers taken in."""
    number, fx, fy, fxx, fyy, fxy, gx, gy = pairs
    shrink, gain = tree.levels[level].shrink, tree.levels[level].gain
    sx, sy = float(shrink[x]), float(shrink[y])
    return _Pairs(
        number,
        fx * sx,
        fy * sy,
        fxx * sx * sx,
        fyy * sy * sy,
        fxy * sx * sy,
        gx - float(gain[x]) * fxx,
        gy - float(gain[y]) * fyy,
    )
