"""Least squares on a regular tree: its coefficients, and the two passes in plain numpy.

All full nodes of a level are alike, so a level needs one gain and one share; only the last node
of a level may be cut short, and has its own.

    up    step[v] = gain (y[v] − S),  z[v] = S + step[v]       S = Σ z of children,  t = Σ V
    down  step[child] += share · step[v],  leaf += share · step[v]

    gain = w t / (1 + w t),  share = V / t

V is the variance of a child's z, and w is 1 over that of the noisy answer y[v] (Theorem 3 with
unequal variances; w = 0 where a level is not asked). A node's step is what it gains over its
children's sum. Children are added from the first to the last: `blocks` adds in the same order,
and gives the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueup.arrays import Floats, Ints

Numbers = Ints | Floats


@dataclass(frozen=True)
class RegularTree:
    """Nodes of level l have radices[l] children, filled from the left; `size` leaves.

    `weights` are 1/variance of the noisy answers of each level, 0 where a level is not asked.
    """

    size: int
    radices: tuple[int, ...]
    weights: tuple[float, ...]

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The leaves under a full node of each level, as Python integers."""
        widths = [1]
        for radix in reversed(self.radices):
            widths.append(widths[-1] * radix)
        return tuple(reversed(widths))

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The nodes of each level."""
        return tuple(-(-self.size // width) for width in self.widths)

    @cached_property
    def coefficients(self) -> Floats:
        """For each level but the leaves': gain and share of a full node; of the last node its
        gain, the share of its full children, and the share of its last child.
        """
        height = len(self.radices)
        rows = np.empty((height, 5))
        full = last = 1.0 / self.weights[-1]
        for k in reversed(range(height)):
            radix, weight = self.radices[k], self.weights[k]
            spread = full * radix
            gain = weight * spread
            row = [gain / (1.0 + gain), 1.0 / radix]
            if self.size % self.widths[k] == 0:
                rows[k] = [*row, *row, 1.0 / radix]
                full = last = spread / (1.0 + gain)
            else:
                children = self.lengths[k + 1] - (self.lengths[k] - 1) * radix
                cut = full * (children - 1) + last
                last_gain = weight * cut
                rows[k] = [*row, last_gain / (1.0 + last_gain), full / cut, last / cut]
                full, last = spread / (1.0 + gain), cut / (1.0 + last_gain)
        return rows


def child_sums(below: Numbers, radix: int) -> Floats:
    """Each node's sum of its children, added from the first to the last."""
    full = len(below) // radix
    found = below[: full * radix].reshape(full, radix).cumsum(axis=1)[:, -1]
    if len(below) % radix:
        found = np.append(found, below[full * radix :].cumsum()[-1])
    return found + 0.0  # no minus zero


def fit_by_level(tree: RegularTree, noisy: Numbers, starts: Ints) -> Floats:
    """The least-squares leaves from the noisy nodes, level by level.

    Level l begins at noisy[starts[l]]; levels of weight 0 are not read.

    >>> tree = RegularTree(4, (2, 2), (1.0, 1.0, 1.0))
    >>> noisy = np.array([13, 3, 11, 4, 1, 12, 1])
    >>> fit_by_level(tree, noisy, np.array([0, 1, 3])).round(9).tolist()
    [3.0, 0.0, 11.0, 0.0]
    """
    leaves = noisy[starts[-1] : starts[-1] + tree.size]
    fitted, steps = leaves, [leaves]
    for k in reversed(range(len(tree.radices))):
        gain, _, last_gain, _, _ = tree.coefficients[k]
        total = child_sums(fitted, tree.radices[k])
        step = np.zeros(len(total))
        if tree.weights[k] > 0.0:
            np.subtract(noisy[starts[k] : starts[k] + len(total)], total, out=step)
            step[:-1] *= gain
            step[-1] *= last_gain
        steps.append(step)
        fitted = total + step
    step = steps.pop().astype(np.float64)
    for k, radix in enumerate(tree.radices):
        _, share, _, last_share, last_child = tree.coefficients[k]
        below = np.repeat(step * share, radix)[: tree.lengths[k + 1]]
        below[(len(step) - 1) * radix :] = step[-1] * last_share
        below[-1] = step[-1] * last_child
        step = steps.pop() + below
    return step
