"""Routes of anybody who reads, held against the library itself."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import trueup as tu
from trueup.server.auth import open_ledger


def test_many_ranges_add_up(server: Any, fares: str, release: tu.Release) -> None:
    asked = {"ranges": [[0, 20], [20, 128], [None, None], [5, 5]]}
    said = server("rea").post(f"/api/v1/releases/{fares}/ranges", json=asked).json()["answers"]
    assert said[0]["count"] + said[1]["count"] == said[2]["count"]
    assert said[3]["count"] == 0
    low, high = release.intervals([0, 20], [20, 128], simultaneous=False)
    assert [row["low"] for row in said[:2]] == pytest.approx(low.tolist(), rel=1e-6)
    assert [row["high"] for row in said[:2]] == pytest.approx(high.tolist(), rel=1e-6)


def test_whole_numbers_carry_the_unbiased_interval(server: Any, fares: str) -> None:
    asked = {"ranges": [[0, 20], [20, 128], [0, 128]], "version": "whole"}
    said = server().post(f"/api/v1/releases/{fares}/ranges", json=asked).json()["answers"]
    assert all(isinstance(row["count"], int) and row["count"] >= 0 for row in said)
    assert said[0]["count"] + said[1]["count"] == said[2]["count"]
    one = server().get(f"/api/v1/releases/{fares}/range?low=0&high=20&version=whole").json()
    assert one["count"] == said[0]["count"]
    assert "unbiased" in one["kind"]


def test_a_difference_knows_the_common_noise(server: Any, fares: str, release: tu.Release) -> None:
    asked = {"first": [0, 20], "second": [10, 30]}
    said = server().post(f"/api/v1/releases/{fares}/difference", json=asked).json()
    less = release.range(0, 20) - release.range(10, 30)
    assert (said["count"], said["standard_error"]) == (less.value, less.std_error)


def test_quantiles_are_the_library_s(server: Any, fares: str, release: tu.Release) -> None:
    asked = {"quantiles": [0.25, 0.5]}
    said = server().post(f"/api/v1/releases/{fares}/quantiles", json=asked).json()["answers"]
    for row, q in zip(said, (0.25, 0.5), strict=True):
        assert row["value"] == release.quantile(q)
        assert (row["low"], row["high"]) == release.quantile_interval(q)


def test_a_view_s_bars_split_and_never_move(server: Any, fares: str, release: tu.Release) -> None:
    whole = server().get(f"/api/v1/releases/{fares}/view?points=10&raw=true").json()
    assert whole["cells_per_point"] == 32
    assert whole["edges"] == [release.axis.cells.edge(cell) for cell in whole["cells"]]
    assert whole["counts"] == release.ranges(whole["edges"][:-1], whole["edges"][1:]).tolist()
    assert len(whole["raw"]) == len(whole["counts"])
    zoomed = server().get(f"/api/v1/releases/{fares}/view?points=10&low=20.1&high=50").json()
    assert zoomed["cells_per_point"] == 8
    assert zoomed["edges"][0] <= 20.1
    assert zoomed["edges"][-1] >= 50
    shared = [edge for edge in whole["cells"] if zoomed["cells"][0] <= edge <= zoomed["cells"][-1]]
    assert set(shared) <= set(zoomed["cells"])
    by_cells = server().get(f"/api/v1/releases/{fares}/view?points=10&start=40&stop=100").json()
    assert by_cells["cells"][0] <= 40 < 100 <= by_cells["cells"][-1]


def test_a_view_s_band_is_near_the_exact_intervals(
    server: Any, fares: str, release: tu.Release
) -> None:
    said = server().get(f"/api/v1/releases/{fares}/view?points=64").json()
    low, high = release.intervals(said["edges"][:-1], said["edges"][1:], simultaneous=False)
    reach = (high - low) / 2
    told = (np.array(said["high"]) - np.array(said["low"])) / 2
    assert np.all(np.abs(told / reach - 1) < 0.03)


def test_the_cdf_rises_to_one(server: Any, fares: str) -> None:
    said = server().get(f"/api/v1/releases/{fares}/cdf?points=50").json()
    assert said["share"][0] == 0
    assert said["share"][-1] == 1
    assert np.all(np.diff(said["share"]) >= 0)
    assert all(
        a <= b <= c for a, b, c in zip(said["low"], said["share"], said["high"], strict=True)
    )


def test_files_hold_the_same_numbers(server: Any, fares: str, release: tu.Release) -> None:
    get = server().get
    base = f"/api/v1/releases/{fares}/file?format="
    arrow = pa.ipc.open_stream(get(base + "arrow").content).read_all()
    csv = pyarrow.csv.read_csv(io.BytesIO(get(base + "csv").content))
    assert arrow["count"].to_pylist() == csv["count"].to_pylist() == release.counts().tolist()
    for kind in ("parquet", "json"):
        said = get(f"{base}{kind}&version=whole")
        assert f'{fares}.whole.{kind}"' in said.headers["Content-Disposition"]
    measured = get(f"/api/v1/releases/{fares}/measurement?format=json").json()
    assert measured["columns"]["noisy"] == get(
        f"/api/v1/releases/{fares}/measurement?format=json"
    ).json()["columns"]["noisy"]  # fmt: skip


def test_a_saved_file_is_read_back(
    server: Any, fares: str, release: tu.Release, tmp_path: Any
) -> None:
    for kind in ("parquet", "json"):
        saved = tmp_path / f"fares.{kind}"
        saved.write_bytes(server().get(f"/api/v1/releases/{fares}/file?format={kind}").content)
        assert tu.load(saved).range(0, 20).value == release.range(0, 20).value  # type: ignore[union-attr]


def test_a_graph_answers_its_degrees(server: Any) -> None:
    name = server.measured("degrees-1", dataset="friends", column=None, epsilon=1)
    one = server().get(f"/api/v1/releases/{name}").json()
    assert (one["kind"], one["cells"], one["axis"]) == ("sorted", 300, None)
    view = server().get(f"/api/v1/releases/{name}/view?points=50&raw=1").json()
    assert view["kind"] == "sorted"
    assert view["counts"] == sorted(view["counts"], reverse=True)
    assert (view["ranks"][0], view["ranks"][-1]) == (1, 300)
    refused = server().get(f"/api/v1/releases/{name}/range")
    assert refused.status_code == 400


AGE, KIND = tu.Axis.integers("age", 0, 9), tu.Axis.categories("borough", ["Queens", "Bronx"])


@pytest.mark.parametrize(
    ("question", "kind", "column", "cells"),
    [
        (tu.SortedCounts(3, by="borough"), "sorted", "borough", 3),
        (tu.GridCounts(AGE, KIND), "grid", "age × borough", 20),
        (tu.GridCounts(AGE, KIND, marginals=["age", "borough"]), "grid", "age × borough", 20),
        (tu.NamedCounts(AGE, {"all": slice(None), "last": [9]}), "queries", "age", 10),
        (tu.WaveletCounts(AGE), "histogram", "age", 10),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_owner_measured_herself_is_listed_and_taken_away_too(
    server: Any, question: tu.ask.Question, kind: str, column: str, cells: int, tmp_path: Path
) -> None:
    # The command line asks questions that the server has no words for, on the same ledger.
    trips = server.config.datasets["trips"]
    owner = tu.Owner(trips.source, open_ledger(trips))
    measured = owner.measure(question, "1/10")
    name = f"trips.{owner.ledger.history()[-1].entry}"
    listed = server("rea").get("/api/v1/releases").json()["releases"]
    (line,) = (one for one in listed if one["id"] == name)
    assert (line["kind"], line["column"], line["cells"]) == (kind, column, cells)
    for version, wish in (("unbiased", {}), ("whole", {"nonnegative": True, "integers": True})):
        for ending in ("parquet", "json"):
            saved = tmp_path / f"taken.{ending}"
            where = f"/api/v1/releases/{name}/file?version={version}&format={ending}"
            saved.write_bytes(server("rea").get(where).content)
            found: Any = tu.load(saved)
            _, there, _ = found.contents()
            _, here, _ = tu.infer(measured, **wish).contents()
            assert np.array_equal(there["count"], here["count"])
    view = server("rea").get(f"/api/v1/releases/{name}/view?raw=1")
    assert view.status_code == (400 if kind == "grid" else 200)
    assert (kind == "sorted") <= ("raw" not in view.json())  # rows and strips are no counts


def test_labels_have_ranges_and_views(server: Any) -> None:
    name = server.measured("boroughs", column="borough", epsilon=5)
    said = server().get(f"/api/v1/releases/{name}/range?low=Queens&high=Bronx").json()
    assert said["range"] == ["Queens", "Bronx"]
    assert abs(said["count"] - 1000) < 200
    view = server().get(f"/api/v1/releases/{name}/view").json()
    assert view["edges"] == ["Queens", "Bronx", "Kings", None]


def test_nodes_of_a_level_are_those_of_the_library(server: Any) -> None:
    name = server.measured("days-in-levels", column="day", strategy="tree", epsilon=1)
    stored = server("rea").get(f"/api/v1/releases/{name}/measurement").content
    release = tu.infer(tu.Measurement.from_bytes(stored))
    months = server("rea").get(f"/api/v1/releases/{name}/nodes?level=month").json()["nodes"]
    assert [node["label"] for node in months] == [f"2013-{month:02d}" for month in range(1, 13)]
    for node in months:
        own = release.node(node["label"])
        assert node["count"] == own.value
        assert (node["low"], node["high"]) == pytest.approx(own.interval())
    march = months[2]
    part = {"level": "day", "start": march["start"], "stop": march["stop"]}
    days = server("rea").get(f"/api/v1/releases/{name}/nodes", params=part).json()["nodes"]
    assert len(days) == 31
    assert sum(day["count"] for day in days) == pytest.approx(march["count"])
    for wrong in ("level=hour", "level=", "level=month&start=-1"):
        assert server("rea").get(f"/api/v1/releases/{name}/nodes?{wrong}").status_code == 400
