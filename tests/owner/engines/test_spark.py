"""Spark: no value, statistic, collation or setting changes what a count does."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.errors import InputError, SourceError
from trueup.owner import where as filters

Session = Callable[[], Any]
LEAST, MOST = -(2**63), 2**63 - 1


@pytest.fixture
def read(spark: Session, tmp_path: Path) -> Callable[..., Any]:
    """A DataFrame over a Parquet file as pyarrow writes it, statistics and all."""

    def frame(columns: dict[str, Any], **options: Any) -> Any:
        path = tmp_path / f"{os.urandom(6).hex()}.parquet"
        pq.write_table(pa.table(columns), path, **options)
        return spark().read.parquet(str(path))

    return frame


def counts(owner: tu.Owner, axis: tu.Axis, where: str | None = None) -> list[int]:
    part = None if where is None else filters.parse(where)
    return owner.prepared(tu.CellCounts(axis), part, False)().tolist()


NAN = float("nan")
REAL = [
    tu.Axis.edges("x", [0, 10, 50, 100]),
    tu.Axis.regular("x", 0, 128, bins=8),
    tu.Axis.integers("x", 0, 99),
]


def test_statistics_that_leave_nan_out_move_no_count(
    read: Callable[..., Any], ledger: tu.Ledger
) -> None:
    fares = [5.0] * 10 + [20.0] * 10 + [70.0] * 10
    for axis, where in zip(
        [*REAL, REAL[0]], [None, "x > 0", "x != 3", "not x in (3, 4)"], strict=True
    ):
        expected = axis.count(np.array(fares)).tolist()
        for odd in ([NAN] * 100, [NAN] * 100 + [500.0], [NAN, np.inf, None]):
            frame = read({"x": pa.array(fares + odd, pa.float64())})
            assert counts(tu.Owner(frame, ledger), axis, where) == expected, (axis, odd[:1])


def texts(values: Sequence[bytes | None]) -> pa.Array:
    """Text as a careless writer leaves it: bytes that may be no UTF-8."""
    return pa.array(values, pa.binary()).view(pa.string())


DAYS = [-(2**31), 2**31 - 1, -719162, 10**8, -(10**8), 106_751_991, -106_751_992]
MOMENTS = [LEAST, LEAST + 1, MOST, -(10**17) * 9, 10**17 * 9, -62135596800000001]
EXACT = [Decimal(1).scaleb(-18), Decimal(10**20 - 1), -Decimal(10**20 - 1), None]
FLOATS = [NAN, np.inf, -np.inf, None, 1.7e308, -1.7e308, -5e-324, 2.0**63, -(2.0**63), 500.5]
TEXTS = [b"\xff\xfe", b"A\xff", b"a", b"A ", b"", None, b"\0", b"10.0.0.7\n", b"\xed\xa0\x80"]
TEXTS += [b"9" * 40 + b".0.0.1", b"A" * 1_000_000, b"10.0.0.7\xff"]
YEAR = [tu.Axis.dates("x", "2020", "2020", unit) for unit in ("day", "month")]
DAY, SECOND = 18321, 18321 * 86_400_000_000  # 2020-02-29
ODD: dict[str, tuple[Callable[[list[Any]], pa.Array], list[Any], list[Any], list[tu.Axis], str]] = {
    "double": (lambda v: pa.array(v, pa.float64()), [5.0, 70.0], FLOATS, REAL, "x != 3"),
    "float": (lambda v: pa.array(v, pa.float32()), [5.0, 70.0], FLOATS[:4], REAL, "x < 99"),
    "decimal(38, 18)": (
        lambda v: pa.array(v, pa.decimal128(38, 18)),
        [Decimal(5), Decimal(70)],
        EXACT[1:],
        REAL,
        "x != 3",
    ),
    "decimal(38, 0)": (
        lambda v: pa.array(v, pa.decimal128(38, 0)),
        [Decimal(5), Decimal(70)],
        [Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(2**63), Decimal(LEAST - 1), None],
        REAL,
        "x < 99",
    ),
    "bigint": (lambda v: pa.array(v, pa.int64()), [5, 70], [LEAST, MOST, None, -1], REAL, "x != 3"),
    "tinyint": (lambda v: pa.array(v, pa.int8()), [5, 70], [-128, 127, None], REAL[::2], "x < 99"),
    "date": (
        lambda v: pa.array(v, pa.int32()).view(pa.date32()),
        [DAY],
        DAYS,
        YEAR,
        "x > '2019-01-01'",
    ),
    "timestamp": (
        lambda v: pa.array(v, pa.int64()).view(pa.timestamp("us", "UTC")),
        [SECOND],
        MOMENTS,
        YEAR,
        "x > '2019-01-01'",
    ),
    "timestamp_ntz": (
        lambda v: pa.array(v, pa.int64()).view(pa.timestamp("us")),
        [SECOND],
        MOMENTS,
        YEAR,
        "x != '2019-01-01'",
    ),
    "string": (
        texts,
        [b"A", "Ä".encode(), b"10.0.0.7"],
        TEXTS,
        [tu.Axis.categories("x", ["A", "Ä", "B"]), tu.Axis.ipv4("x", "10.0.0.0/8", 16)],
        "x != 'z'",
    ),
}


@pytest.mark.parametrize("kind", ODD)
def test_a_column_on_the_axis_but_for_odd_values_is_counted_as_without_them(
    kind: str, read: Callable[..., Any], ledger: tu.Ledger
) -> None:
    typed, usual, odd, axes, where = ODD[kind]
    alone = usual * 40
    units = [f"u{n}" for n in range(len(alone))]
    plain = read({"x": typed(alone), "who": units})
    beside = read({"x": typed(alone + odd), "who": [*units, *["odd"] * len(odd)]})
    assert kind.startswith(("date", "string")) or plain.schema["x"].dataType.simpleString() == (
        kind.replace(" ", "")
    )
    for axis in axes:
        expected = counts(tu.Owner(plain, ledger), axis)
        assert sum(expected) >= 40
        owner = tu.Owner(beside, ledger)
        assert counts(owner, axis) == expected, axis
        assert counts(owner, axis, where) == expected, axis
    bound = tu.Owner(beside, ledger, unit="who", rows_per_unit=1)
    assert counts(bound, axis) == expected
    if kind == "double":  # NaN and null are neither above 1 nor different from 3
        for where, kept in (("x > 1", 4), ("x != 3", 8), ("not x in (3, 4)", 8)):
            assert counts(owner, tu.Axis.categories("who", ["odd"]), where) == [kept]
    odd_unit = {"x": "text"} if kind == "string" else {"x": "integer"}
    if kind.startswith(("double", "decimal", "bigint", "string")):  # odd values as names of units
        named = tu.Owner(
            beside, ledger, unit="x", rows_per_unit=1, columns={**odd_unit, "who": "text"}
        )
        assert sum(counts(named, tu.Axis.categories("who", ["odd", "u0"]))) > 0


def test_tiny_values_stop_no_count(read: Callable[..., Any], ledger: tu.Ledger) -> None:
    owner = tu.Owner(read({"x": [5e-324, 1e-310, 127.0, -0.0]}), ledger)
    assert counts(owner, tu.Axis.regular("x", 0, 128, bins=10)) == [3, *[0] * 8, 1]
    assert counts(owner, tu.Axis.edges("x", [0, 5e-324, 1e-310, 1])) == [1, 1, 1]
    assert counts(owner, tu.Axis.edges("x", [-1, -0.0, 1])) == [0, 3]


def test_bins_are_numpys_beside_every_edge(read: Callable[..., Any], ledger: tu.Ledger) -> None:
    for low, high, bins in [(0, 1, 10), (-5, 5, 77), (0, 24, 1440), (1e15, 1e15 + 64, 64)]:
        axis = tu.Axis.regular("x", low, high, bins)
        edges = axis.cells.edges_at(np.arange(bins + 1))
        beside = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
        assert counts(tu.Owner(read({"x": beside}), ledger), axis) == axis.count(beside).tolist()


def test_the_last_day_is_a_day(read: Callable[..., Any], ledger: tu.Ledger) -> None:
    last = pa.array([253_402_300_799_999_999, 253_402_300_800_000_000], pa.int64())
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        owner = tu.Owner(read({"x": last.view(kind)}), ledger)
        assert counts(owner, tu.Axis.dates("x", "9999-12-30", "9999-12-31")) == [0, 1]


def test_a_decimal_beside_a_whole_number_is_not_it(
    read: Callable[..., Any], ledger: tu.Ledger
) -> None:
    for scale in (4, 18, 30, 37):
        least, less = f"0.{'1':0>{scale}}", f"0.{'9' * scale}"
        values = [*map(Decimal, ("1", f"1{least[1:]}", less, "0", f"-{least}", least))]
        frame = read({"x": pa.array(values, pa.decimal128(38, scale))})
        assert counts(tu.Owner(frame, ledger), tu.Axis.integers("x", 0, 1)) == [1, 1], scale
        labels = tu.Axis.categories("x", [0, 1])
        assert counts(tu.Owner(frame, ledger), labels) == [1, 1], scale


def test_ids_are_exact_to_their_last_digit(read: Callable[..., Any], ledger: tu.Ledger) -> None:
    ids = [10**17 + 1, 10**17 + 2, 10**17 + 3, MOST, MOST - 1, LEAST, LEAST + 1]
    whos = [one for one in ids for _ in range(3)]
    cells = [0, 1, 2] * len(ids)
    for kind in (pa.int64(), pa.decimal128(38, 0), pa.decimal128(38, 19), pa.decimal128(20, 1)):
        exact = whos if kind == pa.int64() else [Decimal(one) for one in whos]
        frame = read({"who": pa.array(exact, kind), "cell": cells})
        owner = tu.Owner(frame, ledger, unit="who", rows_per_unit=1, columns={"who": "integer"})
        axis = tu.Axis.integers("cell", 0, 2)
        assert sum(counts(owner, axis)) == len(ids), kind
        assert sum(counts(owner, axis, f"who in ({10**17 + 2}, {MOST})")) == 2, kind


def test_labels_units_and_groups_are_bytes_whatever_the_collation(
    spark: Session, ledger: tu.Ledger
) -> None:
    rows = [("A", "ana"), ("a", "ANA"), ("Ä", "ána"), ("A", "ana"), ("A ", "ana ")]
    plain = spark().createDataFrame(rows, "label string, who string").repartition(2)
    for collation in ("UTF8_LCASE", "UNICODE_CI_AI", "UTF8_BINARY_RTRIM"):
        frame = plain.selectExpr(*(f"collate({c}, '{collation}') AS {c}" for c in ("label", "who")))
        assert f"collate {collation}" in frame.schema["label"].dataType.simpleString()
        labels = tu.Axis.categories("label", ["A", "Ä", "B"])
        owner = tu.Owner(frame, ledger)
        assert counts(owner, labels) == [2, 1, 0], collation
        assert counts(owner, labels, "label != 'a' and not label in ('ä')") == [2, 1, 0], collation
        sizes = owner.prepared(tu.SortedCounts(5, by="who"), None, False)().tolist()
        assert sorted(sizes) == [1, 1, 1, 2], collation
        bound = tu.Owner(frame, ledger, unit="who", rows_per_unit=1)
        assert sum(counts(bound, tu.Axis.categories("label", ["A", "a", "Ä", "A "]))) == 4, (
            collation
        )


def test_what_cannot_be_read_is_refused_by_its_type(spark: Session, ledger: tu.Ledger) -> None:
    kinds = ["binary", "array<int>", "map<string,int>", "struct<a:int>", "variant"]
    kinds += ["interval day", "interval year"]
    for kind in kinds:
        owner = tu.Owner(spark().createDataFrame([], f"x {kind}, y int"), ledger)
        for axis in (
            tu.Axis.integers("x", 0, 9),
            tu.Axis.categories("x", ["A"]),
            tu.Axis.dates("x", "2020", "2021"),
            tu.Axis.ipv4("x"),
            tu.Axis.regular("x", 0, 1, 2),
        ):
            with pytest.raises(SourceError, match=r"Column 'x' holds .*, where .* needed"):
                owner.measure(tu.CellCounts(axis), 1)
        with pytest.raises(SourceError, match="whose type was not declared"):
            owner.measure(tu.CellCounts(tu.Axis.integers("y", 0, 9)), 1, where="x = 1")
    with pytest.raises(InputError, match="Give a Spark DataFrame"):
        tu.Owner(spark(), ledger)
    assert ledger.spent == 0


def test_text_may_hold_anything(spark: Session, ledger: tu.Ledger) -> None:
    strange = ["\0", "a\0b", "\\", "\\u0041", "'", '"', "%s", "{x}", "日本", "\n", "--", "${x}"]
    name = 'it\'s "a" `c`.d; {drop}'
    column = "`" + name.replace("`", "``") + "`"
    frame = spark().createDataFrame([(one,) for one in strange], f"{column} string")
    owner = tu.Owner(frame, ledger)
    assert counts(owner, tu.Axis.categories(name, strange)) == [1] * len(strange)
    quoted = '"' + name.replace('"', '""') + '"'
    for one in strange:
        where = f"{quoted} = '" + one.replace("'", "''") + "'"
        assert sum(counts(owner, tu.Axis.categories(name, strange), where)) == 1, one


def test_two_columns_whose_names_differ_in_case_are_two(
    read: Callable[..., Any], spark: Session, ledger: tu.Ledger
) -> None:
    spark().conf.set("spark.sql.caseSensitive", "true")
    try:
        owner = tu.Owner(read({"x": [1, 1], "X": [2, 3]}), ledger)
    finally:
        spark().conf.unset("spark.sql.caseSensitive")
    assert counts(owner, tu.Axis.integers("x", 1, 3)) == [2, 0, 0]
    assert counts(owner, tu.Axis.integers("X", 1, 3), "x = 1") == [0, 1, 1]


# Settings.

HOSTILE = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.parquet.filterPushdown": "true",
    "spark.sql.parquet.aggregatePushdown": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "EXCEPTION",
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.optimizer.maxIterations": "3",
}


def test_no_setting_of_the_session_changes_a_count_and_all_are_left_as_they_were(
    read: Callable[..., Any], spark: Session, ledger: tu.Ledger
) -> None:
    frame = read(
        {
            "t": pa.array([SECOND, SECOND + 1, LEAST, MOST], pa.int64()).view(pa.timestamp("us")),
            "d": pa.array([DAY, DAY, -(2**31), 2**31 - 1], pa.int32()).view(pa.date32()),
            "f": [0.1, 0.3, NAN, 1e300],
            "m": pa.array(
                [Decimal("0.1"), None, Decimal("1e20"), Decimal(3)], pa.decimal128(38, 10)
            ),
            "a": ["10.0.0.1", "10.0.0.1\n", "x" * 99, None],
        }
    )
    asked = [
        (tu.Axis.dates("t", "2020-02-28", "2020-03-01"), "d < '2021-01-01'"),
        (tu.Axis.dates("d", "2020-02-28", "2020-03-01"), None),
        (tu.Axis.edges("f", [0, 0.1, 0.3, 1]), "not f = 0.2"),
        (tu.Axis.regular("f", 0, 1, 10), None),
        (tu.Axis.integers("m", 0, 5), "m < 1e30"),
        (tu.Axis.ipv4("a", "10.0.0.0/8", 32 - 16), None),
    ]
    expected = [counts(tu.Owner(frame, ledger), *one) for one in asked]
    assert all(sum(one) for one in expected)
    session = spark()
    before = {name: session.conf.get(name, None) for name in HOSTILE}
    try:
        for name, value in HOSTILE.items():
            session.conf.set(name, value)
        assert [counts(tu.Owner(frame, ledger), *one) for one in asked] == expected
        assert {name: session.conf.get(name) for name in HOSTILE} == HOSTILE
        # Two that count at once: neither gives the settings back under the other.
        found: list[list[int]] = []
        both = [
            threading.Thread(
                target=lambda: found.append(counts(tu.Owner(frame, ledger), *asked[4]))
            )
            for _ in range(3)
        ]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert found == [expected[4]] * 3
        assert {name: session.conf.get(name) for name in HOSTILE} == HOSTILE
    finally:
        for name, value in before.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)


# Whose rows count.


@pytest.mark.parametrize(("unit", "axis"), [("who", "cell"), ("number", "label")])
def test_the_rows_of_a_unit_are_the_first_by_a_keyed_hash(
    unit: str,
    axis: str,
    read: Callable[..., Any],
    ledger: tu.Ledger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [(f"ü{n % 7}", n % 7 - 3, n % 5, f"c{n % 5}") for n in range(140)]
    names = ("who", "number", "cell", "label")
    frame = read(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    owner = tu.Owner(frame, ledger, unit=unit, rows_per_unit=3)
    labels = tu.Axis.categories("label", [f"c{n}" for n in range(5)])
    over = tu.Axis.integers("cell", 0, 4) if axis == "cell" else labels
    for key in ("00" * 32, "ab" * 32):
        monkeypatch.setattr("trueup.owner.declared.secrets.token_hex", lambda size, key=key: key)
        expected = [0] * 5
        for name in {row[names.index(unit)] for row in rows}:
            seen: dict[int, int] = {}
            places = []
            for row in rows:
                if row[names.index(unit)] == name:
                    seen[row[2]] = seen.get(row[2], 0) + 1
                    place = _place(key, name, row[names.index(axis)], seen[row[2]])
                    places.append((place, row[2]))
            for _, cell in sorted(places)[:3]:
                expected[cell] += 1
        assert counts(owner, over) == expected


def _place(key: str, unit: Any, cell: Any, number: int) -> bytes:
    """The hash of a row, as the docs say it."""
    parts = [bytes.fromhex(key)]
    parts += [n.to_bytes(8, "big", signed=True) for n in (number, unit, cell) if isinstance(n, int)]
    parts += [hashlib.sha256(t.encode()).digest() for t in (unit, cell) if isinstance(t, str)]
    return hashlib.sha256(b"".join(parts)).digest()


def test_two_measurements_choose_other_rows_of_those_that_the_filter_keeps(
    read: Callable[..., Any], ledger: tu.Ledger
) -> None:
    units, cells = [n % 20 for n in range(1000)], [n // 20 for n in range(1000)]
    owner = tu.Owner(read({"who": units, "cell": cells}), ledger, unit="who", rows_per_unit=1)
    axis = tu.Axis.integers("cell", 0, 49)
    # The same 20 of 50 once in 10^33.
    assert counts(owner, axis) != counts(owner, axis)
    assert counts(owner, axis, "cell = 7")[7] == 20
    assert counts(owner, tu.Axis.integers("cell", 7, 7)) == [20]


# A cluster that fails.


def test_a_count_that_failed_can_be_run_again(
    spark: Session, ledger: tu.Ledger, tmp_path: Path
) -> None:
    path, away = tmp_path / "t.parquet", tmp_path / "away"
    pq.write_table(pa.table({"x": [1, 1, 2]}), path)
    owner = tu.Owner(spark().read.parquet(str(path)), ledger)
    count = owner.prepared(tu.CellCounts(tu.Axis.integers("x", 1, 2)), None, False)
    path.rename(away)
    with pytest.raises(Exception, match="does not exist"):
        count()
    away.rename(path)
    assert count().tolist() == [2, 1]


STOPPED = """
import sys
from pyspark.sql import SparkSession
import trueup as tu

session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
ledger = tu.Ledger(sys.argv[1], limit=1)
owner = tu.Owner(session.range(3), ledger)
session.stop()
try:
    owner.measure(tu.CellCounts(tu.Axis.integers("id", 0, 2)), 1)
except tu.SourceError as error:
    print("refused:", error, "spent:", ledger.spent)
"""


def test_a_cluster_that_is_gone_costs_nothing(spark: Session, tmp_path: Path) -> None:
    spark()  # or the test is skipped
    command = [sys.executable, "-c", STOPPED, str(tmp_path / "ledger")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.strip().endswith("no longer as it was. spent: 0")
