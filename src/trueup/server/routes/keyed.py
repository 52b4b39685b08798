"""Routes of releases of keys that nobody can list: their keys, or their prefixes."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import Field
from starlette.responses import Response

from trueup.server import errors
from trueup.server.routes import told
from trueup.server.routes.asking import Identifier, Parts, reply
from trueup.server.routes.bodies import Page, Sent
from trueup.server.service import anybody

router = APIRouter(prefix="/api/v1", tags=["releases"], dependencies=[Depends(anybody)])
Sure = Annotated[float, Field(gt=0, lt=1, description="The level of the intervals.")]


class KeysListed(Page):
    """Which keys are listed: those with some letters in them, or all."""

    find: Annotated[str, Field(max_length=200, description="In any case of letters.")] = ""
    order: Literal["count", "key"] = "count"
    level: Sure = 0.95


class KeyAsked(Sent):
    """One key, in any spelling that it has."""

    key: Annotated[str, Field(max_length=1_000)]
    level: Sure = 0.95


class TopAsked(Sent):
    """How many of the highest counts."""

    many: Annotated[int, Field(ge=1, le=1_000)] = 10
    level: Sure = 0.95


class PrefixesListed(Page):
    """The prefix whose parts are listed."""

    at: Annotated[str, Field(max_length=1_000)] = "all"


class Between(told.Told):
    """A number and what it lies between."""

    count: told.Number
    low: told.Number
    high: told.Number


class KeyLine(Between):
    """A key that is shown. Its interval holds among keys that are shown."""

    key: str


class KeyFound(KeyLine):
    """One key; of one that is not shown, the most that it may have."""

    shown: bool


class KeysTold(told.Told):
    """Keys, and all others: together they are the sum, exactly."""

    keys: list[KeyLine]
    total: int = Field(description="How many of the keys shown have these letters in them.")
    next: int | None = Field(description="Where the next page begins; null on the last.")
    shown: int = Field(description="How many keys are shown in all.")
    others: int | None = Field(description="All keys that are not shown, together.")
    sum: Between | None
    number: Between | None = Field(description="How many different keys there are, if asked.")
    threshold: int
    statement: str


class KeyRanked(KeyLine):
    """A key among the highest, from which place to which it may stand among those shown."""

    first: int
    last: int


class TopTold(told.Told):
    """The highest counts; all intervals and places hold together."""

    keys: list[KeyRanked]
    shown: int = Field(description="How many keys are shown in all.")
    statement: str


class PrefixLine(told.Told):
    """A prefix; `split` where it has parts of its own."""

    prefix: str
    count: int
    split: bool


class PrefixesTold(told.Paged):
    """The parts of a prefix: together they are its count, exactly."""

    at: str
    count: int
    prefixes: list[PrefixLine]


@router.get("/releases/{release}/keys", response_model=KeysTold)
def keys(parts: Parts, release: Identifier, asked: Annotated[KeysListed, Query()]) -> Response:
    """The keys that are shown, largest count first, each with its interval; and all others."""
    found = parts.releases.open_keys(release)
    return reply(found.listed(asked.find, asked.order, asked.start, asked.limit, asked.level))


@router.get("/releases/{release}/top", response_model=TopTold)
def top(parts: Parts, release: Identifier, asked: Annotated[TopAsked, Query()]) -> Response:
    """The keys with the highest counts; all their intervals and places hold together."""
    return reply(parts.releases.open_keys(release).top(asked.many, asked.level))


@router.get("/releases/{release}/key", response_model=KeyFound)
def key(parts: Parts, release: Identifier, asked: Annotated[KeyAsked, Query()]) -> Response:
    """The count of one key; of one that is not shown, how many it has at most."""
    found = parts.releases.open_keys(release)
    with errors.field("key"):
        return reply(found.one(asked.key, asked.level))


@router.get("/releases/{release}/prefixes", response_model=PrefixesTold)
def prefixes(
    parts: Parts, release: Identifier, asked: Annotated[PrefixesListed, Query()]
) -> Response:
    """What a prefix is made of, largest first; `all` is everything."""
    found = parts.releases.open_keys(release)
    with errors.field("at"):
        return reply(found.children(asked.at, asked.start, asked.limit))
