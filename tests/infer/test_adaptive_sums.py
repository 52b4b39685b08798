"""Sums of many ranges of an adaptive tree: what bounds their errors, and how often that holds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.ask import AdaptiveTreeCounts
from trueup.infer import errors_of
from trueup.infer.adaptive_errors import SLIP
from trueup.law import NoiseLaw, added
from trueup.noise import Noise
from trueup.paper.noise import measure_for_experiment

from .pooled_trees import TREES, WORST, fit_matrix

LEVEL = 0.9
REGIONS = {
    f"region {k}": {f"{k}.{j}": [f"{k}.{j}.{i}" for i in range(1 + 9 * (j % 2))] for j in range(4)}
    for k in range(4)
}
UNEVEN = tu.TreeCounts(tu.Axis.hierarchy("place", REGIONS))  # towns of one part, and of ten


def fences(size: int, number: int, seed: int) -> tuple[tuple[tuple[int, int], float], ...]:
    """So many ranges with gaps between them, each with a coefficient."""
    chance = np.random.default_rng(seed)
    ends = np.sort(chance.choice(size - 1, 2 * number, replace=False) + 1).reshape(-1, 2)
    return tuple(((int(a), int(b)), float(chance.integers(-3, 4) or 1)) for a, b in ends)


@pytest.mark.parametrize("name", ["three levels", "a level left out", "binary", "wide", "uneven"])
def test_many_ranges_are_off_by_no_more_than_all_noise_and_what_lies_in_their_runs(
    name: str,
) -> None:
    """By dense algebra and the noise that was drawn. The law is that of a tree of which everything
    is asked. What is left is bounded by what each run that is cut can hold: its total, less its
    noise, as far as any of its cells counts otherwise than its node does in that tree."""
    tree, stopped = TREES.get(name, UNEVEN), 0
    heavy, question, costs = np.full(tree.size, 10**6), AdaptiveTreeCounts(tree), ("1/2", "1/20")
    every = {cost: measure_for_experiment(heavy, question, cost, 1) for cost in costs}
    fit = fit_matrix(every["1/2"])
    for seed, cost in itertools.product(range(6), costs):
        counts, full = np.random.default_rng(seed).poisson(3, tree.size), every[cost]
        m = measure_for_experiment(counts, question, cost, seed)
        release, asked = tu.infer(m), m.question
        assert isinstance(asked, AdaptiveTreeCounts)
        ranges = fences(tree.size, 9, seed)
        values = np.zeros(tree.size)
        for (start, stop), by in ranges:
            values[start:stop] += by
        law, levels = release.errors.noise_law(ranges), release.errors.levels
        assert isinstance(law, NoiseLaw)
        whole: Any = full.question
        assert law.variance == pytest.approx(float((values @ fit) ** 2 @ full.variances))
        noise, known = asked.by_level(m.noisy - asked.answers(counts)), 0.0
        counted, open_, most_of = whole.by_level(values @ fit), 0.0, {}
        shares = cell_shares(asked, levels)
        for level in levels:
            nodes = asked.reached.nodes[level]
            known += counted[level][0][nodes] @ noise[level][0]
        for number, level in enumerate(levels[:-1]):
            spans = zip(*asked.reached.spans(level), strict=True)
            runs = list(zip(*asked.reached.runs[level], strict=True))
            for place, (a, b) in enumerate(spans):
                run = next((k for k, (i, j) in enumerate(runs) if i <= place < j), None)
                if run is None:
                    continue
                own = values[a:b]
                middle = own @ shares[number][a:b]
                open_ += abs(own.mean() - middle) * abs(release.unbiased.counts()[a:b].sum())
                key = level, run
                most_of[key] = max(most_of.get(key, 0.0), float(abs(own - middle).max()))
        most_of = {key: most for key, most in most_of.items() if most > 1e-9}
        assert asked.pooled is not None
        for (level, run), most in most_of.items():
            open_ += most * max(int(asked.pooled.totals[level][run]), 0)
        assert law.left_open == pytest.approx(open_, abs=1e-6)
        error = values @ (release.unbiased.counts() - counts)
        beyond = sum(-most * noise[level][1][run] for (level, run), most in most_of.items())
        assert abs(error - known) <= law.left_open + beyond + 1e-6
        if most_of:
            assert law.open_noise is not None
            assert (law.open_noise.among, law.among, law.slip) == (4.0, 8 / 3, SLIP)
            wanted = sorted(
                (most, float(m.noise.unit / asked.left(level)))
                for (level, _), most in most_of.items()
            )
            found = zip(law.open_noise.coefficients, law.open_noise.scales, strict=True)
            np.testing.assert_allclose(sorted(found), wanted)
            stopped += 1
    assert stopped > 3


def cell_shares(asked: AdaptiveTreeCounts, levels: tuple[int, ...]) -> list[np.ndarray]:
    """For each level but the last which part of its node each cell has, if children share alike."""
    starts = [asked.shape.starts(level) for level in levels]
    found, share = [], np.ones(asked.shape.size)
    for above, below in zip(starts[-2::-1], starts[:0:-1], strict=True):
        first = np.searchsorted(below, above)
        children = np.diff(np.append(first, len(below)))
        ends = np.append(above, asked.shape.size)
        share = share / np.repeat(children, np.diff(ends))
        found.append(share)
    return found[::-1]


def test_ranges_that_share_no_node_have_the_sum_of_their_variances() -> None:
    """However many they are: on each level a cut has a node, and others on both of its sides."""
    tree = tu.TreeCounts(2560, radices=(40, 4, 4, 4), root=False)
    errors = errors_of(Noise(AdaptiveTreeCounts(tree), 1))
    apart = [(((256 * k + 21, 256 * k + 149), 1.0 + k),) for k in range(10)]
    each = [errors.variance(one) for one in apart]
    for number in range(1, 11):
        together = tuple(one for (one,) in apart[:number])
        assert errors.variance(together) == pytest.approx(sum(each[:number]))


def test_paths_of_more_ways_than_floats_can_count_have_a_finite_interval() -> None:
    """Of 700 ends, each in a node of its own with others between: alone and in a mean of two.

    A path goes all the way, or ends by the count of its node, or by a run: a new one, or that of
    the last end by a run, unless a path between them goes all the way.
    """
    question = AdaptiveTreeCounts(tu.TreeCounts(8000, radices=(2000, 4), root=False))
    parts = [measure_for_experiment(np.zeros(8000, int), question, 1, seed) for seed in range(2)]
    ranges = tuple(((8 * k + 1, 8 * k + 9), 1.0 + k % 2) for k in range(699))
    alone, mean = tu.infer(parts[0]).errors, tu.reconcile(parts).errors
    (paths, stopped), ways, goes_on = alone.by_paths(ranges), 1, 0
    for _ in range(700):
        ways, goes_on = 3 * ways + goes_on, ways + 2 * goes_on
    assert stopped
    assert paths.among >= 2 * (ways - 1)
    both = mean.noise_law(ranges)
    assert both.among > 10**300
    for law in (alone.noise_law(ranges), paths, both, added([paths, paths])):
        width = law.half_width(0.95)
        assert 2 * law.variance**0.5 < width - law.left_open < 1e6
    # With ends between two nodes among them, and more than one in a node.
    others = tuple(((8 * k + 1, 8 * k + 4 - k % 3), 1.0) for k in range(700))
    assert alone.by_paths(others)[0].among >= 2 * (3**700 - 1)


def test_of_seventeen_ends_on_ways_are_not_counted_where_counts_are_known() -> None:
    m = measure_for_experiment(np.zeros(60, int), AdaptiveTreeCounts(TREES["three levels"]), 1, 3)
    errors, plain = tu.infer(m).errors, errors_of(m.noise)
    few, many = fences(60, 8, 1), fences(60, 9, 1)
    another = min(set(range(1, 60)) - {end for ends, _ in few for end in ends})
    seventeen = (*few, ((0, another), 2.0))
    for ranges, counted in ((few, True), (seventeen, False), (many, False)):
        law = errors.noise_law(ranges)
        assert (law.open_noise is None) == counted
        assert law.unclear == (errors.by_paths(ranges)[0].unclear if counted else 8 / 3)
        paths = plain.noise_law(ranges)
        assert (paths.among, paths.open_noise) == (plain.by_paths(ranges)[0].among, None)
    # Between nodes of the first level nothing depends on noise, however many they are.
    flat = AdaptiveTreeCounts(tu.TreeCounts(160, radices=(40, 4), root=False))
    release = tu.infer(measure_for_experiment(np.zeros(160, int), flat, 1, 3))
    between = tuple(((8 * k, 8 * k + 4), 1.0) for k in range(20))
    assert release.errors.noise_law(between).words == "exact, from the law of the noise"


def test_where_all_paths_of_many_ranges_are_clear_their_law_has_all_of_the_chance_to_fail() -> None:
    tree = TREES["three levels"]
    m = measure_for_experiment(np.full(60, 10**6), AdaptiveTreeCounts(tree), 1, 1)
    errors, some = tu.infer(m).errors, fences(60, 9, 1)
    law = errors.noise_law(some)
    assert isinstance(law, NoiseLaw)
    assert (law.among, law.unclear, law.slip, law.left_open) == (1.0, 8 / 3, SLIP, 0.0)
    assert law.open_noise is None
    # On a node that is not clear, though it was split, the chance is doubled.
    cells = np.full(60, 10.0**6)
    cells[some[0][0][0] // 4 * 4 :][:4] = 1.0
    own = errors.given(np.concatenate([[0.0], np.cumsum(cells)])).noise_law(some)
    assert isinstance(own, NoiseLaw)
    assert (own.among, own.unclear, own.slip, own.open_noise) == (8 / 3, 8 / 3, SLIP, None)
    between = tuple(((16 * k, 16 * k + 16), 1.0 + k) for k in range(3))
    assert errors.noise_law(between).words == "exact, from the law of the noise"


@pytest.mark.parametrize("name", ["empty", "spikes at the threshold", "comb", "one cell"])
def test_sums_of_many_ranges_hold_at_least_as_often_as_they_say(name: str) -> None:
    counts = WORST[name]
    question = AdaptiveTreeCounts(TREES["three levels"])
    sums = [fences(60, number, seed) for seed, number in enumerate((3, 3, 9, 12))]
    true = [sum(by * counts[a:b].sum() for (a, b), by in one) for one in sums]
    held, draws = np.zeros(len(sums)), 150
    for seed in range(draws):
        found = tu.infer(measure_for_experiment(counts, question, "1/2", seed))
        for number, one in enumerate(sums):
            value = sum(by * found.between(a, b).value for (a, b), by in one)
            width = found.errors.noise_law(one).half_width(LEVEL)
            held[number] += abs(value - true[number]) <= width + 1e-6
    assert (held / draws).min() >= LEVEL - 4 * (LEVEL * (1 - LEVEL) / draws) ** 0.5
