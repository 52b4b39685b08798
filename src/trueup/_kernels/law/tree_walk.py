"""How the noisy answers of a regular tree enter a combination of its cells: one walk, two ways.

The walk goes up the nodes under which the value of a cell changes, and down again. It is plain
Python that indexes what it is given: lists for one combination, where nobody waits for a compiler,
and arrays where `range_coefficients` compiles it for many ranges. Both do the same arithmetic in
the same order and give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

_FULL, _LAST = 0, 1


class KnownTree(NamedTuple):
    """What the walk asks of a tree. Pairs hold a full node's number and the last node's."""

    size: int
    widths: Any  # cells under a full node of each level, root first
    lengths: Any  # nodes of each level
    V: Any  # pairs: variance of a node's count given what was asked at or below it
    below: Any  # pairs: the same without its own answer
    shrink: Any  # pairs: V / below
    weight: Any  # pairs: 1 / variance of its own noise
    full_children: Any  # how many full children the last node of each level has


class Path(NamedTuple):
    """Of each level the nodes that are cut, left to right, and their runs of uncut children."""

    number: Any
    node: Any
    given: Any  # Cov(q, total), given what was asked below
    own: Any  # and given its own answer too
    children: Any  # how many children are cut themselves
    runs: Any  # how many runs of children of one value
    first: Any  # of each run, those of all nodes of the level one after the other
    after: Any
    value: Any
    covariance: Any  # Cov(q, x) of the cut nodes of the level in hand, and of the next
    lower: Any


class Found(NamedTuple):
    """Full nodes of one value below: level, factor, number. Single ones: level, coefficient."""

    level: Any
    factor: Any
    number: Any
    alone_level: Any
    alone: Any


def room_for(
    height: int, turns: int, integers: Callable[..., Any], floats: Callable[..., Any]
) -> tuple[Path, Found]:
    """Enough room for any walk of so many changes of value; `integers(2, 3)` makes 2 × 3 zeros."""
    path = Path(
        integers(height),
        integers(height, turns),
        floats(height, turns),
        floats(height, turns),
        integers(height, turns),
        integers(height, turns),
        integers(height, 2 * turns),
        integers(height, 2 * turns),
        floats(height, 2 * turns),
        floats(turns),
        floats(turns),
    )
    parts, alone = height * (2 * turns + 1), height * (turns + 1)
    found = Found(integers(parts), floats(parts), floats(parts), integers(alone), floats(alone))
    return path, found


def cut_nodes(
    tree: KnownTree, level: int, turns: Any, values: Any, number: int, value: float, path: Path
) -> None:
    """The nodes of a level that a change of value cuts, from those of the next level."""
    width, narrow = tree.widths[level], tree.widths[level + 1]
    end, final = tree.lengths[level + 1], tree.lengths[level] - 1
    full, last = tree.V[level + 1][_FULL], tree.V[level + 1][_LAST]
    firsts, afters, kept = path.first[level], path.after[level], path.value[level]
    lower, own, lower_number = path.node[level + 1], path.own[level + 1], path.number[level + 1]
    at = passed = found = run = 0  # turns, lower nodes, nodes and runs so far
    while at < number:
        node = turns[at] // width
        if turns[at] == node * width:  # the value changes between two nodes
            value = values[at]
            at += 1
            continue
        stop = min((node + 1) * width, tree.size)
        child, past = node * width // narrow, -(-stop // narrow)
        total, before, runs = 0.0, passed, run
        while at < number and turns[at] < stop:
            place = turns[at] // narrow
            if child < place:
                firsts[run], afters[run], kept[run] = child, place, value
                run += 1
                total += value * (place - child) * full
            child = max(child, place + (1 if turns[at] > place * narrow else 0))
            value = values[at]
            at += 1
        if child < past:
            firsts[run], afters[run], kept[run] = child, past, value
            run += 1
            total += value * ((past - child) * full + (last - full if past == end else 0.0))
        while passed < lower_number and lower[passed] < past:
            total += own[passed]
            passed += 1
        path.node[level][found], path.given[level][found] = node, total
        path.own[level][found] = total * tree.shrink[level][_LAST if node == final else _FULL]
        path.children[level][found], path.runs[level][found] = passed - before, run - runs
        found += 1
    path.number[level] = found


def last_nodes(
    tree: KnownTree, level: int, factor: float, found: Found, parts: int, alone: int
) -> tuple[int, int]:
    """The last node of a level and all under it, of one value; how many are found now."""
    height = len(tree.widths)
    for k in range(level, height):
        found.alone[alone] = tree.weight[k][_LAST] * (tree.V[k][_LAST] * factor)
        found.alone_level[alone] = k
        alone += 1
        if k < height - 1:
            factor *= tree.shrink[k][_LAST]
            found.level[parts], found.factor[parts] = k + 1, factor
            found.number[parts] = tree.full_children[k]
            parts += 1
    return parts, alone


def moved_nodes(
    tree: KnownTree, level: int, path: Path, found: Found, parts: int, alone: int
) -> tuple[int, int, bool, float]:
    """The coefficients of the cut nodes of a level and of their uncut children.

    How many are found now; whether the last node of the next level is one of those children, and
    its factor: what is under it is not alike, and is left to `last_nodes`.
    """
    end, final = tree.lengths[level + 1], tree.lengths[level] - 1
    firsts, afters, kept = path.first[level], path.after[level], path.value[level]
    node, own, V = path.node[level + 1], path.own[level + 1], tree.V[level + 1]
    passed = run = 0
    ends, at_end = False, 0.0
    for k in range(path.number[level]):
        kind = _LAST if path.node[level][k] == final else _FULL
        found.alone[alone] = tree.weight[level][kind] * path.covariance[k]
        found.alone_level[alone] = level
        alone += 1
        excess = (path.covariance[k] - path.given[level][k]) / tree.below[level][kind]
        for _ in range(path.runs[level][k]):
            first, after = firsts[run], afters[run]
            factor = kept[run] + excess
            if after == end:
                after -= 1
                ends, at_end = True, factor
            found.level[parts], found.factor[parts] = level + 1, factor
            found.number[parts] = after - first
            parts += 1
            run += 1
        for _ in range(path.children[level][k]):
            last = node[passed] == end - 1
            path.lower[passed] = own[passed] + V[_LAST if last else _FULL] * excess
            passed += 1
    for k in range(passed):
        path.covariance[k] = path.lower[k]
    return parts, alone, ends, at_end


def walk(
    tree: KnownTree, turns: Any, values: Any, first: float, path: Path, found: Found
) -> tuple[int, int]:
    """How many parts and single nodes a combination has: those in `found`.

    The value of a cell is `first`, from turns[0] on values[0], and so on; turns are rising, and
    inside the tree. `range_coefficients` has these lines too: compiled code calls compiled code.
    """
    height = len(tree.widths)
    for level in range(height - 2, -1, -1):
        cut_nodes(tree, level, turns, values, len(turns), first, path)
    if path.number[0] == 0:
        return last_nodes(tree, 0, first, found, 0, 0)
    path.covariance[0] = path.own[0][0]
    parts, alone = 0, 0
    for level in range(height - 1):
        parts, alone, ends, factor = moved_nodes(tree, level, path, found, parts, alone)
        if ends:
            parts, alone = last_nodes(tree, level + 1, factor, found, parts, alone)
    return parts, alone
