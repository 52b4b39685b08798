"""Drawing by inversion: balls that are certain, prefixes that lead where their words lead."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from trueup._kernels.noise import inversion
from trueup._kernels.noise.gauss_tables import gauss_tables
from trueup._kernels.noise.laplace_tables import tables
from trueup.errors import NoiseError


def test_a_floor_is_given_only_if_all_of_the_ball_has_it() -> None:
    def ball(middle: str, radius: str) -> flint.arb:
        return flint.arb(middle, radius)

    assert inversion.floor_of(ball("2.5", "0.4")) == 2
    assert inversion.floor_of(ball("2.5", "0.6")) is None
    assert inversion.floor_of(ball("-0.5", "0.1")) == -1


@pytest.mark.parametrize("power", [Fraction(0), Fraction(-7, 3), Fraction(1, 10**9), Fraction(-90)])
def test_balls_of_exponentials_hold_the_true_value(power: Fraction) -> None:
    with mpmath.workdps(60), inversion.working(150):
        true = mpmath.mpf(power.numerator) / power.denominator
        for ball, exact in [
            (inversion.exp(power), mpmath.exp(true)),
            (inversion.expm1(power), mpmath.expm1(true)),
        ]:
            middle = mpmath.mpf(ball.mid().str(50, radius=False))
            assert abs(middle - exact) <= float(ball.rad()) + abs(exact) * mpmath.mpf(10) ** -40


def test_the_precision_is_put_back_and_doubles_until_certain() -> None:
    before, tried = flint.ctx.prec, []

    def made() -> int | None:
        tried.append(flint.ctx.prec)
        return 7 if len(tried) == 3 else None

    assert inversion.certain(made, 64) == 7
    assert tried == [128, 256, 512]
    assert flint.ctx.prec == before


def test_what_is_never_certain_is_refused() -> None:
    with pytest.raises(NoiseError, match="nothing was drawn"):
        inversion.certain(lambda: None, 64)


@pytest.mark.parametrize("part", [gauss_tables(Fraction(50)).part, tables(Fraction(9)).parts[0]])
def test_a_word_that_decides_leads_to_the_number_of_boundaries_below_it(
    part: inversion.Inverted,
) -> None:
    """`settle` on whole words is a search among the boundaries."""
    generator = np.random.default_rng(3)
    words = generator.integers(0, 1 << 63, 60, dtype=np.uint64) << np.uint64(1)
    words = words[~np.isin(words, part.boundaries)]

    def more() -> int:
        raise AssertionError("the word decides")

    for word in words:
        expected = int((part.boundaries < word).sum())
        assert part.settle(int(word), more) == expected


@dataclass
class Rational(inversion.Inverted):
    """A part of words of three bits whose cumulative probabilities are fractions."""

    reach: tuple[bool, int | None]
    word = 3

    @property
    def ends(self) -> tuple[bool, int | None]:
        return self.reach

    def exactly(self, index: int) -> Fraction:
        begins, last = self.reach
        if last is not None:
            return Fraction(2 * index + 1, 11)
        if begins or index >= 0:
            return 1 - Fraction(2, 3) * Fraction(3, 5) ** index
        return Fraction(1, 3) * Fraction(3, 5) ** -index

    def cumulative(self, index: int) -> flint.arb:
        exact = self.exactly(index)
        return flint.arb(flint.fmpq(exact.numerator, exact.denominator))


@pytest.mark.parametrize("reach", [(True, 5), (True, None), (False, None)])
def test_words_that_do_not_decide_go_on_until_they_do(reach: tuple[bool, int | None]) -> None:
    """Every way in which four words of three bits can come, against fractions: the outcome is that
    of all numbers that begin with the words, and no word is asked for that is not needed."""
    part = Rational(reach)
    begins, last = reach
    indices = range(0 if begins else -30, 30 if last is None else last)
    below = [part.exactly(index) for index in indices]
    for words in itertools.product(range(8), repeat=4):
        coming, found, taken = iter(words[1:]), None, 1
        for taken in range(1, 5):
            number = int("".join(f"{word:03b}" for word in words[:taken]), 2)
            start, stop = Fraction(number, 8**taken), Fraction(number + 1, 8**taken)
            if not any(start <= one <= stop for one in below):
                found = indices.start + sum(one < start for one in below)
                break
        if found is None:
            with pytest.raises(StopIteration):
                part.settle(words[0], coming.__next__)
        else:
            assert part.settle(words[0], coming.__next__) == found
            assert len(list(coming)) == 4 - taken


@pytest.mark.parametrize("prefix", [3, 8, 16])
def test_prefixes_lead_where_every_word_that_begins_with_them_leads(prefix: int) -> None:
    generator = np.random.default_rng(4)
    boundaries = np.sort(generator.integers(0, 1 << 20, 40, dtype=np.uint64))
    found = inversion.outcomes_of(boundaries, 20, prefix)
    assert len(found) == 1 << 16
    for bits in range(0, 1 << 16, 997):
        first = bits >> (16 - prefix) << (20 - prefix)
        last = first + (1 << (20 - prefix)) - 1
        low = int((boundaries < first).sum())
        certain = not ((boundaries >= first) & (boundaries <= last)).any()
        assert found[bits] == (low if certain else inversion.OPEN | low)
