"""Least squares on a regular tree: level by level for a few leaves, in blocks for many."""

from __future__ import annotations

import numpy as np

from trueup._kernels.threads import cores
from trueup._kernels.tree import prefix as sums
from trueup._kernels.tree.regular import Numbers, RegularTree, fit_by_level
from trueup.arrays import Floats, Ints

MANY = 1 << 15  # from so many leaves on it is worth waiting for compiled passes to load


def fit_leaves(
    tree: RegularTree,
    noisy: Numbers,
    starts: Ints,
    leaves: Floats | None = None,
    threads: int | None = None,
    totals: Floats | None = None,
) -> Floats:
    """As `fit_by_level`, to the bit, in the time a large tree allows; into `leaves` if given.

    By default in as many threads as there are cores. Of a tree of MANY leaves the sums of blocks
    of them go into `totals`, if given.
    """
    if leaves is None:
        leaves = np.empty(tree.size)
    if tree.size < MANY:
        leaves[:] = fit_by_level(tree, noisy, starts)
        return leaves
    from trueup._kernels.tree.blocks import fit_into

    fit_into(tree, noisy, starts, leaves, threads or cores(), totals)
    return leaves


def fit_prefix(
    tree: RegularTree, noisy: Numbers, starts: Ints, threads: int | None = None
) -> Floats:
    """`prefix_on_grid` of `fit_leaves`, without a second array."""
    prefix = np.empty(tree.size + 1)
    prefix[0] = 0.0
    totals = None if tree.size < MANY else np.empty(-(-tree.size // sums.BLOCK))
    threads = threads or cores()
    fit_leaves(tree, noisy, starts, prefix[1:], threads, totals)
    sums.sum_on_grid(prefix, threads, totals)
    return prefix
