"""Warming: in a new process, what people ask for afterwards has its machine code already."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from trueup.errors import InputError
from trueup.warming import families, warm

ASKED = """
import gc, json, sys
import numpy as np
import pyarrow as pa
from numba.core.dispatcher import Dispatcher
import trueup as tu
from trueup.owner.texts import TextTable
from trueup.warming import warm

def in_machine_code():
    found = [one for one in gc.get_objects() if issubclass(type(one), Dispatcher)]
    return {f"{one.py_func.__qualname__} {types}" for one in found for types in one.signatures}

told = []
if sys.argv[1] == "warm":
    warm(told.append)
before = in_machine_code()
age = tu.Axis.integers("age", 0, 99)
counts = np.arange(100) * 7
pooled = tu.TreeCounts(age, 5, adaptive=True)
for question in (pooled, tu.TreeCounts(age, 3), tu.HatCounts(age), tu.CellCounts(age)):
    found = tu.infer(tu.measure(counts, question, 1), nonnegative=True, integers=True)
    found.unbiased.range(3, 50).interval(0.9)
found.unbiased.intervals(np.arange(50), np.arange(50) + 4, 0.9)
tu.infer(tu.measure(counts, tu.SortedCounts(100), 1)).band(0.9)
tu.publish(np.arange(1 << 18) % 100, age, epsilon=1)
tu.publish(np.arange(1 << 18) % 7, tu.Axis.integers("cell", 0, (1 << 18) - 1), epsilon=1)
tu.plan(age, 1)
texts = TextTable()
texts.add(pa.array([str(number % 9000).encode() for number in range(1 << 17)], pa.binary()))
texts.whole()
print(json.dumps([told, sorted(in_machine_code() - before)]))
"""


def asked(how: str) -> tuple[list[str], list[str]]:
    """The families that were warmed, and what was compiled or loaded only when it was asked."""
    command = [sys.executable, "-c", ASKED, how]
    told, late = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return told, late


@pytest.mark.timeout(1200)
def test_after_warming_nobody_waits_for_machine_code() -> None:
    told, late = asked("warm")
    assert told == [name for name, _ in families()]
    assert late == []
    assert asked("cold")[1]


def test_some_families_are_warmed_alone_and_an_unknown_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trueup.warming.machine_code_only", lambda: None)
    told: list[str] = []
    warm(told.append, ["hats", "noise"])
    assert told == ["noise", "hats"]
    with pytest.raises(InputError, match=r"'nose'.*Choose from: noise, trees"):
        warm(told.append, ["noise", "nose"])
    assert told == ["noise", "hats"]


def test_every_family_has_a_name_of_its_own_and_work_that_can_be_done() -> None:
    made = list(families())
    assert len({name for name, _ in made}) == len(made) >= 10
    for name, work in made:
        if name in ("noise", "hats", "plans", "sorted counts"):
            work()
