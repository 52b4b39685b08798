"""Series as the server knows them: what the ledger says is published, period by period."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.config import read_config
from trueup.errors import InputError, LedgerError
from trueup.owner.ledger import Ledger
from trueup.owner.together import measure_together
from trueup.server.datasets import Table
from trueup.server.errors import FieldError, NotFoundError
from trueup.server.over_time import OverTime, What
from trueup.server.series import Shelf, Volumes
from trueup.standing import read_series
from trueup.standing.publisher import Desk

WEEK = [f"2026-01-0{day}" for day in range(1, 8)]


@pytest.fixture(scope="module")
def shelf(standing: Any) -> Shelf:
    found: Shelf = standing.guard.app.app.state.service.shelf
    return found


@pytest.fixture(scope="module")
def fares(shelf: Shelf) -> Volumes:
    return shelf.find("fares")


def test_what_is_published_is_what_the_ledger_says(fares: Volumes) -> None:
    found = fares.published()
    assert list(found) == WEEK
    said = {day for charge in fares.table.ledger.history() for day in charge.periods}
    assert set(found) == said
    assert all(name == period.name for name, (period, _) in found.items())


def test_the_answer_of_a_period_is_the_one_that_was_stored_for_the_series(shelf: Shelf) -> None:
    from trueup import Measurement

    kept = {
        name: Measurement.from_bytes(shelf.find(name).stored("2026-01-03"))
        for name in ("fares", "both", "riders")
    }
    for name, measured in kept.items():
        assert measured.question.space == shelf.find(name).series.question.space
        assert "2026-01-03" in measured.facts.capped
    assert len({measured.facts.id for measured in kept.values()}) == 3


@pytest.fixture
def apart(tmp_path: Path) -> tuple[Desk, Shelf]:
    """Two series of one table, of which nothing is published."""
    pq.write_table(pa.table({"at": [dt.date(2026, 1, 1)], "fare": [1]}), tmp_path / "trips.parquet")
    text = (
        '[datasets.trips]\nsource = "trips.parquet"\nledger = "l"\nlimit = 9\nper = "day"\n'
        'date = "at"\n[datasets.trips.axes.fare]\nkind = "integers"\nfirst = 0\nlast = 3\n'
    )
    for name in ("one", "two"):
        text += f'[publish.{name}]\ncolumn = "fare"\nstrategy = "flat"\nepsilon = 1\n'
        text += 'first = "2026-01-01"\n'
    (tmp_path / "trueup.toml").write_text(text)
    series = read_series(read_config(tmp_path / "trueup.toml"))
    desk = Desk(series[0].dataset, series)
    return desk, Shelf(series, {"trips": Table(series[0].dataset, desk.owner)})


def test_a_period_is_published_of_a_series_that_its_charge_names_once_it_is_answered(
    apart: tuple[Desk, Shelf], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, shelf = apart
    one, two = (each.standing for each in desk.series.values())
    measure_together(desk.owner, [one], WEEK[0], "a")
    measure_together(desk.owner, [one, two], WEEK[2], "b")

    def killed(*_: object) -> None:
        raise LedgerError("as by a kill")

    with monkeypatch.context() as during:
        during.setattr(Ledger, "_record", killed)
        with pytest.raises(LedgerError):
            measure_together(desk.owner, [one, two], WEEK[4], "c")
    assert {period for each in desk.ledger.history() for period in each.periods} == {
        WEEK[0], WEEK[2], WEEK[4],
    }  # fmt: skip
    found = {name: list(shelf.find(name).published()) for name in ("one", "two")}
    assert found == {"one": [WEEK[0], WEEK[2]], "two": [WEEK[2]]}
    assert shelf.find("one").between(None, None, 3).missing == (WEEK[1],)
    for name, period in (("two", WEEK[0]), ("one", WEEK[4])):
        with pytest.raises(NotFoundError):
            shelf.find(name).stored(period)


def test_as_many_periods_as_may_be_are_answered_at_once_and_no_more(fares: Volumes) -> None:
    assert len(fares.between(WEEK[0], WEEK[4], 5).published) == 5
    with pytest.raises(FieldError, match="At most 5 days at once, got 6"):
        fares.between(WEEK[0], WEEK[5], 5)


def test_periods_that_are_not_published_are_named(fares: Volumes) -> None:
    stretch = fares.between("2025-12-30", "2026-01-02", 10)
    assert [period.name for period in stretch.published] == WEEK[:2]
    assert stretch.missing == ("2025-12-30", "2025-12-31")
    whole = fares.between(None, None, 7)
    assert [period.name for period in whole.published] == WEEK
    assert whole.missing == ()


@pytest.mark.parametrize(
    ("ends", "pointer", "words"),
    [
        (("yesterday", None), "/first", "A day is named like"),
        ((None, "2025-12-31"), "/through", "2026-01-01 comes after 2025-12-31"),
        (("2026-01-01", "2026-03-01"), "/through", "At most 10 days at once, got 60"),
        (("2026-01-08", "2026-01-09"), "/first", "Nothing is published"),
    ],
)
def test_a_stretch_that_makes_no_sense_is_refused_at_its_field(
    fares: Volumes, ends: tuple[str | None, str | None], pointer: str, words: str
) -> None:
    with pytest.raises(FieldError, match=words) as wrong:
        fares.between(*ends, 10)
    assert wrong.value.pointer == pointer


def test_the_name_of_a_release_is_of_a_series_or_of_none(shelf: Shelf) -> None:
    assert shelf.of("trips.3") is None
    volumes, period = shelf.of("fares@2026-01-03") or (None, "")
    assert (volumes, period) == (shelf.find("fares"), "2026-01-03")
    for name in ("nobody@2026-01-03", "@", "fares@x@2026-01-03"):
        with pytest.raises(NotFoundError):
            shelf.of(name)
    with pytest.raises(NotFoundError):
        shelf.find("fares").charge("2026-01-08")


def test_periods_of_two_axes_are_not_drawn_as_one(apart: tuple[Desk, Shelf]) -> None:
    """An owner may declare a series anew: its releases of before stay what they are."""
    desk, shelf = apart
    (one, _), table = (each.standing for each in desk.series.values()), desk.owner
    other = tu.CellCounts(tu.Axis.integers("fare", 0, 7))
    measure_together(table, [one], WEEK[0], "a")
    measure_together(table, [replace(one, question=other)], WEEK[1], "b")
    volumes, drawing = shelf.find("one"), OverTime()
    both = volumes.between(WEEK[0], WEEK[1], 2)
    with pytest.raises(InputError, match="axis of this series has changed"):
        drawing.view(volumes, both, What(), 10, 0.95)
    for day, cells in ((WEEK[0], 4), (WEEK[1], 8)):
        alone = drawing.view(volumes, volumes.between(day, day, 1), What(), 10, 0.95)
        assert len(alone["counts"]) == cells
