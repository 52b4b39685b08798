"""What a text says, value by value: numbers, times, addresses, true and false.

Each function takes any bytes, and gives None for what it cannot read. It takes no longer than the
text is long, and knows no setting of place or language.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from trueup.axis.dates import read_microsecond

_SPACES = b" \t\r\n\v\f"
_NUMBER = re.compile(rb"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?")
_WHOLE = re.compile(rb"[+-]?[0-9]{1,18}")
_DIGITS = re.compile(rb"[0-9]{1,10}")
_OCTET = rb"(0|[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5])"
_DOTTED = re.compile(rb"\.".join([_OCTET] * 4))
_WORDS = {
    b"nan": float("nan"),
    b"inf": float("inf"),
    b"infinity": float("inf"),
}
_TRUE = {b"true", b"t", b"yes", b"y", b"1"}
_FALSE = {b"false", b"f", b"no", b"n", b"0"}
_LONGEST_DATE = 64
_MOST_DIGITS = 800  # of a number; the nearest float64 never hangs on more than 768
_MOST_EXPONENT = 9  # digits


def _parts(text: bytes) -> tuple[int, bytes, int] | None:
    """A number as its sign, its digits without zeros at their ends, and a power of ten."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    whole, part = found[2] or b"", found[3] or found[4] or b""
    digits = (whole + part).lstrip(b"0")
    short = digits.rstrip(b"0")
    if not short:
        return 1, b"0", 0
    power = found[5] or b""
    size = power.lstrip(b"+-").lstrip(b"0") or b"0"
    # A power of more digits is so large that no text is long enough to make up for it.
    exponent = int(size) if len(size) <= _MOST_EXPONENT else 1 << 62
    exponent = -exponent if power[:1] == b"-" else exponent
    return -1 if found[1] == b"-" else 1, short, exponent - len(part) + len(digits) - len(short)


def integer(text: bytes) -> int | None:
    """The whole number that a text is, exact to 64 bits: 7, +7, 7.0, 0.7e1.

    >>> integer(b" 100000000000000001.0"), integer(b"2.5")
    (100000000000000001, None)
    """
    value = wide(text)
    return None if value is None or not -(1 << 63) <= value < 1 << 63 else value


def wide(text: bytes) -> int | None:
    """The whole number that a text is, exact to 128 bits."""
    text = text.strip(_SPACES)
    if _WHOLE.fullmatch(text):
        return int(text)
    parts = _parts(text)
    if parts is None:
        return None
    sign, digits, power = parts
    if power < 0 or len(digits) + power > 39:
        return None
    value = sign * int(digits) * 10**power
    return value if -(1 << 127) <= value < 1 << 127 else None


def number(text: bytes) -> float | None:
    """The float64 nearest to the number that a text is; nan and inf are words.

    >>> number(b"1e-1"), number(b"1_0")
    (0.1, None)
    """
    text = text.strip(_SPACES)
    if len(text) <= _MOST_DIGITS:
        if _NUMBER.fullmatch(text):
            return float(text)
        value = _WORDS.get(text.lower().lstrip(b"+-")) if len(text) < 10 else None
        if value is None or len(text) - len(text.lstrip(b"+-")) > 1:
            return None
        return -value if text[:1] == b"-" else value
    parts = _parts(text)
    if parts is None:
        return None
    sign, digits, power = parts
    if len(digits) > _MOST_DIGITS:  # all that matters of the rest is that there is some
        power += len(digits) - _MOST_DIGITS - 1
        digits = digits[:_MOST_DIGITS] + b"1"
    return sign * float(digits + b"e%d" % power)


def time(text: bytes) -> int | None:
    """The microseconds since 1970 of a date or time as ISO 8601 writes it, UTC if no zone says."""
    text = text.strip(_SPACES)
    if len(text) > _LONGEST_DATE or not text.isascii():
        return None
    return read_microsecond(text.decode("ascii"))


def dotted(text: bytes) -> int | None:
    """The 32-bit number of an IPv4 address."""
    found = _DOTTED.fullmatch(text)
    return None if found is None else int.from_bytes(bytes(map(int, found.groups())), "big")


def address(text: bytes) -> int | None:
    """The 32-bit number of an IPv4 address, dotted or a number itself."""
    if _DIGITS.fullmatch(text):
        return int(text) if int(text) < 1 << 32 else None
    return dotted(text)


def boolean(text: bytes) -> bool | None:
    """True or false, in any of their usual spellings."""
    word = text.strip(_SPACES).lower() if len(text) < 100 else b""
    return True if word in _TRUE else False if word in _FALSE else None


READERS: dict[str, Callable[[bytes], Any]] = {
    "integer": integer,
    "number": number,
    "time": time,
    "address": address,
    "boolean": boolean,
}
