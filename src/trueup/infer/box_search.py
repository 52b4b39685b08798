"""The best lattice of boxes: which products of levels to ask, and with which shares of ε."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from trueup.arrays import Floats
from trueup.ask import BoxCounts
from trueup.ask.boxes import equal_parts
from trueup.axis import Axis
from trueup.infer.lattice import LatticeErrors
from trueup.workload import Workload

Radices = tuple[tuple[int, ...], ...]

_SAMPLED = 8_192  # ranges looked at where there is no closed form
_BRANCHINGS = (2, 4, 7, 16, 32)
_MOST_LEVELS = 121  # products of levels that a search weighs
_PARTS = 200
_STEPS = 200
_WIDE = 16


def quadtree(axes: Sequence[Axis]) -> BoxCounts | None:
    """Boxes in boxes, sixteen or so in each, where every axis can be cut into equal parts."""
    branching = max(2, round(_WIDE ** (1 / len(axes))))
    if any(axis.traits.labelled or equal_parts(axis.size, branching) is None for axis in axes):
        return None
    return BoxCounts.quadtree(*axes, branching=branching)


def mean_energies(
    errors: LatticeErrors, axes: Sequence[Axis], workloads: Sequence[Workload]
) -> list[Floats]:
    """Per axis the mean over its workload of what a range has of each level."""
    means = []
    for number, (axis, workload) in enumerate(zip(axes, workloads, strict=True)):
        if workload.kind == "ranges":
            means.append(_over_ranges(axis.size, errors.widths[number]))
        else:
            starts, stops, likely = workload.sample(axis, _SAMPLED)
            means.append(likely @ errors.energies(number, starts, stops))
    return means


def _over_ranges(size: int, widths: Sequence[int]) -> Floats:
    """The same over all ranges: two cells c ≤ d of a node are both in (c + 1)(n − d) of them."""
    cell = np.arange(size, dtype=np.float64)
    before = np.concatenate([[0.0], np.cumsum(cell + 1)])  # Σ (c + 1) over the cells before each
    found = []
    for width in widths:
        inside = before[:-1] - np.repeat(before[:-1:width], width)
        found.append(((size - cell) * (cell + 1 + 2 * inside)).sum() / width)
    pairs = size * (size + 1) / 2
    return np.maximum(np.diff(np.array(found) / pairs, prepend=0.0), 0.0)


def best_boxes(axes: Sequence[Axis], workloads: Sequence[Workload]) -> BoxCounts | None:
    """The lattice of least mean error over boxes that a search finds; None if no axis can be cut.

    Every axis is cut into equal parts, of about the same number on every level; all products of
    levels, roots too, may be asked, and shares of ε are searched for them. Those that get next to
    nothing are left out.
    """
    found: list[tuple[float, Radices, dict[tuple[int, ...], Fraction]]] = []
    tried: set[Radices] = set()
    for branching in _BRANCHINGS:
        cut = [equal_parts(axis.size, branching) for axis in axes]
        radices = tuple(each for each in cut if each is not None)
        if len(radices) < len(axes) or radices in tried:
            continue
        tried.add(radices)
        if math.prod(len(each) + 1 for each in radices) <= _MOST_LEVELS:
            found.append(_best_shares(axes, workloads, radices))
    if not found:
        return None
    _, radices, shares = min(found, key=lambda each: each[0])
    return BoxCounts(*axes, radices=radices, shares=shares)


def _best_shares(
    axes: Sequence[Axis], workloads: Sequence[Workload], radices: Radices
) -> tuple[float, Radices, dict[tuple[int, ...], Fraction]]:
    widths = tuple(
        tuple(axis.size // math.prod(each[:level]) for level in range(len(each) + 1))
        for axis, each in zip(axes, radices, strict=True)
    )
    levels = list(itertools.product(*(range(len(each)) for each in widths)))
    blank = LatticeErrors(widths, tuple(levels), (Fraction(1),) * len(levels), "continuous")
    energy = np.ones(())
    for each in mean_energies(blank, axes, workloads):
        energy = np.multiply.outer(energy, each)
    # λ_j = Σ over levels at or below j of share²/2 · cells of a box: the error is Σ energy_j / λ_j.
    at = np.array(levels)
    below = (at[:, None, :] <= at[None, :, :]).all(axis=2)
    cells = np.array(
        [math.prod(w[k] for w, k in zip(widths, each, strict=True)) for each in levels]
    )
    weigh = below * cells / 2.0
    flat = energy.ravel()

    def descended(shares: Floats, steps: int) -> tuple[float, Floats]:
        # Where the error is least, its slope is the same for all that are asked.
        for _ in range(steps):
            spectrum = weigh @ shares**2
            shares = shares * np.sqrt(shares * (weigh.T @ (flat / spectrum**2)))
            shares = shares / shares.sum()
        return float((flat / (weigh @ shares**2)).sum()), shares

    least, shares = descended(np.full(len(levels), 1 / len(levels)), _STEPS)
    improved = True
    while improved:  # many valleys: leave out one after the other, while that helps
        improved = False
        for level in np.argsort(shares)[:-1]:
            if shares[level] < 1 / _PARTS or level == len(levels) - 1:
                continue
            fewer = shares.copy()
            fewer[level] = 0.0
            error, other = descended(fewer / fewer.sum(), _STEPS // 4)
            if error < least * (1 - 1e-4):
                least, shares, improved = error, other, True
                break
    parts = np.rint(_PARTS * shares).astype(np.int64)
    parts[-1] = max(int(parts[-1]), 1)
    total = int(parts.sum())
    whole = {each: Fraction(int(p), total) for each, p in zip(levels, parts, strict=True) if p}
    return float((flat / (weigh @ (parts / total) ** 2)).sum()), radices, whole
