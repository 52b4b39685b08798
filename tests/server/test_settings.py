"""Settings: from the file, the environment and the command line, checked once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trueup as tu
from trueup.config import Config
from trueup.server.settings import Settings, read_settings

PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")


def said(**server: Any) -> Config:
    return Config({}, {"server": server}, Path("/srv/trueup.toml"))


def test_every_setting_is_in_the_docs() -> None:
    for name in Settings.model_fields:
        assert f"`{name}`" in PAGE or f"\n{name} = " in PAGE, name


def test_what_is_not_said_has_its_usual_value_and_tokens_lie_beside_the_file() -> None:
    found = read_settings(said(port=9000, deadline=2))
    assert (found.host, found.port, found.deadline) == ("127.0.0.1", 9000, 2.0)
    assert found.tokens == Path("/srv/trueup.tokens")
    assert read_settings(said(tokens="/etc/tokens")).tokens == Path("/etc/tokens")
    with pytest.raises(ValueError, match="frozen"):
        found.port = 1  # type: ignore[misc]


def test_the_command_line_counts_more_than_the_environment_and_that_more_than_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRUEUP_SERVER_PORT", "7000")
    monkeypatch.setenv("TRUEUP_SERVER_WORKERS", "3")
    found = read_settings(said(port=9000, workers=2, patience=5), port=6000, workers=None)
    assert (found.port, found.workers, found.patience) == (6000, 3, 5.0)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"port": "x"}, "port"),
        ({"port": -1}, "port"),
        ({"port": 70_000}, "port"),
        ({"workers": 0}, "workers"),
        ({"workers": True}, "workers"),
        ({"most_cells": 1.5}, "most_cells"),
        ({"deadline": 0}, "deadline"),
        ({"patience": float("inf")}, "patience"),
        ({"patience": float("nan")}, "patience"),
        ({"warm": 3}, "warm"),
        ({"host": ""}, "host"),
        ({"colour": "red"}, "colour is not known. Known: cors_origins, deadline, host"),
    ],
    ids=str,
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(tu.FileError, match=r"/srv/trueup\.toml, \[server\]: ") as refused:
        read_settings(said(**wrong))
    assert says in str(refused.value)


def test_a_server_needs_a_configuration() -> None:
    with pytest.raises(tu.FileError, match="needs a configuration"):
        read_settings(Config())
    with pytest.raises(tu.FileError, match="must be a table"):
        read_settings(Config({}, {"server": 3}, Path("trueup.toml")))
