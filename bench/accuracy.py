"""Squared error of ranges on real histograms: the paper's estimators, trees, non-negative ones.

Run: python bench/accuracy.py --data DIR [--quick] [--lengths] [--draws 200]

DIR holds .npy vectors of counts (or a folder hist1d of them); without it, made-up vectors of
the same kinds. For each vector and ε: every length 1, 2, 4 … n, all positions, 200 draws. The
error of a method is its mean over the lengths. NOT PRIVATE: the noise is reproducible.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import trueup as tu
from trueup.ask import Question
from trueup.measurement import Measurement
from trueup.paper.baselines import fewest_nodes, noisy_nodes, zeroed_nodes
from trueup.paper.noise import measure_for_experiment

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Method = Callable[[Measurement, Floats, list[int]], Floats]

EPSILONS = ("0.01", "0.1", "1")
REFERENCE = "binary H̄"
ROOT_SHARE = ("6/100", "27/100", "31/100", "36/100")


def made_up(size: int = 4096) -> Iterator[tuple[str, Ints]]:
    """Vectors dense and sparse, smooth and rough, to run without any data."""
    generator = np.random.default_rng(1)
    place = np.arange(size)
    yield "dense", generator.poisson(1500 + 500 * np.sin(place / 90))
    yield "rising", np.sort(generator.exponential(200, size)).astype(np.int64)
    yield "heavy tail", generator.permutation((20_000 / (1 + place)).astype(np.int64))
    bumps = np.exp(-0.5 * ((place[:, None] - generator.integers(0, size, 6)) / 60) ** 2).sum(1)
    yield "clumps", generator.multinomial(30_000, bumps / bumps.sum())
    yield "decay", (1e5 * 0.99**place).astype(np.int64)
    yield "sparse", generator.integers(1, 2_000, size) * (generator.random(size) < 0.01)


def vectors(folder: Path | None) -> Iterator[tuple[str, Ints]]:
    """The name and counts of each vector."""
    if folder is None:
        yield from made_up()
        return
    inner = folder / "hist1d"
    for path in sorted((inner if inner.is_dir() else folder).glob("*.npy")):
        counts = np.load(path)
        if counts.ndim == 1:
            yield path.stem, counts.astype(np.int64)


def released(**way: Any) -> Method:
    """Ranges answered by a release: differences of its prefix sums."""

    def squares(m: Measurement, truth: Floats, lengths: list[int]) -> Floats:
        wrong = tu.infer(m, **way).prefix - truth
        return np.array([np.mean((wrong[k:] - wrong[:-k]) ** 2) for k in lengths])

    return squares


def by_nodes(nodes: Callable[[Measurement], Floats]) -> Method:
    """Ranges answered by the fewest nodes of a tree; 256 positions of each length."""

    def squares(m: Measurement, truth: Floats, lengths: list[int]) -> Floats:
        assert isinstance(m.question, tu.TreeCounts)
        size = m.question.size
        starts = [np.linspace(0, size - k, min(256, size - k + 1)).astype(int) for k in lengths]
        stops = [start + k for start, k in zip(starts, lengths, strict=True)]
        left, right = np.concatenate(starts), np.concatenate(stops)
        wrong = fewest_nodes(m.question.shape, nodes(m), left, right) - truth[right] + truth[left]
        numbers = [len(start) for start in starts]
        return np.add.reduceat(wrong**2, np.cumsum([0, *numbers[:-1]])) / numbers

    return squares


SHOWN = {
    "": released(),
    " large-first": released(nonnegative=True),
    " top-down": released(nonnegative=True, method="top-down"),
    " exact": released(nonnegative=True, method="exact"),
    " large-first, whole": released(nonnegative=True, integers=True),
}


def strategies(size: int) -> Iterator[tuple[Question, dict[str, Method]]]:
    """Each question with the ways to answer ranges from it."""
    yield (
        tu.CellCounts(tu.Axis.integers("cell", 0, size - 1)),
        {f"L̃{name}": way for name, way in SHOWN.items()},
    )
    binary: dict[str, Method] = {
        "binary H̃": by_nodes(noisy_nodes),
        "binary zero subtrees": by_nodes(zeroed_nodes),
    }
    binary |= {f"{REFERENCE}{name}": way for name, way in SHOWN.items()}
    yield tu.TreeCounts(size, branching=2), binary
    yield tu.TreeCounts(size), {f"best tree{name}": way for name, way in SHOWN.items()}
    if 256 < size <= 4096:
        rooted = tu.TreeCounts(size, branching=16, shares=ROOT_SHARE)
        yield rooted, {f"16-ary, root 6 %{name}": way for name, way in SHOWN.items()}


def measured(counts: Ints, epsilon: str, draws: int) -> dict[str, Floats]:
    """The mean squared error of every method, by length 1, 2, 4 … n."""
    size = len(counts)
    lengths = [*(2**power for power in range(size.bit_length()) if 2**power < size), size]
    truth = np.concatenate([[0.0], np.cumsum(counts)])
    errors: dict[str, Floats] = {}
    for question, methods in strategies(size):
        for seed in range(draws):
            m = measure_for_experiment(counts, question, epsilon, seed=seed)
            for name, squares in methods.items():
                errors[name] = errors.get(name, 0.0) + squares(m, truth, lengths) / draws
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of .npy vectors")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="20 draws, ε = 0.1")
    parser.add_argument("--lengths", action="store_true", help="the error at every length")
    given = parser.parse_args()
    draws = 20 if given.quick else given.draws
    verdicts = []
    for name, counts in vectors(given.data):
        empty = float((counts == 0).mean())
        for epsilon in EPSILONS[1:2] if given.quick else EPSILONS:
            errors = measured(counts, epsilon, draws)
            print(f"\n{name}: {len(counts):,} cells, {empty:.0%} empty, ε = {epsilon}", end="")
            print(f", {draws} draws. Mean squared error of ranges, and how far below {REFERENCE}:")
            for method, error in errors.items():
                mean, reference = error.mean(), errors[REFERENCE].mean()
                line = f"  {method:28} {mean:14,.1f} {reference / mean:8.2f}×"
                if given.lengths:
                    line += "  " + " ".join(f"{e:.4g}" for e in error)
                print(line)
            default = errors["best tree large-first"].mean()
            own, gain = default / errors["best tree"].mean(), errors[REFERENCE].mean() / default
            verdicts.append((name, epsilon, empty, own, gain))
    print("\nThe default non-negative release (best tree, large first):")
    held = True
    for name, epsilon, empty, own, gain in verdicts:
        goal = (8.0 if empty > 0.7 else 3.0) if epsilon == "0.1" else 0.0
        fine = own <= 1 + 1e-9 and gain >= goal
        held = held and fine
        aim = f", at least {goal:.0f}× wanted" if goal else ""
        print(f"  {name:12} ε = {epsilon:5} {own:6.3f} of its own least squares;", end=" ")
        print(f"{gain:7.2f}× below {REFERENCE}{aim}: {'held' if fine else 'NOT held'}")
    print("All held." if held else "Some not held.")


if __name__ == "__main__":
    main()
