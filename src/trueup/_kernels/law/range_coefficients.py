"""The coefficients of many ranges of a regular tree at once, compiled.

What `intervaltree.coefficients` finds for any combination of cells, for ranges: the same walk, up
the nodes that an end of the range cuts and down again, with plain numbers in fixed places. A level
has at most two such nodes, and each of them at most three runs of children that are not cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_FULL, _LAST = 0, 1


@compiled
def fill_classes(
    starts: Ints,
    stops: Ints,
    size: int,
    widths: Ints,
    lengths: Ints,
    V: Floats,
    below: Floats,
    shrink: Floats,
    weight: Floats,
    full_children: Floats,
    under: Floats,
    number: Floats,
    coefficients: Floats,
    levels: Ints,
    counts: Floats,
) -> Ints:
    """How many classes each range has, written into its row; −1 where the row is too short.

    `V`, `below`, `shrink` and `weight` hold a full node's value and the last node's, level by
    level, root first; `under` and `number` what a full node of one value passes on to each level.
    """
    height, room = len(widths), coefficients.shape[1]
    used = np.zeros(len(starts), np.int64)
    turns, turned = np.zeros(2, np.int64), np.zeros(2)
    cut_number = np.zeros(height, np.int64)
    node, children = np.zeros((height, 2), np.int64), np.zeros((height, 2), np.int64)
    given, own = np.zeros((height, 2)), np.zeros((height, 2))
    run_number = np.zeros((height, 2), np.int64)
    runs, run_value = np.zeros((height, 2, 3, 2), np.int64), np.zeros((height, 2, 3))
    covariance, lower = np.zeros(2), np.zeros(2)
    # Full nodes of one value below: level, factor, number.
    part_level, part_factor = np.zeros(room, np.int64), np.zeros(room)
    part_number = np.zeros(room)
    for which in range(len(starts)):
        start, stop = starts[which], stops[which]
        if start >= stop:
            continue
        turn_number = 0
        if start > 0:
            turns[0], turned[0] = start, 1.0
            turn_number = 1
        if stop < size:
            turns[turn_number], turned[turn_number] = stop, 0.0
            turn_number += 1
        first_value = 0.0 if start > 0 else 1.0
        # Up: the nodes that are cut, and Cov(q, total) of each given what is below it.
        cut_number[height - 1] = 0
        for level in range(height - 2, -1, -1):
            width, narrow, end = widths[level], widths[level + 1], lengths[level + 1]
            value, at, passed, found = first_value, 0, 0, 0
            while at < turn_number:
                here = turns[at] // width
                if turns[at] == here * width:
                    value = turned[at]
                    at += 1
                    continue
                edge = min((here + 1) * width, size)
                child, past = here * width // narrow, -(-edge // narrow)
                C, run = 0.0, 0
                while at < turn_number and turns[at] < edge:
                    place = turns[at] // narrow
                    if child < place:
                        runs[level, found, run, 0], runs[level, found, run, 1] = child, place
                        run_value[level, found, run] = value
                        run += 1
                        C += value * (place - child) * V[level + 1, _FULL]
                    child = max(child, place + (1 if turns[at] > place * narrow else 0))
                    value = turned[at]
                    at += 1
                if child < past:
                    runs[level, found, run, 0], runs[level, found, run, 1] = child, past
                    run_value[level, found, run] = value
                    run += 1
                    C += value * (past - child) * V[level + 1, _FULL]
                    if past == end:
                        C += value * (V[level + 1, _LAST] - V[level + 1, _FULL])
                before = passed
                while passed < cut_number[level + 1] and node[level + 1, passed] < past:
                    C += own[level + 1, passed]
                    passed += 1
                kind = _LAST if here == lengths[level] - 1 else _FULL
                node[level, found], given[level, found] = here, C
                own[level, found] = C * shrink[level, kind]
                run_number[level, found], children[level, found] = run, passed - before
                found += 1
            cut_number[level] = found
        # Down: what each node is moved by, and with it the coefficients.
        taken, parts = 0, 0
        enough = True  # room in the row
        chain = -1  # the last node of a level, and all below it, of one value
        factor = 0.0
        if cut_number[0] == 0:
            chain, factor = 0, first_value
        else:
            covariance[0] = own[0, 0]
        for level in range(height):
            # The chain is followed to the leaves as soon as it begins.
            while chain >= 0:
                if taken >= room or parts >= room:
                    enough = False
                    break
                coefficients[which, taken] = weight[chain, _LAST] * V[chain, _LAST] * factor
                levels[which, taken], counts[which, taken] = chain, 1.0
                taken += 1
                if chain == height - 1:
                    chain = -1
                    break
                factor *= shrink[chain, _LAST]
                chain += 1
                part_level[parts], part_factor[parts] = chain, factor
                part_number[parts] = full_children[chain - 1]
                parts += 1
            if level == height - 1 or not enough:
                break
            end, final, passed = lengths[level + 1], lengths[level] - 1, 0
            for k in range(cut_number[level]):
                kind = _LAST if node[level, k] == final else _FULL
                if taken >= room or parts + 3 >= room:
                    enough = False
                    break
                coefficients[which, taken] = weight[level, kind] * covariance[k]
                levels[which, taken], counts[which, taken] = level, 1.0
                taken += 1
                excess = (covariance[k] - given[level, k]) / below[level, kind]
                for run in range(run_number[level, k]):
                    first, after = runs[level, k, run, 0], runs[level, k, run, 1]
                    if after == end:
                        after -= 1
                        chain, factor = level + 1, run_value[level, k, run] + excess
                    part_level[parts] = level + 1
                    part_factor[parts] = run_value[level, k, run] + excess
                    part_number[parts] = after - first
                    parts += 1
                for _ in range(children[level, k]):
                    last = node[level + 1, passed] == end - 1
                    more = V[level + 1, _LAST if last else _FULL] * excess
                    lower[passed] = own[level + 1, passed] + more
                    passed += 1
            covariance[0], covariance[1] = lower[0], lower[1]
        for part in range(parts):
            if part_number[part] <= 0 or part_factor[part] == 0 or not enough:
                continue
            top = part_level[part]
            for level in range(top, height):
                if taken >= room:
                    enough = False
                    break
                coefficients[which, taken] = under[top, level] * part_factor[part]
                levels[which, taken] = level
                counts[which, taken] = number[top, level] * part_number[part]
                taken += 1
        used[which] = taken if enough else -1
    return used


def range_classes(known: Any, size: int, starts: Ints, stops: Ints, room: int) -> Any:
    """The classes of each range [start, stop) of a regular tree: coefficient, level, number, used.

    `known` is what `intervaltree.coefficients` keeps of the tree; a row that needs more than `room`
    classes says so by −1 used.
    """
    coefficients = np.zeros((len(starts), room))
    levels, counts = np.zeros((len(starts), room), np.int64), np.zeros((len(starts), room))
    used = fill_classes(
        starts,
        stops,
        size,
        np.array(known.widths, np.int64),
        np.array(known.lengths, np.int64),
        np.array(known.V, np.float64),
        _pairs(known.below, len(known.widths)),
        _pairs(known.shrink, len(known.widths)),
        np.array(known.weight, np.float64),
        np.array([*known.full_children, 0], np.float64),
        known.under,
        known.number,
        coefficients,
        levels,
        counts,
    )
    return coefficients, levels, counts, used


def _pairs(values: Any, height: int) -> Floats:
    """Two numbers a level; leaves, which have nothing below them, may have none."""
    found = np.ones((height, 2))
    for level, pair in enumerate(values):
        if len(pair) == 2:
            found[level] = pair
    return found
