"""Running sums in blocks against numpy's one run over all numbers."""

from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.tree import prefix
from trueup._kernels.tree.binary_grid import grid_for
from trueup._kernels.tree.prefix import prefix_on_grid
from trueup._kernels.tree.running_sums import RunningSums, sum_blocks_on_grid

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


def in_parts(values: np.ndarray, block: int, part: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Running sums of numbers that come `part` at a time, their blocks' steps, and the largest."""
    values, sums, steps = values.copy(), RunningSums(block, 2), []
    for begin in range(0, len(values), part):
        steps.append(sums.add(values[begin : begin + part]))
    return values, np.concatenate(steps), sums.largest


@pytest.mark.parametrize("scale", [1.0, 1e9])
def test_parts_of_any_size_give_the_same_bits(scale: float) -> None:
    block = 64
    values = scale * np.random.default_rng(7).normal(1 / 3, 1, 40 * block + 11)
    values[len(values) // 2 :] *= -1  # the largest sum is in the middle
    sums, steps, largest = in_parts(values, block, len(values))
    assert np.count_nonzero(steps) > 20  # these numbers round, one by one not as in blocks
    for blocks in (1, 2, 3, 7, 39, 40):
        parts, moved, most = in_parts(values, block, blocks * block)
        assert np.array_equal(parts, sums)
        assert np.array_equal(moved, steps)
        assert most == largest


def test_no_moved_sum_is_larger_than_the_largest() -> None:
    """Nearly 2⁵⁴ floats lie 4 apart: 3 more is 4 more one by one, but not in a block's total."""
    block = 32
    for sign in (1.0, -1.0):
        values = np.full(20 * block, 3.0 * sign)
        values[0] = sign * 2.0**54
        values[-block:] = 0.0
        for part in (block, len(values)):
            sums, steps, largest = in_parts(values, block, part)
            assert (sign * steps[1:] > 0).all()
            moved = np.abs(sums + np.repeat(steps, block))
            assert moved.max() <= largest <= moved.max() + 2 * np.abs(steps).max()


@pytest.mark.parametrize("power", [-60, -10, 30])
def test_numbers_in_another_unit_have_the_same_sums_in_that_unit(power: int) -> None:
    values = np.random.default_rng(8).normal(0, 1, 1_000)
    unit = 2.0**power
    sums, steps, largest = in_parts(values, 64, 128)
    scaled, moved, most = in_parts(values * unit, 64, 128)
    assert np.array_equal(scaled, sums * unit)
    assert np.array_equal(moved, steps * unit)
    assert most == largest * unit
    assert most >= np.abs(np.cumsum(values)).max() * unit * (1 - 1e-12)
    one, other = values[:50].copy(), values[:50] * unit
    sum_blocks_on_grid(one, 64, 1)
    sum_blocks_on_grid(other, 64, 1)
    assert np.array_equal(other, one * unit)
