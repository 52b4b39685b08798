"""Moves between whole tables of the same margins, towards the tables that most rows have.

A set S of axes that no margin holds: +1 and −1 in turn on the corners of a box over S leave every
margin as it is, for each margin sums over an axis of S. Pairing the cells of each axis of S at
random cuts the whole table into such boxes, which are all moved at once. A walk of Metropolis steps
goes to the law in which a table has the weight Π 1/n!, that of all lists of rows with these
margins alike; its mode is the table of largest entropy.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


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
    """The table after so many sweeps of random moves that keep every margin."""
    from scipy.special import gammaln

    table = counts.copy()
    largest = max(int(table.max(initial=0)), 1).bit_length()
    movable = [each for each in free if all(table.shape[axis] > 1 for axis in each)]
    for sweep in range(sweeps if movable else 0):
        axes = movable[sweep % len(movable)]
        orders = [_paired(table.shape[axis], draws) for axis in axes]
        corners = [_at(table.shape, axes, orders, which) for which in _corners(len(axes))]
        step = 1 << int(draws.integers(largest))
        signs = [1 - 2 * (sum(which) % 2) for which in _corners(len(axes))]
        moved = step * draws.choice(np.array([-1, 1]), table[corners[0]].shape)
        gain: Any = 0.0
        possible = np.ones(moved.shape, bool)
        for corner, sign in zip(corners, signs, strict=True):
            old = table[corner]
            new = old + sign * moved
            possible &= new >= 0
            gain = gain + gammaln(old + 1.0) - gammaln(np.maximum(new, 0) + 1.0)
        taken = possible & (np.log(1 - draws.random(moved.shape)) < gain)
        for corner, sign in zip(corners, signs, strict=True):
            table[corner] += sign * np.where(taken, moved, 0)
    return table


def _paired(size: int, draws: np.random.Generator) -> Ints:
    """The cells of an axis in random order, one left out if they are odd in number."""
    return draws.permutation(size)[: size // 2 * 2]


def _corners(axes: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=axes))


def _at(
    shape: tuple[int, ...], axes: tuple[int, ...], orders: list[Ints], which: tuple[int, ...]
) -> tuple[Any, ...]:
    """The cells at one corner of every box: of each paired axis every second of its order."""
    chosen: list[Ints] = [np.arange(size) for size in shape]
    for axis, order, first in zip(axes, orders, which, strict=True):
        chosen[axis] = order[first::2]
    return np.ix_(*chosen)
