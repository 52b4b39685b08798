"""Edges of a graph in memory: pairs of numbers or names, frames of two columns, networkx graphs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.errors import InputError, shown

_PAIRS = "edges must be pairs of whole node numbers, or of names: two columns, or a graph."
KINDS = ("undirected", "directed", "bipartite")


def graph_kind(edges: object, kind: object) -> str:
    """What the edges mean: as said, or as a networkx graph says itself."""
    directed = _directed(edges)
    if kind is None:
        return "directed" if directed else "undirected"
    if kind not in KINDS:
        raise InputError(f"kind must be undirected, directed or bipartite, got {shown(kind)}.")
    if kind == "directed" and directed is False:
        raise InputError("This graph is undirected: leave kind out, or give a networkx.DiGraph.")
    return str(kind)


def _directed(edges: object) -> bool | None:
    """Whether a networkx graph is directed; None if it is no such graph."""
    asked = getattr(edges, "is_directed", None)
    return bool(asked()) if callable(asked) and hasattr(edges, "edges") else None


def numbered_pairs(edges: Any, kind: str) -> npt.NDArray[Any]:
    """The edges as pairs of whole numbers; nodes that have names are numbered from 0 on.

    >>> numbered_pairs([("a", "b"), ("b", "c"), ("b", None)], "undirected").tolist()
    [[0, 1], [1, 2]]
    """
    given = list(edges.edges()) if _directed(edges) is not None else edges
    try:
        array = np.asarray(given)
    except ValueError:
        array = np.zeros(1)
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    if array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iu":
        return array
    # Names of several types, or tuples, as networkx has them, are no columns of an array.
    named = given if isinstance(given, list) else array.tolist()
    return _numbered(named, kind)


def _numbered(edges: list[Any], kind: str) -> Ints:
    first: dict[Hashable, int] = {}
    second = {} if kind == "bipartite" else first
    found = []
    for edge in edges:
        if not isinstance(edge, (tuple, list, np.ndarray)) or len(edge) != 2:
            raise InputError(_PAIRS)
        ends = [end.item() if isinstance(end, np.generic) else end for end in edge]
        for end in ends:
            number = isinstance(end, (float, complex)) and end == end  # merges large numbers
            if number or not isinstance(end, Hashable):
                raise InputError(_PAIRS)
        if any(end is None or end != end for end in ends):
            continue
        one, other = ends
        found.append((first.setdefault(one, len(first)), second.setdefault(other, len(second))))
    return np.array(found, np.int64).reshape(-1, 2)
