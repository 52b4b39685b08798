"""The budget of a ledger: what was said, what is kept, and what is told of them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from trueup.budget import Balance, Budget, advised
from trueup.cost import Cost
from trueup.errors import InputError


def said(*given: object, **more: object) -> Budget:
    found = Budget.said(*given, **more)
    assert found is not None
    return found


def test_a_ledger_counts_epsilon_or_rho() -> None:
    assert said(1).made == Budget("epsilon", Fraction(1), Fraction(0))
    assert said(rho="1/2").made == Budget("rho", Fraction(1, 2), Fraction(0), Fraction(1, 10**6))
    assert Budget.said() is None
    with pytest.raises(InputError, match="not both"):
        Budget.said(1, rho=1)
    for alone in ({"delta_limit": "1e-9"}, {"shown_at_delta": "1e-9"}):
        with pytest.raises(InputError, match="go with limit= or rho="):
            Budget.said(**alone)
    with pytest.raises(InputError, match="goes with rho="):
        Budget.said(1, shown_at_delta="1e-9")
    for wrong in ({"delta_limit": 1}, {"delta_limit": -1}, {"shown_at_delta": 0}, {"rho": 0}):
        with pytest.raises(InputError):
            Budget.said(**{"rho": 1} | wrong)


@pytest.mark.parametrize(
    "budget",
    [
        said(1),
        said("1/3", delta_limit="1e-9"),
        said(rho="1/2"),
        said(rho=2, delta_limit="1e-9", shown_at_delta="1e-10"),
    ],
)
def test_budget_are_read_back_as_they_were_written(budget: Budget) -> None:
    made = budget.made
    assert Budget.from_json(made.to_json(), made.plain) == made
    assert budget.are(made)
    assert made.plain == (made.notion == "epsilon" and not made.delta_limit)


def test_what_was_not_said_is_not_compared() -> None:
    made = said(rho=2, delta_limit="1e-9", shown_at_delta="1e-10").made
    assert said(rho=2).are(made)
    assert said(rho=2, delta_limit="1e-9").are(made)
    for other in (
        said(2),
        said(rho=1),
        said(rho=2, delta_limit=0),
        said(rho=2, shown_at_delta=0.1),
    ):
        assert not other.are(made)
    assert str(made) == "rho 2, delta_limit 1/1000000000, shown_at_delta 1/10000000000"
    assert str(said(1).made) == "limit 1"


def test_a_balance_is_told_with_what_rho_means() -> None:
    spent = Cost.of(rho="1/8", delta="1e-9")
    now = Balance(Cost.of(rho="1/2", delta="1e-8"), spent, Fraction(1, 10**6))
    assert now.remaining == Cost.of(rho="3/8", delta="9e-9")
    assert now.words == (
        "ρ: 1/8 of 1/2 spent, 3/8 left; δ: 1e-9 of 1e-8 spent; "
        f"spent as (ε, δ): {spent.shown_at('1e-6').rounded}"
    )
    assert "δ = 1.001e-6" in now.words
    plain = Balance(Cost.of(1), Cost.of("3/10"))
    assert plain.words == "3/10 of 1 spent, 7/10 left"


@pytest.mark.parametrize("left", [Fraction(1, 8), Fraction(1, 3), Fraction(7, 10**12), Fraction(9)])
def test_the_epsilon_advised_can_be_asked(left: Fraction) -> None:
    words = advised(left, "rho", "epsilon")
    epsilon = Fraction(words.rpartition(" ")[2].rstrip("."))
    assert 0 < epsilon * epsilon / 2 <= left
    assert (epsilon * Fraction(1001, 1000)) ** 2 / 2 > left
    assert advised(left, "rho", "rho") == f"Ask with rho <= {left}."
