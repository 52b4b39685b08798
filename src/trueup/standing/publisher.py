"""The publisher: finds what is due and missing, and publishes each period of each series once.

What was published is what the ledger says, never what files are there. A run first completes the
charges that have no answer, then writes the files that answers lack, then goes on with the earliest
period that is missing. It may be killed at any instant; the next run goes on from there.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trueup.config import Dataset
from trueup.errors import BudgetError, FileError, PublishedError
from trueup.files.atomic import write_many
from trueup.files.codec import encode
from trueup.infer import infer
from trueup.measurement import Measurement
from trueup.owner import Ledger, Owner
from trueup.owner.charge import Charge
from trueup.owner.of_dataset import owner_of
from trueup.owner.together import Together, complete_all, spend_together, stored_answers
from trueup.period import Period
from trueup.standing.series import FORMATS, Series

AT_ONCE = 32
"""So many periods are charged, and then counted in one pass over the table."""
_CELLS = 1 << 24  # numbers that are held at once
_OLD = 3600.0  # seconds after which nobody is writing a draft any more
_DRAFT = re.compile(rf"\..+\.({'|'.join(FORMATS)})\.[0-9a-f]{{16}}")  # as `write_many` names them


@dataclass
class Done:
    """What a run did: series and period of each."""

    published: list[tuple[str, str]] = field(default_factory=list)
    completed: list[tuple[str, str]] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)


class Desk:
    """One dataset, its ledger and its series, at work."""

    def __init__(self, dataset: Dataset, series: Sequence[Series]) -> None:
        self.dataset = dataset
        self.series = {each.name: each for each in series}
        self.ledger = Ledger(
            dataset.ledger,
            **dataset.ledger_options,
            anchor=dataset.anchor,
            unit=dataset.protects,
            neighbours=dataset.neighbours,
        )
        self.paid: dict[tuple[str, str], Charge] = {}
        self._seen: dict[int, tuple[Charge, list[str]]] = {}
        self.unanswered: dict[int, Charge] = {}
        self._unwritten: dict[tuple[str, str], Charge] = {}  # of our series; not seen on disk yet
        self._paid_through: dict[str, Period] = {}  # of each series; nothing before it is missing
        self._swept = False
        self._owner: Owner | None = None
        self.look()

    @property
    def owner(self) -> Owner:
        """The one door to the table, opened when it is first needed."""
        if self._owner is None:
            self._owner = owner_of(self.dataset, self.ledger)
        return self._owner

    def look(self) -> None:
        """Reads from the ledger what was paid for: by series and period. Only what is new."""
        for charge in self.ledger.history():
            seen = self._seen.get(charge.entry)
            if seen is not None and seen[0] is charge:
                continue
            names = series_in(charge) if seen is None else seen[1]
            self._seen[charge.entry] = charge, names
            paid = {(name, period): charge for name in names for period in charge.periods}
            self.paid |= paid
            if paid and charge.answer is None:
                self.unanswered[charge.entry] = charge
            elif paid:
                self.unanswered.pop(charge.entry, None)
                self._unwritten |= {key: charge for key in paid if key[0] in self.series}

    def missing(
        self, now: dt.datetime, through: Period | None
    ) -> dict[int, tuple[Period, list[Series]]]:
        """What is due and was never paid for, by period, the earliest first."""
        found: dict[int, tuple[Period, list[Series]]] = {}
        for each in self.series.values():
            whole = True
            for period in each.due(now, through, self._paid_through.get(each.name)):
                if (each.name, period.name) not in self.paid:
                    found.setdefault(period.number, (period, []))[1].append(each)
                    whole = False
                elif whole:
                    self._paid_through[each.name] = period
        return dict(sorted(found.items()))

    def complete(self, done: Done) -> None:
        """Draws the answers of charges that have none: whoever made them was killed."""
        lacking = list(self.unanswered.values())
        for begin in range(0, len(lacking), AT_ONCE):
            some = lacking[begin : begin + AT_ONCE]
            for charge, answers in zip(some, complete_all(self.owner, some), strict=True):
                (period,) = charge.periods
                done.completed += [(name, period) for name in answers]
                self.write({period: answers}, done)
        if lacking:
            self.look()

    def unwritten(self) -> list[Charge]:
        """The charges whose answers lack a file. A file that was seen is not looked for again."""
        periods: dict[str, list[str]] = {}
        for name, period in self._unwritten:
            periods.setdefault(name, []).append(period)
        lacking = {
            (name, period)
            for name, some in periods.items()
            for period in self.series[name].unwritten(some)
        }
        self._unwritten = {key: each for key, each in self._unwritten.items() if key in lacking}
        return list({charge.entry: charge for charge in self._unwritten.values()}.values())

    def mend(self, done: Done) -> None:
        """Writes the files that answers lack."""
        if not self._swept:
            for each in self.series.values():
                _sweep(each.folder)
            self._swept = True
        for charge in self.unwritten():
            answers = stored_answers(self.ledger.stored(charge))
            self.write({charge.periods[0]: answers}, done)

    def publish(self, now: dt.datetime, through: Period | None, done: Done) -> None:
        """Publishes what is missing, period after period, all series of one together."""
        while True:
            try:
                self._publish(now, through, done)
                return
            except PublishedError:  # somebody else is at it: what they have paid for is finished
                self.look()
                self.complete(done)

    def _publish(self, now: dt.datetime, through: Period | None, done: Done) -> None:
        waiting = list[Together]()
        for period, series in self.missing(now, through).values():
            for some in self._affordable(period, series, done):
                asked = [each.standing for each in some]
                key = f"publish {period} {secrets.token_hex(8)}"
                one = Together.of(self.owner, asked, period, key, self.dataset.neighbours)
                if waiting and sum(each.cells for each in (*waiting, one)) > _CELLS:
                    self._spend(waiting, done)
                    waiting = []
                waiting.append(one)
            if len(waiting) >= AT_ONCE:
                self._spend(waiting, done)
                waiting = []
        self._spend(waiting, done)

    def _spend(self, asked: Sequence[Together], done: Done) -> None:
        """Charges some periods, each by itself, and counts them in one pass over the table."""
        left = list(asked)
        while left:
            found, wrong = spend_together(self.owner, left)
            answers = {one.period.name: each for one, each in zip(left, found, strict=False)}
            done.published += [(name, day) for day, each in answers.items() for name in each]
            self.write(answers, done)
            left = left[len(found) :]
            if wrong is None:
                return
            if not isinstance(wrong, BudgetError):
                raise wrong
            # Somebody has spent of the period just now; later ones go on.
            refused, left = left[0], left[1:]
            day = refused.period.name
            done.refused |= {(each.name, day): str(wrong) for each in refused.standing}

    def _affordable(
        self, period: Period, series: Sequence[Series], done: Done
    ) -> Iterator[list[Series]]:
        """The series that the period can still pay for, in their order; the others are refused."""
        left, some = self.ledger.remaining_in(period), list[Series]()
        notion = self.ledger.notion
        if sum(each.cost.counted_in(notion).amount for each in series) > left:
            self.look()
            if any((each.name, period.name) in self.paid for each in series):
                raise PublishedError(f"{period} is being published by another process.")
        for each in series:
            cost = each.cost.counted_in(notion).amount
            if cost <= left:
                left, some = left - cost, [*some, each]
            else:
                words = f"costs {cost}; {left} is left"
                done.refused[each.name, period.name] = words
        if some:
            yield some

    def write(self, answers: Mapping[str, Mapping[str, Measurement]], done: Done) -> None:
        """Writes the files of some periods that are not there, all of them at once."""
        files: dict[Path, bytes] = {}
        for period, measured in answers.items():
            for name, each in measured.items():
                if name in self.series:
                    files |= _files(self.series[name], period, each)
        for folder in {path.parent for path in files}:
            folder.mkdir(parents=True, exist_ok=True)
        try:
            write_many(files, 0o666)
        except OSError as wrong:
            raise FileError(
                f"Results cannot be written: {wrong.strerror}. They are paid for: the next run "
                f"writes them."
            ) from None
        done.written += files


def _files(series: Series, period: str, measured: Measurement) -> dict[Path, bytes]:
    """The files of one result that are not there yet."""
    lacking = [path for path in series.paths(period) if not path.exists()]
    if not lacking:
        return {}
    show = series.nonnegative
    kind, columns, metadata = infer(measured, nonnegative=show, integers=show).contents()
    return {path: encode(kind, columns, metadata, path.suffix) for path in lacking}


def series_in(charge: Charge) -> list[str]:
    """The names of the series that a charge paid for; none if it was no publisher's."""
    if '"publishes"' not in charge.request:
        return []
    return [str(each["name"]) for each in json.loads(charge.request).get("publishes", ())]


def _sweep(folder: Path) -> None:
    """Removes drafts that were left by somebody who was killed, once they are old; nothing else."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if _DRAFT.fullmatch(name):
                draft = folder / name
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - draft.stat().st_mtime > _OLD:
                        draft.unlink()


def desks(series: Iterable[Series]) -> list[Desk]:
    """A desk for each dataset that some series are about."""
    by_dataset: dict[str, list[Series]] = {}
    for each in series:
        by_dataset.setdefault(each.dataset.name, []).append(each)
    return [Desk(each[0].dataset, each) for each in by_dataset.values()]


def publish_due(series: Iterable[Series], now: dt.datetime, through: str | None = None) -> Done:
    """Publishes all that is due and missing, and says what it did.

    `through` is the last period that is published. What a period cannot pay for is refused and
    said; later periods go on.
    """
    return publish_at(desks(series), now, through)


def publish_at(places: Iterable[Desk], now: dt.datetime, through: str | None = None) -> Done:
    """As `publish_due`, at desks that were opened before: they read only what is new."""
    done = Done()
    for desk in places:
        desk.look()
        calendar = next(iter(desk.series.values())).calendar
        last = None if through is None else calendar.period(through)
        desk.complete(done)
        desk.mend(done)
        desk.publish(now, last, done)
    return done
