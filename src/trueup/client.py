"""The client: ask an owner's server, and infer here, with the same code."""

from __future__ import annotations

import datetime as dt
import http.client
import json
import re
import secrets
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypedDict, Unpack

import numpy as np

from trueup.axis import Axis
from trueup.cost import Cost, Notion, check_notion
from trueup.errors import (
    BudgetError,
    InputError,
    KeyConflictError,
    LedgerError,
    NoiseError,
    ServerError,
    SourceError,
    shown,
)
from trueup.infer import infer
from trueup.measurement import Measurement
from trueup.release import Published

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ERRORS: dict[str, type[Exception]] = {
    "budget": BudgetError,
    "bad_request": InputError,
    "key_conflict": KeyConflictError,
    "ledger": LedgerError,
    "noise": NoiseError,
    "source": SourceError,
}
_PRINTED = re.compile(r"[!-~]+")
_TRIES = 5
_AGAIN = (429, 502, 503, 504)  # busy, or being restarted
_LARGEST = 1 << 30


@dataclass(frozen=True)
class ServedDataset:
    """What a server says of a dataset: what may be asked, who is protected, what is left."""

    name: str
    title: str
    protects: str
    limit: Fraction
    spent: Fraction
    yours: Fraction | None  # what may be spent with this token; None for readers
    notion: Notion  # what limit, spent and yours are in: epsilon or rho
    axes: Mapping[str, Axis]
    filters: tuple[str, ...]
    nodes: int | None  # of a graph


@dataclass(frozen=True)
class Quote:
    """What a measurement would cost and how wrong its answers would be.

    `cost` and `remaining` are in `notion`, which the dataset's ledger counts.
    """

    cost: Fraction
    remaining: Fraction
    allowed: bool
    why_not: str | None
    axis: Axis | None
    strategy: str  # the one that would be asked
    errors: Mapping[str, float]  # by strategy, what a typical range is within, 95 times in 100
    sentence: str
    notion: Notion = "epsilon"

    def __str__(self) -> str:
        left = f"{self.remaining} is left" if self.allowed else self.why_not
        return f"{self.notion} {self.cost} by {self.strategy}: {self.sentence}; {left}"


@dataclass(frozen=True)
class ServedRelease:
    """A line in a server's list of releases."""

    id: str
    dataset: str
    column: str | None
    strategy: str
    epsilon: Fraction | None  # None if it was asked with rho
    rho: Fraction | None  # None where the ledger counts epsilon
    cells: int
    where: str | None
    created: str
    by: str | None
    kind: str


class PartAsked(TypedDict, total=False):
    """Which part of a column is asked about, and how."""

    range: tuple[Any, Any] | None
    cells: int | None
    strategy: str
    where: str | None


def connect(url: str, token: str, *, timeout: float = 60.0, insecure: bool = False) -> Client:
    """A client of the server at this address.

    Over http:// the token is sent in the clear, and whoever sees it can spend with it. So an
    address beyond this machine must begin with https://, unless you say insecure=True because the
    network itself is safe.

    >>> connect("http://127.0.0.1:8000", token="trueup_Zm9v")
    <Client of http://127.0.0.1:8000>
    """
    parts = urllib.parse.urlsplit(url if isinstance(url, str) else "")
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"A server's address is such as https://counts.example, got {shown(url)}.")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not insecure:
        raise InputError(
            f"{url} is not encrypted: the token could be read on its way. Use https://, or "
            f"insecure=True where the wire itself is safe."
        )
    # Read from a file it ends in a line break; what else is wrong with it is not repeated here.
    secret = token.strip() if isinstance(token, str) else ""
    if not _PRINTED.fullmatch(secret):
        raise InputError("A server needs a token, as its owner gave it: ask her for one.")
    return Client(parts.scheme, parts.hostname, port, parts.path.rstrip("/"), secret, timeout)


@dataclass(frozen=True, repr=False)
class Client:
    """An analyst's end of the wire. What it measures is inferred here, as often as you like."""

    scheme: str
    host: str
    port: int | None
    path: str
    token: str
    timeout: float

    def __repr__(self) -> str:
        port = "" if self.port is None else f":{self.port}"
        return f"<Client of {self.scheme}://{self.host}{port}{self.path}>"

    def datasets(self) -> dict[str, ServedDataset]:
        """The datasets that the owner serves, by name."""
        return {said["name"]: _dataset(said) for said in self._json("/datasets")["datasets"]}

    def quote(
        self,
        dataset: str,
        column: str | None = None,
        *,
        epsilon: object = None,
        rho: object = None,
        range: tuple[Any, Any] | None = None,
        cells: int | None = None,
        strategy: str = "best",
        where: str | None = None,
    ) -> Quote:
        """What a measurement would cost and how wrong it would be: free, and spends nothing."""
        body = _asked(column, Cost.of(epsilon, rho), range, cells, strategy, where)
        said = self._json(f"/datasets/{_quoted(dataset)}/quote", body)
        return Quote(
            Fraction(said["cost"]),
            Fraction(said["remaining"]),
            said["allowed"],
            said["why_not"],
            None if said["axis"] is None else Axis.from_json(said["axis"]),
            said["strategy"],
            {row["strategy"]: row["typical_95"] for row in said["strategies"]},
            said["sentence"],
            check_notion(said["notion"]),
        )

    def measure(
        self,
        dataset: str,
        column: str | None = None,
        *,
        epsilon: object = None,
        rho: object = None,
        key: str | None = None,
        **part: Unpack[PartAsked],
    ) -> Measurement:
        """The noisy answers, charged to the owner's ledger; `trueup.infer` does the rest.

        The same key gives the same answers, paid once. Lost connections are tried again under
        one key, so that nothing is paid twice. `range`, `cells`, `strategy` and `where` are as for
        `quote`.
        """
        body = _asked(column, Cost.of(epsilon, rho), **part)
        key = secrets.token_hex(16) if key is None else key
        if not isinstance(key, str) or not _PRINTED.fullmatch(key) or not 8 <= len(key) <= 200:
            raise InputError(f"A key has 8 to 200 plain characters, no spaces, got {shown(key)}.")
        said = self._json(f"/datasets/{_quoted(dataset)}/measure", body, key)
        while "job" in said:
            job = self._json(f"/jobs/{_quoted(said['job'])}")
            if job["state"] == "failed":
                raise _error(job["error"])
            if job["state"] == "done":
                said = {"release": job["release"]}
            else:
                time.sleep(0.5)
        return self.measurement(said["release"])

    def releases(self) -> list[ServedRelease]:
        """What has been published, oldest first."""
        fields = ServedRelease.__dataclass_fields__
        return [
            ServedRelease(
                **{name: said[name] for name in fields}
                | {name: _exact(said[name]) for name in ("epsilon", "rho")}
            )
            for said in self._lines("/releases", "releases")
        ]

    def _lines(self, path: str, name: str) -> Iterator[dict[str, Any]]:
        """The lines of a list, page after page."""
        start: int | None = 0
        while start is not None:
            page = self._json(f"{path}?start={start}")
            yield from page[name]
            start = page["next"]

    def measurement(self, release: str) -> Measurement:
        """The noisy answers behind a release."""
        stored = self._send("GET", f"/releases/{_quoted(release)}/measurement", None, None)
        return Measurement.from_bytes(stored)

    def release(self, release: str, **wish: Any) -> Published:
        """A release, inferred here; `wish` is as for `trueup.infer`."""
        found: Published = infer(self.measurement(release), **wish)
        return found

    # The wire.

    def _json(self, path: str, body: Any = None, key: str | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        answer = self._send("GET" if body is None else "POST", path, data, key)
        try:
            found = json.loads(answer)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ServerError(f"What {self!r} answers is not from a trueup server.")
        return found

    def _send(self, method: str, path: str, data: bytes | None, key: str | None) -> bytes:
        """What the server answers. Every request may be sent again: those that spend have a key."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "*/*"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        paid = "" if key is None else f" It may be charged: ask again under the key {key!r}."
        problem = {"code": "", "detail": f"{self!r} cannot be reached.{paid}"}
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
        raise _error(problem)

    def _once(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        connection = kinds[self.scheme](self.host, self.port, timeout=self.timeout)
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


def _asked(
    column: str | None,
    cost: Cost,
    range: tuple[Any, Any] | None = None,
    cells: int | None = None,
    strategy: str = "best",
    where: str | None = None,
) -> dict[str, Any]:
    said = {
        "column": column,
        cost.notion: str(cost.amount),
        "range": None if range is None else _ends(range),
        "cells": cells,
        "strategy": strategy,
        "where": where,
    }
    return {name: value for name, value in said.items() if value is not None}


def _ends(ends: object) -> list[Any]:
    """The two ends of a range as JSON has them."""
    if not isinstance(ends, (tuple, list)) or len(ends) != 2:
        raise InputError(f"A range is (low, high), got {shown(ends)}.")
    plain = [str(end) if isinstance(end, np.datetime64) else end for end in ends]
    plain = [end.item() if isinstance(end, np.generic) else end for end in plain]
    plain = [end.isoformat() if isinstance(end, dt.date) else end for end in plain]
    for end in plain:
        if end is not None and not isinstance(end, (int, float, str)):
            raise InputError(f"The ends of a range are numbers, text or dates, got {shown(end)}.")
    return plain


def _dataset(said: dict[str, Any]) -> ServedDataset:
    return ServedDataset(
        said["name"],
        said["title"],
        said["protects"],
        Fraction(said["limit"]),
        Fraction(said["spent"]),
        _exact(said["yours"]),
        check_notion(said["notion"]),
        {column["column"]: Axis.from_json(column["axis"]) for column in said["columns"]},
        tuple(each["column"] for each in said["filters"]),
        None if said["graph"] is None else said["graph"]["nodes"],
    )


def _exact(said: str | None) -> Fraction | None:
    return None if said is None else Fraction(said)


def _quoted(part: str) -> str:
    if not isinstance(part, str):
        raise InputError(f"A dataset or release goes by its name, got {shown(part)}.")
    return urllib.parse.quote(part, safe="")


def _problem(answer: bytes, status: int) -> dict[str, Any]:
    try:
        problem = json.loads(answer)
        return {"code": str(problem["code"]), "detail": str(problem["detail"])}
    except (ValueError, KeyError, TypeError):
        return {"code": "", "detail": f"The server answered with status {status}."}


def _error(problem: dict[str, Any]) -> Exception:
    """The error that the library itself would have raised."""
    return _ERRORS.get(problem["code"], ServerError)(problem["detail"])
