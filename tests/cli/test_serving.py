"""Tokens by command; a server that will not start says why."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONFIG = """
[datasets.trips]
source = "trips.parquet"
ledger = "trips.ledger"
limit = 1
[datasets.trips.axes.age]
kind = "integers"
first = 0
last = 99
"""
Run = Callable[..., Any]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "trueup.toml"
    path.write_text(CONFIG)
    return path


def test_tokens_are_made_listed_and_revoked(run: Run, config: Path) -> None:
    made = run("token", "create", "ana", "--role", "analyst", "--limit", "1/3", "--json")
    secret = made.json["token"]
    listed = run("token", "list", "--json")
    assert secret not in listed.out
    assert [(one["name"], one["role"]) for one in listed.json["tokens"]] == [("ana", "analyst")]
    shown = run("ledger", "show", "trips.ledger", "--json").json
    assert shown["limit"] == "1"
    assert run("token", "revoke", "ana").code == 0
    assert run("token", "revoke", "ana").code == 1
    assert "analyst" in run("token", "list").out
    assert run("token", "create", "boss", "--role", "owner").out.startswith("trueup_")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ana", "--role", "analyst"], "has a limit"),
        (["ana", "--role", "king"], "role"),
        (["a b"], "name"),
        (["ana", "--role", "analyst", "--limit", "1", "--dataset", "none"], "no dataset"),
        (["ana", "--expires", "soon"], "expires"),
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(
    run: Run, config: Path, words: list[str], says: str
) -> None:
    ran = run("token", "create", *words)
    assert ran.code == 1
    assert says in ran.err
    assert run("token", "list", "--json").json == {"tokens": []}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "declares no dataset"),
        ("[server]\nport = 'x'\n" + CONFIG, "port cannot be 'x': Input should be a valid integer"),
        ("[server]\ncolour = 1\n" + CONFIG, "colour is not known"),
        (
            "[server]\ndeadline = -1\n" + CONFIG,
            "deadline cannot be -1: Input should be greater than 0",
        ),
        (CONFIG, "no file"),
        (CONFIG.replace("trips]", '"a b"]').replace("trips.axes", '"a b".axes'), "has a name"),
    ],
)
def test_a_server_that_cannot_start_says_why(run: Run, config: Path, text: str, says: str) -> None:
    config.write_text(text)
    logger = logging.getLogger("trueup.server")
    before = logger.handlers[:], logger.level, logger.propagate
    ran = run("serve", "--config", config)
    assert ran.code != 0
    assert says in ran.err
    assert (logger.handlers, logger.level, logger.propagate) == before


def test_a_server_needs_a_configuration(run: Run) -> None:
    assert "no trueup.toml" in run("serve").err


def test_measuring_at_a_server_needs_a_token_and_a_dataset(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRUEUP_TOKEN", raising=False)
    asked = ("--epsilon", "1", "-o", "x.parquet")
    assert "--token" in run("measure", "http://127.0.0.1:1/trips", *asked).err
    assert "Name the dataset" in run("measure", "http://127.0.0.1:1", *asked, "--token", "x").err
    told = run("measure", "http://127.0.0.1:1/trips", *asked, "--token", "x", "--ledger", "y")
    assert "declares its tables" in told.err
