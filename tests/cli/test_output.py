"""Tables look as rich prints them, whoever prints them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

import trueup as tu
from trueup.cli.output import table

TABLES = {
    "a query": (["age", "count", "± std. error"], [["18:65", "2,403", "10.8"]], None),
    "a title": (["strategy", "error"], [["best tree", "615"], ["flat", "43,692"]], "At ε = 1"),
    "no rows": (["key", "ε"], [], None),
    "one column": (["name"], [["a"], ["longer"]], None),
    "wide characters": (["place", "count"], [["東京", "5"], ["Kern", "1,000"]], None),
    "too wide": (["word", "count"], [["long " * 40, "7"], ["x", "12"]], None),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_of_rich(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    headers, rows, title = TABLES[name]
    table(headers, rows, title)
    grid = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2))
    for i, header in enumerate(headers):
        grid.add_column(header, justify="left" if i == 0 else "right", overflow="fold")
    for row in rows:
        grid.add_row(*row)
    printed = io.StringIO()
    Console(file=printed, soft_wrap=False, highlight=False).print(grid)
    found = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert found == [line.rstrip() for line in printed.getvalue().splitlines()]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_an_output_that_cannot_hold_our_signs_has_them_spelled_out(
    encoding: str, tmp_path: Path
) -> None:
    """A redirected output has the encoding of its system, which may lack ±, → and the bars."""
    axis = tu.Axis.categories("town", ["Ünï", "Ünî"])
    tu.infer(tu.measure([3, 4], tu.CellCounts(axis), epsilon=1)).save(tmp_path / "r.parquet")
    kept = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "80"}

    def said(*words: str) -> str:
        command = [sys.executable, "-m", "trueup", *words]
        done = subprocess.run(command, capture_output=True, check=True, env=kept, cwd=tmp_path)
        return done.stdout.decode(encoding)

    shown = said("show", "r.parquet")
    assert ("±" if encoding != "ascii" else "+/-") in shown
    assert "?" not in shown  # labels that differ are not made alike
    assert ("Ünï" if encoding != "ascii" else ascii("Ünï")[1:-1]) in shown
    assert ("→" if encoding == "utf-8" else "->") in said("plan", "--integers", "0", "9")
    asked = json.loads(said("query", "r.parquet", "Ünï", "--json"))
    assert asked["answers"][0]["range"] == "Ünï"
