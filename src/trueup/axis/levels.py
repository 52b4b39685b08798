"""The nodes of an axis's own levels, under a label, a period or a prefix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.axis import Axis
from trueup.axis.hierarchy import HierarchyCells
from trueup.axis.ipv4 import Ipv4Cells
from trueup.errors import InputError


def every_size(axis: Axis) -> dict[str, int]:
    """How many nodes every level of an axis has, weeks too; coarsest first."""
    sizes = axis.level_sizes()
    return {name: sizes.get(name) or len(axis.every_level()[name]) for name in axis.every_level()}


def nodes_inside(
    axis: Axis, level: str, start: int, stop: int, most: int | None = None
) -> tuple[Ints, Ints]:
    """The nodes of a level that lie inside some cells: the first cell and the end of each.

    Refused if they are more than `most`. It takes the memory of what is found, also where the level
    has billions of nodes.
    """
    if isinstance(axis.cells, Ipv4Cells):
        found = axis.cells.prefixes_inside(level, start, min(stop, axis.size))
        _check_number(len(found), most)
        starts = np.arange(found.start, found.stop, found.step, dtype=np.int64)
        return starts, starts + found.step
    cuts = axis.every_level()[level]
    ends = np.append(cuts[1:], axis.size)
    inside = (cuts >= start) & (ends <= stop)
    _check_number(int(np.count_nonzero(inside)), most)
    return cuts[inside], ends[inside]


def _check_number(number: int, most: int | None) -> None:
    if most is not None and number > most:
        raise InputError(
            f"{number:,} nodes are more than the {most:,} that are told at once. "
            f"Choose a coarser level, or fewer cells by start and stop."
        )


def below(
    axis: Axis, path: tuple[object, ...], level: str | None
) -> Iterator[tuple[str, Ints, Ints]]:
    """The levels under a path, coarsest first: name, first cells, ends of the nodes on each.

    A node whose label ended further up is left out. With a level named, that one alone. Each level
    is made when it is asked for.
    """
    nested = list(axis.levels())
    known = nested if level is None else list(axis.every_level())
    if not known:
        raise InputError(f"Axis '{axis.name}' has no levels to go down; ask for ranges.")
    if level is not None and level not in known:
        raise InputError(f"Axis '{axis.name}' has no level {level!r}. Levels: {', '.join(known)}.")
    return _below(axis, path, level, known, nested)


def _below(
    axis: Axis, path: tuple[object, ...], level: str | None, known: list[str], nested: list[str]
) -> Iterator[tuple[str, Ints, Ints]]:
    start, stop = axis.node(*path) if path else (0, axis.size)
    depth = _depth(axis, path)
    for number, name in enumerate(known):
        if level not in (None, name):
            continue
        if name not in nested:  # a week that a period cuts is cut
            cuts = axis.every_level()[name]
            ends = np.append(cuts[1:], axis.size)
            reach = (cuts < stop) & (ends > start)
            yield name, np.maximum(cuts[reach], start), np.minimum(ends[reach], stop)
            continue
        starts, stops = nodes_inside(axis, name, start, stop)
        deeper = len(starts) > 1
        if isinstance(axis.cells, HierarchyCells):
            paths = axis.cells.paths
            goes_on = np.array([len(paths[cut]) > number for cut in starts.tolist()], np.bool_)
            starts, stops, deeper = starts[goes_on], stops[goes_on], number >= depth
        if deeper and len(starts):
            yield name, starts, stops


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
