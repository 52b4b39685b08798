"""Trees among the equations: where every equation says that a count is the sum of others."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.arrays import Ints
from trueup.reconcile.statements import Statement


@dataclass(frozen=True)
class Tree:
    """One tree: the places of its counts among all of them, breadth first, and its shape.

    `pinned` is the known value of its root, NaN if there is none.
    """

    places: Ints
    first: Ints
    pinned: float


def forest(names: Sequence[str], found: Sequence[Statement]) -> list[Tree] | None:
    """The trees that the statements make of the names, or None if they make anything else."""
    place = {name: i for i, name in enumerate(names)}
    children: dict[int, list[int]] = {}
    parent: dict[int, int] = {}
    pinned: dict[int, float] = {}
    for statement in found:
        whole = [name for name, c in statement.coefficients.items() if c == 1]
        parts = [name for name, c in statement.coefficients.items() if c == -1]
        if len(statement.coefficients) == 1 and whole:
            if place[whole[0]] in pinned:
                return None
            pinned[place[whole[0]]] = float(statement.constant)
            continue
        if len(parts) == 1 and len(whole) > 1:  # a sum that equals its whole, written backwards
            whole, parts = parts, whole
        if (
            statement.constant
            or len(whole) != 1
            or not parts
            or len(whole) + len(parts) != len(statement.coefficients)
            or place[whole[0]] in children
        ):
            return None
        top = place[whole[0]]
        children[top] = [place[name] for name in parts]
        for child in children[top]:
            if child in parent:
                return None
            parent[child] = top
    if any(node in parent for node in pinned) or min(pinned.values(), default=0.0) < 0:
        return None
    trees = []
    reached = 0
    for root in range(len(names)):
        if root in parent:
            continue
        order, queue, fans = [], deque([root]), []
        while queue:
            node = queue.popleft()
            below = children.get(node, [])
            order.append(node)
            fans.append(len(below))
            queue.extend(below)
        reached += len(order)
        first = np.concatenate([[1], 1 + np.cumsum(fans)]).astype(np.int64)
        trees.append(Tree(np.array(order), first, pinned.get(root, np.nan)))
    return trees if reached == len(names) else None  # what is not reached goes in a circle
