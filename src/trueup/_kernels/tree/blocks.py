"""Least squares on a large regular tree, block by block in the cache, in several threads.

A *block* is a node of one level with all its leaves. Every block goes up, then the small tree
above the blocks goes up and down, then every block goes down. Each number is made from the same
numbers in the same order as by `regular.fit_by_level`, level by level over the whole tree: neither
the size of a block nor the number of threads changes a bit.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from trueup._kernels.compiled import ARRAY_ELEMENTS, compiled, inlined, plain_if_small
from trueup._kernels.threads import in_threads
from trueup._kernels.tree import prefix
from trueup._kernels.tree.regular import Numbers, RegularTree, child_sums
from trueup._kernels.tree.running_sums import block_totals, sum_each
from trueup.arrays import Floats, Ints

SPAN = 1 << 16  # leaves that go up or down together: what they need stays in the cache


# The loops below are written once, for a radix given first, and expanded for the radices 2 and 4:
# with the radix a constant they become straight vector code, up to five times faster.


@inlined
def _rise_by(
    radix: int, below: Numbers, answers: Numbers, gain: float, steps: Floats, fitted: Floats
) -> None:
    for i in range(fitted.size):
        below_sum = below.dtype.type(0)
        for child in range(radix):
            below_sum += below[i * radix + child]
        total = float(below_sum)
        step = gain * (answers[i] - total) if gain > 0.0 else 0.0
        steps[i] = step
        fitted[i] = total + step


@compiled
def _rise(
    below: Numbers, radix: int, answers: Numbers, gain: float, steps: Floats, fitted: Floats
) -> None:
    """Fits nodes of a level to what is fitted below and to their own answers."""
    if radix == 2:
        _rise_by(2, below, answers, gain, steps, fitted)
    elif radix == 4:
        _rise_by(4, below, answers, gain, steps, fitted)
    else:
        _rise_by(radix, below, answers, gain, steps, fitted)


@inlined
def _fall_by(radix: int, steps: Floats, share: float, below: Numbers, moved: Floats) -> None:
    for i in range(steps.size):
        step = steps[i] * share
        for child in range(radix):
            moved[i * radix + child] = below[i * radix + child] + step


@compiled
def _fall(steps: Floats, radix: int, share: float, below: Numbers, moved: Floats) -> None:
    """Moves the children of nodes by their shares of what the nodes gained over their sums."""
    if radix == 2:
        _fall_by(2, steps, share, below, moved)
    elif radix == 4:
        _fall_by(4, steps, share, below, moved)
    else:
        _fall_by(radix, steps, share, below, moved)


@compiled
def _rise_level(
    below: Numbers,
    radix: int,
    answers: Numbers,
    coefficients: Floats,
    last: bool,
    steps: Floats,
    fitted: Floats,
) -> None:
    """As `_rise`; `last`: the last of the nodes is the last of its level."""
    full = fitted.size - last
    _rise(below, radix, answers, coefficients[0], steps[:full], fitted[:full])
    if last:
        rest = below[full * radix :]
        _rise(rest, rest.size, answers[full:], coefficients[2], steps[full:], fitted[full:])


@compiled
def _fall_level(
    steps: Floats,
    radix: int,
    coefficients: Floats,
    last: bool,
    below: Numbers,
    moved: Floats,
) -> None:
    full = steps.size - last
    _fall(steps[:full], radix, coefficients[1], below, moved)
    if last:
        first, end = full * radix, below.size - 1
        own = steps[full:]
        _fall(own, end - first, coefficients[3], below[first:], moved[first:])
        one = own.size  # a variable: for the number 1 itself all would be compiled once more
        _fall(own, one, coefficients[4], below[end:], moved[end:])


def _rise_by_level(
    bottom: Numbers,
    noisy: Numbers,
    layout: Ints,
    coefficients: Floats,
    last: bool,
    steps: Floats,
    roots: Floats,
    work: Floats,
) -> None:
    below, room = bottom, [work[: work.size // 2], work[work.size // 2 :]]
    rows = list(zip(layout.tolist(), coefficients.tolist(), strict=True))  # quicker than scalars
    for k in range(len(rows) - 1, -1, -1):
        (radix, size, start, place), (gain, _, last_gain, _, _) = rows[k]
        total, own = child_sums(below, radix), steps[place : place + size]
        own[:] = noisy[start : start + size] if gain > 0.0 else total  # of what is not asked: 0
        own -= total
        own[: size - last] *= gain
        own[size - last :] *= last_gain
        below = room[0][:size] if k > 0 else roots
        np.add(total, own, out=below)
        room.reverse()


def _fall_by_level(
    bottom: Numbers,
    layout: Ints,
    coefficients: Floats,
    last: bool,
    steps: Floats,
    leaves: Floats,
) -> None:
    rows, levels = layout.tolist(), coefficients.tolist()
    for k, (radix, size, _, place) in enumerate(rows):
        _, share, _, last_share, last_child = levels[k]
        own, below, moved = steps[place : place + size], bottom, leaves
        if k + 1 < len(rows):
            _, size, _, place = rows[k + 1]
            below = moved = steps[place : place + size]
        shares = np.repeat(own * share, radix)[: len(below)]
        if last:
            shares[(len(own) - 1) * radix :] = own[-1] * last_share
            shares[-1] = own[-1] * last_child
        np.add(below, shares, out=moved)


@compiled(most=ARRAY_ELEMENTS, plain=_rise_by_level)
def rise(
    bottom: Numbers,
    noisy: Numbers,
    layout: Ints,
    coefficients: Floats,
    last: bool,
    steps: Floats,
    roots: Floats,
    work: Floats,
) -> None:
    """Nodes of several levels, the highest first in `layout`, from the lowest up to the `roots`.

    A row of the layout is a level's radix, how many of its nodes there are, side by side, and
    where they begin in `noisy` and in `steps`: what each gains over its children's sum. `bottom`
    is the level under the lowest; `last` says that the tree ends with these nodes. `work` has
    room for two numbers for each node of the lowest level.
    """
    low = len(layout) - 1
    size = layout[low, 1]
    fitted, below = work[:size], work[size:]
    for k in range(low, -1, -1):
        radix, size, start, place = layout[k]
        answers, own = noisy[start : start + size], steps[place : place + size]
        target = fitted[:size] if k > 0 else roots
        if k == low:
            _rise_level(bottom, radix, answers, coefficients[k], last, own, target)
        else:
            children = below[: layout[k + 1, 1]]
            _rise_level(children, radix, answers, coefficients[k], last, own, target)
        fitted, below = below, fitted


@compiled(most=ARRAY_ELEMENTS, plain=_fall_by_level)
def fall(
    bottom: Numbers,
    layout: Ints,
    coefficients: Floats,
    last: bool,
    steps: Floats,
    leaves: Floats,
) -> None:
    """As `rise`, from the highest nodes, whose steps are final, down to `leaves`."""
    low = len(layout) - 1
    for k in range(low + 1):
        radix, size, _, place = layout[k]
        own = steps[place : place + size]
        if k == low:
            _fall_level(own, radix, coefficients[k], last, bottom, leaves)
        else:
            _, size, _, place = layout[k + 1]
            below = steps[place : place + size]
            _fall_level(own, radix, coefficients[k], last, below, below)


@compiled
def _part(layout: Ints, lengths: Ints, number: int) -> Ints:
    """The layout of one part of levels cut into parts of as many nodes as `layout` says."""
    part = layout.copy()
    for k in range(len(layout)):
        begin = number * layout[k, 1]
        part[k, 1] = min(layout[k, 1], lengths[k] - begin)
        part[k, 2] += begin
        part[k, 3] += begin
    return part


@compiled(most=ARRAY_ELEMENTS)
def _rise_parts(
    leaves: Numbers,
    noisy: Numbers,
    layout: Ints,
    lengths: Ints,
    coefficients: Floats,
    steps: Floats,
    roots: Floats,
    parts: tuple[int, int],
) -> None:
    """Blocks, so many leaves together, from one part to another."""
    cells, number = layout[-1, 0] * layout[-1, 1], layout[0, 1]
    work = np.empty(2 * min(layout[-1, 1], lengths[-1]))
    for part in range(parts[0], parts[1]):
        own = _part(layout, lengths, part)
        bottom = leaves[part * cells : (part + 1) * cells]
        last = (part + 1) * number >= roots.size
        place = roots[part * number : (part + 1) * number]
        rise(bottom, noisy, own, coefficients, last, steps, place, work)


@compiled(most=ARRAY_ELEMENTS)
def _fall_parts(
    leaves: Numbers,
    layout: Ints,
    lengths: Ints,
    coefficients: Floats,
    steps: Floats,
    inferred: Floats,
    totals: Floats,
    parts: tuple[int, int, int],
) -> None:
    """Blocks, so many leaves together, from one part to another.

    The third of `parts` is how many leaves are summed together. With room for `totals`, sums that
    lie among these leaves as a whole are made while the leaves are in the cache.
    """
    block = parts[2]
    cells, number = layout[-1, 0] * layout[-1, 1], layout[0, 1]
    summed = -(-parts[0] * cells // block)
    for part in range(parts[0], parts[1]):
        own = _part(layout, lengths, part)
        place = slice(part * cells, (part + 1) * cells)
        last = (part + 1) * number >= lengths[0]
        fall(leaves[place], own, coefficients, last, steps, inferred[place])
        end = inferred.size if last else (part + 1) * cells
        ended = totals.size if last else min(end // block, totals.size)
        if summed < ended:
            sum_each(inferred, block, np.arange(summed, ended), totals)
            summed = ended


def block_level(tree: RegularTree) -> int:
    """The level whose nodes are the blocks: the highest whose nodes fit the cache."""
    return next(k for k, width in enumerate(tree.widths) if min(width, tree.size) <= SPAN)


def fit_into(
    tree: RegularTree,
    noisy: Numbers,
    starts: Ints,
    leaves: Floats,
    threads: int,
    totals: Floats | None = None,
) -> None:
    """As `regular.fit_by_level`, into `leaves`; into `totals` the sums of blocks of them."""
    block, lengths, begins = prefix.BLOCK, tree.lengths, starts.tolist()
    answers = noisy[begins[-1] : begins[-1] + tree.size]
    places = list(accumulate(lengths[:-1], initial=0))
    steps = np.empty(places[-1])
    layout = np.array(list(zip(tree.radices, lengths, begins, places, strict=False)), np.int64)
    top, coefficients = block_level(tree), tree.coefficients
    if top == len(tree.radices):  # no level has nodes that fit the cache: no blocks
        work, root = np.empty(2 * lengths[-2]), np.empty(1)
        rise(answers, noisy, layout, coefficients, True, steps, root, work)
        fall(answers, layout, coefficients, True, steps, leaves)
        if totals is not None:
            totals[:] = block_totals(leaves, block, threads)
        return
    roots = np.empty(lengths[top])
    together = max(1, SPAN // 2 // tree.widths[top])  # a half: parts that threads share evenly
    inside = layout[top:].copy()
    inside[:, 1] = [tree.widths[top] // width * together for width in tree.widths[top:-1]]
    number = -(-len(roots) // together)
    own = (inside, layout[top:, 1].copy(), coefficients[top:], steps)
    in_threads(lambda a, b: _rise_parts(answers, noisy, *own, roots, (a, b)), number, threads)
    high = next(k for k in range(top + 1) if k == top or tree.weights[k] > 0.0)
    if high < top:  # levels above the first that is asked move nothing
        work, root = np.empty(2 * lengths[top - 1]), np.empty(lengths[high])
        above = (layout[high:top], coefficients[high:top], True, steps[: places[top]])
        # Few answers, so that it is seen to be small: those of the levels above the blocks.
        few = noisy[: max(begins[k] + lengths[k] for k in range(top))]
        plain_if_small(rise)(roots, few, *above, root, work)
        below = steps[places[top] : places[top] + lengths[top]]
        plain_if_small(fall)(below, *above, below)
    if totals is None:
        totals = np.empty(0)
    totals[:] = np.nan
    fallen = (answers, *own, leaves, totals)
    in_threads(lambda a, b: _fall_parts(*fallen, (a, b, block)), number, threads)
    sum_each(leaves, block, np.flatnonzero(np.isnan(totals)), totals)  # where two threads met
