"""The fused pass with its noise injected, against counting, adding and fitting one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup._kernels.tree import blocks
from trueup._kernels.tree.any_tree import fit
from trueup._kernels.tree.fused import Run, refined, release_prefix
from trueup._kernels.tree.prefix import prefix_on_grid
from trueup._kernels.tree.regular import RegularTree
from trueup.intervaltree import IntervalTree

from .regular_trees import regular_trees


def both_ways(tree: RegularTree, seed: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Prefix sums by the fused pass and by the plain route, the same noise on every node."""
    size, radices, weights = tree.size, tree.radices, tree.weights
    generator = np.random.default_rng(seed)
    shape = IntervalTree.regular(size, radices)
    cells = generator.integers(0, 50, size)
    noises = [generator.integers(-99, 99, shape.length(level)) for level in range(shape.height)]
    finer, origin = refined(radices)
    met = [np.zeros(len(noise), int) for noise in noises]

    def noise(values: np.ndarray, runs: Sequence[Run], span: int) -> None:
        for run in runs:
            level = origin[run.level]
            assert level is not None
            first = run.first + run.step * span
            nodes = slice(first, first + run.end - run.begin)
            values[run.begin : run.end] += noises[level][nodes]
            met[level][nodes] += 1

    weighed = tuple(0.0 if level is None else weights[level] for level in origin)
    found = release_prefix(RegularTree(size, finer, weighed), cells, noise, threads)
    for weight, times in zip(weights, met, strict=True):
        assert (times == (weight > 0)).all()  # every answer is noised once, and no other
    truths = [cells]
    for level in reversed(range(shape.height - 1)):
        truths.append(np.add.reduceat(truths[-1], shape.children(level)[:-1]))
    noisy = np.concatenate([t + n for t, n in zip(reversed(truths), noises, strict=True)])
    lengths = [len(noise) for noise in noises]
    plain = fit(shape.first, noisy, np.repeat(weights, lengths))[-size:]
    return found, prefix_on_grid(plain)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("span", [1, 4, 30, 1 << 15])
@settings(max_examples=40, deadline=None)
@given(tree=regular_trees(most=9), seed=st.integers(0, 2**32))
def test_one_pass_equals_measure_then_infer(
    span: int,
    threads: int,
    tree: RegularTree,
    seed: int,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "SPAN", span)
        found, expected = both_ways(tree, seed, threads)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("size", "radices"),
    [(1 << 17, (2,) * 17), (100_001, (2,) * 17), (70_000, (16,) * 5), (99_999, (99_999,))],
)
def test_one_pass_equals_two_at_full_span(size: int, radices: tuple[int, ...]) -> None:
    weights = tuple(1.0 + level for level in range(len(radices) + 1))
    found, expected = both_ways(RegularTree(size, radices, weights), 3, 2)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_no_number_of_threads_changes_a_bit() -> None:
    tree = RegularTree(300_001, (14, 18, 17, 16, 16), (0.0, 1.0, 2.0, 1.0, 1.0, 3.0))
    expected, _ = both_ways(tree, 6, 1)
    for threads in (2, 3, 7):
        assert np.array_equal(both_ways(tree, 6, threads)[0], expected)


def test_a_small_tree_of_a_wide_reach_needs_little_memory() -> None:
    tree = RegularTree(5, (2,) * 60, (1.0,) * 61)
    found, expected = both_ways(tree, 7, 2)
    assert np.allclose(found, expected, rtol=1e-9)


def test_ranges_of_the_output_add_up_exactly() -> None:
    prefix, _ = both_ways(RegularTree(100_001, (2,) * 17, (1.0,) * 18), 4, 1)
    generator = np.random.default_rng(5)
    a, b, c = np.sort(generator.integers(0, prefix.size, (3, 5000)), axis=0)
    assert ((prefix[b] - prefix[a]) + (prefix[c] - prefix[b]) == prefix[c] - prefix[a]).all()


@pytest.mark.parametrize("where", ["everywhere", "in a span", "in the last block"])
def test_sums_add_up_exactly_wherever_they_are_large(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grid leaves room for sums that grow over all spans, or rise and fall within one."""
    monkeypatch.setattr(blocks, "SPAN", 256)
    size, large = 11 * 256 + 200, 1 << 38
    tree = RegularTree(size, (20, 16, 16), (1.0, 2.0, 3.0, 1.0))
    cells = np.zeros(size, np.int64)
    if where == "everywhere":
        cells[:] = large
    else:
        first, half = (512, 128) if where == "in a span" else (11 * 256, 100)
        cells[first : first + half], cells[first + half : first + 2 * half] = large, -large
    generator = np.random.default_rng(5)

    def noise(values: np.ndarray, runs: Sequence[Run], span: int) -> None:
        for run in runs:
            values[run.begin : run.end] += generator.integers(-9, 10, run.end - run.begin)

    prefix = release_prefix(tree, cells, noise)
    assert np.abs(prefix).max() > 90 * large
    assert not (prefix == np.rint(prefix)).all()
    a, b, c = np.sort(generator.integers(0, prefix.size, (3, 20_000)), axis=0)
    assert ((prefix[b] - prefix[a]) + (prefix[c] - prefix[b]) == prefix[c] - prefix[a]).all()


def test_levels_are_put_in_only_where_they_come_out_even() -> None:
    most = blocks.SPAN
    assert refined((2,) * 20) == ((2,) * 20, tuple(range(21)))
    assert refined((3 * most - 1,)) == ((3, most), (0, None, 1))
    assert refined((2, 4 * most)) == ((2, 4, most), (0, 1, None, 2))
    assert refined((2, 65_537)) == ((2, 65_537), (0, 1, 2))  # a prime
