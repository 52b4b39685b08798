"""The releases that the ledgers hold: listed, opened, kept open, and handed out as files."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueup.ask import Question, question_from_json
from trueup.errors import InputError
from trueup.facts import Facts
from trueup.files.codec import arrow_table, csv_bytes, encode
from trueup.infer import infer, model_of
from trueup.measurement import Measurement
from trueup.owner.charge import Charge
from trueup.plan.offers import NAMES
from trueup.release import Published, Release, SortedRelease
from trueup.server.answers import Answering, Version
from trueup.server.boxes import AnsweringBoxes
from trueup.server.datasets import Table
from trueup.server.errors import FieldError, NotFoundError
from trueup.server.jobs import Jobs, Status
from trueup.server.questions import strategy_of

Format = Literal["parquet", "json", "arrow", "csv"]
MEDIA: dict[Format, str] = {
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "arrow": "application/vnd.apache.arrow.stream",
    "csv": "text/csv; charset=utf-8",
}
_MOST_WRITTEN = 1 << 18  # counts in a file of text


@dataclass(frozen=True, eq=False)
class Opened:
    """A release ready to be asked, in both versions; each is made when first wanted."""

    id: str
    stored: bytes
    _asked: dict[tuple[Version, str | None], Answering] = field(default_factory=dict, repr=False)
    _boxed: dict[Version, AnsweringBoxes] = field(default_factory=dict, repr=False)

    @cached_property
    def measurement(self) -> Measurement:
        """The noisy answers, as stored."""
        return Measurement.from_bytes(self.stored)

    @cached_property
    def _unbiased(self) -> Published:
        return infer(self.measurement)

    @cached_property
    def _whole(self) -> Published:
        return infer(self.measurement, nonnegative=True, integers=True)

    def version(self, version: Version) -> Published:
        """The unbiased release, or the one of non-negative whole numbers."""
        return self._whole if version == "whole" else self._unbiased

    def answering(self, version: Version, column: str | None = None) -> Answering:
        """The version for questions about ranges, refused if it has none.

        Of a release over several columns, the margin of one of them.
        """
        release = self.version(version)
        if not isinstance(release, Release):
            raise InputError("This release has no ranges: its counts are sorted or named.")
        if column is not None and column not in [axis.name for axis in release.axes]:
            raise InputError(f"This release has no column {column[:60]!r}.")
        if len(release.axes) > 1 and column is None:
            raise InputError(
                "This release is over several columns: name a column for its margin, or ask for "
                "boxes."
            )
        if (version, column) not in self._asked:
            margin = release if len(release.axes) == 1 else release.margin(str(column))
            self._asked[version, column] = Answering(margin, version)
        return self._asked[version, column]

    def boxes(self, version: Version) -> AnsweringBoxes:
        """The version for questions about boxes, refused if it is not over several columns."""
        release = self.version(version)
        if not isinstance(release, Release) or len(release.axes) < 2:
            raise InputError("This release is not over several columns: it has no boxes.")
        return self._boxed.setdefault(version, AnsweringBoxes(release, version))

    @cached_property
    def raw_cells(self) -> npt.NDArray[Any] | None:
        """The noisy count of every cell itself, None where cells were not asked."""
        return model_of(self.measurement.noise).raw(self.measurement.noisy)

    def describe(self, table: Table) -> dict[str, Any]:
        """What is said of it beside the list."""
        release, facts = self._unbiased, self.measurement.facts
        axes = release.axes if isinstance(release, Release) else ()
        axis = axes[0] if len(axes) == 1 else None
        return {
            "axis": None if axis is None else axis.to_json(),
            "describes": None if axis is None else axis.describe(),
            "columns": [table.axis(each) for each in axes],
            "dataset_title": table.dataset.title or table.name,
            "caption": caption(facts),
            "versions": ["unbiased", "whole"],
            "fractions": _fractions(release),
            "noise_scales": [str(scale) for scale in facts.noise.scales],
            "neighbours": facts.neighbours,
            "unit": facts.unit,
            "rows_per_unit": facts.rows_per_unit,
            "answers": len(self.measurement.noisy),
        }


def _fractions(release: Published) -> bool:
    """Whether a count of the unbiased version may be a fraction."""
    return not (
        isinstance(release, SortedRelease) and np.issubdtype(release.counts().dtype, np.integer)
    )


def caption(facts: Facts) -> str:
    """Whom a release protects, and how much, in words."""
    price = f"{facts.cost.replace('=', ' = ')}, {facts.neighbours}"
    return f"Protects one {facts.unit}: {price}.{_sentence(facts.capped)}"


def _sentence(words: str) -> str:
    return f" {words[0].upper()}{words[1:]}." if words else ""


class Releases:
    """Every release that may be seen, in all ledgers; those last asked for are kept open."""

    def __init__(self, tables: Mapping[str, Table], jobs: Jobs, keep: int) -> None:
        self.tables, self.jobs, self.keep = tables, jobs, keep
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Opened] = OrderedDict()
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
        if self.jobs.status(table, charge).at > time.time():
            return False
        self._seen[release_id(table, charge)] = charge
        return True

    def entry(self, table: Table, charge: Charge) -> dict[str, Any]:
        """The line that a release has in the list."""
        question, where = _request(charge.request)
        space = question.space
        shown, cells, column = "sorted", space.groups, space.by
        if space.kind != "ranks":
            shown = "queries" if space.kind == "names" else "grid"
            shown = "histogram" if space.one_axis else shown
            cells = math.prod(axis.size for axis in space.axes)
            column = " × ".join(axis.name for axis in space.axes)
        strategy = strategy_of(question)
        return {
            "id": release_id(table, charge),
            "dataset": table.name,
            "column": column,
            "columns": [axis.name for axis in space.axes],
            "strategy": strategy,
            "name": next((name for way, name in NAMES.items() if way == strategy), strategy),
            "epsilon": None if charge.epsilon is None else str(charge.epsilon),
            "rho": None if charge.rho is None else str(charge.rho),
            "cells": cells,
            "where": where,
            "created": charge.time,
            "by": charge.by,
            "kind": shown,
        }

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
                    return table, charge
        raise NotFoundError("There is no such release, or not yet.")

    def open(self, release: str) -> Opened:
        """A release that may be seen, ready to be asked."""
        found = self._open.get(release)
        if found is not None:
            with self._lock:
                if release in self._open:
                    self._open.move_to_end(release)
            return found
        table, charge = self.find(release)
        if charge.answer is None or not self._may_be_seen(table, charge):
            raise NotFoundError("There is no such release, or not yet.")
        opened = Opened(release, table.ledger.stored(charge))
        with self._lock:
            opened = self._open.setdefault(release, opened)
            self._open.move_to_end(release)
            while len(self._open) > self.keep:
                self._open.popitem(last=False)
        return opened

    def status(self, table: Table, charge: Charge) -> Status:
        """What may be told of a charge at this moment."""
        status = self.jobs.status(table, charge)
        return status if status.at <= time.time() else Status("running", 0.0)


@lru_cache(maxsize=1024)
def _request(written: str) -> tuple[Question, str | None]:
    """The question and the filter that a charge was for, as the ledger has them."""
    request = json.loads(written)
    return question_from_json(request["question"]), request.get("where")


def release_id(table: Table, charge: Charge) -> str:
    """The name of the release that a charge paid for."""
    return f"{table.name}.{charge.entry}"


def measurement_file(opened: Opened, kind: Format) -> bytes:
    """The noisy answers as a file; as Parquet, the very bytes that were stored."""
    measured = opened.measurement
    _check_written(len(measured.noisy), kind)
    if kind == "parquet":
        return opened.stored
    if kind == "json":
        return encode("measurement", measured.columns(), measured.facts.to_json(), ".json")
    return _table(measured.columns(), measured.facts.to_json(), kind)


def release_file(opened: Opened, version: Version, kind: Format) -> bytes:
    """A version of the release as a file."""
    _check_written(opened.measurement.question.size, kind)
    name, columns, about = opened.version(version).contents()
    if kind in ("parquet", "json"):
        return encode(name, columns, about, f".{kind}")
    return _table(columns, about, kind)


def _check_written(rows: int, kind: Format) -> None:
    """Refuses to write out as text what would take many seconds."""
    if kind in ("csv", "json") and rows > _MOST_WRITTEN:
        raise FieldError(
            f"{rows:,} counts are more than the {_MOST_WRITTEN:,} that are written as {kind}. "
            f"Take parquet or arrow.",
            "/format",
        )


def _table(columns: Mapping[str, Any], metadata: Mapping[str, Any], kind: Format) -> bytes:
    if kind == "csv":
        return csv_bytes(columns, metadata)
    import pyarrow as pa

    table = arrow_table(columns)
    sink = pa.BufferOutputStream()
    said = {b"trueup": json.dumps(metadata).encode()}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **said})
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())
