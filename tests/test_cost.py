"""Costs add up exactly, and the (ε, δ) shown for a ρ is never below the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.cost import (
    Cost,
    check_delta,
    check_notion,
    epsilon_of,
    largest_epsilon,
    rho_within,
    short,
)
from trueup.errors import InputError


def test_a_cost_is_epsilon_or_rho_and_not_both() -> None:
    assert Cost.of(0.1) == Cost("epsilon", Fraction(1, 10))
    assert Cost.of(rho="1/200", delta="1e-9") == Cost("rho", Fraction(1, 200), Fraction(1, 10**9))
    assert Cost.of(rho=2).epsilon is None
    assert Cost.of(2).rho is None
    assert Cost.of(Cost.of(rho=2)) == Cost.of(rho=2)
    with pytest.raises(InputError, match="one of the two; got both"):
        Cost.of(1, rho=1)
    with pytest.raises(InputError, match="one of the two; got neither"):
        Cost.of()
    for wrong in (0, -1, True, float("nan"), "much"):
        with pytest.raises(InputError, match="rho"):
            Cost.of(rho=wrong)
    for wrong in (-1, 1, 2, True, "x"):
        with pytest.raises(InputError, match="delta"):
            check_delta(wrong)
    with pytest.raises(InputError, match="epsilon or in rho"):
        check_notion("sigma")


@given(st.fractions(Fraction(1, 10**9), 10**6))
def test_a_pure_epsilon_costs_half_its_square_in_rho(epsilon: Fraction) -> None:
    assert Cost.of(epsilon).counted_in("rho") == Cost("rho", epsilon * epsilon / 2)
    assert Cost.of(epsilon).counted_in("epsilon").amount == epsilon


def test_rho_has_no_epsilon() -> None:
    with pytest.raises(InputError, match=r"no finite epsilon.*Ledger\(path, rho"):
        Cost.of(rho=1).counted_in("epsilon")


def test_costs_of_one_notion_add_up_with_their_deltas() -> None:
    tiny = Cost.of(rho=Fraction(1, 10**30), delta="1e-30")
    assert Cost.of(rho=1, delta="1/8") + tiny == Cost(
        "rho", 1 + Fraction(1, 10**30), Fraction(1, 8) + Fraction(1, 10**30)
    )
    assert Cost.nothing("rho") + tiny == tiny
    with pytest.raises(InputError, match="do not add up"):
        Cost.of(1) + tiny


def test_words() -> None:
    assert str(Cost.of("1/3")) == "ε = 1/3"
    assert str(Cost.of(rho="0.0244", delta="1e-6")) == "ρ = 0.0244, δ = 1e-6"
    assert str(Cost.of(rho="1/200")) == "ρ = 0.005"
    assert str(Cost.of(rho=Fraction(1, 3) ** 20)) == "ρ = 2.868e-10"
    assert short(Fraction(123456)) == "123500"
    assert short(Fraction(1, 12345678)) == "8.101e-8"


# The conversion, against mpmath at 40 digits.


def log_delta(rho: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """ln δ(ε), least over all α > 1 (Canonne, Kamath, Steinke): a convex function of α.

    Its derivative (2α − 1)ρ − ε + ln(1 − 1/α) rises with α; where it is 0 is found by halving.
    """
    r, e = (mpmath.mpf(x.numerator) / x.denominator for x in (rho, epsilon))
    low, high = mpmath.mpf(-160), mpmath.mpf(160)  # of ln(α − 1)
    for _ in range(140):
        middle = (low + high) / 2
        b = mpmath.exp(middle)
        if (2 * b + 1) * r - e + mpmath.log(b) - mpmath.log1p(b) > 0:
            high = middle
        else:
            low = middle
    a = 1 + b
    return b * (a * r - e) - mpmath.log(b) + a * (mpmath.log(b) - mpmath.log1p(b))


CASES = [
    ("1/2", "1e-6"),
    ("0.0244", "1e-6"),
    ("0.0000001", "1e-9"),
    ("1e-30", "1e-6"),
    ("2.63", "1e-10"),
    ("1000", "1e-5"),
    ("1e12", "1e-40"),
    ("1/3", "0.9"),
    ("1e-3", "0.49"),
    ("7", "1e-90"),
]


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_the_epsilon_shown_is_the_least_one_rounded_up(rho: str, delta: str) -> None:
    r, d = Fraction(rho), Fraction(delta)
    found = epsilon_of(r, d, digits=15)
    with mpmath.workdps(40):
        allowed = mpmath.log(mpmath.mpf(d.numerator) / d.denominator)
        for shown in (found, epsilon_of(r, d), epsilon_of(r, d, digits=1)):
            assert log_delta(r, shown) <= allowed  # it holds
        if found:
            assert log_delta(r, found * (1 - Fraction(1, 10**11))) > allowed  # nothing less does
    assert found <= epsilon_of(r, d) <= found * (1 + Fraction(1, 999))


@pytest.mark.parametrize("rho", ["1/1000", "1/8", "3"])
def test_no_order_of_a_fine_grid_shows_less(rho: str) -> None:
    r = Fraction(rho)
    found = epsilon_of(r, Fraction(1, 10**6), digits=12)
    for k in range(-2000, 3000):
        b = 10 ** (k / 1000)
        order = float(r) * (1 + b) + (math.log(1e6) - math.log1p(b)) / b + math.log(b / (1 + b))
        assert found <= order * (1 + 1e-11)


def test_what_is_shown_adds_the_delta_that_was_spent() -> None:
    cost = Cost.of(rho="1/2", delta="1e-7")
    shown = cost.shown_at("1e-6")
    assert shown.epsilon == epsilon_of(Fraction(1, 2), Fraction(1, 10**6))
    assert shown.delta == Fraction(11, 10**7)
    assert Cost.of(1, delta="1e-7").shown_at() == Cost.of(1, delta="1e-7")
    assert Cost("rho", Fraction(0), Fraction(1, 10)).shown_at() == Cost(
        "epsilon", Fraction(0), Fraction(1, 10)
    )
    for wrong in (0, -1):
        with pytest.raises(InputError, match="shown_at_delta"):
            cost.shown_at(wrong)
    with pytest.raises(InputError, match="between 0 and 1"):
        epsilon_of(Fraction(1), Fraction(2))


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/10", "1e-9"), ("8", "1e-10")])
def test_the_rho_within_an_epsilon_is_the_largest_of_four_digits(epsilon: str, delta: str) -> None:
    wish, at = Fraction(epsilon), Fraction(delta)
    rho = rho_within(wish, at)
    assert epsilon_of(rho, at, 15) <= wish
    assert epsilon_of(rho * Fraction(1001, 1000), at, 15) > wish


@pytest.mark.parametrize("rho", [Fraction(1, 8), Fraction(1, 3), Fraction(7, 10**12), Fraction(9)])
def test_the_largest_epsilon_that_a_rho_pays_for(rho: Fraction) -> None:
    epsilon = largest_epsilon(rho)
    assert epsilon**2 / 2 <= rho < (epsilon * Fraction(1002, 1000)) ** 2 / 2


def test_a_cost_has_its_delta_in_itself() -> None:
    """Else a delta that was said beside a cost would be spent and not counted."""
    for cost in (Cost.of(1), Cost.of(rho=1), Cost.of(1, delta="1e-6")):
        assert Cost.of(cost) is cost
        with pytest.raises(InputError, match="goes into the cost"):
            Cost.of(cost, delta="1e-6")
