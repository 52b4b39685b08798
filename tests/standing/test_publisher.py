"""Each period of each series once, in order: killed, raced, refused, with files lost."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from kills import FIRST, NOW, Shop, torture

import trueup as tu
from trueup.errors import FileError, PublishedError
from trueup.owner import together
from trueup.owner.ledger import Ledger
from trueup.standing import publish_due, publisher, statuses
from trueup.standing.publisher import Desk, desks


def test_nothing_is_missing_or_twice_whoever_is_killed_when() -> None:
    figures = torture(days=12, series=3, kills=12, commands=1, seed=7)
    assert figures["children killed"] >= 12


class Killed(BaseException):
    """As a kill: nothing after it is done."""


# Each place where a run touches the world, by what it calls there.
PLACES: list[tuple[Any, str]] = [
    (Ledger, "_charge"), (Ledger, "_record"), (publisher, "write_many"), (publisher, "infer"),
    (together, "measure_all"), (Ledger, "_stored"),
]  # fmt: skip


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(len(PLACES)))
def test_a_run_killed_at_each_step_is_finished_by_the_next(
    tmp_path: Path, number: int, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, days=3, series=2)
    place, name = PLACES[number]
    real: Callable[..., Any] = getattr(place, name)
    left = [2]  # the second day's is the one that is killed

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


def test_files_that_are_lost_are_written_again_and_cost_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path, days=3, series=2)
    shop.publish()
    shop.look()
    lost = tmp_path / "published" / "s1" / "2026-01-02.parquet"
    lost.unlink()
    (status,) = [each for each in statuses(shop.declared, NOW, shop.last) if each.unwritten]
    assert (status.unwritten, status.word) == (("2026-01-02",), "due")
    done = publish_due(shop.declared, NOW, shop.last)
    assert done.written == [lost]
    assert not done.published
    shop.check()


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
            shop.publish()  # charged the first day and died
    done = publisher.Done()
    slow.publish(NOW, None if not shop.last else shop.declared[0].calendar.period(shop.last), done)
    assert sorted(done.completed) == [("s0", "2026-01-01"), ("s1", "2026-01-01")]
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
    from trueup.config import read_config
    from trueup.standing import read_series

    waits = read_series(read_config(shop.config))
    day_two = midnight + dt.timedelta(hours=60)
    assert publish_due(waits, day_two - second).published == []
    assert publish_due(waits, day_two).published == [("s0", "2026-01-02")]


def test_results_that_cannot_be_written_are_paid_for_and_said(tmp_path: Path) -> None:
    shop = Shop(tmp_path, days=1, series=1)
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "s0").mkdir(mode=0o500)
    import os

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
    text = text.replace('limit = "1/1000"', "limit = 1") + "\nnonnegative = false\n"
    shop.config.write_text(text)
    from trueup.config import read_config
    from trueup.standing import read_series

    publish_due(read_series(read_config(shop.config)), NOW, shop.last)
    days = [tu.load(path) for path in sorted((tmp_path / "published" / "s0").glob("*.parquet"))]
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
