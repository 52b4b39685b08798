"""Answers have a name only once, and only when they are on disk."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueup as tu
from trueup.scale.store import AnswerStore, stored_once


def test_of_two_who_store_one_name_the_first_alone_is_kept(tmp_path: Path) -> None:
    (tmp_path / "drafts").mkdir()
    assert stored_once(tmp_path / "a", b"first", tmp_path / "drafts")
    assert not stored_once(tmp_path / "a", b"second", tmp_path / "drafts")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == ["a", "drafts"]
    assert not os.listdir(tmp_path / "drafts")


def test_one_process_at_a_time_makes_a_release(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path)
    with store.alone(), pytest.raises(tu.InputError, match="Another process"):
        store.alone().__enter__()
    with store.alone():
        pass


def test_answers_without_a_plan_or_with_another_length_are_refused(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "out.partial")
    store.begin({"a": 1})
    assert store.plan() == {"a": 1}
    assert store.put(0, np.arange(5))
    assert not store.put(0, np.arange(6))
    assert (store.answers(0, 5) == np.arange(5)).all()
    for wrong in (4, 6):
        with pytest.raises(tu.FileError, match="length"):
            store.answers(0, wrong)
    (store.work / "plan.json").unlink()
    with pytest.raises(tu.FileError, match="put it back"):
        store.plan()


def test_answers_are_on_disk_before_they_have_their_name_and_then_the_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that loses power never has a name without its answers, nor forgets a name."""
    done, real = list[str](), {name: getattr(os, name) for name in ("fsync", "link")}

    def noted(name: str) -> Any:
        def step(first: Any, *rest: Any) -> Any:
            done.append(f"{name} {'folder' if name == 'fsync' and _folder(first) else ''}".strip())
            return real[name](first, *rest)

        return step

    for name in real:
        monkeypatch.setattr(os, name, noted(name))
    (tmp_path / "drafts").mkdir()
    stored_once(tmp_path / "a", b"first", tmp_path / "drafts")
    assert done == ["fsync", "link", "fsync folder"]


def _folder(handle: int) -> bool:
    return stat.S_ISDIR(os.fstat(handle).st_mode)


def test_who_came_second_says_the_hash_of_the_first(tmp_path: Path) -> None:
    first, second = (AnswerStore(tmp_path / "out.partial") for _ in range(2))
    first.begin({})
    assert first.put(0, np.arange(5))
    assert not second.put(0, np.arange(5) + 1)
    expected = hashlib.sha256(np.arange(5).tobytes()).hexdigest()
    assert first.part(0, (0, 5)).sha256 == second.part(0, (0, 5)).sha256 == expected


def test_the_hash_of_true_counts_is_keyed_and_says_its_slab(tmp_path: Path) -> None:
    """Few counts are possible, so that a hash without a secret would tell which they are."""
    store, counts = AnswerStore(tmp_path / "out.partial"), np.array([1, 0, 2])
    store.begin({})
    seen = {}
    for slab, salt in ((0, b"one"), (1, b"one"), (2, b"other")):
        store.seen(slab, counts, salt)
        seen[slab] = (store.work / "seen" / f"{slab:06d}").read_bytes()
    assert len(set(seen.values())) == 3
    store.put(0, counts)
    store.seen(0, counts, b"one")
    for other, salt in ((counts + 1, b"one"), (counts, b"other")):
        with pytest.raises(tu.InputError, match="data are not those"):
            store.seen(0, other, salt)


def test_nobody_else_on_the_machine_reads_what_is_being_made(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = AnswerStore(tmp_path / "out.partial")
        store.begin({})
        store.put(0, np.arange(5))
        store.seen(1, np.arange(5), b"salt")
    finally:
        os.umask(before)
    for each in (store.work, *store.work.rglob("*")):
        assert not each.stat().st_mode & 0o077, each


def test_room_is_what_is_free_and_what_is_stored_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = AnswerStore(tmp_path / "out.partial")
    store.begin({})
    store.put(0, np.zeros(1 << 17, np.int64))
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1 << 26))
    store.check_room(1 << 20)
    with pytest.raises(tu.InputError, match="GB of disk"):
        store.check_room(2 << 20)


def test_a_crash_while_it_is_deleted_leaves_the_plan_to_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left without its plan would be neither gone on with nor deleted."""
    real = shutil.rmtree
    for number in range(4):
        store, left = AnswerStore(tmp_path / f"{number}.partial"), [number]
        store.begin({})
        store.seen(0, np.arange(5), b"salt")

        def dies(path: Any, left: list[int] = left, **named: Any) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            real(path, **named)

        monkeypatch.setattr(shutil, "rmtree", dies)
        with pytest.raises(KeyboardInterrupt):
            store.delete()
        assert store.plan() == {}


def test_of_two_who_begin_at_once_one_has_its_plan_here(tmp_path: Path) -> None:
    """Else the noise of one would be told with the facts of the other."""
    first, second = (AnswerStore(tmp_path / "out.partial") for _ in range(2))
    first.begin({"cost": 1})
    with pytest.raises(tu.InputError, match="Another process"):
        second.begin({"cost": 2})
    assert first.plan() == second.plan() == {"cost": 1}


def test_a_disk_on_which_answers_cannot_be_stored_once_is_found_when_a_release_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems have no links: that must not be found after the charge."""

    def refused(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    ledger = tu.Ledger(tmp_path / "ledger", limit=1)
    owner = tu.Owner(pl.DataFrame({"x": [1, 2]}), ledger)
    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(tu.InputError, match="Cannot make"):
        owner.publish(tu.Axis.integers("x", 0, 9), 1, to=tmp_path / "out")
    assert not ledger.spent


def test_what_another_process_finished_or_damaged_is_told_in_our_words(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "out.partial")
    with pytest.raises(tu.FileError, match="gone"):
        store.alone().__enter__()
    store.begin({})
    with pytest.raises(tu.FileError, match="never drawn again"):
        store.part(0, (0, 5))
    store.put(0, np.arange(5))
    with pytest.raises(tu.InputError, match="data are not those"):
        store.seen(0, np.arange(5), b"salt")  # nothing says which data they are of


def test_numbers_that_are_kept_for_other_machines_are_theirs_to_the_bit(tmp_path: Path) -> None:
    store, other = (AnswerStore(tmp_path / "out.partial") for _ in range(2))
    store.begin({})
    real, whole = np.array([0.1, -1e300, 2.0**-60]), np.array([-5, 2**62, 7])
    store.keep("settled", real)
    store.keep("whole", whole)
    assert other.kept("settled").tobytes() == real.tobytes()
    assert other.kept("whole", "int64").tolist() == whole.tolist()
    store.keep("settled", real[:1])  # a stage that is run again
    assert other.kept("settled").tolist() == [0.1]
    assert not list(store.public.rglob("*.*"))  # it is no part of what is published


def test_what_is_written_beside_the_answers_is_told_by_name_length_and_hash(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "out.partial")
    store.begin({})
    for data in (b"first", b"second, and longer"):  # made again after a crash, it is what it was
        part = store.write("blocks.bin", data)
        assert (store.public / "blocks.bin").read_bytes() == data
        assert (part.file, part.bytes) == ("blocks.bin", len(data))
        assert part.sha256 == hashlib.sha256(data).hexdigest()
    assert not list((store.work / "drafts").iterdir())


def test_a_folder_has_the_files_that_its_manifest_names_and_no_others(tmp_path: Path) -> None:
    store, to = AnswerStore(tmp_path / "out.partial"), tmp_path / "out"
    store.begin({})
    store.put(0, np.arange(5))
    store.put(-1, np.arange(2))
    store.seen(1, np.arange(5), b"salt")
    store.write("manifest.json", b"{}")
    store.write("left by a crash", b"true counts")
    answers = {store.part(slab, (0, 5)).file for slab in (0, -1)}
    assert len(answers) == 2
    store.finish(to, {"manifest.json", *answers})
    found = {each.relative_to(to).as_posix() for each in to.rglob("*") if each.is_file()}
    assert found == {"manifest.json", *answers}
    assert not store.work.exists()


def test_nothing_is_drawn_before_the_first_answers_are_stored(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "out.partial")
    assert store.plan() is None
    assert not store.drawn
    store.begin({})
    store.seen(0, np.arange(5), b"salt")
    assert not store.drawn
    assert not store.has(0)
    store.put(-1, np.arange(2))
    assert store.drawn
    assert store.has(-1)
    assert not store.has(0)
