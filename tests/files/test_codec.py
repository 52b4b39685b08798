"""Files: plain tables for every tool, whole or not there, and refused when they are damaged."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.files import codec as files
from trueup.paper.noise import measure_for_experiment

PLACE = tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark"], "DC": []})
DAYS = tu.Axis.dates("day", "2012-12-30", "2013-01-02")
QUESTIONS = [
    tu.CellCounts(tu.Axis.integers("age", 5, 9)),
    tu.TreeCounts(tu.Axis.regular("fare", 0, 1, 7), 2),
    tu.TreeCounts(PLACE, shares=["1/10", "4/10", "5/10"]),
    tu.TreeCounts(DAYS, levels=["year", "day"]),
    tu.TreeCounts(tu.Axis.ipv4("host", "10.0.0.0/29", 32), 2),
    tu.SortedCounts(5, by="user", adaptive=False),
    tu.NamedCounts(PLACE, {"all": slice(None), "CA": ["CA"], "“quoted”, with comma": ["DC"]}),
]
each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: type(q).__name__)
each_ending = pytest.mark.parametrize("ending", ["parquet", "json"])


def measured(question, seed=1):
    counts = np.random.default_rng(1).integers(0, 1000, question.size)
    return measure_for_experiment(counts, question, "1/10", seed=seed)


def things(question):
    """A measurement and the releases made from it."""
    m = measured(question)
    return [m, tu.infer(m), tu.infer(m, nonnegative=True, integers=True)]


def plain(values):
    """Values as Python has them, whoever read them."""
    found = []
    for value in values:
        if value is None or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
            found.append(None)
        elif hasattr(value, "isoformat"):
            found.append(str(np.datetime64(value.replace(tzinfo=None), "us")))
        else:
            found.append(value)
    return found


@each_question
def test_a_file_is_a_plain_table_for_every_tool(question, tmp_path):
    path = str(tmp_path / "saved.parquet")
    for thing in things(question):
        thing.save(path)
        columns = thing.columns()
        readers = {
            "pandas": lambda: pd.read_parquet(path),
            "polars": lambda: pl.read_parquet(path),
            "duckdb": lambda: duckdb.sql(f"SELECT * FROM '{path}'").pl(),
        }
        for reader in readers.values():
            table = reader()
            assert list(table.columns) == list(columns)
            for name, column in columns.items():
                expected = column.tolist() if isinstance(column, np.ndarray) else list(column)
                found = table[name].to_list() if hasattr(table[name], "to_list") else None
                assert plain(found) == plain(expected)
        assert not any(name.startswith("__") for name in pq.read_schema(path).names)


@each_question
def test_the_metadata_says_everything_else(question, tmp_path):
    m = measured(question)
    m.save(tmp_path / "m.parquet")
    head = json.loads(pq.read_schema(tmp_path / "m.parquet").metadata[b"trueup"])
    assert head["format"] == files.FORMAT
    assert head["kind"] == "measurement"
    about = head["about"]
    assert about["epsilon"] == "1/10"
    assert about["private"] is False
    assert about["unit"] == "row"
    assert about["neighbours"] == "add-remove"
    assert about["law"] == "discrete"
    assert about["question"] == json.loads(json.dumps(question.to_json()))
    tu.infer(m).save(tmp_path / "r.json")
    head = json.loads((tmp_path / "r.json").read_text())
    assert head["about"]["inferred"] == "least squares"
    assert head["about"]["private"] is False


def same(one, other):
    """Whether two saved things say the same, bit for bit."""
    if isinstance(one, tu.Measurement):
        return one == other and one.noisy.dtype == other.noisy.dtype
    mine, theirs = one.columns(), other.columns()
    return (
        type(one) is type(other)
        and one.facts == other.facts
        and list(mine) == list(theirs)
        and all(np.array_equal(mine[name], theirs[name]) for name in mine)
        and one.counts().dtype == other.counts().dtype
        and repr(one) == repr(other)
    )


@each_ending
@each_question
def test_what_is_saved_comes_back_bit_for_bit(question, ending, tmp_path):
    for thing in things(question):
        thing.save(tmp_path / f"saved.{ending}")
        assert same(thing, tu.load(tmp_path / f"saved.{ending}"))
        assert same(thing, tu.load(str(tmp_path / f"saved.{ending}")))


@each_ending
@pytest.mark.parametrize("number", [0, 3, 5, 6])
def test_damaged_bytes_are_refused_or_do_no_harm(number, ending, tmp_path):
    path = tmp_path / f"saved.{ending}"
    rng = np.random.default_rng(number)
    refused = 0
    for thing in things(QUESTIONS[number])[:2]:
        thing.save(path)
        good = path.read_bytes()
        places = rng.choice(len(good), min(len(good), 150), replace=False)
        for place in places.tolist():
            bad = bytearray(good)
            bad[place] ^= int(rng.integers(1, 256))
            path.write_bytes(bad)
            refused += refused_or_same(path, thing)
        for cut in [0, 1, 4, 8, *rng.integers(9, len(good) - 1, 30).tolist()]:
            path.write_bytes(good[:cut])
            with pytest.raises(tu.FileError):
                tu.load(path)
        path.write_bytes(good + b"\x00more")
        with pytest.raises(tu.FileError):
            tu.load(path)
    assert refused > 100


def refused_or_same(path, thing):
    try:
        found = tu.load(path)
    except tu.FileError:
        return 1
    assert same(thing, found)
    return 0


def leaves(value, path=()):
    """Every place in nested lists and dicts."""
    yield path
    keys = value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
    for key in keys:
        yield from leaves(value[key], (*path, key))


def changed(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


STRANGE = [
    None,
    True,
    -1,
    0,
    1.5,
    "",
    "x",
    "1e999999999",
    [],
    {},
    [[]],
    {"kind": "unit"},
    10**30,
    "1/0",
]


AGE = tu.Axis.integers("age", 0, 3)
TOTAL = int(np.random.default_rng(1).integers(0, 1000, AGE.size).sum())
MORE = [
    tu.WaveletCounts(4),
    tu.HatCounts(6, [2], ["1/3", "2/3"]),
    tu.WeightedCounts(2, [[1, 0], [0, 1], ["1/2", "3/2"]]),
    tu.SortedCounts(5),
    tu.GridCounts(tu.CellCounts(AGE), tu.TreeCounts(tu.Axis.categories("kind", ["x", "y"]), 2)),
    tu.GridCounts(AGE, tu.Axis.categories("kind", ["x", "y"]), marginals=["age", ["kind"]]),
]


@pytest.mark.parametrize("question", QUESTIONS + MORE, ids=lambda q: type(q).__name__)
def test_facts_that_were_tampered_with_raise_no_other_error(question, tmp_path):
    assert _tampered(things(question)[:2], tmp_path / "saved.json") > 50


def test_facts_of_parts_that_were_tampered_with_raise_no_other_error(tmp_path):
    questions = tu.CellCounts(AGE), tu.TreeCounts(AGE, 2), tu.HatCounts(AGE, [2])
    parts = [measured(question, seed) for seed, question in enumerate(questions)]
    combined = [tu.reconcile(parts[:2], known={"total": TOTAL}), tu.reconcile(parts)]
    assert _tampered(combined, tmp_path / "saved.json") > 100


def _tampered(saved, path):
    """How many changes of single facts are refused; whatever is not must load."""
    refused = 0
    for thing in saved:
        thing.save(path)
        head, (_, columns, _) = json.loads(path.read_text()), files.read(path)
        for number, place in enumerate(leaves(head["about"])):
            for new in STRANGE[number % 3 :: 3]:
                about = changed(head["about"], place, new)
                # The checksum fits what the file now says.
                path.write_bytes(files.encode(head["kind"], columns, about, ".json"))
                try:
                    repr(tu.load(path))
                except tu.FileError:
                    refused += 1
    return refused


@pytest.mark.parametrize(
    "lie",
    [
        {"epsilon": "1/1000000"},
        {"private": True},
        {"unit": "person"},
        {"neighbours": "replace"},
        {"known_total": float("nan")},
        {"combined": []},
        ("combined", 0, "scales", ["1/1000000"]),
        ("combined", 0, "scales", ["1e999999999"]),
        ("combined", 0, "epsilon", "1"),
    ],
    ids=str,
)
def test_a_combined_release_cannot_lie_about_its_parts(lie, tmp_path):
    one, two = (measured(tu.CellCounts(AGE), seed) for seed in (1, 2))
    release = tu.reconcile([one, two])
    if isinstance(lie, dict):
        about = release.facts.to_json() | lie
    else:
        about = changed(release.facts.to_json(), lie[:-1], lie[-1])
    files.write(tmp_path / "x.json", "release", release.columns(), about)
    with pytest.raises(tu.FileError):
        tu.load(tmp_path / "x.json")
    files.write(tmp_path / "x.json", "release", release.columns(), release.facts.to_json())
    assert same(tu.load(tmp_path / "x.json"), release)


def test_no_memory_is_taken_for_what_a_file_only_claims_to_hold(tmp_path):
    sorted_counts = measured(tu.SortedCounts(4, adaptive=False))
    cells = measured(tu.CellCounts(AGE))
    for m, kind, claim in (
        (sorted_counts, "sorted release", ("question", "groups", 1 << 32)),
        (cells, "release", ("question", "axis", "last", (1 << 32) - 1)),
        (sorted_counts, "measurement", ("question", "groups", 1 << 32)),
    ):
        thing = m if kind == "measurement" else tu.infer(m)
        about = m.facts.to_json() if kind == "measurement" else thing.facts.to_json()
        files.write(
            tmp_path / "x.json", kind, thing.columns(), changed(about, claim[:-1], claim[-1])
        )
        tracemalloc.start()
        with pytest.raises(tu.FileError):
            tu.load(tmp_path / "x.json")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 1 << 26


@pytest.mark.parametrize("column", ["noisy", "count"])
def test_columns_that_do_not_fit_are_refused(column, tmp_path):
    m = measured(QUESTIONS[0])
    thing, kind = (m, "measurement") if column == "noisy" else (tu.infer(m), "release")
    about = m.facts.to_json() if column == "noisy" else thing.facts.to_json()
    good = thing.columns()
    wrong = [np.zeros(3), np.array([1.0, np.nan, 1, 1, 1]), ["a"] * 5, [None] * 5, [[1]] * 5]
    for values in wrong:
        for ending in ("json", "parquet"):
            table = {column: values}
            files.write(tmp_path / f"x.{ending}", kind, table, about)
            with pytest.raises(tu.FileError):
                tu.load(tmp_path / f"x.{ending}")
    files.write(tmp_path / "x.json", kind, {k: v for k, v in good.items() if k != column}, about)
    with pytest.raises(tu.FileError):
        tu.load(tmp_path / "x.json")


@each_ending
def test_a_newer_format_is_refused_with_a_clear_word(ending, tmp_path, monkeypatch):
    path = tmp_path / f"saved.{ending}"
    monkeypatch.setattr(files, "FORMAT", 2)
    measured(QUESTIONS[0]).save(path)
    monkeypatch.undo()
    with pytest.raises(tu.FileError, match=r"has format 2; this version reads up to 1\. Install a"):
        tu.load(path)


@pytest.mark.parametrize("number", [None, True, 0, -1, "1", 1.0, [1]])
def test_a_format_that_is_no_number_is_refused(number, tmp_path):
    path = tmp_path / "saved.json"
    measured(QUESTIONS[0]).save(path)
    head = json.loads(path.read_text())
    path.write_text(json.dumps({**head, "format": number}))
    with pytest.raises(tu.FileError, match="no format number"):
        tu.load(path)


def test_a_release_cannot_be_passed_off_as_something_else(tmp_path):
    path = tmp_path / "saved.json"
    tu.infer(measured(QUESTIONS[5])).save(path)
    head = json.loads(path.read_text())
    path.write_text(json.dumps({**head, "kind": "release"}))
    with pytest.raises(tu.FileError, match="checksum"):
        tu.load(path)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("x.parquet", b"", "damaged, or not a trueup file"),
        ("x.parquet", b"PAR1" * 10, "damaged, or not a trueup file"),
        ("x.json", b"{", "damaged, or not a trueup file"),
        ("x.json", b"\xff\xfe", "damaged, or not a trueup file"),
        ("x.json", b"[" * 100_000, "damaged, or not a trueup file"),
        ("x.json", b"5", "damaged, or not a trueup file"),
        ("x.json", b"null", "damaged, or not a trueup file"),
        ("x.json", b'{"types": {}, "columns": {}}', "was not written by trueup"),
        ("x.json", b'{"types": {}, "columns": 5, "about": {}}', "damaged, or not a trueup file"),
        ("x.json", b'{"types": {}, "columns": {"\\ud800": 5}, "about": {}}', "no format number"),
        (
            "x.json",
            b'{"types": {}, "columns": {"\\ud800": 5}, "about": {}, "format": 1, "kind": ""}',
            "damaged, or not a trueup file",
        ),
    ],
)  # fmt: skip
def test_what_is_not_ours_is_refused(name, content, told, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(tu.FileError, match=told):
        tu.load(tmp_path / name)


def test_a_foreign_parquet_file_is_refused(tmp_path):
    pl.DataFrame({"noisy": [1, 2]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(tu.FileError, match=r"x\.parquet was not written by trueup"):
        tu.load(tmp_path / "x.parquet")


def test_a_file_that_is_not_there_or_cannot_be_written_is_said_so(tmp_path):
    with pytest.raises(tu.FileError, match="There is no file"):
        tu.load(tmp_path / "x.parquet")
    with pytest.raises(tu.FileError, match=r"no manifest\.json: it is not a dataset folder"):
        tu.load(tmp_path)
    m = measured(QUESTIONS[0])
    with pytest.raises(tu.FileError, match=r"Cannot write .*: No such file or directory"):
        m.save(tmp_path / "none" / "x.parquet")
    for name in ("x", "x.tsv", "x.PARQUET", ""):
        with pytest.raises(tu.InputError, match=r"must end in \.parquet, \.json or \.csv"):
            m.save(tmp_path / name)
    for wrong in (None, 5, b"x.json"):
        with pytest.raises(tu.InputError, match="A file is named by text or a Path"):
            m.save(wrong)
        with pytest.raises(tu.InputError, match="A file is named by text or a Path"):
            tu.load(wrong)
    assert os.listdir(tmp_path) == []


@each_ending
@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_an_error_midway_leaves_the_old_file_and_nothing_else(step, ending, tmp_path, monkeypatch):
    path = tmp_path / f"saved.{ending}"
    measured(QUESTIONS[1], seed=1).save(path)
    old = path.read_bytes()

    def full(*arguments, **more):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(tu.FileError, match="No space left on device"):
        measured(QUESTIONS[1], seed=2).save(path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == [path.name]
    assert tu.load(path) == measured(QUESTIONS[1], seed=1)


def test_what_cannot_be_encoded_leaves_the_old_file(tmp_path):
    path = tmp_path / "saved.json"
    path.write_text("old")
    with pytest.raises(TypeError):
        files.write(path, "measurement", {"noisy": [1]}, {"secret": object()})
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["saved.json"]


def test_a_new_file_may_be_read_as_the_umask_says(tmp_path):
    old = os.umask(0o027)
    try:
        measured(QUESTIONS[0]).save(tmp_path / "x.parquet")
    finally:
        os.umask(old)
    assert Path(tmp_path / "x.parquet").stat().st_mode & 0o777 == 0o640


def test_loading_leaves_no_thread_that_could_abort_a_process_at_its_end(tmp_path):
    path = tmp_path / "m.parquet"
    tu.measure(np.arange(100), tu.TreeCounts(100, 3), epsilon=1).save(path)
    code = (
        "import os, sys, pyarrow.parquet, trueup as tu\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        "tu.load(sys.argv[1])\n"
        "print(len(os.listdir('/proc/self/task')) - before)"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "0\n")


TEXTS = [["fig"], ["", ""], ["a", "b c", "~ !"], ["é"], ['"'], ["\\"], ["\x7f"], ["\n", "a"], []]


@pytest.mark.parametrize("words", TEXTS)
@pytest.mark.parametrize("longest", [0, 1 << 31])
@pytest.mark.parametrize("ending", [".parquet", ".json", ".csv"])
def test_text_in_an_arrow_array_is_written_as_text_in_a_list(words, longest, ending, monkeypatch):
    monkeypatch.setattr(files, "_LONGEST_JOINED", longest)
    column = pa.array(["before", *words], pa.string()).slice(1)
    numbers = np.arange(len(words))
    made = files.encode("kind", {"word": column, "n": numbers}, {}, ending)
    listed = files.encode("kind", {"word": words, "n": numbers}, {}, ending)
    if ending == ".csv":
        assert made == listed
        return
    assert files._digest({"format": 1, "kind": "kind", "about": {}}, {"word": column}) == (
        files._digest({"format": 1, "kind": "kind", "about": {}}, {"word": words})
    )
    for data in (made, listed):
        _, columns, _ = files.decode(data, "it", ending)
        assert columns["word"] == words
