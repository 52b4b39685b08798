"""Declared datasets: opened once, described by what their owner said and by the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import trueup as tu
from trueup.config import Config, read_config
from trueup.server.auth import Holder
from trueup.server.datasets import open_tables


@pytest.fixture
def config(config_of: Callable[..., Path], tmp_path: Path) -> Config:
    return read_config(config_of(tmp_path, limit=3))


def holder(role: Any) -> Holder:
    return Holder(1, "ana", role, "2013-01-01T00:00:00Z", None, None)


def test_what_is_told_comes_from_the_declaration_and_the_ledger(config: Config) -> None:
    trips = open_tables(config)["trips"]
    trips.owner.measure(tu.CellCounts(config.datasets["trips"].axes["age"]), "1/2")
    said = trips.describe(releases=1)
    assert (said["limit"], said["spent"], said["remaining"]) == ("3", "1/2", "5/2")
    assert [column["column"] for column in said["columns"]] == ["fare", "age", "borough", "day"]
    assert said["columns"][1]["describes"] == "whole numbers from 0 to 99"
    assert open_tables(config)["friends"].describe(0)["protects"] == "one edge of the graph"


def test_an_analyst_has_the_less_of_a_limit_of_their_own_and_what_is_left(config: Config) -> None:
    trips = open_tables(config)["trips"]
    assert trips.left_for(holder("owner")) == 3
    assert trips.left_for(holder("analyst")) == 0
    trips.ledger.allow("ana", Fraction(2))
    assert trips.left_for(holder("analyst")) == 2
    trips.owner.measure(tu.CellCounts(config.datasets["trips"].axes["age"]), "5/2")
    assert trips.left_for(holder("analyst")) == Fraction(1, 2)


def test_what_cannot_be_served_stops_the_server(config: Config) -> None:
    with pytest.raises(tu.FileError, match="declares no dataset"):
        open_tables(Config())
    odd = replace(config.datasets["trips"], name="a b")
    with pytest.raises(tu.FileError, match="has a name of letters"):
        open_tables(Config({"a b": odd}, {}, config.path))
    wrong = replace(config.datasets["trips"], axes={"fair": tu.Axis.regular("fair", 0, 9, bins=3)})
    with pytest.raises(tu.FileError, match=r"Dataset 'trips': .* no column 'fair'"):
        open_tables(Config({"trips": wrong}, {}, config.path))
