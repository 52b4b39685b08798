"""Noise and threshold follow from the question, the cost and whom it protects."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import dlaplace

import trueup as tu
from trueup.errors import InputError
from trueup.keys import KeyCounts, KeyTerms

NUMBERS = tu.Universe.integers()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("keys", [1, 3])
def test_the_shares_of_a_unit_add_up_to_epsilon(neighbours: str, keys: int) -> None:
    """A unit moves counts, total and number by its keys each, twice that if it is replaced."""
    epsilon = Fraction(3, 7)
    asked = KeyCounts(NUMBERS, keys_per_unit=keys, total="1/10", number="1/5")
    terms = KeyTerms.of(asked, epsilon, neighbours, "user")  # type: ignore[arg-type]
    moved = keys * (2 if neighbours == "replace" else 1)
    scales = terms.count_scale, terms.total_scale, terms.number_scale
    assert sum(moved / scale for scale in scales) == epsilon  # type: ignore[operator]


def test_what_is_not_asked_costs_nothing() -> None:
    terms = KeyTerms.of(KeyCounts(NUMBERS, total=0), 1)
    assert (terms.count_scale, terms.total_scale, terms.number_scale) == (1, None, None)
    assert terms.threshold == 45
    assert terms.false_keys <= 1


def test_the_number_of_keys_of_a_unit_is_that_of_the_question_or_else_of_the_owner() -> None:
    assert KeyTerms.of(KeyCounts(NUMBERS), 1, unit="user", rows_per_unit=4).keys_per_unit == 4
    asked = KeyCounts(NUMBERS, keys_per_unit=2)
    assert KeyTerms.of(asked, 1, unit="user", rows_per_unit=4).keys_per_unit == 2
    with pytest.raises(InputError, match="A row has one key"):
        KeyTerms.of(asked, 1)
    with pytest.raises(InputError):
        KeyTerms.of(KeyCounts(NUMBERS), 1, unit="user")


def test_a_quote_says_the_threshold_and_where_long_keys_belong() -> None:
    said = KeyTerms.of(KeyCounts(tu.Universe.bytes(64), total=0), 1).lines()
    assert "at least 355" in said["threshold"]
    assert "prefixes" in said["advice"]
    assert "advice" not in KeyTerms.of(KeyCounts(NUMBERS), 1).lines()
    assert "prefixes" not in str(KeyTerms.of(KeyCounts(tu.Universe.bytes(11)), 1).lines())


def test_terms_are_written_and_read_and_no_other_threshold_is_taken() -> None:
    asked = KeyCounts(NUMBERS, keys_per_unit=2, number="1/5")
    terms = KeyTerms.of(asked, "1/3", "replace", "user")
    said = terms.to_json()
    assert KeyTerms.from_json(said) == terms
    for name, other in (("threshold", terms.threshold - 1), ("scale", "1"), ("epsilon", "1/2")):
        with pytest.raises(InputError):
            KeyTerms.from_json({**said, name: other})


@pytest.mark.parametrize("epsilon", [10**5, "1/1000000000000", 0, None])
def test_noise_that_cannot_be_drawn_is_refused(epsilon: object) -> None:
    with pytest.raises(InputError):
        KeyTerms.of(KeyCounts(NUMBERS), epsilon)


@pytest.mark.parametrize("cost", [tu.Cost.of(1), tu.Cost.of(rho=1, delta="1e-6")])
@pytest.mark.parametrize("small", ["counts", "total", "number"])
def test_one_share_that_cannot_be_drawn_is_enough(cost: tu.Cost, small: str) -> None:
    """Of counts, of their total, or of how many keys there are: refused before anything is paid."""
    shares = {"total": "1/3", "number": "1/3"}
    assert KeyTerms.of(KeyCounts(NUMBERS, **shares), cost).number_scale is not None
    tiny = Fraction(1, 10**26)
    if small == "counts":
        shares["total"] = Fraction(2, 3) - tiny
    else:
        shares[small] = tiny
    with pytest.raises(InputError, match="must lie between"):
        KeyTerms.of(KeyCounts(NUMBERS, **shares), cost)


def test_with_a_delta_the_universe_plays_no_part() -> None:
    for universe in (NUMBERS, tu.Universe.bytes(1000)):
        for digits, threshold in ((5, 12), (8, 19)):
            cost = tu.Cost.of(1, delta=Fraction(1, 10**digits))
            terms = KeyTerms.of(KeyCounts(universe, total=0), cost)
            assert terms.threshold == threshold
            assert KeyTerms.from_json(terms.to_json()) == terms
            assert "chance" in terms.lines()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_with_rho_the_squares_of_a_unit_add_up_to_rho(neighbours: str) -> None:
    """Each of a unit's keys moves by one; total and number by as many as it has."""
    rho, keys = Fraction(1, 7), 3
    asked = KeyCounts(NUMBERS, keys_per_unit=keys, total="1/10", number="1/5")
    cost = tu.Cost.of(rho=rho, delta="1e-6")
    terms = KeyTerms.of(asked, cost, neighbours, "user")  # type: ignore[arg-type]
    times = 2 if neighbours == "replace" else 1
    squares = [times * keys, times * keys**2, times * keys**2]
    variances = [terms.count_scale, terms.total_scale, terms.number_scale]
    assert sum(s / (2 * v) for s, v in zip(squares, variances, strict=True)) == rho  # type: ignore[operator]
    assert terms.delta_of_a_key == cost.delta / (times * keys)
    assert KeyTerms.from_json(terms.to_json()) == terms


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    ("cost", "law"),
    [
        (tu.Cost.of("1/7"), "discrete"),
        (tu.Cost.of("1/7", delta="1e-6"), "discrete"),
        (tu.Cost.of(rho="1/7", delta="1e-6"), "gaussian"),
    ],
)
def test_what_is_told_of_keys_is_what_was_asked(neighbours: str, cost: tu.Cost, law: str) -> None:
    asked = KeyCounts(NUMBERS, keys_per_unit=3)
    facts = KeyTerms.of(asked, cost, neighbours, "user").facts  # type: ignore[arg-type]
    assert (facts.epsilon, facts.rho, facts.law) == (cost.epsilon, cost.rho, law)
    assert (facts.neighbours, facts.unit, facts.rows_per_unit) == (neighbours, "user", 3)


def test_a_rho_needs_a_delta_and_a_delta_counts_once() -> None:
    with pytest.raises(InputError, match="delta"):
        KeyTerms.of(KeyCounts(NUMBERS), tu.Cost.of(rho=1))
    many = KeyCounts(NUMBERS, keys_per_unit=2, duplicates="many")
    with pytest.raises(InputError, match="once"):
        KeyTerms.of(many, tu.Cost.of(1, delta="1e-6"), unit="user")
    rows = KeyCounts(NUMBERS, duplicates="many")  # a row is in one key, and in it once
    assert KeyTerms.of(rows, tu.Cost.of(1, delta="1e-6")).keys_per_unit == 1


@pytest.mark.parametrize("epsilon", ["1/20", "1/3", 1])
def test_a_quote_says_which_keys_are_found_nineteen_times_of_twenty(epsilon: object) -> None:
    """The least count that scipy's noise leaves at the threshold, or above, with 95 %."""
    terms = KeyTerms.of(KeyCounts(NUMBERS, total="1/5"), epsilon)
    law = dlaplace(float(1 / terms.count_scale))
    counts = np.arange(1, 40 * terms.threshold)
    shown = law.sf(terms.threshold - 1 - counts)
    (least,) = counts[np.flatnonzero(shown >= 0.95)[:1]]
    assert f"a key with {least:,} or more is shown with probability 95 %" in str(terms.lines())


@pytest.mark.parametrize("epsilon", ["1/20", 1, 7])
def test_so_many_false_keys_are_told_as_noise_makes(epsilon: object) -> None:
    """The size of the universe times P(X ≥ threshold), added up from scipy's law."""
    terms = KeyTerms.of(KeyCounts(NUMBERS, false_keys=3, total="1/5"), epsilon)
    beyond = terms.threshold + np.arange(int(60 * terms.count_scale) + 60)
    one = float(dlaplace(float(1 / terms.count_scale)).pmf(beyond).sum())
    assert terms.false_keys == pytest.approx(NUMBERS.size * one, rel=1e-6)
    assert 0 < terms.false_keys <= 3
