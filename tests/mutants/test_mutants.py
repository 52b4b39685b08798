"""Planted faults are caught: a random dozen of the quick ones; `make mutants` tries them all."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from .run import ROOT, faults, quick, run

pytestmark = pytest.mark.skipif("TRUEUP_MUTANT" in os.environ, reason="inside a planted fault")
DOZEN = 12


def test_every_fault_can_be_planted() -> None:
    """The text that a fault changes is there exactly once: code that moves takes it along."""
    wrong = {fault.title: why for fault in faults() if (why := fault.check(ROOT))}
    assert not wrong
    assert len([fault for fault in faults() if not fault.harmless]) >= 150


def test_every_area_has_its_faults() -> None:
    rooms = {fault.file.split("/")[0] for fault in faults()}
    assert rooms >= {
        "ask", "noise.py", "measure.py", "onepass.py", "publishing.py", "shortcuts.py", "infer",
        "release", "owner", "server", "files", "plan", "axis", "cli", "_kernels", "law.py",
    }  # fmt: skip


def test_a_random_dozen_is_caught(tmp_path: Path) -> None:
    seed = int(os.environ.get("MUTANTS_SEED", random.SystemRandom().randrange(10**6)))
    print(f"MUTANTS_SEED={seed}")
    chosen = random.Random(seed).sample(quick(faults()), DOZEN)
    found = run(chosen, [tmp_path])
    survived = [one.fault.title for one in found if one.by is None]
    assert not survived, f"MUTANTS_SEED={seed}: {survived}"
