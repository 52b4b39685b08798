"""Series: what is published of a table again and again, as one thing with many periods.

What is published is what the ledger says. Each period of a series is a release of its own, named
SERIES@PERIOD, and is asked as any other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from trueup.ask import question_from_json
from trueup.errors import InputError
from trueup.owner.charge import Charge
from trueup.owner.together import Standing, stored_answer
from trueup.period import Period
from trueup.server import errors
from trueup.server.datasets import Table
from trueup.server.errors import NotFoundError
from trueup.standing import Series, series_in

AT = "@"
"""Between the name of a series and that of a period: no dataset has it in its name."""


@dataclass(frozen=True, eq=False)
class PeriodRun:
    """Periods that follow each other: those that are published, and the names of those missing."""

    published: tuple[Period, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Volumes:
    """One series and what of it is published: a release for each period."""

    series: Series
    table: Table
    _known: dict[int, tuple[Period, ...]] = field(default_factory=dict, repr=False)  # by entry
    _answered: dict[str, Charge] = field(default_factory=dict, repr=False)  # by period

    def published(self) -> dict[str, tuple[Period, Charge]]:
        """Its periods that have an answer, and the charges that paid for them, in their order."""
        found = []
        for charge in self.table.ledger.history():
            if charge.answer is None:
                continue
            if charge.entry not in self._known:
                ours = self.series.name in series_in(charge)
                named = map(self.series.calendar.period, charge.periods)
                self._known[charge.entry] = tuple(named) if ours else ()
            found += [(period, charge) for period in self._known[charge.entry]]
        ordered = sorted(found, key=lambda each: each[0].number)
        self._answered.update({period.name: charge for period, charge in ordered})
        return {period.name: (period, charge) for period, charge in ordered}

    def inside(self, first: str | None, through: str | None) -> tuple[Period, ...]:
        """Its periods that are published from one to another, both included; all unless said."""
        found = list(self.published().values())
        if not found:
            raise InputError("Nothing of this series is published yet.")
        begin, end = self._ends(found[0][0], found[-1][0], first, through)
        some = tuple(each for each, _ in found if begin.number <= each.number <= end.number)
        if not some:
            raise errors.FieldError(f"Nothing is published from {begin} to {end}.", "/first")
        return some

    def between(self, first: str | None, through: str | None, most: int) -> PeriodRun:
        """The periods from one to another, both included; from the first to the last unless said.

        Refused where there are more than so many, or none.
        """
        calendar, found = self.series.calendar, self.inside(None, None)
        begin, end = self._ends(found[0], found[-1], first, through)
        if end.number - begin.number >= most:
            raise errors.FieldError(
                f"At most {most:,} {calendar.per}s at once, got {end.number - begin.number + 1:,}.",
                "/through",
            )
        inside = self.inside(first, through)
        there = {each.number for each in inside}
        missing = [each.name for each in calendar.between(begin, end) if each.number not in there]
        return PeriodRun(inside, tuple(missing))

    def _ends(
        self, least: Period, most: Period, first: str | None, through: str | None
    ) -> tuple[Period, Period]:
        """The first and the last period that are asked for: these, unless others are said."""
        with errors.field("first"):
            begin = least if first is None else self.series.calendar.period(first)
        with errors.field("through"):
            end = most if through is None else self.series.calendar.period(through)
        with errors.field("first" if through is None else "through"):
            if end.number < begin.number:
                raise InputError(f"{begin} comes after {end}.")
        return begin, end

    def charge(self, period: str) -> Charge:
        """The charge that paid for a period that is published."""
        if period not in self._answered:
            self.published()
        if period not in self._answered:
            raise NotFoundError("There is no such release, or not yet.")
        return self._answered[period]

    def stored(self, period: str) -> bytes:
        """The noisy answers of a period, as they were stored."""
        return stored_answer(self.table.ledger.stored(self.charge(period)), self.series.name)

    def standing(self, charge: Charge) -> Standing:
        """What a charge says was asked for this series."""
        return _standings(charge.request)[self.series.name]

    def release(self, period: Period) -> str:
        """The name of the release of a period."""
        return f"{self.series.name}{AT}{period.name}"


class Shelf:
    """Every series that is declared."""

    def __init__(self, series: Sequence[Series], tables: Mapping[str, Table]) -> None:
        self.series = tuple(series)
        self.volumes = {each.name: Volumes(each, tables[each.dataset.name]) for each in series}

    def find(self, name: str) -> Volumes:
        """The series of this name."""
        if name not in self.volumes:
            raise NotFoundError("There is no such series.")
        return self.volumes[name]

    def of(self, release: str) -> tuple[Volumes, str] | None:
        """The series and the period that a release's name is made of; None if it is another's."""
        name, at, period = release.rpartition(AT)
        if not at:
            return None
        if name not in self.volumes:
            raise NotFoundError("There is no such release, or not yet.")
        return self.volumes[name], period


@lru_cache(maxsize=1024)
def _standings(request: str) -> dict[str, Standing]:
    said: dict[str, Any] = json.loads(request)
    questions = [question_from_json(each) for each in said["questions"]]
    return {each["name"]: Standing.from_json(each, questions) for each in said["publishes"]}
