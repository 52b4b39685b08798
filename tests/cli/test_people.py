"""People at the command line: features as typed are those of the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.cli.people import features

Run = Callable[..., Any]


def test_features_are_read_as_typed() -> None:
    assert features(["visits=count:*", "first = first:shop, by:day"]) == {
        "visits": tu.Person(count="*"),
        "first": tu.Person(first="shop", by="day"),
    }
    assert features(["d=any:*,where:fare > 5 and shop in ('a', 'b:c')"]) == {
        "d": tu.Person(any="*", where="fare > 5 and shop in ('a', 'b:c')")
    }


@pytest.mark.parametrize(
    "typed", ["visits", "=count:*", "x=", "x=count", "x=count:", "x=max:a,max:b", "x=mean:fare"]
)
def test_what_is_no_feature_is_refused(typed: str) -> None:
    with pytest.raises(tu.InputError):
        features([typed])
    with pytest.raises(tu.InputError, match="names a feature once"):
        features(["x=count:*", "x=count:*"])


def test_people_are_measured_and_not_said_to_be_cut_short(run: Run, tmp_path: Path) -> None:
    rows = {"user": ["a", "a", "b", "c", "c", "c"], "fare": [1.0, 9.0, 2.0, 3.0, 4.0, 5.0]}
    pq.write_table(pa.table(rows), tmp_path / "trips.parquet")
    words = ["measure", "trips.parquet", "--unit", "user", "--ledger", "x", "--limit", "5000"]
    words += ["--epsilon", "500", "-o", "m.parquet", "--yes"]
    ran = run(*words, "--person", "visits=count:*", "--column", "visits", "--integers", "0", "5")
    assert ran.code == 0, ran.err
    assert "are counted" not in ran.out
    found = tu.infer(tu.load(tmp_path / "m.parquet"))
    assert found.counts().round().tolist() == [0, 1, 1, 1, 0, 0]
    words += ["--person", "top=max:fare", "--column", "top", "--range", "0", "10", "--bins", "2"]
    assert run(*words).code == 0
    assert tu.infer(tu.load(tmp_path / "m.parquet")).counts().round().tolist() == [1, 2]
    assert "names a feature" in run(*words, "--person", "top").err


def test_people_of_a_declared_dataset_are_measured(run: Run, tmp_path: Path) -> None:
    rows = {"user": ["a", "a", "b", "c", "c", "c"], "fare": [1.0, 9.0, 2.0, 3.0, 4.0, 5.0]}
    pq.write_table(pa.table(rows), tmp_path / "trips.parquet")
    (tmp_path / "trueup.toml").write_text(
        '[datasets.riders]\nsource = "trips.parquet"\nledger = "x"\nlimit = 5000\nunit = "user"\n'
        'people.visits = {count = "*"}\naxes.visits = {kind = "integers", first = 0, last = 5}\n'
    )
    words = ["measure", "riders", "--epsilon", "500", "-o", "m.parquet", "--yes"]
    ran = run(*words)
    assert ran.code == 0, ran.err
    found = tu.infer(tu.load(tmp_path / "m.parquet"))
    assert found.counts().round().tolist() == [0, 1, 1, 1, 0, 0]
    assert found.facts.features
