"""Kernels compiled by a second process: found on disk by the first, and never in its way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trueup._kernels import beside
from trueup._kernels.display.nonnegative import node_sums

FEW = (("display.nonnegative", "node_sums", ("int64[::1]", "float64[::1]")),)

BESIDE = """
import sys
from trueup._kernels import beside

beside.BESIDE = beside.LAST = {few}
beside._COMMAND = beside._COMMAND.replace("(b.BESIDE)", "({few})")
beside._cores = lambda: 2
begun = []
start = beside._started
beside._started = lambda command: begun.append(start(command)) or begun[-1]
with beside.compiled_at_once():
    pass
print(len(begun), [each.returncode for each in begun], beside._missing(beside.BESIDE))
"""


def run(folder: Path | None, script: str = BESIDE.format(few=FEW)) -> str:
    around = os.environ | ({} if folder is None else {"NUMBA_CACHE_DIR": str(folder)})
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=around)
    assert not done.stderr
    return done.stdout.strip()


def test_what_is_missing_is_compiled_once_and_then_found(tmp_path: Path) -> None:
    assert run(tmp_path) == "1 [0] False"
    assert run(tmp_path) == "0 [] False"


def test_where_nothing_can_be_kept_no_process_is_begun(tmp_path: Path) -> None:
    nowhere = "from trueup._kernels import compiled\ncompiled._keeps = lambda _: False\n"
    assert run(tmp_path, nowhere + BESIDE.format(few=FEW)) == "0 [] False"


@pytest.mark.parametrize("command", ["raise SystemExit(3)", "import time; time.sleep(60)"])
def test_a_process_that_fails_or_hangs_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    begun: list[subprocess.Popen[bytes]] = []
    start = beside._started
    monkeypatch.setattr(beside, "_COMMAND", command)
    monkeypatch.setattr(beside, "_PATIENCE", 0.5)
    monkeypatch.setattr(beside, "_cores", lambda: 2)
    monkeypatch.setattr(beside, "_missing", lambda _: True)
    monkeypatch.setattr(
        beside, "_started", lambda command: begun.append(start(command)) or begun[-1]
    )
    with beside.compiled_at_once():
        pass
    assert begun[0].returncode in (3, -9)


def test_one_core_compiles_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_cores", lambda: 1)
    monkeypatch.setattr(beside, "_missing", lambda _: True)
    begun: list[int] = []
    monkeypatch.setattr(beside, "_started", lambda _: begun.append(1))
    with beside.compiled_at_once():
        pass
    assert not begun


def test_an_error_inside_goes_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_missing", lambda _: False)
    with pytest.raises(ZeroDivisionError), beside.compiled_at_once():
        _ = 1 // 0


def test_the_types_are_those_that_the_kernels_are_called_with() -> None:
    """Otherwise the first process would compile them again."""
    import numba

    called = (np.array([1, 3, 3, 3]), np.array([2.0, 5.0]))
    assert node_sums(*called).tolist() == [7, 2, 5]
    assert beside._signature(FEW[0][2]) == tuple(map(numba.typeof, called))
    for _, _, types in beside.BESIDE + beside.LAST:
        assert all(isinstance(each, numba.types.Type) for each in beside._signature(types))


def test_what_is_compiled_beside_is_what_a_large_release_calls() -> None:
    """With all of it on disk nothing of it is missing, and nothing of it is compiled again."""
    script = """
import numpy as np
import trueup as tu
from trueup._kernels import beside, compiled
from trueup._kernels.tree.fused import NodeStretch
from trueup._kernels.tree.regular import RegularTree

listed = beside.BESIDE + beside.LAST
beside.compile_now(listed)
compiled.machine_code_only()
tree = tu.TreeCounts(tu.Axis.integers("x", 0, 63), 4)
kernels = [beside._kernel(module, name) for module, name, _ in listed]
before = [len(kernel.machine.signatures) for kernel in kernels]
tu.infer(tu.measure(np.arange(64), tree, 1), nonnegative=True, integers=True)
shape = RegularTree(64, (4, 4, 4), (1.0, 1.0, 1.0, 1.0))
stretch = NodeStretch.of(shape, 0, shape.lengths)
stretch.fall(np.arange(64), np.zeros(stretch.size), np.empty(64))
print([len(kernel.machine.signatures) for kernel in kernels] == before)
"""
    assert run(None, script) == "True"


def test_no_kernel_has_defaults() -> None:
    """Machine code for a call that leaves arguments out is not found on disk again."""
    import pkgutil
    from importlib import import_module

    import trueup._kernels as room
    from trueup._kernels.compiled import Kernel

    for module in pkgutil.walk_packages(room.__path__, "trueup._kernels."):
        for name, kernel in vars(import_module(module.name)).items():
            if isinstance(kernel, Kernel):
                assert not kernel.py_func.__defaults__, f"{module.name}.{name}"
