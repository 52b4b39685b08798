"""What can be read of a ledger that has periods, in every store and notion."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest
from homes import Home, fresh

import trueup as tu
from trueup.errors import BudgetError, InputError, LedgerError
from trueup.period import Calendar, told

DAYS = Calendar("day", "at", "Europe/Berlin")
OF = {"per": "day", "date": "at", "zone": "Europe/Berlin"}


def asked(*names: str) -> dict[str, object]:
    whom = {"unit": "user", "neighbours": "add-remove"}
    return whom | {"period": told(DAYS, DAYS.named(list(names)))}


def test_each_period_has_the_limit_in_every_store(home: Home) -> None:
    ledger = home.ledger(1, **OF)
    assert ledger.loses.startswith("a person with rows on 30 days: at most 30 × 1")
    one = ledger.spend(asked("2026-03-01"), "3/4", draw=fresh, key="one")
    ledger.spend(asked("2026-02-28", "2026-03-01"), "1/4", draw=fresh, key="two")
    ledger = home.ledger()  # another process finds the same
    assert ledger.calendar == DAYS
    assert ledger.spend(asked("2026-03-01"), "3/4", draw=fresh, key="one") == one
    assert ledger.remaining_in("2026-03-01") == 0
    assert ledger.remaining_in(dt.date(2026, 2, 28)) == Fraction(3, 4)
    assert ledger.spent_in("2026-03-02") == 0
    assert list(ledger.periods) == ["2026-02-28", "2026-03-01"]
    with pytest.raises(BudgetError, match="0 of 1 is left for 2026-03-01"):
        ledger.spend(asked("2026-03-01", "2026-03-02"), "1/4", draw=fresh)
    assert ledger.spent_in("2026-03-02") == 0  # all periods of a charge, or none
    for name in ("spent", "remaining", "balance"):
        with pytest.raises(LedgerError, match="and none for all time"):
            getattr(ledger, name)
    with pytest.raises(InputError, match="A day is named like"):
        ledger.remaining_in("March")
    assert ledger.charges["periods"].to_pylist() == ["2026-03-01", "2026-02-28, 2026-03-01"]
    assert ledger.loses.startswith("a user with rows on 30 days: at most 30 × 1")
    assert ("900 ×" in ledger.loses) == (home.notion == "rho")
    assert "per day of 'at' in Europe/Berlin" in repr(ledger)
    assert ledger.verify() == 5


def test_an_older_copy_of_a_period_ledger_is_refused(home: Home) -> None:
    ledger = home.ledger(1, **OF)
    ledger.spend(asked("2026-03-01"), "1/4", draw=fresh)
    older = home.snapshot()
    ledger.spend(asked("2026-03-01"), "1/4", draw=fresh)
    home.put(older)
    with pytest.raises(LedgerError, match="is an older copy"):
        home.ledger()


def test_what_the_limit_is_for_never_changes(home: Home) -> None:
    home.ledger(1, **OF)
    with pytest.raises(LedgerError, match="it was opened without periods"):
        home.ledger(1)
    with pytest.raises(LedgerError, match="it was opened per week"):
        home.ledger(**OF | {"per": "week"})
    assert home.ledger(1, **OF).calendar == home.ledger().calendar == DAYS


def test_a_plain_ledger_has_no_periods(tmp_path: object) -> None:
    plain = tu.Ledger(f"{tmp_path}/plain", limit=1)
    assert plain.calendar is None
    assert plain.loses == ""
    assert plain.periods == {}
    with pytest.raises(LedgerError, match="one limit for all time: ask for remaining"):
        plain.remaining_in("2026-03-01")
    with pytest.raises(LedgerError, match="made with one limit for all time"):
        tu.Ledger(f"{tmp_path}/plain", limit=1, per="day", date="at")


def test_every_ledger_has_a_sampling_key_of_its_own(tmp_path: object) -> None:
    share = {"per": "day", "date": "at", "periods_per_unit": (2, 7)}
    keys = {tu.Ledger(f"{tmp_path}/{n}", limit=1, **share).sampling_key() for n in range(3)}  # type: ignore[arg-type]
    assert len(keys) == 3
    assert all(len(bytes.fromhex(key)) == 32 and any(bytes.fromhex(key)) for key in keys)


def test_what_is_left_of_several_periods_is_what_the_fullest_can_still_pay(home: Home) -> None:
    ledger = home.ledger(1, delta_limit="1e-3", **OF)
    assert ledger.of_each.remaining.amount == 1
    assert ledger.of_each.remaining.delta == Fraction(1, 1000)
    ledger.allow("ana", "1/2")
    ledger.spend(asked("2026-03-01", "2026-03-02"), "1/4", draw=fresh, key="a", by="ana")
    ledger.spend(asked("2026-03-02"), "1/4", draw=fresh, key="b")
    totals = {charge.key: charge.spent for charge in ledger.history()}
    assert totals == {"a": Fraction(1, 4), "b": Fraction(1, 2)}  # each with its own charge
    both = ["2026-03-01", "2026-03-02"]
    for by, first, second in ((None, "3/4", "1/2"), ("ana", "1/4", "1/4"), ("bo", "3/4", "1/2")):
        found = [ledger.left_in(each, by).amount for each in (both[:1], both[1:], both)]
        assert found == [Fraction(first), Fraction(second), min(Fraction(first), Fraction(second))]
    assert ledger.left_in(["2026-03-09"], "ana").amount == Fraction(1, 2)
    ledger.allow("ana", "1/8")  # below what was spent
    assert ledger.left_in(both, "ana").amount == 0
    left = ledger.left_in(both).amount
    ledger.spend(asked(*both), left, draw=fresh, key="c")  # so much may be spent, and no more
    assert ledger.left_in(both).amount == 0
    with pytest.raises(BudgetError):
        ledger.spend(asked("2026-03-02"), "1/1000", draw=fresh)
