"""The status of standing publications: what is published, what is due, and which gaps there are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from trueup.owner.charge import Charge
from trueup.standing.publisher import Desk, desks
from trueup.standing.series import Series


@dataclass(frozen=True)
class SeriesStatus:
    """One series: its periods that are published, missing, charged without an answer, unwritten.

    A gap is a missing period with a later one published.
    """

    series: Series
    published: tuple[str, ...]
    missing: tuple[str, ...]
    unanswered: tuple[str, ...]
    unwritten: tuple[str, ...]
    gaps: tuple[str, ...]

    @property
    def word(self) -> str:
        """Its state in one word: "published", "due" or "gap"."""
        if self.gaps:
            return "gap"
        return "due" if self.missing or self.unanswered or self.unwritten else "published"

    @property
    def price(self) -> str:
        """What it will cost to publish all that is missing."""
        cost = self.series.cost
        return f"{cost} for each {self.series.calendar.per}" if self.missing else ""

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "series": self.series.name,
            "dataset": self.series.dataset.name,
            "per": self.series.calendar.per,
            "status": self.word,
            "published": len(self.published),
            "last": self.published[-1] if self.published else None,
            "missing": list(self.missing),
            "unanswered": list(self.unanswered),
            "unwritten": list(self.unwritten),
            "gaps": list(self.gaps),
        }


def statuses(
    series: Iterable[Series], now: dt.datetime, through: str | None = None
) -> list[SeriesStatus]:
    """The status of every series. Nothing is spent, and no row is read."""
    return [found for desk in desks(series) for found in _of(desk, now, through)]


def _of(desk: Desk, now: dt.datetime, through: str | None) -> list[SeriesStatus]:
    found, paid_by = [], dict[str, dict[str, Charge]]()
    for (name, period), charge in desk.paid.items():
        paid_by.setdefault(name, {})[period] = charge
    for each in desk.series.values():
        last = None if through is None else each.calendar.period(through)
        due = {period.name: period.number for period in each.due(now, last)}
        paid = paid_by.get(each.name, {})
        numbers = {period: each.calendar.period(period).number for period in paid}
        published = sorted((p for p in paid if paid[p].answer), key=numbers.__getitem__)
        missing = [period for period in due if period not in paid]
        latest = max(numbers.values(), default=each.first.number - 1)
        found.append(
            SeriesStatus(
                each,
                tuple(published),
                tuple(missing),
                tuple(period for period in paid if not paid[period].answer),
                tuple(each.unwritten(published)),
                tuple(period for period in missing if due[period] < latest),
            )
        )
    return found
