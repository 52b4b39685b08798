"""Work shared out among threads: compiled kernels let go of the interpreter lock."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator

_LEAST = 16  # no stretch is less than this part of what falls to a thread

Work = Callable[[int, int], object]


def cores() -> int:
    """The processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Task:
    """Work whose stretches a helper takes, too, if it begins before they are done."""

    def __init__(self, work: Work, stretches: Iterator[tuple[int, int]]) -> None:
        self.work, self.stretches = work, stretches
        self.taken, self.running = threading.Lock(), threading.Lock()
        self.failure: BaseException | None = None
        self.running.acquire()

    def finish(self) -> None:
        """Waits for the helper if it has begun; from now on it need not."""
        if not self.taken.acquire(blocking=False):
            self.running.acquire()


class _Helper:
    """A thread that waits for tasks: to start one anew costs as much as a million cells, and to
    pass it a task through an executor a tenth of that."""

    def __init__(self) -> None:
        self._given = threading.Lock()
        self._given.acquire()
        self._task: _Task | None = None
        threading.Thread(target=self._run, name="trueup-kernel", daemon=True).start()

    def give(self, task: _Task) -> None:
        """Passes it a task."""
        self._task = task
        self._given.release()

    def _run(self) -> None:
        while True:
            self._given.acquire()
            task, self._task = self._task, None
            assert task is not None
            wanted = task.taken.acquire(blocking=False)
            if wanted:
                try:
                    _drain(task.work, task.stretches)
                except BaseException as failure:
                    task.failure = failure
            running = task.running
            del task  # nothing of it is kept alive while this thread waits
            _waiting.append(self)
            if wanted:
                running.release()  # last of all: who waits for it needs the interpreter lock, too


_waiting: deque[_Helper] = deque()
"""Helpers without a task; the last is the one that worked last."""

if hasattr(os, "register_at_fork"):  # threads do not live on in a forked process
    os.register_at_fork(after_in_child=_waiting.clear)


def _helper() -> _Helper:
    try:
        return _waiting.pop()
    except IndexError:
        return _Helper()


def in_threads(work: Work, number: int, threads: int) -> None:
    """work(begin, end) for stretches that make up range(number), in this thread and in others.

    This thread never waits for a helper that has not begun: on a busy machine it does all the
    work itself.
    """
    threads = min(threads, number)
    if threads <= 1:
        if number:
            work(0, number)
        return
    stretches = iter(_stretches(number, threads))
    tasks = [_Task(work, stretches) for _ in range(threads - 1)]
    for task in tasks:
        _helper().give(task)
    try:
        _drain(work, stretches)
    finally:
        for task in tasks:
            task.finish()
    for task in tasks:  # once none works on what is shared any more
        if task.failure is not None:
            raise task.failure


def _stretches(number: int, threads: int) -> list[tuple[int, int]]:
    """Ever shorter stretches, each what falls to one thread of those that are left.

    The first is for this thread, which begins at once; helpers are late by what it takes to wake
    them, and one that was held up is made good by who takes the shorter ones.
    """
    found, begin = [], 0
    least = -(-number // (_LEAST * threads))
    while begin < number:
        end = min(begin + max(-(-(number - begin) // threads), least), number)
        found.append((begin, end))
        begin = end
    return found


def _drain(work: Work, stretches: Iterator[tuple[int, int]]) -> None:
    for begin, end in stretches:  # one iterator for all: each stretch is taken once
        work(begin, end)
