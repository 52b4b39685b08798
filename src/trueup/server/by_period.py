"""Questions about a dataset that has a limit for each period: which periods are meant, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from trueup.errors import InputError
from trueup.owner import Ledger
from trueup.period import MOST_PERIODS, Calendar, Period
from trueup.server import errors

Named = str | tuple[str, ...] | None
"""The name of a period, or the names of several."""


def periods_asked(
    calendar: Calendar | None, period: Named, through: str | None
) -> tuple[Period, ...]:
    """The periods that a question is about: those named, or all from one through another.

    >>> [each.name for each in periods_asked(Calendar("day", "at"), "2026-02-27", "2026-03-01")]
    ['2026-02-27', '2026-02-28', '2026-03-01']
    """
    if calendar is None:
        if period is None and through is None:
            return ()
        pointer = "/through" if period is None else "/period"
        raise errors.FieldError("This dataset has one limit for all time: name no period.", pointer)
    if period is None:
        said = f'This dataset has a limit for each {calendar.per}: say which, as "period": '
        raise errors.FieldError(f'{said}"{calendar.example}".', "/period")
    with errors.field("period"):
        named = calendar.named(list(period) if isinstance(period, tuple) else period)
    if through is None:
        return named
    with errors.field("through"):
        if len(named) > 1:
            raise InputError(f"through goes with one {calendar.per}, the first.")
        last = calendar.period(through)
        if last.number < named[0].number:
            raise InputError(f"{named[0]} comes after {last}.")
        # Before the periods are listed: hours of a thousand years would take a while.
        if last.number - named[0].number >= MOST_PERIODS:
            raise InputError(f"At most {MOST_PERIODS:,} {calendar.per}s at once.")
        return calendar.between(named[0], last)


def stretches(calendar: Calendar, names: Sequence[str]) -> str:
    """Periods in words, those that follow each other as one stretch.

    >>> stretches(Calendar("day", "at"), ["2026-03-01", "2026-03-02", "2026-03-09"])
    '2026-03-01 to 2026-03-02, 2026-03-09'
    """
    periods = [calendar.period(name) for name in names]
    breaks = [
        at
        for at, (one, two) in enumerate(pairwise(periods), 1)
        if calendar.after(one).number != two.number
    ]
    runs = [
        periods[start:stop]
        for start, stop in zip([0, *breaks], [*breaks, len(periods)], strict=True)
    ]
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else run[0].name for run in runs)


def told_calendar(ledger: Ledger, calendar: Calendar | None) -> dict[str, Any] | None:
    """What analysts are told of the periods; None where there is one limit for all time."""
    if calendar is None:
        return None
    said = {"per": calendar.per, "zone": calendar.zone, "example": calendar.example}
    last = next(reversed(ledger.periods), None)
    sampled = calendar.periods_per_unit is not None
    return {**said, "last": last, "loses": ledger.loses, "sampled": sampled}
