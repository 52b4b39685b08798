"""What the [server] table of trueup.toml says: where to listen, and how much is too much."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from trueup.about import refuse_unknown
from trueup.config import Config
from trueup.errors import FileError, InputError
from trueup.owner.engines.connection import is_address


def _no_truth(value: object) -> object:
    """Refuses true and false where a number belongs: pydantic would take them for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("a number is needed, not true or false")
    return value


Count = Annotated[int, BeforeValidator(_no_truth), Field(ge=1)]
Seconds = Annotated[float, BeforeValidator(_no_truth), Field(gt=0, allow_inf_nan=False)]


def _place(value: object) -> object:
    """An address of PostgreSQL stays text; all else is a path."""
    return value if is_address(value) or not isinstance(value, str) else Path(value)


Place = Annotated[str | Path, BeforeValidator(_place)]

_ORIGIN = r"^https?://[A-Za-z0-9.-]+(:\d{1,5})?$"


class Settings(BaseSettings):
    """The limits of a server. Times are in seconds, sizes in bytes.

    Each may be set by an environment variable too, such as TRUEUP_SERVER_PORT.
    """

    model_config = SettingsConfigDict(env_prefix="TRUEUP_SERVER_", extra="forbid", frozen=True)

    tokens: Place
    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, BeforeValidator(_no_truth), Field(ge=0, le=65_535)] = 8000  # 0: any
    workers: Count = 1
    deadline: Seconds = 1.0  # of the first class of answers; each class has twice the one before
    most_body: Count = 1 << 20
    most_ranges: Count = 10_000  # in one request
    most_points: Count = 2_000  # of a view
    most_cells: Count = 1 << 21  # of a question
    most_requests: Count = 256  # at work in one process
    most_connections: Count = 1_000  # of one process
    most_measurements: Count = 16  # at work in one process
    patience: Seconds = 10.0  # for a slow client to send a request, or to take its answer
    session: Seconds = 12 * 3600.0  # how long somebody stays signed in on the page
    open_releases: Count = 32  # kept in memory, in one process
    root_path: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9._~-]+)*$")] = ""  # under a proxy
    cors_origins: tuple[Annotated[str, Field(pattern=_ORIGIN)], ...] = ()  # pages that may ask
    sso_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]*$")] = ""  # who asks, by a proxy
    sso_proxies: tuple[Annotated[str, Field(min_length=1)], ...] = ("127.0.0.1", "::1")
    warm: bool = True  # compile on starting what the first analyst would otherwise wait for


def read_settings(config: Config, **given: object) -> Settings:
    """The settings of a server with this configuration; a file of tokens is beside its own.

    What is given here counts more than the environment, and that more than the file.
    """
    said = config.settings.get("server", {})
    if config.path is None:
        raise FileError("A server needs a configuration: there is no trueup.toml here.")
    if not isinstance(said, Mapping):
        raise FileError(f"{config.path}: server must be a table, [server].")
    values: dict[str, Any] = {"tokens": "trueup.tokens", **said}
    try:
        refuse_unknown(said, sorted(Settings.model_fields), f"{config.path}, [server]: ")
    except InputError as wrong:
        raise FileError(str(wrong)) from None
    values |= EnvSettingsSource(Settings)()
    values |= {name: value for name, value in given.items() if value is not None}
    try:
        found = Settings(**values)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        name = str(first["loc"][0])
        raise FileError(
            f"{config.path}, [server]: {name} cannot be {values[name]!r}: {first['msg']}."
        ) from None
    if isinstance(found.tokens, str):
        return found
    return found.model_copy(update={"tokens": config.path.parent / found.tokens})
