"""Axes and ranges as a person types them on a command line."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from trueup.axis import Axis
from trueup.axis.dates import DateCells
from trueup.axis.ipv4 import Ipv4Cells
from trueup.axis.labels import CategoryCells, HierarchyCells
from trueup.axis.numbers import IntegerCells
from trueup.errors import InputError

Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="The column to count; of a declared dataset, several."),
]


@dataclass(frozen=True)
class AxisOptions:
    """The axis options of one call."""

    column: Annotated[str | None, typer.Option("--column", help="The column to count.")] = None
    range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--range", help="Equal bins over [LOW, HIGH), with --bins.", metavar="LOW HIGH"
        ),
    ] = None
    bins: Annotated[int | None, typer.Option("--bins", help="How many equal bins.")] = None
    integers: Annotated[
        tuple[int, int] | None,
        typer.Option("--integers", help="Whole numbers, both ends included.", metavar="FIRST LAST"),
    ] = None
    edges: Annotated[
        str | None, typer.Option("--edges", help="Bins between edges: 0,10,25,100.")
    ] = None
    categories: Annotated[str | None, typer.Option("--categories", help="Labels: A,B,C,D,F.")] = (
        None
    )
    dates: Annotated[
        tuple[str, str] | None,
        typer.Option("--dates", help="Dates, both ends included.", metavar="FIRST LAST"),
    ] = None
    every: Annotated[
        str, typer.Option("--every", help="With --dates: minute, hour, day, week or month.")
    ] = "day"
    ipv4: Annotated[str | None, typer.Option("--ipv4", help="A network, such as 10.0.0.0/8.")] = (
        None
    )
    prefix: Annotated[
        int, typer.Option("--prefix", help="With --ipv4: the cells' prefix length.")
    ] = 16
    hierarchy: Annotated[
        Path | None,
        typer.Option("--hierarchy", help="A JSON file: nested labels, or a list of paths."),
    ] = None

    @property
    def of_the_owner(self) -> tuple[object, ...]:
        """What only the owner of a table declares, never somebody who asks his server."""
        return self.edges, self.categories, self.dates, self.ipv4, self.hierarchy

    def axis(self) -> Axis | None:
        """The axis that was declared; None if no kind was given."""
        name = self.column or "value"
        kinds = {
            "--range": self.range,
            "--integers": self.integers,
            "--edges": self.edges,
            "--categories": self.categories,
            "--dates": self.dates,
            "--ipv4": self.ipv4,
            "--hierarchy": self.hierarchy,
        }
        given = [kind for kind, value in kinds.items() if value is not None]
        if len(given) > 1:
            raise InputError(f"Declare the axis in one way, not by {' and '.join(given)}.")
        if self.bins is not None and self.range is None:
            raise InputError("--bins needs --range LOW HIGH: ends are never read from the data.")
        if self.range is not None:
            if self.bins is None:
                raise InputError("--range needs --bins, how many equal bins to make of it.")
            return Axis.regular(name, *self.range, self.bins)
        if self.integers is not None:
            return Axis.integers(name, *self.integers)
        if self.edges is not None:
            return Axis.edges(name, [_real(text) for text in self.edges.split(",")])
        if self.categories is not None:
            return Axis.categories(name, [part.strip() for part in self.categories.split(",")])
        if self.dates is not None:
            return Axis.dates(name, *self.dates, self.every)
        if self.ipv4 is not None:
            return Axis.ipv4(name, self.ipv4, self.prefix)
        if self.hierarchy is not None:
            return Axis.hierarchy(name, read_json(self.hierarchy))
        return None


NOTHING = AxisOptions()


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with an option for each field of AxisOptions in place of its `declared`.

    Typer reads options from a signature; this way the axis has one for all commands. A command
    that has `columns` of its own gets no single column.
    """
    signature = inspect.signature(command, eval_str=True)
    own = signature.parameters
    names = [f.name for f in fields(AxisOptions) if f.name != "column" or "columns" not in own]
    options = inspect.signature(AxisOptions, eval_str=True).parameters
    listed: list[inspect.Parameter] = []
    for name, parameter in own.items():
        listed += [options[n] for n in names] if name == "declared" else [parameter]

    @functools.wraps(command)
    def spelled(**given: Any) -> None:
        declared = AxisOptions(**{name: given.pop(name) for name in names})
        command(declared=declared, **given)

    spelled.__signature__ = signature.replace(parameters=listed)  # type: ignore[attr-defined]
    return spelled


def read_json(path: Path) -> Any:
    """The contents of a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"There is no file {path}.") from None
    except ValueError:
        raise InputError(f"{path} is not JSON.") from None


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{text!r} is not a number.") from None


def end(axis: Axis, text: str) -> Any:
    """One end of a range, or a label, in the units of the axis."""
    text = text.strip()
    if not text:
        return None
    cells = axis.cells
    if isinstance(cells, (DateCells, Ipv4Cells, HierarchyCells)):
        return text
    if isinstance(cells, CategoryCells):
        number = int(text) if text.lstrip("-").isdigit() else text
        return number if number in cells.labels else text
    if isinstance(cells, IntegerCells):
        value = _real(text)
        return int(value) if value.is_integer() else value
    return _real(text)


def span(axis: Axis, text: str) -> tuple[int, int]:
    """The cells of "0:20", "2013-01..2013-04", "20:" or of a single label, period or prefix."""
    if ".." in text:
        low, _, high = text.partition("..")
    elif text.count(":") == 1:
        low, _, high = text.partition(":")
    elif isinstance(axis.cells, (DateCells, Ipv4Cells, HierarchyCells, CategoryCells)):
        return axis.node(*_path(axis, text))
    else:
        raise InputError(f"{text!r} is no range. Write it as low:high, half open, such as 0:20.")
    return axis.span(end(axis, low), end(axis, high))


def box(over: tuple[Axis, ...], text: str) -> tuple[tuple[int, int], ...]:
    """The cells of "0:20,2013-01..2013-04": a range of each axis, in order; none is all of it."""
    parts = text.split(",")
    if len(parts) > len(over):
        names = ", ".join(axis.name for axis in over)
        raise InputError(f"{text!r} has {len(parts)} ranges; the axes are {names}.")
    parts += [""] * (len(over) - len(parts))
    return tuple(
        span(axis, part) if part.strip() else (0, axis.size)
        for axis, part in zip(over, parts, strict=True)
    )


def _path(axis: Axis, text: str) -> tuple[Any, ...]:
    if isinstance(axis.cells, HierarchyCells):
        return tuple(int(t) if t.lstrip("-").isdigit() else t for t in text.split("/"))
    return (end(axis, text),)
