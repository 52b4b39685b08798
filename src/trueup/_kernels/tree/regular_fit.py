"""Least squares on a regular tree: level by level for a few leaves, in blocks for many."""

from __future__ import annotations

import numpy as np

from trueup._kernels.threads import cores
from trueup._kernels.tree.prefix import sum_on_grid
from trueup._kernels.tree.regular import Floats, Ints, Numbers, RegularTree, fit_by_level

MANY = 1 << 15  # from so many leaves on it is worth waiting for compiled passes to load


def fit_leaves(
    tree: RegularTree,
    noisy: Numbers,
    starts: Ints,
    leaves: Floats | None = None,
    threads: int | None = None,
) -> Floats:
    """As `fit_by_level`, to the bit, in the time a large tree allows; into `leaves` if given.

    By default in as many threads as there are cores.
    """
    if leaves is None:
        leaves = np.empty(tree.size)
    if tree.size < MANY:
        leaves[:] = fit_by_level(tree, noisy, starts)
        return leaves
    from trueup._kernels.tree.blocks import fit_into

    fit_into(tree, noisy, starts, leaves, threads or cores())
    return leaves


def fit_prefix(
    tree: RegularTree, noisy: Numbers, starts: Ints, threads: int | None = None
) -> Floats:
    """`prefix_on_grid` of `fit_leaves`, without a second array."""
    prefix = np.empty(tree.size + 1)
    prefix[0] = 0.0
    fit_leaves(tree, noisy, starts, prefix[1:], threads)
    sum_on_grid(prefix, threads)
    return prefix
