"""The anchor: a small file, best kept on another disk, that knows how far a ledger has come."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from trueup.errors import LedgerError
from trueup.files.atomic import write_whole
from trueup.owner.account import Account, canonical, link


@dataclass(frozen=True)
class Anchor:
    """The head of a ledger's hash chain at some time: the ledger may go on from it, never back."""

    ledger: str
    entry: int
    hash: str

    def write(self, path: Path) -> None:
        """Replace the anchor file, durably."""
        said = asdict(self)
        write_whole(path, canonical({**said, "sum": link("", canonical(said))}).encode() + b"\n")

    def check(self, now: Account, ledger: Path, anchor: Path) -> None:
        """Refuse a ledger that does not contain the anchored entry."""
        if self.ledger != now.ledger:
            raise LedgerError(f"The anchor {anchor} belongs to another ledger than {ledger}.")
        if self.entry > now.number:
            raise older(ledger, self.entry)
        if now.hashes[self.entry] != self.hash:
            raise forked(ledger, self.entry)


def read(path: Path) -> Anchor | None:
    """What the anchor file says, None where there is none; a damaged one is refused."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        said = json.loads(text)
        claimed = said.pop("sum")
        anchor = Anchor(**said)
        if claimed == link("", canonical(said)):
            return anchor
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        pass
    raise LedgerError(f"The anchor {path} is damaged. Put it back from a copy of its own.")


def older(path: Path, number: int) -> LedgerError:
    """The refusal of a ledger that lacks an entry known to have been written."""
    return LedgerError(
        f"The ledger {path} ends before entry {number}, which is known to have been written: it "
        f"is an older copy, or its last entries were cut off. Restore the newest copy."
    )


def forked(path: Path, number: int) -> LedgerError:
    """The refusal of a ledger whose entry is not the one known to have been written."""
    return LedgerError(
        f"The ledger {path} has another entry {number} than the one that is known to have been "
        f"written: it is a fork of the true ledger. Restore the true one."
    )
