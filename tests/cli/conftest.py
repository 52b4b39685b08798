"""Runs commands as a shell would: words in; exit code, output and errors out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output, which must be one JSON document."""
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def running(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["trueup", *map(str, words)])
        capsys.readouterr()
        code: Any = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Ran(int(code), out, err)

    return running


@pytest.fixture
def ages(tmp_path: Path) -> dict[str, Path]:
    """A measurement, its release, and a sorted release, each in a file."""
    axis = tu.Axis.integers("age", 0, 99)
    measured = tu.measure(np.arange(100) * 10, tu.TreeCounts(axis), epsilon=1)
    measured.save(tmp_path / "m.parquet")
    tu.infer(measured).save(tmp_path / "r.parquet")
    tu.infer(tu.measure(np.arange(50), tu.SortedCounts(50, adaptive=False), epsilon=1)).save(
        tmp_path / "s.parquet"
    )
    return {name: tmp_path / f"{name}.parquet" for name in "mrs"}
