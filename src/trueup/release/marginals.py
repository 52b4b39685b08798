"""MarginalRelease: margins of a contingency table that agree with each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.errors import InputError
from trueup.facts import Facts
from trueup.files import write
from trueup.release.estimate import Estimate
from trueup.release.grid import GridRelease


@dataclass(frozen=True, eq=False)
class MarginalRelease:
    """Some margins of a table whose cells themselves were not asked.

    What two margins have in common agrees exactly, with ==. `table` is one of the many tables that
    have these margins, the flattest; its single cells mean nothing.
    """

    table: GridRelease
    marginals: tuple[tuple[str, ...], ...]

    @property
    def facts(self) -> Facts:
        """The public facts: what was asked, what it cost, whom it protects."""
        return self.table.facts

    def margin(self, *names: str) -> Any:
        """The counts over these axes: a Release, or a grid; refused unless they were asked."""
        if not any(set(names) <= set(each) for each in self.marginals):
            listed = "; ".join(", ".join(each) for each in self.marginals)
            raise InputError(
                f"The margin over {', '.join(names)} is part of none that was asked: {listed}."
            )
        return self.table.margin(*names)

    def total(self) -> Estimate:
        """The count of everything."""
        return self.table.total()

    @property
    def unbiased(self) -> MarginalRelease:
        """The least-squares release of the same measurement: itself, unless made to be shown."""
        if self.table.unbiased is self.table:
            return self
        return MarginalRelease(self.table.unbiased, self.marginals)

    def save(self, path: str | Path) -> None:
        """Writes one file, Parquet or (by its ending) JSON, that `trueup.load` reads back."""
        write(path, *self.contents())

    def contents(self) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """What a file of it holds: the kind, the columns and the facts."""
        return "marginal release", self.table.columns(errors=False), self.facts.to_json()

    def save_plot(self, path: str | Path, kind: str | None = None) -> None:
        """Refused: each of its margins can be drawn."""
        listed = "; ".join(", ".join(each) for each in self.marginals)
        raise InputError(f"Draw one of its margins: release.margin(…), of {listed}.")

    def __repr__(self) -> str:
        stamp = self.facts.stamp
        listed = "; ".join(", ".join(each) for each in self.marginals)
        return f"<MarginalRelease{stamp}: {listed}, epsilon={self.facts.epsilon}>"
