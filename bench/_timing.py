"""How long work takes: what the benchmarks share."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(
    work: Callable[[], object], repeats: int = 3, clock: Callable[[], float] = time.process_time
) -> float:
    """The least time of several runs, after one to warm up: of this process, unless told."""
    work()
    found = float("inf")
    for _ in range(repeats):
        begin = clock()
        work()
        found = min(found, clock() - begin)
    return found
