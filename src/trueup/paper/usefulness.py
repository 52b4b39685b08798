"""Appendix E: H̃ against the equi-depth histogram of Blum et al., by (ε, δ)-usefulness.

Here the letters swap: α is the privacy parameter, and ε the error allowed, as a share of the
number of records N. An algorithm is (ε, δ)-useful if with probability 1 − δ every range is answered
within εN.
"""

from __future__ import annotations

import math

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.ask import TreeCounts
from trueup.paper.baselines import noisy_nodes
from trueup.paper.claims import STAMP, Figure, PaperClaim
from trueup.paper.draws import Setting, each_draw
from trueup.paper.noise import measure_for_experiment
from trueup.pictures.sheet import Sheet
from trueup.pictures.svg import Curve, Panel, svg
from trueup.pictures.theme import BLACK, BLUE, GRAY

TITLE = "Appendix E: usefulness, α = 1, δ = 0.05, 1,024 cells"
CELLS, ALPHA, DELTA = 1_024, 1.0, 0.05
HEIGHT = 11


def tree_bound(height: int, n: int, alpha: float, delta: float) -> float:
    """The paper's bound on the error of every range of H̃: 16 ℓ^(3/2) ln(2n²/δ)/α."""
    return 16 * height**1.5 * math.log(2 * n * n / delta) / alpha


def equi_depth_records(n: int, alpha: float, delta: float, epsilon: float) -> float:
    """N of Blum et al., its unnamed constant taken as 1: log n (log log n + log 1/εδ)/(αε³)."""
    logs = math.log(n) * (math.log(math.log(n)) + math.log(1 / (epsilon * delta)))
    return logs / (alpha * epsilon**3)


def worst_range(noise: Floats) -> float:
    """The largest |error| of a range of H̃, over all ranges, from the noise of a full binary tree.

    From the leaves up, for the ranges inside a node: the largest error of any, and of those that
    start at the node's first cell or end at its last without filling it. A range that crosses the
    middle is one of the latter on the left and one of the former on the right; filling both halves
    is excepted, for it is answered by the node itself.
    """
    return max(_worst(noise), _worst(-noise))


def _worst(noise: Floats) -> float:
    leaves = (len(noise) + 1) // 2
    level = noise[-leaves:]
    none = np.full(leaves, -np.inf)
    head, tail, inside = none, none, level
    stop = len(noise) - leaves
    while len(level) > 1:
        left, right = slice(0, None, 2), slice(1, None, 2)
        parents = noise[stop - len(level) // 2 : stop]
        whole_tail = np.maximum(tail[left], level[left])
        whole_head = np.maximum(head[right], level[right])
        across = np.maximum(tail[left] + whole_head, whole_tail + head[right])
        inside = np.maximum(np.maximum(inside[left], inside[right]), np.maximum(across, parents))
        grown = np.maximum(np.maximum(head[left], level[left]), level[left] + head[right])
        tail = np.maximum(np.maximum(tail[right], level[right]), level[right] + tail[left])
        head, level = grown, parents
        stop -= len(parents)
    return float(inside[0])


def records(total: int) -> Ints:
    """A database of that many records over the cells, two humps on a flat ground."""
    cells = np.arange(CELLS)
    humps = np.exp(-(((cells - 300) / 40) ** 2)) + 0.5 * np.exp(-(((cells - 700) / 90) ** 2))
    shares = (0.1 + humps) / (0.1 + humps).sum()
    return np.diff(np.rint(np.concatenate([[0], np.cumsum(shares)]) * total)).astype(np.int64)


def equi_depth(
    counts: Ints, alpha: float, epsilon: float, generator: np.random.Generator
) -> Floats:
    """Prefix counts after Blum et al.: cells cut wherever εN/2 more records have passed.

    Each cut is found by binary search with noisy counts; 2/ε cuts of log₂ n counts each share α.
    A cut stands for εN/2 records at its place.
    """
    n, total = len(counts), int(counts.sum())
    prefix = np.concatenate([[0], np.cumsum(counts)])
    depth = epsilon * total / 2
    cuts = math.ceil(2 / epsilon)
    scale = cuts * math.ceil(math.log2(n)) / alpha
    answer = np.zeros(n + 1)
    begin = 0
    for cut in range(1, cuts + 1):
        low, high = begin, n
        while low < high:
            middle = (low + high) // 2
            if prefix[middle] + generator.laplace(0, scale) >= cut * depth:
                high = middle
            else:
                low = middle + 1
        answer[low:] += depth
        begin = low
    return answer


def best_epsilon(total: int) -> float:
    """The usefulness that Blum et al. promise for N records: the ε that needs just that many."""
    low, high = 1e-6, 1.0
    for _ in range(80):
        middle = math.sqrt(low * high)
        enough = equi_depth_records(CELLS, ALPHA, DELTA, middle) <= total
        low, high = (low, middle) if enough else (middle, high)
    return high


def tree_errors(setting: Setting, total: int, draws: int) -> Floats:
    """The worst range's error of H̃ in each draw."""
    question = TreeCounts(CELLS, branching=2)
    counts = records(total)
    truth = question.answers(counts)

    def work(generator: np.random.Generator) -> float:
        measurement = measure_for_experiment(counts, question, ALPHA, generator, setting.law)
        return worst_range(noisy_nodes(measurement) - truth)

    return each_draw(setting, f"appendix E, H̃, N = {total:,}", draws, work)


def depth_errors(setting: Setting, total: int, draws: int) -> Floats:
    """The worst range's error of the equi-depth histogram in each draw."""
    counts = records(total)
    prefix = np.concatenate([[0], np.cumsum(counts)])
    epsilon = best_epsilon(total)

    def work(generator: np.random.Generator) -> float:
        return float(np.ptp(equi_depth(counts, ALPHA, epsilon, generator) - prefix))

    return each_draw(setting, f"appendix E, equi-depth, N = {total:,}", draws, work)


def run(setting: Setting) -> Figure:
    """Records needed by ε, and absolute error by the number of records."""
    bound = tree_bound(HEIGHT, CELLS, ALPHA, DELTA)
    draws = setting.size(400, 100)
    totals = [10**power for power in range(4, setting.size(9, 8))]
    tree = {total: tree_errors(setting, total, draws) for total in totals}
    depth = {total: depth_errors(setting, total, max(draws // 10, 20)) for total in totals}
    quantile = {total: float(np.quantile(tree[total], 1 - DELTA)) for total in totals}
    deep = {total: float(np.quantile(depth[total], 1 - DELTA)) for total in totals}
    worst = max(float(errors.max()) for errors in tree.values())
    measured = quantile[totals[-1]]
    epsilons = [10 ** (-power / 2) for power in range(2, 9)]
    needs = tuple(
        (
            epsilon,
            bound / epsilon,
            measured / epsilon,
            _blum(epsilon),
            _blum(epsilon) * epsilon / bound,
        )
        for epsilon in epsilons
    )
    logs = np.log([[row[0], row[1], row[3]] for row in needs]).T
    powers = [float(np.polyfit(logs[0], line, 1)[0]) for line in logs[1:]]
    growth = [
        float(np.polyfit(np.log(totals), np.log([by[total] for total in totals]), 1)[0])
        for by in (quantile, deep)
    ]
    claims = (
        PaperClaim(
            "With probability 1 − δ every range of H̃ is within 16 ℓ^(3/2) ln(2n²/δ)/α.",
            f"bound {bound:,.0f}; worst range {measured:,.0f} at 1 − δ, never above {worst:,.0f}",
            worst <= bound,
        ),
        PaperClaim(
            "For the same guarantee H̃ needs fewer records than Blum et al. by O(1/ε²).",
            f"N as ε to the power {powers[0]:.1f} against {powers[1]:.1f}",
            abs(powers[0] + 1) < 0.1 and -3.5 < powers[1] < -2.8,
        ),
        PaperClaim(
            "The absolute error of H̃ does not depend on the size of the database.",
            f"as N to the power {growth[0]:.2f}",
            abs(growth[0]) < 0.05,
        ),
        PaperClaim(
            "That of Blum et al. grows as N^(2/3).",
            f"equi-depth cuts, as N to the power {growth[1]:.2f}",
            0.5 < growth[1] < 0.85,
        ),
    )
    tables = _tables(needs, totals, quantile, deep, bound)
    return Figure(
        "usefulness", TITLE, tables, claims, _picture(needs, totals, quantile, deep, bound)
    )


def _tables(
    needs: tuple[tuple[float, ...], ...],
    totals: list[int],
    tree: dict[int, float],
    depth: dict[int, float],
    bound: float,
) -> tuple[Sheet, Sheet]:
    return (
        Sheet(
            "Records needed for (ε, δ)-usefulness",
            ("ε", "H̃, bound", "H̃, measured", "Blum et al., constant 1", "ratio of bounds"),
            needs,
        ),
        Sheet(
            "Error of the worst range, at probability 1 − δ",
            ("records", "H̃", "H̃, bound", "equi-depth", "its ε·N"),
            tuple((t, tree[t], bound, depth[t], best_epsilon(t) * t) for t in totals),
        ),
    )


def _blum(epsilon: float) -> float:
    return equi_depth_records(CELLS, ALPHA, DELTA, epsilon)


def _picture(
    needs: tuple[tuple[float, ...], ...],
    totals: list[int],
    tree: dict[int, float],
    depth: dict[int, float],
    bound: float,
) -> str:
    x = [row[0] for row in needs]
    needed = Panel(
        "records needed",
        "error allowed ε, as a share of N",
        "N",
        (
            Curve("H̃, bound", x, [row[1] for row in needs], GRAY, dash="5 3"),
            Curve("H̃, measured", x, [row[2] for row in needs], GRAY, "diamond"),
            Curve(
                "Blum et al., bound with constant 1", x, [row[3] for row in needs], BLUE, dash="5 3"
            ),
        ),
        log_x=True,
        log_y=True,
    )
    n = [float(total) for total in totals]
    grows = Panel(
        "error of the worst range",
        "records N",
        "absolute error",
        (
            Curve("H̃, bound", n, [bound] * len(n), GRAY, dash="5 3"),
            Curve("H̃, measured", n, [tree[t] for t in totals], GRAY, "diamond"),
            Curve("equi-depth, measured", n, [depth[t] for t in totals], BLUE, "square"),
            Curve("N^(2/3)", n, [t ** (2 / 3) for t in n], BLACK, dash="1 3"),
        ),
        log_x=True,
        log_y=True,
    )
    return svg(TITLE, [[needed, grows]], STAMP)
