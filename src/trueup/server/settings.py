"""What the [server] table of trueup.toml says: where to listen, and how much is too much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from trueup.config import Config
from trueup.errors import FileError, InputError


@dataclass(frozen=True)
class Settings:
    """The limits of a server. Times are in seconds, sizes in bytes."""

    tokens: Path
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    deadline: float = 1.0  # of the first class of answers; each class has twice the one before
    most_body: int = 1 << 20
    most_ranges: int = 10_000  # in one request
    most_points: int = 2_000  # of a view
    most_cells: int = 1 << 21  # of a question
    most_requests: int = 256  # at work in one process
    most_connections: int = 1_000  # of one process
    most_measurements: int = 16  # at work in one process
    patience: float = 10.0  # for a slow client to send a request, or to take its answer
    open_releases: int = 32  # kept in memory, in one process
    warm: bool = True  # compile on starting what the first analyst would otherwise wait for

    def __post_init__(self) -> None:
        if not isinstance(self.host, str) or not self.host:
            raise InputError(f"host must be text, such as 127.0.0.1, got {self.host!r}.")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int" and (
                not isinstance(value, int) or isinstance(value, bool) or value < 1
            ):
                if field.name == "port" and value == 0:
                    continue  # any free one
                raise InputError(f"{field.name} must be a whole number above 0, got {value!r}.")
            if field.type == "bool" and not isinstance(value, bool):
                raise InputError(f"{field.name} must be true or false, got {value!r}.")
            if field.type == "float":
                real = isinstance(value, (int, float)) and not isinstance(value, bool)
                if not real or not 0 < value < math.inf:
                    raise InputError(f"{field.name} must be a number above 0, got {value!r}.")


def read_settings(config: Config) -> Settings:
    """The settings of a server with this configuration; tokens are kept beside its file."""
    said = config.settings.get("server", {})
    if config.path is None:
        raise FileError("A server needs a configuration: there is no trueup.toml here.")
    if not isinstance(said, Mapping):
        raise FileError(f"{config.path}: server must be a table, [server].")
    known = {field.name for field in fields(Settings)}
    strange = sorted(set(said) - known)
    if strange:
        raise FileError(
            f"{config.path}, [server]: {', '.join(strange)} is not known. "
            f"Known: {', '.join(sorted(known))}."
        )
    values: dict[str, Any] = dict(said)
    tokens = config.path.parent / str(values.pop("tokens", "trueup.tokens"))
    try:
        return Settings(tokens, **values)
    except InputError as wrong:
        raise FileError(f"{config.path}, [server]: {wrong}") from None
