"""Files of a release: bounded where they take long, and of every format the same counts."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import trueup as tu
from trueup.config import read_config
from trueup.server import written
from trueup.server.errors import FieldError
from trueup.server.opened import OpenedMeasurement
from trueup.server.releases import release_id
from trueup.server.service import Service, open_service
from trueup.server.written import rows_file


@pytest.fixture
def service(config_of: Callable[..., Path], tmp_path: Path) -> Iterator[Service]:
    found = open_service(read_config(config_of(tmp_path)))
    yield found
    found.jobs.close()


def test_a_file_of_text_is_bounded_and_others_are_not(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    axis = tu.Axis.integers("age", 0, 99)
    service.tables["trips"].owner.measure(tu.CellCounts(axis), "1/10")
    ((table, charge),) = service.releases.all()
    opened = service.releases.open(release_id(table, charge))
    monkeypatch.setattr(written, "_MOST_WRITTEN", 99)
    for kind in ("csv", "json"):
        with pytest.raises(tu.InputError, match="Take parquet or arrow"):
            written.release_file(opened, "unbiased", kind)  # type: ignore[arg-type]
        with pytest.raises(tu.InputError, match="Take parquet or arrow"):
            written.measurement_file(opened, kind)  # type: ignore[arg-type]
    for kind in ("parquet", "arrow"):
        assert written.release_file(opened, "whole", kind)  # type: ignore[arg-type]
    monkeypatch.setattr(written, "_MOST_WRITTEN", 100)
    assert written.release_file(opened, "unbiased", "csv")


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_synthetic_rows_tabulate_to_the_whole_counts_exactly(server: Any, kind: str) -> None:
    columns = [{"column": "age", "cells": 10}, {"column": "borough"}]
    grid = server.measured("rows-grid", column=None, columns=columns, epsilon=1)
    ask, address = server("rea").get, f"/api/v1/releases/{grid}"
    said = ask(f"{address}/rows?format={kind}")
    assert said.headers["content-disposition"].endswith(f'"{grid}.rows.{kind}"')
    data = io.BytesIO(said.content)
    if kind == "csv":
        rows = csv.read_csv(data)
        assert "synthetic: no row is a person" in rows["synthetic"][0].as_py()
    else:
        rows = pq.read_table(data) if kind == "parquet" else pa.ipc.open_file(data).read_all()
    whole = pq.read_table(io.BytesIO(ask(f"{address}/file?version=whole").content)).to_pandas()
    frame = rows.to_pandas()
    counted = frame.groupby([frame.age // 10, frame.borough.astype(str)]).size()
    assert len(frame) == whole["count"].sum()
    for cell in whole.to_dict("records"):
        assert counted.get((int(cell["age low"]) // 10, cell["borough label"]), 0) == cell["count"]


def test_rows_say_what_was_invented_and_are_refused_where_they_make_no_sense(server: Any) -> None:
    ask = server("rea").get
    fares = server.measured("rows-fares", epsilon=1)
    report = ask(f"/api/v1/releases/{fares}/rows?format=json").json()
    assert report["synthetic"] is True
    assert report["invented"]["inside cells"]["columns"] == ["fare"]
    middle = ask(f"/api/v1/releases/{fares}/rows?inside=middle").content
    assert set(pq.read_table(io.BytesIO(middle))["fare"].to_pylist()) <= {
        0.25 + n / 2 for n in range(256)
    }
    friends = server.measured("rows-friends", dataset="friends", column=None)
    assert ask(f"/api/v1/releases/{friends}/rows").status_code == 400
    many = OpenedMeasurement(fares, ask(f"/api/v1/releases/{fares}/measurement").content)
    with pytest.MonkeyPatch.context() as during:
        during.setattr(written, "_MOST_ROWS", 100)
        with pytest.raises(FieldError, match="more than the 100 that are sent as parquet"):
            rows_file(many, "parquet", "uniform")
