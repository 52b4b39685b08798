from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import trueup as tu

Run = Callable[..., Any]


@pytest.mark.parametrize("which", ["m", "r", "s"])
def test_a_record_is_printed_as_yaml_with_its_risk_and_citation(
    run: Run, ages: dict[str, Path], which: str
) -> None:
    ran = run("record", ages[which])
    assert ran.code == 0
    found = yaml.safe_load(ran.out)
    assert found["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert "# The risk: ε = 1: somebody" in ran.out
    assert f"# To cite: trueup {tu.__version__}" in ran.out


def test_json_and_files_say_the_same(run: Run, ages: dict[str, Path], tmp_path: Path) -> None:
    printed = run("record", ages["r"], "--json").json
    ran = run("record", ages["r"], "-o", tmp_path / "record.yaml")
    assert ran.code == 0
    assert "fields need your judgement" in ran.out
    assert run("record", ages["r"], "-o", tmp_path / "record.json", "--json").json["to_fill_in"]
    assert yaml.safe_load((tmp_path / "record.yaml").read_text("utf-8")) == printed["record"]
    assert json.loads((tmp_path / "record.json").read_text("utf-8")) == printed
    assert "deployment.basic.name" in printed["to_fill_in"]


def test_a_record_reads_no_count(run: Run, ages: dict[str, Path], tmp_path: Path) -> None:
    other = tu.infer(tu.measure([5] * 100, tu.TreeCounts(tu.Axis.integers("age", 0, 99)), 1))
    other.save(tmp_path / "other.parquet")
    assert run("record", ages["r"]).out == run("record", tmp_path / "other.parquet").out


def test_what_cannot_be_recorded_is_refused_in_one_line(
    run: Run, ages: dict[str, Path], tmp_path: Path
) -> None:
    ran = run("record", ages["r"], "-o", tmp_path / "record.txt")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "must end in .yaml or .json" in ran.err
    assert run("record", tmp_path / "nothing.parquet").code == 5
    assert run("record", ages["r"], "-o", tmp_path / "no" / "record.yaml").code == 5
    tu.reconcile({"a": (1, 1), "b": (2, 1)}, ["a = b"]).save(tmp_path / "typed.parquet")
    ran = run("record", tmp_path / "typed.parquet")
    assert ran.code == 1
    assert "do not say what they cost" in ran.err


def test_keys_are_recorded(run: Run, tmp_path: Path) -> None:
    question = tu.KeyCounts(tu.Universe.text("a-z", 6), by="word")
    tu.measure_keys({"fig": 500}, question, epsilon=1).save(tmp_path / "words.parquet")
    ran = run("record", tmp_path / "words.parquet")
    assert ran.code == 0, ran.err
    found = yaml.safe_load(ran.out)["deployment"]
    assert "universe text" in found["dp_variant"]["data_domain"]
    assert "fig" not in ran.out
