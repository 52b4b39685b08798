"""Tables that tests make on a PostgreSQL server, and owners of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import trueup as tu
from trueup.owner import where as filters

Server = Callable[[], str]


def run(address: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def made(address: str, columns: str, rows: Sequence[str]) -> str:
    """A table of these columns, a row as SQL has it; its statistics are known to the server."""
    name = "t" + os.urandom(6).hex()
    run(address, f"CREATE TABLE {name} ({columns})")
    for start in range(0, len(rows), 500):  # several statements in one
        run(address, "; ".join(f"INSERT INTO {name} SELECT {row}" for row in rows[start:][:500]))
    run(address, f"ANALYZE {name}")
    return name


def counts(owner: tu.Owner, axis: tu.Axis, where: str | None = None) -> list[int]:
    part = None if where is None else filters.parse(where)
    return owner.prepared(tu.CellCounts(axis), part, False)().tolist()


def owned(address: str, table: str, ledger: tu.Ledger, **options: Any) -> tu.Owner:
    return tu.Owner(address, ledger, table=table, **options)
