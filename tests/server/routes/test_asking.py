"""Routes of an analyst who asks, held against the library itself."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import trueup as tu


def test_me_tells_an_analyst_what_is_left(server: Any) -> None:
    said = server().get("/api/v1/me").json()
    assert (said["name"], said["role"], said["limit"]) == ("ana", "analyst", "100")
    own = said["datasets"]["trips"]
    assert Fraction(own["limit"]) - Fraction(own["spent"]) == Fraction(own["remaining"])
    assert server("boss").get("/api/v1/me").json()["limit"] is None


def test_an_allowance_on_a_ledger_that_two_datasets_share_is_told_once_in_the_sum(
    config_of: Any, running_at: Any, tmp_path: Any
) -> None:
    path = config_of(tmp_path)
    later = """
[datasets.later]
source = "trips.parquet"
ledger = "trips.ledger"
limit = "100"
axes.age = {kind = "integers", first = 0, last = 99}
"""
    path.write_text(path.read_text() + later)
    with running_at(path) as server:
        server.measured("paid-once", epsilon=2)
        said = server().get("/api/v1/me").json()
    assert said["datasets"]["later"] == said["datasets"]["trips"]
    assert said["datasets"]["trips"]["spent"] == "2"
    # 50 on the ledger of both, and 50 on that of friends.
    assert (said["limit"], said["spent"], said["remaining"]) == ("100", "2", "98")


def test_datasets_say_what_may_be_asked(server: Any) -> None:
    trips, friends = server("rea").get("/api/v1/datasets").json()["datasets"]
    assert [column["column"] for column in trips["columns"]] == ["fare", "age", "borough", "day"]
    assert tu.Axis.from_json(trips["columns"][0]["axis"]) == tu.Axis.regular("fare", 0, 128, 256)
    assert trips["columns"][0]["describes"] == "numbers from 0 to 128 in 256 cells"
    assert trips["protects"] == "one row"
    assert [each["column"] for each in trips["filters"]] == ["borough", "age"]
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
    assert said.json()["code"] == "bad_request"
    assert says in said.json()["detail"]


@pytest.mark.parametrize("where", ["tip > 3", "fare > 3", "drop table", "borough = 3"])
def test_a_quote_refuses_the_filters_that_a_measurement_refuses(server: Any, where: str) -> None:
    asked = {"column": "fare", "epsilon": "1/10", "where": where}
    quoted = server().post("/api/v1/datasets/trips/quote", json=asked)
    headers = {"Idempotency-Key": "quoted-" + where.replace(" ", "_")}
    measured = server().post("/api/v1/datasets/trips/measure", json=asked, headers=headers)
    assert quoted.status_code == measured.status_code == 400
    assert quoted.json() == measured.json()
    good = {**asked, "where": "age > 20"}
    assert server().post("/api/v1/datasets/trips/quote", json=good).json()["allowed"]


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


def test_sorted_counts_of_a_column(server: Any) -> None:
    name = server.measured("ages-sorted", column="age", strategy="sorted", epsilon=1)
    assert server().get(f"/api/v1/releases/{name}").json()["kind"] == "sorted"


def test_who_says_no_strategy_is_asked_what_everybody_publishes(server: Any) -> None:
    name = server.measured("fares-unsaid", epsilon=1)
    measured = server().get(f"/api/v1/releases/{name}/measurement").content
    planned = tu.plan(tu.Axis.regular("fare", 0, 128, 256), 1, nonnegative=True)
    assert tu.Measurement.from_bytes(measured).question.anew == planned.best
    at_once = server.measured("fares-at-once", epsilon=1, strategy="shown")
    measured = server().get(f"/api/v1/releases/{at_once}/measurement").content
    question = tu.Measurement.from_bytes(measured).question
    assert question == planned["for non-negative counts"].question


def test_adaptive_trees_are_quoted_measured_and_answered(server: Any) -> None:
    name = server.measured("fares-adaptive", strategy="adaptive", epsilon=1)
    told = server().get(f"/api/v1/releases/{name}").json()
    assert told["strategy"] == "adaptive"
    total = server().get(f"/api/v1/releases/{name}/range").json()
    assert total["low"] <= total["count"] <= total["high"]
    view = server().get(f"/api/v1/releases/{name}/view").json()
    assert all(
        a <= c <= b for a, c, b in zip(view["low"], view["counts"], view["high"], strict=True)
    )


def test_history_is_an_analyst_s_own_and_the_owner_s_whole(server: Any, fares: str) -> None:
    other = server.measured("by-the-owner", who="boss", epsilon="1/100")
    own = server().get("/api/v1/datasets/trips/history").json()["charges"]
    every = server("boss").get("/api/v1/datasets/trips/history").json()["charges"]
    assert {charge["by"] for charge in own} == {"ana"}
    assert fares in {charge["release"] for charge in own}
    assert other in {charge["release"] for charge in every}
    assert len(every) > len(own)


def test_a_dataset_says_what_its_columns_and_filters_are(server: Any) -> None:
    trips = server("rea").get("/api/v1/datasets/trips").json()
    fare, age, borough, day = trips["columns"]
    assert (fare["title"], fare["units"], fare["description"]) == (
        "Fare",
        "dollars",
        "What was paid.",
    )
    assert (age["title"], age["units"], age["regions"]) == ("age", None, False)
    assert (borough["labelled"], borough["regions"]) == (True, True)
    assert day["levels"]["month"] == 12
    by_column = {each["column"]: each for each in trips["filters"]}
    assert by_column["borough"]["labels"] == ["Queens", "Bronx", "Kings"]
    assert by_column["borough"]["comparisons"] == ["=", "!=", "in"]
    assert by_column["age"]["type"] == "integer"
    assert "between" in by_column["age"]["comparisons"]
    for each in trips["filters"]:  # and each comparison is one that a quote takes
        for sign in each["comparisons"]:
            value = "'Queens'" if each["type"] == "text" else "3"
            right = {"in": f"({value})", "between": f"{value} and {value}"}.get(sign, value)
            body = {"column": "fare", "epsilon": 1, "where": f"{each['column']} {sign} {right}"}
            said = server("ana").post("/api/v1/datasets/trips/quote", json=body)
            assert said.status_code == 200, said.text


def test_a_grid_is_quoted_and_measured_as_the_library_would(server: Any) -> None:
    columns = [{"column": "age", "range": [0, 80], "cells": 40}, {"column": "borough"}]
    body = {"columns": columns, "epsilon": "1/2"}
    quoted = server("ana").post("/api/v1/datasets/trips/quote", json=body).json()
    assert quoted["cells"] == 120
    assert quoted["axis"] is None
    assert [axis["name"] for axis in quoted["axes"]] == ["age", "borough"]
    assert quoted["cell_choices"][0][:3] == [80, 40, 20]
    assert "a typical box" in quoted["sentence"]
    age = tu.Axis.integers("age", 0, 99).part((0, 80), 40)
    borough = tu.Axis.categories("borough", ["Queens", "Bronx", "Kings"])
    found = tu.plan([age, borough], Fraction(1, 2), nonnegative=True)
    means = {row["strategy"]: row["mean_error"] for row in quoted["strategies"]}
    for word, name in (("flat", "cells alone"), ("tree", "best trees"), ("binary", "binary trees")):
        assert means[word] == pytest.approx(found[name].mean)
    release = server.measured("a-grid-of-two", column=None, columns=columns, epsilon="1/2")
    stored = server("rea").get(f"/api/v1/releases/{release}/measurement").content
    measured = tu.Measurement.from_bytes(stored)
    assert measured.question == found.best
    line = server("rea").get(f"/api/v1/releases/{release}").json()
    assert (line["kind"], line["cells"], line["columns"][1]["regions"]) == ("grid", 120, True)
    assert server.measured("a-grid-of-two", column=None, columns=columns, epsilon="1/2") == release


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns": [{"column": "age"}]},
        {"columns": [{"column": "age"}, {"column": "age"}]},
        {"columns": [{"column": "age"}, {"column": "fare"}], "column": "age"},
        {"columns": [{"column": "age"}, {"column": "none"}]},
        {"columns": [{"column": "age"}, {"column": "fare"}], "strategy": "sorted"},
        {"columns": [{"column": "age"}, {"column": "fare"}], "strategy": "spiral"},
        {"columns": [{"column": "age", "cells": 7}, {"column": "fare"}]},
    ],
    ids=str,
)
def test_a_grid_that_makes_no_sense_is_refused(server: Any, wrong: dict[str, Any]) -> None:
    said = server("ana").post("/api/v1/datasets/trips/quote", json={"epsilon": 1, **wrong})
    assert said.status_code == 400


@pytest.mark.parametrize(
    ("column", "ends"), [("age", None), ("age", [0, 60]), ("fare", [0, 32]), ("day", None)]
)
def test_every_number_of_cells_that_is_offered_can_be_asked(
    server: Any, column: str, ends: Any
) -> None:
    body = {"column": column, "epsilon": 1, "range": ends}
    first = server("ana").post("/api/v1/datasets/trips/quote", json=body).json()
    (choices,) = first["cell_choices"]
    assert choices[0] == first["cells"]
    assert len(choices) > 2
    for cells in choices:
        said = server("ana").post("/api/v1/datasets/trips/quote", json={**body, "cells": cells})
        assert said.json()["cells"] == cells, said.text
