"""Numbers as people write them: near enough, and no interval smaller than it is."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trueup.errors import InputError
from trueup.release.wording import as_number, between, check_level, formatted, written


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (-0.0, "0"), (1234, "1,234"), (1234.56, "1,235"), (99.96, "100"), (5.0, "5"),
        (12.345, "12.3"), (0.012345, "0.0123"), (-3.14159, "-3.14"), (1e9, "1,000,000,000"),
        (-1234.5, "-1,234"), (9.999, "10.0"), (1e-9, "0.00000000100"),
        (2**60 + 1, "1,152,921,504,606,846,977"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_people_write_them(number, text):
    assert written(number) == text


@given(st.floats(-1e12, 1e12))
def test_what_is_written_is_within_half_a_percent_or_a_half(number):
    shown = float(written(number).replace(",", ""))
    assert abs(shown - number) <= max(0.0051 * abs(number), 0) or abs(shown - number) <= 0.5


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
@example(5e-324, -5e-324)
def test_an_interval_in_words_holds_the_one_that_is_meant(one, other):
    low, high = sorted((one, other))
    first, last = (float(end.replace(",", "")) for end in between(low, high).split(" and "))
    assert first <= low + 1e-9 * abs(low)
    assert last >= high - 1e-9 * abs(high)
    assert low - first <= max(1.0, 0.01 * abs(low))
    assert last - high <= max(1.0, 0.01 * abs(high))


@pytest.mark.parametrize(
    ("given_", "number"),
    [
        (3, 3),
        (np.int8(3), 3),
        (0.5, 0.5),
        (Fraction(1, 4), 0.25),
        (Decimal("0.1"), 0.1),
        (True, None),
        (np.bool_(1), None),
        ("3", None),
        (None, None),
        ([3], None),
    ],
)
def test_what_is_a_number_is_told_from_what_is_none(given_, number):
    found = as_number(given_)
    assert found == number
    assert type(found) is type(number)
    for wrong in (float("inf"), float("nan"), np.float32("-inf")):
        with pytest.raises(InputError, match="finite numbers only"):
            as_number(wrong)


def test_formats_of_numbers_are_pythons_and_others_those_of_text():
    numbers = [1234.5678, 0.25]
    assert formatted(".2f", "{} ± {}", numbers, "x") == f"{numbers[0]:.2f} ± {numbers[1]:.2f}"
    assert formatted(",d", "{} ± {}", numbers, "x") == "1,235 ± 0"
    assert formatted(">9", "{} ± {}", numbers, "plain") == f"{'plain':>9}"


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, True, "0.95", None, float("nan")])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(InputError, match="between 0 and 1"):
        check_level(level)
    assert check_level(0.95) == 0.95
