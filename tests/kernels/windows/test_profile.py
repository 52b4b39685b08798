"""The weights of windows: against their definition, written out."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from trueup._kernels.windows.profile import SCALE, bits_of, profile_of

SIZES = [1, 2, 3, 5, 8, 16, 33, 100]
ENDS = [-1, 1]


def written_out(profile):
    """Every weight as a whole number, from f and s alone."""
    n, end, f = profile.size, profile.end, profile.by_distance.tolist()
    s = profile.by_cell.tolist()

    def at(m):
        return f[m] if m <= n else -end * f[2 * n - m]

    cells = range(1, n + 1)
    return np.array(
        [[(at(abs(i - j)) + end * at(i + j - 1)) * s[j - 1] for j in cells] for i in cells], object
    )


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("size", SIZES)
def test_columns_are_as_long_as_each_other_and_no_weight_is_negative(size, end):
    profile = profile_of(size, end)
    rows = written_out(profile)
    np.testing.assert_array_equal(profile.matrix(), rows.astype(np.int64))
    assert rows.min() >= 0
    assert profile.squares.tolist() == (rows**2).sum(axis=0).tolist()
    assert profile.sums.tolist() == rows.sum(axis=0).tolist()
    assert profile.squares.min() > profile.squares.max() * (1 - 2 / SCALE)
    assert profile.by_cell.min() == SCALE


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("size", SIZES)
def test_windows_of_any_64_bits_are_exact(size, end):
    profile = profile_of(size, end)
    cells = np.random.default_rng(size).integers(-(2**63), 2**63 - 1, size)
    exact = written_out(profile).dot(cells.astype(object)).reshape(size)
    expected = np.array([value % 2**64 for value in exact], np.uint64).view(np.int64)
    np.testing.assert_array_equal(profile.windows(cells * profile.by_cell), expected)


@pytest.mark.parametrize("end", ENDS)
def test_weights_fall_as_the_root_of_a_root_does(end):
    profile = profile_of(1024, end)
    f = profile.by_distance
    assert f[0] == 4095
    assert f[-1] == 0
    assert (np.diff(f) <= 0).all()
    # On an endless axis they are Γ(m + ¼)/Γ(m + ¾), up to what the ends add, the same for all.
    law = np.array([math.exp(math.lgamma(m + 0.25) - math.lgamma(m + 0.75)) for m in range(1, 20)])
    fell = (f[1] - f[1:20]) / (f[1] - f[19])
    np.testing.assert_allclose(fell, (law[0] - law) / (law[0] - law[-1]), atol=0.003)
    assert [bits_of(n) for n in (1, 65_536, 65_537, 1 << 18, 1 << 20)] == [12, 12, 13, 13, 14]


def test_every_machine_has_the_same_weights():
    # A measurement is read back by whoever has its file: these must never change.
    parts = [profile_of(n, end) for n in (7, 365, 4096) for end in ENDS]
    data = b"".join(p.by_distance.tobytes() + p.by_cell.tobytes() for p in parts)
    told = "03f62b27bf902c4689c31866458518e737a9dd00e10c0d61e48f33146d3d69b7"
    assert hashlib.sha256(data).hexdigest() == told
