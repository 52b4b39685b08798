"""The ledger: a durable, tamper-evident account of the ε spent on one dataset.

The order of a spend is what keeps the promise "recorded ≥ released" through any crash:
commit the charge, sync the anchor, draw the noise, store the answer, commit its hash, sync the
anchor, hand the answer out. Nothing is drawn before the charge is on disk; nothing leaves before
a retry under the same key is sure to find the very same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trueup.ask import check_neighbours
from trueup.epsilon import positive
from trueup.errors import InputError, LedgerError, shown
from trueup.files.atomic import sync_folder, write_whole
from trueup.owner import account
from trueup.owner import anchor as anchor_file
from trueup.owner.account import Account, Charge, Entry, Protects
from trueup.owner.anchor import Anchor, forked, older
from trueup.owner.database import begin, check_ours, check_whole, connect, create, in_our_words

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")


class Ledger:
    """The account of spent ε in the file `path`; made with `limit` if it does not exist yet.

    The last hash of its chain is also kept in the file `anchor`, by default beside the ledger. If
    somebody restores an old copy of the ledger, the anchor shows it; keep it on another disk. You
    may open an existing ledger without its limit; another limit is refused.

    One ledger protects one kind of unit ("row", "edge" or the column that tells units apart) under
    one neighbour relation. Both are fixed by `unit` and `neighbours`, or else by the first charge;
    other charges are refused.

    >>> from tempfile import mkdtemp
    >>> ledger = Ledger(mkdtemp() + "/trips.ledger", limit=1)
    >>> answer = ledger.spend({"question": "how many?"}, "1/10", draw=lambda: b"41", key="first")
    >>> ledger.spend({"question": "how many?"}, 0.1, draw=lambda: b"never drawn", key="first")
    b'41'
    >>> ledger.spent, ledger.remaining
    (Fraction(1, 10), Fraction(9, 10))
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        limit: object = None,
        *,
        anchor: str | os.PathLike[str] | None = None,
        unit: str | None = None,
        neighbours: str | None = None,
    ) -> None:
        if (unit is None) != (neighbours is None):
            raise InputError('Give unit and neighbours together: unit="row" if it is no column.')
        protects = None if unit is None else Protects.of({"unit": unit, "neighbours": neighbours})
        if neighbours is not None:
            check_neighbours(neighbours)
        for name, place in (("ledger", path), ("anchor", anchor or path)):
            if not isinstance(place, (str, os.PathLike)):
                raise InputError(f"The path of a {name} is text or a Path, got {shown(place)}.")
        self.path = Path(path)
        self.anchor = Path(anchor) if anchor is not None else _beside(self.path, ".anchor")
        self.answers = _beside(self.path, ".answers")
        wanted = None if limit is None else positive(limit, "limit")
        self._start()
        with in_our_words(self.path), self._lock:
            if not self.path.exists():
                self._make(wanted, protects)
            with contextlib.closing(connect(self.path)) as database:
                with self._transaction(database) as now:
                    check_whole(database)
                    if wanted not in (None, now.limit):
                        raise LedgerError(
                            f"This ledger was made with limit {now.limit}; it was opened with "
                            f"limit {wanted}. A limit is a promise and does not change: open it "
                            f"with {now.limit} or with none."
                        )
                    if protects is not None:
                        now.check_protects(protects)
                # A ledger that died while it was being made has no anchor yet.
                self._sync_anchor(database, at_least=0)

    def __repr__(self) -> str:
        return f"<Ledger '{self.path.name}': {self.spent} of {self.limit} spent>"

    @property
    def limit(self) -> Fraction:
        """The most that may ever be spent."""
        return self._read(lambda now: now.limit)

    @property
    def spent(self) -> Fraction:
        """The sum of all charges so far, exactly."""
        return self._read(lambda now: now.spent)

    @property
    def remaining(self) -> Fraction:
        """What is left of the limit, exactly."""
        return self._read(lambda now: now.limit - now.spent)

    @property
    def protects(self) -> Protects | None:
        """Whom the ledger protects, and in which sense; None before that is fixed."""
        return self._read(lambda now: now.protects)

    def allow(self, by: str, limit: object) -> None:
        """Sets how much may be spent on behalf of one person, past charges included.

        The latest call counts. Without such an entry a person has only the ledger's limit.
        """
        by = account.usable_key(by, "by")
        most = Fraction(0) if limit == 0 else positive(limit, "limit")
        with in_our_words(self.path), self._connected() as database:
            with self._transaction(database) as now:
                if now.allowances.get(by) != most:
                    self._append(database, now.allowance(by, most, _now()))
                number = now.number
            self._sync_anchor(database, at_least=number)

    def allowed(self, by: str) -> tuple[Fraction | None, Fraction]:
        """What one person may spend in all (None: no word of it), and what was spent for them."""
        return self._read(lambda now: (now.allowances.get(by), now.spent_by.get(by, Fraction(0))))

    def find(self, key: str) -> Charge | None:
        """The charge made under a key, None if there is none."""
        return self._read(lambda now: now.charges.get(key))

    def stored(self, charge: Charge) -> bytes:
        """The stored answer to a charge, checked against its hash."""
        if charge.answer is None:
            raise LedgerError(f"Entry {charge.entry} has no stored answer yet.")
        with in_our_words(self.path):
            return self._stored(charge)

    def answered_at(self, charge: Charge) -> float:
        """When the answer to a charge was stored, in seconds since 1970."""
        with in_our_words(self.path):
            return self._file(charge.entry, charge.answer or "").stat().st_mtime

    def history(self) -> tuple[Charge, ...]:
        """Every charge, oldest first."""
        return self._read(lambda now: tuple(now.charges.values()))

    @property
    def charges(self) -> pyarrow.Table:
        """The history as an Arrow table, one row a charge; ε is exact text."""
        return account.history_table(self.history())

    def verify(self) -> int:
        """The number of entries, after checking every one, the anchor and every stored answer."""
        with in_our_words(self.path):
            with self._connected() as database:
                self._account = Account()  # from the first entry, whatever was seen before
                with self._transaction(database) as now:
                    check_whole(database)
                    entries, charges = now.number + 1, tuple(now.charges.values())
            for charge in charges:
                if charge.answer is not None:
                    self._stored(charge)
        return entries

    def spend(
        self,
        request: Mapping[str, object],
        epsilon: object,
        *,
        draw: Callable[[], bytes],
        key: str | None = None,
        by: str | None = None,
    ) -> bytes:
        """The answer to a request: charged, then drawn, then stored, then returned.

        The same key returns the same bytes and charges once. A key whose answer was never stored
        (the process died) is completed: `draw` is called afresh, with no second charge, for
        nothing had left. Without a key the request is a new one.
        """
        line = account.readable_request(request)
        cost = positive(epsilon, "epsilon")
        key = secrets.token_hex(16) if key is None else account.usable_key(key)
        by = None if by is None else account.usable_key(by, "by")
        with in_our_words(self.path):
            charge = self._charge(key, line, cost, by)
            if charge.answer is not None:
                return self._stored(charge)
        answer = draw()
        with in_our_words(self.path):
            return self._store(charge, answer)

    def recall(
        self,
        request: Mapping[str, object],
        epsilon: object,
        *,
        key: str,
        by: str | None = None,
    ) -> bytes | None:
        """The stored answer to a request under this key, as `spend` gives it; None if none yet."""
        line = account.readable_request(request)
        cost = positive(epsilon)
        known = self._read(lambda now: now.known(account.usable_key(key), line, cost, by))
        if known is None or known.answer is None:
            return None
        return self.spend(request, cost, draw=_never, key=key, by=by)

    def _charge(self, key: str, request: str, epsilon: Fraction, by: str | None) -> Charge:
        """The charge of this key, new or known, on disk and below the anchor."""
        with self._connected() as database:
            with self._transaction(database) as now:
                charge = now.known(key, request, epsilon, by)
                if charge is None:
                    self._append(database, now.charge(key, request, epsilon, by, _now()))
                elif charge.answered is None or self._anchored_entry() < charge.answered:
                    # A process died, perhaps before its commit was synced: one more commit
                    # syncs all that stands before it.
                    self._append(database, now.resumed(key))
                charge = now.charges[key]
            self._sync_anchor(database, at_least=charge.answered or charge.entry)
        return charge

    def _store(self, charge: Charge, answer: bytes) -> bytes:
        """The bytes that answer a charge: these, unless another process was first."""
        sha256 = hashlib.sha256(answer).hexdigest()
        self.answers.mkdir(mode=0o700, exist_ok=True)
        sync_folder(self.answers.parent)
        # The hash is in the name, so that two processes completing one charge cannot overwrite
        # each other: the ledger says which of the two files is the answer.
        write_whole(self._file(charge.entry, sha256), answer)
        with self._connected() as database:
            with self._transaction(database) as now:
                if now.charges[charge.key].answer is None:
                    self._append(database, now.answer(charge.key, sha256))
                charge = now.charges[charge.key]
            self._sync_anchor(database, at_least=now.number)
        if charge.resumed:  # other answers may have been drawn, but never recorded or handed out
            recorded = self._file(charge.entry, charge.answer or "")
            for other in self.answers.glob(f"{charge.entry}-*"):
                if other != recorded:
                    other.unlink(missing_ok=True)
        return self._stored(charge)

    def _stored(self, charge: Charge) -> bytes:
        file = self._file(charge.entry, charge.answer or "")
        answer = file.read_bytes() if file.exists() else None
        if answer is None or hashlib.sha256(answer).hexdigest() != charge.answer:
            raise LedgerError(
                f"The stored answer of entry {charge.entry} is "
                f"{'missing' if answer is None else 'damaged'}: {file}. It is never drawn again: "
                f"put the file back from a copy, or ask anew under another key."
            )
        return answer

    def _file(self, entry: int, sha256: str) -> Path:
        return self.answers / f"{entry}-{sha256}"

    # Reading and writing the chain.

    def _start(self) -> None:
        self._account = Account()
        self._lock = threading.Lock()
        self._process = os.getpid()

    def _make(self, limit: Fraction | None, protects: Protects | None) -> None:
        """A new ledger, refused without a limit, or where its anchor says that one was lost."""
        if limit is None:
            raise LedgerError(f"There is no ledger at {self.path}. Give its limit to make one.")
        if self.anchor.exists():
            if self.path.exists():  # another process has just made it
                return
            raise LedgerError(
                f"There is no ledger at {self.path}, but its anchor {self.anchor} is there: the "
                f"ledger is lost. Put it back; a new ledger needs another path and anchor."
            )
        create(self.path, _row(account.opening(secrets.token_hex(16), limit, _now(), protects)))

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection for one step, with this process's other threads kept out.

        None outlives its step, so none crosses a fork, and a ledger that is replaced under a
        running process is noticed at the next step.
        """
        if self._process != os.getpid():  # a fork may have copied a held lock and a half-read sum
            self._start()
        with self._lock, contextlib.closing(connect(self.path)) as database:
            yield database

    @contextlib.contextmanager
    def _transaction(self, database: sqlite3.Connection) -> Iterator[Account]:
        """The account up to its last entry, with all other processes kept from writing."""
        start = -1
        begin(database)
        try:
            self._catch_up(database)
            start = self._account.number
            yield self._account
            database.execute("COMMIT")
        except BaseException:
            if self._account.number != start:
                self._account = Account()  # uncertain what was kept: read again from the disk
            if database.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
            raise

    def _read(self, look: Callable[[Account], T]) -> T:
        with (
            in_our_words(self.path),
            self._connected() as database,
            self._transaction(database) as now,
        ):
            return look(now)

    def _catch_up(self, database: sqlite3.Connection) -> None:
        """Read the entries written since the last look, checking that none before them moved."""
        now, self._account = self._account, Account()  # kept only if all is well
        if now.number < 0:
            check_ours(database, self.path)
        rows = database.execute(
            "SELECT number, body, hash FROM entries WHERE number >= ? ORDER BY number",
            (max(now.number, 0),),
        )
        entries = [Entry(*row) for row in rows]
        if now.number >= 0:
            if not entries or entries[0].number != now.number:
                raise older(self.path, now.number)
            if entries.pop(0).hash != now.hash:
                raise forked(self.path, now.number)
        for entry in entries:
            now.follow(entry)
        if now.number < 0:
            raise LedgerError(f"{self.path} is not a ledger made by trueup: it has no opening.")
        anchored = anchor_file.read(self.anchor)
        if anchored is not None:
            anchored.check(now, self.path, self.anchor)
        elif now.number > 0:
            raise LedgerError(
                f"The ledger {self.path} has {now.number + 1} entries but no anchor at "
                f"{self.anchor}: it cannot be told from an older copy. Put the anchor back."
            )
        self._account = now

    def _append(self, database: sqlite3.Connection, entry: Entry) -> None:
        database.execute("INSERT INTO entries VALUES (?, ?, ?)", _row(entry))
        self._account.follow(entry)

    def _anchored_entry(self) -> int:
        anchored = anchor_file.read(self.anchor)
        return -1 if anchored is None else anchored.entry

    def _sync_anchor(self, database: sqlite3.Connection, at_least: int) -> None:
        """Make sure that an anchor naming entry `at_least`, or a later one, is on disk.

        The transaction keeps other processes from putting an older head over a newer one.
        """
        with self._transaction(database) as now:
            if self._anchored_entry() < at_least:
                Anchor(now.ledger, now.number, now.hash).write(self.anchor)
            else:
                sync_folder(self.anchor.parent)  # whoever wrote it may have died before this


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _never() -> bytes:
    raise LedgerError("A stored answer was lost while it was read; nothing was released.")


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _row(entry: Entry) -> tuple[int, str, str]:
    return entry.number, entry.body, entry.hash
