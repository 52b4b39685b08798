"""Runs the Python snippets of README.md and docs/*.md, each page in a directory of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

os.environ.pop("PYTHONUNBUFFERED", None)  # programs that tests start print as a user's do

_run = PythonEvaluator()


def _into_a_fresh_directory(namespace: dict[str, Any]) -> None:
    namespace["_home"] = Path.cwd()
    namespace["_fresh"] = tempfile.mkdtemp()
    os.chdir(namespace["_fresh"])


def _back(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_home"])
    shutil.rmtree(namespace["_fresh"])


def _after_those_above(example: Example) -> None:
    """A snippet, once those above it on its page have run: another worker may have had them."""
    ran = example.namespace.setdefault("_ran", set())
    for above in example.document:
        if above.start < example.start and above.start not in ran:
            above.evaluate()
    ran.add(example.start)
    _run(example)


pytest_collect_file = Sybil(
    parsers=[CodeBlockParser("python", _after_those_above)],
    patterns=["README.md", "docs/*.md"],
    setup=_into_a_fresh_directory,
    teardown=_back,
).pytest()
