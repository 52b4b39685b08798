"""The client: ask an owner's server, and infer here, with the same code."""

from __future__ import annotations

import datetime as dt
import os
import re
import secrets
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypedDict, Unpack

import numpy as np

from trueup.axis import Axis
from trueup.cost import Cost, Notion, check_notion
from trueup.errors import InputError, shown
from trueup.files.codec import decode
from trueup.files.dataset import check_new_folder
from trueup.files.packed import unpack
from trueup.infer import infer
from trueup.keys import KeyMeasurement, PrefixMeasurement
from trueup.measurement import Measurement
from trueup.release import Published, Release
from trueup.saved import load
from trueup.wire import Wire, served_error

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PRINTED = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class ServedDataset:
    """What a server says of a dataset: what may be asked, who is protected, what is left."""

    name: str
    title: str
    protects: str
    limit: Fraction
    spent: Fraction | None  # None where each period has the limit
    yours: Fraction | None  # what may be spent with this token; None for readers, and with periods
    notion: Notion  # what limit, spent and yours are in: epsilon or rho
    axes: Mapping[str, Axis]
    filters: tuple[str, ...]
    nodes: int | None  # of a graph
    per: str | None = None  # how long a period is, where each has the limit


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


@dataclass(frozen=True)
class ServedSeries:
    """A line in a server's list of series: a question that is published again in every period."""

    name: str
    title: str
    dataset: str
    per: str
    columns: tuple[str, ...]
    cost: Cost  # of each period
    published: int
    first: str | None
    last: str | None


class RowsAsked(TypedDict, total=False):
    """Which rows are counted."""

    where: str | None
    period: str | Sequence[str] | None


class PartAsked(RowsAsked, total=False):
    """Which part of a column is asked about, of which rows, and how."""

    range: tuple[Any, Any] | None
    cells: int | None
    strategy: str
    among: str | None


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
        **part: Unpack[PartAsked],
    ) -> Quote:
        """What a measurement would cost and how wrong it would be: free, and spends nothing.

        `range` is a part of the axis, in `cells` equal cells; `strategy` a way that the quote
        lists, or "best"; `where` a filter; `among` a release of keys, which are then the labels, in
        place of a column. Where each day has a limit, `period` names one,
        "2026-03-01", or a list of them: each pays.
        """
        body = _asked(column, Cost.of(epsilon, rho), **part)
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
        one key, so that nothing is paid twice. `range`, `cells`, `strategy`, `where` and `period`
        are as for `quote`.
        """
        return self.measurement(
            self._measured(dataset, _asked(column, Cost.of(epsilon, rho), **part), key)
        )

    def _measured(self, dataset: str, body: dict[str, Any], key: str | None) -> str:
        """The release that a question leads to, asked under one key however often it is sent."""
        key = secrets.token_hex(16) if key is None else key
        if not isinstance(key, str) or not _PRINTED.fullmatch(key) or not 8 <= len(key) <= 200:
            raise InputError(f"A key has 8 to 200 plain characters, no spaces, got {shown(key)}.")
        said = self._json(f"/datasets/{_quoted(dataset)}/measure", body, key)
        while "job" in said:
            job = self._json(f"/jobs/{_quoted(said['job'])}")
            if job["state"] == "failed":
                raise served_error(job["error"])
            if job["state"] == "done":
                said = {"release": job["release"]}
            else:
                time.sleep(0.5)
        return str(said["release"])

    def measure_keys(
        self,
        dataset: str,
        keys: str,
        *,
        epsilon: object = None,
        rho: object = None,
        delta: object = 0,
        key: str | None = None,
        **rows: Unpack[RowsAsked],
    ) -> KeyMeasurement | PrefixMeasurement:
        """The keys that are shown, of keys that the owner has declared; `.infer()` does the rest.

        With a `delta` keys are shown by it. `where`, `period`, `key` and lost connections are as
        for `measure`.
        """
        cost = Cost.of(epsilon, rho, delta)
        body = _asked(None, cost, **rows) | {"keys": keys}
        if cost.delta:
            body["delta"] = str(cost.delta)
        stored = self._stored(self._measured(dataset, body, key))
        found = decode(stored, "The measurement")[0]
        kept = PrefixMeasurement if found.startswith("prefix") else KeyMeasurement
        return kept.from_bytes(stored)

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
            page = self._json(f"{path}{'&' if '?' in path else '?'}start={start}")
            yield from page[name]
            start = page["next"]

    def measurement(self, release: str) -> Measurement:
        """The noisy answers behind a release."""
        return Measurement.from_bytes(self._stored(release))

    def _stored(self, release: str) -> bytes:
        return self._wire.send("GET", f"/releases/{_quoted(release)}/measurement")

    def release(self, release: str, **wish: Any) -> Published:
        """A release, inferred here; `wish` is as for `trueup.infer`."""
        found: Published = infer(self.measurement(release), **wish)
        return found

    def download(self, release: str, to: str | os.PathLike[str]) -> Release:
        """The folder of a release that is larger than memory, saved here and opened.

        Every file is checked against the manifest's hashes before the folder has its name.
        """
        place = check_new_folder(to)
        with self._wire.streamed(f"/releases/{_quoted(release)}/file?format=tar") as sent:
            unpack(sent, place)
        return load(place, Release)

    def series(self) -> list[ServedSeries]:
        """The series that are published, each once however many periods it has."""
        plain = ("name", "title", "dataset", "per", "published", "first", "last")
        return [
            ServedSeries(
                **{word: said[word] for word in plain},
                columns=tuple(said["columns"]),
                cost=Cost(check_notion(said["notion"]), Fraction(said["cost"])),
            )
            for said in self._lines("/series", "series")
        ]

    def periods(
        self, series: str, first: str | None = None, through: str | None = None, **wish: Any
    ) -> dict[str, Published]:
        """The releases of a series by their periods, inferred here; both ends are included.

        Their noise is independent, so that their counts add up and subtract with exact intervals:
        `sum(each.range(0, 20) for each in client.periods("fares").values())`.
        """
        ends = {"first": first, "through": through}
        given = urllib.parse.urlencode({word: end for word, end in ends.items() if end is not None})
        path = f"/series/{_quoted(series)}/periods?{given}"
        return {
            said["period"]: self.release(said["release"], **wish)
            for said in self._lines(path, "periods")
        }

    @property
    def _wire(self) -> Wire:
        return Wire(self.scheme, self.host, self.port, self.path, self.token, self.timeout)

    def _json(self, path: str, body: Any = None, key: str | None = None) -> dict[str, Any]:
        return self._wire.json(path, body, key)


def _asked(
    column: str | None,
    cost: Cost,
    range: tuple[Any, Any] | None = None,
    cells: int | None = None,
    strategy: str = "best",
    where: str | None = None,
    period: str | Sequence[str] | None = None,
    among: str | None = None,
) -> dict[str, Any]:
    said = {
        "column": column,
        cost.notion: str(cost.amount),
        "range": None if range is None else _ends(range),
        "cells": cells,
        "strategy": strategy,
        "where": where,
        "period": None if period is None else _named(period),
        "among": among,
    }
    return {name: value for name, value in said.items() if value is not None}


def _named(period: object) -> str | list[str]:
    """The periods that are asked about, by their names."""
    if isinstance(period, str):
        return period
    if isinstance(period, Sequence) and all(isinstance(each, str) for each in period):
        return list(period)
    raise InputError(f"A period goes by its name, such as '2026-03-01', got {shown(period)}.")


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
        _exact(said["spent"]),
        _exact(said["yours"]),
        check_notion(said["notion"]),
        {column["column"]: Axis.from_json(column["axis"]) for column in said["columns"]},
        tuple(each["column"] for each in said["filters"]),
        None if said["graph"] is None else said["graph"]["nodes"],
        None if said["periods"] is None else said["periods"]["per"],
    )


def _exact(said: str | None) -> Fraction | None:
    return None if said is None else Fraction(said)


def _quoted(part: str) -> str:
    if not isinstance(part, str):
        raise InputError(f"A dataset or release goes by its name, got {shown(part)}.")
    return urllib.parse.quote(part, safe="")
