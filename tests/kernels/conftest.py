"""Every small call of a kernel in these tests is run in both ways: plain Python, machine code.

Whatever law a test checks, it checks for both: their answers, and what they write into the arrays
they are given, must agree bit for bit.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from trueup._kernels.compiled import Kernel

NEAR = ("law", "sorted")  # where powers and exponentials come from two libraries, a last bit apart
MOST = 1 << 12  # elements of a call that is run in both ways: plain Python takes its time
MOST_SORTED = 1 << 7  # of sorted counts, where it takes more of it


_one_at_a_time = threading.RLock()  # kernels in other threads write into the same arrays


def copied(arguments: Any, bases: dict[int, Any]) -> Any:
    """Copies of the arguments; arrays that overlap still overlap."""
    if isinstance(arguments, tuple):
        parts = [copied(each, bases) for each in arguments]
        return type(arguments)(*parts) if hasattr(arguments, "_fields") else tuple(parts)
    if not isinstance(arguments, np.ndarray) or not arguments.size:
        return arguments
    base = arguments
    while isinstance(base.base, np.ndarray):
        base = base.base
    if id(base) not in bases:
        bases[id(base)] = base, base.copy(order="K")
    own, fresh = bases[id(base)]
    offset = arguments.__array_interface__["data"][0] - own.__array_interface__["data"][0]
    assert own.strides == fresh.strides
    flat = fresh.reshape(-1, order="A").view(np.uint8)
    found: Any = np.ndarray(arguments.shape, arguments.dtype, flat.data, offset, arguments.strides)
    found.flags.writeable = arguments.flags.writeable
    return found


def same(one: Any, other: Any, near: float) -> bool:
    """Whether two answers agree, to the last bit or nearly."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other, [near] * len(one)))
    if not isinstance(one, np.ndarray) or (near and one.dtype.kind == "f"):
        return bool(np.allclose(one, other, rtol=near, atol=0.0, equal_nan=True))
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def run_both_ways(kernel: Kernel, *arguments: Any) -> Any:
    """What machine code gives; plain Python must give the same."""
    name = f"{kernel.py_func.__module__}.{kernel.py_func.__name__}"
    most = MOST_SORTED if ".sorted." in name else MOST
    if kernel.size(arguments) > min(kernel.most, most):
        return kernel.machine(*arguments)
    with _one_at_a_time:
        copies = copied(arguments, {})
        with np.errstate(all="ignore"):
            expected = kernel.plain(*copies)
        found = kernel.machine(*arguments)
        near = 1e-11 if name.split(".")[2] in NEAR else 0.0
        given = arguments, copies
        assert found is expected is None or same(found, expected, near), f"{name} answers otherwise"
        assert same(*given, near), f"{name} writes otherwise as plain Python"
        return found


@pytest.fixture(autouse=True)
def both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are run in both ways."""
    monkeypatch.setattr(Kernel, "__call__", run_both_ways)
