"""What is shown has the law of noise on every key of the universe, cut at the threshold."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom, chisquare

from trueup._kernels.noise import gauss, laplace
from trueup._kernels.noise.bits import lent
from trueup.axis import Axis
from trueup.keys import Universe
from trueup.keys.drawing import _present, selected_keys, shown_keys


class Seeded:
    """Bits that can be drawn again, for tests alone."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def fill(self, buffer) -> None:
        buffer[:] = np.frombuffer(self.random.randbytes(buffer.size), np.uint8)


def survival(least: int, scale: float) -> float:
    """P(X ≥ least), by adding up the law."""
    weights = {x: math.exp(-abs(x) / scale) for x in range(-200, 201)}
    return sum(w for x, w in weights.items() if x >= least) / sum(weights.values())


UNIVERSES = {
    "numbers": (Universe.integers(10, 13), [11, 13]),
    "text": (Universe.pattern("x[ab]{2}"), [b"xab", b"xbb"]),
    "cells": (Universe.cells(Axis.categories("a", ["x", "y"]), Axis.integers("b", 3, 4)), [1, 3]),
}


@pytest.mark.parametrize("kind", UNIVERSES)
def test_which_keys_are_shown_has_the_law_of_the_dense_mechanism(kind: str) -> None:
    """All 16 sets of shown keys of a universe of four, against the product of their chances."""
    universe, present = UNIVERSES[kind]
    counts, scale, threshold, draws = np.array([1, 3]), Fraction(3, 2), 2, 2000
    keys = np.array(present) if universe.whole else pa.array(present, pa.large_binary())
    true = [0, 1, 0, 3]
    found: Counter[tuple[int, ...]] = Counter()
    values: dict[int, list[int]] = {place: [] for place in range(4)}
    with lent(Seeded(11)):
        for _ in range(draws):
            shown, noisy = shown_keys(universe, keys, counts, scale, threshold)
            places = tuple(universe.rank(key) for key in shown)
            assert list(places) == sorted(set(places))
            found[places] += 1
            for place, value in zip(places, noisy.tolist(), strict=True):
                values[place].append(value)
    chances = [survival(threshold - count, float(scale)) for count in true]
    sets = [each for size in range(5) for each in combinations(range(4), size)]
    expected = [
        draws * math.prod(p if k in each else 1 - p for k, p in enumerate(chances)) for each in sets
    ]
    assert chisquare([found[each] for each in sets], expected).pvalue > 1e-4
    for place, count in enumerate(true):  # by how much, given that it is shown
        law = [survival(y - count, float(scale)) / chances[place] for y in range(2, 7)]
        seen = [sum(value == y for value in values[place]) for y in range(2, 6)]
        many = len(values[place])
        exact = [many * (law[k] - law[k + 1]) for k in range(4)]
        assert chisquare([*seen, many - sum(seen)], [*exact, many * law[4]]).pvalue > 1e-4


@pytest.mark.parametrize(
    "universe", [Universe.integers(0, 63), Universe.cells(Axis.regular("x", 0, 1, bins=64))]
)
def test_false_keys_are_binomial_and_any_absent_key_alike(universe: Universe) -> None:
    present = np.arange(0, 64, 16)
    scale, threshold, draws = Fraction(2), 6, 1500
    many: Counter[int] = Counter()
    places: Counter[int] = Counter()
    with lent(Seeded(2)):
        for _ in range(draws):
            shown, _ = shown_keys(universe, present, np.full(4, -99), scale, threshold)
            assert not set(shown) & set(present.tolist())
            many[len(shown)] += 1
            places.update(shown)
    law = binom(60, survival(threshold, 2.0))
    seen = [many[k] for k in range(5)]
    expected = [draws * law.pmf(k) for k in range(5)]
    assert chisquare([*seen, draws - sum(seen)], [*expected, draws - sum(expected)]).pvalue > 1e-4
    absent = [key for key in range(64) if key % 16]
    assert min(places[key] for key in absent) > 0  # some 46 times each
    assert chisquare([places[key] for key in absent]).pvalue > 1e-4


def test_a_universe_that_is_full_has_no_false_key() -> None:
    universe = Universe.integers(0, 7)
    for _ in range(50):
        shown, _ = shown_keys(universe, np.arange(8), np.full(8, -99), Fraction(1), 1)
        assert shown == []


def test_an_empty_table_shows_what_noise_shows() -> None:
    universe = Universe.bytes(2)
    keys, noisy = shown_keys(
        universe, pa.array([], pa.large_binary()), np.zeros(0, np.int64), Fraction(1), 3
    )
    assert len(keys) > 500  # of 65,793 with a chance of 1/27 each
    assert noisy.min() == 3


@pytest.mark.parametrize("kind", UNIVERSES)
@pytest.mark.parametrize("cut", [None, 9])
def test_with_a_delta_each_key_has_noise_of_its_own_and_is_shown_from_the_threshold_on(
    kind: str, cut: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise that is known, against a dictionary: what each key's own noise makes of its count."""
    universe, _ = UNIVERSES[kind]
    present = [universe.unrank(place) for place in (3, 0, 2, 1)]
    counts, noise, scale = np.array([7, 5, 12, 3]), np.array([3, 4, -3, -2]), Fraction(9, 4)
    asked: list[tuple[int, Fraction]] = []

    def draw(size: int, given: Fraction) -> np.ndarray:
        asked.append((size, given))
        return noise[:size].copy()

    monkeypatch.setattr(gauss if cut is None else laplace, "draw", draw)
    keys = np.array(present) if universe.whole else pa.array(present, pa.large_binary())
    for threshold in (0, 1, 9, 10, 11):
        found, noisy = selected_keys(keys, counts, scale, threshold, cut)
        sums = zip(present, (counts + noise).tolist(), strict=True)
        wanted = {key: value for key, value in sorted(sums) if value >= threshold}
        assert (found, noisy.tolist()) == (list(wanted), list(wanted.values()))
    assert asked == [(4, scale)] * 5


def test_large_numbers_that_share_their_last_bits_are_different_keys() -> None:
    keys = np.array([5, 2**31, 2**40 + 7])
    tried = [5 + 2**32, 2**31, 7, 5 - 2**32, 2**40 + 7, 2**31 + 2**53]
    assert _present(keys, tried) == [False, True, False, False, True, False]
