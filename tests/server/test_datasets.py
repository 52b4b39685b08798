"""Declared datasets: opened once, described by what their owner said and by the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.config import Config, read_config
from trueup.errors import FileError
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


def test_people_are_counted_once_each_by_all_their_rows(standing: Any) -> None:
    said = standing("rea").get("/api/v1/datasets/riders").json()
    assert said["protects"] == "one user: each is counted once, by all rows of theirs"
    told = {one["column"]: one["description"] for one in said["columns"]}
    assert told["trips"] == "How many rows each user has, where tip >= 2."
    assert {one["column"]: one["type"] for one in said["filters"]} == {
        "trips": "integer",
        "top": "integer",
    }
    rows = pq.read_table(Path(standing.config.path).parent / "daily.parquet").to_pandas()
    trips = rows[rows.tip >= 2].groupby("user").size()
    dear = rows.groupby("user").fare.max()
    asked = {"dataset": "riders", "strategy": "flat", "epsilon": 20}  # noise is 0, all but surely
    release = standing.measured("people-trips", column="trips", **asked)
    found = tu.connect(standing.url, token=standing.secrets["rea"]).release(release)
    assert found.counts().tolist() == np.bincount(trips, minlength=200).tolist()
    some = standing.measured("people-top", column="top", where="trips >= 60", **asked)
    found = tu.connect(standing.url, token=standing.secrets["rea"]).release(some)
    many = dear[trips[trips >= 60].index]
    assert found.counts().tolist() == np.bincount(many, minlength=40).tolist()
    columns = [{"column": "trips", "range": [40, 80], "cells": 4}, {"column": "top"}]
    assert standing.measured("people-grid", dataset="riders", column=None, columns=columns)


@pytest.mark.parametrize("feature", ["{count = 3}", '{best = "fare"}', '{sum = "fare"}', "{}"])
def test_a_feature_that_makes_no_sense_stops_the_server(
    config_of: Any, tmp_path: Path, feature: str
) -> None:
    path = config_of(tmp_path)
    text = (
        path.read_text()
        + f"""
[datasets.people]
source = "trips.parquet"
ledger = "people.ledger"
limit = 1
unit = "age"
people.trips = {feature}
axes.trips = {{kind = "integers", first = 0, last = 9}}
"""
    )
    path.write_text(text)
    with pytest.raises(FileError, match="people"):
        open_tables(read_config(path))


def test_a_bound_is_chosen_for_each_question(standing: Any) -> None:
    said = standing("rea").get("/api/v1/datasets/capped").json()
    assert (said["rows_per_unit"], said["at_most"]) == (None, 1000)
    assert "chosen privately for each question" in said["protects"]
    asked = {"column": "tip", "epsilon": 40}
    path = "/api/v1/datasets/capped/quote"
    quote = standing("ana").post(path, json=asked).json()
    assert quote["sentence"].endswith("times the rows of a user that count")
    assert "adaptive" not in {one["strategy"] for one in quote["strategies"]}
    wrong = standing("ana").post(path, json={**asked, "strategy": "sorted"})
    assert "A bound is chosen for counts over axes" in wrong.json()["detail"]
    release = standing.measured("capped-tips", dataset="capped", **asked)
    found = tu.connect(standing.url, token=standing.secrets["rea"]).release(release)
    rows = pq.read_table(Path(standing.config.path).parent / "daily.parquet").to_pandas()
    left = tu.left_out(found)
    counted = np.minimum(rows.groupby("user").size(), left.bound).sum()
    low, high = left.capped().interval(1 - 1e-9)
    assert low <= counted <= high
    shown = standing("rea").get(f"/api/v1/releases/{release}").json()
    assert "chosen privately" in str(shown)
