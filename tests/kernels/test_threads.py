"""Work shared out among threads."""

from __future__ import annotations

import os
import threading
import time

import pytest

from trueup._kernels import threads
from trueup._kernels.threads import cores, in_threads


@pytest.mark.parametrize("number", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("workers", [1, 2, 3, 50])
def test_every_number_is_worked_once(number: int, workers: int) -> None:
    done: list[int] = []
    in_threads(lambda begin, end: done.extend(range(begin, end)), number, workers)
    assert sorted(done) == list(range(number))


def test_several_threads_work_at_once() -> None:
    met = threading.Barrier(2, timeout=20)
    in_threads(lambda *_: met.wait(), 2, 2)  # each waits for the other
    assert not met.broken


def test_what_fails_in_a_thread_fails_the_whole() -> None:
    here = threading.current_thread()

    def work(begin: int, end: int) -> None:
        time.sleep(0.01)
        if threading.current_thread() is not here:
            raise ArithmeticError("in a helper")

    with pytest.raises(ArithmeticError, match="in a helper"):
        in_threads(work, 100, 2)


def test_work_is_done_though_no_helper_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = threads.ThreadPoolExecutor(1)
    held = threading.Event()
    pool.submit(held.wait)
    monkeypatch.setattr(threads, "_helpers", lambda: pool)
    done: list[int] = []
    in_threads(lambda begin, end: done.extend(range(begin, end)), 10, 4)
    assert sorted(done) == list(range(10))
    held.set()
    pool.shutdown()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_works_with_threads_of_its_own() -> None:
    in_threads(lambda *_: time.sleep(0.01), 8, 2)  # the parent's helpers are alive
    child = os.fork()
    if child == 0:
        met = threading.Barrier(2, timeout=20)
        try:
            in_threads(lambda *_: met.wait(), 2, 2)
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_cores_are_those_this_process_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
