"""The Gaussian tables against a second interval library, theta functions, and plain sums."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from trueup._kernels.noise.gauss_tables import (
    TOP,
    GaussPart,
    checked_variance,
    gauss_tables,
    tail,
)
from trueup._kernels.noise.inversion import working
from trueup.errors import InputError

from .sampler_oracle import settled_strings

# Below one, around TOP², with composite numerators and denominators, to both ends.
LISTED = """
    1/1000000 1/100 1/12 1/3 1/2 3/4 1 10/9 2 7/2 9 100/7 64 100 1001/3 5000 16383 16384 16385 65536
    65537 99991/7 1000000 123456789 10000000000 99999999977/13 1000000000000000000000000
"""
VARIANCES = [Fraction(variance) for variance in LISTED.split()]


def weight(j: int, variance: Fraction) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(j * j * variance.denominator) / (2 * variance.numerator))


def total(part: GaussPart) -> mpmath.mpf:
    """Σ exp(−j²/(2v)) by the theta function, which mpmath sums in its own way."""
    whole = mpmath.jtheta(3, 0, weight(1, part.variance))
    return whole if part.signed else (whole + 1) / 2


def cumulative(part: GaussPart, outcome: int) -> mpmath.mpf:
    """C at an outcome: the sum of all weights up to it over the theta function."""
    if not part.signed:
        low = mpmath.fsum(weight(j, part.variance) for j in range(outcome + 1))
        return low / total(part)
    if outcome >= 0:
        return 1 - cumulative(part, -outcome - 1)
    beyond, j = mpmath.mpf(0), -outcome
    while True:
        term = weight(j, part.variance)
        beyond += term
        if term < mpmath.mpf(10) ** -mpmath.mp.dps:
            return beyond / total(part)
        j += 1


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_every_table_entry_agrees_with_a_second_library(variance: Fraction) -> None:
    """By intervals of mpmath: plain sums of weights over their whole sum, each term enclosed."""
    law = gauss_tables(variance)
    part, iv = law.part, mpmath.iv
    iv.prec = 400
    own = iv.mpf(2 * part.variance.numerator) / part.variance.denominator
    reach = 1
    while weight(reach, part.variance) > mpmath.mpf(2) ** -350 and reach < 60 * TOP:
        reach += 1
    weights = [iv.exp(-iv.mpf(j * j) / own) for j in range(reach + 1)]
    sums = [iv.mpf([0, weights[-1].b])]  # what lies beyond is less than the last weight, which fell
    for each in reversed(weights):
        sums.append(sums[-1] + each)
    sums.reverse()  # sums[j] = Σ over i ≥ j
    whole = sums[0] + sums[1] if part.signed else sums[0]
    one = iv.mpf(2) ** part.word
    entries = part.boundaries.tolist()
    for index, entry in enumerate(entries):
        outcome = part.lowest + index
        beyond = -outcome if outcome < 0 else outcome + 1
        share = one * sums[beyond] / whole if beyond < len(sums) else iv.mpf([0, 0.5])
        floor = entry if outcome < 0 else 2**part.word - 1 - entry
        assert share.b < floor + 1
        assert share.a > floor or floor == 0
    assert entries[-1] == 2**part.word - 1
    assert entries == sorted(entries)
    assert part.signed == (law.low_bits == 0)
    if part.signed:
        assert entries[0] == 0
        assert part.lowest == -len(entries) // 2
    else:
        assert part.lowest == 0
        assert (TOP / 2) ** 2 < part.variance <= TOP**2
        assert part.variance * 4**law.low_bits == variance


@pytest.mark.parametrize("variance", ["1/3", "1", "7/2", "50", "16385"])
def test_balls_of_the_law_hold_the_true_chance(variance: str) -> None:
    """`cumulative`, which settles ties, at outcomes inside and beyond the table."""
    part = gauss_tables(Fraction(variance)).part
    with mpmath.workdps(80), working(200):
        for index in [-3, 0, 1, part.boundaries.size // 2, part.boundaries.size + 2]:
            outcome = part.lowest + index
            if outcome >= 0 or part.signed:
                ball = part.cumulative(index)
                middle, radius = str(ball.mid().str(60, radius=False)), float(ball.rad())
                true = cumulative(part, outcome)
                assert abs(mpmath.mpf(middle) - true) < radius + mpmath.mpf(10) ** -50
                assert radius < 1e-30


def strings_inside(part: GaussPart, outcome: int, bits: int) -> int:
    """How many strings of so many bits lie wholly between C at outcome − 1 and C at outcome."""
    if outcome < 0 and not part.signed:
        return 0
    with mpmath.workdps(60):
        below = cumulative(part, outcome - 1) if part.signed or outcome else mpmath.mpf(0)
        first = int(mpmath.ceil(below * 2**bits))
        last = int(mpmath.floor(cumulative(part, outcome) * 2**bits))
        return max(0, last - first)


TIES = [("1/3", 9), ("1", 9), ("7/2", 9), ("40", 2)]


@pytest.mark.parametrize(
    ("variance", "top", "depth"),
    [*((v, top, depth) for v, top in TIES for depth in (1, 2)), ("1/3", 9, 3), ("40", 2, 3)],
)
def test_ties_are_settled_exactly_at_any_depth(variance: str, top: int, depth: int) -> None:
    """All strings of 4, 8 and 12 bits: the exact number leads to each outcome."""
    part = gauss_tables(Fraction(variance), 4, 2, top).part
    drawn = settled_strings(part, depth)
    for outcome in range(-40, 40):
        assert drawn.pop(outcome, 0) == strings_inside(part, outcome, 4 * depth)
    assert not drawn


PAIRS = [("16385", TOP), ("1e10", TOP), ("1e24", TOP), ("7", 1)]


@pytest.mark.parametrize(("variance", "top"), PAIRS)
def test_what_is_accepted_together_has_the_law_of_the_variance(variance: str, top: int) -> None:
    """P(k) · P(accept) ∝ exp(−x²/(2σ²)): the exponents add up, as exact fractions."""
    law = gauss_tables(Fraction(variance), top=top)
    step = 1 << law.low_bits
    for k in [0, 1, 5, 400]:
        for low in {0, 1, step // 3, step - 1}:
            x = k * step + low
            of_k = Fraction(k * k) / (2 * law.part.variance)
            assert of_k + law.loss(k, low) == Fraction(x * x) / (2 * law.variance)


def test_chances_that_are_sure_are_below_that_of_every_low_bit() -> None:
    for variance in ("16385", "1000000", "1e24"):
        law = gauss_tables(Fraction(variance))
        assert law.sure.size == law.part.boundaries.size + 1
        with mpmath.workdps(50):
            for k in [0, 1, 77, law.sure.size - 1]:
                loss = law.loss(k, (1 << law.low_bits) - 1)
                exact = mpmath.exp(-mpmath.mpf(loss.numerator) / loss.denominator) * 2**31
                assert law.sure[k] == int(mpmath.floor(exact))


def test_the_factor_is_one_over_twice_the_variance_in_32_bits() -> None:
    for variance in VARIANCES:
        law = gauss_tables(variance)
        if law.low_bits:
            exact = Fraction(1 << law.shift) / (2 * law.part.variance)
            assert law.factor == int(exact)
            assert 1 << 31 <= law.factor < 1 << 32


def test_more_bits_decide_what_31_do_not() -> None:
    """A uniform number is compared with exp(−loss) itself, however many bits agree."""
    law = gauss_tables(Fraction(10**10))
    loss = law.loss(3, 500)
    with mpmath.workdps(120):
        exact = mpmath.exp(-mpmath.mpf(loss.numerator) / loss.denominator)
        bits = int(mpmath.floor(exact * mpmath.mpf(2) ** 155))
    words = [(bits >> (31 * i)) & (2**31 - 1) for i in range(5)]
    for last, expected in [(0, True), (2**31 - 1, False)]:
        for depth in range(1, 5):
            given = [last, *words[5 - depth : 4]]  # taken from the end: the next bits first
            assert law.accepts(3, 500, words[4], given.pop) is expected
    assert law.accepts(3, 0, 2**31 - 1, lambda: pytest.fail("needs no bits"))


@pytest.mark.parametrize(
    "variance", [0, -1, Fraction(1, 10**6 + 1), 10**24 + 1, float("nan"), True, None, "v"]
)
def test_a_variance_out_of_reach_is_refused(variance: object) -> None:
    with pytest.raises(InputError):
        checked_variance(variance)
    assert checked_variance("1e24") == 10**24
    assert checked_variance(Fraction(1, 10**6)) == Fraction(1, 10**6)


def test_short_words_repeat_their_prefixes() -> None:
    part = gauss_tables(Fraction(2), 6, 3, 9).part
    first = np.arange(1 << 16) >> 13
    low = np.searchsorted(part.boundaries, (first << 3).astype(np.uint64), side="left")
    high = np.searchsorted(part.boundaries, ((first << 3) | 7).astype(np.uint64), side="right")
    assert np.array_equal(part.outcomes, np.where(low == high, low, 1 << 15 | low))


@pytest.mark.parametrize("precision", [10, 30, 64])
@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1), Fraction(50), Fraction(700)])
def test_a_ball_of_a_tail_holds_it_at_every_precision(variance: Fraction, precision: int) -> None:
    """Against sums of 60 digits: also where what is left out is most of what the ball may miss."""
    with mpmath.workdps(60):
        v = mpmath.mpf(variance.numerator) / variance.denominator
        weights = [mpmath.exp(-j * j / (2 * v)) for j in range(20 * int(v**0.5 + 1))]
        for first in range(1, 9 * int(v**0.5 + 1), max(1, int(v**0.5) // 2)):
            with working(precision):
                ball = tail(first, variance)
            exact = mpmath.fsum(weights[first:])
            low, high = (mpmath.mpf(end.mid().str(50, radius=False)) for end in
                         (ball.lower(), ball.upper()))  # fmt: skip
            assert low * (1 - mpmath.mpf(10) ** -40) <= exact <= high * (1 + mpmath.mpf(10) ** -40)
