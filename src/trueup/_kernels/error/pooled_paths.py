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
coefficient, level, how many, run, slack; the runs of a level come after the last level, in the same
order. The slack is how far a coefficient may be off where a path ends in a pooled node.

What lies inside a pooled node is unknown but for its count, of which two things tell: the total of
its run, and the count that the fit gives the node. The one that says less is left open.
"""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import compiled
from trueup.arrays import Floats, Ints

Tree = tuple[Ints, Ints, Ints]
Known = tuple[Floats, Floats, Floats, Floats]
"""Totals of runs; prefix sums of the counts, or none; of each level from which count on a node is
clearly split; and by how much a run's total may be above a node's count and still tell more."""
SPLIT, NOT_REACHED = -1, -2
WAYS, STOPPED, OPEN, UNCLEAR = 0, 1, 2, 3  # places in what is told of the paths
COEFFICIENT, LEVEL, MANY, RUN, SLACK = 0, 1, 2, 3, 4  # columns of rows
MANY_WAYS = 1e300  # more are not told apart: floats count no further


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
) -> tuple[float, float]:
    """The mean value of the nodes of a level in a span, which is that of their parent; its slack.

    `below` has a row for each cut: the node of this level that it cuts (−1: none), that node's
    value and its slack. Adds the classes of these nodes to `rows`, of which the first entry of the
    last tells how many there are; less the mean, unless the level is the first.
    """
    begins, offsets, _ = tree
    begun = found = int(rows[-1, 0])
    total, slack = 0.0, 0.0
    for part in range(len(values)):
        start, stop = max(span[0], cuts[part]), min(span[1], cuts[part + 1])
        if start >= stop:
            continue
        whole = _first_from(tree, level, stop)
        if level < len(offsets) - 1 and begins[offsets[level] + whole] != stop:
            whole -= 1
        whole -= _first_from(tree, level, start)
        if whole > 0:
            rows[found, COEFFICIENT], rows[found, LEVEL] = values[part], level
            rows[found, MANY], rows[found, SLACK] = whole, 0.0
            total += values[part] * whole
            found += 1
    for cut in range(1, len(cuts) - 1):
        inside = span[0] < cuts[cut] < span[1] and below[cut, 0] >= 0.0
        if inside and below[cut, 0] != below[cut - 1, 0]:
            rows[found, COEFFICIENT], rows[found, LEVEL] = below[cut, 1], level
            rows[found, MANY], rows[found, SLACK] = 1.0, below[cut, 2]
            total += below[cut, 1]
            slack += below[cut, 2]
            found += 1
    children = _first_from(tree, level, span[1]) - _first_from(tree, level, span[0])
    mean, slack = total / children, slack / children
    if level > 0:
        for k in range(begun, found):
            rows[k, COEFFICIENT] -= mean
            rows[k, SLACK] += slack
    rows[-1, 0] = found
    return mean, slack


@compiled
def _evened(span: Ints, cuts: Ints, values: Floats) -> float:
    """The mean value of the cells of a span."""
    mean = 0.0
    for part in range(len(values)):
        cells = min(span[1], cuts[part + 1]) - max(span[0], cuts[part])
        if cells > 0:
            mean += values[part] * cells / (span[1] - span[0])
    return mean


@compiled
def _furthest(span: Ints, cuts: Ints, values: Floats, middle: float) -> float:
    """How far the value of a cell of a span is from this one at most."""
    most = 0.0
    for part in range(len(values)):
        if min(span[1], cuts[part + 1]) > max(span[0], cuts[part]):
            most = max(most, abs(values[part] - middle))
    return most


@compiled
def _open(run: int, level: int, most: float, total: float, rows: Floats) -> float:
    """Notes that nothing is known inside a node of a run but that its count is no larger than the
    run's: for the noise of the run's total, a row of its own; gives back for the total itself.

    Two nodes of one run together are no larger than the run either: then the larger of both counts.
    """
    found, before = int(rows[-1, 0]), 0.0
    for k in range(found):
        if rows[k, LEVEL] == level and rows[k, MANY] == 1.0 and rows[k, RUN] == run:
            before = rows[k, COEFFICIENT]
            rows[k, COEFFICIENT] = max(before, most)
            return max(most - before, 0.0) * max(total, 0.0)
    rows[found, COEFFICIENT], rows[found, LEVEL] = most, level
    rows[found, MANY], rows[found, RUN], rows[found, SLACK] = 1.0, run, 0.0
    rows[-1, 0] = found + 1
    return most * max(total, 0.0)


@compiled
def _joined(node: Ints, ways: Floats, stops: float, own: bool) -> None:
    """Puts cuts of one node together: in how many ways their paths can end, `stops` of them in the
    node itself. A cut that was put to an earlier one has no ways of its own.

    Of two paths that end in nodes of one family, both by the total of a run, it may be one run or
    two: one if every path between them ends in its node too, by the `own` count of that, or goes
    between two nodes. So ways are counted apart in which the last run may still go on.
    """
    first, run = 0, 0.0
    for cut in range(1, len(ways)):
        same = first > 0 and cut < len(ways) - 1 and node[cut] == node[first]
        if first > 0 and not same:
            ways[first] += stops
            first = 0
        if cut == len(ways) - 1 or node[cut] < 0 or ways[cut] == 0.0:
            continue
        inside = ways[cut] > 1.0
        if same:
            before = ways[first]
            ways[first] = min(before * ways[cut] + (run if inside else 0.0), MANY_WAYS)
            passed = run if own or not inside else 0.0
            run = min((before + run if inside else 0.0) + passed, MANY_WAYS)
            ways[cut] = 0.0
        else:
            first, run = cut, 1.0 if inside else 0.0


@compiled
def _classes(
    tree: Tree, cuts: Ints, values: Floats, known: Known, all_asked: bool
) -> tuple[Floats, Floats]:
    """As `classes_of`; or with `all_asked` as `classes_if_all_were_asked`."""
    begins, offsets, runs = tree
    totals, prefix, clear, better = known
    ends, last, own = len(cuts), len(offsets) - 1, len(prefix) > 0
    # On a level a cut has a row of its node, and rows of the nodes on its two sides.
    rows = np.full(((last + 1) * 3 * ends + ends + 1, 5), -1.0)
    rows[-1, 0] = 0.0
    told, ways = np.zeros(4), np.ones(ends)
    below = np.full((ends, 3), -1.0)
    for level in range(last - 1, -1, -1):
        above, node = np.full((ends, 3), -1.0), np.full(ends, -1)
        for cut in range(1, ends - 1):
            v = offsets[level] + _first_from(tree, level, cuts[cut])
            if begins[v] == cuts[cut]:
                continue  # the cut lies between two nodes
            v -= 1
            node[cut] = v
            if runs[v] == NOT_REACHED and not all_asked:
                continue
            if above[cut - 1, 0] == v:
                above[cut] = above[cut - 1]
                continue
            span = begins[v : v + 2]
            middle, slack = _evened(span, cuts, values), 0.0
            if runs[v] == SPLIT or all_asked:
                middle, slack = _family(tree, level + 1, span, cuts, values, below, rows)
            count = prefix[span[1]] - prefix[span[0]] if own else np.inf
            if runs[v] == SPLIT and (not own or count < clear[level]):
                told[UNCLEAR] = 1.0
            if runs[v] >= 0:
                told[STOPPED] = 1.0
                most, total = _furthest(span, cuts, values, middle), totals[runs[v]]
                if all_asked:
                    told[OPEN] += abs(_evened(span, cuts, values) - middle) * abs(count)
                if not all_asked and max(count, 0.0) + better[level] < max(total, 0.0):
                    slack = most
                    told[OPEN] += most * max(count, 0.0)
                else:
                    told[OPEN] += _open(runs[v], last + 1 + level, most, total, rows)
            above[cut, 0], above[cut, 1], above[cut, 2] = v, middle, slack
        _joined(node, ways, 2.0 if own else 1.0, own)
        below = above
    _family(tree, 0, np.array([0, cuts[-1]]), cuts, values, below, rows)
    _joined(np.zeros(ends, np.int64), ways, 0.0, own)
    told[WAYS] = ways[1] if ends > 2 else 1.0
    return rows[: int(rows[-1, 0])], told


@compiled(work=1)  # by its cuts: few, however large the tree
def classes_of(tree: Tree, cuts: Ints, values: Floats, known: Known) -> tuple[Floats, Floats]:
    """The classes of answers in a sum of counts, and what is told about the paths to its cuts.

    In how many ways they could have ended, MANY_WAYS of more than that; whether one of them ends in
    a pooled node; how far the sum may be off because nothing is known inside such nodes; whether
    one goes through a node that is not clearly split.
    """
    return _classes(tree, cuts, values, known, False)


@compiled(work=1)
def classes_if_all_were_asked(
    tree: Tree, cuts: Ints, values: Floats, known: Known
) -> tuple[Floats, Floats]:
    """As `classes_of`, but of all answers that there would have been, had nothing been pooled.

    The fit shares the count of a pooled node evenly among its cells. Families of uneven nodes would
    not have: by the difference, times the count, the sum is off besides. What lies inside pooled
    nodes is told by the totals of their runs, in rows of their own.
    """
    return _classes(tree, cuts, values, known, True)


@compiled
def range_variances(
    tree: Tree, starts: Ints, stops: Ints, known: Known, variances: Floats
) -> Floats:
    """The variance of the noise in each range, by the variances of the answers of each level."""
    begins = tree[0]
    found = np.zeros(len(starts))
    for k in range(len(starts)):
        if starts[k] >= stops[k]:
            continue
        cuts, values = np.zeros(4, np.int64), np.zeros(3)
        cuts[1], cuts[2], cuts[3], values[1] = starts[k], stops[k], begins[-1], 1.0
        rows, _ = classes_of(tree, cuts, values, known)
        for row in range(len(rows)):
            if rows[row, LEVEL] < len(variances):
                each = variances[int(rows[row, LEVEL])]
                found[k] += rows[row, MANY] * rows[row, COEFFICIENT] ** 2 * each
    return found
