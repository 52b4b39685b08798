"""The owner of a table as trueup.toml declares it: one way for all who open one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from trueup.owner.ledger import Ledger
from trueup.owner.owner import Owner
from trueup.owner.person import declared_people


class Described(Protocol):
    """A dataset, as far as its owner needs one."""

    @property
    def source(self) -> str:
        """Where the table is."""

    @property
    def owner_options(self) -> dict[str, Any]:
        """The options of its `Owner`."""

    @property
    def people(self) -> Mapping[str, Mapping[str, Any]]:
        """The features of each unit, where people are counted instead of rows."""


def owner_of(said: Described, ledger: Ledger, *, only_declared: bool = False) -> Owner:
    """The owner of a declared table, or of its people, on its ledger.

    With `only_declared` filters may use no column but those that were declared.
    """
    options = said.owner_options
    if not only_declared:
        options["columns"] = options["columns"] or None
    owner = Owner(said.source, ledger, **options)
    return owner.people(**declared_people(said.people)) if said.people else owner
