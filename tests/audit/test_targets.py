"""Whatever lets itself be run can be examined: functions, OpenDP, models, command lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueup.audit import (
    Claim,
    Effort,
    Pair,
    examine,
    neighbours_of_counts,
    neighbours_of_records,
    of_command,
    of_object,
    target,
)
from trueup.errors import InputError, SourceError

ONE_MORE = [Pair(10, 11, "one more")]


def test_a_python_function_is_named_by_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "import random\n"
        "def noisy(counts):\n"
        "    return [c + random.gauss(0, 1) for c in counts]\n"
        "def twice(counts):\n"
        "    return [2 * c + random.gauss(0, 1) for c in counts]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    pairs = neighbours_of_counts([3, 4])
    wanted = Effort(500, sensitivity=1)
    good = examine(target("mine:noisy"), pairs, Claim.of(rho="1/2"), wanted)
    assert good.passed
    assert any("declared 1" in one.result and one.passed for one in good.findings)
    bad = examine(target("mine:twice"), pairs, Claim.of(rho="1/2"), wanted)
    assert [one.what for one in bad.findings if one.passed is False][-1].startswith("moves")
    for wrong in ("mine", "mine:nothing", "nowhere:at_all", ":x"):
        with pytest.raises(InputError):
            target(wrong)


def test_an_opendp_measurement_is_examined() -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    honest = of_object(dp.m.make_laplace(*space, scale=1.0), "opendp laplace")
    found = examine(honest, ONE_MORE, Claim.of(1), Effort(400, scale=1))
    assert found.passed, found.verdict
    short = of_object(dp.m.make_laplace(*space, scale=0.2), "opendp laplace")
    assert not examine(short, ONE_MORE, Claim.of(1), Effort(2000)).passed


class Model:
    """As diffprivlib's: parameters without, what was learnt with a last underscore."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def fit(self, rows: Any) -> None:
        rng = np.random.default_rng()
        self.mean_ = np.mean(rows) * len(rows) + rng.laplace(0, self.scale)
        self.name_ = "text is left out"


class Mechanism:
    """As diffprivlib's mechanisms: a value in, a value out."""

    def randomise(self, value: float) -> float:
        return value + np.random.default_rng().laplace(0, 0.2)


def test_models_and_mechanisms_of_diffprivlib_s_shape_are_examined() -> None:
    pairs = neighbours_of_records([1.0, 1.0, 1.0])
    assert examine(of_object(Model(1.0), "m"), pairs, Claim.of(1), Effort(400)).passed
    assert not examine(of_object(Model(0.1), "m"), pairs, Claim.of(1), Effort(2000)).passed
    assert not examine(of_object(Mechanism(), "m"), ONE_MORE, Claim.of(1), Effort(2000)).passed
    with pytest.raises(InputError, match="no mechanism"):
        of_object(3, "three")


SCRIPT = """
import json, random, sys
count, times, seed = json.load(open(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
if seed != "0":
    random.seed(seed)
for _ in range(times):
    print("noisy:", count * int(sys.argv[4]) + random.gauss(0, 1))
"""


def test_a_command_line_is_examined(tmp_path: Path) -> None:
    script = tmp_path / "noisy.py"
    script.write_text(SCRIPT)
    words = [sys.executable, str(script), "{input}", "{times}", "{seed}"]
    wanted = Effort(2000, sensitivity=1, trial=100)
    good = examine(of_command([*words, "1"]), ONE_MORE, Claim.of(rho="1/2"), wanted)
    assert good.passed, good.verdict
    bad = examine(of_command([*words, "3"]), ONE_MORE, Claim.of(rho="1/2"), wanted)
    assert len([one for one in bad.findings if one.passed is False]) == 2
    alone = of_command([sys.executable, "-c", "print(input())"])
    assert alone.run(7, 2).tolist() == [[7.0], [7.0]]
    with pytest.raises(SourceError):
        of_command([str(tmp_path / "nothing")]).run(1, 1)
    with pytest.raises(SourceError, match="code 3"):
        of_command([sys.executable, "-c", "raise SystemExit(3)"]).run(1, 1)


def test_lines_of_a_command_may_have_any_number_of_numbers(tmp_path: Path) -> None:
    """Of one run all are one row; of many runs each line is one, as long as the others."""
    told = of_command([sys.executable, "-c", "print('noise 1'); print('2 and 3')", "{seed}"])
    assert told.run(7, 2).tolist() == [[1.0, 2.0, 3.0]] * 2
    assert told.seeded is not None
    assert told.seeded(1, 7).tolist() == [1.0, 2.0, 3.0]
    ragged = of_command([sys.executable, "-c", "print('1'); print('2 3')", "{times}"])
    with pytest.raises(InputError, match="different lengths"):
        ragged.run(7, 2)
