"""Kernels in two ways: plain Python for little work, machine code for more."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trueup._kernels import compiled
from trueup._kernels.compiled import Kernel

SMALL = """
import sys
import numpy as np
import trueup as tu

cells, kind = int(sys.argv[1]), sys.argv[2]
values = np.arange(50_000) * 7919 % cells
axis = tu.Axis.integers("x", 0, cells - 1)
side = int(cells ** 0.5)
plane = [tu.Axis.integers("x", 0, side - 1), tu.Axis.integers("y", 0, side - 1)]
counts = axis.count(values)
over = {
    "shown": lambda: tu.publish(values, axis, epsilon=1),
    "at once": lambda: tu.publish(values, axis, epsilon=1, adaptive=False),
    "unbiased": lambda: tu.publish(values, axis, epsilon=1, nonnegative=False),
    "exact": lambda: tu.infer(
        tu.measure(counts, tu.TreeCounts(axis, branching=2), 1), nonnegative=True, method="exact"
    ),
    "wavelet": lambda: tu.infer(tu.measure(counts, tu.WaveletCounts(axis), 1)),
    "grid": lambda: tu.publish(counts[: side * side], tu.plan(plane, 1).best, epsilon=1),
    "histogram": lambda: tu.histogram(values, bins=64, range=(0, cells), epsilon=1),
}
release = over[kind]()
if kind not in ("grid", "histogram"):
    release.unbiased.range(0, side).interval(0.95)
    release.unbiased.intervals([0, 1], [2, side]) if hasattr(release, "intervals") else None
print("numba" in sys.modules)
"""


KINDS = ("shown", "at once", "unbiased", "exact", "wavelet", "grid", "histogram")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [(cells, kind) for cells in (100, 4096) for kind in KINDS]
    + [(cells, "at once") for cells in (1 << 17, 1 << 20)],
)
def test_a_first_release_is_made_with_nothing_compiled(
    cells: int, kind: str, tmp_path: Path
) -> None:
    """From an empty cache. Where it takes longer than loading numba, that is loaded to look."""
    command = [sys.executable, "-c", SMALL, str(cells), kind]
    around = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=around)
    assert done.stderr == ""
    assert done.stdout.strip() == "False" or cells > 4096
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def kernel(most: int = 100, work: int | None = None) -> Kernel:
    def doubled(x: np.ndarray) -> np.ndarray:
        return x * 2

    return Kernel(doubled, most, work)  # type: ignore[arg-type]


@pytest.fixture
def as_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels as they are outside these tests: in one way or the other."""
    monkeypatch.undo()
    monkeypatch.setattr(compiled, "_plain_seconds", 0.0)
    monkeypatch.setattr(compiled, "_kept", lambda *_: False)


def ways(found: Kernel) -> str:
    return "plain" if found._ready is None else "machine"


@pytest.mark.usefixtures("as_in_use")
def test_a_call_is_plain_up_to_its_elements_and_compiled_beyond(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    little, much = kernel(), kernel()
    assert little(np.arange(100)).sum() == 9900
    assert ways(little) == "plain"
    assert much(np.arange(101)).sum() == 10100
    assert ways(much) == "machine"
    assert much(np.arange(100)).sum() == 9900  # once compiled, always used


@pytest.mark.usefixtures("as_in_use")
def test_what_numpy_stands_in_for_is_compiled_where_much_is_to_come() -> None:
    def doubled(x: np.ndarray) -> np.ndarray:
        return x * 2

    first, second, other = (
        Kernel(doubled, 100, plain=by)  # type: ignore[arg-type]
        for by in (doubled, doubled, None)
    )
    first(np.arange(3))
    with compiled.much_to_do():
        second(np.arange(3))
        other(np.arange(3))
    assert [ways(each) for each in (first, second, other)] == ["plain", "machine", "plain"]


@pytest.mark.usefixtures("as_in_use")
def test_after_some_seconds_of_plain_python_everything_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled, "_plain_seconds", compiled.PLAIN_SECONDS + 1)
    found = kernel()
    found(np.arange(3))
    assert ways(found) == "machine"


@pytest.mark.usefixtures("as_in_use")
def test_what_cannot_be_compiled_is_run_as_plain_python() -> None:
    def stranger(x: np.ndarray) -> object:
        return {"sum": [object(), int(x.sum())]}["sum"][1]

    found = Kernel(stranger, 0)  # type: ignore[arg-type]
    assert found(np.arange(10)) == 45
    assert ways(found) == "plain"


@pytest.mark.usefixtures("as_in_use")
def test_plain_kernels_wrap_around_and_warn_of_nothing() -> None:
    most = np.iinfo(np.int64).max

    def next_one(x: np.ndarray) -> int:
        return x[0] + np.int64(1)  # type: ignore[no-any-return]

    found = Kernel(next_one, 100)  # type: ignore[arg-type]
    assert found(np.array([most])) == -most - 1
    assert found.machine(np.array([most])) == -most - 1


KEPT = """
import sys
import numpy as np
from trueup._kernels import compiled
from trueup._kernels.display.nonnegative import node_sums

compiled._plain_seconds = float(sys.argv[1])
first, leaves = np.array([1, 3, 3, 3]), np.array([2.0, 5.0])
assert node_sums(first, leaves).tolist() == [7, 2, 5]
print("numba" in sys.modules, node_sums.is_compiled)
"""


@pytest.mark.parametrize("kept", [False, True])
def test_machine_code_is_loaded_from_disk_once_plain_python_has_taken_longer(
    kept: bool, tmp_path: Path
) -> None:
    """On both sides of KEPT_SECONDS; what is not on disk is not compiled for it."""
    around = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def told(seconds: float) -> str:
        command = [sys.executable, "-c", KEPT, str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=around)
        return done.stdout.strip()

    if kept:
        assert told(compiled.PLAIN_SECONDS + 1) == "True True"  # compiles it
    assert told(compiled.KEPT_SECONDS) == "False False"
    assert told(compiled.KEPT_SECONDS * 1.01) == f"True {kept}"


def test_garbage_is_collected_again_after_compiling() -> None:
    assert gc.isenabled()
    with compiled.no_garbage_collected():
        assert not gc.isenabled()
        with compiled.no_garbage_collected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
