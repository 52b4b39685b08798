"""Releases in folders put together: what the same releases in memory give, and no more memory."""

from __future__ import annotations

import os
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.files.dataset import open_dataset
from trueup.reconcile import folders

SIZE = 5000
AXIS = tu.Axis.integers("place", 1, SIZE)
COUNTS = np.random.default_rng(4).poisson(7, SIZE)
TREE = tu.TreeCounts(AXIS, branching=8)
UNEQUAL = tu.TreeCounts(AXIS, radices=(50, 100), shares=("1/2", "1/4", "1/4"))


def in_folders(place: Path, *asked: Any) -> list[Any]:
    """Releases in folders, of questions at these costs."""
    return [
        tu.publish(COUNTS, question, nonnegative=False, to=place / str(number), **cost)
        for number, (question, cost) in enumerate(asked)
    ]


DAYS = tu.Axis.dates("day", "2001-01-01", "2014-09-09")
MONTHS, WEEKS = (tu.TreeCounts(DAYS, levels=(level, "day")) for level in ("month", "week"))
assert DAYS.size == SIZE

CASES = [
    [(TREE, {"epsilon": 1}), (TREE, {"epsilon": "1/3"})],
    [(TREE, {"epsilon": 1}), (TREE, {"epsilon": 2}), (TREE, {"epsilon": "1/2"})],
    [(tu.CellCounts(AXIS), {"epsilon": 1}), (tu.CellCounts(AXIS), {"epsilon": 3})],
    [(TREE, {"rho": 1}), (TREE, {"rho": "1/9"})],
    [(UNEQUAL, {"epsilon": 1}), (UNEQUAL, {"epsilon": 1})],
    [(MONTHS, {"epsilon": 1}), (MONTHS, {"epsilon": "1/2"})],
]


def ends(axis: tu.Axis, low: int, high: int) -> tuple[Any, Any]:
    """The ends of cells [low, high), as the axis words them."""
    return axis.edge(low), axis.edge(high)


@pytest.mark.parametrize("asked", CASES)
def test_folders_together_are_the_least_squares_of_all_in_memory(
    asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "RUN", 777)  # several parts, the last cut short
    parts = in_folders(tmp_path, *asked)
    expected = tu.reconcile(parts)  # in memory: the network of all answers
    found = tu.reconcile(parts, to=tmp_path / "both")
    dataset = open_dataset(tmp_path / "both")
    dataset.verify()
    assert [part.stop for part in dataset.parts] == [*range(777, SIZE, 777), SIZE]
    assert np.abs(np.asarray(found.prefix) - expected.prefix).max() < 1e-6
    axis = found.axes[0]
    for low, high in ((0, SIZE), (16, 17), (99, 2999), (4998, 5000)):
        one, other = (each.range(*ends(axis, low, high)) for each in (found, expected))
        assert one.std_error == pytest.approx(other.std_error, rel=1e-9)
        assert one.interval(0.9) == pytest.approx(other.interval(0.9), rel=1e-4, abs=0.05)
        if low < 2500 < high:
            sides = (found.range(*ends(axis, *side)) for side in ((low, 2500), (2500, high)))
            assert one.value == sum(side.value for side in sides)
    assert found.facts == tu.load(tmp_path / "both").facts
    assert found.facts.measured == tuple(part.facts.id for part in parts)
    middle = [axis.span(each.quantile(0.5), None)[0] for each in (found, expected)]
    assert abs(middle[0] - middle[1]) <= 1
    with pytest.raises(tu.InputError, match="not a combined one"):
        tu.reconcile([found, parts[0]], to=tmp_path / "again")


def test_what_cannot_be_put_together_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    other = tu.TreeCounts(AXIS, branching=10)
    one, tree, unequal, skew = in_folders(
        tmp_path,
        (TREE, {"epsilon": 1}),
        (other, {"epsilon": 1}),
        (UNEQUAL, {"epsilon": 1}),
        (UNEQUAL, {"epsilon": "1/2"}),
    )
    months, weeks = (
        tu.publish(COUNTS, question, 1, nonnegative=False, to=tmp_path / name)
        for question, name in ((MONTHS, "months"), (WEEKS, "weeks"))
    )
    moved = tu.publish(COUNTS + 40, TREE, 1, nonnegative=False, to=tmp_path / "moved")
    memory = tu.publish(COUNTS, TREE, 1, nonnegative=False)
    before = sorted(os.listdir(tmp_path))
    for parts, options, words in (
        ([one, tree], {}, "asked the same tree"),
        ([months, weeks], {}, "asked the same tree"),
        ([unequal, skew], {}, "not in one proportion"),
        ([one, moved], {}, "contradict each other"),
        ([one, memory], {}, "goes with releases in folders"),
        ([one, tu.load(tmp_path / "0")], {}, "counted twice"),
        ([one, tree], {"nonnegative": True}, "without constraints"),
        ([one, tree], {"known": {"total": 5}}, "without constraints"),
    ):
        with pytest.raises(tu.InputError, match=words):
            tu.reconcile(parts, to=tmp_path / "out", **options)
    with pytest.raises(tu.InputError, match="is there already"):
        tu.reconcile([one, moved], to=tmp_path / "1")
    assert sorted(os.listdir(tmp_path)) == before


def test_memory_does_not_grow_with_the_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "RUN", 1 << 12)
    peaks = []
    for size in (1 << 14, 1 << 18):
        counts, question = np.zeros(size, np.int64), tu.TreeCounts(size, branching=16)
        parts: list[Any] = [
            tu.publish(counts, question, 1, nonnegative=False, to=tmp_path / f"{size}.{n}")
            for n in (1, 2)
        ]
        tracemalloc.start()
        tu.reconcile(parts, to=tmp_path / f"{size}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + (2 << 18)  # a quarter of one number a cell


def test_of_releases_made_to_be_shown_the_unbiased_counts_are_put_together(tmp_path: Path) -> None:
    parts: list[Any] = [
        tu.publish(np.zeros(SIZE, int), TREE, 1, to=tmp_path / str(number)) for number in range(2)
    ]
    found = tu.reconcile(parts, to=tmp_path / "both")
    mean = np.mean([np.asarray(part.unbiased.prefix) for part in parts], axis=0)
    assert np.abs(np.asarray(found.prefix) - mean).max() < 1e-9
    assert (found.counts() < 0).any()


def test_counts_of_any_size_add_up_exactly(tmp_path: Path) -> None:
    """A third of one and two thirds of the other: no such mean is a sum of powers of two."""
    counts = np.random.default_rng(1).integers(1 << 40, 1 << 42, 300)
    parts: list[Any] = [
        tu.publish(counts, tu.CellCounts(300), rho=rho, nonnegative=False, to=tmp_path / rho)
        for rho in ("1", "2")
    ]
    found = tu.reconcile(parts, to=tmp_path / "both")
    assert np.abs(found.counts() - counts).max() < 20
    whole = Fraction(found.total().value)
    for cut in range(1, 300):
        sides = found.range(0, cut), found.range(cut, 300)
        assert sum(Fraction(side.value) for side in sides) == whole


def test_coarse_hierarchies_and_a_full_disk_are_refused_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed: list[Any] = [
        tu.publish(COUNTS, tu.CellCounts(AXIS), nonnegative=False, to=tmp_path / name, **cost)
        for name, cost in (("laplace", {"epsilon": 1}), ("gauss", {"rho": 1}))
    ]
    with pytest.raises(tu.InputError, match="Gaussian"):
        tu.reconcile(mixed, to=tmp_path / "out")
    coarse: Any = tu.TreeCounts(DAYS, levels=("year", "month"))
    parts: list[Any] = [
        tu.publish(COUNTS, coarse, 1, nonnegative=False, to=tmp_path / f"coarse{n}") for n in (1, 2)
    ]
    hats = [
        tu.publish(COUNTS, tu.HatCounts(AXIS, strides=(10,)), 1, to=tmp_path / f"hats{n}")
        for n in (1, 2)
    ]
    before = sorted(os.listdir(tmp_path))
    for refused in (parts, hats):
        with pytest.raises(tu.InputError, match="cells or a tree"):
            tu.reconcile(refused, to=tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == before
    parts = in_folders(tmp_path, (TREE, {"epsilon": 1}), (TREE, {"epsilon": 2}))
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 17 * SIZE - 1}))
    with pytest.raises(tu.InputError, match="GB of disk"):
        tu.reconcile(parts, to=tmp_path / "out")
    assert not list(tmp_path.glob("*out*"))
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 17 * SIZE}))
    tu.reconcile(parts, to=tmp_path / "just")


def test_a_folder_is_on_disk_before_it_has_its_name_and_then_the_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = in_folders(tmp_path, (TREE, {"epsilon": 1}), (TREE, {"epsilon": 2}))
    synced, steps, fsync, rename = set[int](), list[str](), os.fsync, os.rename

    def noted(handle: int) -> None:
        fsync(handle)
        synced.add(os.fstat(handle).st_ino)
        if os.fstat(handle).st_ino == tmp_path.stat().st_ino:
            steps.append("synced the name")

    def named(source: Path, to: Path) -> None:
        assert {each.stat().st_ino for each in (source, *Path(source).iterdir())} <= synced
        steps.append("named")
        rename(source, to)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "rename", named)
    tu.reconcile(parts, to=tmp_path / "both")
    assert steps == ["named", "synced the name"]
