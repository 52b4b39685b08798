"""Whatever can fail to load fails before the charge; what need not fail does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import trueup

MEASURED = """
import numpy as np, pyarrow as pa, sys, trueup as tu
{before}
from trueup.warming import machine_code_only
machine_code_only()
ledger = tu.Ledger(sys.argv[1], limit=1)
owner = tu.Owner(pa.table({{"x": np.arange(9)}}), ledger)
try:
    found = owner.measure(tu.CellCounts(tu.Axis.integers("x", 0, 99_999)), epsilon="3/10")
    {after}
    print(len(found.noisy), ledger.remaining)
except Exception as error:
    print(type(error).__name__, ledger.remaining)
"""


def measured(
    folder: Path, package: Path, before: str = "", after: str = "pass", **environment: str
) -> str:
    """What a process prints that measures 100,000 cells by machine code."""
    clean = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED.format(before=before, after=after), str(folder / "ledger")],
        env={**clean, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.fixture
def read_only(tmp_path: Path) -> Path:
    """A copy of the package in which nobody, root included, can keep compiled code."""
    own = Path(trueup.__file__).parent
    copy = tmp_path / "installed"
    shutil.copytree(own, copy / "trueup", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy / "trueup", *(copy / "trueup").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("a file where a folder would be")
    return copy


def test_a_read_only_install_without_a_home_compiles_and_answers(
    tmp_path: Path, read_only: Path
) -> None:
    nowhere = "/proc/version/home"  # a file is no folder, for root neither
    inferred = "tu.infer(found, nonnegative=True)"
    printed = measured(tmp_path, read_only, after=inferred, HOME=nowhere, XDG_CACHE_HOME=nowhere)
    assert printed == "100000 7/10"


def test_a_cache_that_breaks_later_costs_nothing(tmp_path: Path) -> None:
    """The folder was there when numba looked; when it writes, the disk is full."""
    package = Path(trueup.__file__).parents[1]
    broken = """
from numba.core.caching import IndexDataCacheFile
def save(*given): raise OSError(28, "No space left on device")
IndexDataCacheFile.save = save
"""
    cache = str(tmp_path / "cache")
    assert measured(tmp_path, package, broken, NUMBA_CACHE_DIR=cache) == "100000 7/10"


def test_a_damaged_cache_is_as_good_as_none(tmp_path: Path) -> None:
    package = Path(trueup.__file__).parents[1]
    cache = tmp_path / "cache"
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        printed = measured(tmp_path / name, package, NUMBA_CACHE_DIR=str(cache))
        assert printed == "100000 7/10"
        files = [path for path in cache.rglob("*.nb?") if path.is_file()]
        assert files
        for path in files:
            path.write_bytes(b"junk")


@pytest.mark.parametrize("library", ["cryptography", "flint"])
def test_nothing_is_charged_when_a_library_cannot_be_loaded(tmp_path: Path, library: str) -> None:
    package = Path(trueup.__file__).parents[1]
    gone = f"sys.modules[{library!r}] = None"
    kind, remaining = measured(tmp_path, package, gone).split()
    assert kind.endswith("Error")
    assert remaining == "1"


def test_without_numba_there_is_an_answer_all_the_same(tmp_path: Path) -> None:
    package = Path(trueup.__file__).parents[1]
    inferred = "tu.infer(found, nonnegative=True)"
    assert measured(tmp_path, package, "sys.modules['numba'] = None", inferred) == "100000 7/10"
