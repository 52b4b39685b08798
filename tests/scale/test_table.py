"""A table in a folder: the lines are those of the table in memory, and no line is drawn twice."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import trueup as tu
from trueup.facts import Facts
from trueup.files.dataset import open_dataset
from trueup.scale import TableJob, open_job, table
from trueup.scale.store import AnswerStore

Ints = npt.NDArray[np.int64]
CODES = np.unique(np.random.default_rng(7).integers(0, 10**6, 700))
PLACE = tu.Axis.codes("block", CODES, {"state": 1, "county": 3, "block": 6})
KIND = tu.Axis.categories("kind", ["a", "b", "c"])
SHARES = ("1/10", "1/5", "3/10", "2/5")
TREE = tu.TreeCounts(PLACE, shares=SHARES)
TABLE = tu.GridCounts(tu.CellCounts(KIND), TREE)
COUNTS = np.random.default_rng(8).poisson(
    np.random.default_rng(9).gamma(0.3, 12, len(CODES)), (3, len(CODES))
)


def released(
    question: tu.GridCounts, cost: dict[str, object], to: Path, shown: bool
) -> tuple[Any, tu.Measurement]:
    """A release in a folder, and the measurement in memory of the same noisy answers."""
    counts = COUNTS if question is TABLE else COUNTS.reshape(question.sizes)
    measured = tu.measure(counts, question, **cost)  # type: ignore[arg-type]
    noisy = question.as_array(np.asarray(measured.noisy))
    job = open_job(to, Facts.of(question, **cost), shown=shown)  # type: ignore[arg-type]

    def given(line: int, answers: Ints) -> None:
        answers[:] = noisy[line]

    flat = counts.ravel()
    assert isinstance(job, TableJob)
    return job.finish(job.draw(lambda a, b: flat[a:b], 1, given)), measured


THREE, TWO = (tu.Axis.categories("kind", list(names)) for names in ("abc", "ab"))
REGULAR = tu.GridCounts(
    tu.CellCounts(THREE), tu.TreeCounts(len(CODES), radices=(9, 80), shares=("0", "1/3", "2/3"))
)
CASES: list[tuple[tu.GridCounts, dict[str, object]]] = [
    (TABLE, {"epsilon": 1}),
    (TABLE, {"epsilon": "1/20", "neighbours": "replace"}),
    (TABLE, {"rho": "1/3"}),
    (REGULAR, {"epsilon": 1}),
]


@pytest.mark.parametrize(("question", "cost"), CASES)
def test_a_folder_holds_the_least_squares_of_the_table_in_memory(
    question: tu.GridCounts, cost: dict[str, object], tmp_path: Path
) -> None:
    found, measured = released(question, cost, tmp_path / "out", shown=False)
    expected = tu.infer(measured)
    grid = 2.0**-30  # coarser than any sum here needs
    assert np.abs(found.counts() - expected.counts()).max() < grid
    assert np.abs(np.asarray(found.prefix) - expected.prefix).max() < grid
    box = {axis.name: (None, None) for axis in found.axes} | {found.axes[0].name: None}
    own, other = found.range(**box), expected.range(**box)
    assert own.std_error == pytest.approx(other.std_error, rel=1e-9)
    assert own.interval(0.9) == pytest.approx(other.interval(0.9), rel=1e-3)


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"epsilon": "1/10"}, {"rho": "1/5"}])
def test_shown_counts_are_those_of_each_line_as_a_tree_of_its_own(
    cost: dict[str, object], tmp_path: Path
) -> None:
    found, measured = released(TABLE, cost, tmp_path / "out", shown=True)
    noisy = TABLE.as_array(np.asarray(measured.noisy))
    counts = found.counts()
    for line in range(3):
        alone = tu.Measurement(TREE, noisy[line], **cost)  # type: ignore[arg-type]
        expected = tu.infer(alone, nonnegative=True, integers=True)
        assert counts[line].tolist() == expected.counts().tolist()
    assert counts.dtype == np.int64
    assert counts.min() >= 0
    assert np.abs(found.unbiased.counts() - tu.infer(measured).counts()).max() < 2.0**-30


def test_children_add_up_to_their_parents_in_both_releases(tmp_path: Path) -> None:
    found = tu.publish(COUNTS, TABLE, epsilon="1/2", to=tmp_path / "out")
    for release in (found, found.unbiased):
        for label in ("a", "c"):
            line = release.slice(kind=("a", "b") if label == "a" else ("c", None))
            states = line.children()
            assert sum(each.value for each in states.values()) == line.total().value
            for state in states:
                counties = line.children(state)
                assert sum(each.value for each in counties.values()) == states[state].value
        kinds = [release.union(kind=[label]).value for label in "abc"]
        assert sum(kinds) == release.total().value
        odd, even = (np.arange(start, PLACE.size, 2) for start in (0, 1))
        halves = release.union(block=odd).value + release.union(block=even).value
        assert halves == release.total().value


def test_unions_off_the_spine_have_the_errors_of_the_table_in_memory(tmp_path: Path) -> None:
    found, measured = released(TABLE, {"epsilon": 1}, tmp_path / "out", shown=False)
    expected = tu.infer(measured)
    draws = np.random.default_rng(1)
    cells = draws.choice(PLACE.size, 90, replace=False)
    for parts in (
        {"block": cells, "kind": ["a", "c"]},
        {"block": ["3", f"{CODES[350] // 1000:03d}", "8"]},
    ):
        one, other = found.union(**parts), expected.union(**parts)
        assert one.value == pytest.approx(other.value, abs=1e-6)
        assert one.std_error == pytest.approx(other.std_error, rel=1e-9)
        assert one.interval(0.95) == pytest.approx(other.interval(0.95), rel=1e-3, abs=0.05)


def test_a_run_that_was_stopped_goes_on_and_draws_no_line_twice(tmp_path: Path) -> None:
    to, facts = tmp_path / "out", Facts.of(TABLE, 1)
    flat, drawn = COUNTS.ravel(), []

    class StoppedError(Exception):
        pass

    def add(line: int, answers: Ints) -> None:
        if len(drawn) == 2:
            raise StoppedError
        drawn.append(line)
        answers += 1000 + len(drawn)

    with pytest.raises(StoppedError):
        TableJob.open(to, facts).draw(lambda a, b: flat[a:b], 1, add)
    again = TableJob.open(to, facts)

    def rest(line: int, answers: Ints) -> None:
        drawn.append(line)
        answers += 5000

    release = again.finish(again.draw(lambda a, b: flat[a:b], 1, rest))
    assert drawn == [0, 1, 2]
    stored = [
        np.fromfile(to / part.file, np.int64)[0] - COUNTS[line].sum()
        for line, part in enumerate(open_dataset(to).answers)
    ]
    assert stored == [1001, 1002, 5000]
    assert release.facts.id == tu.load(to).facts.id
    changed = flat.copy()
    changed[-1] += 1
    other = TableJob.open(tmp_path / "other", facts)
    drawn.clear()
    with pytest.raises(StoppedError):
        other.draw(lambda a, b: flat[a:b], 1, add)
    with pytest.raises(tu.InputError, match="not those that this release was begun with"):
        TableJob.open(tmp_path / "other", facts).draw(lambda a, b: changed[::-1][a:b], 1, rest)


def test_a_table_whose_lines_are_all_stored_is_not_counted_again(tmp_path: Path) -> None:
    """What goes on then is of the data before the crash, whatever became of them."""
    first: Any = open_job(tmp_path / "out", Facts.of(TABLE, 1))
    answered = first.draw(lambda a, b: COUNTS.ravel()[a:b], 1)

    def gone(start: int, stop: int) -> Ints:
        raise AssertionError("counted again")

    again: Any = open_job(tmp_path / "out", Facts.of(TABLE, 1))
    assert again.draw(gone, 1) == answered


def test_one_process_at_a_time_draws_and_fits_a_table(tmp_path: Path) -> None:
    work: Any = open_job(tmp_path / "out", Facts.of(TABLE, 1))
    flat = COUNTS.ravel()
    with work.job.store.alone(), pytest.raises(tu.InputError, match="Another process"):
        work.draw(lambda a, b: flat[a:b], 1)
    answered = work.draw(lambda a, b: flat[a:b], 1)
    with work.job.store.alone(), pytest.raises(tu.InputError, match="Another process"):
        work.finish(answered)
    assert work.finish(answered).facts.id == work.job.facts.id


def test_the_noise_of_a_line_is_that_of_its_levels(tmp_path: Path) -> None:
    """Of 4,000 answers of a level and more, the mean square is near the exact variance.

    It is off by a quarter with a probability below 10^-7: Chernoff's bound of the squares up to a
    largest one, and the probability that one of them is larger.
    """
    size = 60_000
    tree = tu.TreeCounts(size, radices=(2000, 30), shares=("0", "1/4", "3/4"))
    question = tu.GridCounts(tu.CellCounts(TWO), tree)
    job = open_job(tmp_path / "out", Facts.of(question, 1))
    assert isinstance(job, TableJob)
    release = job.finish(job.draw(lambda a, b: np.zeros(b - a, np.int64), 1))
    answers = [
        np.fromfile(tmp_path / "out" / part.file, np.int64)
        for part in open_dataset(tmp_path / "out").answers
    ]
    assert not np.array_equal(*answers)
    noisy = np.stack(answers)
    for level, share in ((noisy[:, :2000], 1 / 4), (noisy[:, 2000:], 3 / 4)):
        p = np.exp(-share)
        assert (level**2).mean() == pytest.approx(2 * p / (1 - p) ** 2, rel=0.25)
    assert release.total().std_error > 0


def test_an_owner_counts_a_table_by_windows_and_charges_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trueup.owner.folder.WINDOW", len(CODES) + 1)  # a line at a time
    draws = np.random.default_rng(2)
    frame = pl.DataFrame(
        {"block": draws.choice(np.r_[CODES, -5], 4000), "kind": draws.choice(list("abcx"), 4000)}
    )
    ledger = tu.Ledger(tmp_path / "ledger", limit=401)
    owner = tu.Owner(frame, ledger)
    release = owner.publish(TABLE, 400, to=tmp_path / "out", key="k")
    inside = frame.filter(pl.col("kind").is_in(["a", "b", "c"]) & (pl.col("block") >= 0))
    wanted = np.zeros((3, len(CODES)), np.int64)
    np.add.at(
        wanted,
        (KIND.locate(inside["kind"].to_list()), PLACE.locate(inside["block"].to_numpy())),
        1,
    )
    assert release.counts().tolist() == wanted.tolist()
    again = owner.publish(TABLE, 400, to=tmp_path / "out", key="k")
    assert again.facts.id == release.facts.id
    assert ledger.remaining == 1


def test_other_tools_read_the_shown_counts_and_the_unbiased_ones_beside(tmp_path: Path) -> None:
    found = tu.publish(COUNTS, TABLE, epsilon=1, to=tmp_path / "out")
    place = os.fspath(tmp_path / "out")
    own = duckdb.connect()
    for column, release in (("count", found), ("unbiased", found.unbiased)):
        ((total,),) = own.execute(f"select sum({column}) from '{place}/*.parquet'").fetchall()
        assert total == pytest.approx(release.total().value)
    open_dataset(place).verify()
    assert not (tmp_path / "out" / "unbiased").exists(), "a table has the columns of an axis"
    assert tu.load(place).unbiased.total().value == found.unbiased.total().value


def test_a_table_begun_one_way_is_not_finished_in_the_other(tmp_path: Path) -> None:
    TableJob.open(tmp_path / "out", Facts.of(TABLE, 1), shown=True)
    with pytest.raises(tu.InputError, match="another release"):
        TableJob.open(tmp_path / "out", Facts.of(TABLE, 1), shown=False)


def test_a_tree_that_no_memory_holds_is_refused_before_anything_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = int(TREE.shape.level_starts[-1])
    monkeypatch.setattr(table, "MOST_NODES", nodes)
    TableJob.open(tmp_path / "fits", Facts.of(TABLE, 1))
    monkeypatch.setattr(table, "MOST_NODES", nodes - 1)
    with pytest.raises(tu.InputError, match=f"at most {nodes - 1:,} nodes"):
        TableJob.open(tmp_path / "out", Facts.of(TABLE, 1))
    assert not list(tmp_path.glob("out*"))


def test_lines_with_the_same_answers_have_the_same_counts_however_large(tmp_path: Path) -> None:
    """All lines share one grid, on which the sum of all of them has no digit too many."""
    question = tu.GridCounts(
        tu.CellCounts(tu.Axis.integers("line", 0, 63)), tu.TreeCounts(5, branching=5)
    )
    noisy = np.random.default_rng(3).integers(1 << 44, 1 << 45, 6)
    noisy[0] = noisy[1:].sum() + 1
    job = open_job(tmp_path / "out", Facts.of(question, 1))

    def given(line: int, answers: Ints) -> None:
        answers[:] = noisy

    found = job.finish(job.draw(lambda a, b: np.zeros(b - a, np.int64), 1, given))  # type: ignore[arg-type]
    stored = pl.read_parquet(tmp_path / "out" / "*.parquet")["count"].to_numpy().reshape(64, 5)
    assert (stored == stored[0]).all()
    assert Fraction(found.total().value) == 64 * sum(map(Fraction, stored[0].tolist()))


def test_a_table_whose_name_was_given_is_opened_and_lost_answers_are_not_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = open_job(tmp_path / "out", Facts.of(TABLE, 1))
    answered = job.draw(lambda a, b: COUNTS.ravel()[a:b], 1)
    (line,) = job.job.store.work.rglob("000001.int64")  # type: ignore[union-attr]
    whole = line.read_bytes()
    line.write_bytes(whole + bytes(8))
    with pytest.raises(tu.FileError, match="never drawn again"):
        job.finish(answered)
    line.write_bytes(whole)
    with monkeypatch.context() as killed:
        killed.setattr(AnswerStore, "delete", lambda _: None)
        first = job.finish(answered)
    again = open_job(tmp_path / "out", Facts.of(TABLE, 1))
    found = again.finish(again.draw(lambda a, b: COUNTS.ravel()[a:b], 1))
    assert found.facts == first.facts
    assert os.listdir(tmp_path) == ["out"]
