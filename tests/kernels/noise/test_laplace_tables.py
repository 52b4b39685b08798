"""The tables of the sampler: enumeration, and every entry by a second interval library."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from trueup._kernels.noise import inversion
from trueup._kernels.noise.laplace_tables import SamplerPart, tables
from trueup.audit import noise_fit

from .sampler_oracle import LEVEL, SCALES, sampler, seeded, settled_strings, strings_inside


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("scale", ["1/3", "1", "7/2", "13"])
def test_ties_are_settled_exactly_at_any_depth(scale: str, depth: int) -> None:
    """All strings of 4, 8 and 12 bits: the exact number leads to each outcome."""
    for part in tables(Fraction(scale), word=4, prefix=2, top_scale=12).parts:
        drawn = settled_strings(part, depth)
        for outcome in range(-60, 60):
            assert drawn.pop(outcome, 0) == strings_inside(part, outcome, 4 * depth)
        assert not drawn


def within(part: SamplerPart, scale: Fraction) -> bool:
    """Whether every entry is the floor of 2^word C, by mpmath's intervals and closed formulas."""
    iv = mpmath.iv
    iv.prec = 300 if scale >= Fraction(1, 20) else 4000
    step = iv.mpf(part.step.numerator) / part.step.denominator
    negative = iv.exp(-iv.mpf(part.sign.numerator) / part.sign.denominator)
    one = iv.mpf(2) ** part.word
    entries = part.boundaries.tolist()
    for index, entry in enumerate(entries):
        outcome = part.lowest + index
        if part.bits:
            exact = one * (1 - iv.exp(-step * (outcome + 1))) / (1 - iv.exp(-step * 2**part.bits))
        elif outcome < 0:
            exact = one * negative / (1 + negative) * iv.exp(step * (outcome + 1))
        else:
            exact = one * (1 - iv.exp(-step * (outcome + 1)) / (1 + negative))
        if not (exact.a > entry and exact.b < entry + 1):
            return False
    if part.bits:
        return len(entries) == (1 << part.bits) - 1 and part.lowest == 0
    return entries[0] == 0 and entries[-1] == 2**part.word - 1


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_every_table_entry_agrees_with_a_second_library(scale: Fraction) -> None:
    law = tables(scale)
    assert len(SCALES) >= 50
    assert all(within(part, scale) for part in law.parts)
    # The parts together are the law of the scale: steps halve from digit to digit, down to 1/b.
    shift = law.low_bits
    assert law.parts[0].step == (1 << shift) / scale
    assert law.parts[0].sign == 1 / scale
    for part in law.parts[1:]:
        shift -= part.bits
        assert part.step == (1 << shift) / scale
    assert shift == 0


@pytest.mark.parametrize("scale", SCALES[::7], ids=str)
def test_prefixes_lead_where_every_word_that_begins_with_them_leads(scale: Fraction) -> None:
    for part in tables(scale).parts:
        first = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
        last = first | np.uint64((1 << 48) - 1)
        low = np.searchsorted(part.boundaries, first, side="left")
        high = np.searchsorted(part.boundaries, last, side="right")
        expected = np.where(low == high, low, inversion.OPEN | low)
        assert np.array_equal(part.outcomes, expected)


def altered(part: SamplerPart, at: int, amount: int) -> SamplerPart:
    """The part with one entry of its table changed, and its prefixes to match."""
    boundaries = part.boundaries.copy()
    boundaries[at] = int(boundaries[at]) + amount
    outcomes = inversion.outcomes_of(boundaries, part.word, part.prefix)
    return replace(part, boundaries=boundaries, outcomes=outcomes)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_one_wrong_table_entry_is_caught(number: int) -> None:
    law = tables(Fraction(10**6))
    part = law.parts[number]
    middle = int(np.searchsorted(part.boundaries, np.uint64(1 << 62)))
    faint = altered(part, middle, 1)  # one unit in 2^64: seen by the second library only
    assert within(part, law.scale)
    assert not within(faint, law.scale)
    coarse = altered(part, middle, 1 << 54)  # a chance wrong by 2^-10
    parts = (*law.parts[:number], coarse, *law.parts[number + 1 :])
    wrong = replace(law, parts=parts)
    assert noise_fit(sampler(wrong, seeded(2)), law.scale, 10_000_000) < LEVEL
