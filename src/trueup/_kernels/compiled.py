"""One way to run a kernel: plain Python for little work, machine code for more.

A kernel is compiled when it is first given much to do. Machine code is kept on disk where that is
possible, runs free of the interpreter lock, and gives the same answers bit for bit.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import time
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, TypeVar, cast, overload

import numpy as np

F = TypeVar("F", bound=Callable[..., object])

PLAIN_ELEMENTS = 1 << 16
"""A call with more elements in its arrays than this is always run as machine code."""

ARRAY_ELEMENTS = 1 << 24
"""The same for kernels that numpy can stand in for, a few times slower than machine code."""

PLAIN_PAIRS = 1 << 10
"""The same for kernels that look at pairs of elements."""

PLAIN_LAWS = 1 << 10
"""The same for kernels that find a law, or its width, for each element."""

WORTH_ELEMENTS = 1 << 21
"""After so many elements a kernel is compiled where numpy, a few times slower, did until then."""

PLAIN_SECONDS = 3.0
"""Seconds of its own time in which a process runs kernels as plain Python; then it compiles."""

KEPT_SECONDS = 0.5
"""The same for a kernel whose machine code is kept on disk: to load numba and it takes less."""

_plain_seconds = 0.0
_much_to_do = False


class Kernel:
    """A function over arrays that can be run in two ways, with the same answers."""

    def __init__(
        self,
        function: FunctionType,
        most: int = PLAIN_ELEMENTS,
        work: int | None = None,
        plain: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.targetoptions = {"nopython": True, "nogil": True, **options}
        self.most = most
        self._work = work
        self._by_arrays = plain
        self._ready: Any = None  # machine code, once there is any
        self._sought = False  # on disk
        self.met = 0  # elements, where numpy stands in

    def __call__(self, *arguments: Any) -> Any:
        global _plain_seconds
        if self._ready is not None:
            return self._ready(*arguments)
        if not self._runs_plain(arguments) and self._compiles(arguments):
            return self.machine(*arguments)
        if not self._sought and _loading_is_worth_it() and self._kept_for(arguments):
            return self.machine(*arguments)
        begun = time.thread_time()  # not by the clock: others may keep the processor busy
        with np.errstate(all="ignore"):  # machine code knows no warnings
            found = self.plain(*arguments)
        _plain_seconds += time.thread_time() - begun
        return found

    def _compiles(self, arguments: tuple[Any, ...]) -> bool:
        """As `compiled_for` the types of these; False where there is no numba."""
        try:
            types = _types(arguments)
        except ImportError:
            return False
        return self.compiled_for(types)

    def compiled_for(self, types: tuple[Any, ...]) -> bool:
        """Compiles for these types; False where that fails: plain Python is slow, and answers."""
        from trueup._kernels.compiling import watched

        try:
            with watched(), no_garbage_collected():
                self.machine.compile(types)
        except Exception:
            self._ready = None
            return False
        return True

    def _kept_for(self, arguments: tuple[Any, ...]) -> bool:
        """Loads machine code for these types if some is kept on disk; compiles nothing."""
        self._sought = True
        try:
            machine, types = _dispatcher(self.py_func, self.targetoptions), _types(arguments)
            if not _kept(machine, types):
                return False
            machine.compile(types)
        except Exception:
            return False
        self._ready = machine
        return True

    def has(self, types: tuple[Any, ...]) -> bool:
        """Whether there is machine code for these types, or some is kept, or none can be kept."""
        if self._ready is not None and types in self._ready.overloads:
            return True
        machine = _dispatcher(self.py_func, self.targetoptions)
        return _kept(machine, types) or not _keeps(machine)

    def _runs_plain(self, arguments: tuple[Any, ...]) -> bool:
        """Whether a call is too little work to compile for; by sizes alone, never by values."""
        if self._by_arrays is not None and _much_to_do:
            return False
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
        """The function as Python, calling other kernels as Python too, or what stands in for it."""
        if self._by_arrays is not None:
            return self._by_arrays
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


def _loading_is_worth_it() -> bool:
    """Whether kernels have run as plain Python for longer than loading machine code takes."""
    return "numba" in sys.modules or _plain_seconds > KEPT_SECONDS


def _kept(machine: Any, types: tuple[Any, ...]) -> bool:
    return _keeps(machine) and machine._cache.load_overload(types, machine.targetctx) is not None


def _keeps(machine: Any) -> bool:
    """Whether its machine code goes to disk."""
    return getattr(machine._cache, "cache_path", None) is not None


def _types(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    import numba

    return tuple(map(numba.typeof, arguments))


@contextlib.contextmanager
def no_garbage_collected() -> Iterator[None]:
    """Compiling makes millions of objects that are needed to its end: to look for garbage among
    them takes a tenth of its time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


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

    given = {name: options[name] for name in options if name != "nopython"}
    given["no_cfunc_wrapper"] = True  # nobody calls it from C
    found = numba.njit(function, **given)
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


@contextlib.contextmanager
def much_to_do() -> Iterator[None]:
    """While this lasts, kernels are compiled though numpy could stand in: many calls are to come,
    each of them small."""
    global _much_to_do
    was, _much_to_do = _much_to_do, True
    try:
        yield
    finally:
        _much_to_do = was


def machine_code_only() -> None:
    """From now on this process compiles every kernel it calls: for servers, which go on long."""
    global _plain_seconds
    _plain_seconds = float("inf")


@overload
def compiled(function: F) -> F: ...


@overload
def compiled(
    *, most: int = PLAIN_ELEMENTS, work: int | None = None, plain: Callable[..., Any] | None = None
) -> Callable[[F], F]: ...


def compiled(function: F | None = None, **how: Any) -> F | Callable[[F], F]:
    """The function as a kernel.

    `most` is how many elements a call may have that is run as plain Python. `work` is the place
    of the argument whose elements count; without it all arrays together do. `plain` is a function
    of numpy's arrays that stands in for plain Python: it must answer and write the same.
    """
    if function is None:
        return lambda given: cast(F, Kernel(cast(FunctionType, given), **how))
    return cast(F, Kernel(cast(FunctionType, function)))


def inlined(function: F) -> F:
    """As `compiled`, for a small function that is expanded into its callers."""
    return cast(F, Kernel(cast(FunctionType, function), inline="always"))
