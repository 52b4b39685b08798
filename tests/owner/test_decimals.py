"""Decimals of every width and scale, read to the last digit, as Python's integers read them."""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.owner import decimals

DIGITS = {"32": 9, "64": 18, "128": 38, "256": 76}


def columns() -> st.SearchStrategy[tuple[pa.Array, list[int], int]]:
    """A column, its unscaled numbers and its scale."""

    def of(width: str, scale: int, numbers: list[int]) -> tuple[pa.Array, list[int], int]:
        kind = getattr(pa, f"decimal{width}")(DIGITS[width], scale)
        with decimal.localcontext(prec=200):
            values = [Decimal(number).scaleb(-scale) for number in numbers]
            return pa.array(values, kind), numbers, scale

    def numbers(width: str) -> st.SearchStrategy[list[int]]:
        most = 10 ** DIGITS[width] - 1
        edges = [0, 1, -1, 10**9, (1 << 53) + 1, -(1 << 63), 1 << 63, 1 << 64, (1 << 127) - 1, most]
        near = st.sampled_from([edge for edge in edges if abs(edge) <= most])
        return st.lists(st.one_of(near, st.integers(-most, most)), min_size=1, max_size=6)

    return st.sampled_from(list(DIGITS)).flatmap(
        lambda width: st.builds(of, st.just(width), st.integers(-3, DIGITS[width]), numbers(width))
    )


@given(column=columns(), skipped=st.integers(0, 2))
def test_decimals_are_whole_numbers_where_they_are_and_of_128_bits(column, skipped):
    made, numbers, scale = column
    made, numbers = made[skipped:], numbers[skipped:]  # an offset into the buffers
    low, high, whole = decimals.whole(made, np.ones(len(made), bool))
    for place, number in enumerate(numbers):
        exact = Fraction(number) / Fraction(10) ** scale
        fits = exact.denominator == 1 and -(1 << 127) <= exact < 1 << 127
        assert whole[place] == fits
        if fits:
            assert (int(high[place]) << 64) + (int(low[place]) % (1 << 64)) == exact


@given(column=columns())
def test_decimals_become_the_nearest_float(column):
    made, numbers, scale = column
    found = decimals.real(made, np.ones(len(made), bool))
    for number, x in zip(numbers, found.tolist(), strict=True):
        assert x == float(Fraction(number) / Fraction(10) ** scale)


@pytest.mark.parametrize("width", DIGITS)
def test_unknown_decimals_are_not_looked_at(width):
    kind = getattr(pa, f"decimal{width}")(DIGITS[width], 2)
    made = pa.array([None, Decimal("1.00"), Decimal("1.50")], kind)
    low, _, whole = decimals.whole(made, np.array([False, True, True]))
    assert whole.tolist()[1:] == [True, False]
    assert low[1] == 1
    assert decimals.real(made, np.array([False, True, True])).tolist()[1:] == [1.0, 1.5]
    none = pa.nulls(3, kind)
    assert len(decimals.real(none, np.zeros(3, bool))) == 3
