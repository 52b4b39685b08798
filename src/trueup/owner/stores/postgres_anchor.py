"""An anchor in PostgreSQL, on another server than its ledger: one for several machines."""

from __future__ import annotations

from trueup.errors import LedgerError
from trueup.owner.anchor import Anchor, parsed
from trueup.owner.stores.postgres_server import PostgresServer, exists, make_schema


class PostgresAnchor:
    """An anchor in a table of one row."""

    def __init__(self, address: str) -> None:
        self._server = PostgresServer(address, "anchor")
        self.name = self._server.name  # no user, no password
        self._table = f"{self._server.quoted}.anchor"

    def server(self) -> str:
        """What tells its server from others."""
        return self._server.run(self._server.identity)

    def read(self) -> Anchor | None:
        """What the row says, None where there is none; a damaged one is refused."""
        return self._server.run(self._read)

    def write(self, head: Anchor) -> None:
        """Put this anchor in the place of an older one, durably; a newer one is left.

        A process that was held up for long after it had taken the ledger's lock cannot undo what
        others have written since.
        """
        self._server.run(lambda: self._write(head))

    def settle(self) -> None:
        """Nothing to do: what can be read was committed, and so synced."""

    def _read(self) -> Anchor | None:
        with self._server.transaction() as connection:
            return self._found(connection)

    def _found(self, connection: object) -> Anchor | None:
        if not exists(connection, self._server.schema, "anchor"):
            return None
        row = connection.execute(f"SELECT said FROM {self._table}".encode()).fetchone()  # type: ignore[attr-defined]
        return None if row is None else parsed(row[0], self.name)

    def _write(self, head: Anchor) -> None:
        with self._server.transaction() as connection:
            before = self._found(connection)
            if before is not None and before.ledger == head.ledger and before.entry >= head.entry:
                return
            if before is not None and before.ledger != head.ledger and before.entry > 0:
                raise LedgerError(f"The anchor {self.name} belongs to another ledger.")
            if not exists(connection, self._server.schema, "anchor"):
                make_schema(connection, self._server.schema)
                connection.execute(
                    f"CREATE TABLE {self._table} (said text NOT NULL); "
                    f"REVOKE ALL ON {self._table} FROM PUBLIC".encode()
                )
            connection.execute(f"DELETE FROM {self._table}".encode())
            said = f"INSERT INTO {self._table} VALUES (%s)"
            connection.execute(said.encode(), (head.text,))
