"""NamedRelease: named counts that agree with each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES, Facts
from trueup.law import QueryErrors
from trueup.release.estimate import Estimate
from trueup.release.published import Contents, Published, Row, beside, freeze

if TYPE_CHECKING:
    from trueup.pictures.page import Picture


@dataclass(frozen=True, eq=False)
class NamedRelease(Published):
    """Consistent answers by name: release["passing"] + release["F"] is release["total"]."""

    answers: npt.NDArray[Any]
    errors: QueryErrors
    facts: Facts
    unbiased_answers: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        freeze(self.answers, self.unbiased_answers)

    @cached_property
    def unbiased(self) -> NamedRelease:
        """The least-squares answers: itself, unless made non-negative or whole to be shown."""
        if self.unbiased_answers is None:
            return self
        facts = self.facts.made(LEAST_SQUARES)
        return NamedRelease(self.unbiased_answers, self.errors, facts)

    @property
    def names(self) -> tuple[str, ...]:
        """The queries' names, in order."""
        return self.errors.names

    def counts(self) -> npt.NDArray[Any]:
        """The answers, in the order of the queries."""
        return self.answers

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.names:
            raise InputError(f"There is no query {name!r}. Queries: {', '.join(self.names)}.")
        value = self.answers[self.names.index(name)].item()
        shown_for = None if self.unbiased is self else self.unbiased[name]
        return Estimate.of(value, ((name, 1.0),), self.errors, self.facts, shown_for)

    def columns(self) -> dict[str, Any]:
        """The answers as a table: query, count, standard error.

        Where the answers were made to be shown, the unbiased ones stand beside them, and the
        standard error is theirs.
        """
        spread = np.sqrt(np.maximum(np.diag(self.errors.covariance), 0.0))
        counted = beside(self.answers, self.unbiased_answers, spread)
        return {"query": list(self.names), **counted}

    def lines(self, most: int) -> list[Row]:
        """The answers, so many at most."""
        own = self.unbiased
        pairs = list(zip(self.names, self.answers.tolist(), strict=True))[:most]
        return [(name, count, own[name].std_error) for name, count in pairs]

    def contents(self) -> Contents:
        """What a file of it holds: the kind, the columns and the facts."""
        about = {**self.facts.to_json(), "covariance": self.errors.covariance.tolist()}
        return "query release", self.columns(), about

    def __repr__(self) -> str:
        stamp = self.facts.stamp
        listed = ", ".join(f"{name} {self[name]}" for name in self.names[:6])
        more = ", …" if len(self.names) > 6 else ""
        return f"<NamedRelease{stamp}: {listed}{more}{self.facts.also}>"

    def picture(self, kind: str | None = None) -> Picture:
        """A bar with its 95 % interval for each query."""
        from trueup.pictures import charts
        from trueup.pictures.page import Picture
        from trueup.release.drawing import check_kind

        check_kind(kind, "bars")
        low, high = np.array([self[name].interval(0.95) for name in self.names]).T
        counts = charts.Interval(self.answers.astype(np.float64), low, high)
        whose = "95 % intervals" + " of the unbiased counts" * (self.unbiased is not self)
        return Picture(charts.named_bars(self.facts, self.names, counts, whose))

    def _repr_html_(self) -> str:
        from trueup.release.drawing import note, rows_drawing

        return rows_drawing(f"{len(self.names)} counts", self.lines(64), note(self.facts))
