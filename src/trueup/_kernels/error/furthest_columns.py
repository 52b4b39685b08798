"""The largest distance between two columns of a sparse matrix of whole numbers."""

from __future__ import annotations

import numpy as np

from trueup._kernels.compiled import PLAIN_PAIRS, compiled
from trueup.arrays import Ints


@compiled(most=PLAIN_PAIRS)
def furthest_columns(
    row_pointer: Ints,
    columns: Ints,
    values: Ints,
    column_pointer: Ints,
    rows: Ints,
    entries: Ints,
    norms: Ints,
) -> np.int64:
    """The largest L1 distance of two columns, from the matrix by rows and by columns.

    |a − b| = |a| + |b| less what the rows that both enter take back. The values must be so small
    that no column's norm passes 2^61.
    """
    size = len(norms)
    apart = np.empty(size, np.int64)
    worst = np.int64(0)
    for a in range(size):
        for b in range(size):
            apart[b] = norms[a] + norms[b]
        for at in range(column_pointer[a], column_pointer[a + 1]):
            row, mine = rows[at], entries[at]
            for other in range(row_pointer[row], row_pointer[row + 1]):
                value = values[other]
                apart[columns[other]] += abs(mine - value) - abs(mine) - abs(value)
        for b in range(size):
            worst = max(worst, apart[b])
    return worst
