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
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from trueup.config import Dataset
from trueup.errors import BudgetError, FileError, PublishedError
from trueup.files.atomic import write_many
from trueup.files.codec import encode
from trueup.infer import infer
from trueup.measurement import Measurement
from trueup.owner import Ledger, Owner
from trueup.owner.charge import Charge
from trueup.owner.together import complete, measure_together, stored_answers
from trueup.period import Period
from trueup.standing.series import Series

_OLD = 3600.0  # seconds after which nobody is writing a draft any more


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
        self._owner: Owner | None = None
        self.look()

    @property
    def owner(self) -> Owner:
        """The one door to the table, opened when it is first needed."""
        if self._owner is None:
            said = self.dataset
            self._owner = Owner(
                said.source,
                self.ledger,
                unit=said.unit,
                rows_per_unit=said.rows_per_unit,
                columns=cast("Any", dict(said.columns)) or None,
                table=said.table,
                edges=said.edges,
                graph=said.graph,
            )
        return self._owner

    def look(self) -> None:
        """Reads from the ledger what was paid for: by series and period."""
        self.paid = {
            (name, period): charge
            for charge in self.ledger.history()
            for name in _names(charge)
            for period in charge.periods
        }

    def missing(
        self, now: dt.datetime, through: Period | None
    ) -> dict[int, tuple[Period, list[Series]]]:
        """What is due and was never paid for, by period, the earliest first."""
        found: dict[int, tuple[Period, list[Series]]] = {}
        for each in self.series.values():
            for period in each.due(now, through):
                if (each.name, period.name) not in self.paid:
                    found.setdefault(period.number, (period, []))[1].append(each)
        return dict(sorted(found.items()))

    def complete(self, done: Done) -> None:
        """Draws the answers of charges that have none: whoever made them was killed."""
        for charge in {each.entry: each for each in self.paid.values()}.values():
            if charge.answer is None:
                answers = complete(self.owner, charge)
                (period,) = charge.periods
                done.completed += [(name, period) for name in answers]
                self.write({period: answers}, done)
        self.look()

    def mend(self, done: Done) -> None:
        """Writes the files that answers lack."""
        here = {name: _listed(each.folder) for name, each in self.series.items()}
        for name, names in here.items():
            _sweep(self.series[name].folder, names)
        lacking: dict[str, Charge] = {}
        for (name, period), charge in self.paid.items():
            each = self.series.get(name)
            if each is not None and not {path.name for path in each.paths(period)} <= here[name]:
                lacking[charge.key] = charge
        for charge in lacking.values():
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
        for period, series in self.missing(now, through).values():
            for some in self._affordable(period, series, done):
                asked = [each.standing for each in some]
                key = f"publish {period} {secrets.token_hex(8)}"
                neighbours = self.dataset.neighbours
                try:
                    answers = measure_together(self.owner, asked, period, key, neighbours)
                except BudgetError as wrong:  # somebody has spent of the period just now
                    done.refused |= {(each.name, period.name): str(wrong) for each in some}
                    continue
                done.published += [(each.name, period.name) for each in some]
                self.write({period.name: answers}, done)

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


def _names(charge: Charge) -> list[str]:
    if '"publishes"' not in charge.request:
        return []
    return [str(each["name"]) for each in json.loads(charge.request).get("publishes", ())]


def _listed(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))
    except FileNotFoundError:
        return set()


def _sweep(folder: Path, names: Iterable[str]) -> None:
    """Removes drafts that were left by somebody who was killed, once they are old."""
    for name in names:
        draft = folder / name
        with contextlib.suppress(FileNotFoundError):
            if name[0] == "." and time.time() - draft.stat().st_mtime > _OLD:
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
    done = Done()
    for desk in desks(series):
        calendar = next(iter(desk.series.values())).calendar
        last = None if through is None else calendar.period(through)
        desk.complete(done)
        desk.mend(done)
        desk.publish(now, last, done)
    return done
