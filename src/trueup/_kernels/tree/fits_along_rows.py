"""One-dimensional least squares along many lines at once: the rows of a two-dimensional array."""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import compiled
from trueup._kernels.hats.hat_tables import HatTables, state_starts
from trueup._kernels.hats.hats import solve_into
from trueup._kernels.tree.any_tree import down, up
from trueup.arrays import Floats, Ints


@compiled
def _hat_lines(
    tables: HatTables, cells: Floats, hats: Floats, starts: Ints, fitted: Floats
) -> None:
    states = np.empty(starts[-1])
    for line in range(len(cells)):
        solve_into(tables, cells[line], hats[line], states, starts, fitted[line])


def hat_lines(tables: HatTables, cells: Floats, hats: Floats) -> tuple[Floats, Floats]:
    """As `hats.solve` for every line: the fitted cells, and the multipliers of the hats."""
    if not len(tables.strides):
        return cells.copy(), hats.copy()
    fitted, multipliers = np.empty_like(cells), hats.copy()
    _hat_lines(tables, cells, multipliers, state_starts(tables), fitted)
    return fitted, multipliers


@compiled
def _tree_lines(first: Ints, noisy: Floats, weights: Floats, fitted: Floats) -> None:
    variances = np.empty(len(weights))
    for line in range(len(noisy)):
        up(first, noisy[line], weights, fitted[line], variances)
        down(first, fitted[line], variances)


def tree_lines(first: Ints, noisy: Floats, weights: Floats) -> Floats:
    """As `any_tree.fit` for every line of node values."""
    fitted = np.empty_like(noisy)
    _tree_lines(first, noisy, weights, fitted)
    return fitted
