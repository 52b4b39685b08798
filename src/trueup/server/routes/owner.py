"""Routes of the owner: tokens, the ledger's soundness, numbers about requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from trueup.errors import InputError
from trueup.server.auth import Holder, create
from trueup.server.errors import NotFoundError
from trueup.server.limits import Guard
from trueup.server.routes import told, told_budgets
from trueup.server.routes.asking import Identifier, Name, Parts, reply
from trueup.server.routes.bodies import NewToken, Page
from trueup.server.service import Service, owner

router = APIRouter(tags=["owner"])
Owner = Annotated[Holder, Depends(owner)]


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(parts: Parts, who: Owner, request: Request) -> PlainTextResponse:
    """Requests by route and status and budgets, for Prometheus. Nothing about the data."""
    guard: Guard = request.app.state.guard
    return PlainTextResponse(guard.metrics.text(parts.tables))


@router.get("/api/v1/tokens", response_model=told_budgets.TokenList)
def tokens(parts: Parts, who: Owner, page: Annotated[Page, Query()]) -> Response:
    """Every token that was ever made: its name, role, limits, expiry; never the token."""
    used = parts.tokens.last_used()
    every = parts.tokens.list()
    listed = [_told(parts, one, used) for one in page.of(every)]
    return reply({"tokens": listed, **page.places(len(every))})


def _told(parts: Service, one: Holder, used: Mapping[int, str]) -> dict[str, Any]:
    tables = parts.tables if one.role == "analyst" else {}
    each = {name: table.allowance(one.name) for name, table in tables.items()}
    limits = {name: said for name, said in each.items() if said["limit"] is not None}
    return {**vars(one), "last_used": used.get(one.number), "limits": limits}


@router.post("/api/v1/tokens", response_model=told_budgets.TokenMade)
def new_token(parts: Parts, who: Owner, body: NewToken) -> Response:
    """A new token, told this once. An analyst's limit goes into the ledgers."""
    given = (body.name, body.role, body.limit, body.datasets, body.expires, body.rho)
    datasets = {name: table.dataset for name, table in parts.tables.items()}
    secret = create(parts.tokens, datasets, *given)
    made = [one for one in parts.tokens.list() if one.name == body.name][-1]
    return reply({**_told(parts, made, {}), "token": secret})


@router.delete(
    "/api/v1/tokens",
    response_model=told_budgets.Revoked,
    responses={404: {"description": "Not here."}},
)
def old_token(
    parts: Parts, who: Owner, name: Annotated[str, Query(min_length=1, max_length=64)]
) -> Response:
    """Revokes every token of a name, at once and in every process."""
    if name == who.name:
        raise InputError("This would revoke the token that asks for it. Use another, or the shell.")
    number = parts.tokens.revoke(name)
    if not number:
        raise NotFoundError("There is no token of this name that was not revoked already.")
    return reply({"revoked": number})


@router.delete("/api/v1/tokens/{number}", response_model=told_budgets.Revoked)
def one_old_token(
    parts: Parts, who: Owner, number: Annotated[int, Path(ge=1, le=1 << 40)]
) -> Response:
    """Revokes one token, at once and in every process; others of its name stay good."""
    if number == who.number:
        raise InputError("This would revoke the token that asks for it. Use another, or the shell.")
    if not parts.tokens.revoke_one(number):
        raise NotFoundError("There is no token of this number that was not revoked already.")
    return reply({"revoked": 1})


@router.put("/api/v1/releases/{release}/public", response_model=told.LinkTold)
def make_public(parts: Parts, who: Owner, release: Identifier) -> Response:
    """Makes a release public: whoever has the link may read it, without a token."""
    parts.releases.opened(release)
    return reply({"release": release, "link": parts.links.publish(release)})


@router.delete("/api/v1/releases/{release}/public", response_model=told.LinkTold)
def no_longer_public(parts: Parts, who: Owner, release: Identifier) -> Response:
    """Takes the link of a release back. What was read with it, was read."""
    parts.releases.about(release)
    parts.links.withdraw(release)
    return reply({"release": release, "link": None})


@router.post("/api/v1/datasets/{dataset}/verify", response_model=told.Verified)
def verify(parts: Parts, who: Owner, dataset: Name) -> Response:
    """Checks every entry of a ledger, its anchor and every stored answer."""
    entries = parts.table(dataset).ledger.verify()
    words = f"{entries} entries verified: nothing lost, nothing changed."
    return reply({"entries": entries, "sentence": words})
