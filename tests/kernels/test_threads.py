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


def test_nothing_is_worked_on_any_more_once_a_failure_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two helpers the first fails at once, and the second is slow: both are waited for."""
    names = iter(["first", "second"])

    class Named:
        def give(self, task: threads._Task) -> None:
            threading.Thread(target=self.run, args=(task,), name=next(names)).start()

        def run(self, task: threads._Task) -> None:
            task.taken.acquire()
            try:
                threads._drain(task.work, task.stretches)
            except ArithmeticError as failure:
                task.failure = failure
            task.running.release()

    monkeypatch.setattr(threads, "_helper", Named)
    began, lasted = threading.Barrier(3, timeout=20), threading.Event()

    def work(begin: int, end: int) -> None:
        began.wait()
        if threading.current_thread().name == "first":
            raise ArithmeticError("in a helper")
        if threading.current_thread().name == "second":
            time.sleep(0.2)
            lasted.set()

    with pytest.raises(ArithmeticError, match="in a helper"):
        in_threads(work, 3, 3)
    assert lasted.is_set()


def test_work_is_done_though_no_helper_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    class Busy:
        def give(self, task: object) -> None:
            """Has other things to do."""

    monkeypatch.setattr(threads, "_helper", Busy)
    done: list[int] = []
    in_threads(lambda begin, end: done.extend(range(begin, end)), 10, 4)
    assert sorted(done) == list(range(10))


def test_a_helper_that_begins_late_does_nothing() -> None:
    late = threads._Task(lambda *_: done.append(1), iter([(0, 1)]))
    done: list[int] = []
    late.finish()  # all is done
    helper = threads._Helper()
    helper.give(late)
    deadline = time.monotonic() + 20
    while helper not in threads._waiting and time.monotonic() < deadline:
        time.sleep(0.001)
    assert helper in threads._waiting
    assert done == []


def test_work_inside_of_work_has_helpers_of_its_own() -> None:
    done: list[int] = []
    lock = threading.Lock()

    def inner(begin: int, end: int) -> None:
        with lock:
            done.extend(range(begin, end))

    in_threads(lambda *_: in_threads(inner, 7, 3), 4, 2)
    assert sorted(done) == sorted(list(range(7)) * (len(done) // 7))
    assert len(done) >= 7


@pytest.mark.parametrize(("number", "threads_"), [(2, 2), (17, 2), (32, 2), (35, 3), (1000, 4)])
def test_stretches_become_shorter_and_none_is_small(number: int, threads_: int) -> None:
    found = threads._stretches(number, threads_)
    assert [begin for begin, _ in found] == [0, *(end for _, end in found[:-1])]
    assert found[-1][1] == number
    sizes = [end - begin for begin, end in found]
    assert sizes[:-1] == sorted(sizes[:-1], reverse=True)
    assert threads_ <= len(found) <= 4 * threads_


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
