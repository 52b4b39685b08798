"""Peers on the same work in one run: speed, accuracy at equal ε, and what a peer cannot do.

Run: python bench/peers.py [--quick] [--data DIR]
OpenDP, numpy and scipy come with the test extra. diffprivlib and scikit-learn need versions that
do not fit beside ours: they get an environment of their own, made under the user's cache folder on
the first run. Where that cannot be made, their rows say so.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import trueup as tu
from _timing import seconds
from trueup.facts import Facts
from trueup.onepass import release_in_one_pass
from trueup.paper import datasets
from trueup.pictures.sheet import Sheet

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

EPSILONS = (1.0, 0.1)
CELLS = 4_096


# --- OpenDP


class OpenDP:
    """OpenDP's tree, Laplace noise and consistency, over n cells."""

    def __init__(self, n: int, branching: int, epsilon: float) -> None:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        self.truth = dp.t.make_b_ary_tree(*space, leaf_count=n, branching_factor=branching)
        self.noisy = dp.binary_search_chain(
            lambda scale: self.truth >> dp.m.then_laplace(scale), d_in=1, d_out=epsilon
        )
        self.consistent = dp.t.make_consistent_b_ary_tree(branching_factor=branching)

    def release(self, counts: Ints) -> Floats:
        """Consistent cell counts."""
        return np.asarray(self.consistent(self.noisy(counts.tolist())))

    @staticmethod
    def branching(n: int) -> int:
        """The branching factor OpenDP would choose for n cells."""
        import opendp.prelude as dp

        return int(dp.t.choose_branching_factor(size_guess=n))


def trees(quick: bool) -> Sheet:
    """Truth, noise and consistency of a tree: ours against OpenDP's, and whether they agree."""
    rows = []
    for n in (1 << 12,) if quick else (1 << 12, 1 << 16):
        counts = np.random.default_rng(n).poisson(3, n)
        for b in (2, 16):
            peer = OpenDP(n, b, 1.0)
            tree = tu.TreeCounts(n, branching=b)
            listed = counts.tolist()
            noisy = peer.noisy(listed)
            measurement = tu.Measurement(tree, np.asarray(noisy), Fraction(1))
            ours = tu.infer(measurement).counts()
            apart = float(np.abs(np.asarray(peer.consistent(noisy)) - ours).max())
            release_in_one_pass(counts, Facts.of(tree, 1))
            times = [
                seconds(work)
                for work in (
                    partial(peer.noisy, listed),
                    partial(tu.measure, counts, tree, 1),
                    partial(peer.consistent, noisy),
                    partial(tu.infer, measurement),
                    partial(release_in_one_pass, counts, Facts.of(tree, 1)),
                )
            ]
            each = [1e9 * t / n for t in times]
            ratios = (each[0] / each[1], each[2] / each[3], (each[0] + each[2]) / each[4])
            rows.append((f"{n:,}, {b}-ary", *each, *ratios, f"{apart:.0e}"))
    columns = (
        "cells, tree",
        "OpenDP: truth and noise",
        "trueup: measure",
        "OpenDP: consistency",
        "trueup: infer",
        "trueup: all in one pass",
        "× noise",
        "× consistency",
        "× all",
        "answers differ by",
    )
    title = "Tree, noise, consistency: OpenDP and trueup, ns a cell (× is how much faster)"
    return Sheet(title, columns, tuple(rows))


# --- numpy, scipy, scikit-learn


def recurrence(noisy: Floats, branching: int, height: int) -> Floats:
    """H̄ by the paper's recurrence, level by level in numpy: the leaves."""
    starts = np.cumsum([0] + [branching**level for level in range(height)])
    levels = [noisy[starts[i] : starts[i + 1]] for i in range(height)]
    below, sums = levels[-1].copy(), []
    for i in range(height - 2, -1, -1):
        own = float(branching) ** (height - i)
        total = below.reshape(-1, branching).sum(axis=1)
        sums.append((below, total))
        weight = (own - own / branching) / (own - 1)
        below = weight * levels[i] + (1 - weight) * total
    inferred = below
    for parts, total in reversed(sums):
        step = (inferred - total) / branching
        inferred = parts + np.repeat(step, branching)
    return inferred


def kernels(quick: bool, outside: Outside | None) -> Sheet:
    """One core: isotonic regression, tree inference, flat histograms."""
    from scipy.optimize import isotonic_regression

    from trueup._kernels.sorted.isotonic import isotonic

    n = 1 << (17 if quick else 20)
    noisy = _sorted_noise(n)
    isotonic(noisy[:8])
    ours = seconds(lambda: isotonic(noisy), 5)
    theirs = seconds(lambda: isotonic_regression(noisy), 5)
    rows: list[tuple[object, ...]] = [
        (f"isotonic, {n:,} noisy counts", "scipy", theirs * 1e9 / n, ours * 1e9 / n, theirs / ours)
    ]
    if outside:
        took = float(outside.answer["isotonic"])
        version = f"scikit-learn {outside.answer['scikit-learn']}"
        rows.append((rows[0][0], version, took * 1e9 / n, ours * 1e9 / n, took / ours))
    for b, height in ((2, 18 if quick else 21), (16, 5 if quick else 6)):
        leaves = b ** (height - 1)
        tree = tu.TreeCounts(leaves, branching=b)
        measured = tu.measure(np.random.default_rng(b).poisson(3, leaves), tree, 1)
        answers = measured.noisy.astype(np.float64)
        apart = np.abs(recurrence(answers, b, height) - tu.infer(measured).counts()).max()
        took = seconds(partial(recurrence, answers, b, height))
        ours = seconds(partial(tu.infer, measured))
        name = f"H̄, {b}-ary, {leaves:,} cells (differ by {apart:.0e})"
        rows.append(
            (name, "numpy, level by level", took * 1e9 / leaves, ours * 1e9 / leaves, took / ours)
        )
    values = np.random.default_rng(5).random(1_000_000)
    tu.histogram(values, bins=1_024, range=(0, 1), epsilon=1)
    ours = seconds(lambda: tu.histogram(values, bins=1_024, range=(0, 1), epsilon=1))
    bare = seconds(lambda: np.histogram(values, bins=1_024, range=(0, 1)))
    name = "histogram, 10⁶ values in 1,024 bins"
    rows.append((name, "numpy, no privacy", bare * 1e3, ours * 1e3, bare / ours))
    if outside:
        took, version = (
            float(outside.answer["histogram"]),
            f"diffprivlib {outside.answer['diffprivlib']}",
        )
        rows.append((name, version, took * 1e3, ours * 1e3, took / ours))
    columns = (
        "work (ns an element; histogram: ms)",
        "peer",
        "peer's time",
        "trueup's time",
        "× faster",
    )
    return Sheet("One core, the same arrays", columns, tuple(rows))


def _sorted_noise(n: int) -> Floats:
    generator = np.random.default_rng(n)
    return np.sort(generator.poisson(50, n)) + generator.laplace(0, 10, n)


# --- Accuracy


def vectors(folder: str | None) -> list[datasets.PaperDataset]:
    """Histograms of 4,096 cells: the paper's kind, or the user's that have at least as many."""
    found = datasets.load(folder) if folder else datasets.made()
    kept = [data for data in found.universal if len(data.counts) % CELLS == 0]
    return [
        datasets.PaperDataset(data.name, data.counts.reshape(CELLS, -1).sum(axis=1))
        for data in kept
    ]


def workloads() -> dict[str, tuple[Ints, Ints]]:
    """Ranges as in the paper, by size; and as in DPBench: prefixes, and ranges with random ends."""
    generator = np.random.default_rng(12)
    size = np.repeat([1 << i for i in range(1, 12)], 1_000)
    starts = generator.integers(0, CELLS - size + 1)
    ends = np.sort(generator.integers(0, CELLS + 1, (2_000, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    prefixes = np.zeros(CELLS, np.int64), np.arange(1, CELLS + 1)
    return {
        "sizes 2¹ … 2¹¹": (starts, starts + size),
        "random ranges": (ends[:, 0], ends[:, 1]),
        "prefixes": prefixes,
    }


Mechanism = Callable[[Ints, float], Floats]


def mechanisms() -> dict[str, Mechanism]:
    """Ways from counts and ε to private cell counts."""

    def peer(branching: int) -> Mechanism:
        return lambda counts, epsilon: _opendp(branching, epsilon).release(counts)

    def ours(question: tu.TreeCounts, nonnegative: bool = False) -> Mechanism:
        def release(counts: Ints, epsilon: float) -> Floats:
            measurement = tu.measure(counts, question, epsilon)
            return np.asarray(tu.infer(measurement, nonnegative=nonnegative).counts(), np.float64)

        return release

    generator = np.random.default_rng(99)
    chosen = OpenDP.branching(CELLS)
    binary, best_tree = tu.TreeCounts(CELLS, branching=2), tu.TreeCounts(CELLS)
    return {
        "numpy, flat Laplace": lambda counts, e: counts + generator.laplace(0, 1 / e, len(counts)),
        "OpenDP, 2-ary": peer(2),
        "OpenDP, 16-ary": peer(16),
        f"OpenDP, its choice ({chosen}-ary)": peer(chosen),
        "trueup, the paper's H̄": ours(binary),
        "trueup, TreeCounts(axis)": ours(best_tree),
        "trueup, the same, nonnegative": ours(best_tree, nonnegative=True),
    }


@cache
def _opendp(branching: int, epsilon: float) -> OpenDP:
    return OpenDP(CELLS, branching, epsilon)


def accuracy(data: list[datasets.PaperDataset], draws: int, outside: Outside | None) -> list[Sheet]:
    """Mean squared error of range counts, at equal ε on the same counts."""
    ways, work = mechanisms(), workloads()
    tables = []
    for epsilon in EPSILONS:
        rows = []
        for one in data:
            prefix = np.concatenate([[0], np.cumsum(one.counts)])
            made = {
                name: [make(one.counts, epsilon) for _ in range(draws)]
                for name, make in ways.items()
            }
            if outside:
                key = f"counts {one.name} {epsilon}"
                made[f"diffprivlib {outside.answer['diffprivlib']}"] = list(outside.answer[key])
            ours = None
            for name, released in sorted(made.items(), key=lambda item: item[0][:6] == "trueup"):
                errors = []
                for starts, stops in work.values():
                    sums = [
                        np.concatenate([[0.0], np.cumsum(cells)]) - prefix for cells in released
                    ]
                    squared = [((s[stops] - s[starts]) ** 2).mean() for s in sums]
                    errors.append(float(np.mean(squared)))
                rows.append((one.name, name, *errors))
                ours = errors if "TreeCounts" in name else ours
            assert ours is not None
            here = range(len(rows) - len(made), len(rows))
            for i in here:
                rows[i] = (*rows[i], rows[i][3] / ours[1])  # type: ignore[operator]
        tables.append(
            Sheet(
                f"ε = {epsilon}: mean squared error of a range, {CELLS:,} cells, {draws} draws",
                ("counts", "mechanism", *work, "random ranges, × TreeCounts"),
                tuple(rows),
            )
        )
    return tables


# --- What a peer cannot do


def limits(outside: Outside | None) -> Sheet:
    """What was seen in this run, and what a peer's package does not offer."""
    import opendp.prelude as dp

    counts = datasets.net_trace().counts.reshape(CELLS, -1).sum(axis=1)
    cells = _opendp(16, 1.0).release(counts)
    release = tu.infer(tu.measure(counts, tu.TreeCounts(CELLS, branching=16), 1))
    generator = np.random.default_rng(3)
    cuts = np.sort(generator.integers(0, CELLS + 1, (2_000, 3)), axis=1)
    theirs = sum(
        cells[a:b].sum() + cells[b:c].sum() != cells[a:c].sum() for a, b, c in cuts.tolist()
    )
    left, right = release.ranges(cuts[:, 0], cuts[:, 1]), release.ranges(cuts[:, 1], cuts[:, 2])
    ours = int((left + right != release.ranges(cuts[:, 0], cuts[:, 2])).sum())
    answers = len(OpenDP(365, 2, 1.0).truth([0] * 365))
    asked = tu.TreeCounts(365, branching=2).length
    offered = [name for module in (dp.t, dp.m) for name in dir(module)]
    isotonic = any("isotonic" in name or "sorted" in name for name in offered)
    rows: list[tuple[object, ...]] = [
        ("a range equals its two parts, ==, 2,000 splits", f"{theirs:,} fail", f"{ours} fail"),
        ("noisy answers for 365 cells, binary tree", answers, asked),
        ("a budget or a fan-out for each level", "no: one branching factor", "shares, radices"),
        ("the error of a range after consistency", "no", "range(…).std_error, interval()"),
        ("non-negative counts that still add up", "no", "infer(…, nonnegative=True)"),
        ("sorted counts, inferred", "yes" if isotonic else "no", "SortedCounts"),
    ]
    if outside:
        version = outside.answer["diffprivlib"]
        noisy = outside.answer[f"counts network trace {EPSILONS[0]}"]
        over = float(np.mean(noisy.sum(axis=1)) / counts.sum())
        rows.append(
            (
                "total of the network trace, ε = 1, as a share of the truth",
                f"diffprivlib {version}: {over:.2f} (counts cut at 0, so sums are biased)",
                f"{release.total().value / counts.sum():.3f}",
            )
        )
    rows.append(("ranges, consistency, errors", "diffprivlib: no (a histogram's bins)", "yes"))
    rows.append(("noise", "scipy, scikit-learn: none (regression only)", "exact, from a keystream"))
    return Sheet("What a peer cannot do (OpenDP unless named)", ("", "peer", "trueup"), tuple(rows))


# --- The environment of diffprivlib and scikit-learn


class Outside:
    """What the peers of the other environment answered."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer


def environment() -> Path:
    """The Python of the other environment, made on first use; fails where it cannot be made."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = cache / "trueup-bench" / "diffprivlib"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        quiet: dict[str, Any] = {"check": True, "capture_output": True}
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], **quiet)
        wanted = ["diffprivlib", "scikit-learn<1.8"]
        subprocess.run([str(python), "-m", "pip", "install", *wanted], timeout=600, **quiet)
        ready.touch()
    return python


def ask_outside(data: list[datasets.PaperDataset], draws: int, n: int) -> Outside | None:
    """The answers of diffprivlib and scikit-learn, or None with a line that says why."""
    try:
        python = environment()
        with tempfile.TemporaryDirectory() as folder:
            work, answer = Path(folder, "work.npz"), Path(folder, "answer.npz")
            vectors = {f"counts {one.name}": one.counts for one in data}
            arrays: dict[str, Any] = {
                "sorted": _sorted_noise(n),
                "values": np.random.default_rng(5).random(1_000_000),
                "bins": 1_024,
                "epsilons": EPSILONS,
                "draws": draws,
                **vectors,
            }
            np.savez(work, **arrays)
            script = Path(__file__).with_name("_outside.py")
            command = [str(python), str(script), str(work), str(answer)]
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=1_800)
            with np.load(answer) as found:
                return Outside({name: found[name] for name in found.files})
    except (OSError, subprocess.SubprocessError) as wrong:
        said = getattr(wrong, "stderr", "") or str(wrong)
        last = (said.decode() if isinstance(said, bytes) else said).strip().splitlines()[-1:]
        print(f"diffprivlib and scikit-learn are left out: {' '.join(last)}\n")
        return None


def main() -> None:
    """Prints every table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer draws")
    parser.add_argument("--data", metavar="DIR", help="histograms of 4,096 cells or multiples")
    asked = parser.parse_args()
    draws = 4 if asked.quick else 20
    data = vectors(asked.data)
    # diffprivlib takes records, not counts: only so many fit.
    small = [one for one in data if one.counts.sum() < 5_000_000]
    n = 1 << (17 if asked.quick else 20)
    outside = ask_outside(small, draws, n) if small == data else None
    print(trees(asked.quick).markdown(), "\n")
    print(kernels(asked.quick, outside).markdown(), "\n")
    for table in accuracy(data, draws, outside):
        print(table.markdown(), "\n")
    print(limits(outside).markdown())


if __name__ == "__main__":
    main()
