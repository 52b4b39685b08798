"""The options by which an axis is declared on a command line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from trueup.axis import Axis
from trueup.axis.declared import declared_axis
from trueup.axis.numbers import typed_number
from trueup.errors import FileError, InputError


@dataclass(frozen=True)
class AxisOptions:
    """The axis options of one call."""

    range: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Equal bins over [LOW, HIGH), with --bins.", metavar="LOW HIGH"),
    ] = None
    bins: Annotated[int | None, typer.Option(help="How many equal bins.")] = None
    integers: Annotated[
        tuple[int, int] | None,
        typer.Option(help="Whole numbers, both ends included.", metavar="FIRST LAST"),
    ] = None
    edges: Annotated[str | None, typer.Option(help="Bins between edges: 0,10,25,100.")] = None
    categories: Annotated[str | None, typer.Option(help="Labels: A,B,C,D,F.")] = None
    dates: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Dates, both ends included.", metavar="FIRST LAST"),
    ] = None
    every: Annotated[str, typer.Option(help="With --dates: minute, hour, day, week or month.")] = (
        "day"
    )
    ipv4: Annotated[str | None, typer.Option(help="A network, such as 10.0.0.0/8.")] = None
    prefix: Annotated[int, typer.Option(help="With --ipv4: the cells' prefix length.")] = 16
    hierarchy: Annotated[
        Path | None, typer.Option(help="A JSON file: nested labels, or a list of paths.")
    ] = None

    @property
    def of_the_owner(self) -> tuple[object, ...]:
        """What only the owner of a table declares, never somebody who asks his server."""
        return self.edges, self.categories, self.dates, self.ipv4, self.hierarchy

    def axis(self, column: str | None) -> Axis | None:
        """The axis that was declared, of this column; None if no kind was given."""
        if self.bins is not None and self.range is None:
            raise InputError("--bins needs --range LOW HIGH: ends are never read from the data.")
        if self.range is not None and self.bins is None:
            raise InputError("--range needs --bins, how many equal bins to make of it.")
        given = self._declared()
        if len(given) > 1:
            raise InputError(f"Declare the axis in one way, not by {' and '.join(given)}.")
        return next((declared_axis(column or "value", spec) for spec in given.values()), None)

    def _declared(self) -> dict[str, dict[str, Any]]:
        """The ways in which the axis is declared, each as trueup.toml would have it."""
        given: dict[str, dict[str, Any]] = {}
        if self.range is not None:
            low, high = map(typed_number, self.range)
            given["--range"] = {"kind": "regular", "low": low, "high": high, "bins": self.bins}
        if self.integers is not None:
            first, last = self.integers
            given["--integers"] = {"kind": "integers", "first": first, "last": last}
        if self.edges is not None:
            edges = [typed_number(text.strip()) for text in self.edges.split(",")]
            given["--edges"] = {"kind": "edges", "edges": edges}
        if self.categories is not None:
            labels = [text.strip() for text in self.categories.split(",")]
            if not all(labels):
                raise InputError(
                    f"--categories has an empty label: {self.categories!r}. Write A,B,C."
                )
            given["--categories"] = {"kind": "categories", "labels": labels}
        if self.dates is not None:
            ends = dict(zip(("first", "last"), self.dates, strict=True))
            given["--dates"] = {"kind": "dates", **ends, "unit": self.every}
        if self.ipv4 is not None:
            given["--ipv4"] = {"kind": "ipv4", "network": self.ipv4, "length": self.prefix}
        if self.hierarchy is not None:
            given["--hierarchy"] = {"kind": "hierarchy", "tree": read_json(self.hierarchy)}
        return given


def read_json(path: Path) -> Any:
    """The contents of a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise FileError(f"There is no file {path}.") from None
    except ValueError:
        raise InputError(f"{path} is not JSON.") from None
