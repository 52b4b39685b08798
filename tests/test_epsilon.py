from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.epsilon import exact, positive
from trueup.errors import InputError


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(-20, 20))
def test_a_float_means_the_decimal_that_was_typed(digits, exponent):
    typed = f"{digits}e{exponent}"
    meant = Fraction(digits) * Fraction(10) ** exponent
    assert exact(float(typed)) == exact(np.float64(typed)) == exact(typed) == meant
    assert exact(Decimal(typed)) == meant


@given(st.fractions())
def test_a_fraction_is_itself_as_number_and_as_text(number):
    assert exact(number) == number
    assert exact(f" {number} ") == number


@pytest.mark.parametrize("digits", [1, 40, 41, 99])
def test_what_is_taken_as_a_number_is_read_back_from_its_text(digits):
    """As a ledger and a file keep it: up to as many digits as a number may have."""
    most = 10 ** (digits + 1) - 1
    for number in (Fraction(most), Fraction(1, most), Fraction(most - 1, most), Fraction(most, 4)):
        assert exact(number) == exact(str(number)) == number
    assert exact(Decimal(most)) == exact(str(Decimal(most))) == most
    for wrong in (Fraction(10**100), Fraction(1, 10**100)):
        for form in (wrong, str(wrong)):
            with pytest.raises(InputError):
                exact(form)


def test_whole_numbers_of_every_type_are_themselves():
    assert exact(3) == exact(np.int64(3)) == exact(np.uint8(3)) == exact("3") == Fraction(3)
    assert exact(np.float32(0.1)) == Fraction(1, 10)
    assert exact("1_000.5") == Fraction(2001, 2)


@pytest.mark.parametrize("digits", [0.1 + 0.2, 1 / 3, math.pi, np.float64(2) / 3])
def test_a_float_of_more_digits_than_can_be_typed_is_refused(digits):
    with pytest.raises(InputError, match="as text or a Fraction"):
        exact(digits)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (True, "must be a number, got True"),
        (np.True_, "must be a number"),
        (math.nan, "finite number, got nan"),
        (math.inf, "finite number, got inf"),
        (-math.inf, "finite number, got -inf"),
        (Decimal("NaN"), "finite number, got NaN"),
        (Decimal("sNaN"), "finite number"),
        (Decimal("Infinity"), "finite number, got Infinity"),
        ("", "got ''"),
        ("much", "got 'much'"),
        ("nan", "got 'nan'"),
        ("inf", "got 'inf'"),
        ("0x10", "got '0x10'"),
        ("1e9999", "got '1e9999'"),
        ("1/0", "divides by zero: '1/0'"),
        ("1/2/3", "got '1/2/3'"),
        (None, "got None"),
        (1j, "got a complex"),
        ([1], "got a list"),
        (np.array([1.0]), "got an ndarray"),
        (b"1", "got bytes"),
    ],
)
def test_what_is_no_number_is_refused(given, told):
    with pytest.raises(InputError) as refusal:
        exact(given)
    assert told in str(refusal.value)
    assert str(refusal.value).startswith("epsilon ")


@pytest.mark.parametrize(
    "huge",
    [Decimal("1e1000000"), Decimal("1e-1000000"), Decimal("9" * 200), "1e999", "1e-999", 10**100],
    ids=lambda value: str(value)[:9],
)
def test_numbers_of_absurd_size_are_refused_before_they_fill_the_memory(huge):
    with pytest.raises(InputError, match="epsilon"):
        exact(huge)


@pytest.mark.parametrize("given", [0, 0.0, -1, "-1/2", Decimal("-0.1"), Fraction(-1, 3), "0", -0.0])
def test_epsilon_must_be_positive(given):
    with pytest.raises(InputError, match="epsilon must be positive, got"):
        positive(given)


def test_the_error_names_what_was_wrong():
    with pytest.raises(InputError, match="limit must be positive, got -1"):
        positive(-1, "limit")
