"""The error of ranges on a tree that was asked adaptively, from the paths to their ends alone.

Counts go down the tree: the children of a node are moved alike until they sum to it. So a node
that lies in the range as a whole counts with its own answer, whatever was asked below it, and what
an answer counts for depends on one thing that noise had a say in: how deep the paths to the ends of
the range go before they end in a pooled node.

Levels are those that are asked, coarsest first; the last are the cells. A tree is three arrays:
`begins`, the first cells of the nodes of all levels but the last, each level followed by the number
of cells; `offsets`, where each level begins in it; `runs` of the same nodes: SPLIT, or NOT_REACHED,
or the number of the run in which a node was pooled. A sum of counts is told by `cuts`, from 0 to
the number of cells, and by the value of the cells between each two. Rows are classes of answers:
coefficient, level, how many; the runs of a level come after the last level, in the same order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Tree = tuple[Ints, Ints, Ints]
SPLIT, NOT_REACHED = -1, -2
WAYS, STOPPED, OPEN = 0, 1, 2  # places in what is told of the paths


@compiled
def _first_from(tree: Tree, level: int, cell: int) -> int:
    """The first node of a level that begins at this cell or after it."""
    begins, offsets, _ = tree
    if level == len(offsets) - 1:
        return cell
    low, high = offsets[level], offsets[level + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if begins[middle] < cell:
            low = middle + 1
        else:
            high = middle
    return low - offsets[level]


@compiled
def _family(
    tree: Tree, level: int, span: Ints, cuts: Ints, values: Floats, below: Floats, rows: Floats
) -> float:
    """The mean value of the nodes of a level in a span, which is that of their parent.

    `below` has a row for each cut: the node of this level that it cuts (−1: none), and that node's
    value. Adds the classes of these nodes to `rows`, of which the first entry of the last tells how
    many there are; less the mean, unless the level is the first.
    """
    begins, offsets, _ = tree
    begun = found = int(rows[-1, 0])
    total = 0.0
    for part in range(len(values)):
        start, stop = max(span[0], cuts[part]), min(span[1], cuts[part + 1])
        if start >= stop:
            continue
        whole = _first_from(tree, level, stop)
        if level < len(offsets) - 1 and begins[offsets[level] + whole] != stop:
            whole -= 1
        whole -= _first_from(tree, level, start)
        if whole > 0:
            rows[found, 0], rows[found, 1], rows[found, 2] = values[part], level, whole
            total += values[part] * whole
            found += 1
    for cut in range(1, len(cuts) - 1):
        inside = span[0] < cuts[cut] < span[1] and below[cut, 0] >= 0.0
        if inside and below[cut, 0] != below[cut - 1, 0]:
            rows[found, 0], rows[found, 1], rows[found, 2] = below[cut, 1], level, 1.0
            total += below[cut, 1]
            found += 1
    mean = total / (_first_from(tree, level, span[1]) - _first_from(tree, level, span[0]))
    if level > 0:
        for k in range(begun, found):
            rows[k, 0] -= mean
    rows[-1, 0] = found
    return mean


@compiled
def _pooled(span: Ints, cuts: Ints, values: Floats) -> tuple[float, float]:
    """The mean value of the cells of a span, and how far a cell's value is from it at most."""
    mean, low, high = 0.0, np.inf, -np.inf
    for part in range(len(values)):
        cells = min(span[1], cuts[part + 1]) - max(span[0], cuts[part])
        if cells > 0:
            mean += values[part] * cells / (span[1] - span[0])
            low, high = min(low, values[part]), max(high, values[part])
    return mean, max(high - mean, mean - low)


@compiled
def _open(run: int, level: int, most: float, total: float, rows: Floats) -> float:
    """Notes that nothing is known inside a node of a run but that its count is no larger than the
    run's: for the noise of the run's total, a row of its own; gives back for the total itself.

    Two nodes of one run together are no larger than the run either: then the larger of both counts.
    """
    found, before = int(rows[-1, 0]), 0.0
    for k in range(found):
        if rows[k, 1] == level and rows[k, 2] == 1.0 and rows[k, 3] == run:
            before = rows[k, 0]
            rows[k, 0] = max(before, most)
            return max(most - before, 0.0) * max(total, 0.0)
    rows[found, 0], rows[found, 1], rows[found, 2], rows[found, 3] = most, level, 1.0, run
    rows[-1, 0] = found + 1
    return most * max(total, 0.0)


@compiled
def classes_of(tree: Tree, cuts: Ints, values: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """The classes of answers in a sum of counts, and three numbers about the paths to its cuts.

    In how many ways they could have ended; whether one of them ends in a pooled node; and how far
    the sum may be off because nothing is known inside such nodes, but for the noisy `totals` of
    their runs.
    """
    begins, offsets, runs = tree
    ends, last = len(cuts), len(offsets) - 1
    rows = np.full(((last + 1) * 2 * ends + ends, 4), -1.0)
    rows[-1, 0] = 0.0
    told, ways = np.zeros(3), np.ones(ends)
    below = np.full((ends, 2), -1.0)
    for level in range(last - 1, -1, -1):
        above = np.full((ends, 2), -1.0)
        for cut in range(1, ends - 1):
            v = offsets[level] + _first_from(tree, level, cuts[cut])
            if begins[v] == cuts[cut]:
                continue  # the cut lies between two nodes
            v -= 1
            ways[cut] += 1
            if runs[v] == NOT_REACHED:
                continue
            if above[cut - 1, 0] == v:
                above[cut] = above[cut - 1]
                continue
            span = begins[v : v + 2]
            above[cut, 0] = v
            if runs[v] == SPLIT:
                above[cut, 1] = _family(tree, level + 1, span, cuts, values, below, rows)
            else:
                above[cut, 1], most = _pooled(span, cuts, values)
                told[STOPPED] = 1.0
                told[OPEN] += _open(runs[v], last + 1 + level, most, totals[runs[v]], rows)
        below = above
    span = np.array([0, cuts[-1]])
    _family(tree, 0, span, cuts, values, below, rows)
    told[WAYS] = np.prod(ways)
    return rows[: int(rows[-1, 0])], told


@compiled
def range_variances(
    tree: Tree, starts: Ints, stops: Ints, totals: Floats, variances: Floats
) -> Floats:
    """The variance of the noise in each range, by the variances of the answers of each level."""
    begins = tree[0]
    found = np.zeros(len(starts))
    for k in range(len(starts)):
        if starts[k] >= stops[k]:
            continue
        cuts, values = np.zeros(4, np.int64), np.zeros(3)
        cuts[1], cuts[2], cuts[3], values[1] = starts[k], stops[k], begins[-1], 1.0
        rows, _ = classes_of(tree, cuts, values, totals)
        for row in range(len(rows)):
            if rows[row, 1] < len(variances):
                found[k] += rows[row, 2] * rows[row, 0] ** 2 * variances[int(rows[row, 1])]
    return found
