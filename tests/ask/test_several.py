"""Questions over several axes: shapes, names and sizes are checked before anything is made."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import trueup as tu
from trueup.ask.several import (
    MOST_CELLS,
    block_labels,
    check_grid,
    grid_axis,
    grid_counts,
    nested_boxes,
)


def test_counts_fit_a_grid_flat_or_in_its_shape():
    flat = np.arange(6)
    assert grid_counts(flat, (2, 3)).tolist() == flat.reshape(2, 3).tolist()
    assert grid_counts(flat.reshape(2, 3), (2, 3)).tolist() == flat.reshape(2, 3).tolist()
    for wrong in (flat.reshape(3, 2), flat.reshape(2, 3, 1), np.arange(5), -flat):
        with pytest.raises(tu.InputError):
            grid_counts(wrong, (2, 3))


def test_axes_of_a_grid_have_names_of_their_own_and_fit_64_bits():
    one, two = grid_axis(4, 1), grid_axis(5, 2)
    assert (one.name, two.name, one.size, two.size) == ("axis 1", "axis 2", 4, 5)
    assert grid_axis(one, 9) is one
    check_grid([one, two], 20)
    with pytest.raises(tu.InputError, match="a name of its own"):
        check_grid([one, one], 16)
    check_grid([one, two], MOST_CELLS)
    with pytest.raises(tu.InputError, match="GiB for one copy"):
        check_grid([one, two], MOST_CELLS + 1)
    wide = [tu.Axis.integers(name, 0, (1 << 31) - 1) for name in "ab"]
    with pytest.raises(tu.InputError, match="past what 64 bits can number"):
        check_grid(wide, 1)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 16, 100, 4097])
def test_nested_boxes_end_in_single_cells_and_have_about_sixteen_in_each(size, axes):
    tree = nested_boxes(size, axes)
    assert tree.size == size
    most = max(2, round(16 ** (1 / axes)))
    lengths = [tree.length(level) for level in range(tree.height)]
    assert lengths[0] == 1
    assert lengths[-1] == size
    for above, below in itertools.pairwise(lengths):
        assert below <= above * (most + 1)


def test_labels_number_the_answers_of_each_block():
    labels = block_labels((2, 3), (1, 3))
    assert list(labels) == ["block of 2×3", "number"]
    assert labels["block of 2×3"].tolist() == [0, 1, 1, 1]
    assert labels["number"].tolist() == [0, 0, 1, 2]
