"""The ledger: one charge a key, exact sums, and no opening of a ledger that was tampered with."""

from __future__ import annotations

import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from homes import ASKED, Home, fresh, never

from trueup.cost import Cost
from trueup.errors import BudgetError, InputError, LedgerError
from trueup.owner.account import Account
from trueup.owner.anchor import FileAnchor
from trueup.owner.ledger import Ledger


def test_a_charge_is_exact_and_outlives_its_ledger_object(home: Home) -> None:
    ledger = home.ledger(1)
    assert ledger.remaining == 1
    for _ in range(3):
        ledger.spend(ASKED, 0.1, draw=fresh)
    again = home.ledger("1.0")
    assert again.spent == ledger.spent == Fraction(3, 10)
    assert again.remaining == Fraction(7, 10)
    assert again.limit == 1
    assert "3/10 of 1 spent" in repr(again)


def test_an_existing_ledger_needs_no_limit_and_a_missing_one_does(home: Home) -> None:
    with pytest.raises(LedgerError, match="Give its limit to make one"):
        home.ledger()
    assert home.is_empty()
    home.ledger(2)
    assert home.ledger().limit == 2
    for wrong in (None, 5, b"ledger"):
        with pytest.raises(InputError, match=r"The path of a ledger is text or a Path, .* got"):
            Ledger(wrong, limit=1)  # type: ignore[arg-type]


def test_an_unknown_neighbour_relation_makes_no_ledger(home: Home) -> None:
    with pytest.raises(InputError, match="neighbours must be"):
        home.ledger(1, unit="row", neighbours="next door")
    assert home.is_empty()


def test_the_same_key_returns_the_same_bytes_and_charges_once(home: Home) -> None:
    ledger = home.ledger(1)
    first = ledger.spend(ASKED, 0.1, draw=fresh, key="k")
    assert ledger.spend(ASKED, "1/10", draw=never, key="k") == first
    assert home.ledger().spend(ASKED, "1/10", draw=never, key="k") == first
    assert ledger.spent == Fraction(1, 10)
    assert ledger.spend(ASKED, 0.1, draw=fresh) != ledger.spend(ASKED, 0.1, draw=fresh)
    assert ledger.spent == Fraction(3, 10)


def test_a_key_reused_for_another_request_is_refused_and_costs_nothing(home: Home) -> None:
    ledger = home.ledger(1)
    ledger.spend(ASKED, 0.1, draw=fresh, key="k")
    for request, epsilon, by in [(ASKED | {"unit": "person"}, 0.1, None), (ASKED, 0.2, None)]:
        with pytest.raises(InputError, match="different request"):
            ledger.spend(request, epsilon, draw=never, key="k", by=by)
    with pytest.raises(InputError, match="different request"):
        ledger.spend(ASKED, 0.1, draw=never, key="k", by="another analyst")
    assert ledger.spent == Fraction(1, 10)


def test_a_refused_charge_draws_nothing(home: Home) -> None:
    ledger = home.ledger(1)
    with pytest.raises(BudgetError, match=r"This costs (rho )?2; 1 of 1 is left"):
        ledger.spend(ASKED, 2, draw=never)
    for wrong in (0, -1, float("nan"), float("inf"), True, "much", Fraction(10**5000)):
        with pytest.raises(InputError):
            ledger.spend(ASKED, wrong, draw=never)
    for wrong_key in ("", "k" * 201, 7):
        with pytest.raises(InputError, match="key must be text"):
            ledger.spend(ASKED, 1, draw=never, key=wrong_key)  # type: ignore[arg-type]
    assert ledger.spent == 0
    assert ledger.history() == ()


def test_the_charge_is_on_disk_and_anchored_before_the_noise_is_drawn(home: Home) -> None:
    ledger = home.ledger(1)

    twins: list[Ledger] = []

    def look() -> bytes:
        twins.append(home.copied("twin").ledger(anchor=home.anchor))
        assert twins[0].spent == Fraction(1, 10)
        return b"noise"

    ledger.spend(ASKED, 0.1, draw=look)
    assert twins


def test_a_charge_without_an_answer_is_completed_with_fresh_noise_and_no_second_charge(
    home: Home,
) -> None:
    ledger = home.ledger(1)

    def dies() -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.spend(ASKED, 0.1, draw=dies, key="k")
    assert ledger.spent == Fraction(1, 10)
    assert ledger.history()[0].answer is None
    assert ledger.spend(ASKED, 0.1, draw=lambda: b"fresh", key="k") == b"fresh"
    assert ledger.spend(ASKED, 0.1, draw=never, key="k") == b"fresh"
    assert ledger.spent == Fraction(1, 10)


def test_two_that_complete_one_charge_hand_out_the_same_bytes(home: Home) -> None:
    ledger = home.ledger(1)
    inner: list[bytes] = []

    def overtaken() -> bytes:
        inner.append(home.ledger().spend(ASKED, 0.1, draw=lambda: b"first", key="k"))
        return b"second"

    assert ledger.spend(ASKED, 0.1, draw=overtaken, key="k") == b"first" == inner[0]
    assert ledger.spent == Fraction(1, 10)
    assert len(home.answers()) == 1  # the answer that lost is not kept


def test_the_history_tells_what_was_asked_and_never_when_it_was_answered(home: Home) -> None:
    ledger = home.ledger(1)
    ledger.spend(ASKED, "1/3", draw=lambda: b"answer", key="k", by="ana")
    (charge,) = ledger.history()
    assert (charge.key, charge.charged.amount, charge.by) == ("k", Fraction(1, 3), "ana")
    table = ledger.charges
    assert table.column_names[:8] == [
        "entry",
        "time",
        "key",
        "by",
        "epsilon",
        "spent",
        "request",
        "answer",
    ]
    (row,) = table.to_pylist()
    assert row[home.notion] == row["spent"] == "1/3"
    assert ("rho" in row) == (home.notion == "rho")
    assert row["request"] == (
        '{"neighbours":"add-remove","question":{"kind":"unit-counts"},"unit":"row"}'
    )
    assert "time" not in home.entries()[2].body


def test_threads_share_a_ledger_and_never_pass_its_limit(home: Home) -> None:
    ledger = home.ledger(1)

    def ask(_: int) -> bool:
        try:
            return bool(ledger.spend(ASKED, "1/8", draw=fresh))
        except BudgetError:
            return False

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(ask, range(24))) == 8
    assert ledger.spent == ledger.limit
    assert ledger.verify() == 17


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # here a fork is the point
def test_a_forked_process_goes_on_with_its_parents_ledger(home: Home) -> None:
    ledger = home.ledger(1)
    ledger.spend(ASKED, 0.1, draw=fresh)
    with ledger._lock:  # as if another thread were in the middle of a step
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(60)  # a child that waits for the lock would wait for ever
                ledger.spend(ASKED, 0.1, draw=fresh)
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ledger.spent == Fraction(2, 10)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_reads_only_what_its_parent_has_not_read(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = home.ledger(1)
    for _ in range(3):
        ledger.spend(ASKED, 0.1, draw=fresh)
    read: list[int] = []
    follow = Account.follow
    monkeypatch.setattr(
        Account, "follow", lambda now, entry: (read.append(entry.number), follow(now, entry))[1]
    )
    child = os.fork()
    if child == 0:
        try:
            ledger.spend(ASKED, 0.1, draw=fresh)
            os._exit(0 if read == [7, 8] else 2)  # its own charge and answer
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ledger.spent == Fraction(4, 10)


def test_the_database_itself_refuses_updates_and_deletes(home: Home) -> None:
    home.ledger(1).spend(ASKED, 0.1, draw=fresh)
    for statement in ("UPDATE entries SET body = ''", "DELETE FROM entries"):
        with pytest.raises(home.refusal, match="append-only"):
            home.execute(statement)


# Ledgers that are refused, each in its own words.


def test_another_limit_is_refused(home: Home) -> None:
    home.ledger(1)
    with pytest.raises(
        LedgerError, match=r"made with (limit|rho) 1; it was opened with (limit|rho) 2"
    ):
        home.ledger(2)


def test_an_older_copy_is_refused(home: Home) -> None:
    ledger = home.ledger(1)
    ledger.spend(ASKED, 0.1, draw=fresh)
    old = home.copied("old")
    ledger.spend(ASKED, 0.1, draw=fresh)
    with pytest.raises(LedgerError, match="an older copy"):
        old.ledger(anchor=home.anchor)
    home.restore(old)
    with pytest.raises(LedgerError, match="an older copy"):
        ledger.spend(ASKED, 0.1, draw=never)  # a running process notices, too


def test_a_copy_from_before_the_answer_cannot_draw_it_again(home: Home) -> None:
    ledger = home.ledger(1)

    copies: list[Home] = []

    def copy() -> bytes:
        copies.append(home.copied("charged"))
        return b"answer"

    ledger.spend(ASKED, 0.1, draw=copy, key="k")
    with pytest.raises(LedgerError, match="an older copy"):
        copies[0].ledger(anchor=home.anchor)


def test_a_fork_is_refused(home: Home) -> None:
    ledger = home.ledger(1)
    twin = home.copied("twin")
    shutil.copy(home.anchor, twin.anchor)
    for _ in range(2):
        ledger.spend(ASKED, 0.1, draw=fresh)
        twin.ledger().spend(ASKED, 0.1, draw=fresh)
    with pytest.raises(LedgerError, match="a fork of the true ledger"):
        twin.ledger(anchor=home.anchor)


def test_an_edited_entry_is_refused(home: Home) -> None:
    home.ledger(1).spend(ASKED, "1/10", draw=fresh)
    home.edit("UPDATE entries SET body = replace(body, '1/10', '1/99') WHERE number = 1")
    with pytest.raises(LedgerError, match="Entry 1 of the ledger has been edited"):
        home.ledger()


def test_a_chain_forged_from_a_changed_entry_is_refused_by_the_anchor(home: Home) -> None:
    ledger = home.ledger(1)
    ledger.spend(ASKED, "1/10", draw=fresh, key="k")
    forged = Account()
    forged.follow(home.entries()[0])
    cost = Cost.of(**{home.notion: "1/99"})
    cheap = forged.charge("k", ledger.history()[0].request, cost, None, "")
    forged.follow(cheap)
    answer = forged.answer("k", ledger.history()[0].answer or "")
    home.edit(
        *(
            f"UPDATE entries SET body = '{entry.body}', hash = '{entry.hash}' "
            f"WHERE number = {entry.number}"
            for entry in (cheap, answer)
        ),
    )
    with pytest.raises(LedgerError, match="a fork of the true ledger"):
        home.ledger()


def test_guards_taken_away_are_missed(home: Home) -> None:
    home.ledger(1)
    home.drop_guard()
    with pytest.raises(LedgerError, match="not a ledger made by trueup"):
        home.ledger()


def test_a_lost_ledger_is_not_begun_again(home: Home) -> None:
    home.ledger(1).spend(ASKED, 0.1, draw=fresh)
    home.remove()
    for limit in (1, None):
        with pytest.raises(LedgerError, match="the ledger is lost"):
            home.ledger(limit)


def test_an_anchor_of_unknown_fate_is_settled_before_an_answer_leaves(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote it may have died before it was safe on disk."""
    answer = home.ledger(1).spend(ASKED, 0.1, draw=fresh, key="k")
    settled, settle = [], FileAnchor.settle

    def settling(anchor: FileAnchor) -> None:
        settled.append(anchor.read())
        settle(anchor)

    monkeypatch.setattr(FileAnchor, "settle", settling)
    ledger = home.ledger()
    settled.clear()
    assert ledger.spend(ASKED, 0.1, draw=never, key="k") == answer
    assert settled == [FileAnchor(home.anchor).read()]


def test_a_total_of_delta_too_long_to_write_down_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "x.ledger", limit=10, delta_limit="1/2")
    with pytest.raises(InputError, match="thousands of digits"):  # noqa: PT012
        for odd in range(1, 99, 2):
            ledger.spend(ASKED, "1/100", delta=Fraction(1, 10**99 - odd), draw=fresh)
    assert 1 < len(ledger.charges) < 49
    assert Ledger(tmp_path / "x.ledger").verify() == 1 + 2 * len(ledger.charges)


def test_a_lost_damaged_or_foreign_anchor_is_refused(home: Home) -> None:
    ledger = home.ledger(1)
    ledger.spend(ASKED, 0.1, draw=fresh)
    good = home.anchor.read_bytes()
    home.anchor.unlink()
    with pytest.raises(LedgerError, match="no anchor"):
        home.ledger()
    for bad in (b"", good[:-9], good.replace(b'"entry":2', b'"entry":1'), b"\xff", b"[]", b"7"):
        home.anchor.write_bytes(bad)
        with pytest.raises(LedgerError, match="is damaged"):
            home.ledger()
    elsewhere = home.anchor.with_name("other")
    Ledger(elsewhere, limit=1, anchor=home.anchor.with_name("other.anchor"))
    home.anchor.write_bytes(home.anchor.with_name("other.anchor").read_bytes())
    with pytest.raises(LedgerError, match="belongs to another ledger"):
        home.ledger()
    home.anchor.write_bytes(good)
    assert home.ledger().spent == Fraction(1, 10)


def test_a_ledger_that_extends_its_anchor_is_accepted(home: Home) -> None:
    ledger = home.ledger(1)
    early = home.anchor.read_bytes()
    ledger.spend(ASKED, 0.1, draw=fresh, key="k")
    home.anchor.write_bytes(early)  # as if the process had died before its anchor was written
    again = home.ledger()
    assert again.spent == Fraction(1, 10)
    again.spend(ASKED, 0.1, draw=never, key="k")
    assert home.anchor.read_bytes() != early  # anchored before it was handed out again


def test_the_anchor_may_live_elsewhere(home: Home) -> None:
    elsewhere = home.anchor.parent / "usb" / "trips.anchor"
    elsewhere.parent.mkdir()
    home.ledger(1, anchor=elsewhere).spend(ASKED, 0.1, draw=fresh)
    assert home.ledger(anchor=elsewhere).spent == Fraction(1, 10)
    with pytest.raises(LedgerError, match="no anchor"):
        home.ledger()


def test_a_lost_or_damaged_answer_is_never_drawn_again(home: Home) -> None:
    ledger = home.ledger(1)
    ledger.spend(ASKED, 0.1, draw=lambda: b"answer", key="k")
    home.overwrite_answer(b"edited")
    with pytest.raises(LedgerError, match=r"is damaged.*never drawn again"):
        ledger.spend(ASKED, 0.1, draw=never, key="k")
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.verify()
    home.overwrite_answer(None)
    with pytest.raises(LedgerError, match=r"is missing.*never drawn again"):
        ledger.spend(ASKED, 0.1, draw=never, key="k")
    assert ledger.spent == Fraction(1, 10)


def test_an_allowance_outlives_the_process_and_is_verified(home: Home) -> None:
    ledger = home.ledger(2)
    ledger.allow("ana", "1/2")
    ledger.allow("ana", "1/2")  # said already: no entry
    ledger.spend({"q": 1}, "1/3", draw=lambda: b"a", key="one", by="ana")
    again = home.ledger()
    assert again.allowed("ana") == (Fraction(1, 2), Fraction(1, 3))
    assert again.allowed("bo") == (None, Fraction(0))
    with pytest.raises(BudgetError, match="1/6 of your own 1/2 is left"):
        again.spend({"q": 2}, "1/3", draw=lambda: b"never", key="two", by="ana")
    again.spend({"q": 2}, "1/3", draw=lambda: b"b", key="two", by="bo")
    again.allow("ana", 0)
    with pytest.raises(BudgetError, match="Ask for more"):
        ledger.spend({"q": 3}, "1/100", draw=lambda: b"never", key="three", by="ana")
    assert again.verify() == 7  # opening, two allowances, two charges, two answers
    for wrong in (-1, "x", float("nan")):
        with pytest.raises(InputError):
            ledger.allow("ana", wrong)


def test_a_stored_answer_is_found_by_its_key(home: Home) -> None:
    ledger = home.ledger(1)
    before = time.time()
    ledger.spend({"q": 1}, "1/3", draw=lambda: b"answer", key="one")
    charge = ledger.find("one")
    assert charge is not None
    assert ledger.stored(charge) == b"answer"
    assert before - 1 <= ledger.answered_at(charge) <= time.time() + 1
    assert ledger.find("two") is None
    with pytest.raises(LedgerError, match="no stored answer yet"):
        ledger.stored(replace(charge, answer=None))


def test_a_stored_answer_is_recalled_under_its_key_and_never_charged_for(home: Home) -> None:
    ledger, cost = home.ledger(1), Cost(home.notion, Fraction(1, 10))
    assert ledger.recall(ASKED, cost, key="k", by="ana") is None
    assert ledger.history() == ()

    def dies() -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.spend(ASKED, 0.1, draw=dies, key="k", by="ana")
    assert ledger.recall(ASKED, cost, key="k", by="ana") is None  # charged, and not answered yet
    ledger.spend(ASKED, 0.1, draw=lambda: b"answer", key="k", by="ana")
    assert ledger.recall(ASKED, cost, key="k", by="ana") == b"answer"
    for other in ({"cost": Cost(home.notion, Fraction(1, 5))}, {"by": None}):
        with pytest.raises(InputError, match="different request"):
            ledger.recall(**{"request": ASKED, "cost": cost, "key": "k", "by": "ana"} | other)  # type: ignore[arg-type]
    assert ledger.spent == Fraction(1, 10)


def test_a_request_without_a_key_has_one_that_nobody_can_guess(home: Home) -> None:
    ledger = home.ledger(1)
    for _ in range(2):
        ledger.spend(ASKED, 0.1, draw=fresh)
    one, two = (bytes.fromhex(charge.key) for charge in ledger.history())
    assert one != two
    assert len(one) == len(two) == 16


def test_a_running_process_notices_a_fork_before_it_charges(home: Home) -> None:
    """Put in the place of the ledger it has read: another history of the same length."""
    ledger = home.ledger(1)
    ledger.spend(ASKED, 0.1, draw=fresh, key="first")
    fork = home.copied("fork")
    shutil.copy(home.anchor, fork.anchor)
    ledger.spend(ASKED, 0.1, draw=fresh, key="here")
    fork.ledger().spend(ASKED, 0.1, draw=fresh, key="there")
    assert len(fork.ledger().history()) == len(ledger.history())
    home.restore(fork)
    with pytest.raises(LedgerError, match="fork of the true ledger"):
        ledger.spend(ASKED, 0.1, draw=never, key="next")
    assert not any('"next"' in entry.body for entry in home.entries())


def test_verify_reads_every_entry_again(home: Home) -> None:
    """An early entry is edited under a process that has read it; the last one stays."""
    ledger = home.ledger(1)
    for key in ("one", "two", "three"):
        ledger.spend(ASKED, 0.1, draw=fresh, key=key)
    assert ledger.verify() > 6
    home.edit("""UPDATE entries SET body = replace(body, '"one"', '"own"') WHERE number = 1""")
    with pytest.raises(LedgerError, match="Entry 1 of the ledger has been edited"):
        ledger.verify()


# Ledgers that count ρ.


def test_a_ledger_is_of_one_kind_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "l"
    made = Ledger(path, rho="1/2", delta_limit="1e-9", shown_at_delta="1e-10")
    assert (made.notion, made.limit, made.remaining) == ("rho", Fraction(1, 2), Fraction(1, 2))
    for said in ({"limit": "1/2"}, {"rho": 1}, {"rho": "1/2", "delta_limit": "1e-8"}):
        with pytest.raises(LedgerError, match=r"made with rho 1/2, delta_limit .* opened with"):
            Ledger(path, **said)
    with pytest.raises(LedgerError, match="opened with rho 1/2"):
        Ledger(path, rho="1/2", shown_at_delta="1e-6")
    assert Ledger(path, rho="1/2").balance == Ledger(path).balance == made.balance
    pure = Ledger(tmp_path / "pure", limit=1)
    assert pure.notion == "epsilon"
    with pytest.raises(LedgerError, match="made with limit 1; it was opened with rho 1"):
        Ledger(tmp_path / "pure", rho=1)
    with pytest.raises(InputError, match="the ledger counts epsilon"):
        pure.spend(ASKED, rho="1/8", draw=never)
    assert pure.history() == ()


def test_epsilon_rho_and_delta_are_spent_from_one_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l", rho="1/2", delta_limit="1e-9", unit="row", neighbours="replace")
    asked = ASKED | {"neighbours": "replace"}
    first = ledger.spend(asked, "1/2", draw=fresh, key="a", by="ana")
    ledger.spend(asked, rho="1/8", delta="1e-9", draw=fresh, key="b")
    again = Ledger(tmp_path / "l", unit="row", neighbours="replace")
    assert again.spend(asked, "1/2", draw=never, key="a", by="ana") == first
    assert again.balance.spent == Cost.of(rho="1/4", delta="1e-9")
    assert again.allowed("ana") == (None, Fraction(1, 8))
    shown = again.balance.spent.shown_at("1e-6").rounded
    assert repr(again) == f"<Ledger 'l': ρ 1/4 of 1/2 spent; as (ε, δ): {shown}>"
    assert again.verify() == 5
    with pytest.raises(BudgetError, match="0 of 1/1000000000 is left"):
        again.spend(asked, rho="1/8", delta="1e-12", draw=never)
    with pytest.raises(LedgerError, match="open another ledger"):
        again.spend(ASKED, rho="1/8", draw=never)


def test_a_stream_takes_each_step_once_and_in_order(home: Home) -> None:
    ledger = home.ledger(1)
    with pytest.raises(LedgerError, match="No stream was paid for under the key 'visits'"):
        ledger.take_step("visits", 0, "a")
    ledger.spend(ASKED, 0.1, draw=fresh, key="visits")
    assert ledger.last_step("visits") is None
    ledger.take_step("visits", 0, "a")
    ledger.take_step("visits", 1, "b")
    ledger.take_step("visits", 1, "b")  # the same, said again
    again = home.ledger()
    assert again.last_step("visits") == (1, "b")
    for number, state in ((0, "a"), (1, "c"), (3, "d")):
        with pytest.raises(LedgerError, match=r"is at step 1 in the ledger.*older copy"):
            again.take_step("visits", number, state)
    again.take_step("visits", 2, "c")
    assert ledger.last_step("visits") == (2, "c")
    assert ledger.verify() == 6  # opening, charge, answer, three steps
    assert ledger.spent == again.spent


@pytest.mark.parametrize("published", ["daily", 5, None, [1], [{"title": "a"}]])
def test_what_a_request_publishes_has_names(tmp_path: Path, published: object) -> None:
    ledger = Ledger(tmp_path / "l", limit=1)
    with pytest.raises(InputError, match="has a name each"):
        ledger.spend({"publishes": published}, "1/10", draw=lambda: b"x")
    assert ledger.spent == 0
    assert ledger.spend({"publishes": [{"name": "a"}]}, "1/10", draw=lambda: b"x") == b"x"


@pytest.mark.parametrize(
    "period", [5, "day", {}, {"per": "day"}, {"periods": 5}, {"periods": [["2026-01-01"]]},
               {"periods": [["2026-01-01", 0, "end"]]}],
)  # fmt: skip
def test_a_request_says_its_period_as_it_is_told(tmp_path: Path, period: Any) -> None:
    ledger = Ledger(tmp_path / "l", limit=1, per="day", date="at")
    said = {"per": "day", "date": "at", "zone": "UTC"}
    given = {**said, **period} if isinstance(period, dict) and "periods" in period else period
    with pytest.raises(InputError, match="The period of a request"):
        ledger.spend({"period": given}, "1/10", draw=lambda: b"x")
    with pytest.raises(LedgerError, match="names none"):
        ledger.spend({"period": None}, "1/10", draw=lambda: b"x")
    assert not ledger.history()


@pytest.mark.parametrize("request_", [["a"], "a", 3, None])
def test_a_request_is_said_by_its_words(tmp_path: Path, request_: Any) -> None:
    ledger = Ledger(tmp_path / "l", limit=1)
    with pytest.raises(InputError, match="plain JSON by its words"):
        ledger.spend(request_, "1/10", draw=lambda: b"x")


@pytest.mark.parametrize("place", ["", ".", "/"])
def test_a_ledger_and_its_anchor_are_files(tmp_path: Path, place: str) -> None:
    for given in ({"path": place}, {"path": tmp_path / "l", "anchor": place}):
        with pytest.raises(InputError, match="must name a file"):
            Ledger(**given, limit=1)  # type: ignore[arg-type]
    assert not (tmp_path / "l").exists()
