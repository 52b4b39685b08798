"""Intervals of adaptive trees hold at the worst, not on average; variances are those of the fit."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import dlaplace

import trueup as tu
from trueup.ask import AdaptiveTreeCounts
from trueup.infer import adaptive_errors, errors_of
from trueup.infer.adaptive_errors import MOST_NODES, SLIP, PathErrors
from trueup.law import NoiseLaw
from trueup.noise import Noise
from trueup.paper.noise import measure_for_experiment

from .pooled_trees import TREES, WORST, fit_matrix, measured


@pytest.mark.parametrize("name", TREES)
def test_variances_are_those_of_what_each_answer_counts_for(name: str) -> None:
    for seed in range(4):
        m = measured(TREES[name], seed)
        fit, errors = fit_matrix(m), errors_of(m.noise)
        size = fit.shape[0]
        starts, stops = np.triu_indices(size + 1, 1)
        some = np.linspace(0, len(starts) - 1, 150).astype(int)
        starts, stops = starts[some], stops[some]
        sums = np.cumsum(np.vstack([np.zeros(fit.shape[1]), fit]), axis=0)
        expected = (sums[stops] - sums[starts]) ** 2 @ m.variances
        np.testing.assert_allclose(errors.range_variances(starts, stops), expected, rtol=1e-6)
        pair = (((2, 4), 1.0), ((1, 3), -2.0))
        mixed = (fit[2:4].sum(0) - 2 * fit[1:3].sum(0)) ** 2 @ m.variances
        assert errors.variance(pair) == pytest.approx(mixed)


@pytest.mark.parametrize("cost", [{"epsilon": "1/2"}, {"rho": "1/8"}])
@pytest.mark.parametrize("name", TREES)
def test_answers_of_levels_and_runs_have_the_noise_that_they_were_drawn_with(
    name: str, cost: dict[str, str]
) -> None:
    """As the blocks of the measurement say: of Gaussian noise the variance, by squared shares."""
    question = AdaptiveTreeCounts(TREES[name])
    noise = tu.measure(np.zeros(question.size, int), question, **cost).noise  # type: ignore[arg-type]
    asked, errors, drawn = noise.question, errors_of(noise), iter(noise.scales)
    assert isinstance(asked, AdaptiveTreeCounts)
    assert isinstance(errors, PathErrors)
    nodes, runs = {}, {}
    for level, share in enumerate(asked.shares):
        if share:
            nodes[level] = next(drawn)
        if asked.can_pool(level):
            runs[level] = next(drawn)
    assert next(drawn, None) is None
    expected = [nodes[level] for level in errors.levels]
    assert list(errors.scales) == expected + [runs[level] for level in errors.levels[:-1]]


def test_where_every_node_of_the_paths_is_clear_the_law_has_no_more_than_its_noise() -> None:
    """All of the chance to fail but one in a million; without counts, a quarter of it. Before a
    question is asked, a plan says what will be so."""
    tree = TREES["three levels"]
    m = measure_for_experiment(np.full(60, 10**6), AdaptiveTreeCounts(tree), 1, 1)
    for errors, among in ((errors_of(m.noise), 4.0), (tu.infer(m).errors, 1.0)):
        law = errors.noise_law((((3, 41), 1.0),))
        assert isinstance(law, NoiseLaw)
        assert (law.among, law.slip, law.left_open) == (among, SLIP, 0.0)
        assert law.unclear == 4.0  # where one in a million is too much
        assert errors.by_paths((((3, 41), 1.0),))[1] is False
        between_nodes = errors.noise_law((((16, 48), 1.0),))
        assert (between_nodes.among, between_nodes.slip) == (1.0, 0.0)
        assert between_nodes.words == "exact, from the law of the noise"
        whole = errors.noise_law((((0, 60), 1.0),))
        assert (whole.among, whole.slip, whole.left_open) == (1.0, 0.0, 0.0)
    before = errors_of(Noise(AdaptiveTreeCounts(tree), 1)).noise_law((((3, 41), 1.0),))
    assert isinstance(before, NoiseLaw)
    assert (before.among, before.slip, before.left_open) == (1.0, SLIP, 0.0)
    # Of more ends than so many nodes on the paths are allowed for, none is taken to be clear.
    for ends, among in ((MOST_NODES // 2, 1.0), (MOST_NODES // 2 + 1, 8 / 3)):
        cuts = [k for k in range(1, 60) if k % 4][:ends]
        comb = tuple(((0, cut), float(1 + k)) for k, cut in enumerate(cuts))
        assert tu.infer(m).errors.noise_law(comb).among == among


def test_runs_keep_their_part_where_they_may_have_a_say_though_no_path_ends_in_a_pooled_node() -> (
    None
):
    """Between nodes of the lowest level that can be pooled the cells of a range may all be pooled,
    and the paths to its ends all the way: both bounds are looked at then."""
    tree = TREES["three levels"]  # nodes of 16 and of 4 cells
    m = measure_for_experiment(np.full(60, 10**6), AdaptiveTreeCounts(tree), 1, 1)
    errors = tu.infer(m).errors
    for (start, stop), among in (
        ((4, 40), 4 / 3),
        ((0, 20), 4 / 3),
        ((4, 41), 1.0),
        ((3, 60), 1.0),
    ):
        law = errors.noise_law((((start, stop), 1.0),))
        assert isinstance(law, NoiseLaw)
        assert law.among == pytest.approx(among)
    # It happens: a family with two nodes that hold nearly all, and two that are pooled.
    counts = np.where(np.arange(60) % 16 < 8, 10**6, 0)
    some = tu.infer(measure_for_experiment(counts, AdaptiveTreeCounts(tree), 1, 1)).errors
    assert isinstance(some, PathErrors)
    pooled = (((8, 16), 1.0),)
    assert some.by_runs(8, 16) is not None
    assert some.by_paths(pooled)[1] is False


def test_a_path_is_clear_from_a_count_on_at_which_noise_alone_would_hardly_be() -> None:
    """At every node of both levels: below it, paths that go all the way have a quarter."""
    tree = TREES["three levels"]
    m = measure_for_experiment(np.full(60, 10**6), AdaptiveTreeCounts(tree), 1, 1)
    errors = tu.infer(m).errors
    assert isinstance(errors, PathErrors)
    scales, small = np.array(errors.scales, float)[:2], np.array(errors.split_from)
    np.testing.assert_allclose(small, 5 * 2**0.5 * scales)
    # 18.7 scales for the node that may be small, 20.0 for the fit of one that looks large.
    margin = np.log(64 / 5e-7) + np.log(4.5 / 5e-7) / 0.8
    np.testing.assert_allclose(errors.clear_from, small + margin * np.maximum.accumulate(scales))
    for level, node in enumerate((slice(0, 16), slice(0, 4))):
        for more, among in ((-1.0, 4.0), (0.5, 1.0)):
            cells = np.full(60, 10.0**6)
            cells[node] = (errors.clear_from[level] + more) / 4
            if level == 0:  # its first child is clear all the same
                cells[node] = (errors.clear_from[level] + more - 4e6) / 12
                cells[0:4] = 10.0**6
            own = errors.given(np.concatenate([[0.0], np.cumsum(cells)]))
            assert own.noise_law((((1, 60), 1.0),)).among == among


def pmf(scale: float, times: int = 1) -> np.ndarray:
    """The chances of a multiple of discrete Laplace noise, from −R to R."""
    reach = int(60 * scale) + 2
    found = np.zeros(2 * reach * times + 1)
    found[::times] = dlaplace(1 / scale).pmf(np.arange(-reach, reach + 1))
    return found


TOP_LITTLE = tu.TreeCounts(60, radices=(4, 4, 4), shares=("1/20", "9/20", "1/2"))


@pytest.mark.parametrize("tree", [TREES["three levels"], TOP_LITTLE])
@pytest.mark.parametrize("epsilon", ["1/10", 1, 6])
def test_a_node_is_hardly_ever_small_or_hardly_ever_looks_clear(tree: Any, epsilon: Any) -> None:
    """Whatever its true count: either it is small with a chance of half of SLIP, shared by all
    nodes on the paths; or its fit is clear with a chance of half of SLIP. By the laws of both."""
    errors = errors_of(Noise(AdaptiveTreeCounts(tree), epsilon))
    assert isinstance(errors, PathErrors)
    first, second, _ = map(float, errors.scales[:3])
    # Of four siblings: 3/4 of a node's own noise, 1/4 of theirs and of what their parent is off.
    fit = pmf(second, 3)
    for other in (second, second, second, first):
        fit = np.convolve(fit, pmf(other))
    laws = (pmf(first), 1), (fit, 4)
    for level, (law, parts) in enumerate(laws):
        own = pmf(errors.scales[level].__float__())
        below, above = np.cumsum(own), np.cumsum(law[::-1])[::-1]
        small, clear = errors.split_from[level], errors.clear_from[level]
        for count in range(int(clear) + 1):
            is_small = below[
                max(min(int(np.ceil(small - count)) - 1 + len(own) // 2, len(own) - 1), 0)
            ]
            place = int(np.ceil((clear - count) * parts)) + len(law) // 2
            looks_clear = above[place] if place < len(law) else 0.0
            assert min(MOST_NODES * is_small, looks_clear) <= SLIP / 2 * (1 + 1e-9)


def test_of_gaussian_noise_what_is_clear_goes_by_its_deviation() -> None:
    errors = errors_of(Noise(AdaptiveTreeCounts(TREES["three levels"]), rho=5))
    assert isinstance(errors, PathErrors)
    own = np.sqrt(np.array(errors.scales[:2], float))
    assert own.max() < 1  # less than the variance would be
    scales = (errors.clear_from - errors.split_from) / np.maximum.accumulate(own)
    np.testing.assert_allclose(scales, np.log(64 / 5e-7) + np.log(4.5 / 5e-7) / 0.8)


def test_ranges_between_nodes_of_the_first_level_are_exact_though_runs_tell_of_them() -> None:
    question = AdaptiveTreeCounts(TREES["three levels"])
    for seed in range(20):
        m = measure_for_experiment(np.zeros(60, int), question, "1/10", seed)
        errors = tu.infer(m).errors
        assert isinstance(errors, PathErrors)
        assert errors.by_runs(0, 60) is not None
        for ends in ((0, 60), (0, 16), (16, 48)):
            law = errors.noise_law(((ends, 1.0),))
            assert law.words == "exact, from the law of the noise"


@pytest.mark.parametrize("name", ["three levels", "binary", "wide"])
def test_noise_of_paths_is_that_of_the_fit_and_of_the_counts_that_tell_what_lies_inside(
    name: str,
) -> None:
    """By dense algebra: where a pooled node is told by its count, each answer has what it counts
    for in the range and in that count, as far as a cell of the node is from their mean."""
    told = 0
    for seed, epsilon in itertools.product(range(8), ("1/2", "1/20")):
        counts = np.random.default_rng(seed).poisson(3, TREES[name].size)
        m = measure_for_experiment(counts, AdaptiveTreeCounts(TREES[name]), epsilon, seed)
        release, fit, asked = tu.infer(m), fit_matrix(m), m.question
        errors, cells = release.errors, release.counts()
        assert isinstance(errors, PathErrors)
        assert isinstance(asked, AdaptiveTreeCounts)
        assert asked.pooled is not None
        for start, stop in itertools.combinations(range(1, len(cells) + 1, len(cells) // 7), 2):
            values = np.zeros(len(cells))
            values[start:stop] = 1.0
            needed = np.abs(values @ fit)
            for number, level in enumerate(errors.levels[:-1]):
                starts, stops = asked.reached.spans(level)
                runs = zip(*asked.reached.runs[level], asked.pooled.totals[level], strict=True)
                for first, end, total in runs:
                    for a, b in zip(starts[first:end], stops[first:end], strict=True):
                        most = abs(values[a:b] - values[a:b].mean()).max()
                        better = 5 * float(errors.scales[number])
                        better -= 5 * float(errors.scales[len(errors.levels) + number])
                        if max(cells[a:b].sum(), 0) + better < max(total, 0) and most:
                            needed = needed + most * np.abs(fit[a:b].sum(axis=0))
                            told += 1
            law, _ = errors.by_paths((((start, stop), 1.0),))
            of_levels = iter(asked.by_level(needed))
            every = [next(of_levels)[0] for _ in asked.shares]
            for level, scale in zip(errors.levels, errors.scales, strict=False):
                own = law.scales == float(scale)
                sizes = np.repeat(law.coefficients[own], law.counts[own].astype(int))
                wanted = np.sort(every[level])[::-1]
                held = np.sort(np.append(sizes, np.zeros(len(wanted))))[::-1][: len(wanted)]
                assert (held >= wanted - 1e-9).all()
    assert told


def test_where_a_path_ends_in_a_run_the_chance_to_fail_is_shared_by_all_ways() -> None:
    """Two cuts, each of which may end on two levels or go all the way; two ends in one run are a
    way of their own. What the fit says of a node is another way to tell what lies inside."""
    question = AdaptiveTreeCounts(TREES["three levels"])
    m = measure_for_experiment(np.zeros(60, np.int64), question, "1/10", 3)
    errors = errors_of(m.noise)  # without counts: by paths
    law = errors.noise_law((((3, 41), 1.0),))
    assert law.among == 2 * (3 * 3 + 1 - 1)
    assert law.left_open >= 0
    for (start, stop), ways in (((0, 41), 3), ((0, 20), 2), ((1, 3), 3), ((1, 7), 2 * 2 + 1 + 1)):
        assert errors.noise_law((((start, stop), 1.0),)).among == 2 * (ways - 1)
    known = errors.given(np.zeros(61))
    assert isinstance(known, PathErrors)
    for (start, stop), ways in (((3, 41), 26), ((0, 41), 5), ((1, 3), 5), ((1, 7), 3 * 3 + 1 + 2)):
        law, stopped = known.by_paths((((start, stop), 1.0),))
        assert (law.among, law.unclear, stopped) == (2 * (ways - 1), 2 * (ways - 1), True)


def test_a_range_inside_one_run_is_bounded_by_the_run() -> None:
    tree = TREES["three levels"]
    m = measure_for_experiment(np.zeros(60, np.int64), AdaptiveTreeCounts(tree), "1/10", 3)
    release = tu.infer(m)
    question = m.question
    assert isinstance(question, AdaptiveTreeCounts)
    assert question.pooled is not None
    ((start,), (stop,)) = question.reached.run_spans(1)
    assert (start, stop) == (0, 60)
    total = float(question.pooled.totals[1][0])
    scale = float(m.noise.unit / question.left(1))
    low, high = release.range(5, 30).interval(0.95)
    # The run's noise is one Laplace: beyond b ln(1/α) with probability α, a quarter of 5 % here.
    reach = scale * np.log(1 / 0.0125)
    assert low <= 0
    assert high == pytest.approx(max(total, 0) + reach, abs=2 + abs(low))
    assert high < 3 * reach


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("law", ["epsilon", "rho"])
def test_runs_bound_ranges_by_their_totals_and_their_own_noise(name: str, law: Any) -> None:
    """Every range, cell by cell: all of it lies in runs, or runs say nothing of it."""
    bounded = 0
    for seed, epsilon in itertools.product(range(3), ("1/2", "1/200", "1/5000")):
        m = measured(TREES[name], seed, epsilon)
        noise = m.noise if law == "epsilon" else Noise(m.question, rho=Fraction(1, 2))
        question, errors = m.question, errors_of(noise)
        assert isinstance(question, AdaptiveTreeCounts)
        assert isinstance(errors, PathErrors)
        size, found = question.shape.size, []
        for level in errors.levels[:-1]:
            scale = noise.scale_of(question.left(level), question.square_left(level))
            spans = zip(*question.reached.run_spans(level), strict=True)
            for (a, b), total in zip(spans, question.pooled.totals[level], strict=True):
                found.append((int(a), int(b), int(total), float(scale)))
        whose = np.full(size, -1)
        for number, (a, b, _, _) in enumerate(found):
            whose[a:b] = number
        prefix = np.cumsum([0.0, *np.random.default_rng(seed).normal(3, 9, size)])
        for start, stop in itertools.combinations(range(0, size + 1, max(1, size // 12)), 2):
            told = errors.by_runs(start, stop)
            touched = np.unique(whose[start:stop])
            if touched[0] < 0:
                assert told is None
                continue
            bounded += 1
            runs = [found[number] for number in touched]
            whole = [start <= a and b <= stop for a, b, _, _ in runs]
            totals = [total for _, _, total, _ in runs]
            least = sum(t for t, inside in zip(totals, whole, strict=True) if inside)
            cut = sum(max(t, 0) for t, inside in zip(totals, whole, strict=True) if not inside)
            assert told is not None
            assert told[:2] == (least, least + cut)
            assert sorted(told[2].scales) == sorted(scale for *_, scale in runs)
            assert (told[2].coefficients == 1).all()
            assert (told[2].counts == 1).all()
            # The interval: a quarter of the chance to fail, and as far as the bounds are off.
            factor, shown = -2.5, prefix[stop] - prefix[start]
            one = errors.given(prefix)._by_runs((((start, stop), factor),))
            assert one is not None
            assert (one.among, one.unclear, one.law) == (4.0, 4.0, noise.law)
            assert (one.coefficients == abs(factor)).all()
            off = max(shown - least, least + cut - shown, 0)
            assert one.left_open == pytest.approx(abs(factor) * off)
    assert bounded or name == "cells alone"


@pytest.mark.parametrize("name", ["three levels", "a level left out", "wide"])
def test_a_range_has_the_narrower_of_two_bounds_and_two_ranges_have_paths_alone(name: str) -> None:
    """Runs bound one range, and say nothing of another beside it."""
    narrowed = 0
    for seed, epsilon in itertools.product(range(3), ("1/2", "1/200", "1/5000")):
        m = measured(TREES[name], seed, epsilon)
        release = tu.infer(m)
        both, size = release.errors, release.axis.size
        assert isinstance(both, PathErrors)
        cuts = range(0, size + 1, max(1, size // 7))
        for start, stop in itertools.combinations(cuts, 2):
            one = (((start, stop), 1.0),)
            runs, path = both._by_runs(one), both.by_paths(one)[0].half_width(0.95)
            told = both.noise_law(one).half_width(0.95)
            run = np.inf if runs is None else runs.half_width(0.95)
            assert told in (path, run)
            assert told <= 1.5 * min(path, run)  # told apart by a rough rule
            narrowed += run < path
            for other in ((0, cuts[1]), (start, cuts[-1])):
                pair = (*one, (other, -1.0))
                wide = both.by_paths(pair)[0].half_width(0.95)
                assert both.noise_law(pair).half_width(0.95) == wide
    assert narrowed


LEVEL, DRAWS = 0.9, 300


@pytest.mark.parametrize("name", WORST)
def test_every_single_interval_holds_at_least_as_often_as_it_says(name: str) -> None:
    """At data made to be at the thresholds; each range by itself, not the mean over ranges."""
    counts = WORST[name]
    truth = np.concatenate([[0], np.cumsum(counts)])
    ends = np.array(
        [[0, 60], [0, 16], [3, 16], [1, 2], [2, 3], [5, 33], [10, 50], [33, 34], [20, 22]]
    )
    true = truth[ends[:, 1]] - truth[ends[:, 0]]
    question = AdaptiveTreeCounts(TREES["three levels"])
    held = np.zeros(len(ends))
    for seed in range(DRAWS):
        found = tu.infer(measure_for_experiment(counts, question, "1/2", seed))
        low, high = found.intervals(ends[:, 0], ends[:, 1], LEVEL, simultaneous=False)
        held += (low <= true) & (true <= high)
    # Four standard deviations of a share below the level: none of 72 such tests fails by chance.
    least = LEVEL - 4 * (LEVEL * (1 - LEVEL) / DRAWS) ** 0.5
    assert (held / DRAWS).min() >= least


@pytest.mark.parametrize("name", ["empty", "spikes at the threshold", "ramp", "one cell"])
def test_quantiles_and_shares_hold_too(name: str) -> None:
    counts = WORST[name] + (1 if name == "empty" else 0)
    prefix = np.cumsum(counts)
    median = int(np.argmax(prefix >= 0.5 * prefix[-1]))
    share = prefix[19] / prefix[-1]
    question = AdaptiveTreeCounts(TREES["three levels"])
    held = np.zeros(2)
    for seed in range(50):
        release = tu.infer(measure_for_experiment(counts, question, "1/2", seed))
        low, high = release.quantile_interval(0.5, LEVEL)
        a, b = release.cdf_interval(20, LEVEL)
        held += [low <= median <= high, a <= share <= b]
    assert held.min() / 50 >= LEVEL - 4 * (LEVEL * (1 - LEVEL) / 50) ** 0.5


@pytest.mark.parametrize("above", [0, 4, 7, 10, 14, 18, 28])
def test_intervals_hold_wherever_a_count_lies_between_small_and_clear(
    above: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a slip of 2 % instead of one in a million, so that noise decides often what is clear:
    one node of the first level, or of the second, lies so many scales above what is small."""
    monkeypatch.setattr(adaptive_errors, "SLIP", 0.02)
    question = AdaptiveTreeCounts(TREES["three levels"])
    scales = [2 / float(share) for share in question.shares if share]
    ends = np.array([[1, 60], [2, 3], [0, 5], [3, 41]])
    for level, own in enumerate((slice(0, 16), slice(0, 4))):
        counts = np.full(60, 1000)
        most = round((5 * 2**0.5 + above) * scales[level])
        counts[own] = 0
        counts[:4] = most // 4
        truth = np.concatenate([[0], np.cumsum(counts)])
        true, held, clear = truth[ends[:, 1]] - truth[ends[:, 0]], np.zeros(len(ends)), 0
        for seed in range(DRAWS):
            found = tu.infer(measure_for_experiment(counts, question, "1/2", seed))
            low, high = found.intervals(ends[:, 0], ends[:, 1], LEVEL, simultaneous=False)
            held += (low <= true) & (true <= high)
            clear += found.errors.noise_law((((1, 60), 1.0),)).among == 1
        assert (held / DRAWS).min() >= LEVEL - 4 * (LEVEL * (1 - LEVEL) / DRAWS) ** 0.5
        assert above not in (0, 28) or (clear > DRAWS / 2) == (above == 28)
