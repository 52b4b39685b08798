"""One way to compile a kernel: cached on disk, free of the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """The function as machine code, compiled on first use and kept on disk."""
    return numba.njit(function, cache=True, nogil=True)


def inlined(function: F) -> F:
    """As `compiled`, for a small function that is expanded into its callers."""
    return numba.njit(function, cache=True, nogil=True, inline="always")
