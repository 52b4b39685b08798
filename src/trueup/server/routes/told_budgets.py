"""What is answered about who may spend: tokens, allowances, and requests for more."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trueup.server.routes.told import Counts, Exact, PerPeriod, Told


class LimitTold(Told):
    """What an analyst may spend on a dataset, and has spent."""

    limit: Exact
    spent: Exact
    notion: Counts
    per: PerPeriod


class TokenTold(Told):
    """A token, without the token."""

    number: int
    name: str
    role: str
    created: str
    expires: str | None
    revoked: str | None
    last_used: str | None
    limits: dict[str, LimitTold]


class TokenList(Told):
    """Every token that was ever made."""

    tokens: list[TokenTold]
    total: int
    next: int | None = Field(description="Where the next page begins; null on the last.")


class TokenMade(TokenTold):
    """A new token, told this once."""

    token: str


class Revoked(Told):
    """How many tokens were revoked."""

    revoked: int


class RequestTold(Told):
    """A request for more budget, and the allowance there is."""

    number: int
    dataset: str
    name: str
    wanted: Exact
    reason: str
    created: str
    state: Literal["open", "granted", "declined"]
    decided: str | None
    note: str
    limit: Exact | None
    spent: Exact
    notion: Counts
    per: PerPeriod


class RequestList(Told):
    """Requests, newest first."""

    requests: list[RequestTold]
    total: int
    next: int | None = Field(description="Where the next page begins; null on the last.")


class AllowanceTold(Told):
    """What somebody may spend on a dataset."""

    name: str
    limit: Exact | None
    spent: Exact
    notion: Counts
    per: PerPeriod


class AllowanceList(Told):
    """The allowances on a dataset."""

    allowances: list[AllowanceTold]
