"""One call for the two tasks of the paper, for data already in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.ask import SortedCounts, TreeCounts
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.errors import InputError
from trueup.infer import infer
from trueup.measure import measure
from trueup.release import SortedRelease


def histogram(
    x: npt.ArrayLike,
    bins: int | npt.ArrayLike = 10,
    range: tuple[float, float] | None = None,
    *,
    epsilon: object,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Private counts and their edges, in the shape of numpy.histogram.

    `range`, or the edges as `bins`, must be given: they are public and never read from the data.
    Every bin is half open, the last one too; what lies outside is not counted.

    >>> counts, edges = histogram([1, 2, 2.5, 9], bins=64, range=(0, 10), epsilon=1)
    >>> len(counts), len(edges)
    (64, 65)
    """
    if np.ndim(bins) == 0:
        if range is None:
            raise InputError(
                "histogram needs range=(low, high): ends read from the data would betray it."
            )
        if not isinstance(range, (tuple, list)) or len(range) != 2:
            raise InputError(f"range must be (low, high), got {range!r}.")
        axis = Axis.regular("x", range[0], range[1], whole_number(bins, "bins, unless edges,"))
    elif range is not None:
        raise InputError("Give either edges as bins, or a number of bins with a range.")
    else:
        axis = Axis.edges("x", list(np.asarray(bins).ravel()))
    release = infer(measure(axis.count(x), TreeCounts(axis), epsilon))
    cells = axis.columns(np.arange(axis.size), np.arange(1, axis.size + 1))
    return release.counts(), np.append(cells["low"], cells["high"][-1])


def degree_sequence(
    edges: npt.ArrayLike,
    nodes: int,
    *,
    epsilon: object,
    kind: str = "undirected",
    graphical: bool = False,
) -> SortedRelease:
    """The private degree sequence of a graph given as pairs of node numbers, 0 … nodes − 1.

    `kind` is "undirected" (an edge counts for both its ends: sensitivity 2), "directed" (degrees
    out of the first column: sensitivity 1) or "bipartite" (degrees of the first column, whose
    nodes are numbered apart from the second's: sensitivity 1). Self-loops are not counted; an
    edge given twice counts once (for undirected graphs, in either direction). `nodes` is public.
    `graphical` gives the nearest sequence that is the degree sequence of some simple graph.

    >>> ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> len(degree_sequence(ring, nodes=4, epsilon=1).counts())
    4
    """
    if kind not in ("undirected", "directed", "bipartite"):
        raise InputError(f"kind must be undirected, directed or bipartite, got {kind!r}.")
    if whole_number(nodes, "nodes") < 1:
        raise InputError(f"nodes must be at least 1, got {nodes}.")
    try:
        pairs = np.asarray(edges)
    except ValueError:
        pairs = np.zeros(1)
    if pairs.size == 0:
        pairs = np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InputError("edges must be pairs of whole node numbers, an array of two columns.")
    ends = 2 if kind == "undirected" else 1
    question = SortedCounts(nodes, ends=ends)
    if graphical and ends == 1:
        raise InputError(f"graphical=True is for undirected graphs; this one is {kind}.")
    measurement = measure(degrees(pairs, nodes, kind), question, epsilon)
    return infer(measurement, graphical=graphical)


def degrees(pairs: npt.NDArray[Any], nodes: int, kind: str) -> npt.NDArray[np.int64]:
    """The degree of each node, loops left out and repeated edges counted once."""
    numbered = pairs[:, :1] if kind == "bipartite" else pairs
    if numbered.size and (numbered.min() < 0 or numbered.max() >= nodes):
        raise InputError(f"Nodes must be numbered 0 to {nodes - 1:,}, as nodes={nodes:,} declares.")
    if kind != "bipartite":
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if kind == "undirected":
        pairs = np.sort(pairs, axis=1)
    # Edges as single numbers, which sort far faster than pairs: nodes² is at most 2^64.
    base, second = nodes, pairs[:, 1]
    if kind == "bipartite":
        others, second = np.unique(second, return_inverse=True)
        base = max(len(others), 1)
    numbers = pairs[:, 0].astype(np.uint64) * np.uint64(base) + second.astype(np.uint64)
    numbers.sort()
    once = np.ones(len(numbers), bool)
    once[1:] = numbers[1:] != numbers[:-1]
    first, last = np.divmod(numbers[once], np.uint64(base))
    found = np.bincount(first.astype(np.int64), minlength=nodes)
    if kind == "undirected":
        found += np.bincount(last.astype(np.int64), minlength=nodes)
    return found.astype(np.int64)
