"""The fields of comma-separated text are those that Python's csv module finds."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup._kernels.cells.fields import past_record, split

MOST = 64
messy = st.lists(
    st.sampled_from([b"a", b"\xff", b"\x00", b'"', b'"', b",", b",", b"\n", b"\r\n", b" ", b'""']),
    max_size=60,
).map(b"".join)


def found(text: bytes, width: int, last: bool = True, longest: int = 10**9) -> tuple[list, int]:
    """The records, each a list of its first fields, and where the rest begins."""
    data = np.frombuffer(text, np.uint8)
    out = np.empty((width, max(len(text), 1)), np.uint8)
    ends = np.zeros((width, MOST + 1), np.int64)
    known = np.zeros((width, MOST), np.bool_)
    rows, stop = split(data, last, ord(","), longest, np.arange(width), out, ends, known)
    return [
        [
            out[c, ends[c, r] : ends[c, r + 1]].tobytes() if known[c, r] else None
            for c in range(width)
        ]
        for r in range(rows)
    ], stop


def by_python(text: bytes, width: int) -> list[list[bytes]]:
    lines = io.StringIO(text.decode("latin-1"), newline="")
    rows = [[field.encode("latin-1") for field in row] for row in csv.reader(lines)]
    return [(row or [b""])[:width] for row in rows if len(row or [b""]) >= width]


@given(messy, st.integers(1, 3))
def test_every_text_has_the_fields_that_python_finds(text: bytes, width: int) -> None:
    rows, stop = found(text, width)
    assert [[field or b"" for field in row] for row in rows] == by_python(text, width)[:MOST]
    assert stop == len(text) or len(rows) == MOST


@given(messy, st.integers(1, 3), st.integers(0, 60))
def test_text_may_come_in_two_parts(text: bytes, width: int, at: int) -> None:
    whole, _ = found(text, width)
    first, stop = found(text[:at], width, last=False)
    second, _ = found(text[stop:], width)
    assert (first + second)[:MOST] == whole


@given(messy, st.integers(0, 60))
def test_the_end_of_a_record_is_found_from_anywhere_in_it(text: bytes, at: int) -> None:
    whole, _ = past_record(np.frombuffer(text, np.uint8), ord(","), 0)
    first, state = past_record(np.frombuffer(text[:at], np.uint8), ord(","), 0)
    if first < 0:
        second, _ = past_record(np.frombuffer(text[at:], np.uint8), ord(","), state)
        first = second if second < 0 else second + len(text[:at])
    assert first == whole
    _, stop = found(text, 1, last=False)
    assert (whole >= 0) == bool(stop)


def test_nothing_and_empty_text_differ() -> None:
    assert found(b'a,b\n,""\n"",\n', 2)[0] == [[b"a", b"b"], [None, b""], [b"", None]]


def test_a_record_of_too_few_fields_is_left_out_and_no_other() -> None:
    assert found(b"1,a\n2\n3,c,d\n\n4,e", 2)[0] == [[b"1", b"a"], [b"3", b"c"], [b"4", b"e"]]


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_record_is_too_long_by_its_own_length_alone(end: bytes) -> None:
    for before in (b"", b"1,2\n", b"1,2\n" * 7):
        for length, kept in ((4, True), (5, False)):
            text = before + b"x," + b"y" * (length - 3) + end
            assert found(text, 2, longest=4)[0][before.count(b"\n") :] == (
                [[b"x", b"y" * (length - 3)]] if kept else []
            )
