"""Options that go together: one frozen record in place of many parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any


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
