"""Families level by level: every child once, beside its siblings, under its parent."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trueup._kernels.display.by_level import added, levels_of


@st.composite
def trees(draw: st.DrawFn) -> np.ndarray:
    """Where the children of each node begin, of any tree, breadth first."""
    numbers, open_ = [], 1
    while open_ and len(numbers) < 60:
        numbers.append(draw(st.integers(0, 4)))
        open_ += numbers[-1] - 1
    return np.concatenate([[1], 1 + np.cumsum(numbers + [0] * open_)])


@given(first=trees())
def test_every_child_is_met_once_with_its_parent_and_its_siblings(first: np.ndarray) -> None:
    nodes = np.arange(len(first) - 1)
    depth, met = {0: 0}, []
    for level, groups in enumerate(levels_of(first)):
        for each in groups:
            for parent, children in zip(nodes[each.parents], each.read(nodes), strict=True):
                assert children.tolist() == list(range(first[parent], first[parent + 1]))
                assert depth[parent] == level
                depth |= dict.fromkeys(children.tolist(), level + 1)
                met.extend(children.tolist())
    assert sorted(met) == nodes[1:].tolist()


@given(first=trees())
def test_what_is_written_is_what_was_read(first: np.ndarray) -> None:
    values = np.arange(len(first) - 1.0)
    found = values.copy()
    for level in levels_of(first):
        for each in level:
            each.write(found, -each.read(found))
    assert found[1:].tolist() == (-values[1:]).tolist()


def test_sums_go_from_the_first_to_the_last() -> None:
    rng = np.random.default_rng(5)
    rows, start = (
        rng.normal(size=(50, 33)) * 10.0 ** rng.integers(-9, 9, (50, 33)),
        rng.normal(size=50),
    )
    for row, begin, one, other in zip(rows, start, added(rows), added(rows, start), strict=True):
        total, after = 0.0, begin
        for value in row:
            total, after = total + value, after + value
        assert (one, other) == (total, after)
