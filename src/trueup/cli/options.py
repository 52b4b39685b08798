"""Options that several commands have, and those that go together: one record in place of many."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

MeasurementFile = Annotated[
    Path, typer.Option("--output", "-o", help="The file to save the measurement in.")
]
ReleaseFile = Annotated[
    Path, typer.Option("--output", "-o", help="The file to save the release in.")
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", envvar="TRUEUP_CONFIG", help="Instead of ./trueup.toml."),
]
Source = Annotated[
    str, typer.Argument(help="A file, a glob, postgresql://…, or a dataset of trueup.toml.")
]
Unit = Annotated[
    str | None, typer.Option("--unit", help="The column that tells apart those to protect.")
]
Relation = Annotated[str, typer.Option("--neighbours", help="add-remove or replace.")]
Filter = Annotated[
    str | None, typer.Option("--where", help="A filter, such as \"age >= 18 and sex = 'F'\".")
]
Key = Annotated[
    str | None,
    typer.Option("--key", help="Ask again with the same key to get the same answer, paid once."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking.")]
Anchor = Annotated[
    str | None,
    typer.Option("--anchor", help="The anchor's file or address, if not beside the ledger."),
]
Level = Annotated[float, typer.Option("--level", help="The level of the intervals.")]


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with an option for each field of the records among its parameters.

    Typer reads options from a signature; this way records of options have one for all commands.
    """
    signature = inspect.signature(command, eval_str=True)
    records: dict[str, tuple[type, list[str]]] = {}
    listed: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        record = parameter.annotation
        if not is_dataclass(record) or not isinstance(record, type):
            listed.append(parameter)
            continue
        options = inspect.signature(record, eval_str=True).parameters
        records[name] = (record, list(options))
        listed += options.values()

    @functools.wraps(command)
    def spelled(**given: Any) -> None:
        for name, (record, options) in records.items():
            given[name] = record(**{option: given.pop(option) for option in options})
        command(**given)

    # Options that must be given come first, as Python wants them.
    listed.sort(key=lambda one: one.default is not inspect.Parameter.empty)
    by_name = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in listed]
    spelled.__signature__ = signature.replace(parameters=by_name)  # type: ignore[attr-defined]
    return spelled
