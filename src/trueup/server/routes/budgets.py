"""Routes about allowances: an analyst asks for more, the owner decides, and sets them herself."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field, StrictStr
from starlette.responses import Response

from trueup.epsilon import positive
from trueup.errors import InputError
from trueup.server import errors
from trueup.server.budget_requests import BudgetRequest
from trueup.server.datasets import Table
from trueup.server.routes import told_budgets
from trueup.server.routes.asking import Analyst, Name, Parts, reply
from trueup.server.routes.bodies import Epsilon, Page, Sent, example
from trueup.server.routes.owner import Owner
from trueup.server.service import Service

router = APIRouter(prefix="/api/v1", tags=["budgets"])
Words = Annotated[StrictStr, Field(max_length=1_000)]
Number = Annotated[int, Path(ge=1, le=1 << 40)]
Person = Annotated[str, Path(max_length=64)]


class MoreBudget(Sent):
    """What an analyst would like to have in addition, and why."""

    model_config = example({"more": "1/10", "reason": "One more year."})

    more: Epsilon = Field(description='In addition to the allowance there is: "1/10".')
    reason: Words = ""


class Decision(Sent):
    """What the owner makes of a request."""

    model_config = example({"decision": "grant", "limit": "3/4", "note": "Welcome."})

    decision: Literal["grant", "decline"]
    limit: Epsilon | None = Field(
        None, description="The allowance in all; what was wanted if null."
    )
    note: Words = Field("", description="For the analyst to read.")


class Allowance(Sent):
    """What a person may spend on a dataset in all, past charges included; or of each period."""

    model_config = example({"limit": "3/4"})

    limit: Epsilon = Field(description="0 takes the allowance away.")


@router.post("/datasets/{dataset}/requests", response_model=told_budgets.RequestTold)
def ask_for_more(parts: Parts, who: Analyst, dataset: Name, body: MoreBudget) -> Response:
    """A request for more budget, which the owner sees; a new one takes the place of an open one."""
    if who.role == "owner":
        raise InputError("The owner has no allowance: the ledger's limit is hers.")
    table = parts.table(dataset)
    limit, _ = table.ledger.allowed(who.name)
    with errors.field("more"):
        wanted = (limit or Fraction(0)) + positive(body.more, "more")
    with errors.field("reason"):
        asked = parts.requests.ask(table.name, who.name, wanted, body.reason)
    return reply(_told(parts, asked))


@router.get("/requests", response_model=told_budgets.RequestList)
def requests(parts: Parts, who: Analyst, page: Annotated[Page, Query()]) -> Response:
    """Requests for more budget, newest first: all for the owner, an analyst's own."""
    found = parts.requests.list(None if who.role == "owner" else who.name)
    listed = [_told(parts, one) for one in page.of(found)]
    return reply({"requests": listed, **page.places(len(found))})


def _told(parts: Service, one: BudgetRequest) -> dict[str, Any]:
    table = parts.tables.get(one.dataset)
    gone = {"limit": None, "spent": "0", "notion": "epsilon", "per": None}
    return {**vars(one), **(gone if table is None else table.allowance(one.name))}


@router.post("/requests/{number}", response_model=told_budgets.RequestTold)
def decide(parts: Parts, who: Owner, number: Number, body: Decision) -> Response:
    """Grants a request, as it was or with another allowance, or declines it."""
    asked = parts.requests.find(number)
    if asked.state != "open":
        raise InputError(f"Request {number} is {asked.state} already.")
    if body.decision == "decline":
        return reply(
            _told(parts, parts.requests.decide(number, "declined", asked.wanted, body.note))
        )
    with errors.field("limit"):
        most = positive(asked.wanted if body.limit is None else body.limit, "limit")
    parts.table(asked.dataset).ledger.allow(asked.name, most)
    return reply(_told(parts, parts.requests.decide(number, "granted", str(most), body.note)))


@router.get("/datasets/{dataset}/allowances", response_model=told_budgets.AllowanceList)
def allowances(parts: Parts, who: Owner, dataset: Name) -> Response:
    """What each analyst may spend on a dataset, and has spent."""
    table = parts.table(dataset)
    return reply({"allowances": [_allowed(table, name) for name in _people(parts, table)]})


def _people(parts: Service, table: Table) -> list[str]:
    analysts = {one.name for one in parts.tokens.list() if one.role == "analyst"}
    return sorted(analysts | {charge.by for charge in table.ledger.history() if charge.by})


def _allowed(table: Table, name: str) -> dict[str, Any]:
    return {"name": name, **table.allowance(name)}


@router.put("/datasets/{dataset}/allowances/{name}", response_model=told_budgets.AllowanceTold)
def allow(parts: Parts, who: Owner, dataset: Name, name: Person, body: Allowance) -> Response:
    """Sets what an analyst may spend on a dataset in all."""
    table = parts.table(dataset)
    if not any((one.role, one.name) == ("analyst", name) for one in parts.tokens.list()):
        raise InputError("An allowance is for an analyst: there is no token of this name.")
    none = body.limit in (0, "0")
    with errors.field("limit"):
        most = Fraction(0) if none else positive(body.limit, "limit")
    table.ledger.allow(name, most)
    return reply(_allowed(table, name))
