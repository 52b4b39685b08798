"""Where a ledger is kept: what any store of one must do, and the choice between the two we have.

The ledger decides what is written and in which order; a store makes it durable, keeps all other
writers out meanwhile, and says in our words what went wrong. SQLite and PostgreSQL are one file
each.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypeVar

from trueup.errors import InputError, shown
from trueup.owner.account import Entry
from trueup.owner.anchor import AnchorPlace, FileAnchor
from trueup.owner.engines.connection import ADDRESS, is_address
from trueup.owner.stores.postgres import PostgresStore
from trueup.owner.stores.postgres_anchor import PostgresAnchor
from trueup.owner.stores.sqlite import SqliteStore

T = TypeVar("T")


class Entries(Protocol):
    """The entries of a ledger, as one step of one process sees and adds to them."""

    def begin(self) -> None:
        """Start a transaction that keeps all other processes from writing."""

    def commit(self) -> None:
        """Returns once all that was appended would outlive a power cut."""

    def roll_back(self) -> None:
        """End the transaction, if there is one, with nothing appended."""

    def since(self, number: int) -> list[Entry]:
        """The entry of this number and all after it, in order."""

    def append(self, entry: Entry) -> None:
        """Add one entry, inside a transaction."""

    def check_ours(self) -> None:
        """Refuse what is not a ledger, or whose append-only guards were taken away."""

    def check_whole(self) -> None:
        """Refuse what the database itself knows to be damaged."""


class LedgerStore(Protocol):
    """What keeps a ledger's entries and answers.

    `name` is how messages call it, without a password, and `label` the same in short. `beside` is
    where its anchor lies if nobody says where; None where that must be said. A ledger that has
    entry `first_anchored` and no anchor is refused.
    """

    @property
    def name(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def beside(self) -> Path | None: ...

    @property
    def first_anchored(self) -> int: ...

    def server(self) -> str | None:
        """What tells its database server from others; None where it is on none."""

    def exists(self) -> bool:
        """Whether there is a ledger."""

    def make(self, opening: Entry, anchor: AnchorPlace) -> None:
        """A new ledger, whole or not at all; one that another process has just made is left.

        Refused where the anchor says that there was a ledger, which is lost.
        """

    def connected(self) -> AbstractContextManager[Entries]:
        """The entries, for one step."""

    def run(self, work: Callable[[], T]) -> T:
        """What a piece of work gives; a failing disk or database is a LedgerError in our words.

        A store that can lose its connection does the work again. So all work reads before it
        writes: whatever a commit of unknown outcome has left, it finds.
        """

    def keep(self, entry: int, sha256: str, answer: bytes) -> None:
        """Store an answer to a charge, durably, beside any other that was drawn for it."""

    def kept(self, entry: int, sha256: str) -> bytes | None:
        """The stored answer of this hash, None if it is not there."""

    def kept_at(self, entry: int, sha256: str) -> float:
        """When an answer was stored, in seconds since 1970."""

    def keep_only(self, entry: int, sha256: str) -> None:
        """Drop all other answers to a charge: they were drawn, and never handed out."""


def open_store(place: object) -> LedgerStore:
    """The store at a path or at a postgresql:// address."""
    address = _checked("ledger", place)
    if is_address(address):
        return PostgresStore(address)
    return SqliteStore(Path(address))


def open_anchor(place: object, ledger: LedgerStore) -> AnchorPlace:
    """The anchor at a path or address; by default beside a ledger that is a file."""
    if place is None and ledger.beside is not None:
        return FileAnchor(ledger.beside)
    if place is None:
        raise InputError(
            "A ledger in PostgreSQL needs an anchor outside its server, or a restored backup "
            "would bring back spent budget. Give anchor= a file on a disk of this machine; if "
            "several machines use the ledger, one file that all of them share, or the "
            "postgresql:// address of another server."
        )
    address = _checked("anchor", place)
    if is_address(address):
        return PostgresAnchor(address)
    return FileAnchor(Path(address))


def _checked(what: str, place: object) -> str:
    if not isinstance(place, (str, os.PathLike)) or not isinstance(os.fspath(place), str):
        raise InputError(
            f"The path of a {what} is text or a Path, or text that begins with postgresql://, "
            f"got {shown(place)}."
        )
    address = os.fspath(place)
    if not is_address(place) and ADDRESS.match(address):  # it may hold a password: not told
        raise InputError(
            f"The address of a {what} must be text that begins with postgresql://, such as "
            f"postgresql://user@host:5432/database#trips."
        )
    if not is_address(place) and not Path(address).name:
        raise InputError(f"The path of a {what} must name a file, got {shown(address)}.")
    return address
