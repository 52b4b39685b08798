"""Every name and every command that the docs mention is there, in running text too."""

from __future__ import annotations

import functools
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import trueup as tu
from trueup.cli import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
NAME = re.compile(r"(?<![\w.\"'/-])(tu|trueup)((?:\.[A-Za-z_]\w*)+)")
ENDINGS = {"toml", "tokens", "ledger", "md", "py", "parquet"}  # files: trueup.toml
VARIABLES = {
    "release": (tu.Release, tu.SortedRelease, tu.NamedRelease, tu.KeyRelease),
    "estimate": (tu.Estimate,),
    "axis": (tu.Axis,),
    "owner": (tu.Owner,),
    "ledger": (tu.Ledger,),
}
COMMANDS: Any = get_command(app)


def inline(text: str) -> str:
    """The page without its fenced code, which runs as a test of its own."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def found(dotted: str) -> object:
    """What a dotted name stands for: of a public name, or of a module by its path."""
    parts = dotted.split(".")
    for modules in range(1, len(parts) + 1):
        thing: object = importlib.import_module(".".join(parts[:modules]))
        try:
            return functools.reduce(getattr, parts[modules:], thing)
        except AttributeError:
            continue
    raise AssertionError("unreachable: the last module is the thing itself, or cannot be imported")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_of_ours_in_running_text_is_there(page: Path) -> None:
    text = inline(page.read_text(encoding="utf-8"))
    missing = []
    for short, rest in NAME.findall(text):
        if short == "trueup" and rest[1:].split(".")[0] in ENDINGS:
            continue
        try:
            found(f"trueup{rest}")
        except ImportError:
            missing.append(f"{short}{rest}")
    assert missing == []


def test_every_name_of_ours_in_docstrings_messages_and_help_is_there() -> None:
    missing = []
    for module in sorted((ROOT / "src" / "trueup").rglob("*.py")):
        for short, rest in NAME.findall(module.read_text(encoding="utf-8")):
            if short == "tu":
                try:
                    found(f"trueup{rest}")
                except ImportError:
                    missing.append(f"{module.name}: {short}{rest}")
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_attribute_of_a_release_or_an_owner_in_running_text_is_there(page: Path) -> None:
    text = inline(page.read_text(encoding="utf-8"))
    missing = []
    for variable, name in re.findall(r"`(?:\w+_)?(\w+)\.([a-z_]\w*)", text):
        classes = VARIABLES.get(variable, ())
        fields = {field for kind in classes for field in getattr(kind, "__annotations__", {})}
        own = {"ledger", "parquet"} if variable == "owner" else {"parquet"}
        if classes and name not in fields | own and not any(hasattr(k, name) for k in classes):
            missing.append(f"{variable}.{name}")
    assert missing == []


def commands(text: str) -> Iterator[str]:
    """Each command line of ours: in blocks for a shell, and in running text."""
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield from re.findall(r"^trueup .*", block.replace("\\\n", " "), re.MULTILINE)
    yield from re.findall(r"`(trueup [^`]+)`", inline(text))


@functools.cache
def options(path: tuple[str, ...]) -> set[str]:
    command = COMMANDS
    for word in path:
        command = command.commands[word]
    return {option for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_option_in_the_docs_is_there(page: Path) -> None:
    wrong = []
    for line in commands(page.read_text(encoding="utf-8")):
        words = shlex.split(line.replace("…", "X"), comments=True)[1:]
        command, path = COMMANDS, []
        while words and hasattr(command, "commands") and words[0] in command.commands:
            path.append(words.pop(0))
            command = command.commands[path[-1]]
        own = {"--version", "--install-completion", "-h", "--help"}
        if not path and not set(words) & own:
            wrong.append(line)
        known = options(tuple(path)) | own
        wrong += [f"{line}: {word}" for word in words if word[0] == "-" and word not in known]
    assert wrong == []


def test_the_test_of_names_finds_a_name_that_is_not_there() -> None:
    with pytest.raises(ImportError):
        found("trueup.nothing_of_the_kind")
    assert NAME.findall("call tu.Axis.integers(…) or `trueup.audit.forced`") == [
        ("tu", ".Axis.integers"),
        ("trueup", ".audit.forced"),
    ]
    assert list(
        commands("`trueup show x --bars 3` and\n```sh\ntrueup plan \\\n  --json\n```\n")
    ) == [
        "trueup plan    --json",
        "trueup show x --bars 3",
    ]
