"""What goes to a folder and what does not, and which job makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.facts import Facts
from trueup.scale import FolderJob, TableJob, checked_question, flat_counts, open_job

THREE = tu.Axis.categories("kind", ["a", "b", "c"])
TREE = tu.TreeCounts(6, branching=2)
TABLE = tu.GridCounts(tu.CellCounts(THREE), TREE)


@pytest.mark.parametrize(
    ("over", "asked", "says"),
    [
        (TREE, (True, False), "leave integers out"),
        (TREE, (False, True), "leave integers out"),
        (TABLE, (True, False), "leave integers out"),
        (TABLE, (False, True), "leave integers out"),
        (tu.GridCounts(TREE, tu.CellCounts(THREE)), (False, None), "cells by a tree"),
        (tu.TreeCounts(500, adaptive=True), (False, None), "trees and hats of one axis"),
        ("age", (False, None), "got 'age'"),
    ],
)
def test_what_does_not_go_to_a_folder_is_told_why(over: Any, asked: Any, says: str) -> None:
    with pytest.raises(tu.InputError) as refused:
        checked_question(over, *asked)
    assert says in str(refused.value)


def test_rows_that_are_chosen_privately_do_not_go_to_a_folder() -> None:
    with pytest.raises(tu.InputError, match="rows_per_unit=3"):
        checked_question(TREE, False, None, 5)


def test_trees_go_slab_by_slab_and_tables_line_by_line(tmp_path: Path) -> None:
    unbiased, shown = (open_job(tmp_path / x, Facts.of(TREE, 1), shown=x == "s") for x in "us")
    assert isinstance(unbiased, FolderJob)
    assert isinstance(shown, FolderJob)
    assert unbiased.shown is None
    assert shown.shown is not None
    assert isinstance(open_job(tmp_path / "b", Facts.of(TABLE, 1), shown=True), TableJob)
    for asked in ((True, None), (True, True), (False, None), (False, False)):
        assert checked_question(TABLE, *asked) is TABLE


def test_counts_of_a_table_may_lie_on_the_disk(tmp_path: Path) -> None:
    table = np.lib.format.open_memmap(
        tmp_path / "counts.npy", mode="w+", dtype=np.int32, shape=(3, 6)
    )
    table[:] = np.arange(18).reshape(3, 6)
    flat = flat_counts(table, TABLE)
    assert flat.tolist() == list(range(18))
    assert np.shares_memory(flat, table)
    assert flat_counts(np.asfortranarray(table), TABLE).tolist() == list(range(18))
    with pytest.raises(tu.InputError, match="18 cells"):
        flat_counts(np.zeros(17, np.int64), TABLE)
