"""Releases in folders put together: what the same releases in memory give, and no more memory."""

from __future__ import annotations

import os
import tracemalloc
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


CASES = [
    [(TREE, {"epsilon": 1}), (TREE, {"epsilon": "1/3"})],
    [(TREE, {"epsilon": 1}), (TREE, {"epsilon": 2}), (TREE, {"epsilon": "1/2"})],
    [(tu.CellCounts(AXIS), {"epsilon": 1}), (tu.CellCounts(AXIS), {"epsilon": 3})],
    [(TREE, {"rho": 1}), (TREE, {"rho": "1/9"})],
    [(UNEQUAL, {"epsilon": 1}), (UNEQUAL, {"epsilon": 1})],
]


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
    for low, high in ((1, SIZE + 1), (17, 18), (100, 3000), (4999, 5001)):
        one, other = found.range(low, high), expected.range(low, high)
        assert one.std_error == pytest.approx(other.std_error, rel=1e-9)
        assert one.interval(0.9) == pytest.approx(other.interval(0.9), rel=1e-4, abs=0.05)
        if low < 2500 < high:
            assert one.value == found.range(low, 2500).value + found.range(2500, high).value
    assert found.facts == tu.load(tmp_path / "both").facts
    assert found.facts.measured == tuple(part.facts.id for part in parts)
    assert found.quantile(0.5) == pytest.approx(expected.quantile(0.5), abs=1)
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
    moved = tu.publish(COUNTS + 40, TREE, 1, nonnegative=False, to=tmp_path / "moved")
    memory = tu.publish(COUNTS, TREE, 1, nonnegative=False)
    before = sorted(os.listdir(tmp_path))
    for parts, options, words in (
        ([one, tree], {}, "asked the same tree"),
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
