"""Cells of axes as keys: an axis says which cell a value is in, and each cell has its words."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.errors import InputError
from trueup.keys import KeyTerms, Universe

AXES = {
    "integers": tu.Axis.integers("age", -3, 9),
    "regular": tu.Axis.regular("fare", -0.1, 0.7, bins=23),
    "fine": tu.Axis.regular("fare", 0, 1e-7, bins=64),
    "edges": tu.Axis.edges("pay", [0, 0.123456789012, 0.123456789013, 1e22, 1e23]),
    "open": tu.Axis.edges("pay", [-math.inf, -5, 50_000, 250_000.25, math.inf]),
    "all": tu.Axis.edges("pay", [-math.inf, math.inf]),
    "labels": tu.Axis.categories("borough", ["Bronx", "all – one", "below 5", "", "日本"]),
    "numbers": tu.Axis.categories("code", [7, -7, 2**80]),
    "days": tu.Axis.dates("day", "2012-12-30", "2013-01-12"),
    "weeks": tu.Axis.dates("day", "2012-12-31", "2013-02-10", "week"),
    "months": tu.Axis.dates("day", "2012-11-01", "2013-02-28", "month"),
    "hours": tu.Axis.dates("day", "2012-12-31", "2013-01-01", "hour"),
    "prefixes": tu.Axis.ipv4("host", "10.0.0.0/8", 12),
    "addresses": tu.Axis.ipv4("host", "10.0.0.0/28", 32),
    "hierarchy": tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark", "Napa"]}),
    "codes": tu.Axis.codes("county", ["06029", "06055", "32003"], {"state": 2, "county": 5}),
}
GRID = (AXES["labels"], AXES["open"], AXES["days"])


@pytest.mark.parametrize("axes", [*((each,) for each in AXES.values()), GRID])
def test_every_cell_has_words_of_its_own_which_are_read_back(axes: tuple[tu.Axis, ...]) -> None:
    universe = Universe.cells(*axes)
    assert universe.size == math.prod(axis.size for axis in axes)
    words = [universe.label(key) for key in range(universe.size)]
    assert len(set(words)) == universe.size
    assert [universe.read(word) for word in words] == list(range(universe.size))
    assert Universe.from_json(universe.to_json()) == universe
    for text in ("", " ", "no such cell", "1e999", "nan – 3", "-inf", "\ud800", "1 – ", "all",
                 "0.0.0.0/0", "below x", "9" * 400, "2013", f"{words[0]} ",
                 f"{words[0]} × {words[0]}"):  # fmt: skip
        assert universe.read(text) is None or text in words


def plainly(axis: tu.Axis, values: list[Any]) -> Any:
    """A column in its plain form, as engines give it."""
    if isinstance(values[0], bytes):
        return pa.array(values, pa.large_binary())
    return np.array(values, np.float64 if axis.traits.values == "number" else np.int64)


@pytest.mark.parametrize(
    ("name", "values", "cells"),
    [
        ("integers", [-4, -3, 9, 10], [-1, 0, 12, -1]),
        ("regular", [-0.2, -0.1, math.nan, 0.7], [-1, 0, -1, -1]),
        ("open", [-1e300, -5, 250_000.25, math.inf], [0, 1, 3, -1]),
        ("labels", [b"Bronx", b"", None, b"bronx", b"\xff"], [0, 3, -1, -1, -1]),
        ("numbers", [7, -7, 8, 0], [0, 1, -1, -1]),
        ("days", [1356825599999999, 1356825600000000], [-1, 0]),
        ("prefixes", [(10 << 24) - 1, 10 << 24, (10 << 24) + (1 << 20)], [-1, 0, 1]),
        ("hierarchy", [b"CA/Kern", b"Kern", b"Napa", b"NV/Clark"], [0, 0, -1, 2]),
        ("codes", [6055, 6056, 32003], [1, -1, 2]),
    ],
)
def test_a_value_is_in_the_cell_of_its_axis(name: str, values: Any, cells: list[int]) -> None:
    axis = AXES[name]
    found, known = Universe.cells(axis).place(
        plainly(axis, values), known=np.ones(len(values), np.bool_)
    )
    assert np.where(known, found, -1).tolist() == cells
    assert found.min() >= 0  # never a number that is no key
    _, none = Universe.cells(axis).place(plainly(axis, values), known=np.zeros(len(values), bool))
    assert not none.any()


def test_cells_of_a_grid_are_numbered_as_a_grid_is() -> None:
    axes = AXES["integers"], AXES["labels"]
    universe = Universe.cells(*axes)
    rows = list(product(range(-4, 11), [b"Bronx", b"", b"none"]))
    found, known = universe.place(
        np.array([age for age, _ in rows]),
        pa.array([label for _, label in rows], pa.large_binary()),
        known=np.ones(len(rows), np.bool_),
    )
    for (age, label), key, good in zip(rows, found.tolist(), known.tolist(), strict=True):
        inside = -3 <= age <= 9 and label != b"none"
        assert good == inside
        if inside:
            assert key == (age + 3) * 5 + {b"Bronx": 0, b"": 3}[label]
            assert universe.label(key) == f"{age} × {label.decode()}"


def test_what_is_there_is_counted_and_adds_up(tmp_path: Path) -> None:
    """2^40 cells of which three have rows: time and memory are those of three."""
    minute = tu.Axis.dates("at", "2013-01-01", "2014-12-31", "minute")
    fare = tu.Axis.regular("fare", 0, 1 << 20, bins=1 << 20)
    asked = tu.KeyCounts(Universe.cells(minute, fare))
    assert asked.columns == ("at", "fare")
    assert asked.universe.size > 1 << 40
    rows = [("2013-05-01T12:30", 7.25), ("2014-12-31T23:59", 0.0), ("2013-01-01T00:00", 3e5)]
    table = pa.table(
        {
            "at": pa.array([np.datetime64(at, "us") for at, _ in rows] * 400),
            "fare": pa.array([fare for _, fare in rows] * 400),
        }
    )
    owner = tu.Owner(table, tu.Ledger(tmp_path / "ledger", limit=1))
    measured = owner.keys.measure(asked, 1, key="once")
    assert owner.keys.measure(asked, 1, key="once") == measured
    release = measured.infer()
    shown = {"2013-05-01T12:30 × 7.0 – 8.0", "2014-12-31T23:59 × 0.0 – 1.0"}
    assert shown | {"2013-01-01T00:00 × 300000.0 – 300001.0"} <= set(release.keys)
    assert int(release.counts().sum()) + release.others() == release.total().value
    for made, name in ((measured, "m.parquet"), (release, "r.json")):
        made.save(tmp_path / name)
        again = tu.load(tmp_path / name)
        assert again.columns()["key"] == made.columns()["key"]
        assert again.terms == made.terms
    assert release.count("2013-05-01T12:31 × 7.0 – 8.0").noisy is None
    with pytest.raises(InputError, match="is no key of the universe"):
        release.count("2013-05-01T12:31")


def test_a_unit_counts_once_in_each_of_its_cells(tmp_path: Path) -> None:
    """Many values of a unit lie in one cell: they are one key, before keys are chosen."""
    users = [f"u{n % 100}" for n in range(2000)]
    fares = [0.001 * n if n % 200 < 100 else 5.0 for n in range(2000)]  # each user: many, and one
    words = ["west", "west side", "east", "nowhere"] * 500
    table = pa.table({"user": users, "fare": fares, "word": words})
    for axis, keys in (
        (tu.Axis.regular("fare", 0, 8, bins=2), {"0.0 – 4.0": 100, "4.0 – 8.0": 100}),
        (tu.Axis.categories("word", ["east", "west", "west side"]), {}),
    ):
        owner = tu.Owner(
            table, tu.Ledger(tmp_path / axis.name, limit=10**6), unit="user", rows_per_unit=2
        )
        found = owner.keys.measure(tu.KeyCounts(Universe.cells(axis)), 2000)
        true = dict(zip(found.labels, found.noisy.tolist(), strict=True))
        each = table.group_by(["user", axis.name]).aggregate([]).to_pydict()
        if not keys:  # every user has one word
            keys = {w: each["word"].count(w) for w in ("east", "west", "west side")}
        assert true == keys
        assert found.total == sum(keys.values())


def test_every_kind_of_axis_is_saved_and_loaded(tmp_path: Path) -> None:
    for name, axis in AXES.items():
        universe = Universe.cells(axis)
        counts = {universe.label(universe.size - 1): 900}
        measured = tu.measure_keys(counts, tu.KeyCounts(universe), 1)
        measured.save(tmp_path / f"{name}.parquet")
        assert tu.load(tmp_path / f"{name}.parquet") == measured


def test_shown_cells_make_an_axis_of_labels_or_of_whole_numbers() -> None:
    for axis, labels in ((AXES["labels"], ["日本"]), (AXES["codes"], [32003])):
        universe = Universe.cells(axis)
        counts = {universe.label(universe.size - 1): 900}
        made = tu.measure_keys(counts, tu.KeyCounts(universe, total=0), 1000).infer().axis()
        assert list(made.labels) == labels
        assert made.name == axis.name


def test_cells_have_the_threshold_of_as_many_keys() -> None:
    axis, fare = AXES["integers"], tu.Axis.regular("fare", 0, 8, bins=64)
    cells = KeyTerms.of(tu.KeyCounts(Universe.cells(axis, fare)), epsilon=1)
    keys = KeyTerms.of(tu.KeyCounts(Universe.integers(1, 13 * 64)), epsilon=1)
    assert (cells.threshold, cells.count_scale) == (keys.threshold, keys.count_scale)
    for neighbours in ("add-remove", "replace"):  # the noise of the dense cells, at all of ε
        asked = tu.KeyCounts(Universe.cells(axis), total=0)
        dense = tu.measure(np.zeros(13, np.int64), tu.CellCounts(axis), "1/3", neighbours)
        sparse = KeyTerms.of(asked, "1/3", neighbours)
        assert (sparse.count_scale,) == dense.noise.scales
    assert "age: whole numbers from -3 to 9; fare: numbers" in cells.lines()["universe"]


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ((), "one axis or of several"),
        (("age",), "one axis or of several"),
        ((AXES["days"], AXES["weeks"]), "Two axes have the name 'day'"),
        ((tu.Axis.categories("x", ["1", 1]),), "declare one kind"),
        ((AXES["days"], tu.Axis.categories("x", ["a × b"])), "has ' × ' in it"),
        ((tu.Axis.hierarchy("x", {"a / b": ["c"], "a": {"b / c": ["d"], "b": ["c"]}}),), "alike"),
        (tuple(tu.Axis.integers(name, 0, 1 << 31) for name in "ab"), r"at most 2\^62 cells"),
    ],
)
def test_axes_whose_cells_are_no_keys_are_refused(axes: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Universe.cells(*axes)
    tu.Universe.cells(tu.Axis.integers("a", 1, 1 << 31), tu.Axis.integers("b", 1, 1 << 31))


def test_cells_have_no_prefixes_and_are_not_typed() -> None:
    with pytest.raises(InputError, match="no tree of prefixes"):
        tu.PrefixCounts(Universe.cells(AXES["integers"]))
    with pytest.raises(InputError, match="typed as one of"):
        Universe.typed("cells:age")
    for wrong in ("age", [], [{"kind": "integers"}], [3]):
        with pytest.raises(tu.TrueupError):
            Universe.from_json({"kind": "cells", "axes": wrong})
