"""A saved measurement needs no data and no ledger: the same inference, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment

QUESTIONS = [
    tu.CellCounts(40),
    tu.TreeCounts(100, 3),
    tu.TreeCounts(64, radices=[4, 16], shares=["1/10", "3/10", "6/10"]),
    tu.TreeCounts(tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": [], "TX": ["Bell"]})),
    tu.TreeCounts(tu.Axis.dates("day", "2012-11-15", "2013-02-10"), levels=["year", "month"]),
    tu.SortedCounts(50, adaptive=False),
    tu.SortedCounts(50, ends=2, adaptive=False),
    tu.NamedCounts(6, {"all": slice(None), "a": [0, 1, 2], "b": [3, 4], "c": [5], "d": [1, 5]}),
]


def measured(question, law="discrete", neighbours="add-remove"):
    rng = np.random.default_rng(question.size)
    counts = rng.integers(0, 500, question.size)
    return measure_for_experiment(counts, question, "1/7", rng, law, neighbours)


@pytest.mark.parametrize("ending", ["parquet", "json"])
@pytest.mark.parametrize("law", ["discrete", "continuous"])
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{type(q).__name__}{q.size}")
def test_a_saved_measurement_gives_the_same_inference_bit_for_bit(question, law, ending, tmp_path):
    m = measured(question, law, "replace")
    m.save(tmp_path / f"m.{ending}")
    again = tu.load(tmp_path / f"m.{ending}")
    assert again == m
    assert again.noisy.dtype == m.noisy.dtype
    assert again.noise.scales == m.noise.scales
    one, other = tu.infer(m), tu.infer(again)
    assert one.counts().tobytes() == other.counts().tobytes()
    mine, theirs = one.columns(), other.columns()
    assert all(np.array_equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.parametrize("ending", ["parquet", "json"])
def test_a_saved_release_answers_as_before(ending, tmp_path):
    m = measured(tu.TreeCounts(100, 3))
    for release in (tu.infer(m), tu.infer(m, nonnegative=True, integers=True)):
        release.save(tmp_path / f"r.{ending}")
        again = tu.load(tmp_path / f"r.{ending}")
        assert again.prefix.tobytes() == release.prefix.tobytes()
        assert again.prefix.dtype == release.prefix.dtype
        for low, high in ((0, 100), (3, 50), (99, 100)):
            one, other = release.range(low, high), again.range(low, high)
            assert one.value == other.value
            assert one.unbiased.std_error == other.unbiased.std_error
            assert one.unbiased.interval(0.9) == other.unbiased.interval(0.9)
        assert np.array_equal(again.cdf(), release.cdf())
    ordered = tu.infer(measured(tu.SortedCounts(50, adaptive=False)))
    ordered.save(tmp_path / f"s.{ending}")
    again = tu.load(tmp_path / f"s.{ending}")
    assert all(np.array_equal(a, b) for a, b in zip(again.band(), ordered.band(), strict=True))
    assert again.total().std_error == ordered.total().std_error
    named = tu.infer(measured(QUESTIONS[-1]))
    named.save(tmp_path / f"q.{ending}")
    again = tu.load(tmp_path / f"q.{ending}")
    assert (again["all"] - again["a"]).std_error == (named["all"] - named["a"]).std_error
    assert again["a"].interval(0.9) == named["a"].interval(0.9)


def test_an_experiment_keeps_its_stamp_in_the_file(tmp_path):
    for question in QUESTIONS:
        m = measured(question)
        for number, thing in enumerate((m, tu.infer(m))):
            for ending in ("parquet", "json"):
                path = tmp_path / f"{number}.{ending}"
                thing.save(path)
                assert "NOT PRIVATE" in repr(tu.load(path))
                assert b'"private": false' in path.read_bytes() or ending == "parquet"


def test_what_was_published_can_be_saved_and_loaded(tmp_path):
    counts = np.arange(100)
    for question in (tu.TreeCounts(100), tu.CellCounts(100), tu.SortedCounts(100, adaptive=False)):
        release = tu.publish(
            counts, question, "1/7", "replace", unit="person", rows_per_unit=3, nonnegative=False
        )
        release.save(tmp_path / "r.parquet")
        again = tu.load(tmp_path / "r.parquet")
        assert np.array_equal(again.counts(), release.counts())
        assert again.facts == release.facts
    for wrong in ({"unit": 5}, {"unit": ""}, {"rows_per_unit": 0}, {"rows_per_unit": 10**12}):
        with pytest.raises(tu.InputError):
            tu.publish(counts, tu.TreeCounts(100), 1, **wrong)


def test_epsilon_survives_exactly(tmp_path):
    m = tu.measure([1, 2, 3], tu.CellCounts(3), "1/3")
    m.save(tmp_path / "m.json")
    assert tu.load(tmp_path / "m.json").epsilon == m.epsilon
    assert tu.load(tmp_path / "m.json").private


def test_loading_runs_nothing_from_the_file():
    # Neither pickle nor eval, exec or a dynamic import is anywhere on the way.
    source = Path(tu.__file__).parent
    for name in (
        "files/codec.py",
        "files/load.py",
        "saved.py",
        "facts.py",
        "measurement.py",
        "axis/__init__.py",
        "ask/__init__.py",
    ):
        code = (source / name).read_text()
        for word in ("pickle", "eval(", "exec(", "__import__", "importlib", "yaml", "allow_pickle"):
            assert word not in code


def test_an_analyst_with_the_file_alone_gets_the_same_counts(tmp_path):
    m = measured(tu.TreeCounts(100, 3))
    m.save(tmp_path / "m.parquet")
    code = (
        "import sys, trueup as tu\n"
        "release = tu.infer(tu.load(sys.argv[1]))\n"
        "print(release.counts().tobytes().hex())\n"
        "assert not [m for m in sys.modules if m.startswith('trueup.owner')]\n"
    )
    env = {"PYTHONPATH": str(Path(tu.__file__).parents[1]), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.parquet")],
        capture_output=True, text=True, check=True, env=env,
    )  # fmt: skip
    assert done.stdout.strip() == tu.infer(m).counts().tobytes().hex()
