"""One way to run a kernel: plain Python for little work, machine code for more.

A kernel is compiled when it is first given much to do. Machine code is kept on disk where that is
possible, runs free of the interpreter lock, and gives the same answers bit for bit.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast, overload

import numpy as np

F = TypeVar("F", bound=Callable[..., object])

PLAIN_ELEMENTS = 1 << 16
"""A call with more elements in its arrays than this is always run as machine code."""

PLAIN_PAIRS = 1 << 10
"""The same for kernels that look at pairs of elements."""

PLAIN_LAWS = 1 << 10
"""The same for kernels that find a law, or its width, for each element."""

WORTH_ELEMENTS = 1 << 21
"""After so many elements a kernel is compiled where numpy, a few times slower, did until then."""

PLAIN_SECONDS = 3.0
"""So long a process runs kernels as plain Python; then compiling has become worth its while."""

_plain_seconds = 0.0


class Kernel:
    """A function over arrays that can be run in two ways, with the same answers."""

    def __init__(
        self, function: FunctionType, most: int, work: int | None, options: dict[str, Any]
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.targetoptions = {"nopython": True, "nogil": True, **options}
        self.most = most
        self._work = work
        self._ready: Any = None  # machine code, once there is any
        self.met = 0  # elements, where numpy stands in

    def __call__(self, *arguments: Any) -> Any:
        global _plain_seconds
        if self._ready is not None:
            return self._ready(*arguments)
        if not self._runs_plain(arguments) and self._compiled_for(arguments):
            return self.machine(*arguments)
        begun = time.perf_counter()
        with np.errstate(all="ignore"):  # machine code knows no warnings
            found = self.plain(*arguments)
        _plain_seconds += time.perf_counter() - begun
        return found

    def _compiled_for(self, arguments: tuple[Any, ...]) -> bool:
        """Compiles for these types; False where that fails: plain Python is slow, and answers."""
        from trueup._kernels.compiling import watched

        try:
            import numba

            with watched():
                self.machine.compile(tuple(map(numba.typeof, arguments)))
        except Exception:
            self._ready = None
            return False
        return True

    def _runs_plain(self, arguments: tuple[Any, ...]) -> bool:
        """Whether a call is too little work to compile for; by sizes alone, never by values."""
        return _plain_seconds <= PLAIN_SECONDS and self.size(arguments) <= self.most

    def size(self, arguments: tuple[Any, ...]) -> int:
        """How much a call has to do, in elements of arrays."""
        given = arguments if self._work is None else arguments[self._work : self._work + 1]
        return _elements(given)

    @property
    def is_compiled(self) -> bool:
        """Whether there is machine code already."""
        return self._ready is not None

    @functools.cached_property
    def plain(self) -> Callable[..., Any]:
        """The function as Python, calling other kernels as Python too."""
        own = self.py_func
        names = dict(own.__globals__)
        for name in own.__code__.co_names:  # those that it calls
            if isinstance(names.get(name), Kernel):
                names[name] = names[name].plain
        return FunctionType(own.__code__, names, own.__name__, own.__defaults__, own.__closure__)

    @property
    def machine(self) -> Any:
        """The function as machine code, compiled for the types it is called with."""
        if self._ready is None:
            self._ready = _dispatcher(self.py_func, self.targetoptions)
        return self._ready

    @property
    def _numba_type_(self) -> Any:
        """What numba takes it for when another kernel calls it."""
        return self.machine._numba_type_


def _elements(arguments: tuple[Any, ...]) -> int:
    found = 0
    for each in arguments:
        if isinstance(each, np.ndarray):
            found += each.size
        elif isinstance(each, tuple):
            found += _elements(each)
    return found


def _dispatcher(function: FunctionType, options: dict[str, Any]) -> Any:
    """Numba's compiler of a function, with a cache on disk where one can be had."""
    import numba

    found = numba.njit(function, **{name: options[name] for name in options if name != "nopython"})
    with contextlib.suppress(RuntimeError):  # no folder can be written: compile every time
        found.enable_caching()
        _guard(found._cache)
    return found


def _guard(cache: Any) -> None:
    """A cache that cannot be read or written is as good as none: it never makes a call fail."""
    load, save = cache.load_overload, cache.save_overload

    def load_overload(*given: Any) -> Any:
        with contextlib.suppress(Exception):  # damaged, or no longer to be read
            return load(*given)
        return None

    def save_overload(*given: Any) -> None:
        with contextlib.suppress(Exception):  # the disk is full, or has become read-only
            save(*given)

    cache.load_overload, cache.save_overload = load_overload, save_overload


def plain_if_small(kernel: F) -> F:
    """The kernel, run as plain Python for little work though it is compiled for other types.

    For a small part of a large task: one more set of types would take a second to compile.
    """
    assert isinstance(kernel, Kernel)

    def run(*arguments: Any) -> Any:
        if kernel.size(arguments) > PLAIN_ELEMENTS:
            return kernel(*arguments)
        with np.errstate(all="ignore"):
            return kernel.plain(*arguments)

    return cast(F, run)


def worth_compiling(kernel: object, elements: int) -> bool:
    """Whether a kernel that numpy can stand in for has come to enough work, with this call.

    True from the call on with which it has been asked about WORTH_ELEMENTS elements.
    """
    assert isinstance(kernel, Kernel)
    kernel.met += elements
    return kernel.met >= WORTH_ELEMENTS or kernel.is_compiled or _plain_seconds > PLAIN_SECONDS


def machine_code_only() -> None:
    """From now on this process compiles every kernel it calls: for servers, which go on long."""
    global _plain_seconds
    _plain_seconds = float("inf")


@overload
def compiled(function: F) -> F: ...


@overload
def compiled(*, most: int = PLAIN_ELEMENTS, work: int | None = None) -> Callable[[F], F]: ...


def compiled(
    function: F | None = None, *, most: int = PLAIN_ELEMENTS, work: int | None = None
) -> F | Callable[[F], F]:
    """The function as a kernel.

    `most` is how many elements a call may have that is run as plain Python. `work` is the place
    of the argument whose elements count; without it all arrays together do.
    """
    if function is None:
        return lambda given: cast(F, Kernel(cast(FunctionType, given), most, work, {}))
    return cast(F, Kernel(cast(FunctionType, function), most, work, {}))


def inlined(function: F) -> F:
    """As `compiled`, for a small function that is expanded into its callers."""
    inline = {"inline": "always"}
    return cast(F, Kernel(cast(FunctionType, function), PLAIN_ELEMENTS, None, inline))
