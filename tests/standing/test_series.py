"""What [publish.NAME] may say, and what is refused before anything is spent."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kills import FIRST, Shop

import trueup as tu
from trueup.config import read_config
from trueup.errors import FileError, InputError
from trueup.standing import publish_due, read_series
from trueup.standing import series as series_module
from trueup.standing.series import read_wait

TEXT = """
[datasets.trips]
source = "trips.parquet"
ledger = "trips.ledger"
limit = 1
per = "day"
date = "at"
[datasets.trips.axes.fare]
kind = "integers"
first = 0
last = 9
[datasets.trips.axes.hour]
kind = "integers"
first = 0
last = 23
[datasets.plain]
source = "trips.parquet"
ledger = "plain.ledger"
limit = 1
[publish.fares]
dataset = "trips"
column = "fare"
epsilon = "1/10"
first = "2026-01-01"
"""


def read(folder: Path, change: tuple[str, str] = ("", "")) -> tuple:
    (folder / "trueup.toml").write_text(TEXT.replace(*change) if change[0] else TEXT + change[1])
    return read_series(read_config(folder / "trueup.toml"))


def test_a_series_says_what_where_and_when(tmp_path: Path) -> None:
    more = 'where = "hour > 3"\nwait = "2 days"\nfolder = "out"\nformats = ["csv", "json"]\n'
    more += 'nonnegative = false\ntitle = "Fares"\ndescription = "of the day"\n'
    (series,) = read(tmp_path, ("", more))
    assert series.paths("2026-01-01") == [
        tmp_path / "out" / "fares" / "2026-01-01.csv",
        tmp_path / "out" / "fares" / "2026-01-01.json",
    ]
    assert (series.title, series.description) == ("Fares", "of the day")
    assert series.standing.where == "hour > 3"
    assert series.question == tu.plan(series.dataset.axis("fare"), "1/10").best
    now = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
    assert [each.name for each in series.due(now)] == ["2026-01-01", "2026-01-02"]
    last = series.calendar.period("2026-01-01")
    assert [each.name for each in series.due(now, last)] == ["2026-01-01"]


@pytest.mark.parametrize(
    ("said", "cost"),
    [
        ('epsilon = "1/10"', tu.Cost.of("1/10")),
        ('rho = "1/10"', tu.Cost.of(rho="1/10")),
    ],
)
def test_a_series_costs_what_it_says_in_the_notion_that_it_says(
    tmp_path: Path, said: str, cost: tu.Cost
) -> None:
    (series,) = read(tmp_path, ('epsilon = "1/10"', said))
    assert series.cost == series.standing.cost == cost


def test_a_series_asks_at_once_unless_it_says_another(tmp_path: Path) -> None:
    """Its periods are added up, which intervals of adaptive trees are not made for."""
    (series,) = read(tmp_path, ("last = 9", "last = 99"))
    planned = tu.plan(series.dataset.axis("fare"), "1/10", nonnegative=True)
    assert series.question == planned["for non-negative counts"].question
    said = TEXT.replace("last = 9", "last = 99") + 'strategy = "adaptive"\n'
    (adaptive,) = read(tmp_path, (TEXT, said))
    assert adaptive.question == planned.best == planned["adaptive tree"].question


def test_grids_strategies_and_groups_can_stand(tmp_path: Path) -> None:
    (flat,) = read(tmp_path, ("", 'strategy = "flat"\n'))
    assert flat.question == tu.CellCounts(flat.dataset.axis("fare"))
    (grid,) = read(tmp_path, ('column = "fare"', 'columns = ["fare", "hour"]'))
    assert [axis.name for axis in grid.question.space.axes] == ["fare", "hour"]
    (groups,) = read(tmp_path, ('column = "fare"', 'by = "user"\ngroups = 9'))
    assert groups.question == tu.SortedCounts(9, by="user")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('dataset = "trips"\n', 'dataset = "trip"\n'), "dataset must be one that is declared"),
        (('dataset = "trips"\n', 'dataset = "plain"\n'), "one limit for all time"),
        (('date = "at"', 'date = "at"\nunit = "user"\nrows_per_unit = "auto"\nat_most = 9'),
         "write the number that it chose here"),
        (('first = "2026-01-01"', ""), 'first is missing, the first day: "2026-03-01"'),
        (('first = "2026-01-01"', 'first = "soon"'), "A day is named like"),
        (('column = "fare"', 'column = "fares"'), "no axis for 'fares'"),
        (('column = "fare"', ""), "Say what is counted"),
        (('column = "fare"', 'column = "fare"\nby = "user"'), "Say what is counted"),
        (('column = "fare"', 'by = "user"'), "by goes with groups"),
        (('column = "fare"', "columns = 3"), "columns must be a list"),
        (("", 'strategy = "clever"'), "strategy must be one of best"),
        (("", 'wait = "a while"'), "wait must be such as"),
        (("", "wait = 2"), "wait must be such as"),
        (("", 'formats = ["pdf"]'), "formats must be a list of parquet, json, csv"),
        (("", 'formats = [["csv"]]'), "formats must be a list of parquet, json, csv"),
        (("", 'nonnegative = "yes"'), "nonnegative must be true or false"),
        (("", "colum = 1"), "colum is not known. Did you mean column"),
        (('epsilon = "1/10"', ""), "Give the cost as epsilon or as rho"),
        (("[publish.fares]", '[publish."../fares"]'), "a name has letters"),
        (("", '[publish.Fares]\ndataset = "trips"\ncolumn = "fare"\nepsilon = 1\nfirst = '
              '"2026-01-01"'), "would share a folder"),
        (("[publish.fares]", "[publish]\nfares = 3\n[publish.other]"), "must be a table"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_series_is_named(
    tmp_path: Path, change: tuple[str, str], says: str
) -> None:
    with pytest.raises(FileError, match=says):
        read(tmp_path, change)


def test_a_wait_is_a_number_of_minutes_hours_days_or_weeks() -> None:
    assert read_wait("1 hour") == dt.timedelta(hours=1)
    assert read_wait(" 90 minutes ") == dt.timedelta(minutes=90)
    for wrong in ("-1 days", "1.5 days", "1 month", "", None):
        with pytest.raises(InputError, match="wait must be such as"):
            read_wait(wrong)


def test_people_of_each_day_are_a_series(tmp_path: Path) -> None:
    user, day = [1, 1, 1, 2, 3, 1, 2, 2], [1, 1, 1, 1, 1, 2, 2, 2]
    at = [dt.datetime(2026, 1, each, 12) for each in day]
    pq.write_table(pa.table({"user": user, "at": at}), tmp_path / "trips.parquet")
    (tmp_path / "trueup.toml").write_text("""
[datasets.riders]
source = "trips.parquet"
ledger = "riders.ledger"
limit = 50
per = "day"
date = "at"
unit = "user"
people.trips = {count = "*"}
axes.trips = {kind = "integers", first = 0, last = 4}
[publish.trips]
column = "trips"
strategy = "flat"
epsilon = 50
first = "2026-01-01"
""")
    series = read_series(read_config(tmp_path / "trueup.toml"))
    publish_due(series, now=dt.datetime(2026, 1, 3, tzinfo=dt.UTC))
    for each, people in ((1, [0, 2, 0, 1, 0]), (2, [0, 1, 1, 0, 0])):
        release = tu.load(tmp_path / "published" / "trips" / f"2026-01-0{each}.parquet", tu.Release)
        assert release.counts().tolist() == people  # noise of 50 is 0, all but surely
        assert (release.facts.rows, [name for name, _ in release.facts.features]) == (1, ["trips"])


@pytest.mark.parametrize("formats", [("json",), ("json", "csv")])
@pytest.mark.parametrize("many", [series_module._LOOKED_FOR - 1, series_module._LOOKED_FOR, 40])
def test_a_period_lacks_a_file_if_one_of_its_formats_does(
    tmp_path: Path, formats: tuple[str, ...], many: int
) -> None:
    """The same whether names are looked for one by one or read from the folder at once."""
    made = replace(Shop(tmp_path, days=3, series=1).declared[0], formats=formats)
    days = [str(FIRST + dt.timedelta(days=number)) for number in range(many)]
    assert made.unwritten(days) == days  # there is no folder yet
    made.folder.mkdir(parents=True)
    for number, day in enumerate(days):
        for ending in formats[: number % (len(formats) + 1)]:
            (made.folder / f"{day}.{ending}").touch()
        (made.folder / f".{day}.json.0123").touch()  # a draft
    whole = days[len(formats) :: len(formats) + 1]
    assert made.unwritten(days) == [day for day in days if day not in whole]


def test_nothing_is_due_while_a_wait_is_longer_than_the_calendar(tmp_path: Path) -> None:
    (series,) = read(tmp_path, ("", 'wait = "999999 weeks"'))
    assert series.due(dt.datetime(2026, 1, 5, tzinfo=dt.UTC)) == []
