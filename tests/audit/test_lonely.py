"""An audit of δ passes what is right and catches what is too small."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.audit import audit_delta, shown_alone
from trueup.errors import InputError
from trueup.keys import KeyTerms

ASKED = tu.KeyCounts(tu.Universe.bytes(100), keys_per_unit=4)
COSTS = {
    "epsilon": tu.Cost.of(1, delta="1/100"),
    "rho": tu.Cost.of(rho="1/8", delta="1/100"),
}


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_our_delta_holds_and_is_nearly_used_up(cost: str, neighbours: str) -> None:
    terms = KeyTerms.of(ASKED, COSTS[cost], neighbours, "user")  # type: ignore[arg-type]
    keys = 4 * (2 if neighbours == "replace" else 1)
    found = audit_delta(shown_alone(terms), "1/100", keys, 50_000)
    assert found.holds, str(found)
    assert found.betrayed > 50  # it is no audit of nothing


@pytest.mark.parametrize("cost", COSTS)
def test_a_threshold_that_forgets_how_many_keys_a_unit_has_is_caught(cost: str) -> None:
    """The mistake of another library: δ is spent on each key of a unit, not on all of them."""
    honest = KeyTerms.of(ASKED, COSTS[cost], "add-remove", "user")
    wrong = replace(honest, cost=replace(honest.cost, delta=4 * honest.cost.delta))
    if cost == "epsilon":
        assert wrong.threshold < honest.threshold
    found = audit_delta(shown_alone(wrong), "1/100", 4, 100_000)
    assert not found.holds
    assert "too small" in str(found)


def test_a_threshold_off_by_one_is_caught() -> None:
    honest = KeyTerms.of(ASKED, COSTS["epsilon"], "add-remove", "user")
    rng = np.random.default_rng(2)
    chance = 1.35 * float(honest.delta_of_a_key)  # one step lower: e^(0.3) more often
    assert not audit_delta(lambda keys: rng.random(keys) < chance, "1/100", 4, 200_000).holds


def test_nothing_shown_proves_nothing() -> None:
    found = audit_delta(lambda keys: np.zeros(keys, bool), 0, 3, 10)
    assert (found.least, found.delta, found.holds) == (0.0, Fraction(0), True)


def test_what_cannot_be_audited_is_refused() -> None:
    with pytest.raises(InputError, match="delta"):
        shown_alone(KeyTerms.of(ASKED, 1, "add-remove", "user"))
    with pytest.raises(InputError):
        audit_delta(lambda keys: np.zeros(1, bool), "1/10", 2, 10)
    with pytest.raises(InputError):
        audit_delta(lambda keys: np.zeros(keys, bool), "1/10", 0, 10)
