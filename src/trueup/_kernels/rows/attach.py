"""Rows with given counts: cells repeated, and margins joined along the axes that they share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints

Cells = npt.NDArray[np.unsignedinteger]

_FEW_GROUPS = 32  # so many passes over the rows take less time than sorting them
_TABLE = 1 << 24  # combinations that are counted in a table rather than sorted
_RANDOM_BITS = 24  # fewer would leave many rows of a group in their order


def narrowest(size: int) -> np.dtype[np.unsignedinteger]:
    """The smallest type that numbers so many cells: with many rows, memory is what takes time."""
    found: np.dtype[np.unsignedinteger] = np.min_scalar_type(max(size - 1, 0))
    return found


def shuffled_cells(counts: Ints, draws: np.random.Generator) -> list[Cells]:
    """The cell of every row on each axis, so many rows for each cell, in random order."""
    at = np.flatnonzero(counts)
    flat = np.repeat(at.astype(narrowest(counts.size)), counts.ravel()[at])
    draws.shuffle(flat)
    cells = np.unravel_index(np.arange(counts.size), counts.shape)
    return [
        each.astype(narrowest(size))[flat] for each, size in zip(cells, counts.shape, strict=True)
    ]


def attached(shared: Cells, counts: Ints, draws: np.random.Generator) -> Cells:
    """A cell of another margin for each row, given the row's cell on the axes both share.

    `counts` has a row for each shared cell and a column for each cell of the new axes; its row sums
    are how many rows have each shared cell. The new cells are dealt to those rows in random order,
    so that given the shared cell the rest are independent: the table of largest entropy.
    """
    kind = narrowest(counts.shape[1])
    found = np.empty(len(shared), kind)
    if counts.shape[0] <= _FEW_GROUPS:
        every = np.arange(counts.shape[1], dtype=kind)
        for group, here in enumerate(counts):
            dealt = np.repeat(every, here)
            draws.shuffle(dealt)
            found[shared == group] = dealt
        return found
    order = _grouped(shared, counts.shape[0], draws)
    at = np.flatnonzero(counts)  # sorted by shared cell
    found[order] = np.repeat((at % counts.shape[1]).astype(kind), counts.ravel()[at])
    return found


def _grouped(shared: Cells, groups: int, draws: np.random.Generator) -> Ints:
    """The rows group by group, in random order within each."""
    index = max(len(shared) - 1, 1).bit_length()
    random = 64 - index - max(groups - 1, 1).bit_length()
    if random < _RANDOM_BITS:
        order = draws.permutation(len(shared))
        return order[np.argsort(shared[order], kind="stable")]
    # Group, random bits and number in one word: sorting words is quicker than sorting by words.
    words = draws.integers(0, 1 << random, len(shared), dtype=np.uint64) << np.uint64(index)
    words |= shared.astype(np.uint64) << np.uint64(64 - max(groups - 1, 1).bit_length())
    words |= np.arange(len(shared), dtype=np.uint64)
    words.sort()
    words &= np.uint64((1 << index) - 1)
    return words.astype(np.int64)


def alone(columns: list[Cells], sizes: list[int]) -> int:
    """How many rows have a combination of cells that no other row has."""
    if not columns or not len(columns[0]):
        return 0
    code, wide = np.zeros(len(columns[0]), np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if wide * size >= 1 << 62:  # numbered anew, so that the code stays in 64 bits
            known, code = np.unique(code, return_inverse=True)
            wide = len(known)
        code *= size
        code += column
        wide *= size
    if wide <= _TABLE:
        return int((np.bincount(code, minlength=wide) == 1).sum())
    code = np.sort(code)
    new = np.concatenate([[True], code[1:] != code[:-1], [True]])
    return int((new[1:] & new[:-1]).sum())
