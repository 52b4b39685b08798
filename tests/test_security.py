"""docs/security.md names a test for each promise; every one of them must exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
PROMISES = PAGE.partition("## The promise")[2].partition("## What is not promised")[0]
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


def defined_in(path: Path) -> set[str]:
    """The tests that a file defines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_the_security_page_names_exists() -> None:
    assert len(NAMED) >= 20
    for file, name in NAMED:
        assert name.startswith("test_")
        assert name in defined_in(ROOT / file), f"{file}::{name}"


def test_every_promise_names_its_test() -> None:
    rows = [line for line in PROMISES.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 20
    for row in rows:
        assert re.search(r"`tests/[\w/]+\.py::test_\w+`", row), row


def test_every_command_that_the_security_page_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = set(re.findall(r"`make ([\w-]+)`", PAGE))
    assert "neighbours" in commands
    for command in commands:
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command
