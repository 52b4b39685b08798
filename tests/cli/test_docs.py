from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from trueup.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def commands(group: Any, path: str = "trueup") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


ALL = dict(commands(get_command(app)))


@pytest.mark.parametrize("path", ALL)
def test_every_command_and_option_is_in_the_page(path: str) -> None:
    sections = dict(re.findall(r"^## `(.+?)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    assert path in sections, f"docs/cli.md has no section for {path}"
    for parameter in ALL[path].params:
        if parameter.param_type_name == "option" and parameter.name != "help":
            longest = max(parameter.opts, key=len)
            assert f"`{longest}" in sections[path], f"{path} {longest} is not in docs/cli.md"


def test_the_page_names_no_command_that_is_not_there() -> None:
    named = set(re.findall(r"^## `(trueup .+?)`$", PAGE, re.MULTILINE))
    assert named == set(ALL)


@pytest.mark.parametrize("path", ALL)
def test_every_command_speaks_json_and_explains_itself(path: str) -> None:
    options = {o for p in ALL[path].params for o in p.opts}
    assert "--json" in options
    assert ALL[path].help
    for parameter in ALL[path].params:
        assert getattr(parameter, "help", None), f"{path} {parameter.name} has no help"
