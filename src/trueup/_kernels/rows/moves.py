"""Moves between whole tables of the same margins, towards the tables that most rows have.

A set S of axes that no margin holds: +1 and −1 in turn on the corners of a box over S leave every
margin as it is, for each margin sums over an axis of S. Pairing the cells of each axis of S at
random cuts the whole table into such boxes, which are all moved at once. A walk of Metropolis steps
goes to the law in which a table has the weight Π 1/n!, that of all lists of rows with these
margins alike; its mode is the table of largest entropy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from trueup.arrays import Ints


def free_sets(axes: int, margins: Sequence[frozenset[int]]) -> list[tuple[int, ...]]:
    """The smallest sets of axes that are part of no margin."""
    found: list[tuple[int, ...]] = []
    for size in range(1, axes + 1):
        for each in itertools.combinations(range(axes), size):
            inside = any(set(each) <= margin for margin in margins)
            if not inside and not any(set(old) <= set(each) for old in found):
                found.append(each)
    return found


def walked(
    counts: Ints, free: Sequence[tuple[int, ...]], sweeps: int, draws: np.random.Generator
) -> Ints:
    """The table after so many sweeps of random moves that keep every margin.

    In a sparse table few moves are possible: chances are computed for those alone.
    """
    from scipy.special import gammaln

    table = counts.copy().ravel()
    largest = max(int(table.max(initial=0)), 1).bit_length()
    movable = [each for each in free if all(counts.shape[axis] > 1 for axis in each)]
    others = [_places(counts.shape, each, None) for each in movable]
    for sweep in range(sweeps if movable else 0):
        axes, rest = movable[sweep % len(movable)], others[sweep % len(movable)]
        orders = [_paired(counts.shape[axis], draws) for axis in axes]
        boxes = [
            (
                np.add.outer(_places(counts.shape, axes, _corner(orders, which)), rest).ravel(),
                1 - 2 * (sum(which) % 2),
            )
            for which in itertools.product((0, 1), repeat=len(axes))
        ]
        step = 1 << int(draws.integers(largest))
        moved = step * (1 - 2 * draws.integers(0, 2, len(boxes[0][0]), np.int8).astype(np.int64))
        possible = np.flatnonzero(
            np.logical_and.reduce([table[at] >= -sign * moved for at, sign in boxes])
        )
        moved = moved[possible]
        some = [(at[possible], sign * moved) for at, sign in boxes]
        gain = sum(gammaln(table[at] + 1.0) - gammaln(table[at] + each + 1.0) for at, each in some)
        taken = np.log(1 - draws.random(len(possible))) < gain
        for at, each in some:
            table[at[taken]] += each[taken]
    return table.reshape(counts.shape)


def _paired(size: int, draws: np.random.Generator) -> Ints:
    """The cells of an axis in random order, one left out if they are odd in number."""
    return draws.permutation(size)[: size // 2 * 2]


def _corner(orders: Sequence[Ints], which: tuple[int, ...]) -> list[Ints]:
    """The cells at one corner of every box: of each paired axis every second of its order."""
    return [order[first::2] for order, first in zip(orders, which, strict=True)]


def _places(shape: tuple[int, ...], axes: tuple[int, ...], chosen: Sequence[Ints] | None) -> Ints:
    """What some axes add to the place of a cell in the flat table, for their chosen cells.

    Without any, the same for all cells of all other axes.
    """
    found = np.zeros(1, np.int64)
    for axis, size in enumerate(shape):
        if (axis in axes) == (chosen is not None):
            cells = np.arange(size) if chosen is None else chosen[axes.index(axis)]
            found = np.add.outer(found, cells * math.prod(shape[axis + 1 :])).ravel()
    return found
