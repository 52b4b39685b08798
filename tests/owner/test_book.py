"""Each period has the limit: exact sums, all of a charge or nothing, and no period twice."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.budget import Budget
from trueup.cost import Cost
from trueup.errors import BudgetError, LedgerError, PublishedError
from trueup.owner.account import Account, Entry, canonical, link, opening
from trueup.owner.book import Books
from trueup.period import Calendar, told

NOW = "2026-01-01T00:00:00+00:00"
DAYS = Calendar("day", "at", "Europe/Berlin")
JANUARY = DAYS.between("2026-01-01", "2026-01-31")


def account(calendar: Calendar = DAYS, **said: object) -> Account:
    """A fresh account with a limit for each period."""
    budget = Budget.said(**(said or {"limit": 1}))  # type: ignore[arg-type]
    assert budget is not None
    made = Account()
    made.follow(opening("test", budget.made, NOW, calendar=calendar))
    return made


def request(*places: int) -> str:
    """A request for some days of January."""
    return canonical({"period": told(DAYS, [JANUARY[place] for place in sorted(places)])})


def spend(made: Account, key: str, line: str, cost: Cost, by: str | None = None) -> None:
    made.follow(made.charge(key, line, cost, by, NOW))


@given(
    st.lists(
        st.tuples(
            st.sets(st.integers(0, 30), min_size=1, max_size=4),
            st.fractions(Fraction(1, 50), Fraction(1, 2)),
        ),
        max_size=25,
    ),
    st.sampled_from(["limit", "rho"]),
)
def test_every_period_has_its_own_exact_sum_and_a_charge_is_whole(
    charges: list[tuple[set[int], Fraction]], word: str
) -> None:
    made, spent = account(**{word: 1}), dict.fromkeys(range(31), Fraction(0))
    for number, (days, amount) in enumerate(charges):
        cost = Cost.of(amount) if word == "limit" else Cost.of(rho=amount)
        if any(spent[day] + amount > 1 for day in days):
            with pytest.raises(BudgetError, match="is left for 2026-01-"):
                spend(made, str(number), request(*days), cost)
            continue
        spend(made, str(number), request(*days), cost)
        for day in days:
            spent[day] += amount
        assert made.charges[str(number)].periods == tuple(JANUARY[d].name for d in sorted(days))
        fullest = max(spent[day] for day in days)
        assert made.charges[str(number)].spent == fullest
    for day, total in spent.items():
        assert made.books.of(JANUARY[day]).total.amount == total
    charged = [JANUARY[day].name for day, total in spent.items() if total]
    assert list(made.balances) == charged
    assert [book.of for book in made.books.in_order] == charged  # each of them once
    with pytest.raises(LedgerError, match="a limit for each day, and none for all time"):
        _ = made.spent


def test_a_charge_names_its_periods_and_a_plain_ledger_takes_none() -> None:
    made = account()
    with pytest.raises(LedgerError, match="the request names none"):
        spend(made, "a", "{}", Cost.of(1))
    other = canonical({"period": told(Calendar("day", "at"), JANUARY[:1])})
    with pytest.raises(LedgerError, match="in UTC"):
        spend(made, "a", other, Cost.of(1))
    both = json.loads(request(1, 2))["period"]["periods"]
    alike = [both[0], [both[0][0], *both[1][1:]]]  # two stretches of one name
    for wrong in ([], both[::-1], both[:1] * 2, alike):
        line = canonical({"period": DAYS.to_json() | {"periods": wrong}})
        with pytest.raises(LedgerError, match="each once, in their order"):
            spend(made, "a", line, Cost.of(1))
    plain = Account()
    budget = Budget.said(1)
    assert budget is not None
    plain.follow(opening("plain", budget.made, NOW))
    with pytest.raises(LedgerError, match="one limit for all time"):
        spend(plain, "a", request(1), Cost.of(1))
    assert isinstance(plain.books, Books)


def test_an_allowance_is_for_each_period() -> None:
    made = account()
    made.follow(made.allowance("ana", Fraction(1, 2), NOW))
    spend(made, "a", request(0, 1), Cost.of("1/2"), "ana")
    with pytest.raises(BudgetError, match="0 of your own 1/2 is left for 2026-01-02"):
        spend(made, "b", request(1, 2), Cost.of("1/4"), "ana")
    spend(made, "c", request(2), Cost.of("1/4"), "ana")
    assert made.books.fullest_for("ana") == Fraction(1, 2)


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (1, 0), (-1, 0), (0, -1), (-(10**9), 10**9)])
def test_a_period_whose_ends_have_moved_is_refused(start: int, stop: int) -> None:
    made = account()
    spend(made, "a", request(0, 2), Cost.of("1/4"))
    name, first, last = json.loads(request(0))["period"]["periods"][0]
    moved = DAYS.to_json() | {"periods": [[name, first + start, last + stop]]}
    with pytest.raises(LedgerError, match="is not what it was"):
        spend(made, "b", canonical({"period": moved}), Cost.of("1/4"))
    far = DAYS.to_json() | {"periods": [[name, first - 10**15, last - 10**15]]}
    with pytest.raises(LedgerError, match="is not what it was"):
        spend(made, "b", canonical({"period": far}), Cost.of("1/4"))
    for ends in ((last - 1, last + 1), (first - 1, first + 1), (first - 1, last + 1)):
        over = DAYS.to_json() | {"periods": [["new", *ends]]}
        with pytest.raises(LedgerError, match="overlaps"):
            spend(made, "c", canonical({"period": over}), Cost.of("1/4"))
    spend(made, "d", request(1), Cost.of("1/4"))  # which lies between the two


SPANS = st.tuples(st.sampled_from("abcd"), st.integers(0, 4), st.integers(0, 4))


@given(st.lists(st.lists(SPANS, min_size=1, max_size=2)))
def test_a_period_is_one_that_was_charged_or_apart_from_all_of_them(
    charges: list[list[tuple[str, int, int]]],
) -> None:
    """Whatever comes, one after the other: against all spans that were taken so far."""
    made = account(limit=1000)
    taken: set[tuple[str, int, int]] = set()
    for number, spans in enumerate(charges):
        said = DAYS.to_json() | {"periods": [list(span) for span in spans]}
        line = canonical({"period": said})
        fits = all(
            (name, start, stop) == other
            or (name != other[0] and (stop <= other[1] or other[2] <= start))
            for name, start, stop in spans
            for other in taken
        )
        fits = fits and all(start < stop for _, start, stop in spans)
        one, two = spans[0], spans[-1]
        fits = fits and (len(spans) == 1 or (one[0] != two[0] and one[2] <= two[1]))
        if fits:
            spend(made, str(number), line, Cost.of(1))
            taken |= set(spans)
        else:
            with pytest.raises(LedgerError, match=r"is not what it was|each once, in their order"):
                spend(made, str(number), line, Cost.of(1))
    in_order = [name for name, _, _ in sorted(taken, key=lambda each: each[1])]
    assert list(made.balances) == in_order


@pytest.mark.parametrize(
    "edit",
    [
        lambda fact: fact["spent"].update({"2026-01-01": "1/8"}),
        lambda fact: fact["spent"].pop("2026-01-02"),
        lambda fact: fact["request"]["period"]["periods"].pop(),
        lambda fact: fact["request"].pop("period"),
        lambda fact: fact["request"]["period"].update({"zone": "UTC"}),
        lambda fact: fact["spent_delta"].update({"2026-01-01": "1/8"}),
        lambda fact: fact.update({"epsilon": "7/8", "spent": {"2026-01-01": "9/8"}}),
    ],
)
def test_an_edited_charge_to_periods_does_not_follow(edit: object) -> None:
    made = account()
    spend(made, "a", request(0), Cost.of("1/4"))
    fact = json.loads(made.charge("b", request(0, 1), Cost.of("1/4"), None, NOW).body)
    edit(fact)  # type: ignore[operator]
    body = canonical(fact)
    with pytest.raises(LedgerError, match="has been edited"):
        made.follow(Entry(made.number + 1, body, link(made.hash, body)))


@pytest.mark.parametrize("full", [0, 1, 2])
@pytest.mark.parametrize("what", ["the limit", "an allowance", "delta"])
def test_no_charge_is_made_or_follows_if_one_of_its_periods_is_full(full: int, what: str) -> None:
    """Whichever of them it is: what a generous ledger writes, this one neither writes nor reads."""
    strict = account(limit=1, delta_limit="1e-6")
    cost = Cost.of("1/4", delta="1e-6") if what == "delta" else Cost.of(1)
    generous = account(limit=3, delta_limit="1e-5")
    for made in (strict, generous):
        if what == "an allowance":
            allowed = Fraction(1, 4) if made is strict else Fraction(2)
            made.follow(made.allowance("ana", allowed, NOW))
            cost = Cost.of("1/4")
        spend(made, "a", request(full), cost, "ana")
    small = Cost.of("1/4", delta="1e-7" if what == "delta" else 0)
    with pytest.raises(BudgetError, match=f"left for 2026-01-0{full + 1}"):
        strict.charge("b", request(0, 1, 2), small, "ana", NOW)
    body = generous.charge("b", request(0, 1, 2), small, "ana", NOW).body
    with pytest.raises(LedgerError, match="has been edited"):
        strict.follow(Entry(strict.number + 1, body, link(strict.hash, body)))
    generous.follow(Entry(generous.number + 1, body, link(generous.hash, body)))


def test_a_series_is_charged_once_a_period() -> None:
    made = account()
    line = json.loads(request(0)) | {"publishes": [{"name": "fares"}]}
    spend(made, "a", canonical(line), Cost.of("1/4"))
    other = json.loads(request(0)) | {"publishes": [{"name": "x"}]}
    fact = json.loads(made.charge("b", canonical(other), Cost.of("1/4"), None, NOW).body)
    with pytest.raises(PublishedError, match="'fares' was published for 2026-01-01 already"):
        made.charge("b", canonical(line), Cost.of("1/4"), None, NOW)
    fact["request"]["publishes"] = [{"name": "fares"}]
    body = canonical(fact)
    with pytest.raises(LedgerError, match="has been edited"):
        made.follow(Entry(made.number + 1, body, link(made.hash, body)))
    spend(made, "c", canonical(line | json.loads(request(1))), Cost.of("1/4"))
