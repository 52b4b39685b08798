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
from trueup.axis.numbers import typed_number
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
        tuple[str, str] | None,
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
            low, high = map(typed_number, self.range)
            return Axis.regular(name, low, high, self.bins)
        if self.integers is not None:
            return Axis.integers(name, *self.integers)
        if self.edges is not None:
            return Axis.edges(name, map(typed_number, self.edges.split(",")))
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
