"""Whole numbers that still add up: every node of a tree an integer, parents sums of children.

The total is rounded first, then each parent's integer is handed down: every child gets its
value rounded down, and the ones left over go to the largest fractions, the earlier child first
where fractions tie. If a parent's integer is its value rounded down or up, the same holds for
its children: Σ⌊c⌋ is a whole number not above the parent's value, hence not above the integer,
and Σ⌈c⌉ likewise from above. By induction every node, leaf or not, is within 1 of its value;
nothing turns negative and whole values stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from trueup._kernels.compiled import ARRAY_ELEMENTS, Kernel, compiled
from trueup._kernels.display.by_level import added, levels_of
from trueup._kernels.sorted.falling_order import falling
from trueup.arrays import Floats, Ints

SNAP = 1e-9  # a value this close to a whole number, relative to its size, is that number
FEW = 64  # up to so many children, picking the largest again and again beats sorting


@compiled
def _floor(value: float) -> float:
    near = np.floor(value + 0.5)
    return near if abs(value - near) <= SNAP * max(1.0, abs(value)) else np.floor(value)


@compiled
def _sum(values: Floats) -> float:
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total


@compiled
def _nearest_with_sum(values: Floats, total: float, nonnegative: bool) -> Floats:
    """The values moved by one common amount, none below zero if asked, to the given sum."""
    found = np.empty(len(values))
    if not nonnegative:
        share = (total - _sum(values)) / len(values)
        for i in range(len(values)):
            found[i] = values[i] + share
        return found
    order = falling(values)
    above, price = -total, 0.0
    for rank in range(len(values)):
        value = values[order[rank]]
        if rank > 0 and value * rank <= above:
            break
        above += value
        price = above / (rank + 1)
    for i in range(len(values)):
        found[i] = max(values[i] - price, 0.0)
    return found


@compiled
def _hand_out(whole: Ints, fraction: Floats, a: int, b: int, left: int, nonnegative: bool) -> None:
    """Adds what is left to the children a … b − 1 of a node, a unit a child at a time, in place.

    The largest fractions come first. Rounding noise in the values can leave more or less than the
    fractions call for: whatever it leaves is handed out.
    """
    n = b - a
    while left != 0:
        sign = 1 if left > 0 else -1
        count = min(abs(left), n)
        if count == n and (sign > 0 or not nonnegative):
            for c in range(a, b):
                whole[c] += sign
            left -= sign * count
        elif n <= FEW:
            best = -1
            for c in range(a, b):
                if sign < 0 and nonnegative and whole[c] == 0:
                    continue
                if best < 0 or sign * fraction[c] > sign * fraction[best]:
                    best = c
            whole[best] += sign
            fraction[best] -= sign
            left -= sign
        else:
            order = falling(sign * fraction[a:b])
            for rank in range(n):
                c = a + order[rank]
                if left != 0 and not (sign < 0 and nonnegative and whole[c] == 0):
                    whole[c] += sign
                    fraction[c] -= sign
                    left -= sign


def _whole_by_level(first: Ints, values: Floats, roots: Ints, nonnegative: bool) -> Ints:
    whole = np.empty(len(first) - 1, np.int64)
    whole[: len(roots)] = roots
    for level in levels_of(first):
        for families in level:
            rows, sums = families.read(values), whole[families.parents]
            far = np.flatnonzero(np.abs(added(rows) - sums) >= 1.0)
            if len(far):
                rows = rows.copy()
            for row in far:
                rows[row] = _moved(rows[row], float(sums[row]), nonnegative)
            families.write(whole, _rounded_rows(rows, sums, nonnegative))
    return whole


def _rounded_rows(rows: Floats, sums: Ints, nonnegative: bool) -> Ints:
    """Whole numbers for the children of each family, a row each, that add up to its sum."""
    near = np.floor(rows + 0.5)
    snapped = np.abs(rows - near) <= SNAP * np.maximum(1.0, np.abs(rows))
    down = np.where(snapped, near, np.floor(rows))
    if nonnegative:
        down = np.maximum(down, 0.0)
    whole, fraction = down.astype(np.int64), np.maximum(rows - down, 0.0)
    left = sums - whole.sum(axis=1)
    usual = np.flatnonzero((left > 0) & (left < rows.shape[1]))
    order = np.argsort(-fraction[usual], axis=1, kind="stable")
    chosen = np.arange(rows.shape[1]) < left[usual, None]
    more = np.empty_like(order)
    np.put_along_axis(more, order, chosen.astype(more.dtype), axis=1)
    whole[usual] += more
    for row in np.flatnonzero((left < 0) | (left >= rows.shape[1])):
        _handed(whole[row], fraction[row], 0, rows.shape[1], int(left[row]), nonnegative)
    return whole


@compiled(most=ARRAY_ELEMENTS, plain=_whole_by_level)
def whole_below(first: Ints, values: Floats, roots: Ints, nonnegative: bool) -> Ints:
    """Ints for all nodes below one root or several, whose integers are given."""
    nodes = len(first) - 1
    whole = np.empty(nodes, np.int64)
    fraction = np.empty(nodes)
    whole[: len(roots)] = roots
    for v in range(nodes):
        a, b = first[v], first[v + 1]
        if a == b:
            continue
        children = values[a:b]
        if abs(_sum(children) - whole[v]) >= 1.0:
            children = _nearest_with_sum(children, float(whole[v]), nonnegative)
        left = whole[v]
        for c in range(a, b):
            down = _floor(children[c - a])
            if nonnegative:
                down = max(down, 0.0)
            whole[c] = np.int64(down)
            fraction[c] = max(children[c - a] - down, 0.0)
            left -= whole[c]
        if left != 0:
            _hand_out(whole, fraction, a, b, left, nonnegative)
    return whole


def whole_numbers(first: Ints, values: Floats, total: int, nonnegative: bool) -> Ints:
    """Ints for all nodes: `total` at the root, children summing to parents.

    Each is within 1 of its value if the total is within 1 of the root's. A total further off
    is shared out evenly among the children of each node before they are rounded.
    """
    return whole_below(first, values, np.array([total], np.int64), nonnegative)


_moved: Callable[..., Floats] = cast(Kernel, _nearest_with_sum).plain
_handed: Callable[..., None] = cast(Kernel, _hand_out).plain
