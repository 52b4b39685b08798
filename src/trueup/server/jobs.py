"""Measurements in progress: begun once, found again by their key, seen at their deadline.

A run holds a lock on a file named after its key for as long as it lasts, so that any process can
tell a measurement that is being made from one whose process died. The file's time is when the run
began; what is written in it, if anything, is why the run failed. The charge and the answer are in
the ledger, as ever: these files can be lost without harm.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from trueup.ask import Question
from trueup.cost import Cost
from trueup.errors import KeyConflictError, SourceError, TrueupError
from trueup.keys import PrefixCounts
from trueup.owner import where as filters
from trueup.owner.account import canonical
from trueup.owner.charge import Charge
from trueup.server import errors
from trueup.server.auth import Holder
from trueup.server.datasets import KeyQuestion, Table
from trueup.server.deadlines import leaves_at
from trueup.server.questions import Asked, question_of

UNREAD = (
    "The table could not be read. The charge stands: ask the same again under the same key, at no "
    "further cost."
)


@dataclass(frozen=True)
class Status:
    """What may be told of a charge: whether it is answered, and why not if it failed."""

    state: str  # running, done or failed
    at: float  # when that may be told, in seconds since 1970
    failure: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Job:
    """A measurement that is asked for: all that is needed to make it, and to make it again."""

    table: Table
    question: Question | KeyQuestion
    cost: Cost
    key: str  # the analyst's own, in the ledger's name space
    where: str | None
    by: str
    periods: tuple[str, ...] = ()  # whose rows are counted, where each has a limit

    @staticmethod
    def of(
        table: Table, question: Question | KeyQuestion, asked: Asked, key: str, holder: Holder
    ) -> Job:
        """What a holder asks for under a key of their own choice."""
        periods = tuple(each.name for each in table.periods(asked))
        paid = (asked.cost, ledger_key(holder, key), asked.where, holder.name, periods)
        return Job(table, question, *paid)

    @staticmethod
    def again(table: Table, charge: Charge) -> Job:
        """What was charged and never answered."""
        request = json.loads(charge.request)
        question = question_of(request["question"])
        by = charge.by or ""
        paid = (charge.cost, charge.key, request["where"], by, charge.periods)
        return Job(table, question, *paid)

    def check(self, charge: Charge) -> None:
        """Refuses a charge under this key that paid for something else, at work or not."""
        request = json.loads(charge.request)
        ours = self.table.paid_for(charge)
        where = filters.rewritten(self.where)
        paid = (canonical(request["question"]), request["where"], charge.cost, charge.periods)
        asked = (canonical(self.question.to_json()), where, self.cost, self.periods)
        if not ours or paid != asked:
            raise KeyConflictError(
                "This key was used for a different request. Ask the same as before to have its "
                "answer again, or choose a new key."
            )

    def make(self) -> None:
        """Charge, draw, store: the owner's work, all of it."""
        owner = self.table.owner
        given = {"where": self.where, "by": self.by, **self.table.given(self.periods)}
        if isinstance(self.question, Question):
            owner.measure(self.question, self.cost, self.key, **given)
        elif isinstance(self.question, PrefixCounts):
            owner.keys.measure_prefixes(self.question, self.cost, self.key, **given)
        else:
            owner.keys.measure(self.question, self.cost, self.key, **given)


def ledger_key(holder: Holder, key: str) -> str:
    """A key that no two holders share, short enough for the ledger."""
    return f"{holder.name}/{hashlib.sha256(key.encode()).hexdigest()}"


class Jobs:
    """The measurements that this process makes, and what is known of those of others."""

    def __init__(self, first_deadline: float, most: int) -> None:
        self.first_deadline = first_deadline
        self.most = most
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="measure")
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str], Future[None]] = {}

    def close(self) -> None:
        """Wait for the measurements at work; begin no more."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def begin(self, wanted: Job) -> Future[None]:
        """The run of a measurement: a new one, unless this process is at it already."""
        at = (wanted.table.name, wanted.key)
        with self._lock:
            running = self._running.get(at)
            if running is not None:
                return running
            if len(self._running) >= self.most:
                raise errors.BusyError(
                    "Too many measurements are being made. Nothing was charged: ask again shortly, "
                    "under the same key."
                )
            future = self._pool.submit(_run, wanted)
            self._running[at] = future
            future.add_done_callback(lambda _: self._running.pop(at, None))
            return future

    def status(self, table: Table, charge: Charge) -> Status:
        """What may be told of a charge, and when. Abandoned ones are running until taken up."""
        file = run_file(table, charge.key)
        began = _began(file)
        if charge.answer is not None:
            ready = table.ledger.answered_at(charge)
            if began is None and charge.by is None:  # made by the owner herself
                return Status("done", ready)
            if began is None:  # another machine on the same ledger made it for an analyst
                began = datetime.fromisoformat(charge.time).timestamp()
            return Status("done", leaves_at(began, ready, self.first_deadline))
        failed = _failure(file)
        if failed is not None and began is not None and not _held(file):
            at = leaves_at(began, failed["at"], self.first_deadline)
            return Status("failed", at, failed["body"])
        return Status("running", 0.0)

    def first(self, table: Table, charge: Charge) -> float:
        """The first deadline of a charge's last run, in seconds since 1970."""
        return (_began(run_file(table, charge.key)) or 0.0) + self.first_deadline

    def resume(self, table: Table, charge: Charge) -> None:
        """Take up a charge whose process died; leave alone one that is being worked on.

        One that failed stays so until it is asked for again, under its key: looking at it must not
        begin another scan each time.
        """
        file = run_file(table, charge.key)
        if charge.answer is None and _failure(file) is None and not _held(file):
            with contextlib.suppress(errors.BusyError):
                self.begin(Job.again(table, charge))


def _run(wanted: Job) -> None:
    """Makes a measurement, holding its lock; a run that another process is at is left to it.

    Raises what was refused before it was charged. What fails later is written down, to be told at
    its deadline: how long it took can tell of the data.
    """
    file = run_file(wanted.table, wanted.key)
    file.parent.mkdir(mode=0o700, exist_ok=True)
    handle = _taken(file)
    if handle is None:
        return
    try:
        charge = wanted.table.ledger.find(wanted.key)
        if charge is None or charge.answer is None:
            os.ftruncate(handle, 0)
            os.utime(handle)
        try:
            wanted.make()
        except Exception as error:
            charge = wanted.table.ledger.find(wanted.key)
            if (
                charge is None
            ):  # nothing is kept of it: refusals cost nothing, and could fill a disk
                file.unlink(missing_ok=True)
            if charge is None or charge.answer is not None or isinstance(error, KeyConflictError):
                raise
            _fail(handle, error)
    finally:
        os.close(handle)


def _taken(file: Path) -> int | None:
    """The file, open and locked by us; None if another is at work on it.

    Whoever only looks whether it is held lets go at once. A file that was taken away while we
    waited for it is nobody's: another one is in its place, or will be.
    """
    for _ in range(10):
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            time.sleep(0.01)
            continue
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)
    return None


def _fail(handle: int, error: Exception) -> None:
    """Writes down why a run failed after it was charged, keeping the time at which it began."""
    if isinstance(error, SourceError):
        said = errors.body("source", UNREAD, 503)
    else:
        said = errors.facts(error)[1]
    if not isinstance(error, TrueupError):
        errors.log_internal(error)
    began = os.fstat(handle).st_mtime
    os.pwrite(handle, errors.encode({"at": time.time(), "body": said}), 0)
    os.utime(handle, (began, began))


def run_file(table: Table, key: str) -> Path:
    """The file that a run of this key holds."""
    return table.runs / hashlib.sha256(key.encode()).hexdigest()


def _began(file: Path) -> float | None:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return None


def _failure(file: Path) -> dict[str, Any] | None:
    try:
        said = json.loads(file.read_bytes() or b"null")
    except (FileNotFoundError, ValueError):
        return None
    if said is not None and "code" not in said["body"]:  # written by version 0.1
        said["body"] = errors.body("source", UNREAD, 503)
    return None if said is None else dict(said)


def _held(file: Path) -> bool:
    """Whether some process is at work on the run."""
    try:
        handle = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
