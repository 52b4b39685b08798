"""Planted faults are caught: a random few of the quick ones; `make mutants` tries them all."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from .run import ROOT, caught_before, faults, is_there, quick, run

pytestmark = pytest.mark.skipif("TRUEUP_MUTANT" in os.environ, reason="inside a planted fault")
FEW = 6


def test_every_fault_can_be_planted() -> None:
    """The text that a fault changes is there exactly once: code that moves takes it along."""
    wrong = {fault.title: why for fault in faults() if (why := fault.check(ROOT))}
    assert not wrong
    assert len([fault for fault in faults() if not fault.harmless]) >= 150


def test_the_tests_that_caught_faults_are_there() -> None:
    """A test that moves takes its place in the record along."""
    before = caught_before()
    caught = [str(before[one.title]["by"]) for one in faults() if one.title in before]
    assert len(caught) >= 150
    assert not [test for test in caught if not is_there(test, ROOT)]
    assert not is_there("tests/mutants/test_mutants.py::test_that_is_nowhere", ROOT)
    assert not is_there("tests/mutants/test_nothing.py", ROOT)


def test_every_area_has_its_faults() -> None:
    rooms = {fault.file.split("/")[0] for fault in faults()}
    assert rooms >= {
        "ask", "noise.py", "measure.py", "onepass.py", "publishing.py", "shortcuts.py", "infer",
        "release", "owner", "server", "files", "plan", "axis", "cli", "_kernels", "law.py",
    }  # fmt: skip


def test_a_random_few_are_caught(tmp_path: Path) -> None:
    seed = int(os.environ.get("MUTANTS_SEED", random.SystemRandom().randrange(10**6)))
    print(f"MUTANTS_SEED={seed}")
    chosen = random.Random(seed).sample(quick(faults()), FEW)
    found = run(chosen, [tmp_path], patience=45.0)  # all of them within a test's own limit
    survived = [one.fault.title for one in found if one.by is None]
    assert not survived, f"MUTANTS_SEED={seed}: {survived}"
