"""Cells over labels: a list of categories, or a hierarchy of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.axis.numbers import Ints, check_size
from trueup.errors import InputError

Label = str | int
Path = tuple[Label, ...]


def _plain(label: object) -> Label | None:
    """A label as str or int; None for anything else."""
    if isinstance(label, (bool, np.bool_)):
        return None
    if isinstance(label, str):
        return str(label)
    return int(label) if isinstance(label, (int, np.integer)) else None


def _checked(label: object, name: str) -> Label:
    plain = _plain(label)
    if plain is None:
        raise InputError(f"A label of axis '{name}' must be text or a whole number, got {label!r}.")
    return plain


def _unknown(given: object, name: str, known: Iterable[object]) -> InputError:
    shown = [repr(label) for label in known]
    listed = ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "")
    return InputError(f"{given!r} is not a label of axis '{name}'. Labels: {listed}.")


def _located(values: npt.ArrayLike, cells: Mapping[Any, int]) -> Ints:
    """The cell of each label; -1 for strangers."""
    array = np.asarray(values)
    if array.dtype.kind in "iuU" and array.size > 1000:
        distinct, inverse = np.unique(array, return_inverse=True)
        return _located(distinct, cells)[inverse].reshape(array.shape)
    found = [cells.get(_plain(value), -1) for value in array.ravel().tolist()]
    return np.array(found, np.int64).reshape(array.shape)


@dataclass(frozen=True)
class CategoryCells:
    """One cell a label, in the order given."""

    name: str
    labels: tuple[Label, ...]

    def __post_init__(self) -> None:
        if isinstance(self.labels, str) or not isinstance(self.labels, Iterable):
            raise InputError(f"Axis '{self.name}' needs a list of labels, got {self.labels!r}.")
        labels = tuple(_checked(label, self.name) for label in self.labels)
        object.__setattr__(self, "labels", labels)
        check_size(len(labels), self.name)
        if len(set(labels)) < len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise InputError(f"Axis '{self.name}' names {twice!r} twice.")

    @property
    def size(self) -> int:
        return len(self.labels)

    @cached_property
    def _cells(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def locate(self, values: npt.ArrayLike) -> Ints:
        """The cell of each label; -1 for strangers and what is missing."""
        return _located(values, self._cells)

    def boundary(self, value: object) -> int:
        """The number of labels before this one."""
        label = _plain(value)
        if label is None or label not in self._cells:
            raise _unknown(value, self.name, self.labels)
        return self._cells[label]

    def boundaries(self, values: npt.ArrayLike) -> Ints:
        """As `boundary`, for an array."""
        return np.array([self.boundary(value) for value in np.asarray(values).ravel()], np.int64)

    def edge(self, index: int) -> Label:
        """The label with that many labels before it; past the last, the words "the end"."""
        return self.labels[index] if index < self.size else "the end"

    def node(self, *path: object) -> tuple[int, int]:
        """The cells [start, stop) of one label."""
        start = self.boundary(path[-1] if path else None)
        return start, start + 1

    def columns(self, starts: Ints, stops: Ints) -> dict[str, Any]:
        """The runs of labels [starts, stops) as columns of a table."""
        names = [
            str(self.labels[a]) if b - a == 1 else f"{self.labels[a]} … {self.labels[b - 1]}"
            for a, b in zip(starts, stops, strict=True)
        ]
        return {"label": names}

    def to_json(self) -> dict[str, Any]:
        return {"kind": "categories", "labels": list(self.labels)}


@dataclass(frozen=True)
class HierarchyCells:
    """One cell for each path of labels that goes no deeper, kept in the order given.

    A path that ends early is its own single child further down, so that all cells lie on the
    finest level.
    """

    name: str
    paths: tuple[Path, ...]
    level_names: tuple[str, ...]

    def __post_init__(self) -> None:
        paths = tuple(tuple(_checked(label, self.name) for label in path) for path in self.paths)
        check_size(len(paths), self.name)
        if not all(paths):
            raise InputError(f"Axis '{self.name}' has an empty path.")
        paths = _grouped(paths)
        if len(set(paths)) < len(paths):
            twice = next(path for path in paths if paths.count(path) > 1)
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
        object.__setattr__(self, "paths", paths)
        object.__setattr__(self, "level_names", tuple(str(n) for n in names))

    @property
    def size(self) -> int:
        return len(self.paths)

    @cached_property
    def _nodes(self) -> dict[Path, tuple[int, int]]:
        """Every prefix of a path, with its cells [start, stop)."""
        nodes: dict[Path, tuple[int, int]] = {(): (0, self.size)}
        for i, path in enumerate(self.paths):
            for depth in range(1, len(path) + 1):
                start, _ = nodes.get(path[:depth], (i, i))
                nodes[path[:depth]] = (start, i + 1)
        return nodes

    @cached_property
    def _cells(self) -> dict[Any, int]:
        """Cells by whole path written with slashes, and by last label where that is unique."""
        last: dict[Any, int] = {}
        for i, path in enumerate(self.paths):
            last[path[-1]] = -1 if path[-1] in last else i
        whole = {"/".join(map(str, path)): i for i, path in enumerate(self.paths)}
        return {**{label: i for label, i in last.items() if i >= 0}, **whole}

    def locate(self, values: npt.ArrayLike) -> Ints:
        """The cell of each finest label, or of each path written as "CA/Kern"."""
        if isinstance(values, Sequence) and values and isinstance(values[0], tuple):
            paths: dict[Any, int] = {path: i for i, path in enumerate(self.paths)}
            return np.array([paths.get(path, -1) for path in values], np.int64)
        return _located(values, self._cells)

    def locate_columns(self, columns: Sequence[npt.ArrayLike]) -> Ints:
        """The cell of each row of label columns, one column a level, coarsest first."""
        rows = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
        deep = len(self.level_names)
        full = {path + (None,) * (deep - len(path)): i for i, path in enumerate(self.paths)}
        found = [full.get(tuple(_plain(label) for label in row), -1) for row in rows]
        return np.array(found, np.int64)

    def boundary(self, value: object) -> int:
        """The number of cells before a label or path."""
        return self.node(*(value if isinstance(value, tuple) else (value,)))[0]

    def boundaries(self, values: npt.ArrayLike) -> Ints:
        """As `boundary`, for an array of finest labels."""
        return np.array([self.boundary(value) for value in np.asarray(values).ravel()], np.int64)

    def edge(self, index: int) -> str:
        """The path with that many cells before it; past the last, the words "the end"."""
        return _written(self.paths[index]) if index < self.size else "the end"

    def node(self, *path: object) -> tuple[int, int]:
        """The cells [start, stop) under a path of labels; one label alone if it is unique."""
        labels = tuple(_plain(label) for label in path)
        if None not in labels and labels in self._nodes:
            return self._nodes[labels]  # type: ignore[index]
        if len(labels) == 1:
            matches = [found for found in self._nodes if found and found[-1] == labels[0]]
            if len(matches) == 1:
                return self._nodes[matches[0]]
            if matches:
                ways = " or ".join(_written(match) for match in matches[:4])
                raise InputError(f"{path[0]!r} is ambiguous on axis '{self.name}': {ways}?")
        parent = labels[:-1] if labels[:-1] in self._nodes else ()
        raise _unknown("/".join(str(label) for label in path), self.name, self.children(*parent))

    def children(self, *path: object) -> list[Label]:
        """The labels directly under a path, in order."""
        depth = len(path)
        labels = [p[depth] for p in self.paths if p[:depth] == path and len(p) > depth]
        return list(dict.fromkeys(labels))

    def levels(self) -> dict[str, Ints]:
        """The first cell of every node, level by level, coarsest first."""
        found: dict[str, Ints] = {}
        for depth, level in enumerate(self.level_names, start=1):
            cut = [path[:depth] for path in self.paths]
            starts = [i for i in range(self.size) if i == 0 or cut[i] != cut[i - 1]]
            found[level] = np.array(starts, np.int64)
        return found

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


def paths_of(tree: object, name: str) -> tuple[Path, ...]:
    """The paths from a nested dict or list, from an iterable of paths, or from (child, parent)s.

    A mapping whose values are labels or None is a table of parents; any other mapping is nested.
    """
    if isinstance(tree, Mapping):
        if tree and all(parent is None or _plain(parent) is not None for parent in tree.values()):
            return _from_parents(tree, name)
        return tuple(_from_nested(tree, name))
    if isinstance(tree, str) or not isinstance(tree, Iterable):
        raise InputError(
            f"Axis '{name}' needs a nested dict, a list of paths or a table of parents, "
            f"got {tree!r}."
        )
    paths = []
    for path in tree:
        if isinstance(path, str):
            path = path.split("/")
        if not isinstance(path, Sequence):
            raise InputError(f"A path of axis '{name}' must be a list of labels, got {path!r}.")
        paths.append(tuple(_checked(label, name) for label in path))
    return tuple(paths)


def _from_nested(tree: object, name: str) -> Iterable[Path]:
    if isinstance(tree, Mapping):
        for label, below in tree.items():
            head = (_checked(label, name),)
            if not below:
                yield head
            else:
                for path in _from_nested(below, name):
                    yield head + path
    elif isinstance(tree, Iterable) and not isinstance(tree, str):
        for label in tree:
            yield (_checked(label, name),)
    else:
        raise InputError(f"Axis '{name}' holds {tree!r} where a dict or list of labels belongs.")


def _from_parents(parents: Mapping[Any, Any], name: str) -> tuple[Path, ...]:
    inner = set(parents.values())
    paths = []
    for label in parents:
        if label in inner:
            continue
        path: list[Label] = []
        step: Any = label
        while step is not None:
            if step in path:
                raise InputError(f"Axis '{name}' goes in a circle at {step!r}.")
            path.append(_checked(step, name))
            step = parents.get(step)
        paths.append(tuple(reversed(path)))
    if not paths:
        raise InputError(f"Axis '{name}' goes in a circle: every label is somebody's parent.")
    return tuple(paths)


def _grouped(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """The paths with members of a group brought together, groups in order of first sight."""
    order: dict[Path, int] = {}
    for path in paths:
        for depth in range(1, len(path) + 1):
            order.setdefault(path[:depth], len(order))
    return tuple(sorted(paths, key=lambda p: [order[p[:depth]] for depth in range(1, len(p) + 1)]))


def _written(path: Path) -> str:
    return "/".join(map(str, path))
