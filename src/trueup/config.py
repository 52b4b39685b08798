"""trueup.toml: datasets that the owner has declared, with their axes, unit and limit."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from trueup.about import WORDS, About, about, refuse_unknown, text
from trueup.ask import Neighbours, check_neighbours
from trueup.axis import Axis
from trueup.axis.declared import declared_axis
from trueup.axis.numbers import whole_number
from trueup.budget import Budget
from trueup.draft import blank
from trueup.errors import FileError, InputError, shown
from trueup.facts import rows_for
from trueup.keys import KeyCounts, PrefixCounts
from trueup.keys.declared import declared_keys
from trueup.period import Calendar, PeriodTerms
from trueup.rows_bound import most_rows

FILE = "trueup.toml"
_KNOWN = (
    "source", "table", "ledger", "anchor", "limit", "rho", "delta_limit", "shown_at_delta",
    "unit", "rows_per_unit", "neighbours", "columns", "axes", "title", "description",
    "edges", "graph", "nodes", "per", "date", "zone", "periods_per_unit", "keys",
    "people", "at_most",
)  # fmt: skip


@dataclass(frozen=True)
class Dataset:
    """A table as its owner declares it: where it is, what may be counted, who is protected."""

    name: str
    source: str = field(repr=False)  # like those of ledger and anchor, it may hold a password
    ledger: str = field(repr=False)
    budget: Budget
    anchor: str | None = field(default=None, repr=False)
    table: str | None = None
    unit: str | None = None
    rows_per_unit: int = 1
    neighbours: Neighbours = "add-remove"
    columns: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, Axis] = field(default_factory=dict)
    about: Mapping[str, About] = field(default_factory=dict)  # of each axis
    title: str | None = None
    description: str = ""
    edges: tuple[str, str] | None = None
    graph: str = "undirected"
    nodes: int | None = None
    folder: Path = Path()  # of the file that declares it
    calendar: Calendar | None = None  # where each period has the limit
    keys: Mapping[str, KeyCounts | PrefixCounts] = field(default_factory=dict)
    people: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # features of each unit
    at_most: int | None = None  # the most rows of anybody, where their bound is chosen

    def __post_init__(self) -> None:
        if (self.edges is None) != (self.nodes is None):
            raise InputError("edges goes with nodes, the public number of nodes of the graph.")
        if self.edges is not None and (self.axes or self.unit or self.keys):
            raise InputError(
                "A table of edges has no axes, no keys and no unit: it protects an edge."
            )
        if self.people and self.unit is None:
            raise InputError(
                "people, the features of each unit, go with unit, the column that names it."
            )
        if self.at_most is not None and self.keys:
            raise InputError("Keys need rows_per_unit as a number: it is chosen for axes only.")
        if self.people and (self.rows_per_unit != 1 or self.at_most is not None):
            raise InputError("Of people each is one record: leave rows_per_unit out.")

    @property
    def limit(self) -> Fraction:
        """The most that may be spent on it, in the notion of its budget."""
        return self.budget.limit

    @property
    def ledger_options(self) -> dict[str, Any]:
        """The options of its `Ledger`: what may be spent, and in which periods."""
        return self.budget.options | (self.calendar.to_json() if self.calendar else {})

    @property
    def owner_options(self) -> dict[str, Any]:
        """The options of its `Owner`: its columns, whom it protects, what its edges are."""
        return {
            "unit": self.unit,
            "rows_per_unit": self.rows_per_unit if self.at_most is None else "auto",
            "at_most": self.at_most,
            "columns": dict(self.columns),
            "table": self.table,
            "edges": self.edges,
            "graph": self.graph,
        }

    @property
    def ledger_place(self) -> str:
        """Where the ledger is, the same however its path is written."""
        return self.ledger if "://" in self.ledger else str(Path(self.ledger).resolve())

    @property
    def runs(self) -> Path:
        """The folder that says which measurements this machine is making."""
        if "://" in self.ledger:
            return self.folder / f"{self.name}.runs"
        return Path(f"{self.ledger}.runs")

    @property
    def protects(self) -> str:
        """What the noise hides: "row", "edge", or the column that names the unit."""
        return "edge" if self.edges is not None else self.unit or "row"

    def axis(self, column: str | None) -> Axis:
        """The declared axis of a column; the only one, if no column is named."""
        known = ", ".join(self.axes) or "none"
        if column is None and len(self.axes) == 1:
            return next(iter(self.axes.values()))
        if column is None or column not in self.axes:
            wanted = "needs a column" if column is None else f"has no axis for {column!r}"
            raise InputError(f"Dataset '{self.name}' {wanted}. Declared axes: {known}.")
        return self.axes[column]


@dataclass(frozen=True)
class Config:
    """What trueup.toml says."""

    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None


def read_config(path: str | Path | None = None) -> Config:
    """The configuration in a file, in $TRUEUP_CONFIG, or in ./trueup.toml; empty without one."""
    named = path or os.environ.get("TRUEUP_CONFIG")
    file = Path(named or FILE)
    if not file.is_file():
        if named:
            raise FileError(f"There is no file {file}.")
        return Config()
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise FileError(f"{file} is not TOML: {wrong}") from None
    try:
        refuse_unknown(found, ("datasets", "server", "publish"), f"{file}: ")
    except InputError as wrong:
        raise FileError(str(wrong)) from None
    datasets = found.pop("datasets", {})
    if not isinstance(datasets, dict):
        raise FileError(f"{file}: datasets must be tables such as [datasets.trips].")
    return Config(
        {name: _dataset(name, spec, file) for name, spec in datasets.items()}, found, file
    )


def _dataset(name: str, spec: Any, file: Path) -> Dataset:
    where = f"{file}, dataset '{name}'"
    if not isinstance(spec, dict):
        raise FileError(f"{where}: must be a table.")
    for needed in ("source", "ledger"):
        if needed not in spec:
            raise FileError(f"{where}: {needed} is missing.")
    if "limit" not in spec and "rho" not in spec:
        raise FileError(f"{where}: limit is missing, in epsilon; or rho, to count rho.")
    axes = spec.get("axes", {})
    if not isinstance(axes, dict) or not all(isinstance(axis, dict) for axis in axes.values()):
        raise FileError(f"{where}: axes must be tables such as [datasets.{name}.axes.age].")
    try:
        refuse_unknown(spec, sorted(_KNOWN))
        left = blank(spec)
        if left is not None:
            raise InputError(f'{left} is still blank ("?"): fill it in.')
        return Dataset(
            name=name,
            source=_beside(file, str(spec["source"])),
            table=text(spec.get("table"), "table"),
            ledger=_beside(file, str(spec["ledger"])),
            anchor=_beside(file, str(spec["anchor"])) if "anchor" in spec else None,
            budget=_budget(spec),
            unit=text(spec.get("unit"), "unit"),
            **_rows(spec),
            neighbours=check_neighbours(spec.get("neighbours", "add-remove")),
            columns=_columns(spec.get("columns", {})),
            axes={column: declared_axis(column, _plain(axis)) for column, axis in axes.items()},
            about={
                column: about(said, file.parent)
                for column, said in (*axes.items(), *_tables(spec, "keys").items())
            },
            title=text(spec.get("title"), "title"),
            description=text(spec.get("description"), "description") or "",
            edges=_edges(spec.get("edges")),
            graph=text(spec.get("graph"), "graph") or "undirected",
            nodes=None if "nodes" not in spec else whole_number(spec["nodes"], "nodes"),
            folder=file.parent,
            people=_tables(spec, "people", apart=False),
            keys={name: declared_keys(name, each) for name, each in _tables(spec, "keys").items()},
            calendar=Calendar.said({word: spec.get(word) for word in PeriodTerms.__annotations__}),
        )
    except (InputError, FileError) as wrong:
        raise FileError(f"{where}: {wrong}") from None


def _rows(spec: Mapping[str, Any]) -> dict[str, Any]:
    """How many rows of each unit count: a number, or the most of anybody where it is chosen."""
    unit, rows = spec.get("unit"), spec.get("rows_per_unit")
    most = most_rows(rows, {"at_most": spec.get("at_most")}, unit)
    if most is not None:
        return {"at_most": most}
    return {"rows_per_unit": rows_for(None if "edges" in spec or "people" in spec else unit, rows)}


def _columns(given: object) -> dict[str, Any]:
    """The types of columns, where filters and units need them."""
    if not isinstance(given, dict):
        raise InputError(f'columns must be a table such as {{town = "text"}}, got {shown(given)}.')
    return given


def _budget(spec: Mapping[str, Any]) -> Budget:
    """What may be spent: in epsilon, as limit, or in rho; and what of delta."""
    names = ("limit", "rho", "delta_limit", "shown_at_delta")
    said = Budget.said(*(spec.get(name) for name in names))
    assert said is not None
    return said


def _tables(spec: Mapping[str, Any], word: str, apart: bool = True) -> dict[str, Any]:
    """The tables under a word of a dataset; `apart`, none has the name of an axis."""
    found = spec.get(word, {})
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise InputError(f"{word} must be tables, such as [datasets.NAME.{word}.word].")
    both = set(found) & set(spec.get("axes", {}))
    if both and apart:
        raise InputError(f"{min(both)!r} is the name of an axis: give the {word} another.")
    return found


def _plain(axis: Mapping[str, Any]) -> dict[str, Any]:
    """What the table of an axis says of the axis itself."""
    return {word: value for word, value in axis.items() if word not in WORDS}


def _edges(ends: object) -> tuple[str, str] | None:
    if ends is None:
        return None
    if not isinstance(ends, list) or len(ends) != 2 or not all(isinstance(e, str) for e in ends):
        raise InputError(f'edges must name two columns, such as ["src", "dst"], got {shown(ends)}.')
    return ends[0], ends[1]


def _beside(file: Path, source: str) -> str:
    """A path is relative to the file that names it; an address such as postgresql:// is not."""
    return source if "://" in source else str(file.parent / source)
