"""Libraries are loaded when something of them is asked for, and are what they are."""

from __future__ import annotations

import subprocess
import sys

import pyarrow
import pytest

from trueup.owner.lazily import _Lazily, pa, pc


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = (
        "import sys; from trueup.owner import people, tally, source\n"
        "known = ('pyarrow', 'pandas', 'polars', 'duckdb', 'psycopg')\n"
        "print([name for name in known if name in sys.modules])\n"
        "from trueup.owner.lazily import pa; pa.int64()\n"
        "print([name for name in known if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[:2] == ["[]", "['pyarrow']"]


def test_what_is_asked_for_is_the_librarys_own() -> None:
    assert pa.Table is pyarrow.Table
    assert pc.sort_indices(pa.array([2, 1])).to_pylist() == [1, 0]


def test_what_is_not_there_is_missed_as_ever() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = pa.no_such_name
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        _ = _Lazily("no_such_library").name
