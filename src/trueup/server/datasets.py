"""The datasets that the owner has declared: opened once, described in public words."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from trueup.about import About
from trueup.ask import Question, question_from_json
from trueup.axis import Axis
from trueup.budget import Balance
from trueup.config import Config, Dataset
from trueup.cost import Cost
from trueup.errors import FileError, InputError, SourceError, shown
from trueup.facts import counted_rows
from trueup.owner import Ledger, Owner
from trueup.owner.charge import Charge
from trueup.owner.columns import Kind
from trueup.owner.where import comparisons
from trueup.server.auth import Holder, open_ledger
from trueup.server.regions import Regions, open_regions

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


@dataclass(frozen=True, eq=False)
class Table:
    """A declared dataset and the one door to it."""

    dataset: Dataset
    owner: Owner
    regions: Mapping[str, Regions] = field(default_factory=dict)
    shared: bool = False  # whether other datasets have the same ledger

    @property
    def name(self) -> str:
        """The name it goes by."""
        return self.dataset.name

    @property
    def ledger(self) -> Ledger:
        """The account of what was spent on it."""
        return self.owner.ledger

    @property
    def runs(self) -> Path:
        """The folder that says which measurements are being made."""
        return self.dataset.runs

    def left_for(self, holder: Holder) -> Fraction:
        """What this person may still spend here."""
        left = self.ledger.remaining
        if holder.role == "owner":
            return left
        limit, spent = self.ledger.allowed(holder.name)
        return max(min(left, (limit or Fraction(0)) - spent), Fraction(0))

    def allows(self, holder: Holder) -> bool:
        """Whether this person may ask here at all."""
        return holder.role == "owner" or self.ledger.allowed(holder.name)[0] is not None

    def check(self, question: Question, cost: Cost, where: str | None) -> None:
        """Refuses what a measurement would refuse before it is charged. No row is read."""
        neighbours = self.dataset.neighbours
        self.owner.check(question, cost, where=where, neighbours=neighbours)

    def describe(self, releases: int) -> dict[str, Any]:
        """What analysts are told of it: all of it declared by the owner, or in the ledger."""
        said, ledger = self.dataset, self.ledger
        return {
            "name": said.name,
            "title": said.title or said.name,
            "description": said.description,
            "protects": self._protects(),
            "unit": self.owner.protects,
            "rows_per_unit": said.rows_per_unit,
            "neighbours": said.neighbours,
            **told_balance(ledger.balance),
            "columns": [self.axis(axis, column) for column, axis in said.axes.items()],
            "graph": None
            if said.edges is None
            else {"edges": list(said.edges), "kind": said.graph, "nodes": said.nodes},
            "filters": [self._filter(column, kind) for column, kind in said.columns.items()],
            "releases": releases,
        }

    def paid_for(self, charge: Charge) -> bool:
        """Whether a charge of the ledger was for this dataset, where others share the ledger."""
        if not self.shared:
            return True
        request = json.loads(charge.request)
        space = question_from_json(request["question"]).space
        columns = {axis.name for axis in space.axes} | ({space.by} if space.by else set())
        declared = {axis.name for axis in self.dataset.axes.values()}
        return request.get("source") == self.owner.source and columns <= declared

    def axis(self, axis: Axis, column: str | None = None) -> dict[str, Any]:
        """An axis, or a part of a declared one, with what the owner says of it."""
        column = axis.name if column is None else column
        about = self.dataset.about.get(column, About())
        return {
            "column": column,
            "title": about.title or column,
            "description": about.description,
            "units": about.units,
            "axis": axis.to_json(),
            "cells": axis.size,
            "describes": axis.describe(),
            "labelled": axis.traits.labelled,
            "nested": axis.traits.nested,
            "scale": axis.traits.scale,
            "levels": {level: len(starts) for level, starts in axis.every_level().items()},
            "regions": column in self.regions,
        }

    def _filter(self, column: str, kind: str) -> dict[str, Any]:
        """A column that filters may use: its type, its comparisons, its labels if declared."""
        axis = self.dataset.axes.get(column)
        declared = None if axis is None or not axis.traits.labelled else list(axis.labels)
        return {
            "column": column,
            "title": self.dataset.about.get(column, About()).title or column,
            "type": kind,
            "comparisons": list(comparisons(cast("Kind", kind))),
            "labels": declared,
        }

    def _protects(self) -> str:
        said = self.dataset
        if said.edges is not None:
            return "one edge of the graph"
        if said.unit is None:
            return "one row"
        return f"one {said.unit}, with all its rows: {counted_rows(said.unit, said.rows_per_unit)}"


def told_balance(now: Balance) -> dict[str, Any]:
    """A budget as analysts are told it: every field, those of ρ and δ too where there are none."""
    none = {"delta_limit": "0", "spent_delta": "0", "shown": None, "limit_shown": None}
    return none | now.to_json()


def open_tables(config: Config) -> Mapping[str, Table]:
    """Every declared dataset, opened; what cannot be opened stops the server, not an analyst.

    Those that have a limit for each period are left out: what is published of them is standing.
    """
    check_some(config)
    ledgers = Counter(dataset.ledger for dataset in config.datasets.values())
    return {
        name: open_table(dataset, open_ledger(dataset), ledgers[dataset.ledger] > 1)
        for name, dataset in config.datasets.items()
        if dataset.calendar is None
    }


def check_some(config: Config) -> None:
    """Refuses a configuration with nothing to serve."""
    if not config.datasets:
        raise FileError("The configuration declares no dataset: [datasets.NAME].")


def open_table(dataset: Dataset, ledger: Ledger, shared: bool = False) -> Table:
    """A declared dataset on a ledger, every word of its declaration checked."""
    if not _NAME.fullmatch(dataset.name):
        raise FileError(
            f"A dataset that is served has a name of letters, digits, - and _, "
            f"got {shown(dataset.name)}."
        )
    try:
        owner = Owner(
            dataset.source,
            ledger,
            unit=dataset.unit,
            rows_per_unit=dataset.rows_per_unit,
            # Only declared columns may be used in filters.
            columns=cast("Mapping[str, Kind]", dict(dataset.columns)),
            table=dataset.table,
            edges=dataset.edges,
            graph=dataset.graph,
        )
        for axis in dataset.axes.values():
            owner.columns.counted(axis, "value")
    except (SourceError, InputError) as wrong:  # here rather than for the first analyst who asks
        raise FileError(f"Dataset '{dataset.name}': {wrong}") from None
    return Table(dataset, owner, open_regions(dataset), shared)
