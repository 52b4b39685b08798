"""A question in one file of its own goes through command line, server and page unchanged.

Both run as processes of their own in which that one file is imported, and nothing more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

import trueup as tu

from .conftest import SOURCE, Site, make_site

TESTS = Path(__file__).parents[1]
PROGRAM = "import toy_question, sys; from trueup.cli import main; sys.argv[0] = 'trueup'; main()"


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(SOURCE), str(TESTS), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def command(folder: Path, *words: object) -> str:
    """What the command line prints, with the toy's file imported."""
    run = [sys.executable, "-c", PROGRAM, *map(str, words)]
    ran = subprocess.run(run, cwd=folder, env=environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_command_line_plans_asks_infers_and_answers_it(tmp_path: Path) -> None:
    ages = np.random.default_rng(5).integers(0, 60, 3_000)
    pq.write_table(pa.table({"age": ages}), tmp_path / "people.parquet")
    axis = ("--column", "age", "--integers", 0, 59)
    assert "cells and pairs" in command(tmp_path, "plan", "--integers", 0, 59, "--epsilon", 1)
    paid = ("--epsilon", 1, "--ledger", "a.ledger", "--limit", 1, "--yes")
    command(
        tmp_path, "measure", "people.parquet", *axis, *paid, "--strategy", "pairs",
        "-o", "m.parquet",
    )  # fmt: skip
    command(tmp_path, "infer", "m.parquet", "-o", "r.parquet")
    answer = command(tmp_path, "query", "r.parquet", "10:20")
    count = int(answer.splitlines()[1].split()[1].replace(",", ""))
    assert abs(count - np.count_nonzero((ages >= 10) & (ages < 20))) < 60
    with pytest.raises(tu.FileError, match="not known to this version"):
        tu.load(tmp_path / "m.parquet")  # here nobody registered it


@pytest.fixture
def with_toy(tmp_path: Path) -> Iterator[Site]:
    made = make_site(tmp_path, deadline=0.3)
    program = [sys.executable, "-c", PROGRAM, "serve", "--port", str(made.port)]
    made.start(program, environment())
    yield made
    made.kill()


def test_a_server_offers_and_measures_it_and_the_page_draws_it(
    with_toy: Site, opened: Callable[..., Page]
) -> None:
    release = with_toy.measure("trips", column="day", epsilon="1/2", strategy="pairs")
    answer = with_toy.call(f"/releases/{release}/range?low=2013-02-01&high=2013-03-01")
    assert answer["low"] < answer["count"] < answer["high"]
    page = opened(f"#/release/{release}", at=with_toy)
    expect(page.locator(".picture .bars path").first).to_be_attached()
