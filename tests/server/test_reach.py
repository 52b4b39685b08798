"""Intervals of hats that stand for others: never narrower than the exact ones, hardly wider."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.law import EXACT
from trueup.server import reach
from trueup.server.answers import NEARLY, Answering
from trueup.server.reach import Reach

SIZE = 2000


@pytest.fixture(scope="module")
def release() -> tu.Release:
    axis = tu.Axis.integers("x", 0, SIZE - 1)
    made = tu.infer(tu.measure(np.zeros(SIZE, np.int64), tu.HatCounts(axis), epsilon=1))
    assert isinstance(made, tu.Release)
    return made


def test_what_stands_for_others_holds_them_and_is_hardly_wider(release: tu.Release) -> None:
    generator = np.random.default_rng(7)
    lengths = np.concatenate([2 ** np.arange(3, 11), generator.integers(8, SIZE, 30)])
    starts = (generator.random(len(lengths)) * (SIZE - lengths)).astype(np.int64)
    stops = starts + lengths
    spread = np.sqrt(release.errors.range_variances(starts, stops))
    found, exact = Reach(release.errors, SIZE).of(starts, stops, spread, 0.95)
    wanted = release.errors.half_widths(starts, stops, 0.95)
    assert not exact.any()
    assert (found >= wanted).all()
    assert (found <= wanted * (1 + 1.5 * reach.ALIKE) * 1.001).all()


def test_lengths_whose_intervals_are_not_alike_are_looked_at_one_by_one(
    release: tu.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = np.array([0, 17, 100])
    monkeypatch.setattr(reach, "ALIKE", 0.0)
    told = Answering(release, "unbiased").many(starts, starts + 40, 0.9)
    for one, start in zip(told, starts.tolist(), strict=True):
        assert one["kind"] == EXACT
        interval = release.range(start, start + 40).interval(0.9)
        assert (one["low"], one["high"]) == pytest.approx(interval)


def test_a_level_that_is_new_costs_few_laws_and_one_that_is_known_none(
    release: tu.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Answering(release, "unbiased")
    starts = np.arange(0, 1000, 10)
    told = asked.many(starts, starts + 900, 0.95)
    assert {one["kind"] for one in told} == {NEARLY}
    laws = []

    def half_widths(errors: Any, starts: Any, stops: Any, level: float) -> Any:
        laws.append(starts)
        return 2 * np.sqrt(errors.range_variances(starts, stops))

    monkeypatch.setattr(type(release.errors), "half_widths", half_widths)
    again = asked.many(starts, starts + 900, 0.95)
    assert again == told
    assert not laws
    asked.many(starts, starts + 900, 0.9)
    assert [len(some) for some in laws] == [reach.FEW]
