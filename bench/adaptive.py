"""Adaptive trees beside the tree that is asked at once: accuracy, constants, speed, coverage.

Run: python bench/adaptive.py [--data DIR] [--draws 100] [--adversaries] [--choose] [--speed]
     [--coverage] [--widths] [--grids] [--together]

DIR holds .npy vectors of counts (or a folder hist1d of them); without it, made-up vectors. With no
other option it prints everything about accuracy: each vector, geometric means, the worst ratio, and
then the adversaries. Each figure is the squared error of `TreeCounts(axis, adaptive=True)` over
that of the plan's question for non-negative counts, both shown large first, over ranges of
log-uniform lengths, all ranges and prefixes; in brackets the lower 95 % end over the draws.
`--choose` measures other constants on made-up families, which is how they were chosen. NOT PRIVATE:
the noise is reproducible.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

import trueup as tu
from accuracy import vectors
from quadtrees import WAYS, grid_sets, ratio
from quadtrees import compared as compared_grids
from trueup import law as laws
from trueup._kernels.law import weighted_laplace
from trueup.ask import AdaptiveTreeCounts, Question
from trueup.ask.adaptive_tree import _answers_with_noise
from trueup.ask.pooled import Rule
from trueup.infer import adaptive_tree as model
from trueup.measurement import Measurement
from trueup.noise import Noise
from trueup.paper.noise import draw_for_experiment, measure_for_experiment
from trueup.reconcile.agreeing import show

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Scores = dict[str, Floats]

WORKLOADS = ("log-uniform", "uniform", "prefixes")
EPSILONS = ("0.01", "0.1", "1")
_ONE = Fraction(1)
SPARSE = 0.7  # of cells that are empty
_HARD = (15, 17, 19, 21, 22, 23, 25)  # spikes near thresholds, in 1/ε


def families(size: int, unit: float, seed: int = 1) -> Iterator[tuple[str, Ints]]:
    """Made-up vectors of many kinds; `unit` is 1/ε, in which noise is measured."""
    g = np.random.default_rng(seed)
    place = np.arange(size)

    def bumps(number: int, width: float, total: float) -> Floats:
        middles = g.integers(0, size, number)
        heights = np.exp(-0.5 * ((place[:, None] - middles) / width) ** 2).sum(1)
        return g.multinomial(int(total), heights / heights.sum()).astype(np.float64)

    pay = np.exp(-place / 500) * (1 + 20 * (place % 50 == 0))
    made = {
        "dense": g.poisson(1500 + 500 * np.sin(place / 90)),
        "rising": np.sort(g.exponential(20 * unit, size)),
        "wave": g.poisson(200 * unit * (1 + np.sin(place / 40))),
        "heaps": np.where(place % 50, g.exponential(10 * unit, size), g.exponential(2e3 * unit)),
        "log-normal": np.minimum(np.exp(g.normal(np.log(8 * unit), 2, size)), 1e6 * unit),
        "random walk": np.exp(np.cumsum(g.normal(0, 0.15, size)) - 1) * 10 * unit,
        "half dense": np.where((place // 512) % 2, g.exponential(0.5 * unit, size), 100 * unit),
        "heavy tail": g.permutation(2000 * unit / (1 + place)),
        "wide clumps": bumps(6, 60, 3000 * unit),
        "narrow clumps": bumps(12, 8, 5000 * unit),
        "decay": 1e4 * unit * 0.99**place,
        "sparse 1 %": g.integers(1, round(200 * unit), size) * (g.random(size) < 0.01),
        "sparse 10 %": g.integers(1, round(30 * unit), size) * (g.random(size) < 0.1),
        "half empty": np.where(place < size // 2, g.poisson(5 * unit, size), 0),
        "one step": np.where((place > 1200) & (place < 1300), 50 * unit, 0.2 * unit),
        "zipf with gaps": np.minimum(g.zipf(1.5, size), 1e4 * unit) * (g.random(size) < 0.3),
        "low": g.poisson(0.3 * unit, size),
        "flat 1": g.poisson(unit, size),
        "flat 3": g.poisson(3 * unit, size),
        "rounded": np.where(place % 10, g.exponential(0.3 * unit), g.exponential(20 * unit, size)),
        "pay": g.multinomial(int(1e4 * unit), pay / pay.sum()),
    }
    for name, counts in made.items():
        yield name, np.rint(counts).astype(np.int64)


def adversaries(size: int, unit: float) -> Iterator[tuple[str, Ints]]:
    """Spikes near the thresholds in every family, ramps, combs."""
    place = np.arange(size)
    widths = sorted({tu.TreeCounts(size).shape.widths[-2], *tu.TreeCounts(size).shape.widths[1:-1]})
    for height in (1, 2, 4, 8, 12, 15, 17, 18, 19, 21, 22, 23, 25, 30):
        for width in (*widths, 2 * widths[0], 2 * widths[-1]):
            yield f"spikes {height}/ε, every {width}", _spikes(size, width, round(height * unit))
    yield "ramp", np.rint(place * unit / 200).astype(np.int64)
    yield "gentle ramp", np.rint(place * unit / 1000).astype(np.int64)
    for width in (1, 2, 5, 17, 64):
        yield f"comb of {width}", np.where((place // width) % 2, 0, round(4 * unit))


def _spikes(size: int, width: int, height: int) -> Ints:
    return np.where(np.arange(size) % width == width // 2, height, 0)


def scores(wrong: Floats) -> Floats:
    """The mean squared error over the three workloads, from errors of prefix sums."""
    size = len(wrong) - 1
    lengths = [*(2**power for power in range(size.bit_length()) if 2**power < size), size]
    log = np.mean([np.mean((wrong[k:] - wrong[:-k]) ** 2) for k in lengths])
    uniform = ((wrong - wrong.mean()) ** 2).sum() * 2 / size
    return np.array([log, uniform, np.mean(wrong[1:] ** 2)])


def errors(counts: Ints, question: Question, epsilon: str, draws: int, number: int = 0) -> Floats:
    """The scores of each draw, shown large first; the vector with this number has its own noise.

    Were the noise that of every vector, means over vectors would be as uncertain as one of them.
    """
    truth = np.concatenate([[0], np.cumsum(counts)])
    found = []
    for seed in range(number * draws, (number + 1) * draws):
        m = measure_for_experiment(counts, question, epsilon, seed=seed)
        found.append(scores(tu.infer(m, nonnegative=True, integers=True).prefix - truth))
    return np.array(found)


def compared(
    sets: list[tuple[str, Ints]], epsilon: str, draws: int, most: float, told: bool = True
) -> dict[str, Floats]:
    """The ratio for every vector; prints a table, the worst, and which are above the most."""
    found, above = {}, []
    worst = (0.0, 0.0, "none")
    for number, (name, counts) in enumerate(sets):
        axis = tu.Axis.integers("cell", 0, len(counts) - 1)
        plain = tu.plan(axis, epsilon, nonnegative=True)["for non-negative counts"].question
        theirs = errors(counts, plain, epsilon, draws, number)
        ours = errors(counts, tu.TreeCounts(axis, adaptive=True), epsilon, draws, number)
        each, low = ratio(ours, theirs)
        found[name] = each
        counted = theirs.mean(0) >= 1  # errors below one count² are exempt
        for k in np.flatnonzero(counted):
            named = f"{name} ({WORKLOADS[k]})"
            worst = max(worst, (float(each[k]), float(low[k]), named))
            above += [named] if low[k] > most else []
        if told:
            cells = " | ".join(f"{a:.2f} ({b:.2f})" for a, b in zip(each, low, strict=True))
            print(f"| {name} | {np.mean(counts == 0):.0%} | {epsilon} | {cells} |", flush=True)
    verdict = "none" if not above else ", ".join(above)
    print(f"ε = {epsilon}, {draws} draws; above {most} (lower end): {verdict}", flush=True)
    print(f"worst: {worst[0]:.2f} (lower end {worst[1]:.2f}), {worst[2]}", flush=True)
    return found


def means(found: dict[Any, Floats], names: list[Any]) -> str:
    """Geometric means over some vectors."""
    each = np.exp(np.mean([np.log(found[name]) for name in names], axis=0))
    return f"{' / '.join(f'{x:.3f}' for x in each)}, all {np.exp(np.log(each).mean()):.3f}"


def accuracy(data: Path | None, draws: int, epsilons: tuple[str, ...]) -> None:
    sets = list(vectors(data))
    empty = [name for name, counts in sets if np.mean(counts == 0) > SPARSE]
    print(f"| vector | empty | ε | {' | '.join(WORKLOADS)} |\n|---|--:|--:|--:|--:|--:|")
    for epsilon in epsilons:
        found = compared(sets, epsilon, draws, 1.1)
        print(f"geometric mean: {means(found, [name for name, _ in sets])}")
        if empty:
            print(f"more than {SPARSE:.0%} empty: {means(found, empty)}")


def choose(draws: int) -> None:
    """Other constants on made-up families: small, crowded, shares by level, evening out."""
    size, epsilon = 4096, "0.1"
    sets = [each for seed in (1, 2) for each in families(size, 10.0, seed)]
    hard = [(f"spikes {height}/ε", _spikes(size, 34, 10 * height)) for height in _HARD]
    plain = [
        np.mean(errors(counts, default_for(size), epsilon, 3 * draws, number), axis=0)
        for number, (_, counts) in enumerate(sets + hard)
    ]
    own = {"small": 5.0, "crowded": 8.0, "uneven": 4.0, "still": 2.0}
    own |= {"sooner": 0.88, "first": 1.19, "evened": 0.5}
    other = {
        "small": (4.5, 5.5),
        "crowded": (6, 10),
        "uneven": (3, 5, np.inf),
        "still": (0, 2.5, 3),
        "sooner": (0.8, 0.85, 0.9),
        "first": (1.05, 1.1, 1.25),
        "evened": (0.0, 0.3, 0.6, 1.0),
    }
    tries = [own, *({**own, name: value} for name in other for value in other[name])]
    tries += [{**own, "sooner": 0.85, "first": first} for first in (1.05, 1.1, 1.15)]
    tries += [{**own, "crowded": 6.0, "uneven": np.inf, "still": 0.0}]
    print(f"| {' | '.join(own)} | geometric means | worst | spikes |\n|{'--:|' * (len(own) + 3)}")
    for given in tries:
        asked = AdaptiveTreeCounts(_tilted(size, given["sooner"], given["first"]))
        limits = given["uneven"], given["still"]
        rule = Rule(given["small"], given["crowded"], True, *limits)
        found = []
        model.EVENED = given["evened"]
        for number, ((_, counts), theirs) in enumerate(zip(sets + hard, plain, strict=True)):
            many = draws if number < len(sets) else 3 * draws  # spikes: as many as the plain
            seeds = range(number * many, (number + 1) * many)
            ours = _by_rule(counts, asked, epsilon, seeds, rule)
            found.append(ours.mean(0) / theirs)
        each = dict(enumerate(found[: len(sets)]))
        worst = f"{np.max(found[: len(sets)]):.2f} | {np.max(found[len(sets) :]):.2f}"
        row = f"| {' | '.join(map(str, given.values()))} | {means(each, list(each))} | {worst} |"
        print(row, flush=True)


def default_for(*axes: tu.Axis | int) -> Question:
    """What is asked of axes where counts are shown and nobody says what to ask."""
    over = axes[0] if len(axes) == 1 else list(axes)
    return tu.plan(over, 1, nonnegative=True)["for non-negative counts"].question


def _tilted(size: int, sooner: float, first: float) -> tu.TreeCounts:
    tree = tu.TreeCounts(size)
    parts = [float(share) * sooner**level for level, share in enumerate(tree.shares)]
    parts[1] *= first
    shares = [Fraction(round(1000 * part / sum(parts)), 1000) for part in parts]
    shares[-1] += 1 - sum(shares)
    return tu.TreeCounts(size, radices=tree.radices, shares=shares)


def _by_rule(
    counts: Ints, question: AdaptiveTreeCounts, epsilon: str, seeds: range, rule: Rule
) -> Floats:
    truth = np.concatenate([[0], np.cumsum(counts)])
    noise = Noise(question, Fraction(epsilon))
    found = []
    for seed in seeds:
        g = np.random.default_rng(seed)

        def draw(length: int, weight: Fraction = Fraction(1), _: Fraction = _ONE, /) -> Ints:
            drawn = draw_for_experiment(g, float(noise.unit / weight), length)  # noqa: B023
            return drawn.astype(np.int64)

        ask = _answers_with_noise(counts, draw)
        asked, noisy = question._asked(ask, noise.unit, rule)
        m = Measurement(asked, noisy, noise.epsilon, private=False)
        found.append(scores(tu.infer(m, nonnegative=True, integers=True).prefix - truth))
    return np.array(found)


def speed() -> None:
    """CPU seconds of measuring and inferring, on counts where few cells are empty, and most."""
    print("| cells | counts | measured and inferred, s of CPU |\n|--:|---|--:|")
    for power in (12, 16, 20, 24):
        size = 1 << power
        question = tu.TreeCounts(size, adaptive=True)
        for name in ("dense", "one in a hundred", "one stretch"):
            g = np.random.default_rng(1)
            counts = g.poisson(500, size)
            if name == "one in a hundred":
                counts *= g.random(size) < 0.01
            elif name == "one stretch":
                counts[size // 50 :] = 0
            best = np.inf
            for _ in range(3 if power < 24 else 2):
                begin = time.process_time()
                tu.infer(tu.measure(counts, question, 1), nonnegative=True)
                best = min(best, time.process_time() - begin)
            print(f"| 2^{power} | {name} | {best:.3f} |", flush=True)


def _remember_half_widths() -> None:
    """From here on the half width of a law that comes again is not found again."""
    found, known = weighted_laplace.half_width, dict[tuple[bytes, ...], float]()

    def half_width(*law: Any) -> float:
        key = tuple(np.asarray(part).tobytes() for part in law)
        if key not in known:
            known[key] = found(*law)
        return known[key]

    setattr(laws, "half_width", half_width)  # noqa: B010


def coverage(data: Path | None, draws: int, level: float = 0.95) -> None:
    """How often intervals hold the truth, range by range: none may fall short of the level.

    Half widths of laws that come again are found once. A range falls short if so few draws would
    hold it by chance once in 10,000 ranges of the level. Every set has noise of its own.
    """
    epsilon = "0.1"
    _remember_half_widths()
    sets = [*families(4096, 10.0), *adversaries(4096, 10.0)]
    sets += vectors(data) if data is not None else []
    least = int(binom.ppf(1e-4, draws, level))
    worst: list[tuple[float, str, float]] = []
    for number, (name, counts) in enumerate(sets):
        size = len(counts)
        ends = np.sort(np.random.default_rng(3).integers(0, size + 1, (40, 2)), axis=1)
        more = [[0, size], [0, size // 14], [size // 14, size // 7], [17, 34], [300, 301]]
        ends = np.concatenate([ends, more])
        ends = ends[ends[:, 0] < ends[:, 1]]
        truth = np.concatenate([[0], np.cumsum(counts)])
        true = truth[ends[:, 1]] - truth[ends[:, 0]]
        held, wide = np.zeros(len(ends)), 0.0
        for seed in range(number * draws, (number + 1) * draws):
            m = measure_for_experiment(counts, tu.TreeCounts(size, adaptive=True), epsilon, seed)
            low, high = tu.infer(m).intervals(ends[:, 0], ends[:, 1], level, simultaneous=False)
            held += (low <= true) & (true <= high)
            wide += float(np.mean(high - low)) / 2 / draws
        worst.append((float(held.min()) / draws, name, wide))
        print(f"{name:32} worst of {len(ends)} ranges held {worst[-1][0]:.3f}, "
              f"mean half width {wide:,.0f}", flush=True)  # fmt: skip
    short = [name for share, name, _ in worst if share * draws < least]
    print(f"{len(sets)} sets, {draws} draws; fall short of {level}: {', '.join(short) or 'none'}")


def widths(data: Path | None, draws: int, ranges: int = 150) -> None:
    """How wide 95 % intervals are, over those of the default, for ranges of log-uniform lengths."""
    g = np.random.default_rng(0)
    for epsilon in EPSILONS:
        found = {}
        for name, counts in vectors(data):
            size = len(counts)
            axis = tu.Axis.integers("cell", 0, size - 1)
            lengths = np.minimum(2 ** g.integers(0, size.bit_length(), ranges), size)
            starts = (g.random(ranges) * (size - lengths + 1)).astype(int)
            wide = []
            for question in (default_for(size), tu.TreeCounts(axis, adaptive=True)):
                each = np.zeros(ranges)
                for seed in range(draws):
                    m = measure_for_experiment(counts, question, epsilon, seed)
                    shown = tu.infer(m, nonnegative=True, integers=True)
                    ends = starts, starts + lengths
                    low, high = shown.intervals(*ends, simultaneous=False)
                    each += (high - low) / draws
                wide.append(np.maximum(each, 1))
            found[name] = np.exp(np.mean(np.log(wide[1] / wide[0])))
            print(f"{name}, ε = {epsilon}: {found[name]:.2f}", flush=True)
        print(f"ε = {epsilon}: {np.exp(np.mean(np.log(list(found.values())))):.2f}", flush=True)


def together(draws: int, epsilon: str = "0.1", size: int = 4096) -> None:
    """Two releases put together, beside one adaptive tree: the mean of what two adaptive trees
    show, the mean of their unbiased counts handed down, least squares of two defaults."""
    every = []
    for name, counts in families(size, 1 / float(epsilon)):
        truth = np.concatenate([[0], np.cumsum(counts)])
        found = np.zeros((4, len(WORKLOADS)))
        for seed in range(draws):
            twice = [
                [measure_for_experiment(counts, each, epsilon, 2 * seed + k) for k in (0, 1)]
                for each in (AdaptiveTreeCounts(size), default_for(size))
            ]
            shown = (
                tu.infer(twice[0][0], nonnegative=True),
                tu.reconcile(twice[0], nonnegative=True),
                show(tu.reconcile(twice[0]), True, False),
                tu.reconcile(twice[1], nonnegative=True),
            )
            found += [scores(each.prefix - truth) for each in shown]
        every.append(found[1:] / found[0])
        print(f"{name:24}", *(_three(each) for each in every[-1]))
    mean = np.exp(np.mean(np.log(every), axis=0))
    print(f"{'geometric mean':24}", *(_three(each) for each in mean))


def _three(ratios: Floats) -> str:
    return " / ".join(f"{each:.2f}" for each in ratios).ljust(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of .npy vectors")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--epsilon", choices=EPSILONS, help="one ε instead of three")
    parser.add_argument("--adversaries", action="store_true")
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--widths", action="store_true")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--grids", action="store_true", help="folder hist2d of DIR")
    given = parser.parse_args()
    if given.speed:
        speed()
    elif given.choose:
        choose(given.draws)
    elif given.coverage:
        coverage(given.data, given.draws)
    elif given.widths:
        widths(given.data, min(given.draws, 3))
    elif given.together:
        together(min(given.draws, 6))
    elif given.grids:
        for epsilon in EPSILONS:
            compared_grids(list(grid_sets(given.data, epsilon)), WAYS, epsilon, given.draws)
    elif given.adversaries:
        compared(list(adversaries(4096, 10.0)), "0.1", given.draws, 1.2)
    else:
        accuracy(given.data, given.draws, (given.epsilon,) if given.epsilon else EPSILONS)
        print("adversaries:")
        compared(list(adversaries(4096, 10.0)), "0.1", given.draws, 1.2)


if __name__ == "__main__":
    main()
