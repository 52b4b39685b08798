"""A thousand requests that schemathesis makes from the OpenAPI document; `make fuzz` sends more."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def script() -> ModuleType:
    """The script beside this test."""
    place = Path(__file__).with_name("fuzz.py")
    spec = importlib.util.spec_from_file_location("server_fuzz", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_no_request_is_an_internal_error(serving: Any) -> None:
    server = serving(limit=10**9, server="most_measurements = 4", deadline=0.01)
    seen = script().attack(server, 1_150)  # routes without parameters have few cases
    assert sum(seen.values()) >= 1_000
    assert seen[200] > 100
    assert seen[400] > 100
    assert seen[401] > 20
    assert seen[404] > 20
