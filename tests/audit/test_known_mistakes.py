"""The audit finds again what others got wrong, and lets the same pass where it is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trueup.audit import (
    Claim,
    Effort,
    Examination,
    Pair,
    Target,
    examine,
    neighbours_of_counts,
)

from . import known_mistakes as models

LEAVES = [3, 0, 1, 5, 2, 2, 0, 7, 1, 1, 0, 0, 4, 0, 2, 1]
# Noisy max: a record that adds to all counts but the first; neighbours of one count show less.
VOTES = [Pair([4, 4, 4, 4], [4, 5, 5, 5], "a record that votes for three")]
GROUPS = neighbours_of_counts([0, 3], "add-remove")

CASES: dict[str, tuple[Callable[..., Any], list[Pair], Claim, dict[str, Any]]] = {
    "tree": (models.tree, neighbours_of_counts(LEAVES)[:6], Claim.of(rho="0.5"), {}),
    "noisy max": (models.noisy_max, VOTES, Claim.of(1), {}),
    "threshold": (models.threshold, GROUPS, Claim.of(1, "1e-4"), {}),
    "sampler": (models.biased_sampler, [Pair(10, 11, "one more")], Claim.of("1/4"), {"scale": 4}),
    "float": (models.float_laplace, [Pair(0, 1, "one more")], Claim.of(1), {}),
}


def examined(name: str, seed: int, right: bool, draws: int) -> Examination:
    model, pairs, claim, declared = CASES[name]
    target = Target(name, model(seed, right=right))
    return examine(target, pairs, claim, Effort(draws, **declared))


@pytest.mark.parametrize("name", CASES)
def test_a_known_mistake_is_found_again(name: str) -> None:
    found = examined(name, 1, right=False, draws=40_000)
    assert not found.passed, found.verdict
    assert "FALSE" in found.verdict


@pytest.mark.parametrize("name", CASES)
def test_the_same_done_right_is_let_pass(name: str) -> None:
    """Ten runs of each at confidence 1 − 10⁻⁶; `bench/audit_full.py` makes a thousand."""
    for seed in range(10):
        found = examined(name, seed, right=True, draws=3_000)
        assert found.passed, found.verdict
