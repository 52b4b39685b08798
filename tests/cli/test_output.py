"""Tables look as rich prints them, whoever prints them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

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
