"""The files of a stream: killed at any instant it goes on; an older copy of it does not."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueup.errors import BudgetError, FileError, InputError
from trueup.owner.ledger import Ledger
from trueup.stream import Stream
from trueup.stream.keeping import Keeping, answers_of, next_of, pack, unpack


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "visits.stream"


def opened(path: Path, steps: int) -> Path:
    with Stream.open(path, epsilon=1, steps=20) as stream:
        for count in range(steps):
            stream.step(count)
    return path


def test_what_was_packed_is_unpacked_and_a_changed_byte_is_seen() -> None:
    about, arrays = {"steps": 3}, {"noise": np.arange(-3, 4), "sums": np.array([0.5, 1e300])}
    data = pack(about, arrays)
    found = unpack(data, "x")
    assert found[0] == about
    assert all((found[1][key] == arrays[key]).all() for key in arrays)
    for at in (20, 60, len(data) - 1):
        changed = bytearray(data)
        changed[at] ^= 1
        with pytest.raises(FileError, match="x is damaged"):
            unpack(bytes(changed), "x")
    with pytest.raises(FileError, match="not the state of a stream"):
        unpack(b"PAR1" + data, "x")


def test_a_stream_goes_on_where_it_was(path: Path) -> None:
    opened(path, 7)
    with Stream.resume(path) as stream:
        before = stream.totals()["total"].tolist()
        stream.step(100)
        after = stream.totals()["total"].tolist()
        assert stream.steps == 8
        assert after[:7] == before
    with Stream.resume(path) as again:
        assert again.totals()["total"].tolist() == pytest.approx(after)


def test_only_the_owner_can_read_the_state(path: Path) -> None:
    opened(path, 2)
    assert path.stat().st_mode & 0o777 == 0o600
    assert answers_of(path).exists()


def test_nor_can_others_read_it_before_the_ledger_knows_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, modes = Ledger(path.with_name("ledger"), limit=1), list[int]()
    real = Ledger.take_step

    def looked_at(self: Ledger, *given: Any) -> None:
        modes.append(next_of(path).stat().st_mode & 0o777)
        real(self, *given)

    monkeypatch.setattr(Ledger, "take_step", looked_at)
    with Stream.open(path, epsilon=1, ledger=ledger, key="s") as stream:
        stream.step(3)
    assert modes == [0o600] * 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_answer_is_on_disk_when_it_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, real = list[int](), os.fsync

    def synced(handle: int) -> None:
        real(handle)
        if os.fstat(handle).st_ino == answers_of(path).stat().st_ino:
            sizes.append(os.fstat(handle).st_size)

    with Stream.open(path, epsilon=1, steps=20) as stream:
        monkeypatch.setattr(os, "fsync", synced)
        for step in range(1, 4):
            stream.step(step)
            assert len(sizes) == step
            assert sizes[-1] == answers_of(path).stat().st_size


def test_an_older_copy_of_the_state_is_refused(path: Path) -> None:
    old = shutil.copy(opened(path, 5), path.with_name("copy"))
    with Stream.resume(path) as stream:
        stream.step(1)
    shutil.copy(old, path)
    with pytest.raises(FileError, match=r"5 steps.*answers of 6.*older copy.*same noise twice"):
        Stream.resume(path)


def test_lost_answers_are_missed(path: Path) -> None:
    opened(path, 5)
    os.truncate(answers_of(path), 30)
    with pytest.raises(FileError, match=r"has taken 5. Restore"):
        Stream.resume(path)


@pytest.mark.parametrize("cut", [1, 8, 16, 24])
def test_a_torn_last_answer_is_mended_from_the_state(path: Path, cut: int) -> None:
    opened(path, 5)
    whole = answers_of(path).read_bytes()
    size = len(whole) // 5
    os.truncate(answers_of(path), len(whole) - min(cut, size))
    Stream.resume(path).leave()
    assert answers_of(path).read_bytes() == whole


def test_two_processes_do_not_take_steps_of_one_stream(path: Path) -> None:
    opened(path, 2)
    with Stream.resume(path), pytest.raises(FileError, match="Another process has the stream"):
        Stream.resume(path)
    Stream.resume(path).leave()


def test_a_place_that_is_taken_or_not_there_is_refused(path: Path) -> None:
    opened(path, 1)
    with pytest.raises(InputError, match=r"already. Stream.resume goes on"):
        Stream.open(path, epsilon=1)
    with pytest.raises(FileError, match="no stream"):
        Stream.resume(path.with_name("none"))
    with pytest.raises(InputError, match="no folder"):
        Stream.open(path.parent / "none" / "x", epsilon=1)
    path.unlink()  # its answers are still there, and are not written over
    with pytest.raises(InputError, match=r"already. Stream.resume goes on"):
        Stream.open(path, epsilon=1)


CHILD = """
import os, sys
from pathlib import Path
from trueup.stream import Stream
path = Path(sys.argv[1])
stream = Stream.resume(path) if path.exists() else Stream.open(path, epsilon=1, steps=500)
print("ready", flush=True)
while True:
    step = stream.steps
    total = stream.step(step)
    os.write(1, f"{step + 1} {stream.answers[-1].ravel().tolist()}\\n".encode())
"""


def test_a_stream_that_is_killed_again_and_again_says_everything_once(path: Path) -> None:
    """Whatever was said of a step before a kill is what the files say of it afterwards."""
    said: dict[int, str] = {}
    last = 0
    for number in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        lines = [child.stdout.readline() for _ in range(4)]
        time.sleep(random.Random(number).uniform(0, 0.02))
        child.send_signal(signal.SIGKILL)
        for line in [*lines, *child.communicate()[0].splitlines()]:
            step, _, answers = line.strip().partition(" ")
            if answers.endswith("]"):
                assert said.setdefault(int(step), answers) == answers
                assert int(step) > last
        with Stream.resume(path) as stream:
            last = stream.steps
            kept = stream.answers
        assert max(said, default=0) <= last <= max(said, default=0) + 1
        for step, answers in said.items():
            assert kept[step - 1].ravel().tolist() == json.loads(answers)
    assert last > 10


def test_the_state_is_read_once_the_files_are_held(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another process does before it lets go counts: steps, and above all the end.

    A closed stream has told the noise that an open one would use again.
    """
    opened(path, 2)
    waiting = [True]

    def held(*given: Any) -> Keeping:
        if waiting:
            waiting.clear()
            with Stream.resume(path) as other:
                other.step(5)
                other.close()
        return Keeping(*given)

    monkeypatch.setattr("trueup.stream.stream.Keeping", held)
    with Stream.resume(path) as stream:
        assert (stream.steps, stream.closed) == (3, True)


OPENED = """
import os, sys
from pathlib import Path
import trueup as tu
folder = Path(sys.argv[1])
real = {name: getattr(os, name) for name in ("open", "write", "fsync", "replace")}

def opened(path, ledger, after):
    left = [after]

    def counted(name):
        def call(*given, **named):
            if left[0] == 0:
                os._exit(9)
            left[0] -= 1
            return real[name](*given, **named)
        return call

    for name in real:
        setattr(os, name, counted(name))
    tu.Stream.open(path, epsilon=1, steps=9, ledger=ledger, key="s")
    os._exit(0)

for after in range(400):
    place = folder / str(after)
    place.mkdir()
    path, ledger = place / "visits.stream", tu.Ledger(place / "ledger", limit=1)
    child = os.fork()
    if child == 0:
        opened(path, ledger, after)
    done = os.waitpid(child, 0)[1] == 0
    try:
        stream = tu.Stream.open(path, epsilon=1, steps=9, ledger=ledger, key="s")
    except tu.InputError:  # it is there, or the ledger knows its state
        stream = tu.Stream.resume(path, ledger)
    with stream:
        assert stream.steps == 0, after
        stream.step(3)
    with tu.Stream.resume(path, ledger) as again:
        assert again.steps == 1, after
    assert ledger.spent == 1, after
    if done:
        break
print(after)
"""


def test_a_stream_whose_opening_is_killed_at_any_step_is_opened_and_charged_once(
    tmp_path: Path,
) -> None:
    words = [sys.executable, "-c", OPENED, str(tmp_path)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 12


def test_where_no_stream_can_be_nothing_is_charged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, real = Ledger(path.with_name("ledger"), limit=1), os.open

    def closed(place: Any, *given: Any, **named: Any) -> int:
        if str(place).endswith(".answers"):
            raise PermissionError(13, "Permission denied")
        return real(place, *given, **named)

    with monkeypatch.context() as during:
        during.setattr(os, "open", closed)
        with pytest.raises(FileError, match="cannot be written: Permission denied"):
            Stream.open(path, epsilon=1, ledger=ledger)
    with pytest.raises(InputError, match="at most 200 bytes"):
        Stream.open(path.with_name("é" * 101), epsilon=1, ledger=ledger)
    assert ledger.spent == 0
    before = sorted(path.parent.iterdir())
    with pytest.raises(BudgetError):
        Stream.open(path, epsilon=2, ledger=ledger)
    assert sorted(path.parent.iterdir()) == before
    Stream.open(path.with_name("é" * 100), epsilon=1, ledger=ledger).leave()


def test_of_two_that_open_one_place_the_second_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one stays as it was, and nothing is charged for the second."""
    ledger, waiting = Ledger(path.with_name("ledger"), limit=1), [True]

    def held(*given: Any) -> Keeping:
        if waiting:
            waiting.clear()
            opened(path, 2)
        return Keeping(*given)

    monkeypatch.setattr("trueup.stream.stream.Keeping", held)
    with pytest.raises(InputError, match=r"already. Stream.resume goes on"):
        Stream.open(path, epsilon=1, ledger=ledger)
    assert ledger.spent == 0
    with Stream.resume(path) as stream:
        assert stream.steps == 2


def test_answers_that_another_process_took_away_are_not_held(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else steps would be written into a file that has no name any more."""
    real = fcntl.flock

    def late(handle: int, how: int) -> None:
        answers_of(path).unlink()
        answers_of(path).touch()
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(FileError, match="Another process has the stream"):
        Keeping(path, 1)
