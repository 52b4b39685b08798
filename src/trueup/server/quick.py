"""Single ranges, quickly: answers are kept, and those asked for at one time found together.

An exact interval takes most of the time of an answer, and many take far less than one by one. So a
range that is asked for while others are being worked out waits for the next round, which answers
all that wait. Nobody waits when nobody else asks; when many do, a round waits a moment for more.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from trueup.errors import InputError
from trueup.release.estimate import check_level
from trueup.server import answers, errors
from trueup.server.answers import Answering, Version
from trueup.server.releases import Releases

_MOST_KEPT = 20_000
_MOST_AT_ONCE = 256
_MOMENT = 0.003  # seconds
_LONGEST = 4_000
_KNOWN = ("low", "high", "level", "version")


@dataclass(frozen=True, eq=False)
class Asked:
    """A single range that waits for its answer."""

    release: str
    query: bytes
    done: asyncio.Future[bytes] = field(repr=False)


class QuickRanges:
    """Single ranges of all releases, for the event loop of one process."""

    def __init__(self, releases: Releases) -> None:
        self.releases = releases
        self._kept: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()
        self._waiting: list[Asked] = []
        self._rounds: asyncio.Task[None] | None = None
        self._last = 0  # how many the last round answered

    async def answer(self, release: str, query: bytes) -> bytes:
        """The answer to GET /api/v1/releases/RELEASE/range?QUERY, as JSON."""
        kept = self._kept.get((release, query))
        if kept is not None:
            return kept
        asked = Asked(release, query, asyncio.get_running_loop().create_future())
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

    def _together(self, some: list[Asked]) -> list[bytes | Exception]:
        """The answers to what is asked, each an error of its own if it makes no sense."""
        found: list[bytes | Exception] = [b""] * len(some)
        alike: dict[tuple[str, Version, float], list[tuple[int, Any, Any]]] = {}
        opened: dict[tuple[str, Version], Answering] = {}
        for place, asked in enumerate(some):
            try:
                low, high, level, version = read(asked.query)
                at = (asked.release, version)
                if at not in opened:
                    opened[at] = self.releases.open(asked.release).answering(version)
                axis = opened[at].axis
                ends = (axis.parse(low), axis.parse(high))
                alike.setdefault((*at, level), []).append((place, *ends))
            except Exception as error:
                found[place] = error
        for (release, version, level), ranges in alike.items():
            _answer(opened[release, version], level, ranges, found)
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


def read(query: bytes) -> tuple[str, str, float, Version]:
    """The ends, level and version that a query names.

    >>> read(b"low=0&high=20")
    ('0', '20', 0.95, 'unbiased')
    """
    if len(query) > _LONGEST:
        raise InputError(f"A query has at most {_LONGEST:,} bytes.")
    try:
        given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise InputError("The query names too many fields.") from None
    strange = [name for name in given if name not in _KNOWN]
    if strange:
        raise InputError(f"{strange[0][:100]!r} is not known. Known: {', '.join(_KNOWN)}.")
    version = given.get("version", "unbiased")
    if version not in ("unbiased", "whole"):
        raise InputError(f"version must be unbiased or whole, got {version[:100]!r}.")
    try:
        level = float(given.get("level", "0.95"))
    except ValueError:
        raise InputError(f"level must be a number, got {given['level'][:100]!r}.") from None
    check_level(level)
    chosen: Version = "whole" if version == "whole" else "unbiased"
    return given.get("low", ""), given.get("high", ""), level, chosen
