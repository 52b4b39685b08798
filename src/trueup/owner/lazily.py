"""Libraries that are loaded when something of them is first asked for.

They take a while to load, not all need them, and some may not be installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Lazily:
    """A module that is loaded with the first of its names that is looked up."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


pa: Any = _Lazily("pyarrow")
pc: Any = _Lazily("pyarrow.compute")
pd: Any = _Lazily("pandas")
pl: Any = _Lazily("polars")
duckdb: Any = _Lazily("duckdb")
psycopg: Any = _Lazily("psycopg")
