"""Commands about the account of what has been given away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trueup.cli.output import AsJson, emit, say, table
from trueup.errors import LedgerError

app = typer.Typer(
    help="The account of spent epsilon: show it, verify it, or make one.",
    no_args_is_help=True,
)

Where = Annotated[
    str, typer.Argument(help="The ledger's file, or postgresql://…#NAME.", show_default=False)
]
Anchor = Annotated[
    str | None,
    typer.Option("--anchor", help="The anchor's file or address, if not beside the ledger."),
]


def _open(path: str, anchor: str | None) -> object:
    from trueup.owner import Ledger
    from trueup.owner.stores import is_address

    if not is_address(path) and not Path(path).exists():
        raise LedgerError(f"There is no ledger {path}. Make one with trueup ledger limit.")
    return Ledger(path, anchor=anchor)


@app.command("show")
def show_command(ledger: Where, anchor: Anchor = None, as_json: AsJson = False) -> None:
    """Every charge, what is spent and what remains."""
    from trueup.owner import Ledger

    book = _open(ledger, anchor)
    assert isinstance(book, Ledger)
    charges = book.history()
    facts = {
        "limit": book.limit,
        "spent": book.spent,
        "remaining": book.remaining,
        "charges": book.charges.to_pylist(),
    }

    def show() -> None:
        rows = [
            [str(c.entry), c.time, str(c.epsilon), str(c.spent), "yes" if c.answer else "no"]
            for c in charges
        ]
        table(["charge", "time", "epsilon", "spent so far", "answered"], rows)
        say(f"{facts['spent']} of {facts['limit']} spent, {facts['remaining']} left")

    emit(as_json, facts, show)


@app.command("verify")
def verify_command(ledger: Where, anchor: Anchor = None, as_json: AsJson = False) -> None:
    """Check every entry, the anchor and every stored answer."""
    from trueup.owner import Ledger

    book = _open(ledger, anchor)
    assert isinstance(book, Ledger)
    entries = book.verify()
    facts = {"verified": True, "entries": entries}
    emit(as_json, facts, lambda: say(f"{entries} entries verified: nothing lost, nothing changed"))


@app.command("limit")
def limit_command(
    ledger: Where,
    limit: Annotated[
        str | None, typer.Argument(help="The most that may ever be spent, such as 1 or 1/2.")
    ] = None,
    anchor: Anchor = None,
    as_json: AsJson = False,
) -> None:
    """Make a ledger with a limit, or show the limit of one. A limit never changes."""
    from trueup.owner import Ledger

    book = Ledger(ledger, limit, anchor=anchor) if limit else _open(ledger, anchor)
    assert isinstance(book, Ledger)
    facts = {"limit": book.limit, "spent": book.spent, "remaining": book.remaining}
    words = f"limit {facts['limit']}, of which {facts['remaining']} is left"
    emit(as_json, facts, lambda: say(words))
