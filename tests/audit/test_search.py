"""Neighbours one record apart, and the pair of them that tells most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trueup.audit import (
    Claim,
    Effort,
    Target,
    examine,
    neighbours_of_counts,
    neighbours_of_records,
)
from trueup.errors import InputError


def test_neighbours_are_one_record_apart() -> None:
    for pair in neighbours_of_counts([2, 0, 5]):
        assert abs(np.subtract(pair.second, pair.first)).sum() == 1
        assert min(pair.second) >= 0
    for pair in neighbours_of_counts([2, 0, 5], "replace"):
        assert sorted(np.subtract(pair.second, pair.first).tolist()) == [-1, 0, 1]
    for pair in neighbours_of_records(["a", "b", "c"]):
        assert len(pair.first) - len(pair.second) == 1
    for pair in neighbours_of_records(["a", "b", "c"], "replace"):
        assert sum(a != b for a, b in zip(pair.first, pair.second, strict=True)) == 1


def test_the_pair_that_tells_is_found_among_many() -> None:
    """A mechanism that forgets the noise of one cell alone."""
    rng = np.random.default_rng(5)

    def forgets(counts: Any, times: int) -> np.ndarray:
        noise = rng.laplace(0, 1, (times, len(counts)))
        noise[:, 3] = rng.laplace(0, 0.1, times)
        return np.asarray(counts) + noise

    found = examine(Target("x", forgets), neighbours_of_counts([5] * 6), Claim.of(1), Effort(5000))
    assert "cell 3" in found.pair.words
    assert not found.passed


def test_no_records_at_all_are_a_base_too_and_the_ends_are_tried() -> None:
    pairs = neighbours_of_counts([5] * 100)
    assert [0] * 100 in [pair.first for pair in pairs]
    moved = {int(np.flatnonzero(np.subtract(pair.second, pair.first))[0]) for pair in pairs}
    assert {0, 99} <= moved
    assert len(pairs) <= 24
    for pair in pairs:
        more = sum(pair.second) > sum(pair.first)
        assert ("one more" if more else "one less") in pair.words


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: neighbours_of_counts([]),
        lambda: neighbours_of_counts([-1, 2]),
        lambda: neighbours_of_counts([0, 0], "replace"),
        lambda: neighbours_of_counts([7], "replace"),
        lambda: neighbours_of_records([]),
        lambda: neighbours_of_records(["a", "a"], "replace"),
    ],
)
def test_what_has_no_neighbour_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        wrong()
