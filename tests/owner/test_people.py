"""People: features are those of rows gone through one by one, in every engine and any order."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import os
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import trueup as tu
from trueup.errors import InputError, LedgerError
from trueup.owner import counting
from trueup.owner import people as module

ENGINES = [
    "parquet", "csv", "jsonl", "arrow file", "duckdb relation", "duckdb file", "arrow", "pandas",
    "pandas arrow", "polars", "polars lazy", "postgresql", "spark",
]  # fmt: skip
TABLES = int(os.environ.get("TRUEUP_PEOPLE_TABLES", "4"))  # in each engine; 2,000 by command
BIG = 2**63 - 1
ODD: dict[str, list[Any]] = {
    "real": [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1.7e308, 0.5, 2.5, 3.0, 0.29],
    "whole": [None, 0, 1, 2, 3, -1, BIG, -BIG - 1, 2**53 + 1, 2**53],
    "shop": [None, "", "A", "a", "Ä", "日本", "b", " A", "A"],
    "day": [None, *(dt.datetime(2020, 1, day) for day in (1, 1, 2, 3))],
}
TYPES = {"user": pa.string(), "real": pa.float64(), "whole": pa.int64(), "shop": pa.string()}
DECLARED = {"user": "text", "real": "number", "whole": "integer", "shop": "text", "day": "time"}
FEATURES = {
    "visits": tu.Person(count="*"),
    "known": tu.Person(count="real"),
    "some": tu.Person(count="*", where="real > 0.4"),
    "dear": tu.Person(any="*", where="whole >= 2"),
    "shops": tu.Person(distinct="shop"),
    "reals": tu.Person(distinct="real"),
    "least": tu.Person(min="real", where="whole >= 0"),
    "most": tu.Person(max="real"),
    "top": tu.Person(max="whole"),
    "sum": tu.Person(sum="real", low=-1, high=3, step="0.01"),
    "wholes": tu.Person(sum="whole", low=-1, high=5),
    "seen": tu.Person(min="day", where="shop != 'b'"),
    "first": tu.Person(first="shop", by="day"),
    "last": tu.Person(last="shop", by="day", where="not real > 1"),
    "newest": tu.Person(last="whole", by="day"),
}


def a_table(rng: np.random.Generator, rows: int) -> pa.Table:
    """Rows of a few people, of odd values; some people have no name."""
    users = [None, "u", "U", "ü", "u ", "v", "w"]
    drawn = {"user": [users[n] for n in rng.integers(0, len(users), rows)]}
    drawn |= {
        name: [some[n] for n in rng.integers(0, len(some), rows)] for name, some in ODD.items()
    }
    return pa.table({n: pa.array(v, TYPES.get(n, pa.timestamp("us"))) for n, v in drawn.items()})


def many_tables(rng: np.random.Generator, number: int) -> pa.Table:
    """So many random tables as one: people of different tables have different names."""
    found = []
    for place in range(number):
        table = a_table(rng, int(rng.integers(0, 80)))
        users = [user and f"{user}/{place}" for user in table["user"].to_pylist()]
        found.append(table.set_column(0, "user", pa.array(users, pa.string())))
    return pa.concat_tables(found).combine_chunks()  # Spark loads nothing behind an empty chunk


def number(value: Any) -> bool:
    return value is not None and not math.isnan(value)


FILTERS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "some": lambda row: number(row["real"]) and row["real"] > 0.4,
    "dear": lambda row: row["whole"] is not None and row["whole"] >= 2,
    "least": lambda row: row["whole"] is not None and row["whole"] >= 0,
    "seen": lambda row: row["shop"] is not None and row["shop"] != "b",
    "last": lambda row: number(row["real"]) and not row["real"] > 1,
}


def on_grid(value: float, low: Fraction, high: Fraction, step: Fraction) -> Fraction:
    inside = min(max(value, float(low)), float(high))
    return Fraction(round(inside / float(step))) * step


def expected(table: pa.Table) -> dict[str, dict[str, Any]]:
    """The features of everyone, from rows gone through one by one."""
    of: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        if row["user"] is not None:
            of.setdefault(row["user"], []).append(row)
    return {user: {name: one(name, rows) for name in FEATURES} for user, rows in of.items()}


def one(name: str, rows: list[dict[str, Any]]) -> Any:
    feature = FEATURES[name]
    rows = [row for row in rows if FILTERS.get(name, lambda row: True)(row)]
    if not feature.every_row:
        rows = [row for row in rows if row[feature.column] is not None]
        rows = [row for row in rows if feature.column != "real" or not math.isnan(row["real"])]
    if feature.by:
        rows = [row for row in rows if row[feature.by] is not None]
    values = [] if feature.every_row else [row[feature.column] for row in rows]
    way = feature.way
    if way == "count":
        return len(rows)
    if way == "any":
        return int(bool(rows))
    if way == "distinct":
        return len(set(values))
    if way == "sum":
        assert feature.low is not None
        assert feature.high is not None
        return sum(on_grid(v, feature.low, feature.high, feature.step) for v in values)
    if not rows:
        return None
    if way in ("min", "max"):
        return min(values) if way == "min" else max(values)

    def when(row: dict[str, Any]) -> tuple[Any, Any]:
        value = row[feature.column]
        return row[feature.by or ""], value.encode() if isinstance(value, str) else value

    return (min if way == "first" else max)(rows, key=when)[feature.column]


def found(owner: tu.Owner, *days: str) -> dict[str, dict[str, Any]]:
    """The table of people that an owner counts, as plain values."""
    tables = []
    real = module.people_table

    def recording(*given: Any) -> Any:
        tables.append(real(*given))
        return tables[-1]

    people = owner.people(**FEATURES)
    question = tu.CellCounts(tu.Axis.integers("visits", 0, 99))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "people_table", recording)
        people.prepared(question, None, False, owner.periods(days or None))()
    made = {}
    for row in tables[-1].to_pylist():
        own = row["user"]
        if len(days) > 1:  # a name of somebody in one of the days
            row["user"] = own[:-8] + f" on {days[int.from_bytes(own[-8:], 'little')]}".encode()
        text = {n: v.decode() if isinstance(v, bytes) else v for n, v in row.items()}
        user = text.pop("user")
        made[user] = {n: Fraction(v) if n == "sum" else v for n, v in text.items()}
    return made


def ledger(folder: Path) -> tu.Ledger:
    return tu.Ledger(folder / "x.ledger", limit=10**9)


def test_features_are_those_of_rows_gone_through_one_by_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(25)
    account = ledger(tmp_path)
    for rows in [0, 1, 2, *rng.integers(3, 60, 40).tolist()]:  # 2,000 by bench/people.py
        table = a_table(rng, rows)
        owner = tu.Owner(table, account, unit="user", rows_per_unit=1)
        assert found(owner) == expected(table)


def test_people_who_are_numbers_are_told_apart_and_nobody_is_none_of_them(tmp_path: Path) -> None:
    users = [None, 2**53, 2**53 + 1, -1, None, 2**53]
    owner = tu.Owner(
        pa.table({"user": pa.array(users, pa.int64())}), ledger(tmp_path), unit="user",
        rows_per_unit=1,
    )  # fmt: skip
    people = owner.people(visits=tu.Person(count="*"))
    count = people.prepared(tu.CellCounts(tu.Axis.integers("visits", 0, 3)), None, False)
    assert count().tolist() == [0, 2, 1, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_features_are_the_same_in_every_engine(
    engine: str, placed: Callable[[str, pa.Table], Any], tmp_path: Path
) -> None:
    table = many_tables(np.random.default_rng(4), TABLES)
    put = placed(engine, table)
    columns = DECLARED if put.raw else None
    owner = tu.Owner(
        put.source, ledger(tmp_path), unit="user", rows_per_unit=2, columns=columns, **put.options
    )
    assert found(owner) == expected(table)
    # Where each day has a limit, people are made from the rows of a day.
    days = tu.Ledger(tmp_path / "days.ledger", limit=10**9, per="day", date="day")
    owner = tu.Owner(put.source, days, unit="user", rows_per_unit=2, columns=columns, **put.options)
    one, two = "2020-01-01", "2020-01-03"
    of = {day: expected(table.filter(_on(table, day))) for day in (one, two)}
    assert found(owner, one) == of[one]
    both = {f"{user} on {day}": made for day in (one, two) for user, made in of[day].items()}
    assert found(owner, one, two) == both


def _on(table: pa.Table, day: str) -> Any:
    return pa.array([str(at)[:10] == day for at in table["day"].to_pylist()])


def test_a_person_of_a_day_is_one_record_and_pays_for_that_day(tmp_path: Path) -> None:
    """Replay at the level of unit and day: what one user does on one day moves one record."""
    rng = np.random.default_rng(9)
    days = tu.Ledger(tmp_path / "days.ledger", limit=10**6, per="day", date="day")
    shared = tu.Ledger(
        tmp_path / "share.ledger", limit=10**6, per="day", date="day", periods_per_unit=(1, 3)
    )
    asked = tu.CellCounts(tu.Axis.integers("visits", 0, 40))
    sampled = whole = 0
    for _ in range(20):
        table = a_table(rng, 60)
        user, day = rng.choice(["u", "v", "w"]), f"2020-01-0{rng.integers(1, 4)}"
        own = pa.array(
            [
                name == user and str(at)[:10] == day
                for name, at in zip(
                    table["user"].to_pylist(), table["day"].to_pylist(), strict=True
                )
            ]
        )
        less = table.filter(pc.invert(own))
        for ledger in (days, shared):
            counts = []
            for rows in (table, less):
                owner = tu.Owner(rows, ledger, unit="user", rows_per_unit=9)
                people = owner.people(visits=tu.Person(count="*"))
                periods = owner.periods(["2020-01-01", "2020-01-02", "2020-01-03"])
                counts.append(people.prepared(asked, None, False, periods)())
            moved = np.abs(counts[0] - counts[1]).sum()
            assert moved == int(pc.any(own).as_py()) if ledger is days else moved <= 1
            sampled += int(counts[0].sum()) if ledger is shared else 0
            whole += int(counts[0].sum()) if ledger is days else 0
    # Of three days each user counts on one.
    assert 0 < sampled < whole / 2
    people = tu.Owner(table, days, unit="user", rows_per_unit=9).people(visits=tu.Person(count="*"))
    measured = people.measure(asked, 1000, period=["2020-01-01", "2020-01-02"])
    assert measured.facts.period.names == ("2020-01-01", "2020-01-02")
    assert measured.facts.features[0][0] == "visits"
    assert [days.spent_in(f"2020-01-0{n}") for n in (1, 2, 3)] == [1000, 1000, 0]
    for wrong, words in (
        (lambda: people.measure(asked, 1), "say which is asked about"),
        (
            lambda: people.measure(asked, 1, period="2020-01-03", where="day > '2020-01-01'"),
            "dates",
        ),
    ):
        with pytest.raises(InputError, match=words):
            wrong()
    with pytest.raises(InputError, match="dates the rows"):
        tu.Owner(table, days, unit="user", rows_per_unit=9).people(day=tu.Person(count="*"))
    assert days.spent_in("2020-01-03") == 0


@pytest.mark.parametrize("kind", ["text", "whole"])
@pytest.mark.parametrize("share", [(1, 3), (2, 5)])
def test_a_person_counts_in_the_periods_in_which_their_rows_do(
    tmp_path: Path, kind: str, share: tuple[int, int]
) -> None:
    """Else somebody would count in some periods as a person, in others by their rows or keys."""
    number = np.repeat(np.arange(24), 6)
    users = {
        "text": pa.array([f"user {n}" for n in number]),
        "whole": pa.array(number * 7 - 50),
    }
    days = [dt.datetime(2020, 1, 1 + n) for n in range(6)] * 24
    table = pa.table({"user": users[kind], "number": number, "day": pa.array(days)})
    shared = tu.Ledger(tmp_path / "l", limit=10**6, per="day", date="day", periods_per_unit=share)
    owner = tu.Owner(table, shared, unit="user", rows_per_unit=1)
    people = owner.people(who=tu.Person(max="number"))
    turns = []
    for day in range(1, 7):
        periods = owner.periods([f"2020-01-0{day}"])
        rows, persons = (
            each.prepared(tu.CellCounts(tu.Axis.integers(name, 0, 23)), None, False, periods)()
            for each, name in ((owner, "number"), (people, "who"))
        )
        assert rows.tolist() == persons.tolist()
        turns.append(rows)
        asked = tu.KeyCounts(tu.Universe.integers(0, 23), by="number", total=0)
        shown = owner.keys.measure(asked, 900, period=f"2020-01-0{day}")  # one row is enough
        assert list(shown.keys) == np.flatnonzero(rows).tolist()
    few, of = share
    for start in range(6 - of + 1):
        assert (np.sum(turns[start : start + of], axis=0) == few).all()


def test_no_feature_depends_on_the_order_of_rows_or_on_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(6)
    table = a_table(rng, 300)
    shuffled = table.take(pa.array(rng.permutation(300)))
    account = ledger(tmp_path)
    whole = found(tu.Owner(table, account, unit="user", rows_per_unit=1))
    monkeypatch.setattr(module, "_AT_ONCE", 8)  # put together many times on the way
    small = pa.Table.from_batches(shuffled.to_batches(max_chunksize=7))
    assert found(tu.Owner(small, account, unit="user", rows_per_unit=1)) == whole


def test_a_person_is_one_record_however_many_their_rows(tmp_path: Path) -> None:
    # Replay of whole units: add or take away a person, and counts move by one; replace, by two.
    rng = np.random.default_rng(7)
    account = ledger(tmp_path)
    axes = [
        tu.Axis.integers("visits", 0, 40), tu.Axis.integers("shops", 0, 9),
        tu.Axis.edges("most", [-1, 0, 1, 2, math.inf]), tu.Axis.regular("sum", -9, 9, 12),
        tu.Axis.categories("first", ["A", "a", "Ä", "b"]),
    ]  # fmt: skip

    def counts(table: pa.Table, question: Any) -> np.ndarray:
        owner = tu.Owner(table, account, unit="user", rows_per_unit=3).people(**FEATURES)
        return owner.prepared(question, None, False)()

    moved = set()
    for _ in range(3):
        table = a_table(rng, 60)
        users = table["user"].to_numpy(zero_copy_only=False)
        for axis, other in itertools.pairwise([*axes, axes[0]]):
            question = tu.GridCounts(tu.CellCounts(axis), tu.CellCounts(other))
            all_of_them = counts(table, question)
            for user in ("u", "ü", None):
                without = table.filter(pa.array([each != user for each in users]))
                move = np.abs(all_of_them - counts(without, question)).sum()
                moved.add(int(move))
                assert move <= (user is not None)
    assert moved == {0, 1}


def test_measured_people_are_not_said_to_be_cut_short(tmp_path: Path) -> None:
    rows = {"user": [1, 1, 1, 2], "fare": [5.0, 9.0, 9.0, 1.0]}
    account = ledger(tmp_path)
    owner = tu.Owner(pa.table(rows), account, unit="user", rows_per_unit=1)
    people = owner.people(visits=tu.Person(count="*"), top=tu.Person(max="fare"))
    visits = tu.Axis.integers("visits", 0, 5)
    measured = people.measure(tu.TreeCounts(visits), epsilon=1000, key="one")
    assert tu.infer(measured).counts().round().tolist() == [0, 1, 0, 1, 0, 0]
    assert measured.facts.features == (("visits", "Person(count='*')"),)
    assert measured.facts.capped == ""
    assert measured.facts.unit == "user"
    measured.save(tmp_path / "m.parquet")
    assert tu.load(tmp_path / "m.parquet") == measured
    # The same key with another feature of the same name is another request.
    other = owner.people(visits=tu.Person(count="fare", where="fare > 5"))
    with pytest.raises(tu.TrueupError, match="used for a different request"):
        other.measure(tu.TreeCounts(visits), epsilon=1000, key="one")
    # Rows, or other features, under the same name are not combined with it.
    alike = tu.measure([0, 1, 0, 1, 0, 0], tu.TreeCounts(visits), 1, unit="user", rows_per_unit=1)
    with pytest.raises(InputError, match="the same feature"):
        tu.reconcile([measured, alike])
    few = [people.measure(tu.TreeCounts(visits), epsilon=20) for _ in range(2)]
    assert tu.reconcile(few).counts().round().tolist() == [0, 1, 0, 1, 0, 0]
    both = people.publish([visits, tu.Axis.regular("top", 0, 10, 2)], epsilon=1000)
    assert both.counts()[3].tolist() == [0, 1]
    among = people.measure(tu.CellCounts(visits), epsilon=1000, where="top > 2")
    assert tu.infer(among).counts().round().tolist() == [0, 0, 0, 1, 0, 0]
    grown = tu.infer(people.measure(tu.TreeCounts(visits), 1000), nonnegative=True, integers=True)
    assert grown.quantile(0.9) == 3


def made_people(table: pa.Table, folder: Path, **features: tu.Person) -> dict[Any, dict[str, Any]]:
    """The features of everyone, in memory."""
    owner = tu.Owner(table, ledger(folder), unit="user", rows_per_unit=1)
    people, tables = owner.people(**features), []
    real = module.people_table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            module, "people_table", lambda *given: tables.append(real(*given)) or tables[-1]
        )
        axis = tu.Axis.integers(next(iter(features)), 0, 3)
        people.prepared(tu.CellCounts(axis), None, False)()
    return {row.pop("user"): row for row in tables[-1].to_pylist()}


def test_whole_values_of_a_sum_go_to_the_nearest_step(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    values = [*rng.integers(-30, 60, 80).tolist(), BIG, -BIG - 1]
    table = pa.table({"user": [f"{n}" for n in range(len(values))], "whole": values})
    found = made_people(table, tmp_path, x=tu.Person(sum="whole", low=-10, high=20, step=5))
    for user, value in enumerate(values):
        near = 5 * round(Fraction(min(max(value, -10), 20), 5))
        assert found[f"{user}".encode()]["x"] == near


@pytest.mark.parametrize("step", [1, 2, 5, 6])
def test_a_value_of_a_sum_is_rounded_alike_whatever_type_it_has(tmp_path: Path, step: int) -> None:
    """Half way between two steps too: to the even one."""
    values = np.arange(-40, 41)
    feature = tu.Person(sum="x", low=-30, high=30, step=step)
    wanted = {int(v): step * round(Fraction(min(max(int(v), -30), 30), step)) for v in values}
    for kind in (pa.int64(), pa.float64(), pa.decimal128(25, 2)):
        column = pa.array(values).cast(kind)
        rows = pa.table({"user": values, "x": column})
        ledger = tu.Ledger(tmp_path / f"{kind}.ledger", limit=10**6)
        people = tu.Owner(rows, ledger, unit="user", rows_per_unit=1).people(total=feature)
        sums = tu.Axis.integers("total", -31, 31)
        found = people.measure(tu.CellCounts(sums), 900).noisy
        assert found.tolist() == [list(wanted.values()).count(s) for s in range(-31, 32)]


@pytest.mark.parametrize("step", ["0.5", "0.25", "2.5"])
def test_whole_values_go_to_the_nearest_step_that_is_not_whole(tmp_path: Path, step: str) -> None:
    values = list(range(-9, 12))
    table = pa.table({"user": [f"{n}" for n in values], "whole": values})
    found = made_people(table, tmp_path, x=tu.Person(sum="whole", low="-5", high="7.5", step=step))
    for value in values:
        inside = min(max(Fraction(value), Fraction(-5)), Fraction("7.5"))
        near = Fraction(step) * round(inside / Fraction(step))
        assert Fraction(found[f"{value}".encode()]["x"]) == near


def test_sums_are_whole_numbers_to_the_last_digit() -> None:
    table = pa.table({"unit": pa.array([b"u", b"u", b"v"], pa.large_binary()),
                      "value": [2**60, 1, 3]})  # fmt: skip
    assert module._added(table)["value"].to_pylist() == [2**60 + 1, 3]


def test_features_of_columns_of_one_kind_are_each_of_their_own(tmp_path: Path) -> None:
    """Also of those that only a filter names, and whoever has no row that any of them keeps."""
    table = pa.table(
        {
            "user": ["a", "a", "b"],
            "fare": [1.0, 5.0, 3.0],
            "tip": [2.0, 0.0, 9.0],
            "shop": ["x", "y", "x"],
            "town": ["p", "p", "q"],
            "on": [dt.datetime(2020, 1, day) for day in (1, 2, 3)],
            "paid": [dt.datetime(2020, 2, day) for day in (9, 8, 7)],
        }
    )
    found = made_people(
        table, tmp_path,
        few=tu.Person(count="*", where="tip > 8"), fare=tu.Person(max="fare"),
        tip=tu.Person(max="tip"), shop=tu.Person(first="shop", by="on"),
        paid=tu.Person(first="shop", by="paid"), town=tu.Person(last="town", by="on"),
        dear=tu.Person(max="fare", where="tip > 1"),
    )  # fmt: skip
    assert found == {
        b"a": {"few": 0, "fare": 5, "tip": 2, "shop": b"x", "paid": b"y", "town": b"p", "dear": 1},
        b"b": {"few": 1, "fare": 3, "tip": 9, "shop": b"x", "paid": b"x", "town": b"q", "dear": 3},
    }


def test_counts_without_room_are_refused_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(size: int) -> None:
        raise InputError(f"There is no room in memory for {size:,} cells.")

    account = ledger(tmp_path)
    owner = tu.Owner(pa.table({"user": [1]}), account, unit="user", rows_per_unit=1)
    people = owner.people(visits=tu.Person(count="*"))
    monkeypatch.setattr(counting, "_check_room", no_room)
    with pytest.raises(InputError, match="no room in memory for 4 cells"):
        people.measure(tu.CellCounts(tu.Axis.integers("visits", 0, 3)), 1)
    assert account.spent == 0


def test_threads_put_people_together_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    at_work, most = [0], [0]
    real = module.Gathered.add

    def slow(self: Any, rows: dict[str, Any]) -> None:
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        time.sleep(0.005)
        real(self, rows)
        at_work[0] -= 1

    table = pa.table({"user": np.arange(4_000) % 40})
    for part in range(8):
        pq.write_table(table, tmp_path / f"{part}.parquet", row_group_size=500)
    monkeypatch.setattr(module.Gathered, "add", slow)
    owner = tu.Owner(str(tmp_path / "*.parquet"), ledger(tmp_path), unit="user", rows_per_unit=1)
    people = owner.people(visits=tu.Person(count="*"))
    count = people.prepared(tu.CellCounts(tu.Axis.integers("visits", 800, 800)), None, False)
    assert count().tolist() == [40]
    assert most == [1]


def test_a_ledger_that_protects_rows_refuses_people(tmp_path: Path) -> None:
    table = pa.table({"user": [1, 2], "fare": [1.0, 2.0]})
    account = ledger(tmp_path)
    fare = tu.Axis.regular("fare", 0, 4, 4)
    tu.Owner(table, account).measure(tu.CellCounts(fare), 1)
    people = tu.Owner(table, account, unit="user", rows_per_unit=1).people(
        visits=tu.Person(count="*")
    )
    with pytest.raises(LedgerError):
        people.measure(tu.CellCounts(tu.Axis.integers("visits", 0, 3)), 1)


def test_what_cannot_be_a_feature_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    day = dt.datetime(2020, 1, 1)
    table = pa.table({"user": [1], "shop": ["a"], "fare": [1.0], "when": [3], "day": [day]})
    account = ledger(tmp_path)
    owner = tu.Owner(table, account, unit="user", rows_per_unit=1)
    with pytest.raises(InputError, match="need the column that names them"):
        tu.Owner(table, account).people(visits=tu.Person(count="*"))
    for features, words in (
        ({}, "at least one feature"),
        ({"visits": "count"}, "must be a Person"),
        ({"user": tu.Person(count="*")}, "is the unit"),
        ({"x": tu.Person(max="shop")}, "needs numbers or times"),
        ({"x": tu.Person(sum="shop", low=0, high=1)}, "needs numbers"),
        ({"x": tu.Person(sum="day", low=0, high=1)}, "needs numbers"),
        ({"x": tu.Person(first="fare", by="when")}, "times are needed"),
        ({"x": tu.Person(max="nothing")}, "no column 'nothing'"),
        ({"x": tu.Person(count="*", where="shop > 'a'")}, "shop"),
    ):
        with pytest.raises(tu.TrueupError, match=words):
            owner.people(**features)
    people = owner.people(visits=tu.Person(count="*"))
    with pytest.raises(InputError, match="from features of people"):
        people.people(x=tu.Person(max="visits")).measure(
            tu.CellCounts(tu.Axis.integers("x", 0, 3)), 1
        )
    with pytest.raises(tu.TrueupError, match="no column 'fare'"):
        people.measure(tu.CellCounts(tu.Axis.regular("fare", 0, 4, 4)), 1)
    assert account.spent == 0
