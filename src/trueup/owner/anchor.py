"""The anchor: a few words, best kept on another disk, that know how far a ledger has come."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from trueup.errors import LedgerError
from trueup.files.atomic import sync_folder, write_whole
from trueup.owner.account import Account, canonical, link


@dataclass(frozen=True)
class Anchor:
    """The head of a ledger's hash chain at some time: the ledger may go on from it, never back."""

    ledger: str
    entry: int
    hash: str

    @property
    def text(self) -> str:
        """The line that is written: what it says, and a sum over that."""
        said = asdict(self)
        return canonical({**said, "sum": link("", canonical(said))}) + "\n"

    def check(self, now: Account, ledger: str, place: str) -> None:
        """Refuse a ledger that does not contain the anchored entry."""
        if self.ledger != now.ledger:
            raise LedgerError(f"The anchor {place} belongs to another ledger than {ledger}.")
        if self.entry > now.number:
            raise older(ledger, self.entry)
        if now.hashes[self.entry] != self.hash:
            raise forked(ledger, self.entry)


class AnchorPlace(Protocol):
    """Where an anchor is kept. `name` is how messages call it, without a password."""

    @property
    def name(self) -> str: ...

    def server(self) -> str | None:
        """What tells its database server from others; None where it is on none."""

    def read(self) -> Anchor | None:
        """What the anchor says, None where there is none; a damaged one is refused."""

    def write(self, head: Anchor) -> None:
        """Put this anchor in the place of any other, durably."""

    def settle(self) -> None:
        """Returns once the anchor that was read would outlive a power cut."""


@dataclass(frozen=True)
class FileAnchor:
    """An anchor in a file of its own."""

    path: Path

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    def server(self) -> None:
        """None: a file is on no server."""
        return

    def read(self) -> Anchor | None:
        """What the file says, None where there is none; a damaged one is refused."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return None
        return parsed(text, self.name)

    def write(self, head: Anchor) -> None:
        """Replace the file, durably."""
        write_whole(self.path, head.text.encode())

    def settle(self) -> None:
        """Sync the folder: whoever wrote the file may have died before that."""
        sync_folder(self.path.parent)


def parsed(text: bytes | str, name: str) -> Anchor:
    """The anchor that a text stands for; a damaged one is refused."""
    try:
        said = json.loads(text)
        claimed = said.pop("sum")
        anchor = Anchor(**said)
        if claimed == link("", canonical(said)):
            return anchor
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        pass
    raise LedgerError(f"The anchor {name} is damaged. Put it back from a copy of its own.")


def lost(ledger: str, anchor: str) -> LedgerError:
    """The refusal to begin a ledger again."""
    return LedgerError(
        f"There is no ledger at {ledger}, but its anchor {anchor} is there: the ledger is lost. "
        f"Put it back; a new ledger needs another path and anchor."
    )


def older(ledger: str, number: int) -> LedgerError:
    """The refusal of a ledger that lacks an entry known to have been written."""
    return LedgerError(
        f"The ledger {ledger} ends before entry {number}, which is known to have been written: it "
        f"is an older copy, or its last entries were cut off. Restore the newest copy."
    )


def forked(ledger: str, number: int) -> LedgerError:
    """The refusal of a ledger whose entry is not the one known to have been written."""
    return LedgerError(
        f"The ledger {ledger} has another entry {number} than the one that is known to have been "
        f"written: it is a fork of the true ledger. Restore the true one."
    )
