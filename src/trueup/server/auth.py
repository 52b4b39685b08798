"""Tokens: who may ask. Hashed at rest, revoked at once, refused all alike."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Literal

from trueup.config import Dataset
from trueup.epsilon import positive
from trueup.errors import InputError, TrueupError, shown
from trueup.owner import Ledger
from trueup.owner.engines.connection import is_address
from trueup.server.file_store import FileStore
from trueup.server.store import Store, moment

Role = Literal["public", "reader", "analyst", "owner"]
ROLES: tuple[Role, ...] = ("reader", "analyst", "owner")
"""What a token may be for; "public" is whoever has a link and no token."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}", re.ASCII)
_SPAN = re.compile(r"(\d{1,6})([hd])", re.ASCII)
_MINUTE = 60.0  # seconds between two notes of one token's use
_MOST_SESSIONS = 100  # of a token at once; the oldest ends


class NotAllowedError(TrueupError):
    """A token that is missing, wrong, expired, revoked or of another role: always the same."""


@dataclass(frozen=True)
class Holder:
    """Whoever holds a token: their name, what they may do, and until when."""

    number: int
    name: str
    role: Role
    created: str
    expires: str | None
    revoked: str | None

    def valid(self) -> bool:
        """Whether the token may be used at this moment."""
        return self.revoked is None and (self.expires is None or moment() < self.expires)


def expiry(text: str | None) -> str | None:
    """The moment at which "30d" or "12h" from now, or a given moment, has come; None is never."""
    if text is None:
        return None
    span = _SPAN.fullmatch(text)
    try:
        if span:
            number = int(span[1])
            return moment(timedelta(hours=number) if span[2] == "h" else timedelta(days=number))
        end = datetime.fromisoformat(text)
        end = end.replace(tzinfo=UTC) if end.tzinfo is None else end.astimezone(UTC)
        return end.strftime("%Y-%m-%dT%H:%M:%SZ") if end.year >= 1000 else moment()
    except (ValueError, OverflowError):
        raise InputError(
            f"expires must be such as 30d, 12h or 2026-12-31, got {shown(text)}."
        ) from None


def open_store(place: str | Path) -> Store:
    """The store in a file, or at a postgresql:// address."""
    if is_address(place):
        from trueup.server.shared_store import SharedStore

        return SharedStore(str(place))
    return FileStore(Path(place))


class Tokens:
    """The tokens kept in a file, or in PostgreSQL, which several processes may share.

    >>> from tempfile import mkdtemp
    >>> tokens = Tokens(Path(mkdtemp()) / "trueup.tokens")
    >>> secret = tokens.create("ana", "analyst")
    >>> tokens.holder(secret).name, tokens.holder(secret + "x")
    ('ana', None)
    """

    def __init__(self, place: str | Path) -> None:
        self.store = open_store(place)
        self._used: dict[int, float] = {}  # when this process last wrote down a use

    def create(self, name: str, role: str, expires: str | None = None) -> str:
        """A new token, told this once; only its hash is kept. Given `expires`, as `expiry` has it.

        High-entropy and random, so that a plain hash keeps it as well as a slow one would.
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(
                f"A name has up to 64 letters, digits, or any of . - _ @, got {shown(name)}."
            )
        if role not in ROLES:
            raise InputError(f"A role is one of {', '.join(ROLES)}, got {shown(role)}.")
        end = expiry(expires)
        secret = "trueup_" + secrets.token_urlsafe(32)
        with self.store.writing() as database:
            other = database.execute(
                "SELECT role FROM tokens WHERE name = ? AND role != ? AND revoked IS NULL",
                (name, role),
            ).fetchone()
            if other:
                raise InputError(f"'{name}' has a token as {other[0]} already: revoke that first.")
            database.execute(
                "INSERT INTO tokens (hash, name, role, created, expires) VALUES (?, ?, ?, ?, ?)",
                (hashed(secret), name, role, moment(), end),
            )
        return secret

    def revoke(self, name: str) -> int:
        """How many tokens of this name were revoked, from this moment on."""
        return self._revoke("name", name)

    def revoke_one(self, number: int) -> bool:
        """Whether the token of this number was revoked, from this moment on."""
        return bool(self._revoke("number", number))

    def _revoke(self, by: Literal["name", "number"], which: str | int) -> int:
        with self.store.writing() as database:
            done = database.execute(
                f"UPDATE tokens SET revoked = ? WHERE {by} = ? AND revoked IS NULL",
                (moment(), which),
            )
            return int(done.rowcount)

    def list(self) -> list[Holder]:
        """Every token that was ever made, without the token."""
        with self.store.writing() as database:
            rows = database.execute(
                "SELECT number, name, role, created, expires, revoked FROM tokens ORDER BY number"
            )
            return [Holder(*row) for row in rows]

    def last_used(self) -> dict[int, str]:
        """When each token, or a session of it, was last used, to a minute; by its number."""
        with self.store.writing() as database:
            return dict(database.execute("SELECT token, last FROM uses").fetchall())

    def is_news(self, holder: Holder) -> bool:
        """Whether a use of this token should be written down now: once a minute in a process."""
        now = time.monotonic()
        if now - self._used.get(holder.number, -math.inf) < _MINUTE:
            return False
        self._used[holder.number] = now
        return True

    def used(self, holder: Holder) -> None:
        """Writes down that a token is used at this moment."""
        with self.store.writing() as database:
            database.execute(
                "INSERT INTO uses VALUES (?, ?) ON CONFLICT (token) DO UPDATE SET last = "
                "excluded.last",
                (holder.number, moment()),
            )

    def holder(self, secret: str) -> Holder | None:
        """Who holds this token, None if nobody may use it: wrong, expired and revoked alike.

        The same steps are taken for every token: a hash, a look for it, a comparison.
        """
        digest = hashed(secret)
        row = self.store.known().tokens.get(digest)
        same = hmac.compare_digest(digest, digest if row is not None else bytes(32))
        found = None if row is None else Holder(*row)
        valid = found is not None and found.valid()
        return found if same and valid else None

    def named(self, name: str) -> Holder | None:
        """Somebody of this name who has a good token, the newest; None if there is nobody."""
        rows = self.store.known().tokens.values()
        good = [one for row in rows if row[1] == name and (one := Holder(*row)).valid()]
        return max(good, key=lambda one: one.number, default=None)

    def sign_in(self, holder: Holder, seconds: float) -> str:
        """The secret of a new session, which lasts so long; only its hash is kept."""
        secret = secrets.token_urlsafe(32)
        with self.store.writing() as database:
            database.execute("DELETE FROM sessions WHERE expires <= ?", (moment(),))
            database.execute(
                "DELETE FROM sessions WHERE token = ? AND hash NOT IN (SELECT hash FROM sessions "
                "WHERE token = ? ORDER BY created DESC, rowid DESC LIMIT ?)",
                (holder.number, holder.number, _MOST_SESSIONS - 1),
            )
            database.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?)",
                (hashed(secret), holder.number, moment(), moment(timedelta(seconds=seconds))),
            )
        return secret

    def sign_out(self, secret: str) -> None:
        """Ends a session, in every process."""
        with self.store.writing() as database:
            database.execute("DELETE FROM sessions WHERE hash = ?", (hashed(secret),))

    def signed_in(self, secret: str) -> Holder | None:
        """Whose session this is; None if it is nobody's, or over, or its token is."""
        known = self.store.known()
        number, expires = known.sessions.get(hashed(secret), (0, ""))
        row = known.numbered.get(number)
        found = None if row is None else Holder(*row)
        return found if found is not None and found.valid() and moment() < expires else None


def create(
    tokens: Tokens,
    datasets: Mapping[str, Dataset],
    name: str,
    role: str,
    limit: object = None,
    chosen: Iterable[str] | None = None,
    expires: str | None = None,
    rho: object = None,
) -> str:
    """A new token and, for an analyst, the limit that goes with it, in the ledgers chosen or all.

    The limit stands in the ledger by name: another token of the name spends from the same. It is
    `limit` where ε is counted, and `rho` where ρ is.
    """
    if (limit is None and rho is None) != (role != "analyst"):
        raise InputError("An analyst has a limit, such as 1/10; others have none.")
    chosen = list(datasets) if chosen is None else list(chosen)
    for other in chosen:
        if other not in datasets:
            raise InputError(f"There is no dataset {other[:64]!r}.")
    allowed = _allowances([datasets[other] for other in chosen], limit, rho)
    secret = tokens.create(name, role, expires)
    for dataset, most in allowed:
        open_ledger(dataset).allow(name, most)
    return secret


def _allowances(
    chosen: Sequence[Dataset], limit: object, rho: object
) -> list[tuple[Dataset, Fraction]]:
    """What may be spent on each dataset: `limit` where it counts ε, `rho` where it counts ρ."""
    most = {
        notion: positive(given, word)
        for notion, word, given in (("epsilon", "limit", limit), ("rho", "rho", rho))
        if given is not None
    }
    if not most:
        return []
    counted = {dataset.budget.notion for dataset in chosen}
    for dataset in chosen:
        notion = dataset.budget.notion
        if notion not in most:
            word = "limit" if notion == "epsilon" else "rho"
            raise InputError(
                f"Dataset '{dataset.name}' counts {notion}: give {word}, or name other datasets."
            )
    for given in most:
        if given not in counted:
            raise InputError(f"None of the datasets counts {given}.")
    return [(dataset, most[dataset.budget.notion]) for dataset in chosen]


def open_ledger(dataset: Dataset) -> Ledger:
    """The ledger of a dataset, made with its limit if it is not there yet.

    One that was charged for another unit or neighbour relation than the configuration names is
    refused: the server does not start.
    """
    return Ledger(
        dataset.ledger,
        **dataset.ledger_options,
        anchor=dataset.anchor,
        unit=dataset.protects,
        neighbours=dataset.neighbours,
    )


def hashed(secret: str) -> bytes:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
