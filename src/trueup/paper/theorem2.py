"""Theorem 2: the error of S̄ grows with the number of distinct counts, hardly with their number.

For noise of variance v that is independent and alike, the error of S̄ is at most v · Σ H(n_i), H the
harmonic number and n_i how often the i-th distinct count occurs. The reason: the projection onto
the rising sequences moves no further than the projection onto their tangent cone at the truth,
which is a product of cones of rising sequences, one for each run; and for a single run of length
m the pooled blocks have the lengths and sums of the cycles of a random permutation, so that the
expected squared fit is v · (expected number of cycles) = v · H(m). It is reached when the distinct
counts lie far apart. As H(m) ≤ 1 + ln m, the paper's bound holds with c₁ = 2 and c₂ = 3, with room
to spare: one logarithm is enough where it has three.
"""

from __future__ import annotations

import numpy as np

from trueup.arrays import Ints
from trueup.ask import SortedCounts
from trueup.infer import infer
from trueup.noise import noise_variance
from trueup.paper.claims import STAMP, Figure, PaperClaim
from trueup.paper.draws import Setting, each_draw
from trueup.paper.noise import measure_for_experiment
from trueup.pictures.sheet import Sheet
from trueup.pictures.svg import Curve, Panel, svg
from trueup.pictures.theme import BLACK, BLUE, GRAY

TITLE = "Theorem 2: error of S̄ as n and d grow, ε = 1"
C1, C2 = 2.0, 3.0
GAP = 60


def sequence(n: int, d: int) -> Ints:
    """n counts of d distinct values, as often each, far apart: the worst case of the bound."""
    return np.arange(n) * d // n * GAP


def run_lengths(n: int, d: int) -> Ints:
    """How often each distinct value of `sequence` occurs."""
    return np.unique(sequence(n, d), return_counts=True)[1]


def papers_bound(lengths: Ints) -> float:
    """Σ (c₁ log³ n_i + c₂)/ε² at ε = 1."""
    return float((C1 * np.log(lengths) ** 3 + C2).sum())


def sharp_bound(lengths: Ints, variance: float) -> float:
    """v · Σ H(n_i)."""
    harmonic = np.cumsum(1 / np.arange(1, int(lengths.max()) + 1))
    return float(variance * harmonic[lengths - 1].sum())


def errors(setting: Setting, n: int, d: int) -> tuple[float, float, float]:
    """The squared errors of S̃ and of S̄, and the standard error of the latter."""
    truth = sequence(n, d)

    def work(generator: np.random.Generator) -> list[float]:
        measurement = measure_for_experiment(
            truth, SortedCounts(n, adaptive=False), 1, generator, setting.law
        )
        both = (measurement.noisy, infer(measurement).counts())
        return [float(((one - truth) ** 2).sum()) for one in both]

    draws = setting.size(200, 60)
    squared = each_draw(setting, f"theorem 2, n = {n:,}, d = {d:,}", draws, work)
    noisy, inferred = squared.mean(axis=0)
    return float(noisy), float(inferred), float(squared[:, 1].std(ddof=1) / np.sqrt(draws))


def run(setting: Setting) -> Figure:
    """Error by n at d = 1, and by d at one n, beside both bounds."""
    variance = noise_variance(SortedCounts(1, adaptive=False).price(), setting.law)
    lengths = [1 << i for i in range(2, setting.size(17, 15))]
    many = setting.size(1 << 14, 1 << 12)
    grid = [(n, 1) for n in lengths] + [(many, 4**i) for i in range(1, 8) if 4**i <= many]
    rows, off = [], []
    for n, d in grid:
        noisy, inferred, doubt = errors(setting, n, d)
        runs = run_lengths(n, d)
        off.append(abs(inferred - sharp_bound(runs, variance)) / doubt)
        rows.append((n, d, noisy, inferred, sharp_bound(runs, variance), papers_bound(runs)))
    growing, spread = rows[: len(lengths)], [row for row in rows if row[0] == many]
    spread.sort(key=lambda row: row[1])
    worst = max(row[3] / row[5] for row in rows)
    sharp = [row[3] / row[4] for row in rows]
    few = np.polyfit(np.log([r[1] for r in spread[:-2]]), np.log([r[3] for r in spread[:-2]]), 1)
    claims = (
        PaperClaim(
            "error(S̄) ≤ Σ (c₁ log³ n_i + c₂)/ε² for constants that depend on neither n nor d.",
            f"with c₁ = {C1:g}, c₂ = {C2:g}: at most {worst:.0%} of it, n to {lengths[-1]:,}",
            worst <= 1,
        ),
        PaperClaim(
            "error(S̃) = Θ(n/ε²).",
            f"S̃/(n/ε²) from {min(r[2] / r[0] for r in rows):.2f} "
            f"to {max(r[2] / r[0] for r in rows):.2f} (expected {variance:.2f})",
            all(0.5 * variance < r[2] / r[0] < 1.5 * variance for r in rows),
        ),
        PaperClaim(
            "With d = 1 error(S̄) = O(log³ n/ε²), while S̃ grows with n.",
            f"n = {lengths[-1]:,}: {growing[-1][3]:.1f} against {growing[-1][2]:,.0f}",
            growing[-1][3] < papers_bound(np.array([lengths[-1]])),
        ),
        PaperClaim(
            "The error grows with the number of distinct counts, d (linearly in the bound).",
            f"n = {many:,}: as d to the power {few[0]:.2f}",
            bool(0.5 < few[0] < 1.1),
        ),
        PaperClaim(
            "With d = n both S̃ and S̄ scale linearly in n.",
            f"n = d = {spread[-1][1]:,}: S̄/S̃ = {spread[-1][3] / spread[-1][2]:.2f}"
            if spread[-1][1] == many
            else f"d = {spread[-1][1]:,} of n = {many:,}: S̄/S̃ {spread[-1][3] / spread[-1][2]:.2f}",
            spread[-1][3] > 0.3 * spread[-1][2],
        ),
        PaperClaim(
            "(Ours, sharper.) error(S̄) ≤ v · Σ H(n_i), and equal when counts lie far apart.",
            f"measured/bound from {min(sharp):.2f} to {max(sharp):.2f}, "
            f"at most {max(off):.1f} standard errors apart",
            max(off) < 5,
        ),
    )
    columns = ("n", "d", "S̃", "S̄", "v·ΣH(n_i)", "Σ(c₁log³n_i + c₂)")
    panels = [_panel("one distinct count", 0, growing), _panel(f"n = {many:,}", 1, spread)]
    table = Sheet("Squared error and its bounds", columns, tuple(rows))
    return Figure("theorem2", TITLE, (table,), claims, svg(TITLE, [panels], STAMP))


def _panel(
    title: str, column: int, rows: list[tuple[int, int, float, float, float, float]]
) -> Panel:
    x = [float(row[column]) for row in rows]
    kinds = (
        ("S̃", 2, GRAY, "circle", ""),
        ("S̄", 3, BLACK, "square", ""),
        ("v · Σ H(n_i), sharp", 4, BLUE, "", ""),
        ("the paper's bound, c₁ = 2, c₂ = 3", 5, BLACK, "", "5 3"),
    )
    lines = tuple(
        Curve(label, x, [float(row[i]) for row in rows], colour, marker, dash)
        for label, i, colour, marker, dash in kinds
    )
    label = "n" if column == 0 else "d, distinct counts"
    return Panel(title, label, "squared error", lines, log_x=True, log_y=True)
