"""Running sums in blocks against numpy's one run over all numbers."""

from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.tree import prefix
from trueup._kernels.tree.binary_grid import grid_for
from trueup._kernels.tree.prefix import prefix_on_grid
from trueup._kernels.tree.running_sums import sum_blocks_on_grid

SIZE = (1 << 18) + 77


def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    steps = np.repeat(rng.normal(0, 1, SIZE // 16 + 1), 16)[:SIZE]
    return {
        "counts": rng.poisson(3, SIZE) + rng.normal(0, 1, SIZE),
        "counts that share their fractions": rng.integers(-50, 100, SIZE) + steps,
        "steep": np.exp(rng.normal(0, 6, SIZE)),
        "thirds": np.full(SIZE, 1 / 3),
        "falling": -rng.random(SIZE),
        "quarters": rng.integers(-50, 100, SIZE) / 4,
    }


def in_one_run(values: np.ndarray) -> np.ndarray:
    sums = np.cumsum(values)
    return prefix.on_grid(sums, float(np.abs(sums).max()))


@pytest.mark.parametrize("name", columns())
def test_sums_are_those_of_one_run_within_two_units_of_the_grid(name: str) -> None:
    values = columns()[name]
    expected = in_one_run(values)
    unit = 1 / grid_for(float(np.abs(expected).max()))
    values = values.copy()
    sum_blocks_on_grid(values, prefix.BLOCK, 2)
    assert np.abs(values - expected).max() <= 2 * unit
    if name == "quarters":
        assert np.array_equal(values, expected)


@pytest.mark.parametrize("name", columns())
def test_no_number_of_threads_changes_a_bit(name: str) -> None:
    found = []
    for threads in (1, 2, 3, 8):
        values = columns()[name].copy()
        sum_blocks_on_grid(values, 1 << 10, threads)
        found.append(values)
    assert all(np.array_equal(values, found[0]) for values in found)


@pytest.mark.parametrize("size", [1, 2, 1000, (1 << 15) - 1, 1 << 15])
def test_one_block_gives_the_bits_of_plain_numpy(size: int) -> None:
    values = np.random.default_rng(size).normal(3, 9, size)
    expected = prefix_on_grid(values)[1:]
    sum_blocks_on_grid(values, 1 << 15, 2)
    assert np.array_equal(values, expected)


def test_ranges_across_blocks_add_up_exactly() -> None:
    sums = prefix_on_grid(columns()["counts"])
    a, b, c = np.sort(np.random.default_rng(5).integers(0, sums.size, (3, 5000)), axis=0)
    assert ((sums[b] - sums[a]) + (sums[c] - sums[b]) == sums[c] - sums[a]).all()
