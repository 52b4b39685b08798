"""The releases that the ledgers hold: listed, opened, kept open."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from trueup.ask import Question
from trueup.errors import FileError, InputError
from trueup.files.dataset import open_dataset
from trueup.owner.charge import Charge
from trueup.plan.offers import NAMES
from trueup.server.by_period import stretches
from trueup.server.datasets import KeyQuestion, Table
from trueup.server.errors import NotFoundError
from trueup.server.jobs import Jobs, Status
from trueup.server.keyed import OpenedKeys, key_line
from trueup.server.opened import Opened, OpenedFolder, OpenedMeasurement
from trueup.server.questions import question_of, strategy_of
from trueup.server.series import Shelf


class Releases:
    """Every release that may be seen, in all ledgers; those last asked for are kept open."""

    def __init__(
        self, tables: Mapping[str, Table], jobs: Jobs, keep: int, shelf: Shelf | None = None
    ) -> None:
        self.tables, self.jobs, self.keep = tables, jobs, keep
        self.shelf = Shelf((), {}) if shelf is None else shelf
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Opened | OpenedKeys] = OrderedDict()
        self._seen: dict[str, Charge] = {}

    def all(self) -> list[tuple[Table, Charge]]:
        """Every release that may be seen by now, by dataset, oldest first."""
        return [(table, each) for table in self.tables.values() for each in self._visible(table)]

    def count(self, table: Table) -> int:
        """How many releases a dataset has that may be seen."""
        return sum(1 for _ in self._visible(table))

    def _visible(self, table: Table) -> Iterator[Charge]:
        for charge in table.ledger.history():
            if charge.answer is None or not table.paid_for(charge):
                continue
            if self._may_be_seen(table, charge):
                yield charge

    def _may_be_seen(self, table: Table, charge: Charge) -> bool:
        if release_id(table, charge) in self._seen:
            return True
        if in_folder(charge) and (is_table(charge) or folder_of(table, charge) is None):
            return False  # not served; or it is being made, or the owner has taken it away
        if self.jobs.status(table, charge).at > time.time():
            return False
        self._seen[release_id(table, charge)] = charge
        return True

    def entry(self, table: Table, charge: Charge) -> dict[str, Any]:
        """The line that a release has in the list."""
        question, where = _request(charge.request)
        cost = {"epsilon": charge.epsilon, "rho": charge.rho}
        said = {"id": release_id(table, charge), "dataset": table.name}
        calendar = table.dataset.calendar
        period = None if calendar is None else stretches(calendar, charge.periods)
        line = {**_line(question, where, cost), "period": period}
        return {**said, **line, "created": charge.time, "by": charge.by}

    def about(self, release: str) -> tuple[Table, dict[str, Any]]:
        """The table of a release and the line that it has in a list; of a series too."""
        found = self.shelf.of(release)
        if found is None:
            table, charge = self.find(release)
            return table, {**self.entry(table, charge), "series": None}
        volumes, period = found
        charge, table = volumes.charge(period), volumes.table
        asked = volumes.standing(charge)
        charged = asked.cost.counted_in(table.ledger.notion)
        said = {"id": release, "dataset": table.name, "series": volumes.series.name}
        cost = {"epsilon": asked.cost.epsilon, "rho": charged.rho}
        line = _line(asked.question, asked.where, cost)
        return table, {**said, "period": period, **line, "created": charge.time, "by": None}

    def find(self, release: str) -> tuple[Table, Charge]:
        """The table and the charge of an identifier, whether answered yet or not."""
        name, _, number = release.rpartition(".")
        table = self.tables.get(name)
        if table is not None and number.isascii() and number.isdigit() and len(number) < 12:
            seen = self._seen.get(release)
            if seen is not None:
                return table, seen
            for charge in table.ledger.history():
                if charge.entry == int(number) and release == release_id(table, charge):
                    if not table.paid_for(charge):
                        break
                    return table, charge
        raise NotFoundError("There is no such release, or not yet.")

    def open(self, release: str) -> Opened:
        """A release of counts that may be seen, ready to be asked."""
        found = self.opened(release)
        if not isinstance(found, Opened):
            raise InputError("This release counts keys: ask for its keys, or its prefixes.")
        return found

    def open_keys(self, release: str) -> OpenedKeys:
        """A release of keys that may be seen, ready to be asked."""
        found = self.opened(release)
        if not isinstance(found, OpenedKeys):
            raise InputError("This release does not count keys.")
        return found

    def opened(self, release: str) -> Opened | OpenedKeys:
        """Any release that may be seen."""
        found = self._open.get(release)
        if found is not None:
            with self._lock:
                if release in self._open:
                    self._open.move_to_end(release)
            return found
        opened = self._opening(release)
        with self._lock:
            opened = self._open.setdefault(release, opened)
            self._open.move_to_end(release)
            while len(self._open) > self.keep:
                self._open.popitem(last=False)
        return opened

    def _opening(self, release: str) -> Opened | OpenedKeys:
        found = self.shelf.of(release)
        if found is not None:
            return OpenedMeasurement(release, found[0].stored(found[1]))
        table, charge = self.find(release)
        if charge.answer is not None and in_folder(charge) and is_table(charge):
            raise InputError(
                "This release is a table in a folder, which is not served. Ask its owner for the "
                "folder, and open it with trueup.load."
            )
        if charge.answer is None or not self._may_be_seen(table, charge):
            raise NotFoundError("There is no such release, or not yet.")
        if in_folder(charge):
            path = folder_of(table, charge)
            if path is None:
                raise NotFoundError("The folder of this release is not there now.")
            return OpenedFolder(release, path)
        asked, _ = _request(charge.request)
        stored = table.ledger.stored(charge)
        if isinstance(asked, Question):
            return OpenedMeasurement(release, stored)
        return OpenedKeys(release, stored, asked)

    def status(self, table: Table, charge: Charge) -> Status:
        """What may be told of a charge at this moment."""
        status = self.jobs.status(table, charge)
        return status if status.at <= time.time() else Status("running", 0.0)


def _line(
    question: Question | KeyQuestion,
    where: str | None,
    cost: Mapping[str, Fraction | None],
) -> dict[str, Any]:
    """What a list says of a question that was asked."""
    paid = {notion: None if each is None else str(each) for notion, each in cost.items()}
    if not isinstance(question, Question):
        return {**key_line(question), **paid, "where": where}
    space = question.space
    shown, cells, column = "sorted", space.groups, space.by
    if space.kind != "ranks":
        shown = "queries" if space.kind == "names" else "grid"
        shown = "histogram" if space.one_axis else shown
        cells = math.prod(axis.size for axis in space.axes)
        column = " × ".join(axis.name for axis in space.axes)
    strategy = strategy_of(question)
    return {
        "column": column,
        "columns": [axis.name for axis in space.axes],
        "strategy": strategy,
        "name": next((name for way, name in NAMES.items() if way == strategy), strategy),
        **paid,
        "cells": cells,
        "where": where,
        "kind": shown,
    }


@lru_cache(maxsize=1024)
def _request(written: str) -> tuple[Question | KeyQuestion, str | None]:
    """The question and the filter that a charge was for, as the ledger has them."""
    request = json.loads(written)
    return question_of(request["question"]), request.get("where")


def in_folder(charge: Charge) -> bool:
    """Whether a charge paid for a release in a folder."""
    return "to" in json.loads(charge.request)


def is_table(charge: Charge) -> bool:
    """Whether a charge paid for counts over several columns."""
    question, _ = _request(charge.request)
    return isinstance(question, Question) and len(question.space.axes) > 1


def folder_of(table: Table, charge: Charge) -> Path | None:
    """The finished folder that a charge paid for; None if it is not where it was made.

    Its answers must be those whose hashes the ledger has.
    """
    place = Path(json.loads(charge.request)["to"])
    try:
        found = open_dataset(place)
    except FileError:
        return None
    paid = json.loads(table.ledger.stored(charge))
    answers = [part.to_json() for part in found.answers]
    same = paid["id"] == found.facts.id and paid["answers"] == answers
    return place if same else None


def release_id(table: Table, charge: Charge) -> str:
    """The name of the release that a charge paid for."""
    return f"{table.name}.{charge.entry}"
