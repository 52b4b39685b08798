"""The walk and its fit, against scipy, brute force and what cannot be otherwise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.stats import binomtest

from trueup._kernels.sorted import transcript, young, young_band, young_fit
from trueup._kernels.sorted.sorted_band import sorted_band, window_reach
from trueup._kernels.sorted.transcript import Stretch, Transcript


def drawing(seed, scale):
    rng = np.random.default_rng(seed)
    p = -np.expm1(-1 / scale)
    return lambda size: rng.geometric(p, size) - rng.geometric(p, size)


def families():
    """Counts of every kind the walk meets, rising."""
    rng = np.random.default_rng(11)
    made = {
        "constant": np.full(1500, 5000),
        "zeros": np.zeros(1500, np.int64),
        "two clusters": np.repeat([0, 3000], [400, 1100]),
        "staircase": np.repeat(np.arange(20) * 50, 75),
        "gaussian": np.rint(rng.normal(1e5, 300, 1500)),
        "uniform": rng.integers(0, 2000, 1500),
        "geometric": rng.geometric(0.02, 1500),
        "zipf": np.minimum(rng.zipf(1.8, 1500), 10**7),
        "giants": np.concatenate([np.zeros(1490), rng.integers(10**5, 10**6, 10)]),
    }
    return {name: np.sort(counts).astype(np.int64) for name, counts in made.items()}


FAMILIES = families()


@pytest.mark.parametrize("scale", [0.05, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_walk_counts_disjoint_sets_up_to_the_last_row(name, scale):
    rising = FAMILIES[name]
    found = young.walk(rising, scale, drawing(3, scale))
    taken = np.zeros(len(rising), np.int64)  # columns of each row that are counted, from the left
    closed = np.zeros(len(rising), bool)  # rows that are counted to their end
    for number, part in enumerate(found.stretches):
        if part.edges is None:
            assert number % 2 == 0
            assert part.start <= part.turn <= part.stop
            assert not closed[part.start : part.stop].any()
            assert (taken[part.start : part.stop] <= part.base).all()
            closed[part.start : part.stop] = True
        else:
            assert number % 2 == 1
            assert (np.diff(part.edges) > 0).all()
            assert not closed[part.start :].any()
            assert (taken[part.start :] <= part.edges[0]).all()
            taken[part.start :] = part.edges[-1]
    assert closed[-1]
    assert len(found.noisy) <= transcript.most_answers(len(rising))


@pytest.mark.parametrize("name", FAMILIES)
def test_hardly_any_noise_gives_the_counts_back(name):
    rising = FAMILIES[name]
    found = young.walk(rising, 0.02, lambda size: np.zeros(size, np.int64))
    fitted = young_fit.fit(found, len(rising), 0.02)
    assert np.array_equal(young_fit.whole_numbers(fitted), rising)


@pytest.mark.parametrize("likely", [False, True])
@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_fitted_counts_rise_and_are_not_negative(name, scale, likely):
    rising = FAMILIES[name]
    for seed in range(5):
        found = young.walk(rising, scale, drawing(seed, scale))
        fitted = young_fit.fit(found, len(rising), scale, likely)
        assert (np.diff(fitted) >= 0).all()
        assert fitted[0] >= 0
        shown = young_fit.whole_numbers(fitted)
        assert (np.diff(shown) >= 0).all()
        assert (np.abs(shown - fitted) <= 0.5).all()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
def test_any_answers_have_a_fit_and_a_band(size):
    # Also answers that no noise makes likely, to sets that no walk would choose.
    rng = np.random.default_rng(size)
    for _ in range(60):
        parts, rank, count, length = [], 0, 0, 0
        for turn in range(2 * rng.integers(0, 3)):
            if turn % 2:
                edges = count + rng.integers(0, 9) + np.cumsum(rng.integers(1, 9, 4))
                parts.append(Stretch(rank, rank, size, 0, edges))
                count, length = int(edges[-1]), length + 3
            else:
                start, turned, stop = np.sort(rng.integers(rank, size + 1, 3)).tolist()
                parts.append(Stretch(start, turned, stop, count, None))
                rank, length = stop, length + stop - start
        parts.append(Stretch(rank, rank, size, count, None))
        noisy = rng.integers(-50, 50, length + size - rank)
        found = Transcript(parts, noisy)
        for likely in (False, True):
            fitted = young_fit.fit(found, size, 1.0, likely)
            assert len(fitted) == size
            assert fitted[0] >= 0
            assert (np.diff(fitted) >= 0).all()
        low, high = young_band.young_band(found, size, 1.0, 0.9)
        assert (low <= high).all()


def test_falling_and_rising_fits_are_scipys():
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 10, 200):
        values, weights = rng.normal(0, 3, size), rng.uniform(0.1, 5, size)
        fitted = np.empty(size)
        young_fit._falling(values, weights, fitted)
        expected = isotonic_regression(values, weights=weights, increasing=False).x
        assert np.allclose(fitted, expected)
        noisy = rng.integers(-5, 6, size)
        young_fit._rising(noisy, fitted)
        assert np.allclose(fitted, np.maximum(isotonic_regression(noisy).x, 0))


def misfit_of_rows(noisy, first):
    fitted = (
        np.maximum(isotonic_regression(noisy[first:]).x, 0) if first < len(noisy) else noisy[:0]
    )
    return float((noisy[:first] ** 2).sum() + ((fitted - noisy[first:]) ** 2).sum())


def test_misfits_of_all_corners_are_those_of_scipys_fits():
    rng = np.random.default_rng(2)
    for size in (0, 1, 2, 5, 40):
        noisy = rng.integers(-6, 12, size)
        expected = [misfit_of_rows(noisy, first) for first in range(size + 1)]
        assert np.allclose(young_fit._misfits(noisy), expected)


def test_the_second_corner_is_the_best_of_all():
    rng = np.random.default_rng(3)
    for _ in range(60):
        groups, b = 40, 2.0
        size, start = 12, 20
        noisy = np.sort(rng.integers(-4, 9, size)) + rng.integers(-2, 3, size)
        edges = np.cumsum(rng.integers(1, 5, 9))
        held = np.sort(rng.uniform(5, 30, 8))[::-1].copy()
        squares = np.diff(edges).astype(float) ** 2
        costs = []
        for first in range(size + 1):
            on = groups - start - first
            lifted = (squares * (np.maximum(held, on) - held) ** 2).sum()
            lone = young_fit.LONE * b * b * np.log(1 + size - first)
            costs.append(misfit_of_rows(noisy, first) + lifted + lone)
        found = young_fit._second_corner(noisy, start, groups, edges, held, b)
        assert costs[found - start] == pytest.approx(min(costs))


def test_the_first_corner_is_the_best_of_all():
    rng = np.random.default_rng(4)
    for _ in range(60):
        rows = np.sort(rng.uniform(0, 30, 10))
        edges = 5 + np.cumsum(rng.integers(1, 5, 9))
        means = np.sort(rng.uniform(0, 12, 8))[::-1].copy()
        most = 12
        squares = np.diff(edges).astype(float) ** 2
        costs = []
        for strips in range(9):
            beyond = (np.maximum(rows - edges[strips], 0) ** 2).sum() if strips < 8 else 0.0
            costs.append(beyond + (squares * (most - means) ** 2)[:strips].sum())
        least, early = young_fit._first_corner(rows, 0, edges, means, means.copy(), most, 9.0)
        assert costs[least] == pytest.approx(min(costs))
        assert early == next(k for k, cost in enumerate(costs) if cost <= min(costs) + 9)


def test_the_measured_total_is_unbiased():
    rising = FAMILIES["zipf"]
    errors = []
    for seed in range(200):
        found = young.walk(rising, 10.0, drawing(seed, 10.0))
        deviation = np.sqrt(200.0 * len(found.noisy))
        errors.append((transcript.measured_total(found) - rising.sum()) / deviation)
    assert abs(np.mean(errors)) < 4 / np.sqrt(len(errors))
    assert 0.8 < np.std(errors) < 1.25


def test_pairs_halfway_go_apart_and_all_else_to_the_nearest():
    fitted = np.array([0.0, 1.5, 1.5, 2.2, 3.5, 3.5, 3.5, 7.0])
    assert young_fit.whole_numbers(fitted).tolist() == [0, 1, 2, 2, 4, 4, 4, 7]


# ---- never much worse than isotonic counts


def designed():
    """Counts that columns are bad at: gaps, steps and giants, with lengths in noise scales."""
    rng = np.random.default_rng(3)
    for few, many in ((72, 427), (30, 470), (1000, 30)):
        for gap in (3, 7, 10):
            yield f"{few} | {many}, {gap} apart", np.repeat([5.0, 5.0 + gap], [few, many])
    yield "steps of 4", np.repeat(np.arange(12) * 4.0, 30)
    yield "steps of 15", np.repeat(np.arange(12) * 15.0, 72)
    for giants in (3, 40):
        yield f"{giants} giants", np.append(np.zeros(800), 1e4 * (1 + rng.random(giants)))
    yield "even", np.arange(500) * 2.0
    yield "uneven", np.cumsum(rng.exponential(3.0, 500))
    yield "a cloud behind a gap", np.append(rng.exponential(3, 900), rng.uniform(50, 70, 100))


DESIGNED = dict(designed())


@pytest.mark.parametrize("scale", [1.0, 10.0])
@pytest.mark.parametrize("name", DESIGNED)
def test_means_are_not_much_further_off_than_isotonic_counts(name, scale):
    rising = np.sort(np.rint(DESIGNED[name] * scale)).astype(np.int64)
    ours, theirs = 0.0, 0.0
    for seed in range(40):
        found = young.walk(rising, scale, drawing(seed, scale))
        shown = young_fit.whole_numbers(young_fit.fit(found, len(rising), scale, likely=True))
        ours += ((shown - rising) ** 2.0).sum()
        isotonic = isotonic_regression(rising + drawing(seed, scale)(len(rising))).x
        theirs += ((isotonic - rising) ** 2).sum()
    assert ours <= 1.1 * theirs


# ---- the band


LEVELS = (0.5, 0.8, 0.95)


def assert_covered_as_often_as_claimed(missed, draws):
    """By a binomial test: so many misses of a band that holds its level are not out of the way."""
    for level, number in zip(LEVELS, missed, strict=True):
        assert binomtest(number, draws, 1 - level, alternative="greater").pvalue > 0.05


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
def test_the_band_covers_the_whole_sequence_as_often_as_it_claims(scale):
    missed = {}
    for name, rising in FAMILIES.items():
        missed[name] = np.zeros(len(LEVELS), np.int64)
        for seed in range(20):
            found = young.walk(rising, scale, drawing(seed, scale))
            for i, level in enumerate(LEVELS):
                low, high = young_band.young_band(found, len(rising), scale, level)
                assert (np.diff(low) >= 0).all()
                assert (np.diff(high) >= 0).all()
                assert (low <= high).all()
                missed[name][i] += not ((low <= rising) & (rising <= high)).all()
        assert_covered_as_often_as_claimed(missed[name], 20)
    assert_covered_as_often_as_claimed(sum(missed.values()), 20 * len(missed))


def test_the_band_around_isotonic_counts_covers_the_whole_sequence_as_often_as_it_claims():
    scale, missed = 10.0, {}
    for name, rising in FAMILIES.items():
        draw, missed[name] = drawing(7, scale), np.zeros(len(LEVELS), np.int64)
        for _ in range(40):
            fit = isotonic_regression(rising + draw(len(rising))).x
            for i, level in enumerate(LEVELS):
                low, high = sorted_band(fit, scale, level)
                missed[name][i] += not ((low <= rising) & (rising <= high)).all()
        assert_covered_as_often_as_claimed(missed[name], 40)
    assert_covered_as_often_as_claimed(sum(missed.values()), 40 * len(missed))


@pytest.mark.parametrize("scale", [0.03, 1.0, 1e8])
@pytest.mark.parametrize("groups", [1, 2, 299, 300, 2000])
def test_counts_and_noise_of_any_size_are_walked_and_covered(groups, scale):
    rng = np.random.default_rng(groups)
    made = (
        np.zeros(groups, np.int64),
        np.sort(rng.integers(0, 2**61 // groups, groups)),
        np.append(np.zeros(groups - 1, np.int64), 2**61),
    )
    for rising in made:
        found = young.walk(rising, scale, drawing(groups, scale))
        for likely in (False, True):
            fitted = young_fit.fit(found, groups, scale, likely)
            assert (np.diff(fitted) >= 0).all()
        low, high = young_band.young_band(found, groups, scale, 1 - 1e-6)
        assert ((low <= rising) & (rising <= high)).all()


def test_the_band_is_what_the_noise_allows_to_any_diagram():
    # All diagrams of few rows that could have given these answers lie within the band.
    edges = np.array([0, 1, 2, 3])
    parts = [
        Stretch(0, 0, 1, 0, None),
        Stretch(1, 1, 4, 0, edges),
        Stretch(1, 1, 4, 3, None),
    ]
    noisy = np.array([0, 3, 2, 2, 0, 1, 2])
    found = Transcript(parts, noisy)
    low, high = young_band.young_band(found, 4, 0.2, 0.9)
    sizes = transcript.most_answers(4).bit_length()
    reach = window_reach(0.2, 8, 1 - 0.1 / sizes, np.array([1]))[0]
    possible = []
    for rows in itertools.combinations_with_replacement(range(9), 4):
        answers = [rows[0]]
        answers += [sum(max(min(x, j + 1) - j, 0) for x in rows[1:]) for j in range(3)]
        answers += [max(x - 3, 0) for x in rows[1:]]
        if (np.abs(noisy - answers) <= reach).all():
            possible.append(rows)
    assert possible
    assert (np.min(possible, axis=0) >= low).all()
    assert (np.max(possible, axis=0) <= high).all()


@pytest.mark.parametrize("largest", [60, 1 << 49])
def test_misfits_are_those_of_isotonic_fits_however_large_other_rows_are(largest):
    generator = np.random.default_rng(3)
    for _ in range(50):
        noisy = generator.integers(-20, 60, 10)
        noisy[7:] = largest + generator.integers(-5, 5, 3)
        found = young_fit._misfits(noisy)
        for i in range(8):
            fitted = np.maximum(isotonic_regression(noisy[i:]).x, 0.0)
            empty = (noisy[:i].astype(np.float64) ** 2).sum()
            assert found[i] == pytest.approx(empty + ((noisy[i:] - fitted) ** 2).sum(), abs=0.01)
