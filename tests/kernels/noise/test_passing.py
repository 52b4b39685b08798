"""How many noises pass: threshold and law against interval arithmetic and full enumeration."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from mpmath import iv, mpf
from scipy.stats import binom, chisquare

from trueup._kernels.noise.bits import Keystream
from trueup._kernels.noise.passing import fresh, gap, passing, threshold_for, uniform


def rarely(threshold: int, scale: Fraction):
    """P(X ≥ threshold), enclosed."""
    step = iv.mpf(scale.denominator) / scale.numerator
    return iv.exp(-threshold * step) / (1 + iv.exp(-step))


@pytest.fixture(autouse=True)
def _precisely():
    before, iv.dps = iv.dps, 220
    yield
    iv.dps = before


@pytest.mark.parametrize(
    ("keys", "threshold"),
    [(2**20, 14), (2**32, 22), (2**64, 45), (256**20, 111), (256**64, 355)],
)
def test_thresholds_at_epsilon_one_are_those_of_the_table(keys: int, threshold: int) -> None:
    assert threshold_for(keys, Fraction(1), Fraction(1)) == threshold


def test_a_threshold_is_the_least_that_keeps_to_the_number_of_false_keys() -> None:
    for scale in (Fraction(1, 7), Fraction(1), Fraction(10, 9), Fraction(333, 2), Fraction(10**6)):
        for keys in (3, 10**6, 2**64 - 59, 26**40):
            for most in (Fraction(1, 1000), Fraction(1), Fraction(2001, 2)):
                found = threshold_for(keys, most, scale)
                wanted = iv.mpf(most.numerator) / most.denominator
                assert keys * rarely(found, scale) < wanted
                assert found == 1 or keys * rarely(found - 1, scale) > wanted


class UndecidedError(Exception):
    """The bits given do not say."""


def test_the_first_bits_of_a_gap_say_what_all_of_them_would() -> None:
    """Every word of 9 bits: those that decide agree with the law, those that do not are few."""
    threshold, scale, bits, within = 1, Fraction(3, 2), 9, 40
    found: Counter[object] = Counter()
    for word in range(1 << bits):
        words = iter([word])

        def more(count: int, words=words) -> int:
            try:
                return next(words)
            except StopIteration:
                raise UndecidedError from None

        try:
            found[gap(threshold, scale, within, more, first=bits)] += 1
        except UndecidedError:
            found["open"] += 1
    chance = mpf(rarely(threshold, scale).mid)
    assert found.pop("open") < 60
    for failed, words in found.items():
        exact = (1 - chance) ** within if failed is None else chance * (1 - chance) ** failed
        assert exact - 2 / mpf(1 << bits) <= words / mpf(1 << bits) <= exact
    assert sum(found.values()) > 450


def test_a_gap_that_the_first_bits_do_not_decide_takes_more() -> None:
    """With four bits at first, gaps have the law that they have with hundreds."""
    seeded = random.Random(5)
    draws = 4000
    found = Counter(gap(1, Fraction(1), 3, seeded.getrandbits, first=4) for _ in range(draws))
    chance = float(rarely(1, Fraction(1)).mid)
    law = [chance * (1 - chance) ** failed for failed in range(3)]
    seen = [found[0], found[1], found[2], found[None]]
    assert chisquare(seen, [draws * each for each in (*law, 1 - sum(law))]).pvalue > 1e-4


@pytest.mark.parametrize(("trials", "threshold", "scale"), [(6, 1, Fraction(1)), (64, 5, 3)])
def test_how_many_pass_is_binomial(trials: int, threshold: int, scale: Fraction) -> None:
    seeded, draws = random.Random(7), 1500
    scale = Fraction(scale)
    found = Counter(passing(trials, threshold, scale, seeded.getrandbits) for _ in range(draws))
    law = binom(trials, float(rarely(threshold, scale).mid))
    most = max(k for k in range(trials + 1) if draws * law.sf(k - 1) > 8)
    seen = [found[k] for k in range(most)]
    expected = [draws * law.pmf(k) for k in range(most)]
    rest = draws - sum(seen), draws - sum(expected)
    assert chisquare([*seen, rest[0]], [*expected, rest[1]]).pvalue > 1e-4


def test_a_universe_of_any_size_has_about_one() -> None:
    """At a threshold for one key, 2^512 trials pass as often as 2^20 do, and as quickly."""
    seeded = random.Random(3)
    for bits in (20, 64, 512):
        keys = 1 << bits
        threshold = threshold_for(keys, Fraction(1), Fraction(1))
        expected = float((keys * rarely(threshold, Fraction(1))).mid)
        found = [passing(keys, threshold, Fraction(1), seeded.getrandbits) for _ in range(300)]
        assert abs(sum(found) / 300 - expected) < 5 * (expected / 300) ** 0.5


def test_no_trial_passes_nothing() -> None:
    assert passing(0, 1, Fraction(1), random.Random(1).getrandbits) == 0


def test_uniform_numbers_are_each_as_likely_and_below_the_bound() -> None:
    words = iter(range(8))
    assert [uniform(5, lambda bits: next(words)) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert uniform(5, _next_of([7, 5, 6, 2])) == 2
    assert uniform(1, lambda bits: 1 // 0) == 0
    more = fresh(Keystream().fill)
    assert {uniform(3, more) for _ in range(200)} == {0, 1, 2}
    assert max(more(5) for _ in range(500)) == 31


def _next_of(words: list[int]):
    left = iter(words)
    return lambda bits: next(left)
