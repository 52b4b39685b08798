"""An examination: all that is tried counts, and our own measurements stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.audit import (
    Claim,
    Effort,
    Pair,
    Target,
    examine,
    neighbours_of_counts,
    of_object,
)
from trueup.errors import InputError


def test_a_number_of_outputs_that_a_record_changes_is_caught() -> None:
    found = examine(
        Target("x", lambda x, n: np.zeros((n, x))), [Pair(1, 2, "more")], Claim.of(1), Effort(100)
    )
    assert not found.passed
    assert "as many outputs" in found.verdict


def test_our_own_measurements_stand() -> None:
    def ours(counts: Any) -> Any:
        return tu.measure(counts, tu.TreeCounts(4, branching=2), 1)

    pairs = neighbours_of_counts([2, 0, 10, 2])[:4]
    assert examine(of_object(ours, "trueup"), pairs, Claim.of(1), Effort(300, scale=3)).passed


def test_what_is_declared_is_a_number_as_it_is_typed_and_checked_at_once() -> None:
    assert Effort(sensitivity="1/2").allowed == 0.5
    assert Effort(sensitivity=2**0.5).allowed == 2**0.5
    for wrong in ("many", 0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InputError, match="sensitivity"):
            Effort(sensitivity=wrong)
        with pytest.raises(InputError, match="scale"):
            Effort(scale=wrong)


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_what_is_no_number_on_one_side_alone_has_moved(odd: float) -> None:
    """On both sides alike it has not."""

    def told(given: Any) -> Any:
        return np.array([odd, given])

    def hidden(given: Any) -> Any:
        return np.array([odd if given else 0.0, 0.0])

    def moved(mechanism: Any) -> Any:
        target = of_object(mechanism, "x")
        found = examine(target, [Pair(0, 1, "one")], Claim.of(9), Effort(20, sensitivity=1))
        return found.findings[-1]

    assert moved(told).passed
    assert "moved by 1 (one)" in moved(told).result
    assert moved(hidden).passed is False
