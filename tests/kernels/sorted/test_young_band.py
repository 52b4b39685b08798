"""The band around adaptive counts: draws, and all diagrams written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trueup._kernels.sorted import transcript, young, young_band, young_fit
from trueup._kernels.sorted.sorted_band import window_reach
from trueup._kernels.sorted.transcript import Stretch, Transcript

from .rising_counts import FAMILIES, LEVELS, assert_covered_as_often_as_claimed, drawing


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


@pytest.mark.parametrize("edges", [range(9), [0, 2, 5, 8], [1, 4, 8], [0, 8], [2, 3, 4, 8]])
def test_answers_without_noise_leave_the_diagrams_that_have_them_and_of_single_columns_one(edges):
    """Of noise that is next to none: every diagram with the same answers lies within the band."""
    edges = np.array(edges)
    parts = [Stretch(0, 0, 1, 0, None), Stretch(1, 1, 4, 0, edges)]
    parts.append(Stretch(1, 1, 4, int(edges[-1]), None))

    def answers(rows):
        own = np.array(rows[1:])[:, None]
        strips = (np.clip(own, edges[:-1], edges[1:]) - edges[:-1]).sum(axis=0)
        return (rows[0], *strips.tolist(), *np.maximum(own[:, 0] - edges[-1], 0).tolist())

    alike = {}
    for rows in itertools.combinations_with_replacement(range(10), 4):
        if rows[1] >= edges[0]:  # columns begin where all rows before them have come to
            alike.setdefault(answers(rows), []).append(rows)
    for told, possible in alike.items():
        found = Transcript(parts, np.array(told))
        low, high = young_band.young_band(found, 4, 0.02, 0.9)
        assert (low <= np.min(possible, axis=0)).all()
        assert (high >= np.max(possible, axis=0)).all()
        if len(edges) == 9:
            assert possible == [tuple(low.tolist())] == [tuple(high.tolist())]


@pytest.mark.parametrize("turn", [0, 150])
def test_the_band_is_narrow_where_many_rows_are_equal(turn):
    """Long windows bear on it, upwards and downwards from the turn."""
    noise = drawing(4, 20.0)(300)
    found = Transcript([Stretch(0, turn, 300, 5, None)], 1_000 + noise)
    low, high = young_band.young_band(found, 300, 20.0, 0.95)
    sizes = transcript.most_answers(300).bit_length()
    single = window_reach(20.0, 512, 1 - 0.05 / sizes, np.array([1]))[0]
    assert (low <= 1_005).all()
    assert (high >= 1_005).all()
    assert np.median(high - low) < single
    assert (high - low).min() < single / 1.5
