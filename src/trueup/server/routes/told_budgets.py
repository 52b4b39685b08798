"""What is answered about who may spend: tokens, allowances, and requests for more."""

from __future__ import annotations

from typing import Literal

from trueup.server.routes.told import Counts, Exact, LimitTold, Paged, PerPeriod, Told


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


class TokenList(Paged):
    """Every token that was ever made."""

    tokens: list[TokenTold]


class TokenMade(TokenTold):
    """A new token, told this once."""

    token: str


class Revoked(Told):
    """How many tokens were revoked."""

    revoked: int


class AllowedTold(Told):
    """What there is of an allowance: none where the limit is null."""

    limit: Exact | None
    spent: Exact
    notion: Counts
    per: PerPeriod


class RequestTold(AllowedTold):
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


class RequestList(Paged):
    """Requests, newest first."""

    requests: list[RequestTold]


class AllowanceTold(AllowedTold):
    """What somebody may spend on a dataset."""

    name: str


class AllowanceList(Told):
    """The allowances on a dataset."""

    allowances: list[AllowanceTold]
