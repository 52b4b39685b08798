"""CSV and lines of JSON: what is read does not depend on where the blocks of a file end."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trueup.errors import SourceError
from trueup.owner.readers import lines
from trueup.owner.readers.reader import Reader

any_bytes = st.lists(
    st.sampled_from([b"a", b"1", b"\xff", b"\x00", b'"', b",", b",", b"\n", b"\n", b"\r\n"]),
    max_size=80,
).map(b"".join)
here = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def rows(reader: Reader, columns: list[str]) -> list[tuple[bytes | None, ...]]:
    found: list[tuple[bytes | None, ...]] = []
    for piece in reader.pieces(columns):
        for batch in piece():
            values = [batch.columns[name].to_pylist() for name in columns]
            assert all(len(column) == batch.rows for column in values)
            found += zip(*values, strict=True)
    return found


@pytest.mark.parametrize(("block", "longest", "batch"), [(1, 9, 3), (7, 12, 2), (64, 30, 64)])
@here
@given(text=any_bytes)
def test_a_csv_file_has_the_records_that_python_finds_wherever_its_blocks_end(
    block: int, longest: int, batch: int, text: bytes, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(lines, "_BLOCK", block)
    monkeypatch.setattr(lines, "_LONGEST", 1 << 26)
    monkeypatch.setattr(lines, "BATCH", batch)
    (tmp_path / "t.csv").write_bytes(b"x,y\n" + text)
    readable = io.StringIO(text.decode("latin-1"), newline="")
    expected = [
        tuple(field.encode("latin-1") for field in row[:2])
        for row in csv.reader(readable)
        if len(row) >= 2
    ]
    found = rows(lines.of_csv([str(tmp_path / "t.csv")], ","), ["x", "y"])
    assert [tuple(field or b"" for field in row) for row in found] == expected
    # With a bound on the length of records, those within it are read, wherever the blocks end.
    monkeypatch.setattr(lines, "_LONGEST", longest)
    monkeypatch.setattr(lines, "_BLOCK", 1 << 22)
    short = rows(lines.of_csv([str(tmp_path / "t.csv")], ","), ["y", "x"])
    monkeypatch.setattr(lines, "_BLOCK", block)
    assert rows(lines.of_csv([str(tmp_path / "t.csv")], ","), ["y", "x"]) == short
    assert len(short) <= len(found)


def reads(line: bytes) -> Any:
    try:
        found = json.loads(line.decode(), parse_int=str, parse_float=str, parse_constant=str)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


json_lines = st.lists(
    st.one_of(
        st.dictionaries(
            st.sampled_from(["x", "y"]),
            st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([1]),
        ).map(lambda one: json.dumps(one).encode()),
        st.binary(max_size=12).filter(lambda b: b"\n" not in b),
        st.sampled_from([b"{", b'{"x":1', b"[1]", b"7", b"", b'{"x":{"x":1}}', b'{"x":"\xff"}']),
    )
)


@pytest.mark.parametrize("block", [1, 7, 1 << 22])
@here
@given(written=json_lines, last=st.booleans())
def test_a_line_of_json_is_read_by_itself_wherever_the_blocks_end(
    block: int, written: list[bytes], last: bool, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(lines, "_BLOCK", block)
    (tmp_path / "t.jsonl").write_bytes(b"\n".join(written) + b"\n" * last)
    expected = []
    for line in written:
        found = reads(line)
        if found is not None:
            value = found.get("x")
            text = str(value).lower() if isinstance(value, bool) else value
            good = isinstance(text, str)
            expected.append((text.encode("utf-8", "surrogatepass") if good else None,))
    assert rows(lines.of_json([str(tmp_path / "t.jsonl")]), ["x"]) == expected


@pytest.mark.parametrize("block", [1, 5, 1 << 22])
def test_a_line_is_too_long_by_its_own_length_alone(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_BLOCK", block)
    monkeypatch.setattr(lines, "_LONGEST_LINE", 12)
    for before in (b"", b'{"x":1}\n', b'{"x":1}\n' * 3):
        for length, kept in ((12, True), (13, False), (40, False)):
            line = b'{"x":' + b"1" * (length - 6) + b"}"
            (tmp_path / "t.jsonl").write_bytes(before + line + b"\n" + b'{"x":2}')
            found = rows(lines.of_json([str(tmp_path / "t.jsonl")]), ["x"])
            one = [(line[5:-1],)] if kept else []
            assert found == [(b"1",)] * before.count(b"\n") + one + [(b"2",)]


def test_numbers_are_kept_as_they_are_written(tmp_path: Path) -> None:
    numbers = [b"100000000000000001.0", b"1e400", b"-0", b"9" * 5000, b"NaN", b"1.50"]
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(b'{"x":%s}\n' % number for number in numbers))
    assert rows(lines.of_json([str(path)]), ["x"]) == [(number,) for number in numbers]


def test_deep_nesting_costs_its_own_line_alone(tmp_path: Path) -> None:
    deep = b'{"y":' + b"[" * 100_000 + b"]" * 100_000 + b',"x":1}'
    (tmp_path / "t.jsonl").write_bytes(b'{"x":1}\n' + deep + b'\n{"x":2}\n')
    assert rows(lines.of_json([str(tmp_path / "t.jsonl")]), ["x"]) == [(b"1",), (b"2",)]


def test_packed_files_are_read_as_what_they_hold(tmp_path: Path) -> None:
    text = b'x,"y\nz"\n1,2\n'
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + text)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
    with pa.output_stream(tmp_path / "t.csv.zst", compression="zstd") as file:
        file.write(text)
    for name in ("t.csv", "t.csv.gz", "t.csv.zst"):
        reader = lines.of_csv([str(tmp_path / name)], ",")
        assert reader.schema == {"x": "raw", "y\nz": "raw"}
        assert rows(reader, ["y\nz", "x"]) == [(b"2", b"1")]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_first_line_that_is_not_utf_8_is_refused_without_quoting_it(
    encoding: str, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_bytes("age,größe\n34,1\n".encode(encoding))
    with pytest.raises(SourceError, match="must be UTF-8") as refused:
        lines.of_csv([str(tmp_path / "t.csv")], ",")
    assert refused.value.__context__ is None  # the decoder's own error quotes the file
    assert "34" not in str(refused.value)
