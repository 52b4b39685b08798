"""One record changes no more than its own count: not what is read, counted or answered of others.

Each table here once made an engine do something else: drop a condition, fail at a cast, merge two
people, read another file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.owner import where as filters

NAN = float("nan")
HOUR = tu.Axis.integers("hour", 0, 3)


@pytest.fixture
def ledger(tmp_path: Path) -> tu.Ledger:
    return tu.Ledger(tmp_path / "ledger", limit=10**6)


def counts(owner: tu.Owner, axis: tu.Axis, where: str | None = None) -> list[int]:
    part = None if where is None else filters.parse(where)
    return owner.prepared(tu.CellCounts(axis), part, False)().tolist()


def arrow_parquet(table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "arrow.parquet")
    return folder / "arrow.parquet"


def many_row_groups(table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "many.parquet", row_group_size=30)
    return folder / "many.parquet"


def polars_parquet(table: pa.Table, folder: Path) -> Any:
    import polars as pl

    pl.from_arrow(table).write_parquet(folder / "polars.parquet")
    return folder / "polars.parquet"


def duckdb_parquet(table: pa.Table, folder: Path) -> Any:
    import duckdb

    with duckdb.connect() as connection:
        connection.register("made", table)
        connection.execute(f"COPY made TO '{folder / 'duckdb.parquet'}'")
    return folder / "duckdb.parquet"


def lazy_parquet(table: pa.Table, folder: Path) -> Any:
    import polars as pl

    return pl.scan_parquet(polars_parquet(table, folder))


def database(table: pa.Table, folder: Path) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.register("made", table)
    connection.execute("CREATE TABLE kept AS SELECT * FROM made")
    return connection.table("kept")


WRITERS = [arrow_parquet, many_row_groups, polars_parquet, duckdb_parquet, lazy_parquet, database]
Writer = Callable[[pa.Table, Path], Any]


@pytest.mark.parametrize("write", WRITERS)
def test_statistics_without_nan_let_no_nan_onto_the_axis(
    write: Writer, ledger: tu.Ledger, tmp_path: Path
) -> None:
    fares = [5.0] * 100 + [20.0] * 100 + [70.0] * 100 + [NAN] * 1000
    edges, bins = tu.Axis.edges("fare", [0, 10, 50, 100]), tu.Axis.regular("fare", 0, 100, 4)
    for more in ([], [500.0], [None], [float("inf")], [NAN]):
        owner = tu.Owner(write(pa.table({"fare": [*fares, *more]}), tmp_path), ledger)
        assert counts(owner, edges) == [100, 100, 100]
        assert counts(owner, bins) == [200, 0, 100, 0]
        everything = tu.Axis.edges("fare", [-1, 100])
        for where in (
            "fare > 0",
            "fare != 3",
            "not fare in (3, 4)",
            "not (fare < 0 or fare = 3)",
            "not fare > 1000 or fare > 1000",
        ):
            assert counts(owner, everything, where) == [300], where


@pytest.mark.parametrize("write", WRITERS)
def test_a_filter_that_finds_one_person_has_the_same_outcome_whatever_her_value(
    write: Writer, ledger: tu.Ledger, tmp_path: Path
) -> None:
    bins = tu.Axis.regular("fare", 0, 100, 4)
    for value in (50.0, NAN, float("inf"), None, 1e308):
        table = pa.table({"fare": [*np.linspace(0, 99, 50), value], "person": [*range(50), 77]})
        owner = tu.Owner(write(table, tmp_path), ledger)
        answer = owner.measure(tu.CellCounts(bins), "1e-7", where="person = 77")
        assert len(answer.noisy) == 4


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
def test_a_time_beyond_all_calendars_is_off_the_axis(
    unit: str, zone: str | None, ledger: tu.Ledger, tmp_path: Path
) -> None:
    import polars as pl

    far = [10**17, -(10**17), 2**63 - 1, -(2**63), -(2**63) + 1, 2**62]
    kind = pa.timestamp(unit, tz=zone)
    table = pa.table({"t": pa.array([0, None, 1, *far], kind)})
    days = tu.Axis.dates("t", "1970-01-01", "1970-01-02")
    with (
        pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as file,
    ):
        file.write_table(table)
    sources: list[Any] = [table, tmp_path / "t.arrow"]
    if unit != "s":  # Parquet and Polars know no seconds
        sources += [arrow_parquet(table, tmp_path), pl.from_arrow(table)]
    for source in sources:
        owner = tu.Owner(source, ledger)
        assert counts(owner, days) == [2, 0]
        assert counts(owner, days, "t < '2000-01-01'") == [2, 0]
        assert counts(owner, days, "t >= '1969-01-01'") == [2, 0]


def test_labels_and_filters_are_compared_by_their_bytes_under_any_collation(
    ledger: tu.Ledger,
) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE kept (grade VARCHAR COLLATE NOCASE, hour INTEGER)")
    connection.execute("INSERT INTO kept VALUES ('a', 1), ('A', 2), ('b', 3), ('ä', 3), (NULL, 0)")
    owner = tu.Owner(connection.table("kept"), ledger)
    assert counts(owner, tu.Axis.categories("grade", ["a", "B", "ä"])) == [1, 0, 1]
    assert counts(owner, HOUR, "grade = 'a'") == [0, 1, 0, 0]
    assert counts(owner, HOUR, "grade != 'a'") == [0, 0, 1, 2]
    people = tu.Owner(connection.table("kept"), ledger, unit="grade", rows_per_unit=1)
    assert counts(people, HOUR) == [0, 1, 1, 2]


def test_a_line_of_forty_megabytes_is_one_line(ledger: tu.Ledger, tmp_path: Path) -> None:
    long = "x" * 40_000_000
    (tmp_path / "t.jsonl").write_text(f'{{"hour":1}}\n{{"hour":2,"n":"{long}"}}\n{{"hour":3}}\n')
    assert counts(tu.Owner(tmp_path / "t.jsonl", ledger), HOUR) == [0, 1, 0, 1]
    (tmp_path / "t.csv").write_text(f'hour,n\n1,a\n2,"{long}"\n3,c\n')
    assert counts(tu.Owner(tmp_path / "t.csv", ledger), HOUR) == [0, 1, 1, 1]


def ill_text(values: list[bytes]) -> pa.Array:
    """Bytes that call themselves text."""
    ends = np.cumsum([0, *map(len, values)]).astype(np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def test_bytes_that_are_no_text_are_values_like_others(ledger: tu.Ledger, tmp_path: Path) -> None:
    import pandas as pd
    import polars as pl

    names = [b"\xff", b"ab", b"a", b"\xff", b"\xc3\x28", b"a\x00b", b""]
    table = pa.table({"name": ill_text(names), "hour": pa.array([1, 2, 3, 1, 0, 0, 0])})
    with (
        pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as file,
    ):
        file.write_table(table)
    frame = table.to_pandas(types_mapper=lambda kind: pd.ArrowDtype(kind))
    text = pd.DataFrame({"name": pd.array(table["name"], dtype="str"), "hour": frame["hour"]})
    csv = b"".join(b'"%s",%d\n' % pair for pair in zip(names, [1, 2, 3, 1, 0, 0, 0], strict=True))
    (tmp_path / "t.csv").write_bytes(b"name,hour\n" + csv)
    types: dict[str, Any] = {"name": "text"}
    files = arrow_parquet(table, tmp_path), tmp_path / "t.arrow", tmp_path / "t.csv"
    for source in (table, frame, text, pl.from_arrow(table), *files):
        owner = tu.Owner(source, ledger, columns=types)
        assert counts(owner, tu.Axis.categories("name", ["ab", "a", "a\x00b", ""])) == [1] * 4
        assert counts(owner, HOUR, "name != 'a'") == [3, 2, 1, 0]
        people = tu.Owner(source, ledger, unit="name", rows_per_unit=1, columns=types)
        assert counts(people, HOUR) == [3, 1, 1, 1]
        sizes = owner.prepared(tu.SortedCounts(9, by="name"), None, False)()
        assert sorted(sizes.tolist()) == [1, 1, 1, 1, 1, 2]


def test_half_a_character_in_an_object_is_a_value_like_others(
    ledger: tu.Ledger, tmp_path: Path
) -> None:
    import pandas as pd

    names = ["\ud800", "a", None, "\udfff", "\ud800"]
    frame = pd.DataFrame({"name": pd.Series(names, dtype=object), "hour": [1, 2, 3, 1, 1]})
    lines = [json.dumps({"name": n, "hour": h}) for n, h in zip(names, frame.hour, strict=True)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    for source in (frame, tmp_path / "t.jsonl"):
        owner = tu.Owner(source, ledger, columns={"name": "text", "hour": "integer"})
        assert counts(owner, tu.Axis.categories("name", ["a", "b"])) == [1, 0]
        assert counts(owner, HOUR, "name != 'a'") == [0, 3, 0, 0]
        people = tu.Owner(source, ledger, unit="name", rows_per_unit=1, columns={"name": "text"})
        assert counts(people, HOUR) == [0, 2, 1, 0]


IDS = [10**17 + 1, 10**17 + 2, 2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2, 2**64 - 1, 2**64 - 2, -1]
IDS += [10**30, 10**30 + 1, -(10**37)]
ONES = [1] * len(IDS)


def decimals(folder: Path) -> Any:
    return pa.table({"user": pa.array(map(Decimal, IDS), pa.decimal128(38, 0)), "hour": ONES})


def scaled(folder: Path) -> Any:
    ids = pa.array(map(Decimal, IDS), pa.decimal256(70, 20))
    return arrow_parquet(pa.table({"user": ids, "hour": ONES}), folder)


def relation(folder: Path) -> Any:
    return database(decimals(folder), folder)


def frame_of_objects(folder: Path) -> Any:
    import pandas as pd

    return pd.DataFrame({"user": pd.Series(map(Decimal, IDS), dtype=object), "hour": ONES})


def mixed_files(folder: Path) -> Any:
    small, large = [i for i in IDS if abs(i) < 2**63], [i for i in IDS if 2**63 <= i < 2**64]
    rest = [Decimal(i) for i in IDS if i not in small + large]
    for number, ids in enumerate((small, pa.array(large, pa.uint64()), rest)):
        table = pa.table({"user": ids, "hour": [1] * len(ids)})
        pq.write_table(table, folder / f"{number}.parquet")
    return str(folder / "?.parquet")


def polars_frame(folder: Path) -> Any:
    import polars as pl

    return pl.from_arrow(decimals(folder))


def text_with_points(folder: Path) -> Any:
    (folder / "ids.csv").write_text("user,hour\n" + "".join(f"{i}.0,1\n" for i in IDS))
    return folder / "ids.csv"


def lines_with_powers(folder: Path) -> Any:
    lines = [f'{{"user":{i}0e-1,"hour":1}}\n' for i in IDS]
    (folder / "ids.jsonl").write_text("".join(lines))
    return folder / "ids.jsonl"


@pytest.mark.parametrize(
    "made",
    [
        decimals,
        scaled,
        relation,
        frame_of_objects,
        polars_frame,
        mixed_files,
        text_with_points,
        lines_with_powers,
    ],
)
def test_people_whose_numbers_differ_in_the_last_digit_are_different_people(
    made: Callable[[Path], Any], ledger: tu.Ledger, tmp_path: Path
) -> None:
    owner = tu.Owner(
        made(tmp_path), ledger, unit="user", rows_per_unit=1, columns={"user": "integer"}
    )
    assert counts(owner, HOUR) == [0, len(IDS), 0, 0]
    groups = owner.prepared(tu.SortedCounts(99, by="user"), None, False)()
    assert groups.tolist() == ONES
    ids = tu.Axis.integers("user", 2**53, 2**53 + 1)
    assert counts(owner, ids) == [1, 1]


def test_a_path_that_is_there_is_read_as_it_stands(ledger: tu.Ledger, tmp_path: Path) -> None:
    def table(hours: list[int]) -> pa.Table:
        return pa.table({"hour": hours})

    pq.write_table(table([1]), tmp_path / "t[1].parquet")
    pq.write_table(table([2, 2]), tmp_path / "t1.parquet")
    for name, text in (("t[2].csv", "hour\n1\n"), ("t2.csv", "hour\n2\n2\n")):
        (tmp_path / name).write_text(text)
    for name, text in (("t*.jsonl", '{"hour":1}\n'), ("t3.jsonl", '{"hour":2}\n')):
        (tmp_path / name).write_text(text)
    for name in ("t[1].parquet", "t[2].csv", "t*.jsonl"):
        assert counts(tu.Owner(str(tmp_path / name), ledger), HOUR) == [0, 1, 0, 0]
