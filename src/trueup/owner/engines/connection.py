"""Connections to PostgreSQL of our own, with every setting that matters, and none of its words.

The address, which may hold a password, is shown nowhere.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
from typing import Any

from trueup.errors import InputError
from trueup.owner.lazily import psycopg

# Settings of the transaction that counts, whatever the server, the role or the address says.
PINNED = {
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "constraint_exclusion": "off",
    "extra_float_digits": "1",
    "jit": "off",
    "cursor_tuple_fraction": "1",  # whoever reads some rows at a time reads them all
    "statement_timeout": "0",  # a value that takes long must not stop the count
    "lock_timeout": "0",
    "transaction_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
CONNECTING = {
    "client_encoding": "UTF8",
    "application_name": "trueup",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}


ADDRESS = re.compile(r"\s*[a-z][\w+.-]+:/|.*\bpassword\s*=", re.IGNORECASE | re.DOTALL)
"""What may be an address of any kind, and so may hold a password."""


def is_address(place: object) -> bool:
    """Whether a place is an address of PostgreSQL rather than a path."""
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


def host(address: str) -> str:
    """The host of an address, which may be told; nothing else of it may."""
    if importlib.util.find_spec("psycopg") is None:
        raise InputError("PostgreSQL is read by psycopg: pip install 'trueup[postgres]'.")
    try:
        found = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        found = None
    if found is None:
        raise InputError(
            "The PostgreSQL address cannot be read. It must look like "
            "postgresql://user@host:5432/database; in a password write / as %2F, @ as %40, % as "
            "%25."
        )
    return str(found.get("host") or "this machine")


def connected(address: str) -> Any:
    """A connection of our own. The address may say otherwise in what it says of connecting.

    The role may have a timeout so short that no statement ends in time, not even the one that
    lifts it. Then the connection is made once more with no timeout from the start. That is not the
    first try, because a pooler may refuse a connection that brings settings.
    """
    settings: dict[str, Any] = {**CONNECTING, **psycopg.conninfo.conninfo_to_dict(address)}
    settings["client_encoding"] = "UTF8"
    with contextlib.suppress(psycopg.errors.QueryCanceled):
        return _without_timeout(psycopg.connect(**settings))
    settings["options"] = f"{settings.get('options', '')} -c statement_timeout=0".strip()
    return _without_timeout(psycopg.connect(**settings))


def _without_timeout(connection: Any) -> Any:
    """The connection in a transaction that only reads and may take as long as it takes."""
    connection.read_only = True
    try:
        connection.execute("SET LOCAL statement_timeout = 0")
    except psycopg.Error:
        connection.close()
        raise
    return connection


def pin(connection: Any) -> None:
    """The transaction reads only, and every setting that might matter is ours."""
    connection.execute(
        "SELECT pg_catalog.set_config(s.name, v.value, true) FROM pg_catalog.pg_settings s JOIN "
        "(SELECT pg_catalog.unnest(%s::text[]) AS name, pg_catalog.unnest(%s::text[]) AS value) v "
        "ON pg_catalog.lower(s.name) = v.name",
        (list(PINNED), list(PINNED.values())),
    )
    # Functions and operators are PostgreSQL's before anybody's own.
    connection.execute(
        "SELECT pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', 'pg_catalog', "
        "nullif(pg_catalog.current_setting('search_path'), '')), true)"
    )
