"""A wire to a PostgreSQL server that can be cut at any message a client sends.

The wire counts the messages of PostgreSQL's protocol that go to the server. At the message it was
told to, it goes dead: before the message has passed, so that the server never had it, or after the
server has answered, so that the server did it and the client does not know.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Wire:
    """A place to connect to instead of the server."""

    server: Path  # the server's socket
    folder: Path
    cut_at: int = 0  # the message, counted from 1, at which the wire is cut once; 0 for never
    after: bool = False  # whether the server has the message, and answers it
    messages: int = 0
    cuts: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def address(self, database: str) -> str:
        """The address of a database over the wire."""
        return f"postgresql://trueup@/{database}?host={self.folder}"

    def arm(self, cut_at: int, after: bool) -> None:
        """Count from here, and cut at this message."""
        with self._lock:
            self.cut_at, self.after, self.messages, self.cuts = cut_at, after, 0, 0

    def _due(self, number: int) -> bool:
        with self._lock:
            self.messages += number
            due = self.cut_at > 0 and self.cuts == 0 and self.messages >= self.cut_at
            self.cuts += due
            return due

    def carry(self, client: socket.socket) -> None:
        """Carry the bytes of one connection."""
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(str(self.server))
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            dead = threading.Event()
            first = True
            buffer = b""
            with contextlib.suppress(OSError):
                while data := client.recv(1 << 16):
                    buffer += data
                    whole, ends, queries = _whole(buffer, first)
                    if first and whole:
                        first = False
                        back.start()
                    due = self._due(queries)
                    if due and not self.after:
                        break  # the server never has it
                    if due:
                        dead.set()
                        client.shutdown(socket.SHUT_WR)  # the answer does not come back
                        server.sendall(buffer[:whole])
                        time.sleep(0.05)  # the server does it
                        break
                    server.sendall(buffer[:whole])
                    buffer = buffer[whole:]
                    if ends:
                        break
            for end in (client, server):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            if back.is_alive():
                back.join()


def _whole(buffer: bytes, first: bool) -> tuple[int, bool, int]:
    """How many bytes are whole messages, whether the client takes its leave, how many requests."""
    place, queries, ends = 0, 0, False
    while True:
        head = 0 if first else 1  # the first message has no letter
        if len(buffer) < place + head + 4:
            return place, ends, queries
        size = head + int.from_bytes(buffer[place + head : place + head + 4], "big")
        if len(buffer) < place + size:
            return place, ends, queries
        if not first:
            letter = buffer[place : place + 1]
            queries += letter in (b"Q", b"S")  # a query of its own, or the end of one in parts
            ends |= letter == b"X"
        first = False
        place += size


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)


@contextmanager
def wired(server: Path) -> Iterator[Wire]:
    """A wire to the server whose socket lies in this folder."""
    with tempfile.TemporaryDirectory(prefix="wire") as folder, socket.socket(socket.AF_UNIX) as ear:
        wire = Wire(server / ".s.PGSQL.5432", Path(folder))
        ear.bind(str(Path(folder) / ".s.PGSQL.5432"))
        ear.listen(64)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = ear.accept()
                    threading.Thread(target=wire.carry, args=(client,), daemon=True).start()

        listener = threading.Thread(target=accept, daemon=True)
        listener.start()
        yield wire
        ear.shutdown(socket.SHUT_RDWR)
        listener.join()
