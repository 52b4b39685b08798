"""The ledger: a durable, tamper-evident account of the ε, or ρ, spent on one dataset.

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
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from typing import TypeVar, Unpack

from trueup.ask import check_neighbours
from trueup.budget import Budget
from trueup.cost import Cost
from trueup.epsilon import positive
from trueup.errors import InputError, LedgerError, TrueupError
from trueup.owner import account
from trueup.owner.account import Account, Entry, Protects
from trueup.owner.anchor import Anchor, forked, lost, older
from trueup.owner.charge import Charge
from trueup.owner.readable import Readable
from trueup.owner.stores import Entries, open_anchor, open_store
from trueup.period import Calendar, PeriodTerms

T = TypeVar("T")
_OPEN = weakref.WeakSet["Ledger"]()


class Ledger(Readable):
    """The account of spent ε in the file `path`; made with `limit` if it does not exist yet.

    With `rho` instead of `limit` it counts ρ, which lasts longer where much is asked: a measurement
    with ρ costs ρ, and one with ε costs ε²/2. `delta_limit` is the most that may be spent of δ;
    nothing without it. What ρ means as (ε, δ) is shown at `shown_at_delta`, one in a million unless
    you say another, and decides nothing. All of this is fixed when the ledger is made.

    `path` may also be an address of PostgreSQL, for several machines that share a ledger:
    postgresql://user@host/database#trips, where trips is the name of the ledger.

    The last hash of its chain is also kept in the file `anchor`, by default beside the ledger. If
    somebody restores an old copy of the ledger, the anchor shows it; keep it on another disk, or
    in PostgreSQL on another server. You may open an existing ledger without its limit; another
    limit is refused.

    With `per="day"` (or hour, week, month, year), `date`, the column that dates a row, and `zone`,
    its time zone, each day has the limit: what is protected is all rows of a unit of one day, and
    somebody who is there on 30 days may lose 30 times as much (docs/periods.md).

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
        rho: object = None,
        delta_limit: object = None,
        shown_at_delta: object = None,
        anchor: str | os.PathLike[str] | None = None,
        unit: str | None = None,
        neighbours: str | None = None,
        **periods: Unpack[PeriodTerms],
    ) -> None:
        if (unit is None) != (neighbours is None):
            raise InputError('Give unit and neighbours together: unit="row" if it is no column.')
        said = Budget.said(limit, rho, delta_limit, shown_at_delta)
        calendar = Calendar.said(periods)
        protects = None if unit is None else Protects(str(unit), neighbours)
        if neighbours is not None:
            check_neighbours(neighbours)
        self._store = open_store(path)
        self._anchor = open_anchor(anchor, self._store)
        self._start()
        self._store.run(lambda: self._open(said, protects, calendar))

    def __repr__(self) -> str:
        calendar = self.calendar
        if calendar is not None:
            letter = "ρ" if self.notion == "rho" else "ε"
            return f"<Ledger {self._store.label}: {letter} {self.limit} {calendar}; {self.loses}>"
        now = self.balance
        shown = "" if now.limit.notion == "epsilon" else f"; {now.shown(now.spent)}"
        notion = "ρ " if shown else ""
        return (
            f"<Ledger {self._store.label}: {notion}{now.spent.amount} of {now.limit.amount} "
            f"spent{shown}>"
        )

    @property
    def name(self) -> str:
        """Where it is: its path, or its name on a server. Never holds a password."""
        return self._store.name

    def allow(self, by: str, limit: object) -> None:
        """Sets how much may be spent on behalf of one person, past charges included.

        The latest call counts. Without such an entry a person has only the ledger's limit.
        """
        by = account.usable_key(by, "by")
        most = Fraction(0) if limit == 0 else positive(limit, "limit")
        self._store.run(lambda: self._allow(by, most))

    def stored(self, charge: Charge) -> bytes:
        """The stored answer to a charge, checked against its hash."""
        if charge.answer is None:
            raise LedgerError(f"Entry {charge.entry} has no stored answer yet.")
        return self._store.run(lambda: self._stored(charge))

    def answered_at(self, charge: Charge) -> float:
        """When the answer to a charge was stored, in seconds since 1970."""
        return self._store.run(lambda: self._store.kept_at(charge.entry, charge.answer or ""))

    def verify(self) -> int:
        """The number of entries, after checking every one, the anchor and every stored answer."""
        entries, charges = self._store.run(self._verified)
        for charge in charges:
            if charge.answer is not None:
                self.stored(charge)
        return entries

    def spend(
        self,
        request: Mapping[str, object],
        epsilon: object = None,
        *,
        rho: object = None,
        delta: object = 0,
        draw: Callable[[], bytes],
        key: str | None = None,
        by: str | None = None,
    ) -> bytes:
        """The answer to a request: charged, then drawn, then stored, then returned.

        The same key returns the same bytes and charges once. A key whose answer was never stored
        (the process died) is completed: `draw` is called afresh, with no second charge, for
        nothing had left. Without a key the request is a new one. The cost is `epsilon`, `rho`, or
        a `Cost`; ρ is refused in a ledger that counts ε.
        """
        line = account.readable_request(request)
        cost = Cost.of(epsilon, rho, delta)
        key = secrets.token_hex(16) if key is None else account.usable_key(key)
        by = None if by is None else account.usable_key(by, "by")
        charge = self._store.run(lambda: self._charge(key, line, cost, by))
        if charge.answer is not None:
            return self.stored(charge)
        answer = draw()
        return self._store.run(lambda: self._record(charge, answer))

    def spend_all(
        self,
        asked: Sequence[tuple[Mapping[str, object], Cost, str]],
        draw: Callable[[Sequence[int]], Sequence[bytes]],
    ) -> tuple[list[bytes], TrueupError | None]:
        """The answers to several requests with their costs and keys: all are charged, then drawn.

        `draw` gets the places of those that have no answer yet. Where one cannot be charged, those
        before it are answered all the same, and why it cannot is given back beside them.
        """
        charges: list[Charge] = []
        wrong: TrueupError | None = None
        for request, cost, key in asked:
            line, named = account.readable_request(request), account.usable_key(key)
            try:
                charges.append(self._store.run(partial(self._charge, named, line, cost, None)))
            except TrueupError as refused:
                wrong = refused
                break
        lacking = [place for place, charge in enumerate(charges) if charge.answer is None]
        drawn = dict(zip(lacking, draw(lacking) if lacking else (), strict=True))
        return [
            self._store.run(partial(self._record, charge, drawn[place]))
            if place in drawn
            else self.stored(charge)
            for place, charge in enumerate(charges)
        ], wrong

    def last_step(self, key: str) -> tuple[int, str] | None:
        """The last step of the stream that this key paid for, and the hash of its state then."""
        return self._read(lambda now: now.steps.get(key))

    def take_step(self, key: str, number: int, sha256: str) -> None:
        """Records that a stream takes a step, with the hash of its state after it.

        Each step is taken once, in order: of two copies of a stream only one goes on.
        """
        self._store.run(lambda: self._take_step(key, number, sha256))

    def recall(
        self,
        request: Mapping[str, object],
        cost: Cost,
        *,
        key: str,
        by: str | None = None,
    ) -> bytes | None:
        """The stored answer to a request under this key, as `spend` gives it; None if none yet."""
        line = account.readable_request(request)
        known = self._read(lambda now: now.known(account.usable_key(key), line, cost, by))
        if known is None or known.answer is None:
            return None
        return self.spend(request, cost, draw=_never, key=key, by=by)

    # The steps. Each may be done again from its start: it reads before it writes, so that it
    # finds whatever a commit of unknown outcome has left.

    def _open(
        self, said: Budget | None, protects: Protects | None, calendar: Calendar | None
    ) -> None:
        apart = self._anchor.server()
        if apart is not None and apart == self._store.server():
            raise LedgerError(
                f"The anchor {self._anchor.name} is on the same server as the ledger {self.name}: "
                f"a restored backup would bring both back. Put it on another server, or in a file."
            )
        if not self._store.exists():
            if said is None:
                if self._anchor.read() is not None:
                    raise lost(self.name, self._anchor.name)
                raise LedgerError(f"There is no ledger at {self.name}. Give its limit to make one.")
            budget = said.made
            if protects is not None:
                protects = replace(protects, privacy=budget.notion)
            opening = account.opening(secrets.token_hex(16), budget, _now(), protects, calendar)
            self._store.make(opening, self._anchor)
        with self._connected() as entries:
            with self._transaction(entries) as now:
                entries.check_whole()
                if said is not None and not said.are(now.budget):
                    raise LedgerError(
                        f"This ledger was made with {now.budget}; it was opened with {said}. A "
                        f"limit is a promise and does not change: open it with {now.budget} or "
                        f"with none."
                    )
                if calendar is not None or said is not None:
                    now.check_calendar(calendar)
                if protects is not None:
                    now.check_protects(replace(protects, privacy=now.budget.notion))
            # A ledger that died while it was being made has no anchor yet.
            self._sync_anchor(entries, at_least=0)

    def _allow(self, by: str, most: Fraction) -> None:
        with self._connected() as entries:
            with self._transaction(entries) as now:
                if now.allowances.get(by) != most:
                    self._append(entries, now.allowance(by, most, _now()))
                number = now.number
            self._sync_anchor(entries, at_least=number)

    def _take_step(self, key: str, number: int, sha256: str) -> None:
        with self._connected() as entries:
            with self._transaction(entries) as now:
                if key not in now.charges:
                    raise LedgerError(f"No stream was paid for under the key {key!r}.")
                if now.steps.get(key) != (number, sha256):
                    if number != now.next_step(key):
                        raise LedgerError(
                            f"The stream {key!r} is at step {now.next_step(key) - 1:,} in the "
                            f"ledger: step {number:,} cannot follow. Its state is an older copy."
                        )
                    self._append(entries, now.step(key, number, sha256))
                entry = now.number
            self._sync_anchor(entries, at_least=entry)

    def _verified(self) -> tuple[int, tuple[Charge, ...]]:
        with self._connected() as entries:
            self._account = Account()  # from the first entry, whatever was seen before
            with self._transaction(entries) as now:
                entries.check_whole()
                return now.number + 1, tuple(now.charges.values())

    def _charge(self, key: str, request: str, cost: Cost, by: str | None) -> Charge:
        """The charge of this key, new or known, on disk and below the anchor."""
        with self._connected() as entries:
            with self._transaction(entries) as now:
                charge = now.known(key, request, cost, by)
                if charge is None:
                    self._append(entries, now.charge(key, request, cost, by, _now()))
                elif charge.answered is None or self._anchored_entry() < charge.answered:
                    # A process died, perhaps before its commit was synced: one more commit
                    # syncs all that stands before it.
                    self._append(entries, now.resumed(key))
                charge = now.charges[key]
            self._sync_anchor(entries, at_least=charge.answered or charge.entry)
        return charge

    def _record(self, charge: Charge, answer: bytes) -> bytes:
        """The bytes that answer a charge: these, unless another process was first."""
        sha256 = hashlib.sha256(answer).hexdigest()
        self._store.keep(charge.entry, sha256, answer)
        with self._connected() as entries:
            with self._transaction(entries) as now:
                if now.charges[charge.key].answer is None:
                    self._append(entries, now.answer(charge.key, sha256))
                charge = now.charges[charge.key]
            self._sync_anchor(entries, at_least=now.number)
        if charge.resumed:  # other answers may have been drawn, but never recorded or handed out
            self._store.keep_only(charge.entry, charge.answer or "")
        return self._stored(charge)

    def _stored(self, charge: Charge) -> bytes:
        answer = self._store.kept(charge.entry, charge.answer or "")
        if answer is None or hashlib.sha256(answer).hexdigest() != charge.answer:
            raise LedgerError(
                f"The stored answer of entry {charge.entry} of the ledger {self.name} is "
                f"{'missing' if answer is None else 'damaged'}. It is never drawn again: put it "
                f"back from a copy, or ask anew under another key."
            )
        return answer

    # Reading and writing the chain.

    def _start(self) -> None:
        self._account = Account()
        self._lock = threading.Lock()
        _OPEN.add(self)

    def after_fork(self) -> None:
        """In a child: what was read stays, unless a step was under way whose sum is half read."""
        if self._lock.locked():
            self._start()

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Entries]:
        """The entries for one step, with this process's other threads kept out."""
        with self._lock, self._store.connected() as entries:
            yield entries

    @contextlib.contextmanager
    def _transaction(self, entries: Entries) -> Iterator[Account]:
        """The account up to its last entry, with all other processes kept from writing."""
        start = -1
        entries.begin()
        try:
            self._catch_up(entries)
            start = self._account.number
            yield self._account
            entries.commit()
        except BaseException:
            if self._account.number != start:
                self._account = Account()  # uncertain what was kept: read again from the disk
            entries.roll_back()
            raise

    def _read(self, look: Callable[[Account], T]) -> T:
        def step() -> T:
            with self._connected() as entries, self._transaction(entries) as now:
                return look(now)

        return self._store.run(step)

    def _catch_up(self, entries: Entries) -> None:
        """Read the entries written since the last look, checking that none before them moved."""
        now, self._account = self._account, Account()  # kept only if all is well
        if now.number < 0:
            entries.check_ours()
        found = entries.since(max(now.number, 0))
        if now.number >= 0:
            if not found or found[0].number != now.number:
                raise older(self.name, now.number)
            if found.pop(0).hash != now.hash:
                raise forked(self.name, now.number)
        for entry in found:
            now.follow(entry)
        if now.number < 0:
            raise LedgerError(f"{self.name} is not a ledger made by trueup: it has no opening.")
        anchored = self._anchor.read()
        if anchored is not None:
            anchored.check(now, self.name, self._anchor.name)
        elif now.number >= self._store.first_anchored:
            raise LedgerError(
                f"The ledger {self.name} has {now.number + 1} entries but no anchor at "
                f"{self._anchor.name}: it cannot be told from an older copy. Put the anchor back."
            )
        self._account = now

    def _append(self, entries: Entries, entry: Entry) -> None:
        entries.append(entry)
        self._account.follow(entry)

    def _anchored_entry(self) -> int:
        anchored = self._anchor.read()
        return -1 if anchored is None else anchored.entry

    def _sync_anchor(self, entries: Entries, at_least: int) -> None:
        """Make sure that an anchor naming entry `at_least`, or a later one, is on disk.

        The transaction keeps other processes from putting an older head over a newer one.
        """
        with self._transaction(entries) as now:
            if self._anchored_entry() < at_least:
                self._anchor.write(Anchor(now.ledger, now.number, now.hash))
            else:
                self._anchor.settle()  # whoever wrote it may have died before it was safe


def _after_fork() -> None:
    for ledger in list(_OPEN):
        ledger.after_fork()


os.register_at_fork(after_in_child=_after_fork)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _never() -> bytes:
    raise LedgerError("A stored answer was lost while it was read; nothing was released.")
