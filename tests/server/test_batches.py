"""Single ranges answered together, against the library's own answers one by one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pydantic
import pytest

import trueup as tu
from trueup.server.answers import Answering
from trueup.server.batches import SingleRange, SingleRanges


class OneRelease:
    """A list of releases that has one."""

    def __init__(self, release: tu.Release) -> None:
        self.asked = Answering(release, "unbiased")

    def open(self, name: str) -> OneRelease:
        if name != "there":
            raise tu.InputError("no such release")
        return self

    def answering(self, version: str, column: str | None) -> Answering:
        return self.asked


@pytest.mark.parametrize("kind", [tu.TreeCounts, tu.HatCounts, tu.CellCounts])
def test_ranges_asked_for_together_are_those_asked_for_alone(kind: Any) -> None:
    counts = np.random.default_rng(1).poisson(5, 300)
    release = tu.infer(tu.measure(counts, kind(tu.Axis.integers("x", 0, 299)), epsilon="1/10"))
    ranges = SingleRanges(OneRelease(release))  # type: ignore[arg-type]
    wrong = [b"low=0&high=301", b"low=x", b"low=9&high=1", b"level=2", b"version=none", b"a=b"]
    good = [b"low=%d&high=%d" % (low, low + 7 * low // 3 + 1) for low in range(60)]

    async def ask() -> list[Any]:
        asked = [ranges.answer("there", query) for query in good + wrong]
        asked += [ranges.answer("gone", good[0]), *(ranges.answer("there", q) for q in good)]
        return list(await asyncio.gather(*asked, return_exceptions=True))

    found = asyncio.run(ask())
    again = found[-len(good) :]
    for query, one, other in zip(good, found, again, strict=False):
        asked = SingleRange.of(query)
        exact = release.range(int(asked.low), int(asked.high))
        said = json.loads(one)
        assert json.loads(other)["count"] == said["count"] == exact.value
        assert said["standard_error"] == pytest.approx(exact.std_error, rel=1e-9)
        ends = exact.interval(asked.level)
        reach = (ends[1] - ends[0]) / 2
        assert (said["low"], said["high"]) == pytest.approx(ends, abs=1e-4 * reach)
    refused = found[len(good) : len(good) + len(wrong) + 1]
    kinds = (tu.InputError, pydantic.ValidationError)
    assert all(isinstance(error, kinds) for error in refused)


@pytest.mark.parametrize(
    "query",
    [
        {"level": "2"},
        {"level": "nan"},
        {"level": "x"},
        {"version": "none"},
        {"colour": "red"},
        {"low": "1" * 501},
    ],
    ids=str,
)
def test_a_query_names_what_is_known_and_no_more(query: dict[str, str]) -> None:
    with pytest.raises(pydantic.ValidationError):
        SingleRange.model_validate(query)
