"""A second process compiles kernels that are needed last while the first compiles the others.

Numba compiles one kernel at a time in a process. What the second process has compiled lies on
disk, where the first finds it. It gets no data: the names of kernels and of types are all it has
to know. Where it cannot run, the first process compiles everything itself.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, cast

from trueup._kernels.compiled import Kernel, much_to_do

Wanted = tuple[str, str, tuple[str, ...]]
"""A module of kernels, the name of one, and the types of its arguments as numba writes them."""

INTS, FLOATS = "int64[::1]", "float64[::1]"
TABLE = "int64[:,::1]"

BESIDE: tuple[Wanted, ...] = (
    ("tree.blocks", "fall", (INTS, TABLE, "float64[:,::1]", "boolean", FLOATS, FLOATS)),
    ("display.topdown", "settle_nodes", (INTS, FLOATS, FLOATS, "float64", "float64")),
    ("display.nonnegative", "node_sums", (INTS, FLOATS)),
)
"""The last of those that fit a tree, and those that make its counts non-negative."""

LAST: tuple[Wanted, ...] = (("display.rounding", "whole_below", (INTS, FLOATS, INTS, "boolean")),)
"""Those that make them whole: the first process compiles them before it waits for the second."""

_PATIENCE = 30.0  # seconds after which the first process goes on alone
_COMMAND = "from trueup._kernels import beside as b; b.compile_now(b.BESIDE)"


@contextlib.contextmanager
def compiled_at_once() -> Iterator[None]:
    """While this lasts, kernels are compiled, those of BESIDE by a second process if need be."""
    with beside(_COMMAND, _PATIENCE, lambda: compile_now(LAST)), much_to_do():
        yield


@contextlib.contextmanager
def beside(
    command: str, patience: float, then: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """While this lasts, a second process runs a command of Python's, if kernels are missing.

    In the end the first does what comes `then`, and waits for the second so many seconds.
    """
    process = None
    with contextlib.suppress(Exception):  # no second process: the first one does it all
        if _cores() > 1 and sys.executable and _missing(BESIDE):
            process = _started(command)
    try:
        yield
    finally:
        if process is not None:
            if sys.exception() is None:
                then()
            _ended(process, patience)


def compile_now(wanted: Sequence[Wanted]) -> None:
    """Compiles these kernels, and keeps them on disk."""
    for module, name, types in wanted:
        _kernel(module, name).compiled_for(_signature(types))


def _missing(wanted: Sequence[Wanted]) -> bool:
    """Whether one of the kernels is neither compiled nor kept on disk, where it could be kept."""
    return any(not _kernel(module, name).has(_signature(types)) for module, name, types in wanted)


def _kernel(module: str, name: str) -> Kernel:
    return cast(Kernel, getattr(import_module(f"trueup._kernels.{module}"), name))


def _signature(types: Sequence[str]) -> tuple[Any, ...]:
    read: Any = import_module("numba.core.sigutils").normalize_signature
    arguments, _ = read(f"void({', '.join(types)})")
    return cast(tuple[Any, ...], arguments)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _started(command: str) -> subprocess.Popen[bytes]:
    nowhere = subprocess.DEVNULL
    run = [sys.executable, "-P", "-c", command]  # -P: the working folder is no place for code
    return subprocess.Popen(run, stdin=nowhere, stdout=nowhere, stderr=nowhere)


def _ended(process: subprocess.Popen[bytes], patience: float) -> None:
    """Waits for the process, which has little left to do; ends it if it takes too long."""
    try:
        process.wait(patience)
    except BaseException:
        process.kill()
        process.wait()
        if not isinstance(sys.exception(), subprocess.TimeoutExpired):
            raise
