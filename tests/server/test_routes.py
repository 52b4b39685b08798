"""Every route on its good path, held against the library itself."""

from __future__ import annotations

import io
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import trueup as tu
from trueup.server import errors
from trueup.server.auth import open_ledger
from trueup.server.settings import Settings


@pytest.fixture(scope="module")
def fares(server: Any) -> str:
    """A release of fares, in a tree."""
    return str(server.measured("fares-in-a-tree", strategy="tree", epsilon=1))


@pytest.fixture(scope="module")
def release(server: Any, fares: str) -> tu.Release:
    """The same, inferred here from what the server stored."""
    stored = server("rea").get(f"/api/v1/releases/{fares}/measurement").content
    found = tu.infer(tu.Measurement.from_bytes(stored))
    assert isinstance(found, tu.Release)
    return found


def test_health_needs_no_token(server: Any) -> None:
    assert server(None).get("/health").json() == {"status": "ok", "version": tu.__version__}


def test_me_tells_an_analyst_what_is_left(server: Any) -> None:
    said = server().get("/api/v1/me").json()
    assert (said["name"], said["role"], said["limit"]) == ("ana", "analyst", "100")
    own = said["datasets"]["trips"]
    assert Fraction(own["limit"]) - Fraction(own["spent"]) == Fraction(own["remaining"])
    assert server("boss").get("/api/v1/me").json()["limit"] is None


def test_datasets_say_what_may_be_asked(server: Any) -> None:
    trips, friends = server("rea").get("/api/v1/datasets").json()["datasets"]
    assert [column["column"] for column in trips["columns"]] == ["fare", "age", "borough", "day"]
    assert tu.Axis.from_json(trips["columns"][0]["axis"]) == tu.Axis.regular("fare", 0, 128, 256)
    assert trips["columns"][0]["describes"] == "numbers from 0 to 128 in 256 cells"
    assert trips["protects"] == "one row"
    assert trips["filters"] == ["age", "borough"]
    assert trips["yours"] is None
    assert friends["graph"] == {"edges": ["src", "dst"], "kind": "undirected", "nodes": 300}
    assert server().get("/api/v1/datasets/trips").json()["yours"] is not None


def test_a_quote_is_free_and_agrees_with_the_plan(server: Any) -> None:
    before = server().get("/api/v1/me").json()["spent"]
    said = server().post(
        "/api/v1/datasets/trips/quote", json={"column": "fare", "epsilon": "1/10"}
    ).json()  # fmt: skip
    assert server().get("/api/v1/me").json()["spent"] == before
    assert (said["cost"], said["allowed"], said["cells"]) == ("1/10", True, 256)
    plan = tu.plan(tu.Axis.regular("fare", 0, 128, 256), "1/10")
    figures = {row["strategy"]: row for row in said["strategies"]}
    assert figures["flat"]["mean_error"] == pytest.approx(plan["cells alone (L̃)"].mean)
    assert figures["tree"]["mean_error"] == pytest.approx(plan["best tree"].mean)
    assert figures["hats"]["mean_error"] == pytest.approx(plan["hats"].mean)
    paper = "the paper's tree, inferred (H̄)"
    assert figures["binary"]["mean_error"] == pytest.approx(plan[paper].mean)
    assert said["strategies"][0]["best"]
    assert said["strategy"] == said["strategies"][0]["strategy"]
    assert said["sentence"].startswith("±")
    least = tu.error_for(256, "1/10")
    assert figures["hats"]["typical_95"] == pytest.approx(least, rel=0.02)


def test_a_quote_says_when_there_is_not_enough_left(server: Any) -> None:
    said = server().post(
        "/api/v1/datasets/trips/quote", json={"column": "fare", "epsilon": "80"}
    ).json()  # fmt: skip
    assert not said["allowed"]
    assert "is left for you" in said["why_not"]


@pytest.mark.parametrize(
    ("asked", "axis"),
    [
        ({"column": "fare", "range": [0, 64], "cells": 32}, tu.Axis.regular("fare", 0, 64, 32)),
        ({"column": "age", "range": [18, 65]}, tu.Axis.integers("age", 18, 64)),
        ({"column": "age", "cells": 10}, tu.Axis.regular("age", 0, 100, 10)),
        ({"column": "day", "range": ["2013-02", "2013-03"]}, 28),
        ({"column": "day", "cells": 12}, 12),
        ({"column": "borough"}, tu.Axis.categories("borough", ["Queens", "Bronx", "Kings"])),
    ],
)
def test_a_part_of_an_axis_may_be_asked(server: Any, asked: Any, axis: Any) -> None:
    said = server().post("/api/v1/datasets/trips/quote", json={"epsilon": 1, **asked}).json()
    found = tu.Axis.from_json(said["axis"])
    assert found.size == axis if isinstance(axis, int) else found == axis


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"column": "fare", "range": [0, 200]}, "outside axis"),
        ({"column": "fare", "cells": 300}, "divides 256"),
        ({"column": "fare", "cells": 7}, "divides 256"),
        ({"column": "fare", "range": [3, 3]}, "no cell"),
        ({"column": "day", "cells": 13}, "12 (month)"),
        ({"column": "borough", "range": ["Queens", "Kings"]}, "as a whole"),
        ({"column": "borough", "strategy": "hats"}, "cannot be asked by 'hats'"),
        ({"column": "tip"}, "Declared axes: fare"),
        ({"column": "fare", "epsilon": "0"}, "positive"),
        ({"column": "fare", "epsilon": "NaN"}, "epsilon"),
        ({"column": "fare", "colour": "red"}, "colour"),
        ({"column": "fare", "workload": "all"}, "workload"),
    ],
)
def test_a_wrong_question_is_told_what_is_wrong(server: Any, asked: Any, says: str) -> None:
    body = {"epsilon": 1, **asked}
    said = server().post("/api/v1/datasets/trips/quote", json=body)
    assert said.status_code == 400
    assert said.json()["error"]["code"] == "bad_request"
    assert says in said.json()["error"]["message"]


@pytest.mark.parametrize("where", ["tip > 3", "fare > 3", "drop table", "borough = 3"])
def test_filters_use_declared_columns_alone(server: Any, where: str) -> None:
    before = server().get("/api/v1/datasets/trips").json()["spent"]
    said = server().post(
        "/api/v1/datasets/trips/measure",
        json={"column": "fare", "epsilon": 1, "where": where},
        headers={"Idempotency-Key": "filter-" + where.replace(" ", "_")},
    )
    assert said.status_code == 400
    assert server().get("/api/v1/datasets/trips").json()["spent"] == before


def test_a_measurement_is_what_the_owner_would_have_made(server: Any, fares: str) -> None:
    listed = server("rea").get("/api/v1/releases").json()["releases"]
    line = next(line for line in listed if line["id"] == fares)
    assert (line["dataset"], line["column"], line["strategy"]) == ("trips", "fare", "tree")
    assert (line["epsilon"], line["cells"], line["by"]) == ("1", 256, "ana")
    stored = server("rea").get(f"/api/v1/releases/{fares}/measurement").content
    measured = tu.Measurement.from_bytes(stored)
    assert measured.question == tu.TreeCounts(tu.Axis.regular("fare", 0, 128, 256))
    assert (measured.epsilon, measured.private, measured.unit) == (1, True, "row")
    # The noise is real: 3,000 rows, and every cell within what no noise of ε = 1 would pass.
    total = tu.infer(measured).total()
    assert abs(total.value - 3000) < 40 * total.std_error


def test_a_filter_counts_fewer(server: Any) -> None:
    name = server.measured("queens-only", where="borough = 'Queens'", epsilon=5)
    one = server().get(f"/api/v1/releases/{name}").json()
    assert one["where"] == "borough = 'Queens'"
    total = server().get(f"/api/v1/releases/{name}/range").json()
    assert total["count"] < 2000


def test_one_range_is_the_library_s(server: Any, fares: str, release: tu.Release) -> None:
    said = server("rea").get(f"/api/v1/releases/{fares}/range?low=0&high=20&level=0.9").json()
    one = release.range(0, 20)
    assert (said["count"], said["standard_error"]) == (one.value, one.std_error)
    assert (said["low"], said["high"]) == one.interval(0.9)
    again = server("rea").get(f"/api/v1/releases/{fares}/range?low=0&high=20&level=0.9")
    assert again.json() == said


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


def test_sorted_counts_of_a_column(server: Any) -> None:
    name = server.measured("ages-sorted", column="age", strategy="sorted", epsilon=1)
    assert server().get(f"/api/v1/releases/{name}").json()["kind"] == "sorted"


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


def test_history_is_an_analyst_s_own_and_the_owner_s_whole(server: Any, fares: str) -> None:
    other = server.measured("by-the-owner", who="boss", epsilon="1/100")
    own = server().get("/api/v1/datasets/trips/history").json()["charges"]
    every = server("boss").get("/api/v1/datasets/trips/history").json()["charges"]
    assert {charge["by"] for charge in own} == {"ana"}
    assert fares in {charge["release"] for charge in own}
    assert other in {charge["release"] for charge in every}
    assert len(every) > len(own)


def test_the_ledger_is_verified(server: Any, fares: str) -> None:
    said = server("boss").post("/api/v1/datasets/trips/verify").json()
    assert said["entries"] >= 4
    assert "nothing lost" in said["sentence"]


def test_metrics_count_requests_by_route_and_status(server: Any) -> None:
    for _ in range(2):  # a request is counted once it has been answered
        server(None).get("/health")
    lines = server("boss").get("/metrics").text.splitlines()
    assert any('route="/health",status="200"' in line for line in lines)
    assert not any("trips" in line for line in lines)


def test_every_route_is_in_the_openapi_document(server: Any) -> None:
    document = server(None).get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            assert route["responses"], path
            assert "422" not in route["responses"]
            assert route["summary"], method
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")


def test_every_route_is_in_the_docs(server: Any) -> None:
    for path in server(None).get("/openapi.json").json()["paths"]:
        assert f"{path}`" in PAGE or f"{path}?" in PAGE, path


def test_every_setting_and_every_error_is_in_the_docs() -> None:
    for field in fields(Settings):
        assert f"`{field.name}`" in PAGE or f"\n{field.name} = " in PAGE, field.name
    for _, status, code in errors._KINDS:
        assert str(status) in PAGE
        assert f"`{code}`" in PAGE
