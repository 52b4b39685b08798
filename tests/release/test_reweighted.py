"""Reweighted counts answer ranges, and are the same when read from a file."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.files.codec import encode, write
from trueup.files.codec import read as read_file
from trueup.release.reweighted import ReweightedCounts, facts_of, half_width

X, Y = tu.Axis.integers("x", 0, 9), tu.Axis.categories("y", ["a", "b", "c"])


def counts(*axes: tu.Axis) -> ReweightedCounts:
    rounds = [[0] * len(axes), [1] * len(axes)], [[2] * len(axes), [3] * len(axes)]
    starts, stops = (np.array(each) for each in rounds)
    facts = facts_of(Fraction(1), "add-remove", "ab" * 16)
    return ReweightedCounts(axes, starts, stops, np.array([40, 9]), 100, facts)


def test_ranges_are_sums_of_cells() -> None:
    one, two = counts(X), counts(X, Y)
    assert one.range(2, 5) == pytest.approx(one.counts()[2:5].sum())
    assert one.ranges([0, 2], [3, 9]) == pytest.approx([one.range(0, 3), one.range(2, 9)])
    assert two.range((2, 5), ("a", "c")) == pytest.approx(two.counts()[2:5, :2].sum())
    assert two.ranges(([0], ["a"]), ([3], ["c"])) == pytest.approx([two.counts()[:3, :2].sum()])
    assert two.to_frame().num_rows == 30
    assert one.scale == 5  # a total and two rounds of two parts
    three = replace(one, facts=facts_of(Fraction(1), "replace", None, unit="user", rows=3))
    assert three.scale == 15
    assert "at most 3 rows of each user" in repr(three)


@pytest.mark.parametrize("ending", ["parquet", "json"])
def test_a_file_gives_the_same_counts_back_and_is_checked(ending: str, tmp_path: Path) -> None:
    for made in (counts(X), counts(X, Y)):
        path = tmp_path / f"x.{ending}"
        made.save(path)
        again = tu.load(path)
        assert (again.counts() == made.counts()).all()
        assert again.facts == made.facts
        assert repr(again) == repr(made)
        kind, columns, about = read_file(path)
        for wrong in (
            {"answers": [41, 9]}, {"cost": "0"}, {"stops": [[99], [3]]}, {"answers": [1.5, 2]},
            {"starts": [[0]]}, {"neighbours": "none"}, {"rows_per_unit": 0},
        ):  # fmt: skip
            write(path, kind, columns, {**about, **wrong})
            with pytest.raises(tu.FileError):
                tu.load(path)


def test_what_was_counted_has_exact_intervals() -> None:
    made = counts(X)
    found = made.measured(0.9)
    assert found["x from"].tolist() == [0, 1]
    assert found["noisy"].tolist() == [40, 9]
    for scale in (0.3, 5.0, 41.5):
        q = math.exp(-1 / scale)
        mass = (1 - q) / (1 + q) * q ** np.abs(np.arange(-3_000, 3_001))
        for level in (0.5, 0.9, 0.95):
            wide = half_width(scale, level)
            inside = mass[3_000 - wide : 3_001 + wide].sum()
            assert inside >= level - 1e-12
            assert wide == 0 or inside - mass[3_000 - wide] - mass[3_000 + wide] < level
    wide = half_width(5.0, 0.9)
    assert found["low"].tolist() == [40 - wide, 0]
    assert found["high"].tolist() == [40 + wide, 9 + wide]


def test_rounds_without_a_box_are_refused() -> None:
    facts = facts_of(Fraction(1), "add-remove", None)
    none = np.zeros((0, 1), np.int64)
    with pytest.raises(tu.InputError, match="A box has a cell"):
        ReweightedCounts((X,), none, none, np.zeros(0, np.int64), 1, facts)
    with pytest.raises(tu.InputError, match="an array of ends"):
        counts(X, Y).ranges(([0],), ([3],))


def test_boxes_that_nobody_can_have_chosen_are_refused() -> None:
    axes = (tu.Axis.integers("x", 0, 7), tu.Axis.integers("y", 0, 3))
    good = {"starts": [[0, 0], [7, 3]], "stops": [[8, 4], [8, 4]], "answers": [5, -9]}

    def made(**changed: Any) -> ReweightedCounts:
        told = {name: np.array(each, np.int64) for name, each in {**good, **changed}.items()}
        facts = facts_of(Fraction(1), "add-remove", None)
        return ReweightedCounts(axes, **told, measured_total=9, facts=facts)

    measured = made().measured(0.95)
    wide = half_width(5.0, 0.95)
    assert measured["low"].tolist() == [0, 0]  # a count is not below 0
    assert measured["high"].tolist() == [5 + wide, max(wide - 9, 0)]
    for changed in (
        {"starts": [[0, 0], [-1, 3]]},
        {"starts": [[0, 0], [8, 3]]},  # of no cell
        {"stops": [[8, 4], [9, 4]]},
        {"stops": [[8, 5], [8, 4]]},
        {"starts": [[0], [7]]},
        {"stops": [[8], [8]]},
        {"stops": [[8, 4]]},
        {"answers": [5]},
        {"starts": np.zeros((0, 2)), "stops": np.zeros((0, 2)), "answers": []},
    ):
        with pytest.raises(tu.InputError):
            made(**changed)


def test_counts_that_are_not_private_say_so_from_a_file_too(tmp_path: Path) -> None:
    made = counts(X)
    open_ = replace(made, facts=facts_of(Fraction(1), "add-remove", "ab" * 16, private=False))
    open_.save(tmp_path / "open.parquet")
    again = tu.load(tmp_path / "open.parquet")
    assert again.facts.private is False
    assert "NOT PRIVATE" in repr(again)
    kind, columns, about = read_file(tmp_path / "open.parquet")
    for told in ("true", 1, None):  # private is what says so by the one word for it
        write(tmp_path / "other.parquet", kind, columns, {**about, "private": told})
        assert tu.load(tmp_path / "other.parquet").facts.private is False
    moved = {**columns, "count": np.asarray(columns["count"]) * (1 + 1e-4)}
    write(tmp_path / "moved.parquet", kind, moved, about)
    with pytest.raises(tu.FileError, match="do not follow"):
        tu.load(tmp_path / "moved.parquet")


def test_bytes_are_those_of_the_file_and_of_no_other_kind() -> None:
    made = counts(X, Y)
    again = ReweightedCounts.from_bytes(made.to_bytes())
    assert (again.counts() == made.counts()).all()
    with pytest.raises(tu.FileError, match="Reweighted counts were expected, not a release"):
        ReweightedCounts.from_bytes(encode("release", made.columns(), made._about()))
    with pytest.raises(tu.InputError, match="level"):
        made.measured(1.0)
