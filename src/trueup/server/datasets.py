"""The datasets that the owner has declared: opened once, described in public words."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from trueup.about import About
from trueup.ask import Question
from trueup.axis import Axis
from trueup.axis.levels import every_size
from trueup.budget import Balance
from trueup.config import Config, Dataset
from trueup.cost import Cost
from trueup.errors import FileError, InputError, SourceError, shown
from trueup.facts import counted_rows
from trueup.keys import KeyCounts, KeyTerms, PrefixCounts, PrefixTerms
from trueup.owner import Ledger, Owner
from trueup.owner.charge import Charge
from trueup.owner.columns import Kind
from trueup.owner.of_dataset import owner_of
from trueup.owner.person import Person
from trueup.owner.where import comparisons
from trueup.period import Period
from trueup.server.auth import Holder, open_ledger
from trueup.server.by_period import periods_asked, told_calendar
from trueup.server.questions import Asked, question_paid
from trueup.server.regions import Regions, open_regions

KeyQuestion = KeyCounts | PrefixCounts
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
    def per(self) -> str | None:
        """How long its periods are, each of which has the limit; None without periods."""
        return None if self.dataset.calendar is None else self.dataset.calendar.per

    @property
    def runs(self) -> Path:
        """The folder that says which measurements are being made."""
        return self.dataset.runs

    def periods(self, asked: Asked) -> tuple[Period, ...]:
        """The periods that a question is about; none where there is one limit for all time."""
        return periods_asked(self.dataset.calendar, asked.period, asked.through)

    def left_for(self, holder: Holder, periods: Sequence[Period | str] = ()) -> Fraction:
        """What this person may still spend here; of each of these periods, where there are some."""
        if periods:
            if not self.allows(holder):
                return Fraction(0)
            by = None if holder.role == "owner" else holder.name
            return self.ledger.left_in(periods, by).amount
        left = self.ledger.remaining
        if holder.role == "owner":
            return left
        limit, spent = self.ledger.allowed(holder.name)
        return max(min(left, (limit or Fraction(0)) - spent), Fraction(0))

    def balance_of(self, periods: Sequence[Period]) -> Balance:
        """Limit and spent; of the fullest of these periods, where there are some."""
        if not periods:
            return self.ledger.balance
        now, left = self.ledger.balance_in(periods[0]), self.ledger.left_in(periods)
        limit = now.limit
        spent = Cost(limit.notion, limit.amount - left.amount, limit.delta - left.delta)
        return Balance(limit, spent, now.shown_at)

    def allows(self, holder: Holder) -> bool:
        """Whether this person may ask here at all."""
        return holder.role == "owner" or self.ledger.allowed(holder.name)[0] is not None

    def allowance(self, name: str) -> dict[str, Any]:
        """What somebody may spend here, and has spent, in words; its limit may be null."""
        limit, spent = self.ledger.allowed(name)
        said = {"limit": None if limit is None else str(limit), "spent": str(spent)}
        return {**said, "notion": self.ledger.notion, "per": self.per}

    def check(
        self,
        question: Question | KeyQuestion,
        cost: Cost,
        where: str | None,
        periods: Sequence[Period | str] = (),
    ) -> None:
        """Refuses what a measurement would refuse before it is charged. No row is read."""
        if not isinstance(question, Question):
            self.terms(question, cost, where, periods)
            return
        self.owner.check(question, cost, where=where, **self.given(periods))

    def terms(
        self,
        question: KeyQuestion,
        cost: Cost,
        where: str | None,
        periods: Sequence[Period | str] = (),
    ) -> KeyTerms | PrefixTerms:
        """What a question about keys would show, and from which count on; refused as `check`."""
        door = self.owner.keys
        if isinstance(question, PrefixCounts):
            return door.check_prefixes(question, cost, where=where, **self.given(periods))
        return door.check(question, cost, where=where, **self.given(periods))

    def given(self, periods: Sequence[Period | str]) -> dict[str, Any]:
        """What the owner is told with every question about this dataset."""
        return {"neighbours": self.dataset.neighbours, "period": list(periods) or None}

    def describe(self, releases: int) -> dict[str, Any]:
        """What analysts are told of it: all of it declared by the owner, or in the ledger."""
        said, ledger = self.dataset, self.ledger
        return {
            "name": said.name,
            "title": said.title or said.name,
            "description": said.description,
            "protects": self._protects(),
            "unit": self.owner.protects,
            "rows_per_unit": said.rows_per_unit if said.at_most is None else None,
            "at_most": said.at_most,
            "neighbours": said.neighbours,
            **self._budget(),
            "periods": told_calendar(ledger, said.calendar),
            "columns": [self.axis(axis, column) for column, axis in said.axes.items()],
            "graph": None
            if said.edges is None
            else {"edges": list(said.edges), "kind": said.graph, "nodes": said.nodes},
            "keys": [self._keys(name, each) for name, each in said.keys.items()],
            "filters": [self._filter(column, kind) for column, kind in self._filters().items()],
            "releases": releases,
        }

    def _budget(self) -> dict[str, Any]:
        """What is left; where each period has a limit, the limit alone."""
        if self.dataset.calendar is None:
            return told_balance(self.ledger.balance)
        unsaid = dict.fromkeys(("spent", "remaining", "spent_delta", "shown"))
        return told_balance(self.ledger.of_each) | unsaid

    def paid_for(self, charge: Charge) -> bool:
        """Whether a charge of the ledger was for a question about this dataset.

        Not for a series or a stream; and not for another dataset, where several share the ledger.
        """
        question = question_paid(charge.request)
        if question is None:
            return False
        if not self.shared:
            return True
        request = json.loads(charge.request)
        if not isinstance(question, Question):
            return bool(request.get("source") == self.owner.source)
        space = question.space
        columns = {axis.name for axis in space.axes} | ({space.by} if space.by else set())
        declared = {axis.name for axis in self.dataset.axes.values()}
        declared |= {column for each in self.dataset.keys.values() for column in each.columns}
        return request.get("source") == self.owner.source and columns <= declared

    def axis(self, axis: Axis, column: str | None = None) -> dict[str, Any]:
        """An axis, or a part of a declared one, with what the owner says of it."""
        column = axis.name if column is None else column
        about = self.dataset.about.get(column, About())
        return {
            "column": column,
            "title": about.title or column,
            "description": about.description or self._made(column),
            "units": about.units,
            "axis": axis.to_json(),
            "cells": axis.size,
            "describes": axis.describe(),
            "labelled": axis.traits.labelled,
            "nested": axis.traits.nested,
            "scale": axis.traits.scale,
            "levels": every_size(axis),
            "regions": column in self.regions,
        }

    def _made(self, column: str) -> str:
        """What a feature of people is made from, in words."""
        if column not in self.dataset.people:
            return ""
        return Person.from_json(dict(self.dataset.people[column])).words(str(self.dataset.unit))

    def _keys(self, name: str, question: KeyQuestion) -> dict[str, Any]:
        about = self.dataset.about.get(name, About())
        return {
            "name": name,
            "title": about.title or name,
            "description": about.description,
            "columns": list(question.columns),
            "universe": str(question.universe),
            "tree": isinstance(question, PrefixCounts),
        }

    def _filters(self) -> Mapping[str, str]:
        """The columns that filters may use, with their types: of people, the features."""
        if not self.dataset.people:
            return self.dataset.columns
        columns = self.owner.columns
        return {name: columns.compared(name, "filter").kind for name in self.dataset.people}

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
        rows = f"rows of one {said.calendar.per}" if said.calendar else "rows"
        if said.people:
            once = f" in each {said.calendar.per}" if said.calendar else ""
            return f"one {said.unit}: each is counted once{once}, by all {rows} of theirs"
        if said.at_most is not None:
            return (
                f"one {said.unit}, with all its {rows}: how many of them count is chosen privately "
                f"for each question, for a share of its cost; nobody has more than {said.at_most:,}"
            )
        few = counted_rows(said.unit, said.rows_per_unit)
        return f"one {said.unit}, with all its {rows}: {few}"


def told_balance(now: Balance) -> dict[str, Any]:
    """A budget as analysts are told it: every field, those of ρ and δ too where there are none."""
    none = {"delta_limit": "0", "spent_delta": "0", "shown": None, "limit_shown": None}
    return none | now.to_json()


def open_tables(config: Config) -> Mapping[str, Table]:
    """Every declared dataset, opened; what cannot be opened stops the server, not an analyst."""
    check_some(config)
    ledgers = Counter(dataset.ledger_place for dataset in config.datasets.values())
    return {
        name: open_table(dataset, open_ledger(dataset), ledgers[dataset.ledger_place] > 1)
        for name, dataset in config.datasets.items()
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
        owner = owner_of(dataset, ledger, only_declared=True)
        for axis in dataset.axes.values():
            owner.columns.counted(axis, "value")
        for question in dataset.keys.values():
            for column, kind in zip(question.columns, question.universe.reads, strict=True):
                owner.columns.wanted(column, cast("Kind", kind), "value")
    except (SourceError, InputError) as wrong:  # here rather than for the first analyst who asks
        raise FileError(f"Dataset '{dataset.name}': {wrong}") from None
    return Table(dataset, owner, open_regions(dataset), shared)
