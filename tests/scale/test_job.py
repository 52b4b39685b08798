"""A release in a folder is the release in memory, and a crash never draws twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import trueup as tu
from trueup._kernels.tree import blocks
from trueup._kernels.tree.fused import Run, refined
from trueup.ask import Question
from trueup.facts import Facts
from trueup.files.dataset import open_dataset
from trueup.infer import model_of
from trueup.scale import FolderJob, checked_question, job, open_job
from trueup.scale.slabbed import shown_words
from trueup.scale.store import AnswerStore

Ints = npt.NDArray[np.int64]
AXIS = tu.Axis.integers("place", 0, 69_999)


class Given:
    """Noisy answers that are there already, written over the true ones: for tests alone."""

    def __init__(self, question: Question, noisy: Ints) -> None:
        levels = model_of(Facts.of(question, 1).noise).levels()
        assert levels is not None
        _, self.origin = refined(levels.radices)
        ends = np.cumsum([levels.tree.length(level) for level in levels.asked])[:-1]
        self.levels = dict(zip(levels.asked, np.split(noisy, ends), strict=True))

    def __call__(self, values: Ints, runs: Sequence[Run], span: int) -> None:
        for run in runs:
            own: Any = self.origin[run.level]
            first = run.first + run.step * span
            values[run.begin : run.end] = self.levels[own][first : first + run.end - run.begin]


QUESTIONS: list[tuple[Question, dict[str, object]]] = [
    (tu.TreeCounts(AXIS), {"epsilon": 1}),
    (tu.TreeCounts(131_072, branching=2), {"rho": "1/10"}),
    (
        tu.TreeCounts(100_003, radices=(40, 60, 50), shares=("1/10", 0, "2/5", "1/2")),
        {"epsilon": 1},
    ),
    (tu.CellCounts(90_001), {"epsilon": "1/3"}),
    (tu.TreeCounts(500, branching=5), {"epsilon": 1}),
    (tu.TreeCounts(1 << 15, branching=8), {"epsilon": 1}),  # one block of sums, just
    (tu.TreeCounts((1 << 15) + 1, branching=8), {"epsilon": 1}),
]


@pytest.mark.parametrize(("question", "cost"), QUESTIONS)
def test_a_folder_holds_the_bits_of_the_release_in_memory(
    question: Question, cost: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "SPAN", 1 << 12)
    monkeypatch.setattr(job, "SLAB", 20_000)
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 30, question.size) * (rng.random(question.size) < 0.3)
    measured = tu.measure(counts, question, **cost)  # type: ignore[arg-type]
    given = Given(question, np.asarray(measured.noisy))
    facts = Facts.of(question, **cost).made(shown_words(question))  # type: ignore[arg-type]
    work = FolderJob.open(tmp_path / "out", facts)
    shown = work.finish(work.draw(lambda a, b: counts[a:b], 1, given))
    expected = tu.infer(measured, nonnegative=True, integers=True)
    assert shown.prefix.dtype == np.int64
    assert np.array_equal(shown.prefix[:], expected.prefix)
    assert shown.facts.inferred == expected.facts.inferred
    assert str(shown.range(3, 99)) == str(expected.range(3, 99))
    shares = [0.0, 0.1, 0.5, 0.9, 1.0]
    assert shown.quantile(shares) == expected.quantile(shares)
    found, expected = shown.unbiased, tu.infer(measured)
    assert found.prefix[:].tobytes() == expected.prefix.tobytes()
    ends = np.array([0, 7, question.size // 2]), np.array([1, 400, question.size])
    assert (found.range_errors(*ends) == expected.range_errors(*ends)).all()
    assert str(found.range(3, 99)) == str(expected.range(3, 99))
    assert not AnswerStore.beside(tmp_path / "out").work.exists()


def test_publish_draws_fresh_noise_of_the_right_size_into_a_folder(tmp_path: Path) -> None:
    """Mean and variance of many disjoint ranges, against the exact variance of least squares."""
    counts = np.arange(AXIS.size) % 7
    found = tu.publish(counts, tu.TreeCounts(AXIS), 1, nonnegative=False, to=tmp_path / "a")
    again = tu.publish(counts, tu.TreeCounts(AXIS), 1, nonnegative=False, to=tmp_path / "b")
    low = np.arange(0, AXIS.size - 70, 70)
    error = (
        found.ranges(low, low + 70) - np.add.reduceat(counts[: low[-1] + 70], low)
    ) / found.range_errors(low, low + 70)
    total = found.total()
    assert abs(total.value - counts.sum()) < 8 * total.std_error
    assert 0.8 < error.std() < 1.2
    assert (found.ranges(low, low + 70) != again.ranges(low, low + 70)).all()
    assert found.facts.id != again.facts.id


def test_tables_columns_and_counts_are_published_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "SLAB", 20_000)
    values = np.random.default_rng(3).integers(-5, 70_005, 50_000)
    frame = pl.DataFrame({"place": values})
    frame.write_parquet(tmp_path / "rows.parquet")
    true = AXIS.count(values)
    kinds = {"array": values, "frame": frame, "file": str(tmp_path / "rows.parquet")}
    for name, data in kinds.items():
        found = tu.publish(data, AXIS, 1000, to=tmp_path / name)
        assert np.array_equal(found.counts(), true)
        assert np.abs(found.unbiased.counts() - true).max() < 1e-3
    table = pl.scan_parquet(tmp_path / "frame" / "*.parquet").collect()
    assert (table["cell"].to_numpy() == np.arange(AXIS.size)).all()
    again = tu.load(tmp_path / "frame")
    assert table["count"].sum() == again.total().value
    assert table["unbiased"].sum() == again.unbiased.total().value
    assert table.schema["count"] == pl.Int64
    open_dataset(tmp_path / "frame").verify()


KILLED = """
import os, signal, sys, warnings
warnings.simplefilter("ignore")
from pathlib import Path
import numpy as np
import trueup as tu
from trueup._kernels.tree import blocks
from trueup.scale import job
blocks.SPAN, job.SLAB = 256, 900
folder = Path(sys.argv[1])
days = tu.Axis.dates("day", "2001-01-01", "2009-03-20")
questions = {
    "tree": tu.TreeCounts(3_001, branching=8),
    "hierarchy": tu.TreeCounts(days, levels=("month", "day")),
    "hats": tu.HatCounts(3_001, strides=(10, 100)),
}
question = questions[sys.argv[2]]
counts = np.arange(question.size) % 5
made, steps = 0, 0
true = {name: getattr(os, name) for name in ("fsync", "link", "rename", "unlink")}

def publish(to, after):
    left = [after]
    def dying(name):
        def step(*given, **named):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return true[name](*given, **named)
        return step
    for name in true:
        setattr(os, name, dying(name))
    tu.publish(counts, question, 1, to=to)
    os._exit(0)

def stored(place):
    return {each.name: each.read_bytes() for each in place.rglob("*.int64")}

tu.publish(counts, question, 1, to=folder / "warm")
warm = folder / "warm"
whole = {each.relative_to(warm).as_posix() for each in warm.rglob("*") if each.is_file()}
for after in range(0, 400, int(sys.argv[3])):
    to = folder / str(after)
    child = os.fork()
    if child == 0:
        publish(to, after)
    done = os.waitpid(child, 0)[1] == 0
    if not done:
        partial = to.with_name(to.name + ".partial")
        before = stored(partial) or (stored(to) if to.exists() else {})
        if partial.exists() or not to.exists():
            tu.publish(counts, question, 1, to=to)
        assert all(stored(to)[name] == data for name, data in before.items()), after
        assert not partial.exists()
        left = {each.relative_to(to).as_posix() for each in to.rglob("*") if each.is_file()}
        assert left == whole, left ^ whole  # no draft of another noise goes along
        made += len(before)
    release = tu.load(to).unbiased
    assert abs(release.total().value - counts.sum()) < 12 * release.total().std_error
    steps += 1
    if done:
        break
print(steps, made)
"""


@pytest.mark.parametrize(("shape", "every"), [("tree", 3), ("hierarchy", 7), ("hats", 7)])
def test_a_release_killed_at_any_step_goes_on_and_draws_nothing_twice(
    shape: str, every: int, tmp_path: Path
) -> None:
    words = [sys.executable, "-c", KILLED, str(tmp_path), shape, str(every)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    steps, kept = map(int, ran.stdout.split())
    assert steps > 6
    assert kept > 6


def test_other_data_after_a_crash_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "SLAB", 20_000)
    monkeypatch.setattr(blocks, "SPAN", 1 << 12)
    counts = np.ones(70_000, np.int64)
    facts = Facts.of(tu.TreeCounts(AXIS), 1)

    def dies(start: int, stop: int) -> Ints:
        if start > 30_000:
            raise KeyboardInterrupt
        return counts[start:stop]

    with pytest.raises(KeyboardInterrupt):
        FolderJob.open(tmp_path / "out", facts).draw(dies, 1)
    other = counts.copy()
    other[[5, 60_000]] = 0, 2  # a row that moved from a slab that was stored to one that was not
    with pytest.raises(tu.InputError, match="data are not those"):
        FolderJob.open(tmp_path / "out", facts).draw(lambda a, b: other[a:b], 1)
    for another in (Facts.of(tu.TreeCounts(AXIS), 2), facts.made(shown_words(tu.TreeCounts(AXIS)))):
        with pytest.raises(tu.InputError, match="another release"):
            FolderJob.open(tmp_path / "out", another)
    again = FolderJob.open(tmp_path / "out", facts)
    again.finish(again.draw(lambda a, b: counts[a:b], 1))


def test_once_all_answers_are_stored_the_data_are_not_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes on then is of the data before the crash, to the bit, whatever became of them."""
    monkeypatch.setattr(job, "SLAB", 20_000)
    facts = Facts.of(tu.TreeCounts(AXIS), 1)
    first = FolderJob.open(tmp_path / "out", facts)
    answered = first.draw(lambda a, b: np.ones(b - a, np.int64), 1)
    stored = {path.name: path.read_bytes() for path in first.store.public.rglob("*.int64")}

    def gone(start: int, stop: int) -> Ints:
        raise AssertionError("counted again")

    again = FolderJob.open(tmp_path / "out", facts)
    assert again.draw(gone, 1) == answered
    release = again.finish(answered)
    kept = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*.int64")}
    assert kept == stored
    assert abs(release.total().value - AXIS.size) < 10 * release.total().std_error


def begun(to: Path, facts: Facts, key: str = "k", ledger: str = "one") -> FolderJob:
    """A release of which some slabs are drawn."""
    work = FolderJob.open(to, facts, key, ledger)

    def dies(start: int, stop: int) -> Ints:
        if start > 30_000:
            raise KeyboardInterrupt
        return np.ones(stop - start, np.int64)

    with pytest.raises(KeyboardInterrupt):
        work.draw(dies, 1)
    return work


def test_only_what_was_begun_is_gone_on_with_and_never_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another cost, unit, relation, question, key or ledger is refused; what is drawn stays."""
    monkeypatch.setattr(job, "SLAB", 20_000)
    monkeypatch.setattr(blocks, "SPAN", 1 << 12)
    tree = tu.TreeCounts(AXIS)
    facts = Facts.of(tree, 1, unit="user", rows_per_unit=2)
    work = begun(tmp_path / "out", facts)
    stored = {each: each.read_bytes() for each in work.store.work.rglob("*.int64")}
    assert stored
    for other in (
        Facts.of(tree, 2, unit="user", rows_per_unit=2),
        Facts.of(tree, 1, unit="user", rows_per_unit=3),
        Facts.of(tree, 1, unit="group", rows_per_unit=2),
        Facts.of(tree, 1, "replace", unit="user", rows_per_unit=2),
        Facts.of(tu.TreeCounts(AXIS, branching=2), 1, unit="user", rows_per_unit=2),
    ):
        with pytest.raises(tu.InputError, match="another release"):
            FolderJob.open(tmp_path / "out", other, "k", "one")
    for key, ledger in (("other", "one"), ("k", "two"), ("k", "")):
        with pytest.raises(tu.InputError, match="another release"):
            FolderJob.open(tmp_path / "out", facts, key, ledger)
    again = FolderJob.open(tmp_path / "out", facts, "k", "one")
    again.give_up()
    assert {each: each.read_bytes() for each in work.store.work.rglob("*.int64")} == stored
    FolderJob.open(tmp_path / "empty", facts, "k", "one").give_up()
    assert not AnswerStore.beside(tmp_path / "empty").work.exists()


def test_answers_that_were_lost_or_cut_are_neither_fitted_nor_drawn_again(tmp_path: Path) -> None:
    facts = Facts.of(tu.TreeCounts(AXIS), 1)
    work = FolderJob.open(tmp_path / "out", facts)
    answered = work.draw(lambda a, b: np.ones(b - a, np.int64), 1)
    (slab,) = work.store.work.rglob("000000.int64")
    whole = slab.read_bytes()
    for left in (whole[:-8], whole + b"x", None):
        slab.unlink()
        if left is not None:
            slab.write_bytes(left)
        with pytest.raises(tu.FileError, match="never drawn again"):
            work.finish(answered)
        assert not (tmp_path / "out").exists()
    slab.write_bytes(whole)
    assert work.finish(answered).facts.id == work.facts.id


def test_noise_that_cannot_be_drawn_is_refused_before_anything_is_begun(tmp_path: Path) -> None:
    for epsilon in ("1e-12", 10**6):
        with pytest.raises(tu.InputError, match="noise scale"):
            FolderJob.open(tmp_path / "out", Facts.of(tu.TreeCounts(AXIS), epsilon))
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_made_is_refused_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tu.TreeCounts(AXIS)
    for over in (tu.TreeCounts(AXIS, adaptive=True), "place"):
        with pytest.raises(tu.InputError, match="trees and hats"):
            checked_question(over, True, None)
    for shown in (True, False):
        with pytest.raises(tu.InputError, match="leave integers out"):
            checked_question(AXIS, shown, not shown)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    for to in (tmp_path / "full", tmp_path / "no" / "out", "/", 3):
        with pytest.raises(tu.InputError):
            tu.publish(np.ones(70_000, int), tree, 1, nonnegative=False, to=to)  # type: ignore[call-overload]
    with pytest.raises(tu.InputError, match="70,000 cells"):
        tu.publish(np.ones(7, int), tree, 1, nonnegative=False, to=tmp_path / "short")
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10**6}))
    with pytest.raises(tu.InputError, match="GB of disk"):
        tu.publish(np.ones(70_000, int), tree, 1, nonnegative=False, to=tmp_path / "out")
    assert not (tmp_path / "out.partial").exists()


@pytest.mark.parametrize("shown", [True, False])
def test_a_folder_is_on_disk_before_it_has_its_name_and_then_the_name_is(
    shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that loses power never has a release of which a byte or a file is missing."""
    synced, steps = dict[int, tuple[int, int]](), list[str]()
    fsync, rename = os.fsync, os.rename

    def noted(handle: int) -> None:
        fsync(handle)
        about = os.fstat(handle)
        synced[about.st_ino] = about.st_mtime_ns, about.st_size
        steps.append("synced the name" if about.st_ino == tmp_path.stat().st_ino else "")

    def named(source: Path, to: Path) -> None:
        for each in (source, *Path(source).rglob("*")):
            about = each.stat()
            assert synced.get(about.st_ino) == (about.st_mtime_ns, about.st_size), each
        steps.append("named")
        rename(source, to)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "rename", named)
    monkeypatch.setattr(AnswerStore, "delete", lambda _: steps.append("deleted"))
    work = open_job(tmp_path / "a", Facts.of(tu.TreeCounts(AXIS), 1), shown=shown)
    answered = work.draw(lambda a, b: np.ones(b - a, np.int64), 1)
    assert isinstance(work, FolderJob)
    (work.store.public / "stray").touch()  # what is taken away must not come back
    work.finish(answered)
    assert [step for step in steps if step][-3:] == ["named", "synced the name", "deleted"]


@pytest.mark.parametrize("shown", [True, False])
def test_the_disk_that_is_asked_for_is_the_disk_that_is_taken(shown: bool, tmp_path: Path) -> None:
    """Too little is found out by a full disk, after the charge; too much is refused for nothing."""
    size = 1 << 18
    kinds = tu.Axis.categories("kind", ["a", "b"])
    questions: list[tuple[str, Question]] = [
        ("tree", tu.TreeCounts(size, branching=16)),
        ("table", tu.GridCounts(tu.CellCounts(kinds), tu.TreeCounts(size // 2, branching=16))),
    ]
    for name, question in questions:
        work = open_job(tmp_path / name, Facts.of(question, 1), shown=shown)
        flat = np.zeros(size, np.int64)
        work.finish(work.draw(lambda a, b, flat=flat: flat[a:b], 1))  # type: ignore[misc]
        taken = sum(each.stat().st_size for each in (tmp_path / name).rglob("*") if each.is_file())
        assert 0.93 < taken / work.need < 1.01


def test_a_table_without_room_or_noise_is_refused_before_anything_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = tu.Axis.categories("kind", ["a", "b"])
    table = tu.GridCounts(tu.CellCounts(kinds), tu.TreeCounts(1 << 15, branching=16))
    with pytest.raises(tu.InputError, match="noise scale"):
        open_job(tmp_path / "out", Facts.of(table, "1e-12"))
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10**6}))
    with pytest.raises(tu.InputError, match="GB of disk"):
        open_job(tmp_path / "out", Facts.of(table, 1))
    assert list(tmp_path.iterdir()) == []


def test_every_release_has_a_secret_of_its_own(tmp_path: Path) -> None:
    """By it rows of a unit are chosen and counts are hashed: nobody may know it beforehand."""
    facts = Facts.of(tu.TreeCounts(AXIS), 1)
    works = [FolderJob.open(tmp_path / name, facts) for name in "abc"]
    assert {len(work.salt) for work in works} == {32}
    assert len({work.salt for work in works}) == len({work.sampling for work in works}) == 3
    again = FolderJob.open(tmp_path / "a", facts)
    assert (again.salt, again.sampling) == (works[0].salt, works[0].sampling)


def test_nobody_fits_what_another_process_works_on(tmp_path: Path) -> None:
    work = FolderJob.open(tmp_path / "out", Facts.of(tu.TreeCounts(AXIS), 1))
    answered = work.draw(lambda a, b: np.ones(b - a, np.int64), 1)
    with work.store.alone(), pytest.raises(tu.InputError, match="Another process"):
        work.finish(answered)
    assert work.finish(answered).facts.id == work.facts.id


def test_the_folder_tells_nothing_but_its_answers(tmp_path: Path) -> None:
    tu.publish(np.ones(70_000, int), tu.TreeCounts(AXIS), 1, nonnegative=False, to=tmp_path / "out")
    files = sorted(each.name for each in (tmp_path / "out").rglob("*"))
    assert files == [
        "000000.int64",
        "above.int64",
        "answers",
        "blocks.float64",
        "manifest.json",
        "part-000000.parquet",
    ]
    said = json.loads((tmp_path / "out" / "manifest.json").read_text())
    public = {"format", "kind", "about", "parts", "answers", "digest"}
    assert set(said) == public | {"rows", "block", "blocks"}  # how the sums are laid out
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_was_moved_away_is_not_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the name and the deletion of the plan; then the folder is moved."""
    facts = Facts.of(tu.TreeCounts(AXIS), 1)
    work = FolderJob.open(tmp_path / "out", facts)
    answered = work.draw(lambda a, b: np.ones(b - a, np.int64), 1)
    monkeypatch.setattr(AnswerStore, "delete", lambda _: None)
    work.finish(answered)
    monkeypatch.undo()
    assert FolderJob.open(tmp_path / "out", facts).named
    (tmp_path / "out").rename(tmp_path / "moved")
    with pytest.raises(tu.FileError, match="not drawn again"):
        FolderJob.open(tmp_path / "out", facts)
