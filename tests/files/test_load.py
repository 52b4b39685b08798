"""Files are read by their kind: whoever registers a kind can load it, and nobody else need know."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.errors import FileError
from trueup.files import codec
from trueup.files.load import finite, reads


def test_a_registered_kind_is_read_with_its_facts(tmp_path: Path) -> None:
    reads("a toy of the tests", lambda saved: (saved.facts.epsilon, saved.numbers("x", 2).tolist()))
    about = tu.measure([1, 2], tu.CellCounts(2), epsilon="1/3").facts.to_json()
    codec.write(tmp_path / "toy.json", "a toy of the tests", {"x": np.array([3, 4])}, about)
    found = tu.load(tmp_path / "toy.json")
    assert (str(found[0]), found[1]) == ("1/3", [3, 4])


def test_a_kind_that_nobody_registered_is_refused_by_name(tmp_path: Path) -> None:
    codec.write(tmp_path / "x.json", "a poem", {"x": np.array([3])}, {})
    with pytest.raises(tu.FileError, match=r"x\.json holds a 'a poem', which this version"):
        tu.load(tmp_path / "x.json")


def test_files_know_neither_measurements_nor_releases_nor_inference() -> None:
    source = Path(codec.__file__).parent
    words = "".join(path.read_text(encoding="utf-8") for path in source.glob("*.py"))
    for room in ("measurement", "release", "infer", "reconcile", "saved", "owner"):
        assert f"trueup.{room}" not in words


def test_any_part_of_trueup_can_be_imported_first() -> None:
    for module in ("trueup.files.load", "trueup.saved", "trueup.release", "trueup.pictures.map"):
        ran = subprocess.run([sys.executable, "-c", f"import {module}"], check=False)
        assert ran.returncode == 0, module


@pytest.mark.parametrize("column", [["a", "b"], [True, False], [1j, 2], [None, 1], [1, 2, 3], []])
def test_a_column_is_as_many_numbers_as_are_needed_or_refused(column: list[object]) -> None:
    for right in ([1, -2], [0.5, 2.0]):
        assert finite(right, 2).tolist() == right
    with pytest.raises(FileError, match="needs 2 numbers in a column"):
        finite(column, 2)
    for wrong in (math.nan, math.inf):
        with pytest.raises(FileError, match="not finite"):
            finite([wrong, 1.0], 2)
