"""Bars, ends and spans against plain loops; many at once against one at a time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.server.answers import Answering, bars, ranks, spans
from trueup.server.quick import QuickRanges, read

AXES = [
    tu.Axis.regular("x", -3, 61, 256),
    tu.Axis.integers("x", 5, 260),
    tu.Axis.edges("x", [0, 1, 2.5, 7, 100, 1e6]),
    tu.Axis.dates("x", "2013-01-01", "2013-03-31"),
    tu.Axis.categories("x", ["a", "b", 3, "3x"]),
]


@given(st.integers(1, 10**6), st.data())
def test_bars_cover_what_is_shown_and_stand_on_multiples(size: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, size - 1))
    stop = data.draw(st.integers(start + 1, size))
    most = data.draw(st.integers(1, 700))
    edges = bars(size, start, stop, most)
    width = int(edges[1] - edges[0])
    assert len(edges) - 1 <= most
    assert edges[0] <= start
    assert stop <= edges[-1] <= size
    assert np.all(np.diff(edges) > 0)
    inner = edges[:-1] if len(edges) > 2 else edges[:1]
    if len(edges) > 2:
        assert width & (width - 1) == 0
        assert np.all(inner % width == 0)
    # Half as wide would be too many.
    assert width == 1 or len(edges) == 2 or -(-stop // (width // 2)) - start // (width // 2) > most


@pytest.mark.parametrize("axis", AXES[:3], ids=["regular", "integers", "edges"])
def test_many_spans_are_those_one_by_one(axis: tu.Axis) -> None:
    generator = np.random.default_rng(0)
    cells = np.sort(generator.integers(0, axis.size + 1, (50, 2)), axis=1)
    ranges: list[Any] = [[axis.cells.edge(a), axis.cells.edge(b)] for a, b in cells.tolist()]
    np.testing.assert_array_equal(np.array(spans(axis, ranges)).T, cells)
    ranges[3] = [None, None]
    cells[3] = 0, axis.size
    np.testing.assert_array_equal(np.array(spans(axis, ranges)).T, cells)


def test_ranks_go_from_the_first_to_the_last() -> None:
    for size in (1, 2, 10, 12_345):
        found = ranks(size, 100)
        assert (found[0], found[-1]) == (1, size)
        assert len(found) <= 100
        assert np.all(np.diff(found) > 0)


class OneRelease:
    """A list of releases that has one."""

    def __init__(self, release: tu.Release) -> None:
        self.asked = Answering(release, "unbiased")

    def open(self, name: str) -> OneRelease:
        if name != "there":
            raise tu.InputError("no such release")
        return self

    def answering(self, version: str) -> Answering:
        return self.asked


@pytest.mark.parametrize("kind", [tu.TreeCounts, tu.HatCounts, tu.CellCounts])
def test_ranges_asked_for_together_are_those_asked_for_alone(kind: Any) -> None:
    counts = np.random.default_rng(1).poisson(5, 300)
    release = tu.infer(tu.measure(counts, kind(tu.Axis.integers("x", 0, 299)), epsilon="1/10"))
    quick = QuickRanges(OneRelease(release))  # type: ignore[arg-type]
    wrong = [b"low=0&high=301", b"low=x", b"level=2", b"version=none", b"colour=red"]
    good = [b"low=%d&high=%d" % (low, low + 7 * low // 3 + 1) for low in range(60)]

    async def ask() -> list[Any]:
        asked = [quick.answer("there", query) for query in good + wrong]
        asked += [quick.answer("gone", good[0]), *(quick.answer("there", q) for q in good)]
        return list(await asyncio.gather(*asked, return_exceptions=True))

    found = asyncio.run(ask())
    again = found[-len(good) :]
    for query, one, other in zip(good, found, again, strict=False):
        low, high, level, _ = read(query)
        exact = release.range(int(low), int(high))
        said = json.loads(one)
        assert json.loads(other)["count"] == said["count"] == exact.value
        assert said["standard_error"] == pytest.approx(exact.std_error, rel=1e-9)
        ends = exact.interval(level)
        reach = (ends[1] - ends[0]) / 2
        assert (said["low"], said["high"]) == pytest.approx(ends, abs=1e-4 * reach)
    refused = found[len(good) : len(good) + len(wrong) + 1]
    assert all(isinstance(error, tu.InputError) for error in refused)
