"""PostgreSQL: no value, collation or setting changes what a count does; a lost server is found."""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trueup as tu
from trueup.errors import InputError, SourceError
from trueup.owner import where as filters

from .postgres_tables import Server, counts, made, owned, run

FLOATS = ["'NaN'", "'inf'", "'-inf'", "NULL", "5e-324", "-5e-324", "1.7e308", "-1.7e308", "500"]
EXACT = ["'NaN'", "'Infinity'", "'-Infinity'", "NULL", "1e400", "-1e400", "1e-400", "1e-16000"]
EXACT += ["1e130000", "18446744073709551617", "9223372036854775808", "500.00000000000000000001"]
DAYS = ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "NULL"]
MOMENTS = [*DAYS, "'294276-12-31 23:59:59.999999Z'"]
TEXTS = [
    "NULL",
    "''",
    "'a'",
    "'A '",
    r"E'\x01'",
    "'Ａ'",
    "repeat('A', 3000000)",
    "'10.0.0.1' || chr(10)",
]
TEXTS += ["'999.0.0.1'", "'9' || repeat('9', 40) || '.0.0.1'"]
REAL = [
    tu.Axis.edges("x", [1, 10, 50, 100]),
    tu.Axis.regular("x", 1, 100, bins=10),
    tu.Axis.regular("x", 1, 300, bins=7),
    tu.Axis.integers("x", 1, 99),
]
TIMES = [tu.Axis.dates("x", "2020", "2020", unit) for unit in ("day", "week", "month", "hour")]
AXES: list[tuple[str, list[str], list[str], list[tu.Axis], list[str]]] = [
    ("float8", ["5", "20", "70"], FLOATS, REAL, ["x > 1", "x != 3", "not x in (3, 4)"]),
    ("float4", ["5", "20", "70"], FLOATS[:4], REAL, ["x > 1", "x != 3"]),
    ("numeric", ["5", "20", "70"], EXACT, REAL, ["x > 1", "x != 3", "not x in (3, 4)"]),
    ("numeric(30, 12)", ["5", "20", "70"], ["'NaN'", "1e17", "-1e17"], REAL, ["x < 1e9"]),
    ("int2", ["5", "20", "70"], ["NULL", "32767", "-32768"], REAL, ["x != 3"]),
    (
        "int8",
        ["5", "20", "70"],
        ["NULL", "9223372036854775807", "-9223372036854775808"],
        [*REAL, tu.Axis.ipv4("x", "0.0.0.0/24", 28), tu.Axis.categories("x", [5, 20, 70])],
        ["x != 3"],
    ),
    ("date", ["'2020-02-29'"], [*DAYS, "'5874897-12-31'"], TIMES, ["x >= '2020-01-01'"]),
    ("timestamp", ["'2020-02-29'"], MOMENTS, TIMES, ["x >= '2020-01-01'", "x != '2019-01-01'"]),
    ("timestamptz", ["'2020-02-29 00:00Z'"], MOMENTS, TIMES, ["x >= '2020-01-01'"]),
    (
        "text",
        ["'A'", "'B'", "'10.0.0.7'"],
        TEXTS,
        [tu.Axis.categories("x", ["A", "B", "Ä"]), tu.Axis.ipv4("x", "10.0.0.0/8", 16)],
        ["x != 'z'", "not x in ('y', 'z')"],
    ),
]


@pytest.mark.parametrize(("kind", "usual", "odd", "axes", "wheres"), AXES, ids=[a[0] for a in AXES])
def test_a_column_on_the_axis_but_for_one_value_is_counted_as_without_it(
    kind: str,
    usual: list[str],
    odd: list[str],
    axes: list[tu.Axis],
    wheres: list[str],
    postgres: Server,
    ledger: tu.Ledger,
) -> None:
    columns, user = f"x {kind}, who text", "'u' || generate_series(1, 40)"
    plain = [f"{value}::{kind}, {user}" for value in usual]
    alone = owned(postgres(), made(postgres(), columns, plain), ledger)
    asked = [
        (axis, where) for axis in axes for where in (None, wheres[axes.index(axis) % len(wheres)])
    ]
    expected = [counts(alone, *one) for one in asked]
    assert all(40 <= sum(one) <= 40 * len(usual) for one in expected)
    for value in odd:
        table = made(postgres(), columns, [*plain, f"{value}, 'odd'"])
        beside = owned(postgres(), table, ledger)
        assert [counts(beside, *one) for one in asked] == expected, value
        if value in ("'NaN'", "NULL"):  # neither above 1 nor different from 3
            found = [counts(beside, tu.Axis.categories("who", ["odd"]), one) for one in wheres]
            assert found == [[0]] * len(wheres), value
        bound = owned(postgres(), table, ledger, unit="who", rows_per_unit=2)
        assert sum(counts(bound, axes[0])) == 40 * min(2, len(usual), sum(expected[0]) // 40)


def test_tiny_values_stop_no_count(postgres: Server, ledger: tu.Ledger) -> None:
    # PostgreSQL raises an error where a product of floats is too small to be one.
    owner = owned(postgres(), made(postgres(), "x float8", ["5e-324", "1e-310", "127"]), ledger)
    assert counts(owner, tu.Axis.regular("x", 0, 128, bins=10)) == [2, *[0] * 8, 1]
    assert counts(owner, tu.Axis.regular("x", 0, 1e300, bins=3)) == [3, 0, 0]
    assert counts(owner, tu.Axis.regular("x", -1e-300, 1e-300, bins=5)) == [0, 0, 2, 0, 0]
    # So many bins are found by arithmetic.
    for high in (128, 1e5, 1e300):
        assert counts(owner, tu.Axis.regular("x", 0, high, bins=20_000))[0] >= 2
    assert counts(owner, tu.Axis.regular("x", -1e-300, 1e-300, bins=20_001))[10_000] == 2


def test_bins_are_numpys_beside_every_edge(postgres: Server, ledger: tu.Ledger) -> None:
    import numpy as np

    sizes = [(0, 1, 10), (-5, 5, 77), (0, 24, 1440), (1e15, 1e15 + 64, 64), (-5, 5, 77_777)]
    for low, high, bins in sizes:
        axis = tu.Axis.regular("x", low, high, bins)
        edges = axis.cells.edges_at(np.arange(0, bins + 1, max(1, bins // 500)))
        beside = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
        table = made(postgres(), "x float8", [repr(float(value)) for value in beside])
        expected = axis.count(beside).tolist()
        assert counts(owned(postgres(), table, ledger), axis) == expected, axis


def test_labels_units_and_groups_are_bytes_whatever_the_collation(
    postgres: Server, ledger: tu.Ledger
) -> None:
    run(
        postgres(),
        "CREATE EXTENSION IF NOT EXISTS citext",
        "CREATE COLLATION IF NOT EXISTS blind "
        "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
    )
    rows = ["'A', 'ana'", "'a', 'ANA'", "'Ä', 'ána'", "'A', 'ana'"]
    for kind in ("citext", "text COLLATE blind", "varchar(9) COLLATE blind", "text"):
        table = made(postgres(), f"label {kind}, who {kind}", rows)
        owner = owned(postgres(), table, ledger)
        labels = tu.Axis.categories("label", ["A", "Ä", "B"])
        assert counts(owner, labels) == [2, 1, 0], kind
        assert counts(owner, labels, "label = 'a'") == [0, 0, 0], kind
        assert counts(owner, labels, "label != 'a'") == [2, 1, 0], kind
        assert counts(owner, labels, "not label in ('a', 'Ä')") == [2, 0, 0], kind
        sizes = owner.prepared(tu.SortedCounts(4, by="who"), None, False)().tolist()
        assert sorted(sizes) == [1, 1, 2], kind
        bound = owned(postgres(), table, ledger, unit="who", rows_per_unit=1)
        assert sum(counts(bound, tu.Axis.categories("label", ["A", "a", "Ä"]))) == 3, kind
        address = made(postgres(), f"x {kind}", ["'10.0.0.1'", "'x'"])
        assert counts(owned(postgres(), address, ledger), tu.Axis.ipv4("x", "10.0.0.0/8", 8)) == [1]


def test_ids_are_exact_to_their_last_digit(postgres: Server, ledger: tu.Ledger) -> None:
    ids = [10**17 + 1, 10**17 + 2, 10**17 + 3, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1]
    rows = [f"{one}, {cell}" for one in ids for cell in (0, 1, 2)]
    for kind in ("int8", "numeric", "numeric(40, 20)"):
        table = made(postgres(), f"who {kind}, cell int", rows)
        columns = {"who": "integer"}
        owner = owned(postgres(), table, ledger, unit="who", rows_per_unit=1, columns=columns)
        assert sum(counts(owner, tu.Axis.integers("cell", 0, 2))) == len(ids), kind
        for one in ids:
            found = counts(owner, tu.Axis.integers("cell", 0, 2), f"who = {max(one, 1 - 2**63)}")
            assert sum(found) == 1, (kind, one)
        sizes = owned(postgres(), table, ledger, columns=columns).prepared(
            tu.SortedCounts(9, by="who"), None, False
        )()
        assert sizes.tolist() == [3] * len(ids)


def test_a_decimal_beside_a_whole_number_is_not_it(postgres: Server, ledger: tu.Ledger) -> None:
    rows = ["1", "1.0000", "1.0000000000000000000000000000000001", "0.99999999999999999999", "-0.0"]
    owner = owned(postgres(), made(postgres(), "x numeric", rows), ledger)
    assert counts(owner, tu.Axis.integers("x", 0, 1)) == [1, 2]
    assert counts(owner, tu.Axis.categories("x", [0, 1])) == [1, 2]


def test_domains_enums_and_uuids_are_what_they_hold(postgres: Server, ledger: tu.Ledger) -> None:
    name = "d" + os.urandom(4).hex()
    run(
        postgres(),
        f"CREATE DOMAIN {name}_small AS int CHECK (value < 1000)",
        f"CREATE DOMAIN {name}_smaller AS {name}_small CHECK (value < 100)",
        f"CREATE TYPE {name}_mood AS ENUM ('sad', 'glad')",
        f"CREATE DOMAIN {name}_felt AS {name}_mood",
    )
    sort = f"x {name}_smaller, mood {name}_mood, felt {name}_felt, id uuid, word char(5), n name"
    row = "7, 'glad', 'sad', '00000000-0000-0000-0000-00000000000a', 'ab', 'n'"
    owner = owned(
        postgres(), made(postgres(), sort, [row, row, "NULL, NULL, NULL, NULL, NULL, NULL"]), ledger
    )
    assert counts(owner, tu.Axis.integers("x", 5, 8)) == [0, 0, 2, 0]
    assert counts(owner, tu.Axis.categories("mood", ["glad", "unheard of"])) == [2, 0]
    assert counts(owner, tu.Axis.categories("felt", ["sad", "glad"])) == [2, 0]
    assert counts(owner, tu.Axis.categories("word", ["ab", "ab   "])) == [2, 0]
    assert counts(owner, tu.Axis.categories("n", ["n"]), "mood = 'glad' and felt != 'glad'") == [2]
    uuid = "00000000-0000-0000-0000-00000000000a"
    assert counts(owner, tu.Axis.categories("id", [uuid, uuid.upper()])) == [2, 0]


@pytest.mark.parametrize(
    "kind",
    ["inet", "money", "bytea", "jsonb", "interval", "time", "int[]", "oid", '"char"', "int4range"],
)
def test_what_cannot_be_read_is_refused_by_its_type(
    kind: str, postgres: Server, ledger: tu.Ledger
) -> None:
    owner = owned(postgres(), made(postgres(), f"x {kind}, y int", []), ledger)
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
    with pytest.raises(SourceError, match=r"Column 'x' holds"):
        owned(postgres(), made(postgres(), f"x {kind}", []), ledger, unit="x", rows_per_unit=1)
    assert ledger.spent == 0


def test_a_foreign_table_is_refused_and_a_view_is_read(
    postgres: Server, ledger: tu.Ledger, tmp_path: Path
) -> None:
    name = made(postgres(), "x int", ["1", "2"])
    run(postgres(), f"CREATE VIEW v{name} AS SELECT x + 1 AS x FROM {name}")
    assert counts(owned(postgres(), f"v{name}", ledger), tu.Axis.integers("x", 0, 3)) == [
        0,
        0,
        1,
        1,
    ]
    run(
        postgres(),
        "CREATE EXTENSION IF NOT EXISTS file_fdw",
        "CREATE SERVER IF NOT EXISTS files FOREIGN DATA WRAPPER file_fdw",
        f"CREATE FOREIGN TABLE f{name} (x int) SERVER files OPTIONS (filename '/dev/null')",
    )
    with pytest.raises(SourceError, match="foreign table"):
        owned(postgres(), f"f{name}", ledger)


def test_names_may_hold_anything(postgres: Server, ledger: tu.Ledger) -> None:
    import psycopg

    name = 'it\'s "a" %s `t`; drop'
    quoted = '"' + name.replace('"', '""') + '"'
    run(
        postgres(),
        f"CREATE SCHEMA IF NOT EXISTS {quoted}",
        f"DROP TABLE IF EXISTS {quoted}.{quoted}",
        f"CREATE TABLE {quoted}.{quoted} ({quoted} int)",
        f"INSERT INTO {quoted}.{quoted} VALUES (1), (1), (2)",
    )
    owner = owned(postgres(), f"{name}.{name}", ledger)
    assert counts(owner, tu.Axis.integers(name, 1, 2), f"{quoted} < 2") == [2, 0]
    strange = [
        name,
        "\\",
        "\\'",
        "'\\",
        "''",
        "%s",
        "\\x41",
        "\\101",
        "$$",
        "\n",
        "\x01",
        "', '",
        "--",
        "",
    ]
    table = made(postgres(), "x text", [])
    with psycopg.connect(postgres()) as connection:
        connection.cursor().executemany(f"INSERT INTO {table} VALUES (%s)", [(t,) for t in strange])
    owner = owned(postgres(), table, ledger)
    labels = tu.Axis.categories("x", strange)
    assert counts(owner, labels) == [1] * len(strange)
    for place, text in enumerate(strange):
        found = counts(owner, labels, "x = '" + text.replace("'", "''") + "'")
        assert found == [int(place == other) for other in range(len(strange))], text


def test_a_long_text_is_a_text(postgres: Server, ledger: tu.Ledger) -> None:
    # Four bytes a letter, as a regular expression has them, are more than a query may take at once.
    table = made(postgres(), "x text, y int", ["'10.0.0.1', 1", "repeat('1', 300000000), 1"])
    owner = owned(postgres(), table, ledger)
    assert counts(owner, tu.Axis.ipv4("x", "10.0.0.0/8", 8)) == [1]
    assert counts(owner, tu.Axis.categories("x", ["10.0.0.1"]), "x != 'z'") == [1]
    bound = owned(postgres(), table, ledger, unit="x", rows_per_unit=1)
    assert counts(bound, tu.Axis.integers("y", 0, 1)) == [0, 2]
    sizes = owner.prepared(tu.SortedCounts(3, by="x"), None, False)().tolist()
    assert sizes == [1, 1]
    run(postgres(), f"DROP TABLE {table}")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1", "EUC_JP"])
def test_a_database_may_write_text_in_its_own_way(
    encoding: str, postgres: Server, ledger: tu.Ledger
) -> None:
    name = encoding.lower()
    run(postgres(), f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0")
    address = postgres().replace("/postgres?", f"/{name}?")
    rows = ["'a', 'a'", "'b', 'b'"]
    if encoding != "EUC_JP":
        rows += ["E'\\xe4', E'\\xe4'", "E'\\xff', E'\\xff'"]  # the first is ä in LATIN1
    owner = owned(
        address, made(address, "x text, who text", rows), ledger, unit="who", rows_per_unit=1
    )
    assert counts(owner, tu.Axis.categories("x", ["a"]), "x != 'b'") == [1]
    assert sum(owner.prepared(tu.SortedCounts(5, by="x"), None, False)()) == len(rows)
    assert counts(owner, tu.Axis.categories("x", ["ä"])) == [encoding == "LATIN1"]
    smile = tu.Axis.categories("x", ["🙂"])
    if encoding == "SQL_ASCII":  # any bytes will do
        assert counts(owner, smile) == [0]
    else:
        with pytest.raises(InputError, match="a letter that the database cannot"):
            owner.measure(tu.CellCounts(smile), 1)
        assert ledger.spent == 0


def test_a_record_more_or_another_moves_the_counts_by_its_price(
    postgres: Server, ledger: tu.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(3)
    monkeypatch.setattr("trueup.owner.declared.secrets.token_hex", lambda size: "5a" * 32)
    values = [*EXACT, *FLOATS[:-1], "5", "20", "99.99999999999999999"]
    units = ["NULL", "'a'", "'A'", "'ä'", "repeat('a', 70000)"]

    def row() -> str:
        x, y = (
            rng.choice(values),
            rng.choice(["'NaN'", "NULL", "0", "-0.0", "5e-324", "1", "1e308"]),
        )
        return f"{x}, {y}::float8, {rng.choice(units)}"

    question = tu.GridCounts(
        tu.CellCounts(tu.Axis.regular("x", 1, 100, 7)),
        tu.CellCounts(tu.Axis.edges("y", [0, 5e-324, 2])),
    )
    wheres = [None, "x > 3", "not y in (1, 2)", "who != 'A'"]
    for pair in range(30):
        rows = [row() for _ in range(rng.randrange(1, 12))]
        other = [*rows, row()] if pair % 2 else [*rows[1:], row()]
        where = None if (one := wheres[pair % 4]) is None else filters.parse(one)
        bound = rng.choice([None, 1, 3])
        options = {} if bound is None else {"unit": "who", "rows_per_unit": bound}
        found = []
        for table in (rows, other):
            name = made(postgres(), "x numeric, y float8, who text", table)
            owner = owned(postgres(), name, ledger, **options)
            found.append(owner.prepared(question, where, False)())
        # A record of a unit puts one row in and may put one out; a replaced one does so twice.
        price = (1 if pair % 2 else 2) * (1 if bound is None else 2)
        assert abs(found[0] - found[1]).sum() <= price, (rows, other)


# Settings.


def test_no_setting_of_role_or_database_changes_a_count(
    postgres: Server, ledger: tu.Ledger
) -> None:
    name = "r" + os.urandom(4).hex()
    rows = [f"'2020-01-0{1 + n % 3} 23:30', {n % 3}, 'u{n % 40}', {n % 3}.1" for n in range(4000)]
    table = made(postgres(), "t timestamp, n int, who text, f float8", rows)
    run(
        postgres(),
        f"CREATE ROLE {name} LOGIN",
        f"GRANT SELECT ON {table} TO {name}",
        f"CREATE SCHEMA {name}",
        f"GRANT USAGE ON SCHEMA {name} TO {name}",
        f"CREATE FUNCTION {name}.floor(double precision) RETURNS double precision "
        "LANGUAGE sql AS 'SELECT 0::double precision'",
        f"CREATE FUNCTION {name}.sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT $1'",
        f"CREATE FUNCTION {name}.width_bucket(double precision, double precision[]) RETURNS int "
        "LANGUAGE sql AS 'SELECT 1'",
        f"CREATE FUNCTION {name}.never(double precision, double precision) RETURNS bool "
        "LANGUAGE sql AS 'SELECT false'",
        f"CREATE OPERATOR {name}.>= (LEFTARG = double precision, RIGHTARG = double precision, "
        f"FUNCTION = {name}.never)",
    )
    settings = {
        "search_path": f"{name}, public, pg_catalog",
        "timezone": "'Asia/Kathmandu'",
        "datestyle": "'SQL, DMY'",
        "statement_timeout": "'1ms'",
        "standard_conforming_strings": "off",
        "transform_null_equals": "on",
        "array_nulls": "off",
        "extra_float_digits": "-15",
        "client_encoding": "'LATIN1'",
        "default_transaction_isolation": "serializable",
        "bytea_output": "'escape'",
        "intervalstyle": "'sql_standard'",
    }
    run(postgres(), *(f"ALTER ROLE {name} SET {key} = {value}" for key, value in settings.items()))
    address = postgres().replace("//trueup@", f"//{name}@")
    for where in (None, "t < '2020-01-03'", "f >= 1.1", "who != 'ü'"):
        for axis in (
            tu.Axis.dates("t", "2020-01-01", "2020-01-04"),
            tu.Axis.regular("f", 0, 3, 30),
            tu.Axis.edges("f", [0, 1.1, 2, 3]),
            tu.Axis.categories("who", ["u1", "ü"]),
        ):
            plain = owned(postgres(), f"public.{table}", ledger)
            odd = owned(address, f"public.{table}", ledger)
            assert sum(counts(odd, axis, where)) > 0
            assert counts(odd, axis, where) == counts(plain, axis, where), (axis, where)


# Whose rows count.


def chosen(key: str, unit: str | int, cell: str | int, number: int) -> bytes:
    """The place of a row among its unit's, as the docs say it."""

    def digest(value: str) -> bytes:
        return hashlib.sha256(value.encode()).digest()

    parts = [bytes.fromhex(key), number.to_bytes(8, "big", signed=True)]
    parts += [one.to_bytes(8, "big", signed=True) for one in (unit, cell) if isinstance(one, int)]
    parts += [digest(one) for one in (unit, cell) if isinstance(one, str)]
    return hashlib.sha256(b"".join(parts)).digest()


@pytest.mark.parametrize("unit", ["who", "number"])
@pytest.mark.parametrize("axis", ["cell", "label"])
def test_the_rows_of_a_unit_are_the_first_by_a_keyed_hash(
    unit: str, axis: str, postgres: Server, ledger: tu.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(f"ü{n % 7}", n % 7 - 3, n % 5, f"c{n % 5}") for n in range(140)]
    written = [f"'{who}', {number}, {cell}, '{label}'" for who, number, cell, label in rows]
    table = made(postgres(), "who text, number int, cell int, label text", written)
    owner = owned(postgres(), table, ledger, unit=unit, rows_per_unit=3)
    over = (
        tu.Axis.integers("cell", 0, 4)
        if axis == "cell"
        else tu.Axis.categories("label", [f"c{n}" for n in range(5)])
    )
    for key in ("00" * 32, "ab" * 32):
        monkeypatch.setattr("trueup.owner.declared.secrets.token_hex", lambda size, key=key: key)
        expected = [0] * 5
        for name in {row[0 if unit == "who" else 1] for row in rows}:
            numbered: dict[int, int] = {}
            places = []
            for row in rows:
                if row[0 if unit == "who" else 1] == name:
                    cell = row[2]
                    numbered[cell] = numbered.get(cell, 0) + 1
                    place = chosen(key, name, cell if axis == "cell" else row[3], numbered[cell])
                    places.append((place, cell))
            for _, cell in sorted(places)[:3]:
                expected[cell] += 1
        assert counts(owner, over) == expected


def test_two_measurements_choose_other_rows(postgres: Server, ledger: tu.Ledger) -> None:
    rows = [f"{n % 20}, {n // 20}" for n in range(20 * 50)]
    owner = owned(
        postgres(), made(postgres(), "who int, cell int", rows), ledger, unit="who", rows_per_unit=1
    )
    axis = tu.Axis.integers("cell", 0, 49)
    # The same 20 of 50 once in 10^33.
    assert counts(owner, axis) != counts(owner, axis)


def test_rows_are_filtered_before_they_are_bounded(postgres: Server, ledger: tu.Ledger) -> None:
    rows = [f"{n}, {cell}" for n in range(50) for cell in range(20)]
    owner = owned(
        postgres(), made(postgres(), "who int, cell int", rows), ledger, unit="who", rows_per_unit=1
    )
    assert counts(owner, tu.Axis.integers("cell", 0, 19), "cell = 7")[7] == 50
    assert counts(owner, tu.Axis.integers("cell", 7, 7)) == [50]


# Requests that a server would object to.


@pytest.mark.parametrize(
    ("labels", "where"),
    [
        (["a", "b\0c"], None),
        (["a"], "x = 'a\0'"),
        (["a"], "not x in ('b', 'a\0')"),
        (["a"], "x = '\ud800'"),
        (["a"], "x in ('a', '\udfff')"),
    ],
)
def test_what_no_text_can_hold_is_refused_before_the_charge(
    labels: list[str], where: str | None, postgres: Server, ledger: tu.Ledger
) -> None:
    owner = owned(postgres(), made(postgres(), "x text", ["'a'"]), ledger)
    with pytest.raises(InputError):
        owner.measure(tu.CellCounts(tu.Axis.categories("x", labels)), 1, where=where)
    assert ledger.spent == 0
    assert owner.measure(tu.CellCounts(tu.Axis.categories("x", ["a"])), 1000).noisy.tolist() == [1]


def test_a_table_that_is_no_longer_as_it_was_costs_nothing(
    postgres: Server, ledger: tu.Ledger
) -> None:
    question = tu.CellCounts(tu.Axis.integers("x", 0, 3))
    for change in ("ALTER TABLE {} ALTER x TYPE text", "DROP TABLE {}", "ALTER TABLE {} DROP x"):
        table = made(postgres(), "x int, y int", ["1, 1"])
        owner = owned(postgres(), table, ledger)
        run(postgres(), change.format(table))
        with pytest.raises(SourceError):
            owner.measure(question, 1)
    assert ledger.spent == 0


# A server that goes away.

ONE_TWO = tu.CellCounts(tu.Axis.integers("x", 1, 2))
BUSY = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"


def slow(address: str) -> str:
    """A view of two rows that takes a second to read."""
    table = made(address, "x int", ["1", "2"])
    run(address, f"CREATE VIEW v{table} AS SELECT x FROM {table}, (SELECT pg_sleep(1)) AS s")
    return f"v{table}"


def when_it_counts(address: str, action: Callable[[], None]) -> threading.Thread:
    """A thread that acts as soon as somebody's query is in the middle of reading."""
    import psycopg

    def act() -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            while not connection.execute(f"SELECT 1 {BUSY} AND wait_event = 'PgSleep'").fetchone():
                time.sleep(0.02)
        action()

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def test_an_owner_outlives_its_connections(postgres: Server, ledger: tu.Ledger) -> None:
    owner = owned(postgres(), made(postgres(), "x int", ["1", "2"]), ledger)
    for turn in range(3):
        assert owner.measure(ONE_TWO, 1000).noisy.tolist() == [1, 1]
        assert ledger.spent == 1000 * (turn + 1)
        run(postgres(), f"SELECT pg_terminate_backend(pid) {BUSY}")


def test_a_count_whose_connection_is_cut_is_counted_again(
    postgres: Server, ledger: tu.Ledger
) -> None:
    owner = owned(postgres(), slow(postgres()), ledger)
    address = postgres()
    cut = when_it_counts(address, lambda: run(address, f"SELECT pg_terminate_backend(pid) {BUSY}"))
    assert owner.measure(ONE_TWO, 1000).noisy.tolist() == [1, 1]
    assert ledger.spent == 1000
    cut.join()


def test_a_server_that_is_started_again_is_found_again(
    own_postgres: Any, ledger: tu.Ledger
) -> None:
    owner = owned(own_postgres.address, slow(own_postgres.address), ledger)

    def restart() -> None:
        own_postgres.stop("immediate")
        own_postgres.start()

    # Under the charge: the count begins once more.
    again = when_it_counts(own_postgres.address, restart)
    assert owner.measure(ONE_TWO, 1000).noisy.tolist() == [1, 1]
    again.join()
    # Between two requests, and before the charge.
    restart()
    assert owner.measure(ONE_TWO, 1000).noisy.tolist() == [1, 1]
    own_postgres.stop()
    with pytest.raises(SourceError, match="cannot be opened"):
        owner.measure(ONE_TWO, 1000)
    assert ledger.spent == 2000


def test_a_server_that_stays_away_keeps_the_charge_for_its_key(
    own_postgres: Any, ledger: tu.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trueup.owner.source._PAUSES", (0.1, 0.1))
    owner = owned(own_postgres.address, slow(own_postgres.address), ledger)
    gone = when_it_counts(own_postgres.address, lambda: own_postgres.stop("immediate"))
    with pytest.raises(SourceError, match="The charge stands") as refusal:
        owner.measure(ONE_TWO, 1000, "the key")
    assert refusal.value.__context__ is None
    gone.join()
    own_postgres.start()
    assert owner.measure(ONE_TWO, 1000, "the key").noisy.tolist() == [1, 1]
    assert ledger.spent == 1000
