"""Trees that are asked adaptively: which neighbours are pooled, and the tree that comes of it.

What is asked of a tree is a tree again: the nodes that were reached, breadth first, in the array
`first` (the children of node v are first[v] … first[v + 1] − 1). Nodes of a run were pooled: they
have no children, and the run has one answer of its own.
"""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import compiled
from trueup.arrays import Floats, Ints

SMALL = 5.0  # a node is small if its answer is below so many deviations of its noise
CROWDED = 8.0  # few are if the small ones of a family sum to more than so many deviations of that
UNEVEN = 4.0  # few are if their squares are so many deviations above what noise explains
STILL = 2.0  # where few are, it is those below so many deviations

Limits = tuple[float, float, bool, float, float]
"""What is small, crowded, whether by families, uneven and still small: in deviations of noise."""


@compiled
def _below(number: int, total: float, squares: float, noise: float, limits: Limits) -> float:
    """Below what the small answers of a family stay small: so many, with this sum and of squares.

    Many small counts make a large one, and what is there may stand in a few of them. Noise moves a
    sum of m squares about its expectation by at most √(5 m) σ² in one deviation: Laplace noise,
    the widest there is here, has a kurtosis of 6.
    """
    small, crowded, by_family, uneven, still = limits
    if total > crowded * noise * np.sqrt(number):
        return still * noise
    if by_family and total > 0.0:
        excess = squares - total * total / number - (number - 1) * noise * noise
        if excess > uneven * np.sqrt(5.0 * number) * noise * noise:
            return still * noise
    return small * noise


@compiled
def small_runs(noisy: Ints, families: Ints, noise: float, limits: Limits) -> tuple[Ints, Ints]:
    """Where runs of small siblings begin and end.

    Family f has the answers families[f] … families[f + 1] − 1, whose noise has the deviation
    `noise`. A run is as long as it can be. Where the small answers of a family sum to much, or
    differ by more than noise, only those that are `still` small are pooled. Not by families, that
    is asked of the sum of each run alone. Reads nothing but noisy answers.
    """
    starts, stops = np.empty(len(noisy), np.int64), np.empty(len(noisy), np.int64)
    count, small, by_family = 0, limits[0] * noise, limits[2]
    for family in range(len(families) - 1):
        place, end = families[family], families[family + 1]
        below = small
        if by_family:
            number, total, squares = 0, 0.0, 0.0
            for k in range(place, end):
                if noisy[k] < small:
                    number += 1
                    total += noisy[k]
                    squares += float(noisy[k]) * noisy[k]
            if number > 0:
                below = _below(number, total, squares, noise, limits)
        while place < end:
            if noisy[place] >= small:
                place += 1
                continue
            stop, total = place, 0.0
            while stop < end and noisy[stop] < small:
                total += noisy[stop]
                stop += 1
            if not by_family:
                below = _below(stop - place, total, 0.0, noise, limits)
            while place < stop:
                if noisy[place] >= below:
                    place += 1
                    continue
                starts[count] = place
                while place < stop and noisy[place] < below:
                    place += 1
                stops[count] = place
                count += 1
    return starts[:count], stops[:count]


@compiled
def with_runs(
    first: Ints,
    noisy: Floats,
    level_starts: Ints,
    level_weights: Floats,
    starts: Ints,
    stops: Ints,
    pooled: Floats,
    w: Floats,
) -> tuple[Ints, Floats, Floats, Ints]:
    """The tree with each run as a node between its parent and its members.

    `noisy` are the answers of the nodes that were reached, `level_weights` those of their levels,
    `pooled` and `w` those of the runs starts[r] … stops[r] − 1. A run of one is no node of its own:
    the two answers are put together by their weights. Comes back with the answer and the weight of
    every node, and which of the nodes reached it is; −1 − r for run r.
    """
    nodes = len(noisy)
    for r in range(len(starts)):
        nodes += stops[r] - starts[r] > 1
    children, values, each = np.empty(nodes + 1, np.int64), np.empty(nodes), np.empty(nodes)
    which = np.empty(nodes, np.int64)
    values[0], each[0], which[0] = noisy[0], level_weights[0], 0
    done, run = 1, 0  # runs come in the order in which their parents do
    above, inside = 0, 0  # the levels of parents and of members of runs: neither ever falls
    for node in range(nodes):
        children[node] = done
        v = which[node]
        if v >= 0:
            place, stop = first[v], first[v + 1]
            while v >= level_starts[above + 1]:
                above += 1
            weight = level_weights[min(above + 1, len(level_weights) - 1)]
        else:
            place, stop = starts[-1 - v], stops[-1 - v]
            while place >= level_starts[inside + 1]:
                inside += 1
            weight = level_weights[inside]
        while place < stop:
            which[done], values[done], each[done] = place, noisy[place], weight
            if v >= 0 and run < len(starts) and starts[run] == place:
                if stops[run] - place == 1:
                    both = weight + w[run]
                    values[done] = (weight * noisy[place] + w[run] * pooled[run]) / both
                    each[done] = both
                else:
                    which[done], values[done], each[done] = -1 - run, pooled[run], w[run]
                place = stops[run]
                run += 1
            else:
                place += 1
            done += 1
    children[nodes] = nodes
    return children, values, each, which


@compiled
def children_of(first: Ints, number: Ints) -> tuple[Ints, Ints]:
    """All children, where node v has first[v] … first[v] + number[v] − 1, and where those of each
    node that has any begin among them."""
    families, total, split = np.empty(len(number) + 1, np.int64), 0, 0
    for v in range(len(number)):
        if number[v] > 0:
            families[split] = total
            split += 1
            total += number[v]
    families[split] = total
    found, done = np.empty(total, np.int64), 0
    for v in range(len(number)):
        for k in range(number[v]):
            found[done + k] = first[v] + k
        done += number[v]
    return found, families[: split + 1]


@compiled
def moved_to_parents(parents: Floats, families: Ints, noisy: Floats) -> Floats:
    """The noisy counts, those of each family moved alike until they sum to their parent.

    The children of parent p are families[p] … families[p + 1] − 1; some parents have none.
    """
    found = np.empty(len(noisy))
    for parent in range(len(parents)):
        begin, end = families[parent], families[parent + 1]
        total = 0.0
        for k in range(begin, end):
            total += noisy[k]
        step = (parents[parent] - total) / max(end - begin, 1)
        for k in range(begin, end):
            found[k] = noisy[k] + step
    return found


@compiled
def spread_evenly(starts: Ints, stops: Ints, totals: Floats, cells: Floats) -> None:
    """Puts each total into the cells start … stop − 1, which share it evenly."""
    for k in range(len(totals)):
        each = totals[k] / (stops[k] - starts[k])
        for cell in range(starts[k], stops[k]):
            cells[cell] = each


@compiled
def spread_leaves(
    children: Ints, which: Ints, x: Floats, bounds: tuple[Ints, Ints], last: Ints, cells: Floats
) -> None:
    """Puts the counts of leaves into their cells, which share them evenly.

    Leaf v is the node which[v] of those that were reached. It has the cells start … stop − 1 of
    `bounds`, or is one of those on the last level, which come after them: a cell each.
    """
    starts, stops = bounds
    upper = len(starts)
    for v in range(len(x)):
        if children[v] < children[v + 1]:
            continue
        node = which[v]
        if node >= upper:
            cells[last[node - upper]] = x[v]
            continue
        each = x[v] / (stops[node] - starts[node])
        for cell in range(starts[node], stops[node]):
            cells[cell] = each
