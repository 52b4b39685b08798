"""Whole numbers that still add up: every node of a tree an integer, parents sums of children.

The total is rounded first, then each parent's integer is handed down: every child gets its
value rounded down, and the ones left over go to the largest fractions, the earlier child first
where fractions tie. If a parent's integer is its value rounded down or up, the same holds for
its children: Σ⌊c⌋ is a whole number not above the parent's value, hence not above the integer,
and Σ⌈c⌉ likewise from above. By induction every node, leaf or not, is within 1 of its value;
nothing turns negative and whole values stay as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup._kernels.compiled import compiled
from trueup._kernels.sorted.falling_order import falling

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

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
def whole_numbers(first: Integers, values: Floats, total: int, nonnegative: bool) -> Integers:
    """Integers for all nodes: `total` at the root, children summing to parents.

    Each is within 1 of its value if the total is within 1 of the root's. A total further off
    is shared out evenly among the children of each node before they are rounded.
    """
    nodes = len(first) - 1
    whole = np.empty(nodes, np.int64)
    fraction = np.empty(nodes)
    whole[0] = total
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
        # Rounding noise in the values can leave more or less than the fractions call for:
        # whatever it leaves is handed out, a unit a child at a time.
        while left != 0:
            sign = 1 if left > 0 else -1
            count = min(abs(left), b - a)
            if count == b - a and (sign > 0 or not nonnegative):
                for c in range(a, b):
                    whole[c] += sign
                left -= sign * count
            elif b - a <= FEW:
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
                for rank in range(b - a):
                    c = a + order[rank]
                    if left != 0 and not (sign < 0 and nonnegative and whole[c] == 0):
                        whole[c] += sign
                        fraction[c] -= sign
                        left -= sign
    return whole
