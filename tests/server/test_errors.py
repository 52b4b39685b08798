"""Every error has one shape, and a line in the docs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import trueup as tu
from trueup.server import errors

PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")


def test_every_error_is_in_the_docs() -> None:
    for _, status, code in errors._KINDS:
        assert str(status) in PAGE
        assert f"`{code}`" in PAGE


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
    assert (said.status_code, body["error"]["code"]) == (status, code)
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message"}
    assert said.headers["Cache-Control"] == "no-store"
    # Nothing of the owner's machine, and nothing of an error that nobody foresaw.
    assert "/home" not in body["error"]["message"]
    assert "row" not in body["error"]["message"]
