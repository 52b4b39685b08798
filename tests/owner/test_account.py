"""The chain refuses any line that does not follow, and adds up exactly."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.budget import Budget
from trueup.cost import Cost
from trueup.errors import BudgetError, InputError, LedgerError
from trueup.owner.account import (
    Account,
    Entry,
    canonical,
    link,
    opening,
    readable_request,
    usable_key,
)
from trueup.period import Calendar

NOW = "2026-01-01T00:00:00+00:00"


def budget_of(limit: object = None, **said: object) -> Budget:
    """The budget of a new ledger."""
    found = Budget.said(limit, **said)
    assert found is not None
    return found.made


def account(limit: object = 1) -> Account:
    """A fresh account."""
    made = Account()
    made.follow(opening("test", budget_of(limit), NOW))
    return made


def spend(made: Account, key: str, epsilon: Fraction) -> Entry:
    """The entry of a charge, after the account has taken it in."""
    entry = made.charge(key, '{"q":1}', Cost.of(epsilon), None, NOW)
    made.follow(entry)
    return entry


@given(st.lists(st.fractions(Fraction(1, 1000), 3, max_denominator=10**4), max_size=20))
def test_spent_is_the_exact_sum(costs: list[Fraction]) -> None:
    made = account(sum(costs, start=Fraction(1)))
    for number, cost in enumerate(costs):
        spend(made, str(number), cost)
    assert made.spent == sum(costs, start=Fraction(0))
    assert made.limit - made.spent == 1


def test_a_tiny_charge_is_not_lost_in_a_large_sum() -> None:
    made = account(2)
    spend(made, "large", Fraction(1))
    spend(made, "tiny", Fraction(1, 10**30))
    assert made.spent == 1 + Fraction(1, 10**30)


def test_the_limit_can_be_reached_and_not_passed() -> None:
    made = account(1)
    for number in range(10):
        spend(made, str(number), Fraction(1, 10))
    assert made.spent == made.limit
    with pytest.raises(BudgetError, match="Nothing more can be asked"):
        spend(made, "more", Fraction(1, 10**40))


def test_a_refusal_says_what_is_left() -> None:
    made = account(1)
    spend(made, "first", Fraction(7, 10))
    with pytest.raises(BudgetError) as refusal:
        spend(made, "second", Fraction(1, 2))
    assert str(refusal.value) == "This costs 1/2; 3/10 of 1 is left. Ask with epsilon <= 3/10."
    assert made.spent == Fraction(7, 10)


def test_a_key_pays_for_one_request_only() -> None:
    made = account()
    spend(made, "key", Fraction(1, 2))
    assert made.known("key", '{"q":1}', Cost.of("1/2"), None) is not None
    assert made.known("other", '{"q":1}', Cost.of("1/2"), None) is None
    for request, epsilon, by in [
        ('{"q":2}', Fraction(1, 2), None),
        ('{"q":1}', Fraction(1, 3), None),
        ('{"q":1}', Fraction(1, 2), "somebody else"),
    ]:
        with pytest.raises(InputError, match="different request"):
            made.known("key", request, Cost.of(epsilon), by)


@given(st.data())
def test_any_change_of_a_line_breaks_the_chain(data: st.DataObject) -> None:
    made = account()
    entries = [
        opening("test", budget_of(1), NOW),
        *(spend(made, str(number), Fraction(1, 10)) for number in range(4)),
    ]
    victim = data.draw(st.integers(0, len(entries) - 1))
    body = entries[victim].body
    place = data.draw(st.integers(0, len(body) - 1))
    other = data.draw(st.characters().filter(lambda character: character != body[place]))
    changed = Entry(victim, body[:place] + other + body[place + 1 :], entries[victim].hash)
    read = Account()
    for entry in entries[:victim]:
        read.follow(entry)
    with pytest.raises(LedgerError, match=f"Entry {victim} .* edited"):
        read.follow(changed)


def relinked(made: Account, fact: dict[str, object]) -> Entry:
    """An entry with a valid hash and a fact of our choosing."""
    body = canonical({"entry": made.number + 1, **fact})
    return Entry(made.number + 1, body, link(made.hash, body))


CHARGE = {"by": None, "key": "k", "kind": "charge", "request": {}, "time": NOW}


@pytest.mark.parametrize(
    "fact",
    [
        {**CHARGE, "epsilon": "1/2", "spent": "1/3"},  # a wrong sum
        {**CHARGE, "epsilon": "2", "spent": "2"},  # above the limit
        {**CHARGE, "epsilon": "-1/2", "spent": "-1/2"},  # a refund
        {**CHARGE, "epsilon": "0", "spent": "0"},
        {**CHARGE, "epsilon": "nan", "spent": "nan"},
        {**CHARGE, "epsilon": "1/0", "spent": "1/0"},
        {**CHARGE, "epsilon": "1/2"},
        {"kind": "opening", "ledger": "test", "limit": "9", "time": NOW, "version": 1},
        {"kind": "answer", "key": "never charged", "sha256": "0"},
        {"kind": "resumed", "key": "never charged"},
        {"kind": "refund", "key": "k"},
        {**CHARGE, "epsilon": "1/2", "spent": "1/2", "entry": 7},  # of another place
        {},
    ],
)
def test_a_well_hashed_entry_that_makes_no_sense_is_refused(fact: dict[str, object]) -> None:
    made = account()
    with pytest.raises(LedgerError, match="edited"):
        made.follow(relinked(made, fact))
    made.follow(relinked(made, {**CHARGE, "epsilon": "1/2", "spent": "1/2"}))


@pytest.mark.parametrize("kind", ["refund", "Resumed", ""])
def test_an_entry_of_an_unknown_kind_is_refused_though_it_names_a_charge(kind: str) -> None:
    made = account()
    spend(made, "k", Fraction(1, 4))
    with pytest.raises(LedgerError, match="edited"):
        made.follow(relinked(made, {"kind": kind, "key": "k"}))
    assert not made.charges["k"].resumed
    made.follow(made.resumed("k"))
    assert made.charges["k"].resumed


def test_a_key_charged_or_answered_twice_is_refused() -> None:
    made = account()
    spend(made, "k", Fraction(1, 4))
    twice = {**CHARGE, "epsilon": "1/4", "spent": "1/2"}
    with pytest.raises(LedgerError, match="edited"):
        made.follow(relinked(made, twice))
    made.follow(made.answer("k", "00"))
    with pytest.raises(LedgerError, match="edited"):
        made.follow(made.answer("k", "11"))


def test_a_newer_version_is_refused_by_name() -> None:
    body = json.loads(opening("test", budget_of(1), NOW).body) | {"version": 5}
    line = canonical(body)
    with pytest.raises(LedgerError, match="version 5; this trueup reads versions up to 4"):
        Account().follow(Entry(0, line, link("", line)))


def test_a_request_that_says_another_notion_of_privacy_protects_another_unit() -> None:
    asked, made = {"unit": "row", "neighbours": "replace"}, account()
    for number, said in enumerate(({}, {"privacy": "epsilon"}, {"privacy": None})):
        line = canonical({**asked, **said})
        made.follow(made.charge(str(number), line, Cost.of("1/8"), None, NOW))
    with pytest.raises(LedgerError, match="open another ledger"):
        made.charge("b", canonical({**asked, "privacy": "rho"}), Cost.of("1/8"), None, NOW)


def test_equal_requests_are_equal_text() -> None:
    assert readable_request({"a": 1, "b": [2]}) == readable_request({"b": [2], "a": 1})
    for wrong in [{"a": float("nan")}, {"a": object()}, {"a": {1, 2}}]:
        with pytest.raises(InputError):
            readable_request(wrong)


def test_numbers_too_long_to_write_down_are_refused() -> None:
    made = account(10)
    with pytest.raises(InputError, match="thousands of digits"):  # noqa: PT012
        for odd in range(1, 99, 2):
            spend(made, str(odd), Fraction(1, 10**99 - odd))
    assert len(str(made.spent)) < 4300  # what Python will read back


def test_keys_are_short_texts() -> None:
    assert usable_key("k" * 200) == "k" * 200
    for wrong in ("", "k" * 201, None, 3, b"k"):
        with pytest.raises(InputError, match="text of 1 to 200 characters"):
            usable_key(wrong)


def test_nothing_may_be_an_allowance() -> None:
    made = account(10)
    allow(made, "ana", Fraction(0))
    assert made.allowances == {"ana": 0}


def allow(made: Account, by: str, limit: Fraction) -> None:
    """Takes an allowance into the account."""
    made.follow(made.allowance(by, limit, NOW))


def spend_for(made: Account, key: str, epsilon: Fraction, by: str | None) -> None:
    """Takes a charge on somebody's behalf into the account."""
    made.follow(made.charge(key, '{"q":1}', Cost.of(epsilon), by, NOW))


def test_an_allowance_can_be_reached_and_not_passed() -> None:
    made = account(10)
    allow(made, "ana", Fraction(1, 2))
    spend_for(made, "a", Fraction(1, 4), "ana")
    spend_for(made, "b", Fraction(1, 4), "ana")
    with pytest.raises(BudgetError, match="0 of your own 1/2 is left"):
        spend_for(made, "c", Fraction(1, 10**30), "ana")
    spend_for(made, "d", Fraction(9), "bo")  # whom nothing was said of
    spend_for(made, "e", Fraction(1, 4), None)
    assert made.book.own("ana") == made.allowances["ana"]


def test_the_last_allowance_counts_and_the_limit_stands_above_it() -> None:
    made = account(1)
    allow(made, "ana", Fraction(1, 10))
    allow(made, "ana", Fraction(5))
    with pytest.raises(BudgetError, match="1 of 1 is left"):
        spend_for(made, "a", Fraction(2), "ana")
    spend_for(made, "b", Fraction(1, 2), "ana")
    allow(made, "ana", Fraction(1, 4))  # less than is spent: nothing more
    with pytest.raises(BudgetError, match="0 of your own 1/4"):
        spend_for(made, "c", Fraction(1, 10), "ana")


def test_advice_names_what_this_person_can_still_spend() -> None:
    made = account(1)
    allow(made, "ana", Fraction(1, 10))
    with pytest.raises(BudgetError, match=r"1/10 of your own 1/10 is left. .* <= 1/10\.$"):
        spend_for(made, "a", Fraction(2), "ana")  # more than the limit, too
    spend_for(made, "b", Fraction(19, 20), None)
    with pytest.raises(BudgetError, match=r"1/20 of 1 is left. .* <= 1/20\.$"):
        spend_for(made, "c", Fraction(1, 12), "ana")


def test_a_charge_beyond_an_allowance_does_not_follow() -> None:
    made, freer = account(10), account(10)
    allow(made, "ana", Fraction(1, 10))
    allow(freer, "ana", Fraction(2))
    forged = json.loads(freer.charge("a", '{"q":1}', Cost.of(1), "ana", NOW).body)
    body = canonical(forged)
    with pytest.raises(LedgerError, match="has been edited"):
        made.follow(Entry(2, body, link(made.hash, body)))


@pytest.mark.parametrize("fact", [{"by": None, "limit": "1"}, {"by": "ana", "limit": "-1"}])
def test_an_allowance_that_makes_no_sense_does_not_follow(fact: dict[str, object]) -> None:
    made = account(10)
    body = canonical({"kind": "allowance", "entry": 1, "time": NOW, **fact})
    with pytest.raises(LedgerError, match="has been edited"):
        made.follow(Entry(1, body, link(made.hash, body)))


@pytest.mark.parametrize("number", [0, 2, 7, -1])
def test_an_entry_out_of_its_turn_is_refused_however_well_it_is_hashed(number: int) -> None:
    made = account()
    fact = {"by": "ana", "kind": "allowance", "limit": "1/2", "time": NOW, "entry": number}
    body = canonical(fact)
    with pytest.raises(LedgerError, match="edited"):
        made.follow(Entry(number, body, link(made.hash, body)))
    assert made.allowances == {}


# Accounts that count ρ, and δ beside either.


def test_an_epsilon_costs_half_its_square_in_rho() -> None:
    made = Account()
    made.follow(opening("test", budget_of(rho="1/2"), NOW))
    made.follow(made.charge("a", "{}", Cost.of("1/2"), None, NOW))
    made.follow(made.charge("b", "{}", Cost.of(rho="1/8"), None, NOW))
    assert made.spent == Fraction(1, 4)
    assert made.charges["a"].cost == Cost.of("1/2")
    assert made.charges["a"].rho == Fraction(1, 8)
    with pytest.raises(BudgetError) as refusal:
        made.charge("c", "{}", Cost.of(1), None, NOW)
    assert str(refusal.value) == (
        "This costs rho 1/2 (epsilon 1); 1/4 of 1/2 is left. "
        "Ask with rho <= 1/4, or epsilon <= 7071/10000."
    )
    with pytest.raises(BudgetError, match=r"^This costs rho 1/3; 1/4 of 1/2 is left"):
        made.charge("c", "{}", Cost.of(rho="1/3"), None, NOW)
    with pytest.raises(InputError, match="different request"):  # as much, asked otherwise
        made.known("a", "{}", Cost.of(rho="1/8"), None)


def test_rho_is_refused_where_epsilon_is_counted() -> None:
    with pytest.raises(InputError, match="the ledger counts epsilon"):
        account().charge("a", "{}", Cost.of(rho="1/8"), None, NOW)


@pytest.mark.parametrize("said", [{"limit": 2}, {"rho": 1}])
def test_deltas_add_up_to_their_own_limit_and_not_beyond(said: dict[str, object]) -> None:
    made = Account()
    made.follow(opening("test", budget_of(**said, delta_limit="1e-6"), NOW))
    for number in range(10):
        made.follow(made.charge(str(number), "{}", Cost.of(0.1, delta="1e-7"), None, NOW))
    assert made.book.total.delta == made.balance.limit.delta == Fraction(1, 10**6)
    with pytest.raises(BudgetError, match=r"costs delta 1/1000000.*0; 0 of 1/1000000 is left"):
        made.charge("more", "{}", Cost.of("1e-6", delta="1e-30"), None, NOW)
    if "rho" in said:
        made.follow(made.charge("none", "{}", Cost.of(0.1), None, NOW))


@pytest.mark.parametrize("said", [{"limit": 1}, {"rho": 1}])
def test_a_ledger_made_without_a_delta_spends_none(said: dict[str, object]) -> None:
    made = Account()
    made.follow(opening("test", budget_of(**said), NOW))
    with pytest.raises(BudgetError, match="made without any delta"):
        made.charge("a", "{}", Cost.of(0.1, delta="1e-30"), None, NOW)


RHO = {**CHARGE, "delta": "0", "spent_delta": "0"}


@pytest.mark.parametrize(
    "fact",
    [
        {**RHO, "epsilon": "1/2", "rho": "1/9", "spent": "1/9"},  # less than half its square
        {**RHO, "epsilon": "1/2", "spent": "1/8"},  # the ledger's own notion is missing
        {**RHO, "rho": "1/8", "spent": "1/9"},  # a wrong sum
        {**RHO, "rho": "2", "spent": "2"},
        {**RHO, "rho": "-1/8", "spent": "-1/8"},
        {**RHO, "rho": "0", "spent": "0"},
        {**RHO, "rho": "1/8", "spent": "1/8", "delta": "1/8"},  # a delta that was not added
        {**RHO, "rho": "1/8", "spent": "1/8", "delta": "1/2", "spent_delta": "1/2"},  # too much
        {**RHO, "rho": "1/8", "spent": "1/8", "delta": "-1/8", "spent_delta": "-1/8"},
        {**CHARGE, "rho": "1/8", "spent": "1/8"},  # no word of delta
        {**CHARGE, "epsilon": "1/8", "spent": "1/8"},  # as in a ledger that counts epsilon
    ],
)
def test_a_well_hashed_charge_in_rho_that_makes_no_sense_is_refused(
    fact: dict[str, object],
) -> None:
    made = Account()
    made.follow(opening("test", budget_of(rho="1/2", delta_limit="1/4"), NOW))
    with pytest.raises(LedgerError, match="edited"):
        made.follow(relinked(made, fact))


def test_a_charge_in_rho_does_not_follow_where_epsilon_is_counted() -> None:
    for budget in (budget_of(1), budget_of(1, delta_limit="1e-6")):
        made = Account()
        made.follow(opening("test", budget, NOW))
        with pytest.raises(LedgerError, match="edited"):
            made.follow(relinked(made, {**RHO, "rho": "1/8", "spent": "1/8"}))


def test_a_ledger_that_counts_epsilon_alone_is_written_as_before() -> None:
    made = account()
    entry = spend(made, "k", Fraction(1, 2))
    assert json.loads(opening("test", budget_of(1), NOW).body) == {
        "entry": 0, "kind": "opening", "ledger": "test", "limit": "1", "protects": None,
        "time": NOW, "version": 2,
    }  # fmt: skip
    assert set(json.loads(entry.body)) == {
        "by", "entry", "epsilon", "key", "kind", "request", "spent", "time"
    }  # fmt: skip


def test_units_are_one_also_where_rho_is_counted() -> None:
    made = Account()
    made.follow(opening("test", budget_of(rho=1), NOW))
    rows = canonical({"unit": "row", "neighbours": "replace"})
    made.follow(made.charge("a", rows, Cost.of(0.1), None, NOW))
    made.follow(made.charge("b", rows, Cost.of(rho=0.1), None, NOW))
    assert made.protects is not None
    assert made.protects.privacy == "rho"
    with pytest.raises(LedgerError, match="open another ledger"):
        made.charge("c", canonical({"unit": "user"}), Cost.of(rho=0.1), None, NOW)


def test_a_well_hashed_step_that_does_not_follow_is_refused() -> None:
    made = account()
    spend(made, "visits", Fraction(1, 2))
    made.follow(made.step("visits", 0, "a"))
    made.follow(made.step("visits", 1, "b"))
    for key, number in (("visits", 1), ("visits", 0), ("visits", 3), ("fares", 0)):
        with pytest.raises(LedgerError, match="edited"):
            made.follow(made.step(key, number, "c"))
    assert made.steps == {"visits": (1, "b")}


def test_every_ledger_of_a_sample_has_a_secret_of_its_own() -> None:
    """By it units are chosen: who knows it knows whose rows count."""
    calendar = Calendar("day", "at", periods_per_unit=(3, 30))
    keys = set()
    for _ in range(3):
        made = Account()
        made.follow(opening("test", budget_of(1), NOW, calendar=calendar))
        keys.add(made.sampling_key)
    assert len(keys) == 3
    assert {len(bytes.fromhex(key)) for key in keys} == {32}
