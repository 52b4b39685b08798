"""A ledger of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

import trueup as tu


@pytest.fixture
def ledger(tmp_path: Path) -> tu.Ledger:
    return tu.Ledger(tmp_path / "ledger", limit=10**9)
