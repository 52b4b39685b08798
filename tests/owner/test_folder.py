"""A release in a folder is charged once, before its noise, and paid for in one folder alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueup as tu
from trueup._kernels.tree import blocks
from trueup._kernels.tree.fused import Run
from trueup._kernels.tree.regular import RegularTree
from trueup._kernels.tree.slabs import Slabs
from trueup.errors import KeyConflictError
from trueup.facts import Facts
from trueup.noise import Noise, noise_variance
from trueup.owner import folder
from trueup.owner.source import open_source
from trueup.scale import FolderJob, job
from trueup.scale.nested import NestedSlabs
from trueup.scale.slabbed import in_slabs

AXIS = tu.Axis.integers("place", 0, 9_999)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "SPAN", 1 << 10)
    monkeypatch.setattr(job, "SLAB", 3_000)
    monkeypatch.setattr(folder, "WINDOW", 6_000)


def rows() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {"place": rng.integers(-9, 10_009, 4_000), "who": rng.integers(0, 99, 4_000)}
    )


def test_a_folder_is_charged_once_and_counts_what_the_filter_keeps(tmp_path: Path) -> None:
    ledger = tu.Ledger(tmp_path / "ledger", limit=1500)
    owner = tu.Owner(rows(), ledger)
    asked = {"where": "place >= 5000", "nonnegative": False, "to": tmp_path / "out", "key": "one"}
    found = owner.publish(AXIS, 1000, **asked)
    kept = rows().filter(pl.col("place") >= 5_000)["place"].to_numpy()
    assert np.abs(found.counts() - AXIS.count(kept)).max() < 1e-3
    assert ledger.spent == 1000
    again = owner.publish(AXIS, 1000, **asked)
    assert again.prefix[:].tobytes() == found.prefix[:].tobytes()
    assert ledger.spent == 1000
    others = {"to": tmp_path / "other"}, {"key": "two"}, {"where": None}, {"nonnegative": True}
    for wrong in others:
        with pytest.raises(tu.TrueupError):
            owner.publish(AXIS, 1000, **(asked | wrong))
    assert ledger.spent == 1000
    assert ledger.verify() == 3


def test_a_budget_that_does_not_suffice_leaves_nothing(tmp_path: Path) -> None:
    owner = tu.Owner(rows(), tu.Ledger(tmp_path / "ledger", limit=1))
    with pytest.raises(tu.BudgetError):
        owner.publish(AXIS, 2, nonnegative=False, to=tmp_path / "out")
    with pytest.raises(TypeError):
        owner.publish(AXIS, 1, nonnegative=False, to=tmp_path / "out", wher="place > 3")
    assert not any(tmp_path.glob("out*"))
    assert owner.ledger.spent == 0


def test_what_is_refused_before_the_charge_leaves_nothing(tmp_path: Path) -> None:
    """A plan that stays would keep everything else out of the folder."""
    owner = tu.Owner(rows(), tu.Ledger(tmp_path / "ledger", limit=1))
    there = sorted(os.listdir(tmp_path))
    with pytest.raises(tu.TrueupError, match="no column"):
        owner.publish(tu.Axis.integers("plaice", 0, 9), 1, to=tmp_path / "out")
    with pytest.raises(tu.TrueupError, match="no column"):
        tu.publish(rows(), tu.Axis.integers("plaice", 0, 9), 1, to=tmp_path / "out")
    with pytest.raises(tu.InputError, match="10,000 cells"):
        tu.publish(np.ones(7, int), tu.TreeCounts(AXIS), 1, to=tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == there
    for link in ("nowhere", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        (tmp_path / "out").unlink(missing_ok=True)
        (tmp_path / "out").symlink_to(tmp_path / link)
        with pytest.raises(tu.InputError, match="there already"):  # no folder takes its name
            owner.publish(AXIS, 1, to=tmp_path / "out")
    assert not (tmp_path / "out.partial").exists()
    assert not owner.ledger.spent


def test_what_was_charged_is_not_deleted_by_who_asks_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the charge and before the first answer; then asked with another filter."""
    owner = tu.Owner(rows(), tu.Ledger(tmp_path / "ledger", limit=1))
    dies = pytest.MonkeyPatch()
    dies.setattr(FolderJob, "draw", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        owner.publish(AXIS, 1, to=tmp_path / "out")
    dies.undo()
    for other in ({"where": "place > 3"}, {"where": "plaice > 3"}):
        with pytest.raises(tu.TrueupError):
            owner.publish(AXIS, 1, to=tmp_path / "out", **other)
    found = owner.publish(AXIS, 1, to=tmp_path / "out")
    assert owner.ledger.spent == 1
    assert found.facts.epsilon == 1


def test_a_release_that_another_process_works_on_is_not_given_up(tmp_path: Path) -> None:
    work = FolderJob.open(tmp_path / "out", Facts.of(tu.TreeCounts(AXIS), 1))
    with work.store.alone():
        work.give_up()
    assert work.store.plan() is not None


def test_a_count_that_fails_goes_on_under_the_same_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tu.Ledger(tmp_path / "ledger", limit=1)
    owner = tu.Owner(rows(), ledger)
    true = tu.Owner.read

    def breaks(self: tu.Owner, count: object, key: str) -> object:
        if any((tmp_path / "out.partial").rglob("*.int64")):
            raise tu.SourceError("gone")
        return true(self, count, key)  # type: ignore[arg-type]

    monkeypatch.setattr(tu.Owner, "read", breaks)
    with pytest.raises(tu.SourceError):
        owner.publish(AXIS, "1/2", "key", nonnegative=False, to=tmp_path / "out")
    monkeypatch.setattr(tu.Owner, "read", true)
    answers = tmp_path / "out.partial" / "release" / "answers"
    before = {each.name: each.read_bytes() for each in answers.iterdir()}
    assert before
    other = tu.Owner(rows(), tu.Ledger(tmp_path / "other", limit=1))
    with pytest.raises(tu.InputError, match="another release"):
        other.publish(AXIS, "1/2", nonnegative=False, to=tmp_path / "out")
    with pytest.raises(tu.TrueupError, match="different request"):  # or all were drawn twice
        owner.publish(AXIS, "1/2", "key", nonnegative=False, to=tmp_path / "elsewhere")
    assert not any(tmp_path.glob("elsewhere*"))
    owner.publish(AXIS, "1/2", nonnegative=False, to=tmp_path / "out")
    after = tmp_path / "out" / "answers"
    assert all((after / name).read_bytes() == data for name, data in before.items())
    assert ledger.spent == Fraction(1, 2)


@pytest.mark.parametrize("how", ["written", "written as long, its time put back", "replaced"])
def test_files_that_change_between_two_windows_are_refused(how: str, tmp_path: Path) -> None:
    """A row that moves from a cell that was counted to one that was not would count in both."""
    table, ledger = tmp_path / "rows.parquet", tu.Ledger(tmp_path / "ledger", limit=2)
    plain: Any = {"compression": "uncompressed", "statistics": False}  # all files as long
    first = pl.DataFrame({"place": [5, 6, 7, 9_000]})
    first.write_parquet(table, **plain)
    kept = table.read_bytes()
    owner = tu.Owner(str(table), ledger)
    real, moved = owner.read, list[int]()

    def moving(count: Any, key: Any) -> Any:
        found = real(count, key)
        if not moved:  # after the first window
            moved.append(1)
            other = tmp_path / "other.parquet"
            pl.DataFrame({"place": [9_001, 6, 7, 9_000]}).write_parquet(other, **plain)
            before = table.stat()
            assert other.stat().st_size == before.st_size
            if how == "replaced":
                os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
                os.replace(other, table)
            else:
                table.write_bytes(other.read_bytes())
            if "put back" in how:
                os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns))
        return found

    object.__setattr__(owner, "read", moving)
    with pytest.raises(tu.SourceError, match="changed while they were counted"):
        owner.publish(AXIS, 1, to=tmp_path / "out", key="k")
    assert not (tmp_path / "out").exists()
    table.write_bytes(kept)
    found = owner.publish(AXIS, 1, to=tmp_path / "out", key="k")
    assert ledger.spent == 1
    assert found.facts.id


def test_the_noise_is_that_of_the_relation_and_the_unit(tmp_path: Path) -> None:
    question = tu.TreeCounts(AXIS)
    for neighbours in ("add-remove", "replace"):
        to, ledger = tmp_path / neighbours, tu.Ledger(tmp_path / f"{neighbours} ledger", limit=9)
        owner = tu.Owner(rows(), ledger, unit="who", rows_per_unit=3)
        found = owner.publish(question, 1, neighbours=neighbours, to=to, nonnegative=False)
        expected = Noise(question, tu.Cost.of(1).epsilon, neighbours, 3)
        assert found.facts.noise.scales == expected.scales
        answers = np.fromfile(to / "answers" / "000000.int64", np.int64)
        wide = noise_variance(expected.scales[-1], "discrete")
        assert 0.7 < answers.var() / wide < 1.4


def test_the_charge_is_there_before_the_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tu.Ledger(tmp_path / "ledger", limit=2)
    owner, spent = tu.Owner(rows(), ledger), list[Fraction]()
    real = FolderJob.draw_slab

    def seen(self: Any, *given: Any) -> Any:
        spent.append(ledger.spent)
        return real(self, *given)

    monkeypatch.setattr(FolderJob, "draw_slab", seen)
    owner.publish(AXIS, 1, to=tmp_path / "out")
    assert set(spent) == {1}


def test_a_key_pays_for_one_request_in_one_notion(tmp_path: Path) -> None:
    ledger = tu.Ledger(tmp_path / "ledger", limit=9)
    owner = tu.Owner(rows(), ledger)
    with pytest.raises(tu.InputError):
        owner.publish(AXIS, rho=1, to=tmp_path / "rho")
    with pytest.raises(tu.InputError):
        owner.publish(AXIS, "1e-12", to=tmp_path / "tiny")
    assert not ledger.spent
    assert not list(tmp_path.glob("rho*"))
    owner.publish(AXIS, 1, to=tmp_path / "out", key="k")
    shutil.rmtree(tmp_path / "out")
    for other in ({"where": "place > 3"}, {"neighbours": "replace"}):
        with pytest.raises((KeyConflictError, tu.LedgerError)):
            owner.publish(AXIS, 1, to=tmp_path / "out", key="k", **other)
    assert ledger.spent == 1
    with pytest.raises(tu.TrueupError):  # what it paid for is gone, and is not drawn again
        owner.publish(AXIS, 1, to=tmp_path / "out", key="k")
    tu.publish(rows(), AXIS, 1, to=tmp_path / "out2")
    os.rename(tmp_path / "out2", tmp_path / "out")
    with pytest.raises(tu.TrueupError):  # another release in its place is not handed out
        owner.publish(AXIS, 1, to=tmp_path / "out", key="k")


def test_a_folder_of_some_days_counts_these_and_is_charged_to_them(tmp_path: Path) -> None:
    ledger = tu.Ledger(tmp_path / "ledger", limit=1000, per="day", date="day")
    days = pl.Series("day", ["2026-03-01", "2026-03-02", "2026-03-03"]).str.to_date()
    table = rows().with_columns(days.sample(4_000, with_replacement=True, seed=1))
    owner = tu.Owner(table, ledger)
    asked = {"to": tmp_path / "out", "key": "k", "nonnegative": False}
    with pytest.raises(tu.InputError, match="say which is asked about"):
        owner.publish(AXIS, 900, **asked)
    found = owner.publish(AXIS, 900, period="2026-03-02", **asked)
    own = table.filter(pl.col("day").cast(pl.String) == "2026-03-02")["place"].to_numpy()
    assert np.abs(found.counts() - AXIS.count(own)).max() < 1e-3
    in_memory = owner.measure(tu.CellCounts(AXIS), 1, period="2026-03-02")
    assert found.facts.period == in_memory.facts.period
    with pytest.raises(tu.BudgetError):  # the day was charged, and no other
        owner.publish(AXIS, 900, period="2026-03-02", to=tmp_path / "again")
    with pytest.raises(tu.TrueupError):  # the key paid for another day
        owner.publish(AXIS, 900, period="2026-03-01", **asked)
    owner.publish(AXIS, 900, period="2026-03-01", to=tmp_path / "first", nonnegative=False)


def test_a_folder_of_people_says_which_feature_it_counts(tmp_path: Path) -> None:
    """Else it would be put together with counts of rows, or of another feature."""
    ledger = tu.Ledger(tmp_path / "ledger", limit=10)
    people = tu.Owner(rows(), ledger, unit="who", rows_per_unit=1).people(
        visits=tu.Person(count="*"), first=tu.Person(min="place")
    )
    for name in ("visits", "first"):
        axis = tu.Axis.integers(name, 0, 99)
        found = people.publish(tu.TreeCounts(axis), 1, to=tmp_path / name)
        expected = people.measure(tu.TreeCounts(axis), 1).facts.features
        assert found.facts.features == expected
        assert [feature[0] for feature in expected] == [name]


@pytest.mark.parametrize("other", ["rows", "question", "source", "who asks"])
def test_a_key_that_paid_for_a_folder_pays_for_nothing_else(other: str, tmp_path: Path) -> None:
    """The folder is gone, so that only the ledger says what the key has paid for."""
    rows().write_parquet(tmp_path / "rows.parquet")
    rows().write_parquet(tmp_path / "others.parquet")
    ledger = tu.Ledger(tmp_path / "ledger", limit=9)

    def publish(name: str, number: int, axis: tu.Axis, by: str) -> Any:
        owner = tu.Owner(str(tmp_path / name), ledger, unit="who", rows_per_unit=number)
        return owner.publish(axis, 1, to=tmp_path / "out", key="k", by=by)

    publish("rows.parquet", 3, AXIS, "ann")
    shutil.rmtree(tmp_path / "out")
    asked = {
        "rows": ("rows.parquet", 4, AXIS, "ann"),
        "question": ("rows.parquet", 3, tu.Axis.integers("place", 0, 9_998), "ann"),
        "source": ("others.parquet", 3, AXIS, "ann"),
        "who asks": ("rows.parquet", 3, AXIS, "bob"),
    }
    with pytest.raises(KeyConflictError):
        publish(*asked[other])
    assert ledger.spent == 1


def test_weights_that_leave_no_room_for_records_are_refused_before_the_charge(
    tmp_path: Path,
) -> None:
    ledger = tu.Ledger(tmp_path / "ledger", limit=900)
    wide = tu.Axis.integers("place", 0, (1 << 24) - 1)
    heavy = tu.HatCounts(wide, strides=(16, 1 << 18, 1 << 28))
    with pytest.raises(tu.InputError, match="weighs cells"):
        tu.Owner(rows(), ledger).publish(heavy, 900, to=tmp_path / "out")
    assert not ledger.spent
    assert not list(tmp_path.glob("out*"))


def test_rows_of_a_unit_are_chosen_alike_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each slab is counted with one choice of rows: a run that goes on counts the same."""
    ledger = tu.Ledger(tmp_path / "ledger", limit=1000)
    owner = tu.Owner(rows(), ledger, unit="who", rows_per_unit=3)
    real = FolderJob.draw_slab

    def dies(self: Any, slab: int, *given: Any) -> Any:
        if slab == 2:
            raise KeyboardInterrupt
        return real(self, slab, *given)

    monkeypatch.setattr(FolderJob, "draw_slab", dies)
    with pytest.raises(KeyboardInterrupt):
        owner.publish(AXIS, 1000, to=tmp_path / "out", nonnegative=False)
    monkeypatch.setattr(FolderJob, "draw_slab", real)
    found = owner.publish(AXIS, 1000, to=tmp_path / "out", nonnegative=False)
    assert round(found.total().value) == 99 * 3
    assert ledger.spent == 1000


@pytest.mark.parametrize("unit", [None, "who"])
def test_windows_count_what_one_count_does(unit: str | None, tmp_path: Path) -> None:
    """A unit's rows are chosen among all of its rows, whatever the window."""
    owner = tu.Owner(
        rows(),
        tu.Ledger(tmp_path / "ledger", limit=1),
        unit=unit,
        rows_per_unit=3 if unit else None,
    )
    source = open_source(rows())
    request = owner.table.request_for(tu.CellCounts(AXIS), None, False)
    whole = source.prepare(request)()
    cuts = [0, 17, 5_000, 10_000]
    parts = [source.prepare(replace(request, window=window))() for window in pairwise(cuts)]
    assert (np.concatenate(parts) == whole).all()
    assert whole.sum() == (99 * 3 if unit else rows()["place"].is_between(0, 9_999).sum())


def stored_answers(place: Path, question: tu.TreeCounts, most: int) -> np.ndarray:
    """The noisy answers in a folder, in the order of the question: what `infer` takes."""
    slabs = Slabs(RegularTree(question.size, question.radices, (1.0,) * question.height), most)
    levels = [np.zeros(question.shape.length(level), np.int64) for level in range(question.height)]
    asked = set(question.asked)

    def put(runs: Sequence[Run], span: int, answers: np.ndarray) -> None:
        taken = 0
        for run in runs:
            if run.level in asked:
                first, length = run.first + run.step * span, run.end - run.begin
                levels[run.level][first : first + length] = answers[taken : taken + length]
                taken += length
        assert taken == len(answers)

    for slab in range(slabs.number):
        answers, taken = np.fromfile(place / "answers" / f"{slab:06d}.int64", np.int64), 0
        for span in slabs._spans(slab):
            own = [run for run in span.stretch.runs if run.level in asked]
            length = sum(run.end - run.begin for run in own)
            put(own, span.number, answers[taken : taken + length])
            taken += length
    put(slabs._runs_above, 0, np.fromfile(place / "answers" / "above.int64", np.int64))
    return np.concatenate([levels[level] for level in question.asked])


def test_a_cluster_makes_the_bits_of_one_process_and_draws_each_slab_once(
    tmp_path: Path, spark: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One slab has its answers before the cluster begins, as after a lost task: they stay."""
    monkeypatch.setattr(blocks, "SPAN", 1 << 16)  # as it is in the cluster's own processes
    monkeypatch.setattr(job, "SLAB", 60_000)
    axis = tu.Axis.integers("place", 0, 244_999)  # the last slab has a part of a block more
    question = tu.TreeCounts(axis, radices=(3, 10, 10_000), shares=("1/4",) * 4)
    values = np.random.default_rng(1).integers(-100, 110_000, 5_000)  # none in the third slab
    values[:300] = 244_000
    frame = spark().createDataFrame([(int(value),) for value in values], "place long")
    ledger = tu.Ledger(tmp_path / "ledger", limit=1)
    owner = tu.Owner(frame, ledger)
    true = tu.Owner.read
    monkeypatch.setattr(tu.Owner, "read", lambda *_: (_ for _ in ()).throw(tu.SourceError("gone")))
    with pytest.raises(tu.SourceError):
        owner.publish(question, 1, to=tmp_path / "out")
    monkeypatch.setattr(tu.Owner, "read", true)
    planned = FolderJob.planned(str(tmp_path / "out"))
    start, stop = planned.slabs.cells(1)
    planned.draw_slab(1, axis.count(values)[start:stop])
    before = planned.answers(1)
    found = owner.publish(question, 1, to=tmp_path / "out")
    assert ledger.spent == 1
    assert planned.slabs.number == 4  # whose cells do not end where blocks of sums do
    kept = np.fromfile(tmp_path / "out" / "answers" / "000001.int64", np.int64)
    assert (kept == before).all()
    noisy = stored_answers(tmp_path / "out", question, 60_000)
    measured = tu.Measurement(question, noisy, epsilon=1)
    expected = tu.infer(measured, nonnegative=True, integers=True)
    assert np.array_equal(found.prefix[:], expected.prefix)
    assert found.unbiased.prefix[:].tobytes() == expected.unbiased.prefix.tobytes()
    errors = noisy - question.answers(axis.count(values))
    assert 0.8 < errors.std() / (np.sqrt(2) * 4) < 1.2  # discrete Laplace of scale 4
    assert abs(errors.mean()) < 0.1
    assert np.abs(errors).max() < 120, "also of nodes above the slabs, and in the last cells"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["out", *(path.name for path in tmp_path.glob("ledger*"))]
    )


def test_a_cluster_makes_hierarchies_too_and_the_driver_counts_no_cell(
    tmp_path: Path, spark: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "SPAN", 1 << 16)  # as it is in the cluster's own processes
    monkeypatch.setattr(job, "SLAB", 20_000)
    monkeypatch.setattr(FolderJob, "draw", None)
    rng = np.random.default_rng(1)
    codes = np.unique((1e5 + 9e5 * rng.random(70_000) ** 2).astype(int))[:50_000]
    axis = tu.Axis.codes("block", codes, {"state": 1, "county": 3, "block": 6})
    question = tu.TreeCounts(axis)
    values = rng.choice(codes, 20_000)
    frame = spark().createDataFrame([(int(value),) for value in values], "block long")
    ledger = tu.Ledger(tmp_path / "ledger", limit=1)
    found = tu.Owner(frame, ledger).publish(question, 1, to=tmp_path / "out")
    assert ledger.spent == 1
    facts = found.facts
    slabs = in_slabs(facts.noise, 20_000)[0]
    assert isinstance(slabs, NestedSlabs)
    assert slabs.number > 2
    levels = [np.zeros(slabs.shape.length(level), np.int64) for level in question.asked]
    for slab in range(-1, slabs.number):
        name = "above" if slab < 0 else f"{slab:06d}"
        answers = np.fromfile(tmp_path / "out" / "answers" / f"{name}.int64", np.int64)
        for level, (first, own) in slabs.by_level(slab, answers).items():
            levels[question.asked.index(level)][first : first + len(own)] = own
    noisy = np.concatenate(levels)
    expected = tu.infer(tu.Measurement(question, noisy, epsilon=1), nonnegative=True, integers=True)
    assert np.array_equal(found.prefix[:], expected.prefix)
    assert found.unbiased.prefix[:].tobytes() == expected.unbiased.prefix.tobytes()
    errors = noisy - question.answers(axis.count(values))
    scale = len(question.asked)
    assert 0.9 < errors.std() / (np.sqrt(2) * scale) < 1.1  # discrete Laplace
    assert np.abs(errors).max() < 30 * scale, "also of nodes above the slabs"


def test_workers_that_cannot_run_trueup_are_found_before_the_charge(
    tmp_path: Path, spark: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark().createDataFrame([(1,), (2,)], "place long")
    question = tu.TreeCounts(tu.Axis.integers("place", 0, 199_999), branching=16)
    ledger = tu.Ledger(tmp_path / "ledger", limit=1)
    with monkeypatch.context() as without:
        without.setattr(spark().sparkContext, "pythonExec", "a-python-that-is-not-there")
        with pytest.raises(tu.SourceError, match=r"nothing was charged.*PYSPARK_PYTHON"):
            tu.Owner(frame, ledger).publish(question, 1, nonnegative=False, to=tmp_path / "out")
    assert ledger.spent == 0


def test_a_worker_that_outlives_a_release_does_not_use_its_noise_for_another(
    tmp_path: Path, spark: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused at a large epsilon, then asked at a small one, in the same folder and session."""
    monkeypatch.setattr(blocks, "SPAN", 1 << 16)
    axis = tu.Axis.integers("place", 0, 99_999)
    question = tu.TreeCounts(axis, radices=(10, 10_000), shares=("1/3", "1/3", "1/3"))
    frame = spark().createDataFrame([(1,), (2,)], "place long").repartition(1)
    owner = tu.Owner(frame, tu.Ledger(tmp_path / "ledger", limit="1/10"))
    for _ in range(2):  # so that every worker has seen the plan that is given up
        with pytest.raises(tu.BudgetError):
            owner.publish(question, 1000, nonnegative=False, to=tmp_path / "out")
    found = owner.publish(question, "1/10", nonnegative=False, to=tmp_path / "out")
    errors = found.counts()[3:]  # nobody is there
    assert errors.std() > 10  # discrete Laplace of scale 30 or so; of 0.003 at the refused epsilon
