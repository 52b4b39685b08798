"""An examination: all that is tried counts, and our own measurements stand."""

from __future__ import annotations

from typing import Any

import numpy as np

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
