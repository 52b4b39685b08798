"""Odd values for every form of column, and axes, filters and names that fit the form.

A value is kept in the physical form of its column: whole numbers, floats, Decimals, bytes for text
(which need not be UTF-8), and for dates and times the steps since 1970.
"""

from __future__ import annotations

import decimal
import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import trueup as tu

decimal.getcontext().prec = 80  # by default Python's decimals lose digits past the 28th

Value = Any
DAY = 86_400
STEPS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
LABELS = ("a", "b", "Straße", "A", "", "é", "no")
NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_1234))[0]  # another NaN than the usual


@dataclass(frozen=True)
class Form:
    """What a column holds: `family` and its details, such as ("integer", 8, True)."""

    family: str
    bits: int = 0
    signed: bool = True
    scale: int = 0
    step: str = "us"
    zone: str | None = None
    spelled: str = ""  # another spelling of the same form, such as a collated text

    def __str__(self) -> str:
        match self.family:
            case "integer":
                name = f"{'' if self.signed else 'u'}int{self.bits}"
            case "float":
                name = f"float{self.bits}"
            case "decimal":
                name = f"decimal({self.bits},{self.scale})"
            case "time":
                name = f"time[{self.step}{',' + self.zone if self.zone else ''}]"
            case _:
                name = self.family
        return f"{name} {self.spelled}".strip()

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest whole number of an integer form."""
        if self.signed:
            return -(1 << self.bits - 1), (1 << self.bits - 1) - 1
        return 0, (1 << self.bits) - 1


INTEGERS = [Form("integer", bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)]
FLOATS = [Form("float", 32), Form("float", 64)]
DECIMALS = [Form("decimal", 9, scale=2), Form("decimal", 18), Form("decimal", 38, scale=10)]
DECIMALS += [Form("decimal", 38)]
TIMES = [Form("time", step=step, zone=zone) for step in STEPS for zone in (None, "UTC")]
TIMES += [Form("time", step="us", zone="America/New_York")]
TEXT, DATE, BOOLEAN = Form("text"), Form("date"), Form("boolean")


def kind_of(form: Form) -> str:
    """The kind that the owner may declare for a column of this form."""
    return {"float": "number", "decimal": "number", "date": "time"}.get(form.family, form.family)


# Values: some that lie on an axis, and some that nobody expects.


def odd(form: Form, random: Random) -> Value:
    """A value that breaks things."""
    if random.random() < 0.15:
        return None
    match form.family:
        case "integer":
            low, high = form.ends
            near = [2**n + d for n in (31, 32, 52, 53, 62, 63) for d in (-1, 0, 1)]
            near += [-x for x in near] + [low, low + 1, high, high - 1, 0, -1, 1]
            return random.choice([x for x in near if low <= x <= high])
        case "float":
            tiny = 5e-324 if form.bits == 64 else 1.4e-45
            huge = 1.7976931348623157e308 if form.bits == 64 else 3.4028234663852886e38
            near = [NAN, math.inf, -math.inf, 0.0, -0.0, tiny, -tiny, huge]
            near += [2.0**53, 2.0**62, 2.0**63, -(2.0**63), 2.0**64, 500.0, -500.0, 0.5, -huge]
            # Statistics leave NaN out, as they do nothing else: it is drawn most.
            return math.nan if random.random() < 0.4 else random.choice(near)
        case "decimal":
            most = 10**form.bits - 1
            near = [most, -most, 0, 1, -1, 2**53 + 1, 2**53, 2**62 + 1, 2**63, 2**63 - 1]
            near += [10**form.scale * n + d for n in (1, 2, 2**53, 2**62, 2**63) for d in (0, 1)]
            chosen = random.choice([n for n in near if abs(n) <= most])
            return Decimal(chosen).scaleb(-form.scale) if chosen else Decimal(0)
        case "text":
            return random.choice(ODD_TEXT)
        case "boolean":
            return random.random() < 0.5
        case "date":
            near = [2**31 - 1, -(2**31), 2**31 - 2, -(2**31) + 1, 10**8, 10**8 + 1, -(10**8)]
            near += [0, -1, 2_932_896, 2_932_897, -719_163, 106_751_991, 106_751_992, -106_751_993]
            return random.choice(near)
        case _:
            near = [2**63 - 1, -(2**63) + 1, -(2**63), 2**63 - 2, 10**17, -(10**17), 10**18]
            near += [9_223_372_036_854_775, 9_223_372_036_855, 9 * 10**15, 253_402_300_800]
            near += [0, -1, 1, -(10**12), 253_402_300_800 * STEPS[form.step]]
            return random.choice([steps for steps in near if steps < 2**63])


ODD_TEXT = [
    b"\xff",
    b"\xfe",
    b"a\xff",
    b"a\xfe",
    b"\xed\xa0\x80",  # a lone surrogate, as UTF-8 would spell it
    b"\xc3",
    b"a\x00",
    b"\x00",
    b"a ",
    b" a",
    b"B",
    b"NO",
    b"No",
    "É".encode(),
    "e\u0301".encode(),  # é in two parts
    b"STRASSE",
    b"strasse",
    "\ufeffa".encode(),
    "İ".encode(),
    b"",
    b"x" * 1000,
    b"a\nb",
    b'a"b',
    b"null",
    b"NaN",
    b"1",
]


def axis_for(name: str, form: Form, random: Random) -> tuple[tu.Axis, list[Value]]:
    """An axis that this column can be counted over, and values that lie on it."""
    match form.family:
        case "integer":
            return _whole_axis(name, form.ends, random)
        case "float" | "decimal":
            return _number_axis(name, form, random)
        case "text":
            return _label_axis(name, random)
        case _:
            return _date_axis(name, form, random)


def _whole_axis(name: str, ends: tuple[int, int], random: Random) -> tuple[tu.Axis, list[Value]]:
    low, high = ends
    starts = [0, 1, -3, 100, 2**31 - 3, 2**53 - 2, 2**62 - 4, low, high - 3, 10 << 24]
    first = random.choice(
        [x for x in starts if low <= x <= high - 3 and -(2**62) <= x <= 2**62 - 4]
    )
    values = list(range(first, first + 4))
    if first == 10 << 24:
        return tu.Axis.ipv4(name, "10.0.0.0/28", 30), values
    way = random.choice(["integers", "regular", "edges", "categories"])
    if way == "regular" and abs(first) < 2**52:
        return tu.Axis.regular(name, first, first + 4, random.choice([1, 3, 4])), values
    if way == "edges" and abs(first) < 2**52:
        return tu.Axis.edges(name, [first, first + 1, first + 2.5, first + 4]), values
    if way == "categories":
        return tu.Axis.categories(name, values), values
    return tu.Axis.integers(name, first, first + 3), values


def _number_axis(name: str, form: Form, random: Random) -> tuple[tu.Axis, list[Value]]:
    whole = tu.Axis.integers(name, 0, 3), [0, 1, 2, 3]
    axis, values = random.choice(
        [
            whole,
            (tu.Axis.regular(name, 0, 8, 4), [0, 0.5, 5, 7]),
            (tu.Axis.regular(name, 0, 1, 10), [0, 0.1, 0.3, 0.7]),
            (tu.Axis.regular(name, -5, 5, 7), [-5, 0, 1, 4.5]),
            (tu.Axis.edges(name, [0, 10, 50, 100]), [5, 20, 70, 0]),
            (tu.Axis.edges(name, [-2.5, 0, 0.1, 7.5]), [-2.5, 0, 0.5, 7]),
        ]
    )
    if form.family == "float":
        # As 32 bits, 0.1 and its like lie elsewhere: the float that is stored is what counts.
        cut = (
            (lambda x: x)
            if form.bits == 64
            else lambda x: struct.unpack("f", struct.pack("f", x))[0]
        )
        return axis, [cut(float(x)) for x in values]
    digits = Decimal(1).scaleb(-form.scale)
    exact = [Decimal(str(x)) for x in values]
    return axis, [x.quantize(digits) for x in exact if x == x.quantize(digits)] or [Decimal(0)]


def _label_axis(name: str, random: Random) -> tuple[tu.Axis, list[Value]]:
    way = random.choice(["categories", "categories", "hierarchy", "ipv4"])
    if way == "ipv4":
        return tu.Axis.ipv4(name, "10.0.0.0/28", 30), [b"10.0.0.0", b"10.0.0.7", b"10.0.0.15"]
    labels = random.sample(LABELS, random.randint(2, 5))
    if way == "hierarchy":
        labels = [label for label in labels if label] or ["a", "b"]
        half = len(labels) // 2 or 1
        parts = {"x": labels[:half], "y": labels[half:]} if len(labels) > 1 else {"x": labels}
        return tu.Axis.hierarchy(name, parts), [label.encode() for label in labels]
    return tu.Axis.categories(name, labels), [label.encode() for label in labels]


_DAYS = [0, -1, 15_706, -25_567, 84_006, -141_428, 2_932_000]


def _date_axis(name: str, form: Form, random: Random) -> tuple[tu.Axis, list[Value]]:
    import numpy as np

    nano = form.family == "time" and form.step == "ns"
    first = random.choice(_DAYS[:4] if nano else _DAYS)
    unit = random.choice(["minute", "hour", "day", "week", "month", "year"])
    span = {"minute": 0, "hour": 0, "day": 2, "week": 20, "month": 60, "year": 700}[unit]
    start, stop = (str(np.datetime64(day, "D")) for day in (first, first + span))
    if unit in ("minute", "hour"):
        start, stop = f"{start} 00:00", f"{stop} 00:10" if unit == "minute" else f"{stop} 03:00"
    elif unit in ("month", "year"):
        code = unit[0].upper()
        first = int(np.datetime64(start, code).astype("datetime64[D]").astype(int))
        start, stop = str(np.datetime64(start, code)), str(np.datetime64(stop, code))
    axis = tu.Axis.dates(name, start, stop, unit=unit)
    if form.family == "date":
        return axis, [first, first + span, first + span // 2]
    step = STEPS[form.step]
    seconds = [0, 1, 59, 60, 540] if span == 0 else [0, 1, DAY * span - 1, DAY * span // 2]
    values = [(first * DAY + second) * step for second in seconds]
    return axis, [*values, (first * DAY + 1) * step - 1]


# Filters: a column of its natural kind against a value near its own.


def comparison(name: str, form: Form, values: list[Value], random: Random) -> str:
    """A comparison of the column, with one of its values or another."""
    spell = _spelled(form)
    chosen = [value for value in values if value is not None] or values
    family = form.family
    near = [spell(random.choice(chosen)) for _ in range(3)]
    if family in ("text", "boolean"):
        shape = random.choice(["{} = {}", "{} != {}", "{} in ({}, {})", "not {} in ({}, {})"])
        return shape.format(name, *near)
    shapes = ["{} > {}", "{} >= {}", "{} < {}", "{} <= {}", "{} = {}", "{} != {}"]
    shapes += ["{} in ({}, {})", "not {} in ({}, {})", "{} between {} and {}", "not {} < {}"]
    return random.choice(shapes).format(name, *near)


def _spelled(form: Form) -> Any:
    import numpy as np

    def text(value: Value) -> str:
        plain = value.decode("utf-8", "replace").replace("\x00", "0")
        return "'" + plain.replace("'", "''") + "'"

    def number(value: Value) -> str:
        value = float(value)
        return repr(value) if math.isfinite(value) and abs(value) < 1e15 else "0.0"

    def moment(value: Value) -> str:
        seconds = value * DAY if form.family == "date" else value // STEPS[form.step]
        seconds = min(max(seconds, -(10**10)), 10**11)
        return "'" + str(np.datetime64(seconds, "s")).replace("T", " ") + "'"

    def whole(value: Value) -> str:
        return str(value if abs(value) < 2**63 else 0)

    spell = {"text": text, "integer": whole, "float": number, "decimal": number}
    spell |= {"boolean": lambda value: str(value).lower(), "date": moment, "time": moment}
    return lambda value: spell[form.family](value)


# Names: units, groups and nodes.


def names_for(form: Form, random: Random, many: int) -> list[Value]:
    """Different names of this form: as bytes, whole numbers or decimals no two are equal."""
    if form.family == "text":
        pool = [label.encode() for label in LABELS] + ODD_TEXT
    elif form.family == "decimal":
        most = 10 ** (form.bits - form.scale) - 1
        starts = [0, 2**53, 2**60, 10**17, 10**17]
        start = random.choice([n for n in starts if n + 20 <= most])
        pool = [Decimal(start + n) for n in range(12)]
    else:
        high = form.ends[1]
        starts = [0, 100, 2**53, 10**17, 2**62, high - 11]
        start = random.choice([n for n in starts if n + 11 <= high])
        pool = list(range(start, start + 12))
    pool = list(dict.fromkeys(pool))
    return random.sample(pool, min(many, len(pool)))
