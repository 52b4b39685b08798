"""What a text says: exact to the last digit, against Fractions and Python's own parsers."""

from __future__ import annotations

import ipaddress
import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.axis import written
from trueup.axis.dates import instant, microsecond
from trueup.errors import InputError

digits = st.text("0123456789", max_size=25)
numbers = st.builds(
    lambda sign, whole, point, part, power: sign + whole + point + part + power,
    st.sampled_from(["", "+", "-"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    st.one_of(st.just(""), st.integers(-400, 400).map(lambda e: f"e{e}")),
)
anything = st.one_of(
    numbers.map(str.encode),
    st.binary(max_size=30),
    st.from_regex(re.compile(rb"[ \t]*[+-]?[0-9]{0,22}\.?[0-9]*([eE][+-]?[0-9]{1,4})?\s*")),
)


def exact(text: bytes) -> Fraction | None:
    """The number that a text is, by another way: Fraction's own reading of it."""
    plain = text.strip(b" \t\r\n\v\f")
    shape = rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
    return Fraction(plain.decode()) if re.fullmatch(shape, plain) else None


@given(anything)
def test_a_whole_number_is_read_to_its_last_digit_or_not_at_all(text: bytes) -> None:
    value = exact(text)
    whole = value is not None and value.denominator == 1 and -(2**63) <= value < 2**63
    assert written.integer(text) == (int(value) if whole and value is not None else None)


@given(anything)
def test_a_number_is_the_nearest_float(text: bytes) -> None:
    value = exact(text)
    read = written.number(text)
    if value is None:
        assert read is None or not math.isfinite(read)
    elif abs(value) < 10**400:
        try:
            assert read == float(value)
        except OverflowError:
            assert read == math.copysign(math.inf, value)


@pytest.mark.parametrize("zeros", [0, 700, 799, 800, 801, 5000, 100_000])
def test_a_long_number_is_as_near_as_a_short_one(zeros: int) -> None:
    # Halfway between two floats; a last digit anywhere decides, on both sides of the shortening.
    halfway = b"9007199254740993." + b"0" * zeros
    assert written.number(halfway) == 2.0**53
    assert written.number(halfway + b"1") == 2.0**53 + 2
    assert written.number(b"-" + halfway + b"1") == -(2.0**53) - 2
    assert written.integer(halfway) == 2**53 + 1
    assert written.integer(halfway + b"1") is None
    assert written.integer(b"0" * zeros + b"7") == 7
    assert written.number(b"0." + b"0" * zeros + b"1e%d" % (zeros + 1)) == 1.0
    assert written.integer(b"1" + b"0" * zeros + b"e-%d" % zeros) == 1


@pytest.mark.parametrize(
    ("text", "number", "integer"),
    [
        (b"1e9999999999999999999999999999", math.inf, None),
        (b"-1e9999999999999999999999999999", -math.inf, None),
        (b"1e-9999999999999999999999999999", 0.0, None),
        (b"0e9999999999999999999999999999", 0.0, 0),
        (b"1e" + b"0" * 10_000 + b"3", 1000.0, 1000),
        (b"9223372036854775807", 2.0**63, 2**63 - 1),
        (b"-9223372036854775808.000", -(2.0**63), -(2**63)),
        (b"9223372036854775808", 2.0**63, None),
        (b"inf", math.inf, None),
        (b"-Infinity", -math.inf, None),
        (b"--inf", None, None),
        (b"1_000", None, None),
        (b"0x10", None, None),
        ("１２".encode(), None, None),
        (b"1\x00", None, None),
        (b"", None, None),
        (b".", None, None),
        (b"+", None, None),
    ],
)
def test_numbers_at_the_ends_of_the_language(
    text: bytes, number: float | None, integer: int | None
) -> None:
    assert written.number(text) == number
    assert written.integer(text) == integer


@given(st.one_of(st.binary(max_size=20), st.ip_addresses(v=4).map(lambda a: str(a).encode())))
def test_an_address_is_what_python_takes_for_one(text: bytes) -> None:
    try:
        expected = int(ipaddress.IPv4Address(text.decode("ascii")))
    except ValueError:
        expected = None
    assert written.dotted(text) == expected
    if not text.isdigit():
        assert written.address(text) == expected


def test_an_address_may_be_a_number() -> None:
    found = [written.address(text) for text in (b"0", b"4294967295", b"4294967296", b"1" * 11)]
    assert found == [0, 2**32 - 1, None, None]


@given(
    st.one_of(
        st.binary(max_size=30),
        st.datetimes().map(lambda t: str(t).encode()),
        st.datetimes(timezones=st.timezones()).map(lambda t: t.isoformat().encode()),
        st.dates().map(lambda t: str(t).encode()),
    )
)
def test_a_time_is_what_an_axis_takes_for_one(text: bytes) -> None:
    try:
        expected = microsecond(instant(text.decode("ascii"), "a value"))
    except (InputError, UnicodeDecodeError):
        expected = None
    assert written.time(text) == expected


def test_true_and_false_have_their_usual_spellings() -> None:
    assert [written.boolean(t) for t in (b"true", b" T ", b"1", b"YES")] == [True] * 4
    assert [written.boolean(t) for t in (b"false", b"F", b"0", b"no")] == [False] * 4
    assert [written.boolean(t) for t in (b"", b"2", b"\xff", b"t" * 200)] == [None] * 4
