"""Theorem 4: H̄ is linear, unbiased, the best such estimator, and bounded by ℓ³."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.ask import TreeCounts
from trueup.infer import errors_of, infer
from trueup.measurement import Measurement
from trueup.paper.baselines import fewest_nodes, noisy_nodes
from trueup.paper.claims import STAMP, Figure, PaperClaim
from trueup.paper.draws import Setting, each_draw
from trueup.paper.noise import measure_for_experiment
from trueup.pictures.sheet import Sheet
from trueup.pictures.svg import Curve, Panel, svg
from trueup.pictures.theme import BLACK, BLUE, GRAY, ORANGE

TITLE = "Theorem 4: the error of H̄, ε = 1"


def blank(question: TreeCounts) -> Measurement:
    """A measurement of empty data that came out without noise; it carries the noise law."""
    zeros = np.zeros(question.length)
    return Measurement(question, zeros, Fraction(1), private=False, law="continuous")


def some_ranges(n: int, limit: int) -> tuple[Ints, Ints]:
    """All ranges of n cells, or `limit` of them at random with the extreme ones."""
    if n * (n + 1) // 2 <= limit:
        starts, stops = np.triu_indices(n + 1, 1)
        return starts.astype(np.int64), stops.astype(np.int64)
    ends = np.sort(np.random.default_rng(n).integers(0, n + 1, (limit, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    return np.append(ends[:, 0], [0, 1]), np.append(ends[:, 1], [n, n - 1])


def nodes_needed(question: TreeCounts, starts: Ints, stops: Ints) -> Floats:
    """How many nodes H̃ adds up for each range."""
    return fewest_nodes(question.shape, np.ones(question.length), starts, stops)


def largest_error(height: int) -> tuple[float, float]:
    """The largest error of H̄ and of H̃ over the ranges of a binary tree, at ε = 1."""
    question = TreeCounts(1 << (height - 1), branching=2)
    measurement = blank(question)
    starts, stops = some_ranges(question.size, 200_000)
    errors = errors_of(measurement.noise)
    noisy = nodes_needed(question, starts, stops) * measurement.variances[0]
    return float(errors.range_variances(starts, stops).max()), float(noisy.max())


def all_but_the_ends(branching: int, height: int) -> tuple[float, float]:
    """How much better H̄ is than H̃ on all leaves but the first and the last; the paper's factor."""
    question = TreeCounts(branching ** (height - 1), branching=branching)
    measurement = blank(question)
    start, stop = np.array([1]), np.array([question.size - 1])
    errors = errors_of(measurement.noise)
    noisy = nodes_needed(question, start, stop) * measurement.variances[0]
    factor = (2 * (height - 1) * (branching - 1) - branching) / 3
    return float(noisy[0] / errors.range_variances(start, stop)[0]), factor


def linearity(setting: Setting, height: int) -> float:
    """The largest difference between inferring a sum and summing what was inferred."""
    question = TreeCounts(1 << (height - 1), branching=2)
    generator = setting.generator("theorem 4, linear", 0)
    first, second = generator.normal(0, 100, (2, question.length))
    cells = [
        infer(Measurement(question, noisy, Fraction(1), private=False, law="continuous")).counts()
        for noisy in (first, second, 2 * first - 3 * second)
    ]
    return float(np.abs(2 * cells[0] - 3 * cells[1] - cells[2]).max())


def rivals(setting: Setting, height: int, number: int) -> float:
    """The least ratio, over all ranges, of a rival's error to that of H̄; below 1 would refute.

    The rivals are linear and unbiased: least squares with weights of chance, and H̃. All by dense
    algebra: with the tree's matrix A and weights W the estimate is (AᵀWA)⁻¹AᵀW h̃.
    """
    question = TreeCounts(1 << (height - 1), branching=2)
    measurement = blank(question)
    A = question.matrix().toarray()
    starts, stops = some_ranges(question.size, 10**9)
    cells = np.arange(question.size)
    ranges = ((cells >= starts[:, None]) & (cells < stops[:, None])).astype(float)
    best = errors_of(measurement.noise).range_variances(starts, stops)
    least = float((nodes_needed(question, starts, stops) * measurement.variances[0] / best).min())
    for rival in range(number):
        weights = setting.generator("theorem 4, rivals", rival).lognormal(0, 1, question.length)
        estimate = np.linalg.solve((A.T * weights) @ A, A.T * weights)
        variance = ((ranges @ estimate) ** 2).sum(axis=1) * measurement.variances[0]
        least = min(least, float((variance / best).min()))
    return least


def bias(setting: Setting, height: int) -> tuple[float, float, float]:
    """The largest |mean error| of H̄ in its standard errors, over some ranges; measured errors.

    The errors, squared and averaged, are those of H̃ and H̄ on the query of part (iv).
    """
    n = 1 << (height - 1)
    question = TreeCounts(n, branching=2)
    counts = np.random.default_rng(4).poisson(3.0, n)
    prefix = np.concatenate([[0], np.cumsum(counts)])
    starts = np.array([1, 0, 0, n // 3, n // 2 - 1, n - 1])
    stops = np.array([n - 1, n, 1, n // 2, n // 2 + 1, n])

    def work(generator: np.random.Generator) -> Floats:
        measurement = measure_for_experiment(counts, question, 1, generator, setting.law)
        release = infer(measurement)
        noisy = fewest_nodes(question.shape, noisy_nodes(measurement), starts, stops)
        return np.array([noisy, release.ranges(starts, stops)]) - (prefix[stops] - prefix[starts])

    draws = setting.size(1_000, 200)
    errors = each_draw(setting, f"theorem 4, height {height}", draws, work)
    mean, spread = errors[:, 1].mean(axis=0), errors[:, 1].std(axis=0, ddof=1)
    noisy, inferred = (errors[:, :, 0] ** 2).mean(axis=0)
    largest = float((np.abs(mean) / spread * np.sqrt(draws)).max())
    return largest, float(noisy), float(inferred)


def run(setting: Setting) -> Figure:
    """The four parts: exactly where the error can be computed, by draws beside it."""
    tallest = setting.size(16, 13)
    heights = list(range(2, tallest + 1))
    largest = [largest_error(height) for height in heights]
    bounds = [2 * 2 * height**3 for height in heights]
    fans = (2, 4, 16)
    ends = {
        k: [(h, *all_but_the_ends(k, h)) for h in range(3, 17) if k ** (h - 1) <= 1 << 16]
        for k in fans
    }
    exact, factor = all_but_the_ends(2, 16)
    height = setting.size(12, 10)
    z, noisy, inferred = bias(setting, height)
    expected = all_but_the_ends(2, height)[0]
    off = linearity(setting, height)
    number = setting.size(40, 8)
    least = rivals(setting, 7, number)
    share = max(h / b for (h, _), b in zip(largest, bounds, strict=True))
    ratios = [(row[1], row[2]) for rows in ends.values() for row in rows]
    claims = (
        PaperClaim(
            "(i) H̄ is a linear unbiased estimator.",
            f"linear to {off:.0e}; largest bias {z:.1f} of its standard errors, over 6 ranges",
            off < 1e-6 and z < 4.5,
        ),
        PaperClaim(
            "(ii) error(H̄_q) ≤ error(E_q) for all ranges q and linear unbiased estimators E.",
            f"H̃ and {number} other estimators, all 2,080 ranges of 64 cells: error(E)/error(H̄) "
            f"at least {least:.4f}",
            least >= 1 - 1e-9,
        ),
        PaperClaim(
            "(iii) error(H̄_q) = O(ℓ³/ε²) for all q; in the proof at most 2kℓ³/ε².",
            f"at most {share:.0%} of 2kℓ³, heights 2 to {tallest}",
            share <= 1,
        ),
        PaperClaim(
            "(iv) Some q has error(H̃_q)/error(H̄_q) ≥ (2(ℓ−1)(k−1)−k)/3: 9.33 at ℓ = 16, k = 2.",
            f"ℓ = 16, k = 2: exactly {exact:.2f} (paper's factor {factor:.2f}); drawn at "
            f"ℓ = {height}: {noisy / inferred:.1f}, expected {expected:.1f}",
            all(ratio >= claimed - 1e-9 for ratio, claimed in ratios) and exact >= factor,
        ),
    )
    tables = _tables(heights, largest, bounds, ends)
    return Figure("theorem4", TITLE, tables, claims, _picture(heights, largest, bounds, ends))


def _tables(
    heights: list[int],
    largest: list[tuple[float, float]],
    bounds: list[int],
    ends: dict[int, list[tuple[int, float, float]]],
) -> tuple[Sheet, Sheet]:
    return (
        Sheet(
            "Largest error over ranges, binary tree (all ranges up to 512 cells, then 200,000)",
            ("height", "H̃", "H̄", "2kℓ³"),
            tuple(
                (h, noisy_, fit, float(b))
                for h, (fit, noisy_), b in zip(heights, largest, bounds, strict=True)
            ),
        ),
        Sheet(
            "Error of H̃ over that of H̄, on all leaves but the first and the last",
            ("branching, height", "ratio", "paper: at least"),
            tuple(
                (f"k = {k}, ℓ = {h}", ratio, max(claimed, 0.0))
                for k, rows in ends.items()
                for h, ratio, claimed in rows
            ),
        ),
    )


def _picture(
    heights: list[int],
    largest: list[tuple[float, float]],
    bounds: list[int],
    ends: dict[int, list[tuple[int, float, float]]],
) -> str:
    x = [float(height) for height in heights]
    worst = Panel(
        "(iii) the worst range, k = 2",
        "height ℓ",
        "squared error",
        (
            Curve("2kℓ³/ε²", x, [float(b) for b in bounds], BLACK, dash="5 3"),
            Curve("H̃", x, [noisy for _, noisy in largest], GRAY, "diamond"),
            Curve("H̄", x, [fitted for fitted, _ in largest], BLACK, "square"),
        ),
        log_y=True,
    )
    lines = []
    for (k, rows), colour in zip(ends.items(), (BLACK, BLUE, ORANGE), strict=True):
        at = [float(row[0]) for row in rows]
        lines.append(Curve(f"k = {k}", at, [row[1] for row in rows], colour, "circle"))
        promised = [max(row[2], 0.0) for row in rows]
        lines.append(Curve(f"k = {k}, promised", at, promised, colour, dash="5 3"))
    ratio = Panel(
        "(iv) all but the two end leaves",
        "height ℓ",
        "error of H̃ / error of H̄",
        tuple(lines),
        y_from_zero=True,
    )
    return svg(TITLE, [[worst, ratio]], STAMP)
