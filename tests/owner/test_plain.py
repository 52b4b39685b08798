"""Plain columns: every type of Arrow, every value, against Python's own numbers."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup._kernels.cells import place
from trueup.axis.numbers import COMPILED
from trueup.owner.columns import Kind, Storage, Wanted
from trueup.owner.placing import SPARE, CellTally, placer
from trueup.owner.plain import names, plain, short_texts, storage_of, unified

BIG = 2**63
UNKNOWN_TIME = -(2**63)


def read(column: pa.Array, kind: Kind, storage: Storage | None = None) -> list[Any]:
    """The values of a column as a kind, None where unknown; the same at any offset."""
    wanted = Wanted("x", storage or storage_of(column.type), kind, "value")
    found = _listed(column, wanted)
    for before in ([column[:1]], [column[:1], *[column] * 9]):  # a little way in, and far in
        offset = sum(map(len, before))
        shifted = pa.concat_arrays([*before, column, column[:3]]).slice(offset, len(column))
        assert repr(_listed(shifted, wanted)) == repr(found)
    return found


def _listed(column: pa.Array, wanted: Wanted) -> list[Any]:
    found = plain(column, len(column), wanted)
    values = found.values.tolist() if isinstance(found.values, np.ndarray) else found.values
    values = values if isinstance(values, list) else values.to_pylist()
    return [v if k else None for v, k in zip(values, found.known.tolist(), strict=True)]


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("name", INTEGERS)
def test_whole_numbers_of_every_width_are_exact(name: str) -> None:
    info = np.iinfo(name)
    values = [None, 0, 1, int(info.min), int(info.max), int(info.max) - 1]
    column = pa.array(values, getattr(pa, name)())
    assert read(column, "integer") == [v if v is None or v < BIG else None for v in values]
    assert read(column, "number") == [v if v is None else float(v) for v in values]
    fits = [v if v is not None and 0 <= v < 2**32 else None for v in values]
    assert read(column, "address") == fits


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_floats_that_are_whole_are_whole_numbers(name: str) -> None:
    values = [None, 0.0, -0.0, 1.0, 2.5, math.nan, math.inf, -math.inf, -3.0]
    if name != "float16":
        values += [2.0**62, 2.0**63, -(2.0**63), -(2.0**64), 2.0**53 - 1]
    column = pa.array(np.array([0 if v is None else v for v in values], name), mask=_none(values))
    values = [None if v is None else float(np.dtype(name).type(v)) for v in values]
    whole = [
        int(v) if v is not None and math.isfinite(v) and v == int(v) and -BIG <= v < BIG else None
        for v in values
    ]
    assert read(column, "integer") == whole
    assert repr(read(column, "number")) == repr(values)


def _none(values: list[Any]) -> Any:
    return np.array([v is None for v in values])


@st.composite
def decimal_columns(draw: st.DrawFn) -> tuple[pa.Array, list[Fraction | None]]:
    bits, most = draw(st.sampled_from([(32, 9), (64, 18), (128, 38), (256, 76)]))
    precision = draw(st.integers(1, most))
    scale = draw(st.integers(0 if bits < 128 else -3, precision))
    number = st.integers(-(10**precision) + 1, 10**precision - 1)
    number |= st.integers(-20, 20).map(lambda n: n * 10**scale if scale > 0 else n)
    number = number.filter(lambda n: abs(n) < 10**precision)
    unscaled = draw(st.lists(st.none() | number, min_size=1, max_size=12))
    kind = getattr(pa, f"decimal{bits}")(precision, scale)
    raw = b"".join((n or 0).to_bytes(bits // 8, "little", signed=True) for n in unscaled)
    known = np.packbits([n is not None for n in unscaled], bitorder="little")
    buffers = [pa.py_buffer(known), pa.py_buffer(raw)]
    column = pa.Array.from_buffers(kind, len(unscaled), buffers)
    return column, [None if n is None else n / Fraction(10) ** scale for n in unscaled]


@given(decimal_columns())
def test_decimals_are_exact_to_their_last_digit(made: tuple[pa.Array, list[Any]]) -> None:
    column, exact = made
    whole = [
        int(v) if v is not None and v.denominator == 1 and -BIG <= v < BIG else None for v in exact
    ]
    assert read(column, "integer") == whole
    assert read(column, "number") == [None if v is None else float(v) for v in exact]


@pytest.mark.parametrize("scale", [-2, 0, 1, 17, 18, 19, 22, 23, 38])
def test_decimals_are_exact_on_both_sides_of_every_shortcut(scale: int) -> None:
    near = [2**53, 2**63, 10**18, 10**19, 10 ** max(scale, 0), 3 * 10 ** max(scale, 0)]
    near += [2**64, 2**128, 2**192, 2**127 + 2**64]  # zeros in some of its four words
    unscaled = [sign * (n + d) for n in near for d in (-1, 0, 1) for sign in (1, -1)]
    raw = b"".join(n.to_bytes(32, "little", signed=True) for n in unscaled)
    kind = pa.decimal256(76, scale)
    column = pa.Array.from_buffers(kind, len(unscaled), [None, pa.py_buffer(raw)])
    exact = [n / Fraction(10) ** scale for n in unscaled]
    whole = [int(v) if v.denominator == 1 and -BIG <= v < BIG else None for v in exact]
    assert read(column, "integer") == whole
    assert read(column, "number") == [float(v) for v in exact]


def test_names_are_whole_numbers_to_all_their_128_bits() -> None:
    """Two people whose numbers share their low half are two."""
    numbers = [5, 2**64 + 5, 2**65 + 5, -(2**64) + 5, -5, 2**63, -(2**63), 2**126, None]
    column = pa.array([n if n is None else Decimal(n) for n in numbers], pa.decimal128(38, 0))
    found = names(column, len(numbers), Wanted("x", "decimal", "integer", "unit"))
    assert found.known.tolist() == [n is not None for n in numbers]
    told = [int.from_bytes(each, "little", signed=True) for each in found.values.to_pylist()]
    assert told[:-1] == numbers[:-1]
    large = [0, 2**63, 2**64 - 1]
    found = names(pa.array(large, pa.uint64()), 3, Wanted("x", "integer", "integer", "unit"))
    assert [int.from_bytes(v, "little", signed=True) for v in found.values.to_pylist()] == large


@given(st.lists(st.none() | st.integers(-BIG, BIG - 1), min_size=1))
def test_times_of_every_unit_are_microseconds_or_unknown(ticks: list[int | None]) -> None:
    for unit, per in (("s", Fraction(10**6)), ("ms", Fraction(1000)), ("us", Fraction(1)),
                      ("ns", Fraction(1, 1000))):  # fmt: skip
        expected = []
        for tick in ticks:
            t = None if tick is None else math.floor(tick * per)
            far = t is None or abs(t) >= BIG - 1 or abs(tick or 0) >= BIG - 1
            expected.append(None if far else t)
        for zone in (None, "UTC", "Asia/Kathmandu"):
            assert read(pa.array(ticks, pa.timestamp(unit, zone)), "time") == expected


def test_dates_are_the_microseconds_of_their_first_moment() -> None:
    days = [None, 0, 1, -1, 2**31 - 1, -(2**31), 18_000]
    near = [None if d is None or abs(d) > 10**8 else d * 86_400_000_000 for d in days]
    assert read(pa.array(days, pa.int32()).cast(pa.date32()), "time") == near
    later = pa.array([None, 86_400_000, 2**62], pa.int64()).view(pa.date64())
    assert read(later, "time") == [None, 86_400_000_000, None]


TEXTS = [b"a", None, b"", b"\xff\xfe", b"a\x00b", "日本".encode(), b"x" * 40, b"10.0.0.1"]


@pytest.mark.parametrize(
    "name", ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]
)
def test_text_is_the_bytes_it_is(name: str) -> None:
    column = pa.array(TEXTS, pa.large_binary())
    if name in ("string", "large_string", "string_view"):  # a cast would refuse these bytes
        width = "i4" if name == "string" else "i8"
        ends = np.cumsum([0, *(len(t or b"") for t in TEXTS)]).astype(width)
        whole = b"".join(t or b"" for t in TEXTS)
        bits = np.packbits([t is not None for t in TEXTS], bitorder="little")
        buffers = [pa.py_buffer(bits), pa.py_buffer(ends), pa.py_buffer(whole)]
        kind = pa.string() if name == "string" else pa.large_string()
        column = pa.Array.from_buffers(kind, len(TEXTS), buffers)
        if name == "string_view":
            column = column.view(pa.large_binary()).cast(pa.binary_view()).view(pa.string_view())
    else:
        column = column.cast(getattr(pa, name)())
    assert storage_of(column.type) == "text"
    assert read(column, "text") == TEXTS
    assert read(column, "address") == [None] * 7 + [0x0A000001]
    assert read(column.dictionary_encode() if "view" not in name else column, "text") == TEXTS


def test_a_name_of_sixteen_bytes_is_text() -> None:
    column = pa.array([b"0123456789abcdef", None], pa.binary(16))
    assert read(column, "text") == [b"0123456789abcdef", None]
    written = b"30313233-3435-3637-3839-616263646566"
    assert read(pa.ExtensionArray.from_storage(pa.uuid(), column), "text") == [written, None]


def test_true_and_false_are_bits() -> None:
    values = [True, None, False] * 5
    assert read(pa.array(values), "boolean") == values


def test_raw_text_is_read_value_by_value() -> None:
    column = pa.array([b"1", None, b"x", b"2.0", b" 3", b"\xff"], pa.large_binary())
    assert read(column, "integer", "raw") == [1, None, None, 2, 3, None]
    assert read(column, "number", "raw") == [1.0, None, None, 2.0, 3.0, None]
    assert read(column, "boolean", "raw") == [True, None, None, None, None, None]
    assert read(column, "text", "raw") == column.to_pylist()
    days = pa.array([b"1970-01-02", None, b"1970-02-30"], pa.large_binary())
    assert read(days, "time", "raw") == [86_400_000_000, None, None]


@pytest.mark.parametrize("kind", ["integer", "number", "text", "time", "address", "boolean"])
def test_what_is_not_there_is_unknown(kind: Kind) -> None:
    wanted = Wanted("x", "raw", kind, "value")
    found = plain(None, 3, wanted)
    assert not found.known.any()
    assert len(found.values) == 3
    odd = pa.array([[1], None])
    assert not plain(odd, 2, Wanted("x", "something else", kind, "value")).known.any()


def test_a_column_that_differs_between_files_has_a_storage_of_its_own() -> None:
    assert unified(["integer", "integer"]) == "integer"
    assert unified(["integer", "float"]) == unified(["decimal", "float"]) == "decimal"
    assert unified(["date", "time"]) == "time"
    assert unified(["text", "integer"]) == "something else"


AXES: list[tuple[tu.Axis, list[Any]]] = [
    (tu.Axis.integers("x", -3, 5), [0, -3, 5, 6, -4, 2**62, -(2**63), 2**63 - 1]),
    (tu.Axis.integers("x", 2**62 - 2, 2**62), [2**62, 2**62 + 1, 2**62 - 3, -(2**62)]),
    (tu.Axis.regular("x", 0, 1, 10), [0.1, 0.3, 1.0, -0.0, math.nan, math.inf, 0.7]),
    (tu.Axis.edges("x", [-2.5, 0, 0.1, 7.7]), [0.0, -0.0, -2.5, 7.7, math.nan, -math.inf]),
    (tu.Axis.categories("x", [7, 1, -1]), [7, 1, 2, -1, 2**62]),
    (tu.Axis.categories("x", ["a", "", "日本"]), ["a", "", "A", "日本", "a "]),
    (tu.Axis.hierarchy("x", {"A": ["x", "y"], "B": ["y"]}), ["x", "A/y", "y", "B/y", "A"]),
    (tu.Axis.ipv4("x", "10.0.0.0/8", 24), ["10.0.0.1", "10.0.1.0", "11.0.0.0", "x"]),
    (
        tu.Axis.dates("x", "2019-12-30T06", "2020-03-02", "hour").coarsen("day"),
        [dt.datetime(2019, 12, 30, h) for h in (5, 6, 23)],
    ),
    *(
        (tu.Axis.dates("x", "2020-01-01", "2020-12-31", unit), [dt.datetime(2020, 2, 29, 12, 30)])
        for unit in ("minute", "hour", "day", "week", "month", "year")
    ),
]


@pytest.mark.parametrize(("axis", "values"), AXES)
def test_a_column_is_placed_as_the_axis_locates_its_values(
    axis: tu.Axis, values: list[Any]
) -> None:
    from trueup.owner.columns import Columns

    column = pa.array([*values, None])
    wanted = Columns({"x": storage_of(column.type)}, None).counted(axis, "value")
    placed = placer(axis, wanted)(plain(column, len(column), wanted))
    assert placed.tolist() == axis.locate(np.array([*values, None], object)).tolist()
    assert (placed >= 0).any()
    # Decimals, too, fall as the axis has them.
    if wanted.kind == "integer":
        decimals = pa.array([Decimal(v) for v in values], pa.decimal128(38, 3))
        other = Wanted("x", "decimal", "integer", "value")
        assert placer(axis, other)(plain(decimals, len(values), other)).tolist() == (
            axis.locate(np.array([Decimal(v) for v in values], object)).tolist()
        )


@pytest.mark.parametrize("length", [100, COMPILED - 1, COMPILED, COMPILED + 1])
def test_what_is_no_cell_is_in_no_count(length: int) -> None:
    strange = [-1, -(2**63), 2**63 - 1, 5, 6, 4, 0, 4]
    cells = np.resize(np.array(strange, np.int64), length)
    counts = CellTally(5)
    counts.add(cells)
    assert counts.cells.tolist() == [int((cells == cell).sum()) for cell in range(5)]
    assert SPARE == place.SPARE


def test_short_texts_are_the_bytes_of_the_column_up_to_a_length() -> None:
    texts = [None, "", "ab", "abc", "é", "日本", "x" * 300]
    raw = [b"\xff\0", b"abcd", None]
    columns = [
        pa.array(texts),
        pa.array(texts, pa.large_string()),
        pa.array(texts, pa.string_view()),
        pa.array(texts).dictionary_encode(),
        pa.array(["sliced off", *texts, "and"])[1:-1],
        pa.array(raw, pa.binary()),
        pa.array(raw, pa.large_binary())[:2],
    ]
    for column in columns:
        found = short_texts(column, len(column), 3)
        held = [None if text is None else text if isinstance(text, bytes) else text.encode()
                for text in column.to_pylist()]  # fmt: skip
        assert found.known.tolist() == [text is not None and len(text) <= 3 for text in held]
        assert found.values.filter(pa.array(found.known)).to_pylist() == [
            text for text, known in zip(held, found.known, strict=True) if known
        ]
    for column in (None, pa.array([1, 2, 3])):
        assert not short_texts(column, 3, 9).known.any()
