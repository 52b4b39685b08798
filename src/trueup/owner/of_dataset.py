"""The owner of a table as trueup.toml declares it: one way for all who open one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, cast

from trueup.owner.columns import Kind
from trueup.owner.ledger import Ledger
from trueup.owner.owner import Owner
from trueup.owner.person import declared_people


class Described(Protocol):
    """A dataset, as far as its owner needs one."""

    @property
    def source(self) -> str:
        """Where the table is."""

    @property
    def table(self) -> str | None:
        """Which table of a database it is."""

    @property
    def unit(self) -> str | None:
        """The column that names those whom the noise hides."""

    @property
    def rows_per_unit(self) -> int:
        """How many rows of each count."""

    @property
    def at_most(self) -> int | None:
        """The most rows of anybody, where a bound is chosen for each question."""

    @property
    def columns(self) -> Mapping[str, str]:
        """The types of columns that filters and units use."""

    @property
    def edges(self) -> tuple[str, str] | None:
        """The columns of a graph's ends."""

    @property
    def graph(self) -> str:
        """Whether its edges have a direction."""

    @property
    def people(self) -> Mapping[str, Mapping[str, Any]]:
        """The features of each unit, where people are counted instead of rows."""


def owner_of(said: Described, ledger: Ledger, *, only_declared: bool = False) -> Owner:
    """The owner of a declared table, or of its people, on its ledger.

    With `only_declared` filters may use no column but those that were declared.
    """
    rows: int | Literal["auto"] = said.rows_per_unit if said.at_most is None else "auto"
    columns = cast("Mapping[str, Kind]", dict(said.columns))
    owner = Owner(
        said.source,
        ledger,
        unit=said.unit,
        rows_per_unit=rows,
        at_most=said.at_most,
        columns=columns if columns or only_declared else None,
        table=said.table,
        edges=said.edges,
        graph=said.graph,
    )
    return owner.people(**declared_people(said.people)) if said.people else owner
