"""Claims, and what chances of one event prove about them."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.audit import (
    Claim,
)
from trueup.audit.claim import _divergences
from trueup.errors import InputError


def test_divergences_are_renyis() -> None:
    from mpmath import log, mp

    mp.dps = 40
    p, q = 0.3, 0.1
    for order, found in _divergences(np.array([p]), np.array([q])):
        if order == 1:
            expected = p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))
        else:
            expected = log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order))
            expected /= order - 1
        assert found[0] == pytest.approx(float(expected))


@pytest.mark.parametrize("wrong", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": 1, "delta": 1}])
def test_a_claim_that_is_none_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Claim.of(**wrong)


@pytest.mark.parametrize(("least", "most"), [(0.5, 0.1), (0.9, 0.01), (1.0, 0.3), (0.2, 0.2)])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_epsilon_is_the_least_that_allows_the_chances(
    least: float, most: float, delta: float
) -> None:
    claim = Claim.of(1, delta)
    proved = claim.proved(least, most)
    assert least <= np.exp(proved) * most + delta + 1e-12
    if proved:
        assert least > np.exp(0.999 * proved) * most + delta
    assert claim.proved(most, least) == 0


@pytest.mark.parametrize("notion", ["epsilon", "rho"])
def test_independent_events_of_one_side_prove_what_their_product_proves(notion: str) -> None:
    """Three coins, each heads with chance p or q: together they are one event of p³ or q³."""
    p, q = 0.6, 0.3
    claim = Claim.of(1) if notion == "epsilon" else Claim.of(rho=1)
    together = claim.together([(p, q, False)] * 3)
    if notion == "epsilon":
        assert together == pytest.approx(claim.proved(p**3, q**3))
    else:
        orders = [order for order, _ in _divergences(np.array([p]), np.array([q]))]
        each = [
            np.log(p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)) / (a - 1) / a
            for a in orders
            if a > 1
        ]
        assert together == pytest.approx(3 * max(each), rel=1e-3)
    mixed = claim.together([(p, q, False), (p, q, True)])
    assert mixed == pytest.approx(claim.proved(p, q))
    assert Claim.of(1, "1e-6").together([(p, q, False)] * 3) == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rho": 1, "delta": "1e-6"}, "rho has no delta"),
        ({"epsilon": 1, "delta": -1}, "at least 0 and below 1"),
        ({"epsilon": 0}, "positive"),
        ({"rho": -1}, "positive"),
    ],
)
def test_a_number_that_claims_nothing_is_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Claim.of(**wrong)
