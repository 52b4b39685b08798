"""The cells of rows that have the counts of a release: of all its axes, or of its margins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trueup._kernels.display.boxes import cells_of
from trueup._kernels.rows.attach import Cells, attached, narrowest, shuffled_cells
from trueup._kernels.rows.moves import free_sets, walked
from trueup.arrays import Ints

if TYPE_CHECKING:
    from trueup.release.cells import Release

Names = tuple[str, ...]

_WORK = 1 << 30  # cells looked at by the walk among tables of the same margins
_MOST_SWEEPS = 400  # of each kind of move
_FEWEST_SWEEPS = 8


def largest_margins(asked: Sequence[Names]) -> list[frozenset[str]]:
    """The margins that are part of no other."""
    every = list(dict.fromkeys(frozenset(each) for each in asked))
    return [each for each in every if not any(each < other for other in every)]


def joined_in_order(margins: Sequence[frozenset[str]]) -> tuple[list[frozenset[str]], list[str]]:
    """The margins in an order in which each shares with those before only what one of them holds.

    Such margins are decomposable: they have a table whatever their counts, if these agree. What is
    left of those that are not, by Graham's reduction: a cycle.
    """
    left = {number: set(margin) for number, margin in enumerate(margins)}
    removed: list[int] = []
    while len(left) > 1:
        for number, margin in left.items():
            others = [other for place, other in left.items() if place != number]
            shared = margin & set().union(*others)
            if any(shared <= other for other in others):
                removed.append(number)
                break
        else:
            return [], sorted(" × ".join(sorted(margins[number])) for number in left)
        del left[removed[-1]]
    return [margins[number] for number in [*left, *reversed(removed)]], []


def row_cells(release: Release, draws: np.random.Generator) -> tuple[dict[str, Cells], list[str]]:
    """The cell of every row on each axis, in random order, and the cycle of its margins if any."""
    names = [axis.name for axis in release.axes]
    if not release.asked:
        return _shuffled(names, cells_of(release.prefix), draws), []
    margins = largest_margins(release.asked)
    ordered, cycle = joined_in_order(margins)
    if cycle:
        return _of_a_cycle(release, margins, draws), cycle
    rows: dict[str, Cells] = {}
    sizes = {axis.name: axis.size for axis in release.axes}
    for margin in ordered:
        own = [name for name in names if name in margin]
        counts = cells_of(release.margin(*own).prefix)
        if not rows:
            rows = _shuffled(own, counts, draws)
            continue
        shared = [name for name in own if name in rows]
        new = [name for name in own if name not in rows]
        table = counts.transpose([own.index(name) for name in [*shared, *new]])
        table = np.ascontiguousarray(table).reshape(math.prod(sizes[n] for n in shared), -1)
        at = np.zeros(len(rows[next(iter(rows))]), narrowest(len(table)))
        for name in shared:
            at *= at.dtype.type(sizes[name])
            at += rows[name]
        left = attached(at, table, draws)
        for name in reversed(new[1:]):
            left, last = np.divmod(left, left.dtype.type(sizes[name]))
            rows[name] = last.astype(narrowest(sizes[name]))
        rows[new[0]] = left.astype(narrowest(sizes[new[0]]))
    return {name: rows[name] for name in names if name in rows}, []


def _shuffled(names: list[str], counts: Ints, draws: np.random.Generator) -> dict[str, Cells]:
    """Rows with these counts, in random order."""
    return dict(zip(names, shuffled_cells(counts, draws), strict=True))


def _of_a_cycle(
    release: Release, margins: Sequence[frozenset[str]], draws: np.random.Generator
) -> dict[str, Cells]:
    """Rows of margins in a cycle: from the table that they are margins of, by moves that keep them.

    Whole margins that agree in pairs may have no table. Those of a release have one: they are sums
    of its whole cells. From there a walk goes towards the table of largest entropy.
    """
    kept = [axis for axis in release.axes if any(axis.name in margin for margin in margins)]
    table = cells_of(release.prefix)
    drop = tuple(n for n, axis in enumerate(release.axes) if axis not in kept)
    table = table.sum(axis=drop) if drop else table
    numbers = {axis.name: n for n, axis in enumerate(kept)}
    held = [frozenset(numbers[name] for name in margin) for margin in margins]
    free = free_sets(len(kept), held)
    each = _WORK // (table.size * len(free))
    sweeps = len(free) * min(max(each, _FEWEST_SWEEPS), _MOST_SWEEPS)
    return _shuffled([axis.name for axis in kept], walked(table, free, sweeps, draws), draws)
