"""The literature's adaptive methods beside ours: DAWA, PrivTree, MWEM, uniform and adaptive grids.

Run: python bench/baselines.py [--data DIR] [--draws 20] [--epsilon 0.1] [--grids]

Our own writing, after the papers, for experiments: noise on the real line, reproducible, NOT
PRIVATE. Each figure is the squared error over that of the plan's best question for non-negative
counts that is asked at once (below one is better), over ranges of log-uniform lengths, all ranges
and prefixes; with --grids over boxes of log-uniform sides and all boxes. Totals that a method
takes to be known cost it 5 %. PrivTree and grids leave counts negative, as published: cut off at 0,
long ranges are far worse.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

import trueup as tu
from accuracy import vectors
from adaptive import EPSILONS, default_for, scores
from quadtrees import box_scores, boxes_of, grid_sets
from trueup.paper.noise import measure_for_experiment

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Generator = np.random.Generator
Method = Callable[[Ints, float, Generator], Floats]
"""Counts, ε and randomness → the cells that are shown."""

TOTAL = 0.05  # of ε, for a total that a method needs


# --- DAWA: Li, Hay, Miklau, VLDB 2014 ------------------------------------------------------------


def deviations(counts: Ints) -> list[Floats]:
    """Σ |count − mean| of every run of 1, 2, 4 … cells, by its first cell."""
    found = [np.zeros(len(counts))]
    length = 2
    while length <= len(counts):
        windows = np.lib.stride_tricks.sliding_window_view(counts.astype(np.float64), length)
        each = [np.abs(w - w.mean(1, keepdims=True)).sum(1) for w in np.array_split(windows, 64)]
        found.append(np.concatenate(each))
        length *= 2
    return found


def least_partition(costs: list[Floats]) -> list[int]:
    """Where the buckets of the cheapest partition begin, and the end; costs[k] of length 2^k."""
    size = len(costs[0])
    best, last = [0.0], [0]
    for end in range(1, size + 1):
        least, at = math.inf, 0
        for power, each in enumerate(costs):
            start = end - (1 << power)
            if start < 0:
                break
            cost = best[start] + each[start]
            if cost < least:
                least, at = cost, start
        best.append(least)
        last.append(at)
    cuts = [size]
    while cuts[-1] > 0:
        cuts.append(last[cuts[-1]])
    return cuts[::-1]


def dawa(known: list[Floats] | None = None, ratio: float = 0.25) -> Method:
    """Buckets of like cells are found with a quarter of ε, and counted by our tree with the rest.

    A record moves a bucket's deviation by at most 2 and lies in one bucket of a partition, so that
    Laplace noise of scale 2 · 2 / ε₁ for every bucket is enough. That of one cell is always 0.
    """

    def run(counts: Ints, epsilon: float, g: Generator) -> Floats:
        one, two = ratio * epsilon, (1 - ratio) * epsilon
        each = deviations(counts) if known is None else known
        noisy = [d + g.laplace(0, 4 / one, len(d)) for d in each[1:]]
        cuts = least_partition([d + 1 / two for d in (each[0], *noisy)])
        begins, lengths = np.array(cuts[:-1]), np.diff(cuts)
        totals = np.add.reduceat(counts, begins)
        seed, cost = int(g.integers(1 << 31)), Fraction(two).limit_denominator(10**6)
        m = measure_for_experiment(totals, tu.TreeCounts(len(totals)), cost, seed)
        shown = tu.infer(m, nonnegative=True).counts()
        return np.repeat(shown / lengths, lengths)

    return run


# --- PrivTree: Zhang, Xiao, Xie, SIGMOD 2016 -----------------------------------------------------


def privtree(counts: npt.NDArray[np.int64], epsilon: float, g: Generator) -> Floats:
    """Nodes are halved along every axis while their biased noisy counts are above 0.

    Half of ε for splitting: with fan-out β noise of scale λ = (2β − 1) / (β − 1) / ε₁ and a bias of
    λ ln β a level make the cost independent of the depth. Half for the counts of the leaves.
    """
    dimensions = counts.ndim
    beta, half = 2**dimensions, epsilon / 2
    scale = (2 * beta - 1) / (beta - 1) / half
    bias = scale * math.log(beta)
    sums = np.zeros([size + 1 for size in counts.shape])
    sums[(slice(1, None),) * dimensions] = counts
    for axis in range(dimensions):
        sums = sums.cumsum(axis=axis)
    found = np.zeros(counts.shape)
    boxes = [tuple((0, size) for size in counts.shape)]
    depth = 0
    while boxes:
        ends = np.array(boxes)
        true = _box_sums(sums, ends)
        biased = np.maximum(true - depth * bias, -bias) + g.laplace(0, scale, len(boxes))
        alone = (ends[:, :, 1] - ends[:, :, 0]).max(axis=1) == 1
        split = (biased > 0) & ~alone
        leaf = true + g.laplace(0, 1 / half, len(boxes))
        below = []
        for box, parts, noisy in zip(boxes, split, leaf, strict=True):
            if parts:
                below += _halves(box)
                continue
            cells = math.prod(stop - start for start, stop in box)
            found[tuple(slice(*side) for side in box)] = noisy / cells
        boxes, depth = below, depth + 1
    return found


def _halves(box: tuple[tuple[int, int], ...]) -> list[tuple[tuple[int, int], ...]]:
    found: list[tuple[tuple[int, int], ...]] = [()]
    for start, stop in box:
        middle = (start + stop + 1) // 2
        sides = [side for side in ((start, middle), (middle, stop)) if side[0] < side[1]]
        found = [(*before, side) for before in found for side in sides]
    return found


def _box_sums(sums: Floats, ends: Ints) -> Floats:
    """The count of each box, by inclusion and exclusion of prefix sums."""
    dimensions = sums.ndim
    total = np.zeros(len(ends))
    for corner in range(1 << dimensions):
        which = [(corner >> axis) & 1 for axis in range(dimensions)]
        at = tuple(ends[:, axis, which[axis]] for axis in range(dimensions))
        total += (-1) ** (dimensions - sum(which)) * sums[at]
    return total


# --- MWEM: Hardt, Ligett, McSherry, NIPS 2012 ----------------------------------------------------


def mwem(rounds: int = 10, ranges: int = 1000) -> Method:
    """The worst range is chosen by the exponential mechanism, counted, and multiplied in."""

    def run(counts: Ints, epsilon: float, g: Generator) -> Floats:
        size = len(counts)
        total = max(counts.sum() + g.laplace(0, 1 / (TOTAL * epsilon)), 1.0)
        each = (1 - TOTAL) * epsilon / rounds / 2
        ends = np.sort(g.integers(0, size + 1, (ranges, 2)), axis=1)
        truth = np.concatenate([[0], np.cumsum(counts)])
        true = truth[ends[:, 1]] - truth[ends[:, 0]]
        x, mean, asked = np.full(size, total / size), np.zeros(size), []
        for _ in range(rounds):
            prefix = np.concatenate([[0], np.cumsum(x)])
            wrong = np.abs(true - (prefix[ends[:, 1]] - prefix[ends[:, 0]]))
            worst = int(np.argmax(each / 2 * wrong + g.gumbel(size=ranges)))
            asked.append((worst, true[worst] + g.laplace(0, 1 / each)))
            for _ in range(20):  # all that was asked so far, some times over
                for at, noisy in asked:
                    inside = slice(*ends[at])
                    step = (noisy - x[inside].sum()) / (2 * total)
                    x[inside] *= math.exp(min(max(step, -50.0), 50.0))
                    x *= total / x.sum()
            mean += x / rounds
        return mean

    return run


# --- Uniform and adaptive grids: Qardaji, Yang, Li, ICDE 2013 ------------------------------------


def _cuts(size: int, parts: int) -> Ints:
    return np.unique(np.linspace(0, size, max(1, min(parts, size)) + 1).astype(np.int64))


def uniform_grid(counts: Ints, epsilon: float, g: Generator) -> Floats:
    """√(N ε / 10) parts of each axis, counted with all of ε that the total N leaves."""
    total = max(counts.sum() + g.laplace(0, 1 / (TOTAL * epsilon)), 1.0)
    rest = (1 - TOTAL) * epsilon
    parts = math.ceil(math.sqrt(total * rest / 10))
    rows, columns = (_cuts(size, parts) for size in counts.shape)
    blocks = np.add.reduceat(np.add.reduceat(counts, rows[:-1], 0), columns[:-1], 1)
    return _spread(blocks + g.laplace(0, 1 / rest, blocks.shape), rows, columns)


def adaptive_grid(counts: Ints, epsilon: float, g: Generator, alpha: float = 0.5) -> Floats:
    """A coarse grid with half of ε; each of its boxes is cut the finer the more it holds."""
    total = max(counts.sum() + g.laplace(0, 1 / (TOTAL * epsilon)), 1.0)
    rest = (1 - TOTAL) * epsilon
    parts = max(10, math.ceil(math.sqrt(total * rest / 10) / 4))
    rows, columns = (_cuts(size, parts) for size in counts.shape)
    found = np.zeros(counts.shape)
    one, two = alpha * rest, (1 - alpha) * rest
    for a, b in itertools.pairwise(rows):
        for c, d in itertools.pairwise(columns):
            inner = counts[a:b, c:d]
            above = inner.sum() + g.laplace(0, 1 / one)
            finer = math.ceil(math.sqrt(max(above, 0) * two / 5))
            own, across = _cuts(b - a, finer), _cuts(d - c, finer)
            blocks = np.add.reduceat(np.add.reduceat(inner, own[:-1], 0), across[:-1], 1)
            noisy = blocks + g.laplace(0, 1 / two, blocks.shape)
            # Least squares of two levels: the box by both answers, its parts moved alike.
            weight = one**2 * blocks.size / (one**2 * blocks.size + two**2)
            both = weight * above + (1 - weight) * noisy.sum()
            noisy += (both - noisy.sum()) / blocks.size
            found[a:b, c:d] = _spread(noisy, own, across)
    return found


def _spread(blocks: Floats, rows: Ints, columns: Ints) -> Floats:
    """The cells of blocks, which share their counts evenly."""
    tall, wide = np.diff(rows), np.diff(columns)
    each = blocks / np.multiply.outer(tall, wide)
    return np.repeat(np.repeat(each, tall, 0), wide, 1)


# --- the table ------------------------------------------------------------------------------------


def ours(question: tu.Question) -> Method:
    """A question of ours, shown non-negative and whole."""

    def run(counts: Ints, epsilon: float, g: Generator) -> Floats:
        seed, cost = int(g.integers(1 << 31)), Fraction(str(epsilon))
        m = measure_for_experiment(counts.ravel(), question, cost, seed)
        return np.asarray(tu.infer(m, nonnegative=True, integers=True).counts(), np.float64)

    return run


def reweighted(*axes: tu.Axis) -> Method:
    """The library's own multiplicative weights, whose noise is private and new each time."""

    def run(counts: Ints, epsilon: float, g: Generator) -> Floats:
        return tu.adaptive(counts, axes, Fraction(str(epsilon))).counts()

    return run


def methods_of(counts: Ints) -> dict[str, Method]:
    """The default, and all that are compared with it on these counts."""
    if counts.ndim == 1:
        axis = tu.Axis.integers("cell", 0, len(counts) - 1)
        return {
            "default": ours(default_for(axis)),
            "adaptive tree": ours(tu.TreeCounts(axis, adaptive=True)),
            "DAWA": dawa(deviations(counts)),
            "PrivTree": privtree,
            "MWEM": mwem(),
            "tu.adaptive": reweighted(axis),
        }
    axes = [tu.Axis.integers(n, 0, s - 1) for n, s in zip("xy", counts.shape, strict=True)]
    return {
        "default": ours(default_for(*axes)),
        "PrivTree": privtree,
        "uniform grid": uniform_grid,
        "adaptive grid": adaptive_grid,
        "tu.adaptive": reweighted(*axes),
    }


def wrong_by(counts: Ints, shown: Floats) -> Floats:
    """The squared errors of the workloads."""
    if counts.ndim == 1:
        return scores(np.concatenate([[0.0], np.cumsum(shown - counts)]))
    prefix = np.zeros([size + 1 for size in counts.shape])
    prefix[1:, 1:] = (shown - counts).cumsum(0).cumsum(1)
    return np.array(box_scores(prefix, boxes_of(counts.shape)))


def table(sets: list[tuple[str, Ints]], epsilon: str, draws: int) -> None:
    """Prints the ratio of each method on each set, and geometric means."""
    logs: dict[str, list[Floats]] = {}
    for number, (name, counts) in enumerate(sets):
        errors: dict[str, Floats] = {}
        for method, run in methods_of(counts).items():
            g = np.random.default_rng(1)
            found = [wrong_by(counts, run(counts, float(epsilon), g)) for _ in range(draws)]
            errors[method] = np.mean(found, axis=0)
        base = errors.pop("default")
        if number == 0:
            print(f"| vector | ε | {' | '.join(errors)} |\n|---|--:|{'--:|' * len(errors)}")
        for method, each in errors.items():
            logs.setdefault(method, []).append(np.log(each / base))
        print(_row(name, epsilon, [each / base for each in errors.values()]), flush=True)
    means = [np.exp(np.mean(each, axis=0)) for each in logs.values()]
    print(_row("**geometric mean**", epsilon, means), flush=True)


def _row(name: str, epsilon: str, ratios: list[Floats]) -> str:
    cells = [" / ".join(f"{x:,.2f}" if x < 100 else f"{x:,.0f}" for x in each) for each in ratios]
    return f"| {name} | {epsilon} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of .npy vectors")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--epsilon", choices=EPSILONS, default="0.1")
    parser.add_argument("--grids", action="store_true", help="two dimensions: folder hist2d of DIR")
    given = parser.parse_args()
    sets = list(grid_sets(given.data) if given.grids else vectors(given.data))
    table(sets, given.epsilon, given.draws)


if __name__ == "__main__":
    main()
