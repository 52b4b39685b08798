"""QueryRelease: named counts that agree with each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES, Facts
from trueup.files import write
from trueup.pictures import charts
from trueup.pictures.page import Picture
from trueup.pictures.svg import between
from trueup.release.drawing import bars_drawing, check_kind, intervals_of, note
from trueup.release.estimate import Estimate
from trueup.release.histogram import to_frame
from trueup.uncertainty import QueryErrors

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True, eq=False)
class QueryRelease:
    """Consistent answers by name: release["passing"] + release["F"] is release["total"]."""

    answers: npt.NDArray[Any]
    errors: QueryErrors
    facts: Facts
    unbiased_answers: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        self.answers.setflags(write=False)
        if self.unbiased_answers is not None:
            self.unbiased_answers.setflags(write=False)

    @cached_property
    def unbiased(self) -> QueryRelease:
        """The least-squares answers: itself, unless made non-negative or whole to be shown."""
        if self.unbiased_answers is None:
            return self
        facts = self.facts.made(LEAST_SQUARES)
        return QueryRelease(self.unbiased_answers, self.errors, facts)

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
        return Estimate(value, ((name, 1.0),), self.errors, shown_for, self.facts)

    def columns(self) -> dict[str, Any]:
        """The answers as a table: query, count, standard error.

        Where the answers were made to be shown, the unbiased ones stand beside them, and the
        standard error is theirs.
        """
        spread = np.sqrt(np.maximum(np.diag(self.errors.covariance), 0.0))
        table = {"query": list(self.names), "count": self.answers}
        if self.unbiased_answers is None:
            return {**table, "std_error": spread}
        return {**table, "unbiased": self.unbiased_answers, "unbiased_std_error": spread}

    def to_frame(self, library: str = "pyarrow") -> Any:
        """The answers as a table of pyarrow, or of any library that narwhals knows by name."""
        return to_frame(self.columns(), library)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_frame().__arrow_c_stream__(requested_schema)

    def save(self, path: str | Path) -> None:
        """Writes one file, Parquet or (by its ending) JSON, that `trueup.load` reads back."""
        write(path, *self.contents())

    def contents(self) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """What a file of it holds: the kind, the columns and the facts."""
        about = {**self.facts.to_json(), "covariance": self.errors.covariance.tolist()}
        return "query release", self.columns(), about

    def __repr__(self) -> str:
        stamp = self.facts.stamp
        listed = ", ".join(f"{name} {self[name]}" for name in self.names[:6])
        return f"<QueryRelease{stamp}: {listed}{', …' if len(self.names) > 6 else ''}>"

    def plot(self, kind: str | None = None) -> Figure:
        """The plotly figure: a bar with its 95 % interval for each query."""
        check_kind(kind, "bars")
        own = self.unbiased
        low, high = np.array([own[name].interval(0.95) for name in self.names]).T
        counts = charts.Interval(self.answers.astype(np.float64), low, high)
        return charts.named_bars(self.facts, self.names, counts, intervals_of(own is self))

    def save_plot(self, path: str | Path, kind: str | None = None) -> None:
        """Draws it into a file by its ending: .html (self-contained, to zoom in), .png or .svg."""
        Picture(self.plot(kind)).save(path)

    def _repr_html_(self) -> str:
        spread = self.unbiased.columns()["std_error"]
        title = f"{len(self.names)} counts"
        heights = self.answers.astype(np.float64)
        return bars_drawing(title, heights, spread, between(self.names), note(self.facts))
