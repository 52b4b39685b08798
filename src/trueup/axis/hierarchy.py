"""Cells over labels under labels: region → state → county."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.axis.labels import (
    Label,
    checked_label,
    plain_label,
    repeated,
    text,
    unknown_label,
)
from trueup.axis.numbers import check_size, each, typed_whole
from trueup.axis.traits import CellTraits
from trueup.errors import InputError, shown

Path = tuple[Label, ...]

_ERRORS = {"std_error", "unbiased_std_error", "noise_std_error"}
_TAKEN = {"level", "noisy", "count", "unbiased", *_ERRORS}


@dataclass(frozen=True)
class HierarchyCells:
    """One cell for each path of labels that goes no deeper, kept in the order given.

    A path that ends early is its own single child further down, so that all cells lie on the
    finest level.
    """

    name: str
    paths: tuple[Path, ...]
    level_names: tuple[str, ...]
    traits: ClassVar = CellTraits("hierarchy", "label", labelled=True, nested=True)

    def __post_init__(self) -> None:
        paths = tuple(
            tuple(checked_label(label, self.name) for label in path) for path in self.paths
        )
        check_size(len(paths), self.name)
        if not all(paths):
            raise InputError(f"Axis '{self.name}' has an empty path.")
        paths = paths if _is_grouped(paths) else _grouped(paths)
        twice = repeated(paths)
        if twice is not None:
            raise InputError(f"Axis '{self.name}' names {_written(twice)} twice.")
        inner = {path[:depth] for path in paths for depth in range(1, len(path))}
        for path in paths:
            if path in inner:
                raise InputError(
                    f"Axis '{self.name}' has {_written(path)} both as a cell and as a group of "
                    f"cells. Give the rest of the group a label of its own."
                )
        depth = max(len(path) for path in paths)
        names = self.level_names or tuple(f"level {i + 1}" for i in range(depth))
        if len(names) != depth or len(set(names)) != depth:
            raise InputError(
                f"Axis '{self.name}' is {depth} levels deep and needs {depth} different level "
                f"names, got {list(names)}."
            )
        for level in names:
            if text(level, f"A level of axis '{self.name}'") in _TAKEN:
                raise InputError(
                    f"A level of axis '{self.name}' is called {level!r}, which is the name of "
                    f"another column of a release. Call it something else."
                )
        object.__setattr__(self, "paths", paths)
        object.__setattr__(self, "level_names", names)
        _ = self.by_label  # refuses labels that cannot be told apart

    @property
    def size(self) -> int:
        return len(self.paths)

    @cached_property
    def _nodes(self) -> dict[Path, tuple[int, int]]:
        """Every prefix of a path, with its cells [start, stop)."""
        nodes: dict[Path, tuple[int, int]] = {(): (0, self.size)}
        for depth, begins in enumerate(self._levels.values(), start=1):
            starts = begins.tolist()
            for start, stop in zip(starts, [*starts[1:], self.size], strict=True):
                if len(self.paths[start]) >= depth:
                    nodes[self.paths[start][:depth]] = (start, stop)
        return nodes

    @cached_property
    def _named(self) -> dict[Any, list[Path]]:
        """The nodes by their last label, and by their path written with slashes."""
        named: dict[Any, list[Path]] = {}
        for path in self._nodes:
            for name in dict.fromkeys((*path[-1:], _written(path))):
                named.setdefault(name, []).append(path)
        return named

    @cached_property
    def by_label(self) -> dict[Any, int]:
        """Cells by path, by path written with slashes, and by last label where that is unique."""
        cells: dict[Any, int] = {}
        for i, path in enumerate(self.paths):
            cells[path] = i
            if cells.setdefault(_written(path), i) != i:
                raise InputError(
                    f"Two paths of axis '{self.name}' are both written {_written(path)}. "
                    f"Change one of their labels."
                )
        last: dict[Label, int] = {}
        for i, path in enumerate(self.paths):
            last[path[-1]] = -1 if path[-1] in last else i
        for label, i in last.items():
            if i >= 0 and cells.setdefault(label, i) != i:
                raise InputError(
                    f"On axis '{self.name}' {label!r} is both the label of "
                    f"{_written(self.paths[i])} and the whole of another path. Change one of them."
                )
        return cells

    def boundary(self, value: object) -> int:
        """The number of cells before a label or path."""
        return self.node(*(value if isinstance(value, tuple) else (value,)))[0]

    def boundaries(self, values: npt.ArrayLike) -> Ints:
        """As `boundary`, for an array."""
        if isinstance(values, (list, tuple)):
            values = np.fromiter(values, dtype=object, count=len(values))
        return each(self.boundary, np.asarray(values, object))

    def edge(self, index: int) -> str | None:
        """The path with that many cells before it; None past the last."""
        return _written(self.paths[index]) if index < self.size else None

    def names(self, typed: str) -> bool:
        """Whether a text, as typed, is a label or a path."""
        return typed in self._named or typed_whole(typed) in self._named

    def parse(self, typed: str) -> Label | Path:
        """A label or a path as typed, with slashes; a stranger by its parts, for the error."""
        if typed in self._named:
            return typed
        number = typed_whole(typed)
        if number is not None and number in self._named:
            return number
        return tuple(typed.split("/")) if "/" in typed else typed

    def words(self, start: int, stop: int) -> str:
        """The path that all these cells share; where they share none, the first and the last."""
        first, last = self.paths[start], self.paths[stop - 1]
        shared = first[: _shared(first, last)]
        return " / ".join(map(str, shared)) or f"{_written(first)} … {_written(last)}"

    def describe(self) -> str:
        """The axis in words."""
        return f"{self.size:,} labels"

    def node(self, *path: object) -> tuple[int, int]:
        """The cells [start, stop) under a path of labels; one label alone if it is unique."""
        return self._nodes[self.resolve(*path)]

    def resolve(self, *path: object) -> Path:
        """The whole path that labels stand for; one label alone if it is unique."""
        labels: Any = tuple(plain_label(label) for label in path)
        if labels in self._nodes:
            return tuple(labels)
        if len(labels) == 1:
            matches = self._named.get(labels[0], [])
            if len(matches) == 1:
                return matches[0]
            if matches:
                ways = " or ".join(_written(match) for match in matches[:4])
                raise InputError(f"{path[0]!r} is ambiguous on axis '{self.name}': {ways}?")
        parent = labels[:-1] if labels[:-1] in self._nodes else ()
        raise unknown_label(
            "/".join(str(label) for label in path), self.name, self.children(*parent)
        )

    def children(self, *path: object) -> list[Label]:
        """The labels directly under a path, in order."""
        depth = len(path)
        labels: Any = tuple(plain_label(label) for label in path)
        start, stop = self._nodes.get(labels, (0, 0))
        return list(dict.fromkeys(p[depth] for p in self.paths[start:stop] if len(p) > depth))

    def levels(self) -> dict[str, Ints]:
        """The first cell of every node, level by level, coarsest first."""
        return dict(self._levels)

    @cached_property
    def _levels(self) -> dict[str, Ints]:
        shared = np.array([_shared(*two) for two in itertools.pairwise(((), *self.paths))])
        found = {
            level: np.flatnonzero(shared < depth).astype(np.int64)
            for depth, level in enumerate(self.level_names, start=1)
        }
        for starts in found.values():
            starts.setflags(write=False)
        return found

    def level_labels(self, level: str, starts: Ints, stops: Ints) -> list[str]:
        """What the nodes of a level are called."""
        return [str(label) for label in self.columns(starts, stops)[level]]

    def coarsen(self, level: str) -> HierarchyCells:
        """The hierarchy cut below a level."""
        depth = self.level_names.index(level) + 1
        paths = tuple(dict.fromkeys(path[:depth] for path in self.paths))
        return HierarchyCells(self.name, paths, self.level_names[:depth])

    def columns(self, starts: Ints, stops: Ints) -> dict[str, Any]:
        """The label of each level that all cells of [starts, stops) share."""
        table: dict[str, list[str | None]] = {name: [] for name in self.level_names}
        for a, b in zip(starts.tolist(), stops.tolist(), strict=True):
            first, last = self.paths[a], self.paths[b - 1]
            shared = True
            for depth, name in enumerate(self.level_names):
                shared = shared and first[depth : depth + 1] == last[depth : depth + 1] != ()
                table[name].append(str(first[depth]) if shared else None)
        return dict(table)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "hierarchy",
            "paths": [list(path) for path in self.paths],
            "levels": list(self.level_names),
        }


def paths_from_parents(parents: object, name: str) -> tuple[Path, ...]:
    """The paths of a table of parents: a mapping, or rows (child, parent), None above the top."""
    if isinstance(parents, Mapping):
        return _from_parents(parents, name)
    if isinstance(parents, str) or not isinstance(parents, Iterable):
        raise InputError(f"Axis '{name}' needs rows (child, parent), got {shown(parents)}.")
    table: dict[Any, Any] = {}
    for row in parents:
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 2:
            raise InputError(f"Axis '{name}' needs rows (child, parent), got {shown(row)}.")
        child, parent = checked_label(row[0], name), row[1]
        if child in table and table[child] != parent:
            raise InputError(
                f"On axis '{name}' {child!r} has two parents, {table[child]!r} and {parent!r}. "
                f"If they are two places of one name, give whole paths."
            )
        table[child] = parent
    return _from_parents(table, name)


def paths_of(tree: object, name: str) -> tuple[Path, ...]:
    """The paths of a nested dict, of a list of paths or of a table of parents; labels unchecked.

    A mapping whose values are labels or None is a table of parents; any other mapping is nested.
    """
    if isinstance(tree, Mapping):
        if tree and all(
            parent is None or plain_label(parent) is not None for parent in tree.values()
        ):
            return _from_parents(tree, name)
        return tuple(_from_nested(tree, name))
    if isinstance(tree, str) or not isinstance(tree, Iterable):
        raise InputError(
            f"Axis '{name}' needs a nested dict, a list of paths or a table of parents, "
            f"got {shown(tree)}."
        )
    paths = []
    for path in tree:
        if isinstance(path, str):
            path = path.split("/")
        if not isinstance(path, Sequence):
            raise InputError(
                f"A path of axis '{name}' must be a list of labels, got {shown(path)}."
            )
        paths.append(tuple(path))
    return tuple(paths)


def _from_nested(tree: object, name: str) -> Iterable[Path]:
    if isinstance(tree, Mapping):
        for label, below in tree.items():
            head = (label,)
            if below is None or (isinstance(below, Sized) and len(below) == 0):
                yield head
            else:
                for path in _from_nested(below, name):
                    yield head + path
    elif isinstance(tree, Iterable) and not isinstance(tree, str):
        for label in tree:
            yield (label,)
    else:
        raise InputError(f"Axis '{name}' holds {tree!r} where a dict or list of labels belongs.")


def _from_parents(parents: Mapping[Any, Any], name: str) -> tuple[Path, ...]:
    inner = set(parents.values())
    paths = []
    placed: set[Label] = set()
    for label in parents:
        if label in inner:
            continue
        path: dict[Label, None] = {}
        step: Any = label
        while step is not None:
            if step in path:
                raise InputError(f"Axis '{name}' goes in a circle at {step!r}.")
            path[checked_label(step, name)] = None
            step = parents.get(step)
        paths.append(tuple(reversed(path)))
        placed.update(path)
    for label in parents:
        if label not in placed:
            raise InputError(f"Axis '{name}' goes in a circle at {label!r}.")
    return tuple(paths)


def _shared(one: Path, other: Path) -> int:
    """How many labels two paths have in common from the first on."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _is_grouped(paths: tuple[Path, ...]) -> bool:
    """Whether the members of every group follow one another already."""
    seen: set[Path] = set()
    for before, path in itertools.pairwise(((), *paths)):
        new = [path[:depth] for depth in range(_shared(before, path) + 1, len(path) + 1)]
        if not seen.isdisjoint(new):
            return False
        seen.update(new)
    return True


def _grouped(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """The paths with members of a group brought together, groups in order of first sight."""
    order: dict[Path, int] = {}
    for path in paths:
        for depth in range(1, len(path) + 1):
            order.setdefault(path[:depth], len(order))
    return tuple(sorted(paths, key=lambda p: [order[p[:depth]] for depth in range(1, len(p) + 1)]))


def _written(path: Path) -> str:
    return "/".join(map(str, path))
