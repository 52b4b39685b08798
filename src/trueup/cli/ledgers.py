"""Commands about the account of what has been given away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import trueup as tu
from trueup.cli.options import Anchor, spelled_out
from trueup.cli.output import AsJson, emit, say, table
from trueup.errors import LedgerError

app = typer.Typer(
    help="The account of spent epsilon: show it, verify it, or make one.",
    no_args_is_help=True,
)

Where = Annotated[
    str, typer.Argument(help="The ledger's file, or postgresql://…#NAME.", show_default=False)
]


def _open(path: str, anchor: str | None) -> tu.Ledger:
    from trueup.owner.engines.connection import is_address

    if not is_address(path) and not Path(path).exists():
        raise LedgerError(f"There is no ledger {path}. Make one with trueup ledger limit.")
    return tu.Ledger(path, anchor=anchor)


@app.command("show")
def show_command(ledger: Where, anchor: Anchor = None, as_json: AsJson = False) -> None:
    """Every charge, what is spent and what remains."""
    book = _open(ledger, anchor)
    if book.calendar is not None:
        _show_periods(book, as_json)
        return
    charges, now = book.history(), book.balance
    facts = {**now.to_json(), "charges": book.charges.to_pylist()}

    def show() -> None:
        rows = [
            [
                str(c.entry),
                c.time,
                str(c.charged.amount) if c.cost == c.charged else f"{c.charged.amount} ({c.cost})",
                str(c.spent),
                "yes" if c.answer else "no",
            ]
            for c in charges
        ]
        table(["charge", "time", now.limit.notion, "spent so far", "answered"], rows)
        say(now.words)

    emit(as_json, facts, show)


def _show_periods(book: tu.Ledger, as_json: bool) -> None:
    """Every period that was charged, and what somebody loses who is in many."""
    calendar, periods, loses = book.calendar, book.periods, book.loses
    assert calendar is not None
    facts = {
        **calendar.to_json(),
        "notion": book.notion,
        "limit": str(book.limit),
        "loses": loses,
        "periods": {name: now.to_json() for name, now in periods.items()},
        "charges": book.charges.to_pylist(),
    }

    def show() -> None:
        rows = [
            [name, str(now.spent.amount), str(now.remaining.amount), now.shown(now.spent)]
            for name, now in periods.items()
        ]
        table([calendar.per, f"{book.notion} spent", "left", ""], rows)
        say(f"limit {book.limit} {calendar}")
        say(loses)

    emit(as_json, facts, show)


@dataclass(frozen=True)
class Made:
    """What a new ledger is made with."""

    rho: Annotated[
        str | None, typer.Option(help="The most rho instead: a ledger that counts rho.")
    ] = None
    delta_limit: Annotated[
        str | None, typer.Option(help="The most delta that may ever be spent.")
    ] = None
    shown_at_delta: Annotated[
        str | None, typer.Option(help="With --rho: at which delta (ε, δ) is shown.")
    ] = None
    per: Annotated[
        str | None, typer.Option(help="A limit for each hour, day, week, month or year.")
    ] = None
    date: Annotated[str | None, typer.Option(help="With --per: the column that dates a row.")] = (
        None
    )
    zone: Annotated[
        str | None, typer.Option(help="With --per: the time zone; UTC if not said.")
    ] = None
    periods_per_unit: Annotated[
        str | None, typer.Option(help="With --per: a unit counts in L of any M periods: 3,30.")
    ] = None

    @property
    def options(self) -> dict[str, Any]:
        """The same as the options of a `Ledger`."""
        if self.periods_per_unit is None:
            return vars(self)
        parts = [part.strip() for part in self.periods_per_unit.split(",")]
        share = [int(part) if part.isdecimal() else part for part in parts]
        return vars(self) | {"periods_per_unit": share}


@app.command("verify")
def verify_command(ledger: Where, anchor: Anchor = None, as_json: AsJson = False) -> None:
    """Check every entry, the anchor and every stored answer."""
    book = _open(ledger, anchor)
    entries = book.verify()
    facts = {"verified": True, "entries": entries}
    emit(as_json, facts, lambda: say(f"{entries} entries verified: nothing lost, nothing changed"))


@app.command("limit")
@spelled_out
def limit_command(
    ledger: Where,
    limit: Annotated[
        str | None,
        typer.Argument(help="The most epsilon that may ever be spent, such as 1 or 1/2."),
    ] = None,
    *,
    made: Made,
    anchor: Anchor = None,
    as_json: AsJson = False,
) -> None:
    """Make a ledger with a limit, or show the limit of one. A limit never changes."""
    given: Any = made.options
    if limit or any(given.values()):
        book = tu.Ledger(ledger, limit, anchor=anchor, **given)
    else:
        book = _open(ledger, anchor)
    if book.calendar is not None:
        facts = {"limit": str(book.limit), "loses": book.loses, **book.calendar.to_json()}
        words = f"limit {book.notion} {book.limit} {book.calendar}\n{book.loses}"
        emit(as_json, facts, lambda: say(words))
        return
    now = book.balance
    notion = "" if now.limit.notion == "epsilon" else "rho "
    words = f"limit {notion}{now.limit.amount}, of which {now.remaining.amount} is left"
    meant = now.shown(now.limit)
    emit(as_json, now.to_json(), lambda: say(f"{words}; the limit {meant}" if meant else words))
