"""Quotes: what a measurement would cost and how wrong it would be, before anything is spent."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from trueup.budget import Balance
from trueup.cost import Cost
from trueup.keys import PrefixCounts
from trueup.server import errors
from trueup.server.auth import Holder
from trueup.server.datasets import Table
from trueup.server.questions import Asked, Asking, asking, cell_choices, keys_asked
from trueup.server.routes import told
from trueup.server.routes.asking import (
    Analyst,
    Anyone,
    Name,
    Parts,
    check_asked,
    dataset_asked,
    no_allowance,
    reply,
)
from trueup.server.routes.bodies import Ask, Page

router = APIRouter(prefix="/api/v1", tags=["ask"])


@router.post("/datasets/{dataset}/quote", response_model=told.QuoteTold)
def quote(parts: Parts, who: Analyst, dataset: Name, body: Ask) -> Response:
    """What a measurement would cost and how wrong its answers would be. Free."""
    table = parts.table(dataset)
    asked = body.asked()
    if asked.keys is not None:
        return reply({**_price(table, who, asked), **_of_keys(table, asked)})
    said, asked = dataset_asked(parts, table, asked)
    found = asking(said, asked, parts.settings.most_cells)
    check_asked(table, found.question, asked.cost, asked.where, table.periods(asked))
    return reply(
        {
            **_price(table, who, asked),
            "axis": found.axes[0].to_json() if len(found.axes) == 1 else None,
            "axes": [axis.to_json() for axis in found.axes],
            "cells": found.cells,
            "cell_choices": [
                cell_choices(said.axis(part.column), part.ends)
                for part, _ in zip(asked.parts, found.axes, strict=False)
            ],
            "strategy": found.chosen,
            "strategies": _strategies(found),
            "sentence": found.sentence,
            "terms": {},
        }
    )


def _price(table: Table, who: Holder, asked: Asked) -> dict[str, Any]:
    """What a quote says of the price, and whether somebody may pay it."""
    cost, periods = asked.cost, table.periods(asked)
    left, now = table.left_for(who, periods), table.balance_of(periods)
    here = f" on the fullest {table.per}" if len(periods) > 1 else ""
    here = f" on {periods[0]}" if len(periods) == 1 else here
    with errors.field(cost.notion):
        charged = cost.counted_in(now.limit.notion)
    why_not = None
    if not table.allows(who):
        why_not = no_allowance(table)
    elif charged.amount > left:
        why_not = f"This costs {charged.amount}; {left} is left for you{here}."
    elif cost.delta > now.remaining.delta:
        why_not = f"This costs delta {cost.delta}; {now.remaining.delta} is left{here}."
    return {
        "cost": str(charged.amount),
        "notion": charged.notion,
        "shown": meant(now, charged),
        "remaining": str(left),
        "allowed": why_not is None,
        "why_not": why_not,
        "periods": [each.name for each in periods],
    }


def _of_keys(table: Table, asked: Asked) -> dict[str, Any]:
    """What a quote says of keys: from which count on they are shown."""
    question = keys_asked(table.dataset, str(asked.keys))
    given = (asked.cost, asked.where, table.periods(asked))
    check_asked(table, question, *given)
    lines = table.terms(question, *given).lines()
    said: dict[str, Any] = {
        "axis": None,
        "axes": [],
        "cells": 0,
        "cell_choices": [],
        "strategies": [],
    }
    is_tree = isinstance(question, PrefixCounts)
    words = {"strategy": "prefixes" if is_tree else "keys", "sentence": lines["threshold"]}
    return {**said, **words, "terms": lines}


def meant(now: Balance, cost: Cost) -> dict[str, float] | None:
    """What a cost in rho means as (ε, δ), rounded up; None for one in epsilon."""
    if now.shown_at is None:
        return None
    shown = cost.shown_at(now.shown_at)
    return {"epsilon": float(shown.amount), "delta": float(shown.delta)}


def _strategies(found: Asking) -> list[dict[str, Any]]:
    if not found.axes:
        return [
            {
                "strategy": "sorted",
                "name": "sorted counts",
                "best": True,
                "mean_error": found.mean,
                "typical_95": found.typical,
                "by_length": [],
            }
        ]
    return [
        {
            "strategy": offer.way,
            "name": offer.name,
            "best": place == 0,
            "mean_error": offer.mean,
            "typical_95": offer.typical,
            "by_length": [{"cells": cells, "error_95": error} for cells, error in offer.by_length],
        }
        for place, offer in enumerate(found.offers)
    ]


@router.get("/datasets/{dataset}/periods", response_model=told.PeriodBudgets)
def dataset_periods(
    parts: Parts, who: Anyone, dataset: Name, page: Annotated[Page, Query()]
) -> Response:
    """The periods that were ever charged, the latest first; of any other nothing is spent."""
    table = parts.table(dataset)
    found = list(reversed(table.ledger.periods.items()))
    lines = []
    for name, now in page.of(found):
        limit, spent, left = now.limit.amount, now.spent.amount, now.remaining.amount
        said = {"period": name, "limit": str(limit), "spent": str(spent), "remaining": str(left)}
        yours = None if who.role == "reader" else str(table.left_for(who, [name]))
        lines.append({**said, "yours": yours})
    return reply({"periods": lines, **page.places(len(found))})
