"""Runs the Python snippets of README.md and docs/*.md, each page in a directory of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser


def _into_a_fresh_directory(namespace: dict[str, Any]) -> None:
    namespace["_home"] = Path.cwd()
    namespace["_fresh"] = tempfile.mkdtemp()
    os.chdir(namespace["_fresh"])


def _back(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_home"])
    shutil.rmtree(namespace["_fresh"])


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/*.md"],
    setup=_into_a_fresh_directory,
    teardown=_back,
).pytest()
