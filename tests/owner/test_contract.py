"""One contract, every engine: the counts are numpy's, whatever the table is kept in."""

from __future__ import annotations

import datetime as dt
import hashlib
import zoneinfo
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.errors import InputError, SourceError
from trueup.owner import where as filters

ENGINES = [
    "parquet",
    "csv",
    "jsonl",
    "arrow file",
    "duckdb relation",
    "duckdb file",
    "arrow",
    "pandas",
    "pandas arrow",
    "polars",
    "polars lazy",
    "postgresql",
    "spark",
]
CERTAIN = 1000  # an ε at which a count of scale 1/1000 is moved once in 10^434 draws
UTC = dt.UTC

DYADIC = tu.Axis.regular("real", 0, 128, bins=1024)
TENTHS = tu.Axis.regular("real", 0, 1, bins=10)
ODD = tu.Axis.regular("real", -5, 5, bins=77)
NARROW = tu.Axis.regular("real", 1e15, 1e15 + 64, bins=64)
UNEVEN = tu.Axis.edges("real", [-2.5, 0, 0.1, 0.3, 1, 7.7, 1e10])
EDGES = np.concatenate(
    [
        *(axis.cells.edges_at(np.arange(axis.size + 1)) for axis in (TENTHS, ODD, NARROW)),
        UNEVEN.cells.edges,
        [0.125, 127.875, 128.0],
    ]
)


def near(edges: Any) -> list[float]:
    """Each edge, the float before it and the float after it."""
    return [*edges, *np.nextafter(edges, -np.inf), *np.nextafter(edges, np.inf)]


def columns() -> dict[str, tuple[pa.DataType, list[Any]]]:
    """Columns of every type, with everything that has ever gone wrong in them."""
    big = 2**63 - 1
    whole = [None, 0, 1, 2, 2, 3, -1, -3, -4, 5, 6, big, -big - 1, 2**62, 2**62 - 1, 2**53 + 1]
    strange = [
        None,
        float("nan"),
        float("inf"),
        -float("inf"),
        0.0,
        -0.0,
        5e-324,
        1.7e308,
        -1.7e308,
    ]
    real = [*strange, *near(EDGES), 2.0, 3.0, 2.5]
    label = [
        None,
        "A",
        "A",
        "B",
        "b",
        "",
        " A",
        "Ä",
        "日本",
        "O'Neil",
        'say "hi"',
        "a,b",
        "nan",
        "null",
        "A/x",
        "x",
        "1",
    ]
    moments = [
        None,
        *(
            dt.datetime(*parts)
            for parts in [
                (1970, 1, 1),
                (1969, 12, 31, 23, 59, 59, 999999),
                (2020, 2, 29, 12, 30),
                (2020, 3, 1),
                (2020, 2, 29, 23, 59, 59, 999999),
                (2019, 12, 31, 23, 59, 59),
                (2020, 1, 1),
                (2020, 12, 31, 23),
                (2021, 1, 1),
                (1900, 6, 15, 1),
                (2199, 1, 1),
                (2020, 3, 8, 7, 30),
                (2020, 11, 1, 5, 30),
            ]
        ),
    ]
    address = [
        None,
        "10.0.0.1",
        "10.0.0.255",
        "10.0.1.0",
        "10.255.255.255",
        "11.0.0.0",
        "9.255.255.255",
        "256.1.1.1",
        "10.0.0",
        "10.00.0.1",
        "010.0.0.1",
        " 10.0.0.1",
        "10.0.0.1 ",
        "",
        "x",
        "10.0.0.1.1",
        "10.0.0.-1",
        "0.0.0.0",
        "255.255.255.255",
        "10.0.0.1\n",
    ]
    return {
        "whole": (pa.int64(), whole),
        "real": (pa.float64(), real),
        "label": (pa.string(), label),
        "code": (pa.int64(), [None, 7, 7, 1, 2, 3, -1]),
        "naive": (pa.timestamp("us"), moments),
        "zoned": (pa.timestamp("us", tz="UTC"), [m and m.replace(tzinfo=UTC) for m in moments]),
        "day": (pa.date32(), [m and m.date() for m in moments]),
        "address": (pa.string(), address),
        "money": (pa.decimal128(12, 4), [None, *map(_decimal, ["0.1", "0.3", "2", "2.5", "-3"])]),
        "flag": (pa.bool_(), [None, True, False]),
    }


def _decimal(text: str) -> Any:
    from decimal import Decimal

    return Decimal(text)


def whole_table() -> pa.Table:
    """All columns side by side, each running through its values at its own pace."""
    made = columns()
    length = max(len(values) for _, values in made.values())
    return pa.table(
        {
            name: pa.array([values[i % len(values)] for i in range(length)], kind)
            for name, (kind, values) in made.items()
        }
    )


AXES = [
    tu.Axis.integers("whole", -3, 5),
    tu.Axis.integers("whole", 2**62 - 5, 2**62),
    tu.Axis.integers("whole", 2**53 - 1, 2**53 + 3),
    tu.Axis.integers("real", -3, 5),
    tu.Axis.integers("money", -5, 5),
    DYADIC,
    TENTHS,
    ODD,
    NARROW,
    UNEVEN,
    tu.Axis.regular("whole", -10, 10, bins=7),
    tu.Axis.regular("money", 0, 1, bins=10),
    tu.Axis.edges("whole", [-1e19, -3, 2, 2.5, 1e19]),
    tu.Axis.edges("real", [float("-inf"), 0, 0.3, float("inf")]),
    tu.Axis.categories(
        "label", ["A", "B", "Ä", "日本", "", "O'Neil", 'say "hi"', "a,b", "nan", "gone"]
    ),
    tu.Axis.categories("code", [7, 1, 99, -1]),
    tu.Axis.hierarchy("label", {"A": ["x", "y"], "B": ["b"]}),
    *(
        tu.Axis.dates(name, "2019-12-30", "2021-01-03", unit)
        for name in ("naive", "zoned", "day")
        for unit in ("day", "week")
    ),
    *(tu.Axis.dates(name, "1969", "2020", "month") for name in ("naive", "zoned", "day")),
    tu.Axis.dates("naive", "2020-02-28", "2020-03-09", "minute"),
    tu.Axis.dates("zoned", "2020-02-28", "2020-03-09", "hour"),
    tu.Axis.dates("naive", "1890", "1970", "hour"),
    tu.Axis.dates("zoned", "1890", "2020", "year"),
    tu.Axis.dates("naive", "2019-12-31", "2020-03-05").coarsen("month"),  # cut at both ends
    tu.Axis.ipv4("address", "10.0.0.0/8", 24),
    tu.Axis.ipv4("address"),
    tu.Axis.ipv4("code", length=32, network="0.0.0.0/28"),
]


def values_of(table: pa.Table, axis: tu.Axis) -> Any:
    """The column as numpy sees it."""
    column = table[axis.name].to_pylist()
    if pa.types.is_floating(table.schema.field(axis.name).type):
        return np.array([np.nan if value is None else value for value in column])
    return np.array(column, dtype=object)


@pytest.fixture
def ledger(tmp_path: Path) -> tu.Ledger:
    return tu.Ledger(tmp_path / "ledger", limit=10**9)


Put = Callable[[str, pa.Table], Any]
Asked = Callable[..., tu.Owner]


def owner_of(here: Any, ledger: tu.Ledger, **options: Any) -> tu.Owner:
    # A ledger protects one kind of unit: those that are no rows have one beside it.
    if protects := options.get("unit") or ("edge" if "edges" in options else None):
        ledger = tu.Ledger(Path(ledger.name).with_name(protects), limit=ledger.limit)
    return tu.Owner(here.source, ledger, **here.options, **options)


def exactly(
    owner: tu.Owner, question: Any, where: str | None = None, period: object = None
) -> list[int]:
    """The true answers, read before the noise."""
    part = None if where is None else filters.parse(where)
    periods = owner.periods(period)
    return question.answers(owner.prepared(question, part, False, periods)()).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_keeps_the_contract(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    # One test an engine, so that a server is started once, on one worker.
    for check_law in (
        counts_are_numpys,
        grids_are_counted_in_one_pass,
        an_empty_table_counts_nothing,
        filters_keep_what_python_keeps,
        sorted_counts_are_the_groups_sizes,
        a_unit_moves_the_counts_by_its_bound_at_most,
        a_unit_is_bounded_over_all_axes_of_a_grid,
        the_rows_of_a_unit_have_equal_chances,
        a_hierarchy_may_be_told_by_a_column_for_each_level,
        rows_are_of_the_day_that_clocks_say,
        a_unit_is_bounded_in_each_period,
        a_unit_counts_in_its_share_of_periods,
        degrees_are_those_of_the_edge_set,
        bad_requests_are_refused_and_cost_nothing,
    ):
        check_law(engine, placed, ledger)


def counts_are_numpys(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    table = whole_table()
    owner = owner_of(placed(engine, table), ledger)
    for axis in AXES:
        counted = exactly(owner, tu.CellCounts(axis))
        expected = axis.count(values_of(table, axis)).tolist()
        assert counted == expected, f"{engine}: {axis}"
        assert sum(expected) > 0, f"{axis} tests nothing"
    # Through the door that analysts use, the same.
    assert owner.measure(tu.CellCounts(axis), CERTAIN).noisy.tolist() == expected


GRIDS = [
    (tu.Axis.integers("whole", -3, 5), tu.Axis.categories("label", ["A", "B", "", "O'Neil"])),
    (UNEVEN, tu.Axis.dates("naive", "1969", "2020", "month")),
    (ODD, tu.Axis.edges("whole", [-1e19, -3, 2, 2.5, 1e19])),
    (
        tu.Axis.ipv4("address", "10.0.0.0/8", 16),
        tu.Axis.hierarchy("label", {"A": ["x", "y"], "B": ["b"]}),
        tu.Axis.regular("money", 0, 4, bins=3),
    ),
]


def grids_are_counted_in_one_pass(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    table = whole_table()
    here = placed(engine, table)
    owner = owner_of(here, ledger, columns=TYPES if here.raw else None)
    for axes in GRIDS:
        counts = np.zeros([axis.size for axis in axes], np.int64)
        cells = [_cells(table, axis) for axis in axes]
        for place in zip(*cells, strict=True):
            if None not in place:
                counts[place] += 1
        flat = tu.GridCounts(*(tu.CellCounts(axis) for axis in axes))
        assert exactly(owner, flat) == counts.ravel().tolist(), f"{engine}: {axes}"
        assert counts.sum() > 0
    margins = tu.BoxCounts.marginals(*axes, marginals=[("address",), ("label", "money")])
    wanted = [*counts.sum(axis=(1, 2)), *counts.sum(axis=0).ravel()]
    assert exactly(owner, margins) == wanted
    whole = tu.GridCounts(*(tu.CellCounts(axis) for axis in GRIDS[0]))
    some = exactly(owner, whole, where="whole > 1")
    assert 0 < sum(some) < sum(exactly(owner, whole))
    # Through the door that analysts use, the same.
    assert owner.measure(flat, CERTAIN).noisy.tolist() == counts.ravel().tolist()


def _cells(table: pa.Table, axis: tu.Axis) -> list[int | None]:
    """The cell of each row, from numpy's count of one value alone."""
    values = values_of(table, axis)
    found: list[int | None] = []
    for number in range(len(values)):
        alone = axis.count(values[number : number + 1])
        found.append(int(alone.argmax()) if alone.sum() else None)
    return found


def a_unit_is_bounded_over_all_axes_of_a_grid(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    rng = np.random.default_rng(6)
    users = [f"u{i}" for i in rng.integers(0, 9, 200)] + [None] * 5
    first, second = (rng.integers(0, 6, 205).tolist() for _ in range(2))
    kinds = {"user": pa.string(), "a": pa.int64(), "b": pa.int64()}
    made = zip(kinds.items(), (users, first, second), strict=True)
    here = placed(engine, pa.table({name: pa.array(v, kind) for (name, kind), v in made}))
    raw = {"user": "text", "a": "integer", "b": "integer"} if here.raw else None
    grid = tu.GridCounts(*(tu.CellCounts(tu.Axis.integers(name, 0, 4)) for name in "ab"))
    rows = [r for r in zip(users, first, second, strict=True) if r[0] and max(r[1:]) < 5]
    full = np.zeros((5, 5), np.int64)
    for _, a, b in rows:
        full[a, b] += 1
    each = {user: sum(u == user for u, _, _ in rows) for user, _, _ in rows}
    for bound in (1, 4, 1000):
        owner = owner_of(here, ledger, unit="user", rows_per_unit=bound, columns=raw)
        kept = np.array(exactly(owner, grid)).reshape(5, 5)
        assert kept.sum() == sum(min(bound, n) for n in each.values()), f"{engine}: bound {bound}"
        assert (kept <= full).all()
        assert bound < 1000 or (kept == full).all()


def an_empty_table_counts_nothing(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    owner = owner_of(placed(engine, whole_table()[:0]), ledger)
    for axis in (
        DYADIC,
        UNEVEN,
        tu.Axis.categories("label", ["A"]),
        tu.Axis.integers("whole", 0, 9),
    ):
        assert exactly(owner, tu.CellCounts(axis)) == [0] * axis.size
    assert exactly(owner, tu.SortedCounts(3, by="label", adaptive=False)) == [0, 0, 0]
    grid = tu.GridCounts(tu.CellCounts(UNEVEN), tu.CellCounts(tu.Axis.integers("whole", 0, 9)))
    assert exactly(owner, grid) == [0] * grid.size


FILTERS: list[tuple[str, Callable[[dict[str, Any]], bool | None]]] = [
    ("whole > 1", lambda r: None if r["whole"] is None else r["whole"] > 1),
    ("not whole > 1", lambda r: None if r["whole"] is None else not r["whole"] > 1),
    ("whole = 9223372036854775807", lambda r: r["whole"] == 2**63 - 1),
    ("whole != 2 and whole in (2, 3, -1)", lambda r: r["whole"] in (3, -1)),
    ("real >= 0.3", lambda r: r["real"] is not None and r["real"] >= 0.3),
    ("not real < 0.3", lambda r: r["real"] is not None and r["real"] >= 0.3),
    ("real != 2.5", lambda r: r["real"] is not None and r["real"] == r["real"] != 2.5),
    ("real between 0 and 1e9", lambda r: r["real"] is not None and 0 <= r["real"] <= 1e9),
    ("label in ('A', 'O''Neil', 'a,b')", lambda r: r["label"] in ("A", "O'Neil", "a,b")),
    ("label not in ('A')", lambda r: r["label"] not in (None, "A")),
    ("label != '' or flag = true", lambda r: r["label"] not in (None, "") or bool(r["flag"])),
    ("naive >= '2020-03-01'", lambda r: r["naive"] and r["naive"] >= dt.datetime(2020, 3, 1)),
    ("zoned < '1970-01-01'", lambda r: r["naive"] and r["naive"] < dt.datetime(1970, 1, 1)),
    (
        "day between '2020-02-29' and '2020-03-01'",
        lambda r: r["day"] and dt.date(2020, 2, 29) <= r["day"] <= dt.date(2020, 3, 1),
    ),
    (
        "naive = '2020-02-29T23:59:59.999999'",
        lambda r: r["naive"] == dt.datetime(2020, 2, 29, 23, 59, 59, 999999),
    ),
    (
        "(whole = 2 or whole = 3) and not (code = 7 or flag = false)",
        lambda r: r["whole"] in (2, 3) and r["code"] not in (None, 7) and r["flag"] is True,
    ),
    ("flag != true", lambda r: r["flag"] is False),
    ("money > 0.2", lambda r: r["money"] is not None and float(r["money"]) > 0.2),
]
TYPES = {
    "whole": "integer",
    "real": "number",
    "label": "text",
    "naive": "time",
    "zoned": "time",
    "day": "time",
    "code": "integer",
    "flag": "boolean",
    "money": "number",
}


def filters_keep_what_python_keeps(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    rows = pa.table({"row": pa.array(range(len(whole_table())), pa.int64())})
    table = rows.append_column("keep", pa.array(["yes"] * len(rows), pa.string()))
    for name, column in zip(whole_table().column_names, whole_table().columns, strict=True):
        table = table.append_column(name, column)
    here = placed(engine, table)
    owner = owner_of(here, ledger, columns=TYPES if here.raw else None)
    everything = tu.CellCounts(tu.Axis.categories("keep", ["yes"]))
    for where, keeps in FILTERS:
        expected = sum(bool(keeps(row)) for row in table.to_pylist())
        assert exactly(owner, everything, where=where) == [expected], f"{engine}: {where}"
        assert 0 < expected < len(table)


def sorted_counts_are_the_groups_sizes(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    sizes = [1, 1, 1, 2, 5, 9]
    names = [f"g{i}" for i, size in enumerate(sizes) for _ in range(size)]
    numbers = [i for i, size in enumerate(sizes) for _ in range(size)]
    table = pa.table(
        {
            "name": pa.array([*names, None, None], pa.string()),
            "number": pa.array([*numbers, None, None], pa.int64()),
        }
    )
    here = placed(engine, table)
    owner = owner_of(here, ledger, columns={"number": "integer"} if here.raw else None)
    for by in ("name", "number"):
        assert exactly(owner, tu.SortedCounts(8, by=by, adaptive=False)) == [0, 0, *sizes]
        # More groups than declared: the largest are kept.
        assert exactly(owner, tu.SortedCounts(3, by=by, adaptive=False)) == [2, 5, 9]
        assert owner.count_groups(by, CERTAIN).noisy.tolist() == [6]


def a_unit_moves_the_counts_by_its_bound_at_most(
    engine: str, placed: Put, ledger: tu.Ledger
) -> None:
    rng = np.random.default_rng(5)
    users = [f"u{i}" for i in rng.integers(0, 12, 300)] + ["greedy"] * 400 + [None] * 5
    cells = [*rng.integers(0, 8, 300).tolist(), *rng.integers(0, 8, 400).tolist(), *[0] * 5]
    table = pa.table({"user": pa.array(users, pa.string()), "cell": pa.array(cells, pa.int64())})
    here = placed(engine, table)
    kinds = {"cell": "integer", "user": "text"} if here.raw else None
    question = tu.CellCounts(tu.Axis.integers("cell", 0, 6))  # 7 is off the axis
    for bound in (1, 3, 10_000):
        owner = owner_of(here, ledger, unit="user", rows_per_unit=bound, columns=kinds)
        kept = exactly(owner, question)
        on_axis = [(u, c) for u, c in zip(users, cells, strict=True) if u is not None and c < 7]
        each = {user: sum(u == user for u, _ in on_axis) for user, _ in on_axis}
        assert sum(kept) == sum(min(bound, n) for n in each.values()), f"{engine}: bound {bound}"
        full = [sum(c == cell for _, c in on_axis) for cell in range(7)]
        assert all(a <= b for a, b in zip(kept, full, strict=True))
        if bound == 10_000:
            assert kept == full
    alone = owner_of(here, ledger, unit="user", rows_per_unit=3, columns=kinds)
    assert sum(exactly(alone, question, where="user = 'greedy'")) == 3
    assert (
        exactly(alone, tu.SortedCounts(9, by="user", adaptive=False), where="user = 'greedy'")[-1]
        == 3
    )


def a_hierarchy_may_be_told_by_a_column_for_each_level(
    engine: str, placed: Put, ledger: tu.Ledger
) -> None:
    """ "Clark" is a county of two states; a county of the wrong state is on no path."""
    place = tu.Axis.hierarchy(
        "place", {"NV": ["Clark", "Nye"], "CA": ["Kern", "Clark", "O'Neil"]}, ["state", "county"]
    )
    rows = [("CA", "Kern"), ("CA", "Clark"), ("NV", "Clark"), ("NV", "Kern"), ("CA", "Nye")]
    rows += [("CA", "O'Neil"), ("TX", "Kern"), (None, "Kern"), ("CA", None), ("ca", "Kern")]
    many = [rows[i % len(rows)] for i in range(400)]
    hours = np.arange(400) % 3
    table = pa.table(
        {
            "state": pa.array([state for state, _ in many]),
            "county": pa.array([county for _, county in many]),
            "hour": pa.array(hours, pa.int64()),
            "user": pa.array(np.arange(400) // 20, pa.int64()),
        }
    )
    here = placed(engine, table)
    levels = {"state": "text", "county": "text"} if here.raw else None
    owner = owner_of(here, ledger, columns=levels)
    expected = [many.count(path) for path in place.paths]
    assert exactly(owner, tu.CellCounts(place)) == expected, engine
    hour = tu.Axis.integers("hour", 0, 2)
    grid = [
        sum(row == path and h == cell for row, h in zip(many, hours, strict=True))
        for path in place.paths
        for cell in range(3)
    ]
    assert exactly(owner, tu.GridCounts(tu.CellCounts(place), tu.CellCounts(hour))) == grid, engine
    # Of each user, with twelve rows that are on no path, two that are on one count.
    named = {**levels, "user": "integer"} if levels else None
    bound = owner_of(here, ledger, unit="user", rows_per_unit=2, columns=named)
    assert sum(exactly(bound, tu.CellCounts(place))) == 40, engine


def the_rows_of_a_unit_have_equal_chances(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    """Of nine common rows and a rare one, the rare one is chosen by a tenth of all units."""
    units = 900
    users = pa.array(np.repeat(np.arange(units), 10), pa.int64())
    cells = pa.array(np.tile([3] * 9 + [6], units), pa.int64())
    here = placed(engine, pa.table({"user": users, "cell": cells}))
    owner = owner_of(
        here,
        ledger,
        unit="user",
        rows_per_unit=1,
        columns={"user": "integer"} if here.raw else None,
    )
    counts = exactly(owner, tu.CellCounts(tu.Axis.integers("cell", 0, 6)))
    assert sum(counts) == units
    # So far from its mean once in 10^10.
    assert abs(counts[6] - units * 0.1) < 6.5 * (units * 0.1 * 0.9) ** 0.5, engine


BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
# Midnight of both sorts, the night that clocks go forward, and the one that they go back.
MIDNIGHTS = [dt.datetime(2020, 3, d, h) for d in (28, 29, 30) for h in (0, 22, 23)]
MIDNIGHTS += [dt.datetime(2020, 10, d, h) for d in (24, 25, 26) for h in (0, 22, 23)]
EDGE_TIMES = [t + dt.timedelta(microseconds=us) for t in MIDNIGHTS for us in (-1, 0, 1)]


def period_ledger(ledger: tu.Ledger, date: str, unit: str = "row") -> tu.Ledger:
    """A ledger with a limit for each day in Berlin."""
    path = Path(ledger.name).with_name(f"days of {date} for {unit}")
    limit = ledger.limit
    return tu.Ledger(path, limit=limit, per="day", date=date, zone="Europe/Berlin")


def rows_are_of_the_day_that_clocks_say(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    moments = [None, *EDGE_TIMES, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)]
    zoned = [m and m.replace(tzinfo=UTC) for m in moments]
    table = pa.table(
        {
            "one": pa.array([0] * len(moments), pa.int64()),
            "naive": pa.array(moments, pa.timestamp("us")),
            "zoned": pa.array(zoned, pa.timestamp("us", tz="UTC")),
            "day": pa.array([m and m.date() for m in moments], pa.date32()),
        }
    )
    here = placed(engine, table)
    question = tu.CellCounts(tu.Axis.integers("one", 0, 0))
    near = [z for z in zoned if z and 1900 < z.year < 2999]
    says = {
        "naive": [m.date() for m in moments if m],
        "day": [m.date() for m in moments if m],
        "zoned": [z.astimezone(BERLIN).date() for z in near],
    }
    for column, days in says.items():
        owner = tu.Owner(here.source, period_ledger(ledger, column), **here.options)
        asked = [dt.date(2020, 3, 27) + dt.timedelta(days=d) for d in range(5)]
        asked += [dt.date(2020, 10, 23) + dt.timedelta(days=d) for d in range(5)]
        for day in asked:
            wanted = [days.count(day)]
            assert exactly(owner, question, period=day) == wanted, f"{engine}: {column} {day}"
        assert exactly(owner, question, period=asked) == [sum(map(days.count, asked))], engine
        assert owner.measure(question, CERTAIN, period=day).noisy.tolist() == wanted
        assert owner.ledger.spent_in(day) == CERTAIN
        assert owner.ledger.spent_in("2020-03-29") == 0


def a_unit_is_bounded_in_each_period(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    """Also neighbours at the level of what is protected: a unit's rows of one period."""
    rng = np.random.default_rng(7)
    days, hours = rng.integers(1, 4, 240).tolist(), rng.integers(0, 24, 240).tolist()
    users, cells = rng.integers(0, 6, 240).tolist(), rng.integers(0, 5, 240).tolist()
    rows = [
        (u, c, dt.datetime(2020, 5, d, h, tzinfo=UTC))
        for u, c, d, h in zip(users, cells, days, hours, strict=True)
    ]
    rows += [(None, 0, rows[0][2]), (0, 0, None)]
    asked = ["2020-05-01", "2020-05-03"]
    question, bound, key = tu.CellCounts(tu.Axis.integers("cell", 0, 3)), 2, "ab" * 32

    def day(row: Any) -> str | None:
        return row[2] and str(row[2].astimezone(BERLIN).date())

    def counts(rows: Any, period: object, bound: int) -> np.ndarray[Any, Any]:
        kinds = {"user": pa.int64(), "cell": pa.int64(), "at": pa.timestamp("us", tz="UTC")}
        made = [
            pa.array(column, kind)
            for column, kind in zip(zip(*rows, strict=True), kinds.values(), strict=True)
        ]
        here = placed(engine, pa.table(dict(zip(kinds, made, strict=True))))
        raw = {"user": "integer"} if here.raw else None
        owner = tu.Owner(
            here.source, period_ledger(ledger, "at", "user"), **here.options,
            unit="user", rows_per_unit=bound, columns=raw,
        )  # fmt: skip
        source = owner._source  # the same rows are chosen of both neighbours
        owner._source = replace(source, prepare=lambda r: source.prepare(replace(r, key=key)))
        return np.array(exactly(owner, question, period=period))

    counted = [r for r in rows if r[0] is not None and r[1] < 4 and day(r) in asked]
    each = Counter((r[0], day(r)) for r in counted)
    here = counts(rows, asked, bound)
    assert here.sum() == sum(min(bound, n) for n in each.values()), engine
    whole = [sum(r[1] == cell for r in counted) for cell in range(4)]
    assert counts(rows, asked, 1000).tolist() == whole, engine
    gone = [r for r in rows if (r[0], day(r)) != (3, "2020-05-01")]
    assert abs(counts(gone, asked, bound) - here).sum() <= bound, engine
    other = [*gone, *[(3, 3, dt.datetime(2020, 5, 1, 21, 59, 59, 999999, tzinfo=UTC))] * 9]
    assert abs(counts(other, asked, bound) - here).sum() <= 2 * bound, engine
    # Moved past midnight, she is in another period, which no charge to the first one covers.
    moved = [*gone, *[(3, 3, dt.datetime(2020, 5, 1, 22, tzinfo=UTC))] * 9]
    first = counts(gone, "2020-05-01", bound)
    assert counts(moved, "2020-05-01", bound).tolist() == first.tolist(), engine
    assert day(moved[-1]) == "2020-05-02"


def a_unit_counts_in_its_share_of_periods(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    """By a hash of the unit alone, written out here; the same in every engine."""
    names = [f"u{n}" for n in range(40)]
    days = [dt.date(2020, 5, d) for d in range(1, 9)]
    rows = [(name, n - 20, day) for n, name in enumerate(names) for day in days]
    kinds = {"user": pa.string(), "number": pa.int64(), "day": pa.date32()}
    made = [
        pa.array(column, kind)
        for column, kind in zip(zip(*rows, strict=True), kinds.values(), strict=True)
    ]
    here = placed(engine, pa.table(dict(zip(kinds, made, strict=True))))
    few, of = 2, 5
    path = Path(ledger.name).with_name("share")
    for unit, said in (("user", names), ("number", [n - 20 for n in range(40)])):
        shared = tu.Ledger(
            path.with_name(f"share of {unit}"), limit=10**9, per="day", date="day",
            periods_per_unit=(few, of),
        )  # fmt: skip
        raw = {"user": "text", "number": "integer"} if here.raw else None
        options: Any = {"unit": unit, "rows_per_unit": 1, "columns": raw}
        owner = tu.Owner(here.source, shared, **here.options, **options)
        key = bytes.fromhex(shared.sampling_key())

        def turn(one: Any, key: bytes = key) -> int:
            whole = isinstance(one, int)
            name = one.to_bytes(8, "big", signed=True) if whole else _sha(one.encode())
            return int.from_bytes(_sha(key + name)[:6], "big") % of

        axis = tu.CellCounts(tu.Axis.integers("number", -20, 19))
        counted = np.zeros(40, np.int64)
        for day in days[:of]:
            number = (day - dt.date(1970, 1, 1)).days
            wanted = [int((number - turn(one)) % of < few) for one in said]
            found = exactly(owner, axis, period=day)
            assert found == wanted, f"{engine}: {unit} {day}"
            counted += found
        assert counted.tolist() == [few] * 40, engine  # of any five days two
        both = exactly(owner, axis, period=days[:2])
        each = np.array(exactly(owner, axis, period=days[0]))
        assert both == (each + exactly(owner, axis, period=days[1])).tolist(), engine


def _sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def degrees_are_those_of_the_edge_set(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    import networkx as nx

    pairs = [(1, 2), (2, 1), (1, 2), (2, 3), (3, 3), (4, 1), (5, 1), (1, 5), (6, 6), (2, 4), (3, 2)]
    rows = [*pairs, (None, 2), (2, None), (None, None)]
    table = pa.table(
        {
            "src": pa.array([a for a, _ in rows], pa.int64()),
            "dst": pa.array([b for _, b in rows], pa.int64()),
        }
    )
    here = placed(engine, table)
    kinds = {"src": "integer", "dst": "integer"} if here.raw else None
    loopless = [(a, b) for a, b in pairs if a != b]
    whole, arrows = nx.Graph(loopless), nx.DiGraph(loopless)
    sides = nx.DiGraph([((0, a), (1, b)) for a, b in pairs])
    expected = {
        "undirected": [d for _, d in whole.degree()],
        "directed": [d for _, d in arrows.out_degree()],
        "bipartite": [d for (side, _), d in sides.out_degree() if side == 0],
    }
    for kind, degrees in expected.items():
        owner = owner_of(here, ledger, edges=("src", "dst"), graph=kind, columns=kinds)
        ends = 2 if kind == "undirected" else 1
        question = tu.SortedCounts(10, ends=ends, adaptive=False)
        assert exactly(owner, question) == sorted([*degrees, *[0] * (10 - len(degrees))]), kind
        nodes = owner.count_groups(None, CERTAIN * ends)
        assert nodes.noisy.tolist() == [sum(d > 0 for d in degrees)]
        assert nodes.rows_per_unit == ends


def bad_requests_are_refused_and_cost_nothing(engine: str, placed: Put, ledger: tu.Ledger) -> None:
    here = placed(engine, whole_table())
    owner = owner_of(here, ledger)
    before = ledger.spent
    hours = tu.CellCounts(tu.Axis.integers("hours", 0, 23))
    grades = tu.CellCounts(tu.Axis.categories("label", ["A"]))
    if engine != "jsonl":  # any line of JSON might have had the column
        with pytest.raises(SourceError, match="no column 'hours'"):
            owner.measure(hours, 1)
        with pytest.raises(SourceError, match="no column 'hours'"):
            owner.measure(grades, 1, where="hours > 3")
        with pytest.raises(SourceError, match="no column 'user'"):
            owner_of(here, ledger, unit="user", rows_per_unit=1)
    if not here.raw:
        for axis in (
            tu.Axis.integers("label", 0, 9),
            tu.Axis.categories("real", ["A"]),
            tu.Axis.dates("whole", "2020", "2021"),
            tu.Axis.ipv4("real"),
            tu.Axis.regular("flag", 0, 1, 2),
        ):
            with pytest.raises(SourceError, match=r"Column '.*' holds .*, where .* needed"):
                owner.measure(tu.CellCounts(axis), 1)
    for where in (
        "label > 'A'",
        "whole = 'x'",
        "whole = 2.5",
        "real",
        "real > 1 / 0",
        "lower(label) = 'a'",
        "label = 'A' --",
        "label = 'A'; drop table t",
        "whole > real",
        "1 = 1",
        "(whole > 1",
    ):
        with pytest.raises((InputError, SourceError)):
            owner.measure(grades, 1, where=where)
    known = tu.CellCounts(tu.Axis.categories("label", ["A"]))
    if engine != "jsonl":
        with pytest.raises(SourceError, match="no column 'hours'"):
            owner.measure(tu.GridCounts(known, hours), 1)
    with pytest.raises(InputError, match="leave unit= out"):
        owner_of(here, ledger, unit="label", edges=("whole", "code"))
    for bound in (0, -1, 2.5, True):
        with pytest.raises(InputError, match="rows_per_unit"):
            owner_of(here, ledger, unit="label", rows_per_unit=bound)
    with pytest.raises(InputError, match="Name the column"):
        owner.measure(tu.SortedCounts(5, adaptive=False), 1)
    with pytest.raises(InputError, match="counts for 1 group"):
        owner.measure(tu.SortedCounts(5, by="label", ends=2, adaptive=False), 1)
    assert ledger.spent == before
