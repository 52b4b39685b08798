"""Quadtrees shown non-negative: finer levels favoured, small boxes pooled, beside equal shares.

Run: python bench/quadtrees.py [--data DIR] [--draws 20] [--epsilon 0.1] [--choose] [--widths]

DIR holds a folder hist2d of .npy grids of counts; without it, made-up grids. Each figure is the
squared error over that of the default, a quadtree whose levels share ε alike, over boxes of
log-uniform sides and all boxes; in brackets the lower 95 % end over the draws. "finer 1.2": each
level has 1.2 times the share of the one above; the same noise is used for both. "pooled" is the
adaptive quadtree. `--widths` compares 95 % intervals with the default's, and counts how often they
hold; `--choose` measures other constants, on made-up grids. NOT PRIVATE: the noise is reproducible.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

import trueup as tu
from trueup.ask import Question, adaptive_boxes
from trueup.paper.noise import measure_for_experiment

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Boxes = list[tuple[Ints, Ints]]

EPSILONS = ("0.01", "0.1", "1")
RULE = (adaptive_boxes.SMALL, adaptive_boxes.CROWDED)  # from --choose


def families(size: int, unit: float, seed: int = 1) -> Iterator[tuple[str, Ints]]:
    """Made-up grids of many kinds; `unit` is 1/ε, in which noise is measured."""
    g = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size]
    shape = (size, size)

    def hills(number: int, width: float, total: float) -> Ints:
        height = np.zeros(shape)
        for _ in range(number):
            a, b = g.integers(0, size, 2)
            height += g.pareto(1.2) * np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * width**2))
        drawn = g.multinomial(int(total), (height / height.sum()).ravel())
        return drawn.reshape(shape).astype(np.int64)

    made = {
        "dense": g.poisson(30 * unit, shape),
        "low": g.poisson(0.5 * unit, shape),
        "wide hills": hills(8, size / 10, 47 * unit * size),
        "narrow hills": hills(30, size / 60, 47 * unit * size),
        "city": hills(60, size / 100, 300 * unit * size) + hills(5, size / 8, 100 * unit * size),
        "points, 1 %": g.integers(1, int(100 * unit), shape) * (g.random(shape) < 0.01),
        "points, 10 %": g.integers(1, int(20 * unit), shape) * (g.random(shape) < 0.1),
        "roads": np.where((x % 17 == 3) | (y % 29 == 5), g.exponential(10 * unit, shape), 0),
        "coast": np.where(x + 10 * np.sin(y / 9) < size / 2, g.exponential(4 * unit, shape), 0),
        "few": hills(20, size / 6, 300 * unit),
        "zipf": np.minimum(g.zipf(1.4, shape), 1e4 * unit) * (g.random(shape) < 0.2),
        "diagonal": np.where(abs(x - y) < 3, 20 * unit, 0),
    }
    for name, counts in made.items():
        yield name, np.rint(counts).astype(np.int64)


def grid_sets(data: Path | None, epsilon: str = "0.1") -> Iterator[tuple[str, Ints]]:
    """The name and counts of each grid."""
    if data is None:
        yield from families(64, 1 / float(epsilon))
        return
    for path in sorted((data / "hist2d").glob("*.npy")):
        yield path.stem, np.load(path).astype(np.int64)


def axes_of(counts: Ints) -> list[tu.Axis]:
    """An axis for each dimension."""
    return [tu.Axis.integers(n, 0, s - 1) for n, s in zip("xy", counts.shape, strict=True)]


def boxes_of(shape: tuple[int, ...], number: int = 3000) -> Boxes:
    """The corners of boxes of log-uniform sides, and of boxes like all there are."""
    g = np.random.default_rng(5)
    sides = 2 ** g.integers(0, int(np.log2(min(shape))) + 1, (number, 2))
    starts = (g.random((number, 2)) * (np.array(shape) - sides + 1)).astype(int)
    uniform = np.sort(g.integers(0, min(shape) + 1, (number, 2, 2)), axis=2)
    return [(starts, starts + sides), (uniform[:, :, 0], uniform[:, :, 1])]


def box_scores(wrong: Floats, boxes: Boxes) -> list[float]:
    """The mean squared error over each set of boxes, from errors of prefix sums."""
    found = []
    for low, high in boxes:
        (a, c), (b, d) = low.T, high.T
        found.append(float(np.mean((wrong[b, d] - wrong[a, d] - wrong[b, c] + wrong[a, c]) ** 2)))
    return found


def box_errors(counts: Ints, question: Question, epsilon: str, draws: int) -> Floats:
    """The scores of each draw, shown large first."""
    found = []
    for seed in range(draws):
        m = measure_for_experiment(counts.ravel(), question, epsilon, seed)
        shown = tu.infer(m, nonnegative=True, integers=True).counts()
        found.append(_scored(counts, shown))
    return np.array(found)


def _scored(counts: Ints, shown: npt.NDArray[np.int64]) -> list[float]:
    wrong = np.zeros([size + 1 for size in counts.shape])
    wrong[1:, 1:] = (shown - counts).cumsum(0).cumsum(1)
    return box_scores(wrong, boxes_of(counts.shape))


def pooled_errors(
    counts: Ints, rule: tuple[float, float], times: str, epsilon: str, draws: int
) -> Floats:
    """The scores of an adaptive quadtree, by a rule of what is small and what is crowded."""
    question = tu.BoxCounts.quadtree(*axes_of(counts), finer=times, adaptive=True)
    before = adaptive_boxes.SMALL, adaptive_boxes.CROWDED
    adaptive_boxes.SMALL, adaptive_boxes.CROWDED = rule
    try:
        return box_errors(counts, question, epsilon, draws)
    finally:
        adaptive_boxes.SMALL, adaptive_boxes.CROWDED = before


def widths(sets: list[tuple[str, Ints]], epsilon: str, draws: int) -> None:
    """Prints how wide 95 % intervals of boxes are over those of the default, and how often they
    hold the truth."""
    print("| grid | ε | wide, log-uniform / all boxes | held | expected |\n|---|--:|--:|--:|--:|")
    for name, counts in sets:
        axes = axes_of(counts)
        theirs, ours = tu.BoxCounts.quadtree(*axes), tu.BoxCounts.quadtree(*axes, adaptive=True)
        told, held, asked = [], 0, 0
        for low, high in boxes_of(counts.shape, 40):
            each = []
            for seed in range(draws):
                releases = [
                    tu.infer(measure_for_experiment(counts.ravel(), q, epsilon, seed))
                    for q in (theirs, ours)
                ]
                for start, stop in zip(low.tolist(), high.tolist(), strict=True):
                    if min(b - a for a, b in zip(start, stop, strict=True)) == 0:
                        continue
                    box = tuple(zip(start, stop, strict=True))
                    wide = [r.errors.noise_law(((box, 1.0),)).half_width(0.95) for r in releases]
                    each.append(wide[1] / wide[0])
                    part = tuple(slice(a, b) for a, b in box)
                    wrong = float(releases[1].between(*box).value) - int(counts[part].sum())
                    held, asked = held + (abs(wrong) <= wide[1] + 1e-6), asked + 1
            told.append(float(np.exp(np.mean(np.log(each)))))
        wide_told = " / ".join(f"{one:.2f}" for one in told)
        print(f"| {name} | {epsilon} | {wide_told} | {held / asked:.1%} | 95 % |", flush=True)


def ratio(ours: Floats, theirs: Floats) -> tuple[Floats, Floats]:
    """The ratio of the mean errors, and its lower 95 % end."""
    top, bottom = ours.mean(0), theirs.mean(0)
    found = top / bottom
    spread = (ours - found * theirs).std(0, ddof=1) / np.sqrt(len(ours)) / bottom
    return found, found - 1.645 * spread


Way = tuple[str, tuple[float, float] | None]
"""How many times the share of the level above a level has, and the rule of pooling."""

WAYS: list[Way] = [("1.2", None), ("1.3", None), ("1.3", RULE)]


def compared(sets: list[tuple[str, Ints]], ways: list[Way], epsilon: str, draws: int) -> None:
    """Prints the ratio of each way on every grid; geometric means, and the worst."""
    names = [f"finer {t}" + (f", pooled {r[0]:g} {r[1]:g}" if r else "") for t, r in ways]
    logs: list[list[Floats]] = [[] for _ in ways]
    worst = [(0.0, 0.0)] * len(ways)
    print(f"| grid | ε | {' | '.join(names)} |\n|---|--:|{'--:|' * len(ways)}")
    for name, counts in sets:
        axes, told = axes_of(counts), []
        theirs = box_errors(counts, tu.BoxCounts.quadtree(*axes), epsilon, draws)
        for number, (times, rule) in enumerate(ways):
            if rule is None:
                asked = tu.BoxCounts.quadtree(*axes, finer=times)
                ours = box_errors(counts, asked, epsilon, draws)
            else:
                ours = pooled_errors(counts, rule, times, epsilon, draws)
            each, low = ratio(ours, theirs)
            logs[number].append(np.log(each))
            worst[number] = max(worst[number], *zip(each.tolist(), low.tolist(), strict=True))
            told.append(" / ".join(f"{a:.2f} ({b:.2f})" for a, b in zip(each, low, strict=True)))
        print(f"| {name} | {epsilon} | {' | '.join(told)} |", flush=True)
    means = [" / ".join(f"{x:.2f}" for x in np.exp(np.mean(each, axis=0))) for each in logs]
    print(f"| **geometric mean** | {epsilon} | {' | '.join(means)} |")
    most = [f"{a:.2f} ({b:.2f})" for a, b in worst]
    print(f"| **worst** | {epsilon} | {' | '.join(most)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder with a folder hist2d of .npy grids")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--epsilon", choices=EPSILONS, help="one ε instead of three")
    parser.add_argument("--choose", action="store_true", help="other shares, on made-up grids")
    parser.add_argument("--widths", action="store_true", help="intervals instead of errors")
    given = parser.parse_args()
    if given.choose:
        rules = [(3, 2), (3, 3), (4, 2), (4, 3), (5, 4.5)]
        ways: list[Way] = [(times, None) for times in ("1.1", "1.2", "1.3")]
        ways += [(times, rule) for times in ("1.2", "1.3") for rule in rules]
        compared(list(families(64, 10.0)), ways, "0.1", given.draws)
        return
    for epsilon in (given.epsilon,) if given.epsilon else EPSILONS:
        if given.widths:
            widths(list(grid_sets(given.data, epsilon)), epsilon, given.draws)
            continue
        compared(list(grid_sets(given.data, epsilon)), WAYS, epsilon, given.draws)


if __name__ == "__main__":
    main()
