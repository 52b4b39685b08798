"""Adding up with ==: every sum of differences of prefixes is exact in floating point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from trueup._kernels.tree.prefix import prefix_on_grid

counts = arrays.arrays(
    np.float64, st.integers(1, 40), elements=st.floats(-(2.0**50), 2.0**50, allow_subnormal=False)
)


@given(counts)
def test_prefixes_lie_on_one_binary_grid_of_52_bits(cells):
    prefix = prefix_on_grid(cells)
    largest = np.abs(np.cumsum(cells)).max()
    if largest == 0:
        assert not prefix.any()
        return
    step = Fraction(2) ** (int(np.floor(np.log2(largest))) - 52)
    assert all((Fraction(p) / step).denominator <= 2 for p in prefix)
    assert max(abs(Fraction(p)) / step for p in prefix) <= 2**53


@given(counts, st.data())
def test_every_split_of_every_range_adds_up(cells, data):
    prefix = prefix_on_grid(cells)
    ends = st.integers(0, len(cells))
    a, b, c = sorted(data.draw(st.tuples(ends, ends, ends)))
    assert (prefix[b] - prefix[a]) + (prefix[c] - prefix[b]) == prefix[c] - prefix[a]
    parts = np.diff(prefix)[a:c]
    assert parts.sum() == parts[::-1].sum() == prefix[c] - prefix[a]


@given(counts)
def test_rounding_moves_no_prefix_by_more_than_half_a_step(cells):
    exact = np.concatenate([[0.0], np.cumsum(cells)])
    step = 2.0**-51 * np.abs(exact).max()
    finest = 2.0**-1000  # no grid is finer
    assert (np.abs(prefix_on_grid(cells) - exact) <= max(step, finest / 2)).all()


@given(arrays.arrays(np.int64, st.integers(1, 40), elements=st.integers(-(2**46), 2**46)))
def test_whole_counts_stay_as_they_are(cells):
    assert prefix_on_grid(cells).tolist() == [0, *np.cumsum(cells).tolist()]


def test_running_sums_of_the_differences_give_the_prefixes_back():
    rng = np.random.default_rng(3)
    for scale in (1e-9, 1.0, 1e15):
        prefix = prefix_on_grid(rng.normal(1, 5, 5_000) * scale)
        assert np.array_equal(np.cumsum(np.diff(prefix)), prefix[1:])


def test_totals_of_every_size_reach_the_grid():
    # Powers of two and their neighbours are where a rounded logarithm would be off by one.
    for exponent in range(-300, 60):
        power = 2.0**exponent
        for total in (power, np.nextafter(power, 0), np.nextafter(power, 2 * power)):
            prefix = prefix_on_grid([total, -total / 3, total / 7])
            assert abs(prefix[1] - total) <= 2.0**-52 * total
            assert all((p / (power * 2.0**-53)).is_integer() for p in prefix)
            assert (prefix[1] - prefix[2]) + (prefix[2] - prefix[3]) == prefix[1] - prefix[3]
