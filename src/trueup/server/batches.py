"""Single ranges, each asked for by itself: those of one moment are answered in one batch.

An exact interval takes most of the time of an answer, and many take far less than one by one. So a
range that is asked for while others are being worked out waits for the next round, which answers
all that wait. Nobody waits when nobody else asks; when many do, a round waits a moment for more.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field

from trueup.server import answers, errors
from trueup.server.answers import Answering, Version
from trueup.server.releases import Releases

_MOST_KEPT = 20_000
_MOST_AT_ONCE = 256
_MOMENT = 0.003  # seconds


_Of = tuple[str, Version, str | None]  # a release, a version, a column of a grid


class SingleRange(BaseModel):
    """One range [low, high), as the query of its address names it."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    low: Annotated[str, Field(max_length=500, description="The low end, in axis units.")] = ""
    high: Annotated[str, Field(max_length=500, description="The high end, not included.")] = ""
    column: Annotated[
        str | None, Field(max_length=200, description="Of a grid: the column of the margin.")
    ] = None
    level: Annotated[float, Field(gt=0, lt=1, description="Of the interval.")] = 0.95
    version: Annotated[Version, Field(description="Unbiased, or non-negative whole numbers.")] = (
        "unbiased"
    )

    @staticmethod
    def of(query: bytes) -> SingleRange:
        """The range that a query names.

        >>> SingleRange.of(b"low=0&high=20")
        SingleRange(low='0', high='20', column=None, level=0.95, version='unbiased')
        """
        given = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        return SingleRange.model_validate(dict(given))


@dataclass(frozen=True, eq=False)
class Waiting:
    """A single range that waits for its answer."""

    release: str
    query: bytes
    range: SingleRange
    done: asyncio.Future[bytes] = field(repr=False)


class SingleRanges:
    """Single ranges of all releases, for the event loop of one process."""

    def __init__(self, releases: Releases) -> None:
        self.releases = releases
        self._kept: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()
        self._waiting: list[Waiting] = []
        self._rounds: asyncio.Task[None] | None = None
        self._last = 0  # how many the last round answered

    async def answer(self, release: str, query: bytes) -> bytes:
        """The count of the range of a release that a query names, as JSON."""
        kept = self._kept.get((release, query))
        if kept is not None:
            return kept
        asked = Waiting(
            release, query, SingleRange.of(query), asyncio.get_running_loop().create_future()
        )
        self._waiting.append(asked)
        if self._rounds is None or self._rounds.done():
            self._rounds = asyncio.create_task(self._work())
        return await asked.done

    async def _work(self) -> None:
        """Rounds, for as long as somebody waits."""
        while self._waiting:
            if len(self._waiting) < self._last:
                await asyncio.sleep(_MOMENT)
            some, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
            self._last = len(some)
            try:
                found = await asyncio.to_thread(self._together, some)
            except BaseException as error:
                found = [error if isinstance(error, Exception) else RuntimeError()] * len(some)
            for asked, answer in zip(some, found, strict=True):
                if asked.done.done():  # whoever asked has gone
                    continue
                if isinstance(answer, Exception):
                    asked.done.set_exception(answer)
                    continue
                asked.done.set_result(answer)
                self._kept[asked.release, asked.query] = answer
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)

    def _together(self, some: list[Waiting]) -> list[bytes | Exception]:
        """The answers to what is asked, each an error of its own if it makes no sense."""
        found: list[bytes | Exception] = [b""] * len(some)
        alike: dict[tuple[_Of, float], list[tuple[int, Any, Any]]] = {}
        opened: dict[_Of, Answering] = {}
        for place, asked in enumerate(some):
            try:
                wanted = asked.range
                at = (asked.release, wanted.version, wanted.column)
                if at not in opened:
                    opened[at] = self.releases.open(asked.release).answering(*at[1:])
                axis = opened[at].axis
                ends = (axis.parse(wanted.low), axis.parse(wanted.high))
                alike.setdefault((at, wanted.level), []).append((place, *ends))
            except Exception as error:
                found[place] = error
        for (at, level), ranges in alike.items():
            _answer(opened[at], level, ranges, found)
        return found


def _answer(
    asked: Answering,
    level: float,
    ranges: list[tuple[int, Any, Any]],
    found: list[bytes | Exception],
) -> None:
    """Puts the answers to ranges of one release in their places, all at once if none is wrong."""
    try:
        starts, stops = answers.spans(asked.axis, [(low, high) for _, low, high in ranges])
        told = asked.many(starts, stops, level)
    except Exception as error:
        if len(ranges) == 1:
            found[ranges[0][0]] = error
            return
        for one in ranges:
            _answer(asked, level, [one], found)
        return
    for (place, _, _), answer in zip(ranges, told, strict=True):
        found[place] = errors.encode(answer)
