"""Each period of each series once, in order: killed, raced, refused, with files lost."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kills import FIRST, NOW, Shop, torture
from postgres_server import Postgres

import trueup as tu
from trueup.config import read_config
from trueup.errors import BudgetError, FileError, LedgerError, PublishedError, SourceError
from trueup.owner import counting, together
from trueup.owner.ledger import Ledger
from trueup.standing import publish_due, publisher, read_series, statuses
from trueup.standing.publisher import Desk, desks, publish_at


def test_nothing_is_missing_or_twice_whoever_is_killed_when() -> None:
    figures = torture(days=12, series=3, kills=12, commands=1, seed=7)
    assert figures["children killed"] >= 12


def test_a_ledger_on_postgresql_is_charged_once_whoever_is_killed_when() -> None:
    try:
        server = Postgres.made(durable=True)
    except FileNotFoundError:
        pytest.fail("NOT TESTED: PostgreSQL, which is not installed. Run `make system`.")
    try:
        address = f"{server.address}#trips"
        figures = torture(days=6, series=2, kills=6, commands=0, seed=8, ledger=address)
    finally:
        server.remove()
    assert figures["children killed"] >= 6


class Killed(BaseException):
    """As a kill: nothing after it is done."""


# Each place where a run touches the world, by what it calls there.
PLACES: list[tuple[Any, str]] = [
    (Ledger, "_charge"), (Ledger, "_record"), (publisher, "write_many"), (publisher, "infer"),
    (together, "measure_all"), (Ledger, "_stored"),
]  # fmt: skip


@pytest.mark.parametrize(("after", "at_once"), [(False, 1), (True, 1), (False, 2), (True, 2)])
@pytest.mark.parametrize("number", range(len(PLACES)))
def test_a_run_killed_at_each_step_is_finished_by_the_next(
    tmp_path: Path, number: int, after: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "AT_ONCE", at_once)
    shop = Shop(tmp_path, days=3, series=2)
    place, name = PLACES[number]
    real: Callable[..., Any] = getattr(place, name)
    left = [2]  # the second day's is the one that is killed, or what comes after two days

    def dying(*given: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and not after:
            raise Killed
        found = real(*given, **options)
        if left[0] == 0:
            raise Killed
        return found

    with monkeypatch.context() as during:
        during.setattr(place, name, dying)
        with pytest.raises(Killed):
            shop.publish()
    shop.look()
    shop.publish()
    shop.check()


def test_a_desk_that_stays_open_sees_what_another_answered_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A charge without an answer is the same entry once it has one."""
    shop = Shop(tmp_path, days=2, series=1)

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as during:
        during.setattr(Ledger, "_record", killed)
        with pytest.raises(Killed):
            shop.publish()
    (desk,) = desks(shop.declared)
    assert len(desk.unanswered) >= 1
    assert all(charge.answer is None for charge in desk.paid.values())
    shop.publish()
    desk.look()
    assert not desk.unanswered
    assert len(desk.paid) == 2
    assert all(charge.answer is not None for charge in desk.paid.values())


def test_files_that_are_lost_are_written_again_and_cost_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path, days=3, series=2)
    shop.publish()
    shop.look()
    lost = tmp_path / "published" / "s1" / "2026-01-02.json"
    lost.unlink()
    (status,) = [each for each in statuses(shop.declared, NOW, shop.last) if each.unwritten]
    assert (status.unwritten, status.word) == (("2026-01-02",), "due")
    done = publish_due(shop.declared, NOW, shop.last)
    assert done.written == [lost]
    assert not done.published
    shop.check()


@pytest.mark.parametrize("nonnegative", [True, False])
def test_a_result_is_what_its_dataset_and_its_series_declare(
    tmp_path: Path, nonnegative: bool
) -> None:
    """The rows of a unit, the relation, the filter: in the noise, in the count, in the ledger.

    At an ε of thousands the counts are the true ones: of each user at most three rows.
    """
    users = [user for user in range(30) for _ in range(user % 5)]
    zones = [row % 2 for row in range(len(users))]
    days = [FIRST] * len(users)
    rows = {"user": users, "zone": zones, "fare": [1] * len(users), "day": days}
    pq.write_table(pa.table(rows), tmp_path / "trips.parquet")
    (tmp_path / "trueup.toml").write_text(
        '[datasets.trips]\nsource = "trips.parquet"\nledger = "l"\nlimit = 12000\nper = "day"\n'
        'date = "day"\nunit = "user"\nrows_per_unit = 3\nneighbours = "replace"\n'
        'columns = {zone = "integer"}\n'
        '[datasets.trips.axes.fare]\nkind = "integers"\nfirst = 0\nlast = 3\n'
        '[publish.odd]\ncolumn = "fare"\nstrategy = "flat"\nepsilon = 6000\n'
        f'where = "zone = 1"\nfirst = "{FIRST}"\nnonnegative = {str(nonnegative).lower()}\n'
    )
    series = read_series(read_config(tmp_path / "trueup.toml"))
    publish_due(series, NOW, str(FIRST))
    ledger = Desk(series[0].dataset, series).ledger
    (charge,) = ledger.history()
    (measured,) = together.stored_answers(ledger.stored(charge)).values()
    assert (measured.unit, measured.rows_per_unit, measured.neighbours) == ("user", 3, "replace")
    assert measured.noise.scales == (Fraction(2 * 3, 6000),)
    odd = Counter(user for user, zone in zip(users, zones, strict=True) if zone)
    assert measured.noisy.tolist() == [0, sum(min(3, rows) for rows in odd.values()), 0, 0]
    assert measured.facts.period is not None
    assert measured.facts.period.names == (str(FIRST),)
    release = tu.load(tmp_path / "published" / "odd" / f"{FIRST}.parquet")
    assert (release.facts.inferred == "least squares") == (not nonnegative)


def test_old_drafts_are_swept_away_and_nothing_else(tmp_path: Path) -> None:
    """Results stay however old they are, and drafts that somebody may be writing."""
    shop = Shop(tmp_path, days=2, series=1)
    shop.publish()
    folder = tmp_path / "published" / "s0"
    left, fresh = (f".2026-01-0{day}.json.{'0f' * 8}" for day in (1, 2))
    for name in (left, fresh, "a note"):
        (folder / name).write_text("x")
    for path in folder.iterdir():
        if path.name != fresh:
            os.utime(path, (1, 1))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    shop.publish()
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert after == {name: data for name, data in before.items() if name != left}


def test_what_a_period_cannot_pay_for_is_refused_and_the_next_goes_on(tmp_path: Path) -> None:
    shop = Shop(tmp_path, days=3, series=2)
    (desk,) = desks(shop.declared)
    taken = tu.CellCounts(tu.Axis.integers("fare", 0, 3))
    desk.owner.measure(taken, Fraction(1, 1000), period="2026-01-02")
    done = publish_due(shop.declared, NOW, shop.last)
    assert list(done.refused) == [("s1", "2026-01-02")]
    assert len(done.published) == 5
    found = {each.series.name: each for each in statuses(shop.declared, NOW, shop.last)}
    assert found["s1"].gaps == ("2026-01-02",)
    assert (found["s0"].word, found["s1"].word) == ("published", "gap")
    assert list(publish_due(shop.declared, NOW, shop.last).refused) == [("s1", "2026-01-02")]
    # Desks that stay open remember what is paid, and not more.
    places = desks(shop.declared)
    for _ in range(2):
        assert list(publish_at(places, NOW, shop.last).refused) == [("s1", "2026-01-02")]


def test_a_name_is_charged_once_a_period_whatever_the_key(tmp_path: Path) -> None:
    shop = Shop(tmp_path, days=2, series=2)
    (desk,) = desks(shop.declared)
    one, two = (each.standing for each in shop.declared)
    together.measure_together(desk.owner, [one], "2026-01-01", "a")
    with pytest.raises(PublishedError, match="'s0' was published for 2026-01-01 already"):
        together.measure_together(desk.owner, [two, one], "2026-01-01", "b")
    assert desk.ledger.spent_in("2026-01-01") == Fraction(1, 1000)
    publish_due(shop.declared, NOW, shop.last)  # s1 of that day, and both of the next
    shop.check()


def test_a_publisher_that_comes_second_finishes_what_the_first_has_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, days=2, series=2)
    slow = Desk(shop.declared[0].dataset, shop.declared)
    with monkeypatch.context() as during:
        during.setattr(Ledger, "_record", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            shop.publish()  # charged both days and died
    done = publisher.Done()
    slow.publish(NOW, None if not shop.last else shop.declared[0].calendar.period(shop.last), done)
    days = ("2026-01-01", "2026-01-02")
    assert sorted(done.completed) == [(name, day) for name in ("s0", "s1") for day in days]
    shop.check()


@pytest.mark.parametrize(
    ("at_once", "cells", "passes"), [(32, 1 << 24, 1), (2, 1 << 24, 3), (32, 16, 3)]
)
def test_days_that_are_overdue_are_counted_in_few_passes(
    tmp_path: Path, at_once: int, cells: int, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, days=6, series=2)  # of four cells each
    monkeypatch.setattr(publisher, "AT_ONCE", at_once)
    monkeypatch.setattr(publisher, "_CELLS", cells)
    read, real = [], counting.each_batch
    monkeypatch.setattr(counting, "each_batch", lambda *given: (read.append(1), real(*given))[1])
    shop.publish()
    assert len(read) == passes
    shop.check()


def test_an_open_charge_is_finished_though_its_series_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, days=1, series=2)
    with monkeypatch.context() as during:
        during.setattr(Ledger, "_record", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            shop.publish()
    done = publish_due(shop.declared[:1], NOW, shop.last)
    assert ("s1", "2026-01-01") in done.completed
    assert not (tmp_path / "published" / "s1").exists()
    publish_due(shop.declared, NOW, shop.last)
    shop.check()


def test_nothing_is_published_before_its_time(tmp_path: Path) -> None:
    shop = Shop(tmp_path, days=3, series=1)
    midnight = dt.datetime.combine(FIRST, dt.time(), dt.UTC) + dt.timedelta(days=1)
    second = dt.timedelta(seconds=1)
    assert publish_due(shop.declared, midnight - second).published == []
    assert publish_due(shop.declared, midnight).published == [("s0", "2026-01-01")]
    late = shop.config.read_text().replace("[publish.s0]", '[publish.s0]\nwait = "36 hours"')
    shop.config.write_text(late)
    waits = read_series(read_config(shop.config))
    day_two = midnight + dt.timedelta(hours=60)
    assert publish_due(waits, day_two - second).published == []
    assert publish_due(waits, day_two).published == [("s0", "2026-01-02")]


def test_rows_that_come_late_change_nothing_that_was_published(tmp_path: Path) -> None:
    """What they belong to is published; to count it again costs again, and says what is left."""
    shop = Shop(tmp_path, days=2, series=1)
    shop.publish()
    shop.look()
    table = pq.read_table(tmp_path / "trips.parquet")
    late = table.slice(0, 1).to_pylist()[0] | {"day": FIRST, "fare": 1, "zone": 0}
    more = pa.Table.from_pylist([late] * 1_000, table.schema)
    pq.write_table(pa.concat_tables([table, more]), tmp_path / "trips.parquet")
    done = publish_due(shop.declared, NOW, shop.last)
    assert (done.published, done.completed, done.written, done.refused) == ([], [], [], {})
    shop.check()
    owner = desks(shop.declared)[0].owner
    fare = tu.CellCounts(tu.Axis.integers("fare", 0, 3))
    with pytest.raises(BudgetError, match="0 of"):
        owner.measure(fare, "1/1000", period=FIRST)


def test_results_that_cannot_be_written_are_paid_for_and_said(tmp_path: Path) -> None:
    shop = Shop(tmp_path, days=1, series=1)
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "s0").mkdir(mode=0o500)
    if os.geteuid() == 0:  # whom no mode stops
        (tmp_path / "published" / "s0").rmdir()
        (tmp_path / "published" / "s0").write_text("in the way")
        with pytest.raises((FileError, OSError)):
            shop.publish()
        (tmp_path / "published" / "s0").unlink()
    else:
        with pytest.raises(FileError, match="the next run writes them"):
            shop.publish()
        (tmp_path / "published" / "s0").chmod(0o700)
    shop.publish()
    shop.check()
    assert json.loads(json.dumps([each.to_json() for each in statuses(shop.declared, NOW)]))


def test_sums_over_periods_have_the_interval_of_their_noise(tmp_path: Path) -> None:
    """Days have independent noise: the law of their sum is the convolution of their laws."""
    import numpy as np

    shop = Shop(tmp_path, days=5, series=1)
    text = shop.config.read_text().replace('epsilon = "1/1000"', 'epsilon = "1"')
    text = text.replace('limit = "1/1000"', "limit = 1")
    shop.config.write_text(text)
    publish_due(read_series(read_config(shop.config)), NOW, shop.last)
    days = [tu.load(path) for path in sorted((tmp_path / "published" / "s0").glob("*.json"))]
    assert len(days) == 5
    total = sum(day.range(1, 3) for day in days)
    assert total.value == sum(day.range(1, 3).value for day in days)
    reach = np.arange(-200, 201)
    one = np.exp(-abs(reach) * 1.0)
    one /= one.sum()
    law = np.ones(1)
    for _ in range(10):  # five days, two cells each
        law = np.convolve(law, one)
    middle = len(law) // 2
    beyond = np.array([law[middle - r : middle + r + 1].sum() for r in range(60)])
    half = int(np.argmax(beyond >= 0.95))
    low, high = total.interval(0.95)
    assert abs((high - low) / 2 - half) < 0.51
    assert abs(total.std_error - (10 * (one * reach**2).sum()) ** 0.5) < 1e-9


def test_a_day_that_is_spent_between_the_look_and_the_charge_stops_no_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, days=4, series=1)
    real, spent = publisher.spend_together, list[str]()

    def raced(owner: Any, asked: Any) -> Any:
        if not spent:  # an analyst, just now
            spent.append("2026-01-02")
            left = owner.ledger.remaining_in(spent[0])
            (one,) = asked[0].standing
            owner.measure(one.question, left, period=spent[0])
        return real(owner, asked)

    monkeypatch.setattr(publisher, "spend_together", raced)
    done = publish_due(shop.declared, NOW, shop.last)
    (name,) = {series for series, _ in done.published}
    assert [day for _, day in done.published] == ["2026-01-01", "2026-01-03", "2026-01-04"]
    assert list(done.refused) == [(name, "2026-01-02")]


@pytest.mark.parametrize("wrong", [SourceError("gone"), LedgerError("edited")])
def test_what_is_no_matter_of_the_budget_is_no_refusal(
    tmp_path: Path, wrong: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that cannot be read ends the run: it would else be said that money is short."""
    shop = Shop(tmp_path, days=2, series=1)
    monkeypatch.setattr(publisher, "spend_together", lambda *_: ([], wrong))
    with pytest.raises(type(wrong), match=str(wrong)):
        publish_due(shop.declared, NOW, shop.last)


def test_all_charges_without_an_answer_are_completed_however_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, days=5, series=1)

    def dying(*_: Any, **__: Any) -> Any:
        raise Killed

    with monkeypatch.context() as during:  # all days are charged, and then it dies
        during.setattr(together, "measure_all", dying)
        with pytest.raises(Killed):
            shop.publish()
    monkeypatch.setattr(publisher, "AT_ONCE", 2)
    done = publish_due(shop.declared, NOW, shop.last)
    assert [day for _, day in done.completed] == [f"2026-01-0{day}" for day in range(1, 6)]
    assert not done.published
    shop.check()


def test_what_is_hidden_in_the_folder_and_no_draft_stays(tmp_path: Path) -> None:
    """A folder that is served has files of its own there, and editors make theirs."""
    shop = Shop(tmp_path, days=2, series=1)
    shop.publish()
    place = shop.declared[0].folder
    (place / ".git").mkdir()
    hidden = [place / name for name in (
        ".htaccess", ".2026-01-01.json", f".notes.{'0' * 16}", f"2026-01-01.json.{'0' * 16}",
    )]  # fmt: skip
    for path in hidden:
        path.touch()
    draft = place / f".2026-01-01.json.{'0f' * 8}"
    draft.touch()
    for path in (*hidden, place / ".git", draft):
        os.utime(path, (1, 1))
    shop.publish()
    assert all(path.exists() for path in (*hidden, place / ".git"))
    assert not draft.exists()
