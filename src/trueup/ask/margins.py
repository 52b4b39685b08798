"""Margins of a table less their own margins: what they cost, and the weights that are best.

Of a set A of axes, the centred margin has an answer for each of its cells: for every axis in A, its
n times what is asked less the sum along the axis. With two axes, n·m times the count of (i, j) less
m times row i's … plus the total. Centred margins of different sets are orthogonal, so that under
Gaussian noise every way to share the cost out is open, and the best is in closed form.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy.typing as npt

Levels = tuple[int, ...]

_PARTS = 1 << 20  # in which shares are rounded


def centred(block: npt.NDArray[Any], levels: Levels) -> npt.NDArray[Any]:
    """n times a margin less its sums, along every axis that it tells apart."""
    for axis, level in enumerate(levels):
        if level:
            block = block.shape[axis] * block - block.sum(axis=axis, keepdims=True)
    return block


def margins_below(marginals: Sequence[Levels]) -> tuple[Levels, ...]:
    """The sets of axes that are part of one of these, the smallest first; 1 for each axis in it."""
    found = {
        below
        for asked in marginals
        for below in itertools.product(*((0, 1)[: 1 + s] for s in asked))
    }
    return tuple(sorted(found, key=lambda each: (sum(each), each[::-1])))


def best_shares(sizes: Sequence[int], marginals: Sequence[Levels]) -> dict[Levels, Fraction]:
    """The shares of the centred margins for the least total variance of all cells of `marginals`.

    A margin of weight share/Πn, over the axes in it, gives its part the precision share² · Πn over
    the others; the part's total variance in the cells asked is its dimension times w/precision, w
    the sum over the marginals above it of Πn over their other axes. So share⁴ goes as w/(Πn)².
    """
    raw = {}
    for below in margins_below(marginals):
        rest = math.prod(n for n, level in zip(sizes, below, strict=True) if not level)
        raw[below] = math.sqrt(math.sqrt(_asked_above(sizes, marginals, below)) / rest)
    total = math.fsum(raw.values())
    parts = {below: max(1, round(_PARTS * each / total)) for below, each in raw.items()}
    return {below: Fraction(part, sum(parts.values())) for below, part in parts.items()}


def _asked_above(sizes: Sequence[int], marginals: Sequence[Levels], below: Levels) -> float:
    above = [m for m in marginals if all(a >= b for a, b in zip(m, below, strict=True))]
    return math.fsum(
        math.prod(n for n, level in zip(sizes, each, strict=True) if not level) for each in above
    )


def moved(sizes: Sequence[int], margin: Levels, apart: Levels | None, power: int) -> int:
    """How far a record moves a centred margin: Σ |move|^power over its answers.

    A record that comes or goes, or is moved to a cell that is `apart` on these axes.
    """
    # On an axis a record's weights are n − 1 in its cell and −1 in the n − 1 others.
    both, alike = [], 1
    for axis, level in enumerate(margin):
        n = sizes[axis]
        if level and apart is not None and apart[axis]:
            both.append(((n - 1, -1, 1), (-1, n - 1, 1), (-1, -1, n - 2)))
        elif level:
            alike *= (n - 1) ** power + n - 1
    if apart is None:
        return alike
    total = 0
    for cells in itertools.product(*both):
        here, there = math.prod(c[0] for c in cells), math.prod(c[1] for c in cells)
        total += abs(here - there) ** power * math.prod(c[2] for c in cells)
    return total * alike


def most_moved(
    sizes: Sequence[int],
    margins: Sequence[Levels],
    weights: Sequence[Fraction | int],
    power: int,
    replacing: bool,
) -> Fraction:
    """The most that a record moves centred margins: Σ weight · |move|^power."""
    ways: list[Levels | None] = [None]
    if replacing:
        ways += list(itertools.product(*((0, 1)[: 1 + (n > 1)] for n in sizes)))
    pairs = [(margin, Fraction(weight)) for margin, weight in zip(margins, weights, strict=True)]
    return max(
        sum((w * moved(sizes, m, way, power) for m, w in pairs), Fraction(0)) for way in ways
    )
