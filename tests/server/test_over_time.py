"""Counts over time: each period by itself, sums whose noise is independent, and their pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.errors import InputError
from trueup.server import over_time
from trueup.server.over_time import OverTime, What
from trueup.server.series import Volumes


@pytest.fixture(scope="module")
def parts(standing: Any) -> Any:
    return standing.guard.app.app.state.service


@pytest.fixture(scope="module")
def fares(parts: Any) -> Volumes:
    found: Volumes = parts.shelf.find("fares")
    return found


@pytest.fixture(scope="module")
def each(fares: Volumes) -> list[tu.Release]:
    """The releases of all periods, inferred here from what was stored."""
    found = []
    for period in fares.published():
        release = tu.infer(tu.Measurement.from_bytes(fares.stored(period)))
        assert isinstance(release, tu.Release)
        found.append(release)
    return found


def test_a_point_is_the_count_of_its_period(
    parts: Any, fares: Volumes, each: list[tu.Release]
) -> None:
    periods = fares.between(None, None, 10).published
    for what, ends in ((What(), (0, 40)), (What(5, 20), (5, 20))):
        points = parts.over_time.points(fares, periods, what, 0.9)
        for point, release in zip(points, each, strict=True):
            count = release.range(*ends)
            assert point["count"] == count.value
            assert (point["low"], point["high"]) == count.interval(0.9)
    assert points[0]["begins"] == "2026-01-01T00:00"


def test_variances_of_periods_add_up_and_their_sum_is_nearly_normal(
    parts: Any, fares: Volumes, each: list[tu.Release]
) -> None:
    stretch = fares.between("2026-01-02", "2026-01-06", 10)
    total = parts.over_time.sum(fares, stretch, What(5, 20))
    single = [release.range(5, 20) for release in each[1:6]]
    assert total.value == pytest.approx(sum(one.value for one in single), abs=1e-9)
    assert total.std_error == pytest.approx(np.sqrt(sum(one.std_error**2 for one in single)))
    low, high = total.interval(0.95)
    assert (high - low) / 2 == pytest.approx(1.96 * total.std_error, rel=0.03)


def test_the_bars_of_a_sum_are_sums_of_bars_and_their_intervals_hold_the_exact_ones(
    parts: Any, fares: Volumes
) -> None:
    stretch = fares.between("2026-01-01", "2026-01-03", 10)
    for version in ("unbiased", "whole"):
        view = parts.over_time.view(fares, stretch, What(version=version), 10, 0.95)
        assert len(view["counts"]) == 10
        for place, count in enumerate(view["counts"]):
            ends = view["edges"][place : place + 2]
            exact = parts.over_time.sum(fares, stretch, What(*ends, version=version))
            low, high = exact.interval(0.95)
            assert count == pytest.approx(exact.value, abs=1e-9)
            slack = 0.06 * (high - low) + (version == "whole")
            assert view["low"][place] - 1e-6 <= low <= view["low"][place] + slack
            assert view["high"][place] + 1e-6 >= high >= view["high"][place] - slack
    one = parts.over_time.view(fares, fares.between("2026-01-02", "2026-01-02", 1), What(), 10, 0.9)
    alone = parts.releases.open("fares@2026-01-02").answering("unbiased").view(0, 40, 10, 0.9)
    assert one == alone


def test_the_margin_of_a_grid_is_counted_and_ranks_are_not(parts: Any) -> None:
    both, riders = parts.shelf.find("both"), parts.shelf.find("riders")
    periods = both.between("2026-01-02", "2026-01-02", 1).published
    (total,) = parts.over_time.points(both, periods, What(), 0.95)
    (left,) = parts.over_time.points(both, periods, What(0, 20, "fare"), 0.95)
    (right,) = parts.over_time.points(both, periods, What(20, None, "fare"), 0.95)
    assert left["count"] + right["count"] == pytest.approx(total["count"], abs=1e-9)
    with pytest.raises(InputError, match="sorted counts"):
        parts.over_time.points(riders, riders.between(None, None, 9).published, What(), 0.95)
    with pytest.raises(InputError, match="sorted counts"):
        parts.over_time.affordable(riders)


def test_work_is_bounded_before_it_begins(
    parts: Any, fares: Volumes, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts.over_time.check_work(fares, 60, 20)
    with pytest.raises(InputError, match="Ask for fewer"):
        parts.over_time.check_work(fares, 61, 20)
    monkeypatch.setattr(over_time, "MOST_WORK", 1000)
    most = parts.over_time.affordable(fares)
    parts.over_time.check_work(fares, most, 1)
    with pytest.raises(InputError, match="Of so large releases"):
        parts.over_time.check_work(fares, most + 1, 1)


def test_releases_are_kept_open_as_many_as_have_room(
    fares: Volumes, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = OverTime()
    first, second = fares.between("2026-01-01", "2026-01-02", 2).published
    opened = kept.opened(fares, first)
    assert kept.opened(fares, first) is opened
    monkeypatch.setattr(over_time, "_MOST_KEPT", len(opened.measurement.noisy))
    kept.opened(fares, second)
    assert kept.opened(fares, first) is not opened


def test_so_many_periods_are_opened_as_can_be_inferred_in_a_moment(
    parts: Any, fares: Volumes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A law may be quick where every period takes a while to be read."""
    (latest, _) = next(reversed(fares.published().values()))
    noisy = len(parts.over_time.opened(fares, latest).measurement.noisy)
    monkeypatch.setattr(over_time, "MOST_WORK", 3 * noisy)
    assert parts.over_time.affordable(fares) == 3
    parts.over_time.check_work(fares, 3, 1)
    with pytest.raises(InputError, match="3 periods are opened at once, got 4"):
        parts.over_time.check_work(fares, 4, 1)
