"""Every error has one shape, and a line in the docs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trueup as tu
from trueup.server import errors

PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")


def test_every_error_is_in_the_docs() -> None:
    for _, status, code in errors._KINDS:
        assert str(status) in PAGE
        assert f"`{code}`" in PAGE
    for code in errors.TITLES:
        assert f"`{code}`" in PAGE, code


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (tu.InputError("no such column"), 400, "bad_request"),
        (tu.BudgetError("3/10 is left"), 409, "budget"),
        (errors.NotFoundError("gone"), 404, "not_found"),
        (errors.BusyError("ask again"), 429, "busy"),
        (tu.LedgerError("/home/owner/trips.ledger is torn"), 503, "ledger"),
        (ZeroDivisionError("a row"), 500, "internal"),
    ],
)
def test_an_error_is_told_in_one_shape(error: Exception, status: int, code: str) -> None:
    said = errors.response(error)
    body = json.loads(bytes(said.body))
    assert (said.status_code, body["code"]) == (status, code)
    assert said.media_type == "application/problem+json"
    assert set(body) == {"type", "title", "status", "detail", "code", "pointer"}
    assert (body["status"], body["type"]) == (status, f"urn:trueup:error:{code}")
    assert body["title"] == errors.TITLES[code]
    assert said.headers["Cache-Control"] == "no-store"
    # Nothing of the owner's machine, and nothing of an error that nobody foresaw.
    assert "/home" not in body["detail"]
    assert "row" not in body["detail"]


QUOTE = "/api/v1/datasets/trips/quote"
GRID = [{"column": "age"}, {"column": "borough"}]


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        (QUOTE, {"epsilon": "much"}, "/epsilon"),
        (QUOTE, {"epsilon": {}}, "/epsilon"),
        (QUOTE, {}, "/epsilon"),
        (QUOTE, {"epsilon": 1, "colour": 1}, "/colour"),
        (QUOTE, {"epsilon": 1, "column": "none"}, "/column"),
        (QUOTE, {"epsilon": 1, "column": "age", "range": [5, 500]}, "/range/1"),
        (QUOTE, {"epsilon": 1, "column": "age", "range": [50, 20]}, "/range"),
        (QUOTE, {"epsilon": 1, "column": "age", "range": [5, {}]}, "/range/1"),
        (QUOTE, {"epsilon": 1, "column": "age", "cells": 7}, "/cells"),
        (QUOTE, {"epsilon": 1, "column": "age", "strategy": "spiral"}, "/strategy"),
        (QUOTE, {"epsilon": 1, "column": "age", "where": "age >"}, "/where"),
        (QUOTE, {"epsilon": 1, "column": "age", "where": "fare > 1"}, "/where"),
        (QUOTE, {"epsilon": 1, "column": "borough", "workload": "spiral"}, "/workload"),
        (QUOTE, {"epsilon": 1, "columns": [GRID[0], {"column": "x"}]}, "/columns/1/column"),
        (QUOTE, {"epsilon": 1, "columns": GRID, "column": "age"}, "/columns"),
        (QUOTE, {"epsilon": 1, "columns": [GRID[0], {**GRID[1], "cells": 2}]}, "/columns/1/cells"),
        ("ranges", {"ranges": [[0, 16], [0, 0.3]]}, "/ranges/1"),
        ("ranges", {"ranges": [[0, 16], [0]]}, "/ranges/1"),
        ("difference", {"first": [0, 16], "second": [16, 0]}, "/second"),
        ("quantiles", {"quantiles": [0.5, 2]}, "/quantiles/1"),
        ("view?points=0", None, "/points"),
        ("view?start=5&stop=5", None, "/start"),
        ("range?low=0&high=16&level=7", None, "/level"),
    ],
)
def test_an_error_points_to_the_field(
    server: Any, fares: str, path: str, body: Any, pointer: str
) -> None:
    address = path if path.startswith("/") else f"/api/v1/releases/{fares}/{path}"
    said = server().request("GET" if body is None else "POST", address, json=body)
    assert said.status_code == 400, said.text
    assert said.headers["content-type"] == "application/problem+json"
    assert said.json()["pointer"] == pointer, said.text
