"""Rows made from a release tabulate to its counts with ==, and say what they are."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment
from trueup.release import rows as module
from trueup.release.rows import Rows

AGE = tu.Axis.integers("age", 0, 19)
SEX = tu.Axis.categories("sex", ["f", "m"])
TOWN = tu.Axis.hierarchy("town", {"CA": ["Kern", "Napa"], "NV": ["Clark"]})
FARE = tu.Axis.edges("fare", [0, 1, 2.5, 10, float("inf")])


def shown(question: tu.GridCounts | tu.TreeCounts, counts: np.ndarray) -> tu.Release:
    return tu.infer(tu.measure(counts, question, epsilon=1), nonnegative=True, integers=True)


def a_release(rng: np.random.Generator) -> tu.Release:
    """A release of some kind, over some axes: a histogram, a hierarchy, a grid, margins."""
    axes = [(AGE, SEX, TOWN, FARE)[n] for n in rng.permutation(4)[: rng.choice([1, 2, 3, 3, 4, 4])]]
    counts = rng.poisson(rng.choice([0.3, 4.0]), [axis.size for axis in axes])
    names = [axis.name for axis in axes]
    if len(axes) == 1:
        return shown(tu.TreeCounts(*axes), counts)
    every = [m for size in (1, 2) for m in itertools.combinations(names, size)]
    asked = None
    if rng.random() < 0.8:
        asked = [every[n] for n in rng.permutation(len(every))[: rng.integers(1, 7)]]
    return shown(tu.GridCounts(*axes, marginals=asked), counts)


def check(release: tu.Release, rows: Rows) -> None:
    """Every table of the rows' own values equals what was published."""
    frame = rows.to_frame()
    for margin in rows.report["measured"]:
        own = release if len(release.axes) == len(margin) else release.margin(*margin)
        assert (rows.tabulate(*margin) == own.counts()).all()
        table = tu.GridCounts(*own.axes).count(frame) if len(margin) > 1 else None
        counted = own.axis.count(frame[margin[0]]) if table is None else table
        assert (counted == own.counts()).all()


def test_every_published_margin_is_that_of_the_rows() -> None:
    rng = np.random.default_rng(25)
    kinds = set()
    for _ in range(60):  # 1,000 by bench/rows.py
        release = a_release(rng)
        rows = release.rows("uniform" if rng.random() < 0.5 else "middle")
        check(release, rows)
        assert len(rows) == release.total().value
        kinds.add(rows.report["invented"]["combinations"][:9])
    assert len(kinds) == 3  # all together, decomposable, a cycle


def test_the_same_release_gives_the_same_rows_in_random_order() -> None:
    release = shown(tu.GridCounts(AGE, FARE), np.random.default_rng(1).poisson(9, (20, 4)))
    rows = release.rows()
    assert rows.to_frame() == release.rows().to_frame()
    ages = rows.to_frame()["age"].to_numpy()
    assert abs(np.corrcoef(ages, np.arange(len(ages)))[0, 1]) < 0.2


def test_values_do_not_depend_on_how_rows_are_cut_into_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_BATCH", 64)
    release = shown(tu.GridCounts(AGE, FARE), np.random.default_rng(1).poisson(9, (20, 4)))
    rows = release.rows()
    assert len(list(rows.batches())) == -(-len(rows) // 64)
    check(release, rows)


def test_values_inside_cells_are_drawn_apart_for_every_row_and_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No batch and no column has the draws of another."""
    monkeypatch.setattr(module, "_BATCH", 50)
    x, y = (tu.Axis.edges(name, [0.0, 1.0]) for name in "xy")
    rows = shown(tu.GridCounts(tu.CellCounts(x), tu.CellCounts(y)), np.array([[200]])).rows()
    table = rows.to_frame()
    values = np.concatenate([table[name].to_numpy() for name in "xy"])
    assert len(values) == 2 * len(rows) > 200
    assert len(np.unique(values)) == len(values)
    assert ((values >= 0) & (values < 1)).all()


def test_rows_of_counts_that_are_not_private_say_so_wherever_they_go(tmp_path: Path) -> None:
    measured = measure_for_experiment(np.full(20, 9), tu.TreeCounts(AGE), 1, 1)
    rows = tu.infer(measured, nonnegative=True, integers=True).rows()
    assert rows.report["source"]["private"] is False
    assert "NOT PRIVATE" in repr(rows)
    rows.save(tmp_path / "x.csv")
    assert "NOT PRIVATE" in (tmp_path / "x.csv").read_text().splitlines()[1]
    assert json.loads((tmp_path / "x.report.json").read_text())["source"]["private"] is False
    private = tu.measure(np.full(20, 9), tu.TreeCounts(AGE), 1)
    assert "NOT PRIVATE" not in tu.infer(private, nonnegative=True, integers=True).rows().stamp


def test_margins_that_were_never_measured_together_are_independent() -> None:
    # Age decides sex and town; given age they are dealt at random: the largest entropy.
    counts = np.zeros((20, 2, 3), np.int64)
    counts[:, 0, 0] = counts[:, 1, 2] = 500
    question = tu.GridCounts(AGE, SEX, TOWN, marginals=[("age", "sex"), ("age", "town")])
    rows = shown(question, counts).rows()
    table = rows.tabulate("sex", "town").astype(float)
    expected = np.zeros_like(table)
    for age in range(20):
        each = rows.tabulate("age", "sex", "town")[age].astype(float)
        expected += np.outer(each.sum(axis=1), each.sum(axis=0)) / each.sum()
    assert np.abs(table - expected).max() < 5 * np.sqrt(expected.max())
    assert rows.report["invented"]["pairs never measured together"] == [["sex", "town"]]


def test_a_cycle_is_moved_towards_the_largest_entropy() -> None:
    # All pairs of three axes: fitted by iterative scaling, whose law no move changes.
    rng = np.random.default_rng(8)
    counts = rng.poisson(60, (20, 2, 3))
    pairs = [("age", "sex"), ("sex", "town"), ("age", "town")]
    release = shown(tu.GridCounts(AGE, SEX, TOWN, marginals=pairs), counts)
    rows = release.rows()
    check(release, rows)
    fit = np.ones((20, 2, 3))
    for _ in range(200):
        for n in range(3):
            margin = release.margin(*(a for m, a in enumerate(("age", "sex", "town")) if m != n))
            fit *= np.expand_dims(margin.counts() / fit.sum(axis=n), n)
    table = rows.tabulate()
    chi = ((table - fit) ** 2 / np.maximum(fit, 1e-9)).sum()
    free = 19 * 1 * 2
    assert chi < free + 5 * np.sqrt(2 * free)
    assert "form a cycle" in rows.report["invented"]["combinations"]


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_files_are_stamped_and_have_a_report_beside_them(ending: str, tmp_path: Path) -> None:
    release = shown(tu.GridCounts(AGE, TOWN, FARE), np.random.default_rng(1).poisson(1, (20, 3, 4)))
    rows = release.rows()
    path = tmp_path / f"people.{ending}"
    rows.save(path)
    (identity,) = release.facts.measured
    if ending == "csv":
        table = pa.csv.read_csv(path)
        said = set(table["synthetic"].to_pylist())
    else:
        table = pq.read_table(path) if ending == "parquet" else pa.ipc.open_file(path).read_all()
        said = {table.schema.metadata[b"synthetic"].decode()}
    assert said == {rows.stamp}
    assert identity in rows.stamp
    assert "epsilon=1" in rows.stamp
    assert (tu.GridCounts(AGE, TOWN, FARE).count(table) == release.counts()).all()
    report = json.loads((tmp_path / "people.report.json").read_text())
    assert report["synthetic"] is True
    assert report["source"]["epsilon"] == "1"
    assert report == rows.report
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        [path.name, "people.report.json"]
    )


def test_what_cannot_be_rows_is_refused(tmp_path: Path) -> None:
    measured = tu.measure(np.arange(20), tu.TreeCounts(AGE), epsilon=1)
    with pytest.raises(tu.InputError, match="nonnegative=True, integers=True"):
        tu.infer(measured).rows()
    negative = tu.Measurement(tu.CellCounts(3), [5, -2, 1], epsilon=1)
    with pytest.raises(tu.InputError, match="never negative"):
        tu.infer(negative, integers=True).rows()
    rows = tu.infer(measured, nonnegative=True, integers=True).rows()
    with pytest.raises(tu.InputError, match=r"\.parquet, \.csv or \.arrow"):
        rows.save(tmp_path / "x.xlsx")
    with pytest.raises(tu.FileError, match="Cannot write"):
        rows.save(tmp_path / "nowhere" / "x.csv")
    with pytest.raises(tu.InputError, match='"uniform" or "middle"'):
        tu.infer(measured).rows("low")  # type: ignore[arg-type]
    with pytest.raises(tu.InputError, match="no axis 'sex'"):
        rows.tabulate("sex")
    many = tu.Measurement(tu.CellCounts(2), [2**40, 1], epsilon=1)
    with pytest.raises(tu.InputError, match="at most"):
        tu.infer(many, nonnegative=True, integers=True).rows()


def test_an_empty_release_has_no_rows_and_a_file(tmp_path: Path) -> None:
    empty = tu.Measurement(tu.CellCounts(FARE), [0] * 4, epsilon=1)
    rows = tu.infer(empty, nonnegative=True, integers=True).rows()
    rows.save(tmp_path / "none.parquet")
    assert len(rows) == len(pq.read_table(tmp_path / "none.parquet")) == 0


def test_the_report_says_what_was_measured_how_far_counts_moved_and_what_was_invented() -> None:
    """Against the release and the rows: for margins that leave an axis out, and for all axes."""
    counts = np.random.default_rng(6).poisson(1.5, (20, 2, 3, 4))
    for asked in (None, [("age", "town"), ("town", "fare"), ("town",)]):
        question = tu.GridCounts(AGE, SEX, TOWN, FARE, marginals=asked)
        noise = {"epsilon": 2} if asked else {"rho": "1/2"}
        release = tu.infer(tu.measure(counts, question, **noise), nonnegative=True, integers=True)
        rows = release.rows("middle")
        said, frame = rows.report, rows.to_frame().to_pandas()
        names = [axis.name for axis in release.axes]
        margins = [list(each) for each in asked[:2]] if asked else [names]
        assert said["measured"] == margins
        assert said["left out"] == (["sex"] if asked else [])
        assert said["rows"] == len(rows) == len(frame) == release.total().value
        for margin, distance in zip(margins, said["distance"], strict=True):
            own = release.margin(*margin) if asked else release
            far = np.abs(own.counts() - own.unbiased.counts())
            assert distance["margin"] == margin
            assert distance["largest"] == pytest.approx(far.max())
            assert distance["mean"] == pytest.approx(far.mean())
        cells = np.stack([np.asarray(each, np.int64) for each in rows.cells], axis=1)
        assert (
            said["unique combinations"]
            == (np.unique(cells, axis=0, return_counts=True)[1] == 1).sum()
        )
        assert said["source"]["epsilon"] == ("2" if asked else None)
        assert said["source"]["rho"] == (None if asked else "1/2")
        assert said["source"]["ids"] == list(release.facts.measured)
        assert said["invented"]["inside cells"] == {"columns": ["fare"], "values": "middle"}
        apart = [["age", "fare"]] if asked else []
        assert said["invented"]["pairs never measured together"] == apart
        assert any("fare" in each for each in said["unsafe"])
        assert any("correlations" in each for each in said["unsafe"]) is bool(asked)
        assert ("epsilon=2" if asked else "rho=1/2") in rows.stamp


def test_rows_say_in_few_words_what_they_are_however_many_columns_there_are() -> None:
    for number in (2, 12, 13, 14):
        axes = [tu.Axis.integers(f"x{n:03d}", 0, 0) for n in range(number)]
        question = tu.GridCounts(*(tu.CellCounts(axis) for axis in axes))
        rows = tu.infer(tu.Measurement(question, [7], 1), nonnegative=True, integers=True).rows()
        names = ", ".join(axis.name for axis in axes)
        assert ("…" in repr(rows)) is (len(names) > 60)
        assert (f"of {names}," in repr(rows)) is (len(names) <= 60)
        assert "7 synthetic rows" in repr(rows)
        assert rows.tabulate().sum() == rows.tabulate("x000").sum() == 7
