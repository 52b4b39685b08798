"""A tree of prefixes, asked from the top down: split what is large, pool what is not.

At every level the children of all split nodes get noise with the level's share. Those that reach
the level's threshold are kept, and split in turn; where the others of a family together come to
more than a crowd's bound, those that are not below 0 are kept, too. The rest of one family is asked
once more, together, with all the shares that are left; on the last level nothing is left, and its
answers are added up. So in every transcript the shares of the answers that hold a given key add up
to one, whatever was chosen: docs/keys.md has the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from trueup.arrays import Bools, Ints

Draw = Callable[[int, Fraction], Ints]
"""So many noises of a share of the cost."""

_AT_ONCE = 1 << 22  # children asked together
DETAILED = 64  # up to so many children, those that are pooled keep their answers
REST = -1  # the digit of all other children of a node


def asked_nodes(
    digits: Ints,
    counts: Ints,
    fans: Sequence[int],
    shares: Sequence[Fraction],
    rule: Sequence[tuple[int, Ints]],
    ends: bool,
    draw: Draw,
) -> tuple[Ints, Ints, Ints]:
    """Parents, digits and noisy counts of the nodes below the root, breadth first.

    The children of a node lie together, its rest last; where there are few, those in a rest are its
    children. `rule` has for each level the threshold, and by how many small children there are the
    sum above which they are a crowd. With `ends` a digit of 0 is a key that ends there.
    """
    found = _Emitted()
    active = np.zeros(1, np.int64)  # the numbers of the nodes that are split at this level
    at = np.zeros(len(counts), np.int64)  # of each key that is below one, which
    for level, fan in enumerate(fans):
        order = np.argsort(at, kind="stable")
        digits, counts, at = digits[order], counts[order], at[order]
        left = sum(shares[level + 1 :], Fraction(0))
        width = max(_AT_ONCE // fan, 1)
        numbers = []
        for begin in range(0, len(active), width):
            block = active[begin : begin + width]
            inside = slice(*np.searchsorted(at, [begin, begin + len(block)]))
            true = np.zeros(len(block) * fan, np.int64)
            np.add.at(true, (at[inside] - begin) * fan + digits[inside, level], counts[inside])
            answers = true + draw(len(true), shares[level])
            families = answers.reshape(-1, fan)
            large = _large(families, *rule[level])
            if left:
                rest = np.where(large, 0, true.reshape(-1, fan)).sum(axis=1)
                rest = rest + draw(len(block), left)
            else:
                rest = np.where(large, 0, families).sum(axis=1)
            numbers.append(found.take(block, large, families, rest, bool(left)))
        each = np.concatenate(numbers).ravel()
        goes_on = np.flatnonzero(each >= 0)
        goes_on = goes_on[goes_on % fan != 0] if ends else goes_on
        if level + 1 == len(fans) or not len(goes_on):
            break
        next_at = np.full(len(each), -1, np.int64)
        next_at[goes_on] = np.arange(len(goes_on))
        at = next_at[at * fan + digits[:, level]]
        alive = at >= 0
        digits, counts, at = digits[alive], counts[alive], at[alive]
        active = each[goes_on]
    return found.breadth_first()


class _Emitted:
    """Nodes as they are asked, numbered from 1; families of many come before deeper ones."""

    def __init__(self) -> None:
        self.parts: list[tuple[Ints, Ints, Ints]] = []
        self.made = 1

    def take(self, block: Ints, large: Bools, answers: Ints, rest: Ints, pooled: bool) -> Ints:
        """Notes the families of some nodes; the numbers of the children kept, −1 for the others."""
        fan = large.shape[1]
        if fan <= DETAILED and not pooled:  # the last level: every child stands for itself
            everywhere = np.ones_like(large)
            self._add(block, everywhere, np.broadcast_to(np.arange(fan), large.shape), answers)
            return np.full(large.shape, -1, np.int64)
        several = np.concatenate([large, np.ones((len(block), 1), np.bool_)], axis=1)
        values = np.concatenate([answers, rest[:, None]], axis=1)
        own = np.broadcast_to(np.append(np.arange(fan), REST), several.shape)
        every = self._add(block, several, own, values)
        if fan <= DETAILED:
            self._add(every[:, -1], ~large, np.broadcast_to(np.arange(fan), large.shape), answers)
        return every[:, :-1]

    def _add(self, parents: Ints, which: Bools, digits: Ints, values: Ints) -> Ints:
        """Notes some nodes, a row a family; their numbers, −1 for the others."""
        numbers = np.full(which.shape, -1, np.int64)
        many = int(which.sum())
        numbers[which] = self.made + np.arange(many)
        self.made += many
        repeated = np.repeat(parents, which.sum(axis=1))
        self.parts.append((repeated, digits[which], values[which]))
        return numbers

    def breadth_first(self) -> tuple[Ints, Ints, Ints]:
        """All nodes, numbered anew so that children follow each other as their parents do."""
        parents, digits, noisy = (np.concatenate(each) for each in zip(*self.parts, strict=True))
        depth, above = np.ones(len(parents), np.int64), parents.copy()
        while (above > 0).any():
            depth += above > 0
            above = np.where(above > 0, parents[above - 1], 0)
        renumbered = np.zeros(len(parents) + 1, np.int64)
        order: list[Ints] = []
        made = 1
        for level in range(1, int(depth.max()) + 1):
            here = np.flatnonzero(depth == level)
            here = here[np.argsort(renumbered[parents[here]], kind="stable")]
            renumbered[here + 1] = made + np.arange(len(here))
            made += len(here)
            order.append(here)
        places = np.concatenate(order)
        return renumbered[parents[places]], digits[places], noisy[places]


def _large(answers: Ints, threshold: int, crowds: Ints) -> Bools:
    """Which children of each family are kept, from their noisy counts alone."""
    large = answers >= threshold
    together = np.where(large, 0, answers).sum(axis=1)
    crowded = together > crowds[(~large).sum(axis=1)]
    return large | (crowded[:, None] & (answers >= 0))


def first_children(parents: Ints) -> Ints:
    """For each node where its children begin, and one more: the tree as `any_tree` takes it.

    The root is node 0; `parents` are those of the nodes 1, 2, … in order.
    """
    nodes = len(parents) + 1
    return 1 + np.searchsorted(parents, np.arange(nodes + 1), side="left").astype(np.int64)
