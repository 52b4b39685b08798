"""Requests for more budget: an analyst asks, the owner sees them, and grants or declines.

A request names the whole allowance that is wanted, not what is to be added: granted twice, after a
crash between the ledger and this store, it comes to the same.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from fractions import Fraction

from trueup.errors import InputError
from trueup.server.errors import NotFoundError
from trueup.server.store import Statements, Store, moment

_MOST_OPEN = 1_000
_ASKED = "dataset, name, wanted, reason, created, state, decided, note"
_COLUMNS = f"number, {_ASKED}"


@dataclass(frozen=True)
class BudgetRequest:
    """What somebody asked for: `wanted` in all; `state` is open, granted or declined."""

    number: int
    dataset: str
    name: str
    wanted: str
    reason: str
    created: str
    state: str
    decided: str | None
    note: str


class BudgetRequests:
    """The requests, which the server's processes share."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def ask(self, dataset: str, name: str, wanted: Fraction, reason: str) -> BudgetRequest:
        """A new request; it takes the place of one by the same person that is still open."""
        words = _plain(reason)
        with self.store.writing() as database:
            database.execute(
                "DELETE FROM requests WHERE dataset = ? AND name = ? AND state = 'open'",
                (dataset, name),
            )
            (number,) = database.execute(
                "SELECT count(*) FROM requests WHERE state = 'open'"
            ).fetchone()
            if number >= _MOST_OPEN:
                raise InputError(f"{number:,} requests are open. The owner must decide some first.")
            (made,) = database.execute(
                f"INSERT INTO requests ({_ASKED}) VALUES (?, ?, ?, ?, ?, 'open', NULL, '') "
                f"RETURNING number",
                (dataset, name, str(wanted), words, moment()),
            ).fetchone()
            return self._one(database, made)

    def list(self, name: str | None = None) -> list[BudgetRequest]:
        """All requests, newest first; of one person, if a name is given."""
        with self.store.writing() as database:
            rows = database.execute(
                f"SELECT {_COLUMNS} FROM requests WHERE CAST(? AS TEXT) IS NULL OR name = ? "
                f"ORDER BY number DESC",
                (name, name),
            )
            return [BudgetRequest(*row) for row in rows]

    def find(self, number: int) -> BudgetRequest:
        """The request of a number."""
        with self.store.writing() as database:
            return self._one(database, number)

    def decide(self, number: int, state: str, wanted: str, note: str) -> BudgetRequest:
        """The request, decided; one that is decided already stays as it is."""
        words = _plain(note)
        with self.store.writing() as database:
            database.execute(
                "UPDATE requests SET state = ?, wanted = ?, decided = ?, note = ? "
                "WHERE number = ? AND state = 'open'",
                (state, wanted, moment(), words, number),
            )
            return self._one(database, number)

    def _one(self, database: Statements, number: int) -> BudgetRequest:
        row = database.execute(
            f"SELECT {_COLUMNS} FROM requests WHERE number = ?", (number,)
        ).fetchone()
        if row is None:
            raise NotFoundError("There is no such request.")
        return BudgetRequest(*row)


def _plain(text: str) -> str:
    """Words of a person, refused if something in them is no letter, sign or line break."""
    if any(unicodedata.category(sign) in ("Cc", "Cs") and sign != "\n" for sign in text):
        raise InputError("A reason is plain text, without control characters.")
    return text.strip()
