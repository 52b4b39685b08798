"""Whole tables with margins near wanted ones: no single move brings them nearer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import trueup as tu
from trueup._kernels.display import margins as module
from trueup._kernels.display.margins import nearer_margins

SETS = {
    2: [(0,), (1,)],
    3: [(0, 1), (1, 2), (0, 2)],
    4: [(0,), (1,), (2,), (3,), (0, 1), (2, 3), (0, 3), (1, 2, 3)],
}


def distance(table: np.ndarray, wanted: np.ndarray, margins: list[tuple[int, ...]]) -> float:
    """The sum of squares over all margins, written out."""
    every = range(table.ndim)
    return sum(
        float(((table - wanted).sum(axis=tuple(set(every) - set(each))) ** 2).sum())
        for each in margins
    )


@pytest.mark.parametrize("looked_at", [3, 1 << 14])
@pytest.mark.parametrize("shape", [(4, 3), (3, 1, 4), (2, 3, 3), (3, 2, 2, 3)])
def test_no_record_can_be_moved_to_bring_the_margins_nearer(
    shape: tuple[int, ...], looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By brute force: every cell, every axis, every other place on it."""
    monkeypatch.setattr(module, "_LOOKED_AT", looked_at)
    rng, margins = np.random.default_rng(1), SETS[len(shape)]
    for mean in (0.2, 3.0):
        wanted = rng.gamma(0.5, mean, shape)
        table = rng.poisson(mean, shape)
        found = nearer_margins(table, wanted, margins)
        assert found.dtype == np.int64
        assert found.min() >= 0
        assert found.sum() == table.sum()
        best = distance(found, wanted, margins)
        assert best <= distance(table, wanted, margins)
        assert (nearer_margins(table, wanted, margins) == found).all()
        for cell in np.argwhere(found > 0).tolist():
            for axis, size in enumerate(shape):
                for to in range(size):
                    other = found.copy()
                    other[tuple(cell)] -= 1
                    other[(*cell[:axis], to, *cell[axis + 1 :])] += 1
                    assert distance(other, wanted, margins) >= best - 1e-9


def test_a_table_without_records_or_of_one_cell_stays() -> None:
    for shape in ((2, 2), (1, 1)):
        none = np.zeros(shape, np.int64)
        assert (nearer_margins(none, none + 5.0, [(0,), (1,)]) == 0).all()


def test_whole_margins_of_sparse_tables_are_as_good_as_those_that_are_not_whole() -> None:
    """Down a hierarchy alone, the roundings of all cells add up in the margins of later axes."""
    rng = np.random.default_rng(3)
    axes = [tu.Axis.integers(f"c{n}", 0, 4) for n in range(5)]
    pairs = list(itertools.combinations([axis.name for axis in axes], 2))
    counts = rng.multinomial(1_000, rng.dirichlet(np.full(5**5, 0.02))).reshape([5] * 5)
    measured = tu.measure(counts, tu.GridCounts(*axes, marginals=pairs), epsilon=100)
    wanted = tu.infer(measured, nonnegative=True)
    whole = tu.infer(measured, nonnegative=True, integers=True)
    far = [np.abs(whole.margin(*pair).counts() - wanted.margin(*pair).counts()) for pair in pairs]
    assert max(each.max() for each in far) < 2.5
    assert np.mean(far) < 0.6
