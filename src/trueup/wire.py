"""The wire to a server: requests that may be sent again, and answers too large for memory."""

from __future__ import annotations

import contextlib
import http.client
import json
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trueup.errors import (
    BudgetError,
    InputError,
    KeyConflictError,
    LedgerError,
    NoiseError,
    ServerError,
    SourceError,
)

_ERRORS: dict[str, type[Exception]] = {
    "budget": BudgetError,
    "bad_request": InputError,
    "key_conflict": KeyConflictError,
    "ledger": LedgerError,
    "noise": NoiseError,
    "source": SourceError,
}
_TRIES = 5
_AGAIN = (429, 502, 503, 504)  # busy, or being restarted
_LARGEST = 1 << 30


@dataclass(frozen=True, repr=False)
class Wire:
    """Where a server is, and the token that is sent to it."""

    scheme: str
    host: str
    port: int | None
    path: str
    token: str
    timeout: float

    def __str__(self) -> str:
        port = "" if self.port is None else f":{self.port}"
        return f"<Client of {self.scheme}://{self.host}{port}{self.path}>"

    def json(self, path: str, body: Any = None, key: str | None = None) -> dict[str, Any]:
        """What the server answers, read as JSON."""
        data = None if body is None else json.dumps(body).encode()
        answer = self.send("GET" if body is None else "POST", path, data, key)
        try:
            found = json.loads(answer)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ServerError(f"What {self} answers is not from a trueup server.")
        return found

    def send(
        self, method: str, path: str, data: bytes | None = None, key: str | None = None
    ) -> bytes:
        """What the server answers. Every request may be sent again: those that spend have a key."""
        headers = self._headers()
        if data is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        paid = "" if key is None else f" It may be charged: ask again under the key {key!r}."
        problem = {"code": "", "detail": f"{self} cannot be reached.{paid}"}
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(0.1 * 2**attempt)
            try:
                status, answer = self._once(method, f"{self.path}/api/v1{path}", data, headers)
            except (OSError, http.client.HTTPException):
                continue
            if status in (200, 202):
                return answer
            problem = _problem(answer, status)
            if status not in _AGAIN:
                break
        raise served_error(problem)

    @contextlib.contextmanager
    def streamed(self, path: str) -> Iterator[Any]:
        """An answer that is read piece by piece; refused if it ends before its length."""
        connection = self._connection()
        try:
            connection.request("GET", f"{self.path}/api/v1{path}", None, self._headers())
            response = connection.getresponse()
            if response.status != 200:
                raise served_error(_problem(response.read(_LARGEST), response.status))
            yield response
        except (OSError, http.client.HTTPException, tarfile.TarError):
            raise ServerError(f"The answer of {self} did not arrive whole.") from None
        finally:
            connection.close()

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Accept": "*/*"}

    def _connection(self) -> http.client.HTTPConnection:
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        return kinds[self.scheme](self.host, self.port, timeout=self.timeout)

    def _once(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        connection = self._connection()
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            if response.length is None and not response.chunked:
                raise http.client.IncompleteRead(b"")  # cut within its headers
            answer = response.read(_LARGEST)
            if response.length:
                raise http.client.IncompleteRead(answer)
            return response.status, answer
        finally:
            connection.close()


def _problem(answer: bytes, status: int) -> dict[str, Any]:
    try:
        problem = json.loads(answer)
        return {"code": str(problem["code"]), "detail": str(problem["detail"])}
    except (ValueError, KeyError, TypeError):
        return {"code": "", "detail": f"The server answered with status {status}."}


def served_error(problem: dict[str, Any]) -> Exception:
    """The error that the library itself would have raised."""
    return _ERRORS.get(problem["code"], ServerError)(problem["detail"])
