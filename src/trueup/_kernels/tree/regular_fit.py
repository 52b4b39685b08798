"""Least squares on a regular tree: level by level for a few leaves, in blocks for many."""

from __future__ import annotations

import numpy as np

from trueup._kernels.threads import cores
from trueup._kernels.tree import prefix as sums
from trueup._kernels.tree.binary_grid import grid_for
from trueup._kernels.tree.regular import Floats, Ints, Numbers, RegularTree, fit_by_level

MANY = 1 << 15  # from so many leaves on it is worth waiting for compiled passes to load


def fit_leaves(
    tree: RegularTree, noisy: Numbers, starts: Ints, threads: int | None = None
) -> Floats:
    """As `fit_by_level`, to the bit, in the time a large tree allows.

    By default in as many threads as there are cores.
    """
    if tree.size < MANY:
        return fit_by_level(tree, noisy, starts)
    from trueup._kernels.tree.blocks import fit_into

    leaves = np.empty(tree.size)
    fit_into(tree, noisy, starts, leaves, threads or cores())
    return leaves


def fit_prefix(
    tree: RegularTree, noisy: Numbers, starts: Ints, threads: int | None = None
) -> Floats:
    """`prefix_on_grid` of `fit_leaves`, without a second array.

    Leaves become sums while they are in the cache; all sums then go to the grid.
    """
    if tree.size < MANY or tree.size <= sums.BLOCK:
        return sums.prefix_on_grid(fit_leaves(tree, noisy, starts, threads))
    from trueup._kernels.tree.blocks import fit_into
    from trueup._kernels.tree.running_sums import RunningSums

    prefix = np.empty(tree.size + 1)
    prefix[0] = 0.0
    leaves, steps = prefix[1:], []
    running = RunningSums(sums.BLOCK, threads or cores())

    def add(begin: int, end: int, totals: Floats) -> None:
        steps.append(running.add(leaves[begin:end], totals))

    fit_into(tree, noisy, starts, leaves, threads or cores(), add)
    running.round(leaves, np.concatenate(steps), grid_for(running.largest))
    return prefix
