"""The nodes of an axis's own levels, under a label, a period or a prefix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.axis import Axis
from trueup.axis.hierarchy import HierarchyCells
from trueup.errors import InputError

Ints = npt.NDArray[np.int64]


def below(axis: Axis, path: tuple[object, ...], level: str | None) -> list[tuple[str, Ints, Ints]]:
    """The levels under a path, coarsest first: name, first cells, ends of the nodes on each.

    A node whose label ended further up is left out. With a level named, that one alone.
    """
    levels = axis.levels() if level is None else axis.every_level()
    if not levels:
        raise InputError(f"Axis '{axis.name}' has no levels to go down; ask for ranges.")
    if level is not None and level not in levels:
        raise InputError(f"Axis '{axis.name}' has no level {level!r}. Levels: {', '.join(levels)}.")
    start, stop = axis.node(*path) if path else (0, axis.size)
    depth = _depth(axis, path)
    found = []
    for number, (name, cuts) in enumerate(levels.items()):
        ends = np.append(cuts[1:], axis.size)
        inside = (cuts >= start) & (ends <= stop)
        if isinstance(axis.cells, HierarchyCells):
            paths = axis.cells.paths
            ended = np.array([len(paths[cut]) <= number for cut in cuts.tolist()])
            inside &= ~ended
            deeper = number >= depth
        else:
            deeper = inside.sum() > 1
        if name == level and name not in axis.levels():  # a week that a period cuts is cut
            reach = (cuts < stop) & (ends > start)
            found.append((name, np.maximum(cuts[reach], start), np.minimum(ends[reach], stop)))
        elif deeper and inside.any() and level in (None, name):
            found.append((name, cuts[inside], ends[inside]))
    return found


def _depth(axis: Axis, path: tuple[object, ...]) -> int:
    """How many labels deep a path reaches, a single label counted by where it stands."""
    if not isinstance(axis.cells, HierarchyCells):
        return 0
    return len(axis.cells.resolve(*path)) if path else 0


def columns(axis: Axis, under: list[tuple[str, Ints, Ints]]) -> dict[str, Any]:
    """The level of each node and what it covers; labels finer than its level are left empty."""
    names = [name for name, starts, _ in under for _ in range(len(starts))]
    starts, stops = spans(under)
    table = {"level": names, **axis.columns(starts, stops)}
    if isinstance(axis.cells, HierarchyCells):
        order = {name: depth for depth, name in enumerate(axis.cells.level_names)}
        for name, depth in order.items():
            table[name] = [
                label if order[level] >= depth else None
                for label, level in zip(table[name], names, strict=True)
            ]
    return table


def spans(under: list[tuple[str, Ints, Ints]]) -> tuple[Ints, Ints]:
    """The first cells and ends of all nodes, level after level."""
    none = np.zeros(0, np.int64)
    starts = np.concatenate([none, *(starts for _, starts, _ in under)])
    return starts, np.concatenate([none, *(stops for _, _, stops in under)])
