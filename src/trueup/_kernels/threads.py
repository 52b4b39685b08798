"""Work shared out among threads: compiled kernels let go of the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache

_SHARES = 2  # stretches for each thread, so that one that was held up does not hold up the others


def cores() -> int:
    """The processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _helpers() -> ThreadPoolExecutor:
    """Threads that wait for work: to start them anew would cost as much as a million cells."""
    return ThreadPoolExecutor(64, thread_name_prefix="trueup-kernel")


if hasattr(os, "register_at_fork"):  # threads do not live on in a forked process
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def in_threads(work: Callable[[int, int], object], number: int, threads: int) -> None:
    """work(begin, end) for stretches that make up range(number), in this thread and in others.

    This thread never waits for a helper that has not begun: on a busy machine it does all the
    work itself.
    """
    threads = min(threads, number)
    if threads <= 1:
        if number:
            work(0, number)
        return
    shares = min(number, _SHARES * threads)
    stretches = iter([(number * i // shares, number * (i + 1) // shares) for i in range(shares)])
    started = [_helpers().submit(_drain, work, stretches) for _ in range(threads - 1)]
    try:
        _drain(work, stretches)
    finally:
        for helper in started:
            if not helper.cancel():
                helper.result()


def _drain(work: Callable[[int, int], object], stretches: Iterator[tuple[int, int]]) -> None:
    for begin, end in stretches:  # one iterator for all: each stretch is taken once
        work(begin, end)
