"""Different rows are those that Python finds, byte by byte, however they come."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.owner.distinct import distinct

ODD = [
    b"", b"\0", b"a", b"a\0", b"A", "é".encode(), "é".encode(), b"\xff", b"\xc3", b"a ", b" a",
    b"twelve bytes", b"twelve bytes\0", b"thirteen byte", b"x" * 5000, b"x" * 4999 + b"y", b"NULL",
]  # fmt: skip
ROWS = st.lists(
    st.tuples(st.sampled_from(ODD), st.sampled_from([0, -1, 2**63 - 1, -(2**63)])), max_size=60
)


@settings(max_examples=25, deadline=None)
@given(parts=st.lists(ROWS, max_size=4))
def test_every_row_is_counted_with_its_equals(parts: list[list[tuple[bytes, int]]]) -> None:
    kinds = {"text": pa.binary(), "whole": pa.int64()}
    batches = (
        {name: pa.array([row[place] for row in part], kinds[name]) for place, name in
         enumerate(kinds)}
        for part in parts
    )  # fmt: skip
    found = distinct(batches, kinds)
    assert found.column_names == ["text", "whole", "rows"]
    each = zip(*(found[name].to_pylist() for name in found.column_names), strict=True)
    counted = [(row[:2], row[2]) for row in each]
    assert len(dict(counted)) == len(counted)
    assert dict(counted) == Counter(row for part in parts for row in part)


def test_bytes_come_back_with_room_for_more_than_two_gigabytes() -> None:
    kinds = {"text": pa.binary()}
    found = distinct(iter([{"text": pa.array(ODD, pa.binary())}]), kinds)
    assert found["text"].type == pa.large_binary()
    assert found["rows"].type == pa.int64()


def test_nothing_is_written_beside_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    batches = ({"text": pa.array([f"{n}".encode()])} for n in range(9))
    assert len(distinct(batches, {"text": pa.binary()})) == 9
    assert not list(tmp_path.iterdir())


def test_a_row_that_cannot_be_read_ends_the_count() -> None:
    """What fails while rows are read fails the count: some rows are never taken for all."""

    def batches():  # type: ignore[no-untyped-def]
        yield {"text": pa.array([b"a"])}
        raise OSError("gone")

    with pytest.raises(Exception, match="gone"):
        distinct(batches(), {"text": pa.binary()})
