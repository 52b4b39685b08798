"""Least squares level by level, in plain numpy: the laws of least squares on any tree."""

from __future__ import annotations

import pytest

from trueup._kernels.tree.any_tree_by_level import fit_by_levels

from .laws_of_any_tree import (  # noqa: F401
    test_children_sum_to_parent,
    test_consistent_counts_stay_as_they_are,
    test_nodes_that_were_not_asked_do_not_count,
    test_the_fit_is_dense_weighted_least_squares,
    test_the_paper_s_recurrence_is_the_case_of_equal_weights,
    test_weights_of_any_size_are_only_relative,
)


@pytest.fixture
def fit():
    return fit_by_levels
