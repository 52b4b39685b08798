"""One call for the two tasks of the paper, for data already in memory."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask import CellCounts, SortedCounts, TreeCounts
from trueup.axis import Axis
from trueup.axis.column import column_of
from trueup.axis.numbers import whole_number
from trueup.axis.reading import group_sizes
from trueup.cost import Cost
from trueup.edges import graph_kind, numbered_pairs
from trueup.epsilon import positive
from trueup.errors import InputError, shown
from trueup.facts import NumberOfGroups
from trueup.infer import infer
from trueup.measure import measure
from trueup.release import SortedRelease

FOR_THE_NUMBER = Fraction(1, 10)
"""The part of ε that goes to the number of groups where that is not public."""

_NUMBER = CellCounts(Axis.categories("groups", ["number"]))


def histogram(
    x: Any,
    bins: int | npt.ArrayLike = 10,
    range: tuple[float, float] | None = None,
    *,
    epsilon: object = None,
    rho: object = None,
) -> tuple[npt.NDArray[Any], Floats]:
    """Private counts and their edges, in the shape of numpy.histogram.

    `x` is one column of numbers: an array, a list, a column of pandas, Polars or Arrow.
    `range`, or the edges as `bins`, must be given: they are public and never read from the data.
    Every bin is half open, the last one too; what lies outside is not counted.

    >>> counts, edges = histogram([1, 2, 2.5, 9], bins=64, range=(0, 10), epsilon=1)
    >>> len(counts), len(edges)
    (64, 65)
    """
    if isinstance(bins, (int, float, str, np.generic)) or bins is None:
        if range is None:
            raise InputError(
                "histogram needs range=(low, high): choosing the ends by looking at the data leaks "
                "information."
            )
        if not isinstance(range, (tuple, list, np.ndarray)) or len(range) != 2:
            raise InputError(f"range must be (low, high), got {shown(range)}.")
        axis = Axis.regular("x", range[0], range[1], whole_number(bins, "bins, unless edges,"))
    elif range is not None:
        raise InputError("Give either edges as bins, or a number of bins with a range.")
    else:
        axis = Axis.edges("x", bins)  # type: ignore[arg-type]
    release = infer(measure(axis.count(x), TreeCounts(axis), epsilon, rho=rho))
    cells = axis.columns(np.arange(axis.size), np.arange(1, axis.size + 1))
    return release.counts(), _edges(cells["low"], cells["high"])


def _edges(low: Any, high: Any) -> Floats:
    """The edges of bins; where a bin has no end, infinity."""
    first = -np.inf if low[0] is None else low[0]
    last = np.inf if high[-1] is None else high[-1]
    return np.array([first, *low[1:], last], np.float64)


def degree_sequence(
    edges: Any,
    nodes: int | None,
    *,
    epsilon: object = None,
    rho: object = None,
    kind: str | None = None,
    graphical: bool = False,
) -> SortedRelease:
    """The private degree sequence of a graph: pairs of nodes, or a networkx graph.

    Nodes are whole numbers, 0 … nodes − 1, or names; an edge with a missing end is not counted.
    `kind` is "undirected" (an edge counts for both its ends: sensitivity 2), "directed" (degrees
    out of the first column: sensitivity 1) or "bipartite" (degrees of the first column, whose
    nodes are apart from the second's: sensitivity 1); a networkx graph says itself whether it is
    directed. Self-loops are not counted; an edge given twice counts once (for undirected graphs,
    in either direction). `nodes` is public; where the edges name more nodes, or other numbers,
    the `nodes` largest degrees are kept. If it is not public, say nodes=None: a tenth of ε then
    estimates how many have an edge, on the large side, and nodes may have any numbers.
    `graphical` gives the nearest sequence that is the degree sequence of some simple graph.

    The degrees are whole numbers, asked adaptively (`SortedCounts`); of a few nodes one by one.

    >>> ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> len(degree_sequence(ring, nodes=4, epsilon=1).counts())
    4
    """
    kind = graph_kind(edges, kind)
    if nodes is not None and whole_number(nodes, "nodes") < 1:
        raise InputError(f"nodes must be at least 1, got {nodes}.")
    pairs = numbered_pairs(edges, kind)
    ends = 2 if kind == "undirected" else 1
    if graphical and ends == 1:
        raise InputError(f"graphical=True is for undirected graphs; this one is {kind}.")
    _check_number(nodes, "nodes", Cost.of(epsilon, rho))
    question = None if nodes is None else SortedCounts(nodes, ends=ends)
    if question is not None and _numbered(pairs, question.groups, kind):
        found = degrees(pairs, question.groups, kind)
        measured = measure(found, question, epsilon, rho=rho, unit="edge")
        return infer(measured, graphical=graphical)
    if kind == "undirected":
        names, numbers = np.unique(pairs, return_inverse=True)
        pairs = numbers.reshape(pairs.shape)
    else:
        names, first = np.unique(pairs[:, 0], return_inverse=True)
        if kind == "directed":  # a loop is no edge, wherever the second column points
            first, pairs = first[pairs[:, 0] != pairs[:, 1]], pairs[pairs[:, 0] != pairs[:, 1]]
        # Numbered afresh: int64 and uint64 beside each other would become floats.
        _, second = np.unique(pairs[:, 1], return_inverse=True)
        pairs = np.stack([first, second], axis=1)
    found = degrees(pairs, max(len(names), 1), "undirected" if ends == 2 else "bipartite")
    if question is None:
        return _of_unknown_number(found[found > 0], epsilon, ends, graphical, "edge")
    largest = _largest(found, question.groups)
    measured = measure(largest, question, epsilon, rho=rho, unit="edge")
    return infer(measured, graphical=graphical)


def _numbered(pairs: npt.NDArray[Any], nodes: int, kind: str) -> bool:
    """Whether all nodes are numbered as declared, so that they need no numbers of their own."""
    numbered = pairs[:, :1] if kind == "bipartite" else pairs
    return not numbered.size or bool(numbered.min() >= 0 and numbered.max() < nodes)


def _largest(counts: Ints, groups: int) -> Ints:
    """The largest counts, no more of them than groups.

    A record moves one count by one, and so at most one of the largest by one.
    """
    return np.sort(counts)[max(len(counts) - groups, 0) :]


def _check_number(groups: int | None, name: str, cost: Cost) -> None:
    if groups is None and cost.rho is not None:
        raise InputError(
            f"With rho= the number of {name} is not estimated: say {name}=, the most there can be, "
            f"or ask with epsilon=."
        )


def frequency_list(
    values: Any, groups: int | None, *, epsilon: object = None, rho: object = None
) -> SortedRelease:
    """How often the different values occur, in rising order, whichever values they are.

    `values` is one column; what is missing (None, NaN) is no value, and not counted.
    `groups` is public: how many different values there could be; where more occur, the largest
    counts are kept, as many as declared. If it is not public, say groups=None: a tenth of ε then
    estimates how many occur, on the large side.

    >>> words = ["the", "a", "the", "of", "the"]
    >>> len(frequency_list(words, groups=4, epsilon=1).counts())
    4
    """
    if groups is not None and whole_number(groups, "groups") < 1:
        raise InputError(f"groups must be at least 1, got {groups}.")
    _check_number(groups, "groups", Cost.of(epsilon, rho))
    found = group_sizes(column_of(values, "frequency_list"))
    if groups is None:
        return _of_unknown_number(found, epsilon, 1, False)
    question = SortedCounts(groups)
    return infer(measure(_largest(found, question.groups), question, epsilon, rho=rho))


def _of_unknown_number(
    counts: Ints, epsilon: object, ends: int, graphical: bool, unit: str = "row"
) -> SortedRelease:
    """The sorted counts of groups whose number is not public; all of them are above zero."""
    whole = positive(epsilon)
    part = whole * FOR_THE_NUMBER
    asked = measure([len(counts)], _NUMBER, part, rows_per_unit=ends)
    # Three noise scales above: too few groups would cut off the smallest, in 1 of 40 cases.
    groups = max(int(asked.noisy[0]) + 3 * ends * -(-part.denominator // part.numerator), 1)
    largest = _largest(counts, groups)
    question = SortedCounts(groups, ends=ends)
    release = infer(measure(largest, question, whole - part, unit=unit), graphical=graphical)
    number = NumberOfGroups(groups, part)
    return replace(release, facts=replace(release.facts, number_of_groups=number))


def degrees(pairs: npt.NDArray[Any], nodes: int, kind: str) -> Ints:
    """The degree of each node, loops left out and repeated edges counted once."""
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
