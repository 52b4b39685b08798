"""What all releases share: frozen, saved, tabulated, stamped in one way."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment


def release_of(counts, axis=None):
    """A release of exactly these counts."""
    question = tu.CellCounts(len(counts) if axis is None else axis)
    return tu.infer(tu.Measurement(question, np.asarray(counts), 1))


A, B = tu.Axis.integers("a", 0, 3), tu.Axis.integers("b", 0, 2)
QUESTIONS = {
    "one axis": tu.TreeCounts(A, 2),
    "several axes": tu.GridCounts(A, B),
    "margins": tu.BoxCounts.marginals(A, B, marginals=["a", "b"]),
    "sorted": tu.SortedCounts(4, adaptive=False),
    "sorted, adaptively": tu.SortedCounts(4),
    "named": tu.NamedCounts(2, {"all": [0, 1], "first": [0]}),
}
every_release = pytest.mark.parametrize("name", QUESTIONS)


def released(name, **way):
    question = QUESTIONS[name]
    size = question.size
    return tu.infer(tu.measure(np.arange(size) * 7, question, epsilon=3), **way)


def check_frozen(release):
    arrays = [v for v in vars(release).values() if isinstance(v, np.ndarray)]
    assert arrays
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    for field in dataclasses.fields(release):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(release, field.name, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        release.facts.epsilon = None


@every_release
@pytest.mark.parametrize("shown", [False, True])
def test_no_array_of_a_release_can_be_written_and_no_fact_replaced(name, shown, tmp_path):
    release = released(name, nonnegative=True, integers=True) if shown else released(name)
    release.save(tmp_path / "saved.parquet")
    found = [release, tu.load(tmp_path / "saved.parquet")]
    if isinstance(release, tu.Release):
        found += [each.margin("a") for each in found]
    for each in found:
        check_frozen(each)  # before `unbiased` is made, which freezes what it shares
        check_frozen(each.unbiased)


def test_counts_given_out_do_not_lead_back_into_the_release():
    for name in ("one axis", "several axes"):
        release = released(name)
        before = release.total().value
        release.counts()[...] = 0
        assert release.counts().sum() == before


def test_a_list_of_unknown_length_says_what_it_cost_without_writing_into_a_release():
    release = tu.frequency_list(["a", "b", "a"], None, epsilon=10)
    assert str(release.facts.number_of_groups.epsilon) == "1"
    assert "+ 1 for the number of groups" in release._repr_html_()


@every_release
@pytest.mark.parametrize("ending", ["parquet", "json"])
def test_what_is_saved_is_the_same_release(name, ending, tmp_path):
    for number, release in enumerate((released(name), released(name, integers=True))):
        release.save(tmp_path / f"{number}.{ending}")
        again = tu.load(tmp_path / f"{number}.{ending}")
        assert type(again) is type(release)
        assert again.facts == release.facts
        assert repr(again) == repr(release)
        assert again.lines(50) == release.lines(50)
        assert again.contents()[1].keys() == release.contents()[1].keys()


@every_release
def test_the_words_of_0_1_are_kept_in_files(name):
    words = {
        "one axis": "release",
        "several axes": "grid release",
        "margins": "marginal release",
        "sorted": "sorted release",
        "sorted, adaptively": "sorted release",
        "named": "query release",
    }
    assert released(name).contents()[0] == words[name]


@every_release
def test_rows_to_be_read_hold_counts_of_the_release_and_their_errors(name):
    release = released(name)
    rows = release.lines(50)
    assert all(error > 0 for _, _, error in rows)
    if isinstance(release, tu.Release):
        total = release.total().value
        sums = sum(count for _, count, _ in rows)
        assert sums == total * len(release.axes)
    else:
        assert [count for _, count, _ in rows] == release.counts().tolist()
    assert len(release.lines(1)) <= max(len(getattr(release, "axes", ())), 1)


AXES = {
    "integers": tu.Axis.integers("n", 3, 8),
    "regular": tu.Axis.regular("x", 0, 1, 6),
    "edges": tu.Axis.edges("x", [0, 1, 2, 3, 5, 8, 13]),
    "categories": tu.Axis.categories("kind", ["a", "b", "c", "d", 5, "f"]),
    "days": tu.Axis.dates("d", "2012-02-27", "2012-03-03"),
    "months": tu.Axis.dates("d", "2012-01", "2012-06", "month"),
    "ipv4": tu.Axis.ipv4("host", "10.0.0.0/30", 32),
    "hierarchy": tu.Axis.hierarchy("place", {"CA": ["x", "y", "z"], "NV": ["u", "v"], "DC": []}),
}


@pytest.mark.parametrize("kind", AXES)
def test_the_table_opens_in_every_library(kind):
    axis = AXES[kind]
    release = release_of(np.arange(axis.size) ** 2, axis)
    plain = release.to_frame()
    assert isinstance(plain, pa.Table)
    pandas, polars = release.to_frame("pandas"), release.to_frame("polars")
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    streamed = pa.table(release)
    assert streamed.equals(plain)
    assert pl.DataFrame(release).equals(polars)
    for name in plain.column_names:
        values = plain[name].to_pylist()
        assert polars[name].to_list() == values
        seen = pandas[name].tolist()
        assert [None if pd.isna(v) else v for v in seen] == values
    assert plain["count"].to_pylist() == release.counts().tolist()
    assert plain["std_error"].to_pylist() == release.std_errors().tolist()
    assert plain.num_rows == axis.size


def test_the_intervals_of_the_table_are_those_of_the_axis():
    table = release_of([1, 2, 3], tu.Axis.dates("d", "2012-01", "2012-03", "month")).to_frame()
    assert [str(low) for low in table["low"].to_pylist()] == [
        "2012-01-01 00:00:00", "2012-02-01 00:00:00", "2012-03-01 00:00:00",
    ]  # fmt: skip
    hosts = release_of([1, 2, 3, 4], AXES["ipv4"]).to_frame()
    assert hosts["first_address"].to_pylist()[-1] == "10.0.0.3"
    places = release_of(range(6), AXES["hierarchy"]).to_frame()
    assert places["level 1"].to_pylist() == ["CA", "CA", "CA", "NV", "NV", "DC"]
    assert places["level 2"].to_pylist() == ["x", "y", "z", "u", "v", None]


@pytest.mark.parametrize("library", ["spark", "", None, 5])
def test_a_library_that_is_not_there_is_refused(library):
    with pytest.raises(tu.InputError, match=r"Cannot make a .* table; try 'pyarrow'"):
        release_of([1]).to_frame(library)


SAVED = {
    "an axis": lambda: tu.infer(tu.measure([5, 0, 9], tu.CellCounts(3), 1)),
    "whole numbers": lambda: tu.infer(
        tu.measure([5, 0, 9], tu.CellCounts(3), 1), nonnegative=True, integers=True
    ),
    "days": lambda: tu.infer(
        tu.measure([5, 0, 9], tu.CellCounts(tu.Axis.dates("day", "2023-01-01", "2023-01-03")), 1)
    ),
    "a grid": lambda: tu.infer(tu.measure([[5, 0], [9, 1]], tu.GridCounts(2, 2), 1)),
    "sorted": lambda: tu.infer(tu.measure([5, 0, 9], tu.SortedCounts(3), 1)),
    "names": lambda: tu.infer(tu.measure([5, 0, 9], tu.NamedCounts(3, {"=a,b": [0, 1]}), 1)),
    "a measurement": lambda: tu.measure([5, 0, 9], tu.TreeCounts(3, 3), 1),
}


@pytest.mark.parametrize("kind", SAVED)
def test_csv_has_the_same_table_as_a_frame(kind, tmp_path):
    made = SAVED[kind]()
    made.save(tmp_path / "x.csv")
    read = pd.read_csv(tmp_path / "x.csv")
    columns = made.columns()
    assert list(read.columns) == list(columns)
    for name, column in columns.items():
        found = read[name]
        if np.asarray(column).dtype.kind == "M":
            np.testing.assert_array_equal(pd.to_datetime(found), np.asarray(column))
        elif np.asarray(column).dtype.kind in "if":
            np.testing.assert_array_equal(found.to_numpy(), np.asarray(column))
        else:
            assert found.tolist() == list(column)
    with pytest.raises(tu.FileError, match=r"Load the \.parquet or \.json file"):
        tu.load(tmp_path / "x.csv")


def test_csv_says_what_must_be_said_of_every_number(tmp_path):
    capped = tu.measure([5, 0, 9], tu.CellCounts(3), 1, unit="user", rows_per_unit=3)
    tu.infer(capped).save(tmp_path / "capped.csv")
    experiment = measure_for_experiment(np.array([5, 0, 9]), tu.CellCounts(3), 1, seed=1)
    tu.infer(experiment).save(tmp_path / "experiment.csv")
    notes = [pd.read_csv(tmp_path / f"{name}.csv")["note"] for name in ("capped", "experiment")]
    assert (notes[0] == "at most 3 rows of each user are counted: true totals may be higher").all()
    assert (notes[1] == "NOT PRIVATE: an experiment").all()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind", [kind for kind in SAVED if kind != "a measurement"])
def test_frames_of_every_library_hold_the_same_columns(kind, library):
    made = SAVED[kind]()
    frame = made.to_frame(library)
    assert type(frame).__module__.startswith(library)
    for name, column in made.columns().items():
        found = frame[name].to_pylist() if library == "pyarrow" else frame[name].to_list()
        plain = np.asarray(column).tolist()
        assert [str(each)[:10] for each in found] == [str(each)[:10] for each in plain]
