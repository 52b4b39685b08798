"""Measuring at somebody else's server: `trueup measure https://counts.example/trips`."""

from __future__ import annotations

import secrets
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.cli.output import check_output, confirm, emit, save_paid, say, stoppable, waiting
from trueup.cost import Cost
from trueup.errors import InputError


@dataclass(frozen=True)
class RemotePart:
    """What is asked: a column, or a part of its declared axis, at a price."""

    column: str | None
    range: tuple[Any, Any] | None
    cells: int | None
    cost: Cost
    strategy: str
    where: str | None


def measure(
    address: str,
    token: str | None,
    part: RemotePart,
    output: Path,
    key: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Quotes, asks, spends and saves."""
    from trueup.client import connect

    server, _, dataset = address.rstrip("/").rpartition("/")
    if not urllib.parse.urlsplit(server).netloc:
        raise InputError(f"Name the dataset after the server: {address.rstrip('/')}/trips.")
    if token is None:
        raise InputError("A server needs a token: --token, or better $TRUEUP_TOKEN.")
    check_output(output)
    key = secrets.token_hex(16) if key is None else key
    client = connect(server, token)
    asked = vars(part) | {"epsilon": part.cost.epsilon, "rho": part.cost.rho}
    del asked["cost"]
    quote = client.quote(dataset, **asked)
    if not as_json:
        say(f"cost      {quote.notion} {quote.cost}; {quote.remaining} is left for you")
        say(f"expect    {quote.sentence}, asked by {quote.strategy}")
    if quote.allowed and not yes:
        confirm(as_json)
    with waiting("the owner's server is counting, and drawing noise"), stoppable(key):
        measured = client.measure(dataset, **asked, key=key)
        save_paid(measured, output, key)
    left = client.datasets()[dataset].yours
    facts = {
        "saved": str(output),
        quote.notion: quote.cost,
        "remaining": left,
        "answers": len(measured.noisy),
        "strategy": quote.strategy,
    }
    emit(as_json, facts, lambda: say(f"saved     {output}; {left} is left for you"))
