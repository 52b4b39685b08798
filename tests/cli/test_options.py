"""Records of options are spelled out as options, and put together again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from trueup.cli.options import spelled_out


@dataclass(frozen=True)
class Colours:
    red: Annotated[int, typer.Option("--red", help="How much red.")] = 1
    green: Annotated[str | None, typer.Option("--green")] = None


def test_each_field_of_a_record_is_an_option() -> None:
    found = []
    app = typer.Typer()

    @app.command()
    @spelled_out
    def paint(what: str, colours: Colours, twice: bool = False) -> None:
        found.append((what, colours, twice))

    ran = CliRunner().invoke(app, ["wall", "--red", "5", "--twice"])
    assert ran.exit_code == 0, ran.output
    assert CliRunner().invoke(app, ["door", "--green", "dark"]).exit_code == 0
    assert found == [("wall", Colours(5), True), ("door", Colours(1, "dark"), False)]
    assert "How much red." in CliRunner().invoke(app, ["--help"]).output
    assert CliRunner().invoke(app, ["wall", "--colours", "5"]).exit_code == 2
