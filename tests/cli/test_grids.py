from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu

Run = Callable[..., Any]

CONFIG = """
[datasets.people]
source = "people.parquet"
ledger = "people.ledger"
limit = "10"

[datasets.people.axes.age]
kind = "integers"
first = 0
last = 99

[datasets.people.axes.sex]
kind = "categories"
labels = ["F", "M"]
"""
ASK = ("measure", "people", "--column", "age", "--column", "sex", "--epsilon", 1, "--yes")


@pytest.fixture
def table(tmp_path: Path) -> dict[str, Any]:
    draw = np.random.default_rng(5)
    made = {"age": draw.integers(0, 100, 5000), "sex": draw.choice(["F", "M"], 5000)}
    pq.write_table(pa.table(made), tmp_path / "people.parquet")
    (tmp_path / "trueup.toml").write_text(CONFIG)
    return made


def test_several_columns_are_measured_as_a_grid(
    run: Run, table: dict[str, Any], tmp_path: Path
) -> None:
    ran = run(*ASK, "-o", "g.parquet", "--json")
    assert (ran.code, ran.err) == (0, "")
    axes = [tu.Axis.integers("age", 0, 99), tu.Axis.categories("sex", ["F", "M"])]
    assert tu.load(tmp_path / "g.parquet").question == tu.plan(axes, 1, nonnegative=True).best
    assert [each["of"] for each in ran.json["expected"]] == [
        "one cell",
        "half of each axis",
        "the total",
    ]
    found = run("query", "g.parquet", "20:30,F", "20:30", ",M", ",", "--json").json
    women = ((table["age"] >= 20) & (table["age"] < 30) & (table["sex"] == "F")).sum()
    wanted = [women, ((table["age"] >= 20) & (table["age"] < 30)).sum(), None, 5000]
    for answer, truth in zip(found["answers"], wanted, strict=True):
        if truth is not None:
            assert abs(answer["value"] - truth) < 12 * answer["std_error"]
            assert answer["low"] < answer["value"] < answer["high"]
    assert found["axis"] == "age, sex"
    assert "age, sex" in run("query", "g.parquet", "20:30,F").out


def test_expected_errors_of_a_grid_are_those_of_its_intervals(
    run: Run, table: dict[str, Any], tmp_path: Path
) -> None:
    expected = run(*ASK, "-o", "g.parquet", "--json").json["expected"]
    low, high = tu.infer(tu.load(tmp_path / "g.parquet")).total().interval(0.95)
    assert expected[-1]["within"] == pytest.approx((high - low) / 2, rel=0.02)


@pytest.mark.parametrize(
    ("strategy", "factors"),
    [
        ("flat", [tu.CellCounts, tu.CellCounts]),
        ("tree", [tu.TreeCounts, tu.TreeCounts]),
        ("hats", [tu.HatCounts, tu.CellCounts]),
    ],
)
def test_a_strategy_is_asked_by_name(
    run: Run, table: dict[str, Any], tmp_path: Path, strategy: str, factors: list[type]
) -> None:
    assert run(*ASK, "--strategy", strategy, "-o", "g.parquet").code == 0
    question = tu.load(tmp_path / "g.parquet").question
    assert [type(factor) for factor in question.factors] == factors


def test_grids_are_shown_inferred_and_drawn(
    run: Run, table: dict[str, Any], tmp_path: Path
) -> None:
    run(*ASK, "-o", "g.parquet")
    assert run("infer", "g.parquet", "--nonnegative", "-o", "r.parquet").code == 0
    assert tu.load(tmp_path / "r.parquet").counts().min() >= 0
    rows = run("show", "r.parquet", "--bars", 8, "--json").json["rows"]
    assert [row["what"] for row in rows][-2:] == ["sex F", "sex M"]
    for words in ([], ["--kind", "error"], ["--margin", "age"], ["--margin", "age, sex"]):
        ran = run("plot", "r.parquet", *words, "-o", "x.html")
        assert ran.code == 0, ran.err
        assert "plotly" in (tmp_path / "x.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*ASK, "--integers", 0, 9], "declared in trueup.toml"),
        ([*ASK, "--branching", 2], "--strategy binary"),
        ([*ASK, "--strategy", "wavelet"], "best, flat, binary, tree, hats"),
        (["measure", "people.parquet", *ASK[2:], "--ledger", "a", "--limit", 1], "trueup.toml"),
        (["measure", "http://x/people", *ASK[2:]], "one column at a time"),
    ],
)
def test_grids_that_make_no_sense_cost_nothing(
    run: Run, table: dict[str, Any], tmp_path: Path, words: list[Any], says: str
) -> None:
    ran = run(*words, "-o", "g.parquet")
    assert ran.code == 1
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "people.ledger").exists()


def test_boxes_of_too_many_ranges_and_margins_of_histograms_are_refused(
    run: Run, table: dict[str, Any], ages: dict[str, Path]
) -> None:
    run(*ASK, "-o", "g.parquet")
    assert "the axes are age, sex" in run("query", "g.parquet", "1:2,F,3:4").err
    assert "no grid" in run("plot", ages["s"], "--margin", "age", "-o", "x.html").err
