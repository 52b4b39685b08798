"""Releases of every kind, for tests of what is answered about them."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module")
def names(server: Any, fares: str) -> dict[str, str]:
    columns = [{"column": "age"}, {"column": "borough"}]
    return {
        "release": fares,
        "graph": server.measured("told-graph", dataset="friends", column=None),
        "days": server.measured("told-days", column="day"),
        "grid": server.measured("told-grid", column=None, columns=columns),
    }
