"""The ledger: one charge a key, exact sums, and no opening of a ledger that was tampered with."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from trueup.errors import BudgetError, InputError, LedgerError
from trueup.owner.account import Account, Entry
from trueup.owner.ledger import Ledger

ASKED = {"question": {"kind": "unit-counts"}, "neighbours": "add-remove", "unit": "row"}


def never() -> bytes:
    """A draw that must not happen."""
    raise AssertionError("noise was drawn")


def fresh() -> bytes:
    """Noise: different each time."""
    return os.urandom(16)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trips.ledger"


def copied(path: Path, to: Path) -> Path:
    """A copy of a ledger's database, with its log if it has one, and nothing else."""
    to.mkdir()
    for name in (path.name, path.name + "-wal"):
        if (path.parent / name).exists():
            shutil.copy(path.parent / name, to / name)
    return to / path.name


def edit(path: Path, *statements: str) -> None:
    """Run SQL on a ledger behind its back, its guards set aside for the moment."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        guards = database.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"
        ).fetchall()
        for name, _ in guards:
            database.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            database.execute(statement)
        for _, sql in guards:
            database.execute(sql)


def test_a_charge_is_exact_and_outlives_its_ledger_object(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    assert ledger.remaining == 1
    for _ in range(3):
        ledger.spend(ASKED, 0.1, draw=fresh)
    again = Ledger(path, limit="1.0")
    assert again.spent == ledger.spent == Fraction(3, 10)
    assert again.remaining == Fraction(7, 10)
    assert again.limit == 1
    assert "3/10 of 1 spent" in repr(again)


def test_an_existing_ledger_needs_no_limit_and_a_missing_one_does(path: Path) -> None:
    with pytest.raises(LedgerError, match="Give its limit to make one"):
        Ledger(path)
    assert not list(path.parent.iterdir())
    Ledger(path, limit=2)
    assert Ledger(path).limit == 2
    for wrong in (None, 5, b"ledger"):
        with pytest.raises(InputError, match="The path of a ledger is text or a Path, got"):
            Ledger(wrong, limit=1)  # type: ignore[arg-type]


def test_the_same_key_returns_the_same_bytes_and_charges_once(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    first = ledger.spend(ASKED, 0.1, draw=fresh, key="k")
    assert ledger.spend(ASKED, "1/10", draw=never, key="k") == first
    assert Ledger(path).spend(ASKED, "1/10", draw=never, key="k") == first
    assert ledger.spent == Fraction(1, 10)
    assert ledger.spend(ASKED, 0.1, draw=fresh) != ledger.spend(ASKED, 0.1, draw=fresh)
    assert ledger.spent == Fraction(3, 10)


def test_a_key_reused_for_another_request_is_refused_and_costs_nothing(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, 0.1, draw=fresh, key="k")
    for request, epsilon, by in [(ASKED | {"unit": "person"}, 0.1, None), (ASKED, 0.2, None)]:
        with pytest.raises(InputError, match="different request"):
            ledger.spend(request, epsilon, draw=never, key="k", by=by)
    with pytest.raises(InputError, match="different request"):
        ledger.spend(ASKED, 0.1, draw=never, key="k", by="another analyst")
    assert ledger.spent == Fraction(1, 10)


def test_a_refused_charge_draws_nothing(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    with pytest.raises(BudgetError, match="This costs 2; 1 of 1 is left"):
        ledger.spend(ASKED, 2, draw=never)
    for wrong in (0, -1, float("nan"), float("inf"), True, "much", Fraction(10**5000)):
        with pytest.raises(InputError):
            ledger.spend(ASKED, wrong, draw=never)
    for wrong_key in ("", "k" * 201, 7):
        with pytest.raises(InputError, match="key must be text"):
            ledger.spend(ASKED, 1, draw=never, key=wrong_key)  # type: ignore[arg-type]
    assert ledger.spent == 0
    assert ledger.history() == ()


def test_the_charge_is_on_disk_and_anchored_before_the_noise_is_drawn(
    path: Path, tmp_path: Path
) -> None:
    ledger = Ledger(path, limit=1)

    def look() -> bytes:
        twin = copied(path, tmp_path / "twin")
        assert Ledger(twin, anchor=ledger.anchor).spent == Fraction(1, 10)
        return b"noise"

    ledger.spend(ASKED, 0.1, draw=look)
    assert (tmp_path / "twin").exists()


def test_a_charge_without_an_answer_is_completed_with_fresh_noise_and_no_second_charge(
    path: Path,
) -> None:
    ledger = Ledger(path, limit=1)

    def dies() -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.spend(ASKED, 0.1, draw=dies, key="k")
    assert ledger.spent == Fraction(1, 10)
    assert ledger.history()[0].answer is None
    assert ledger.spend(ASKED, 0.1, draw=lambda: b"fresh", key="k") == b"fresh"
    assert ledger.spend(ASKED, 0.1, draw=never, key="k") == b"fresh"
    assert ledger.spent == Fraction(1, 10)


def test_two_that_complete_one_charge_hand_out_the_same_bytes(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    inner: list[bytes] = []

    def overtaken() -> bytes:
        inner.append(Ledger(path).spend(ASKED, 0.1, draw=lambda: b"first", key="k"))
        return b"second"

    assert ledger.spend(ASKED, 0.1, draw=overtaken, key="k") == b"first" == inner[0]
    assert ledger.spent == Fraction(1, 10)
    assert len(list(ledger.answers.iterdir())) == 1  # the answer that lost is not kept


def test_the_history_tells_what_was_asked_and_never_when_it_was_answered(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, "1/3", draw=lambda: b"answer", key="k", by="ana")
    (charge,) = ledger.history()
    assert (charge.key, charge.epsilon, charge.by) == ("k", Fraction(1, 3), "ana")
    table = ledger.charges
    assert table.column_names == [
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
    assert row["epsilon"] == row["spent"] == "1/3"
    assert row["request"] == (
        '{"neighbours":"add-remove","question":{"kind":"unit-counts"},"unit":"row"}'
    )
    with closing(sqlite3.connect(path)) as database:
        (answer,) = database.execute("SELECT body FROM entries WHERE number = 2").fetchone()
    assert "time" not in answer


def test_threads_share_a_ledger_and_never_pass_its_limit(path: Path) -> None:
    ledger = Ledger(path, limit=1)

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
def test_a_forked_process_goes_on_with_its_parents_ledger(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, 0.1, draw=fresh)
    with ledger._lock:  # as if another thread were in the middle of a step
        child = os.fork()
        if child == 0:
            try:
                ledger.spend(ASKED, 0.1, draw=fresh)
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ledger.spent == Fraction(2, 10)


def test_only_the_owner_may_read_what_the_ledger_writes(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, 0.1, draw=fresh)
    for file in path.parent.rglob("*"):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file


def test_the_database_writes_ahead_and_syncs_in_full(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    with ledger._connected() as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA synchronous").fetchone() == (2,)
        ledger_file = path.read_bytes()
    assert ledger_file[18:20] == b"\2\2"  # the file format's own mark of a write-ahead log


def test_the_database_itself_refuses_updates_and_deletes(path: Path) -> None:
    Ledger(path, limit=1).spend(ASKED, 0.1, draw=fresh)
    with closing(sqlite3.connect(path)) as database:
        for statement in ("UPDATE entries SET body = ''", "DELETE FROM entries"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                database.execute(statement)


# Ledgers that are refused, each in its own words.


def test_another_limit_is_refused(path: Path) -> None:
    Ledger(path, limit=1)
    with pytest.raises(LedgerError, match="made with limit 1; it was opened with limit 2"):
        Ledger(path, limit=2)


def test_an_older_copy_is_refused(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, 0.1, draw=fresh)
    old = copied(path, tmp_path / "old")
    ledger.spend(ASKED, 0.1, draw=fresh)
    with pytest.raises(LedgerError, match="an older copy"):
        Ledger(old, anchor=ledger.anchor)
    shutil.copy(old, path)
    with pytest.raises(LedgerError, match="an older copy"):
        ledger.spend(ASKED, 0.1, draw=never)  # a running process notices, too


def test_a_copy_from_before_the_answer_cannot_draw_it_again(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path, limit=1)

    def copy() -> bytes:
        copied(path, tmp_path / "charged")
        return b"answer"

    ledger.spend(ASKED, 0.1, draw=copy, key="k")
    with pytest.raises(LedgerError, match="an older copy"):
        Ledger(tmp_path / "charged" / path.name, anchor=ledger.anchor)


def test_a_truncated_file_is_refused(path: Path) -> None:
    Ledger(path, limit=1).spend(ASKED, 0.1, draw=fresh)
    os.truncate(path, path.stat().st_size - 4096)
    with pytest.raises(LedgerError, match="truncated, damaged or not a ledger"):
        Ledger(path)


def test_a_fork_is_refused(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path, limit=1)
    twin = copied(path, tmp_path / "twin")
    shutil.copy(ledger.anchor, tmp_path / "twin.anchor")
    for _ in range(2):
        ledger.spend(ASKED, 0.1, draw=fresh)
        Ledger(twin, anchor=tmp_path / "twin.anchor").spend(ASKED, 0.1, draw=fresh)
    with pytest.raises(LedgerError, match="a fork of the true ledger"):
        Ledger(twin, anchor=ledger.anchor)


def test_an_edited_entry_is_refused(path: Path) -> None:
    Ledger(path, limit=1).spend(ASKED, "1/10", draw=fresh)
    edit(path, "UPDATE entries SET body = replace(body, '1/10', '1/99') WHERE number = 1")
    with pytest.raises(LedgerError, match="Entry 1 of the ledger has been edited"):
        Ledger(path)


def test_a_chain_forged_from_a_changed_entry_is_refused_by_the_anchor(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, "1/10", draw=fresh, key="k")
    with closing(sqlite3.connect(path)) as database:
        rows = [Entry(*row) for row in database.execute("SELECT * FROM entries")]
    forged = Account()
    forged.follow(rows[0])
    cheap = forged.charge("k", ledger.history()[0].request, Fraction(1, 99), None, "")
    forged.follow(cheap)
    answer = forged.answer("k", ledger.history()[0].answer or "")
    edit(
        path,
        *(
            f"UPDATE entries SET body = '{entry.body}', hash = '{entry.hash}' "
            f"WHERE number = {entry.number}"
            for entry in (cheap, answer)
        ),
    )
    with pytest.raises(LedgerError, match="a fork of the true ledger"):
        Ledger(path)


def test_guards_taken_away_are_missed(path: Path) -> None:
    Ledger(path, limit=1)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TRIGGER never_dropped")
    with pytest.raises(LedgerError, match="not a ledger made by trueup"):
        Ledger(path)


def test_a_file_that_is_not_a_ledger_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"my holiday photos")
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(path, limit=1)
    assert path.read_bytes() == b"my holiday photos"
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE entries (number, body, hash)")
    with pytest.raises(LedgerError, match="not a ledger made by trueup"):
        Ledger(path, limit=1)


def test_a_lost_ledger_is_not_begun_again(path: Path) -> None:
    Ledger(path, limit=1)
    path.unlink()
    with pytest.raises(LedgerError, match="the ledger is lost"):
        Ledger(path, limit=1)


def test_a_lost_damaged_or_foreign_anchor_is_refused(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, 0.1, draw=fresh)
    good = ledger.anchor.read_bytes()
    ledger.anchor.unlink()
    with pytest.raises(LedgerError, match="no anchor"):
        Ledger(path)
    for bad in (b"", good[:-9], good.replace(b'"entry":2', b'"entry":1'), b"\xff", b"[]", b"7"):
        ledger.anchor.write_bytes(bad)
        with pytest.raises(LedgerError, match="is damaged"):
            Ledger(path)
    other = Ledger(tmp_path / "other", limit=1)
    ledger.anchor.write_bytes(other.anchor.read_bytes())
    with pytest.raises(LedgerError, match="belongs to another ledger"):
        Ledger(path)
    ledger.anchor.write_bytes(good)
    assert Ledger(path).spent == Fraction(1, 10)


def test_a_ledger_that_extends_its_anchor_is_accepted(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    early = ledger.anchor.read_bytes()
    ledger.spend(ASKED, 0.1, draw=fresh, key="k")
    ledger.anchor.write_bytes(early)  # as if the process had died before its anchor was written
    again = Ledger(path)
    assert again.spent == Fraction(1, 10)
    again.spend(ASKED, 0.1, draw=never, key="k")
    assert again.anchor.read_bytes() != early  # anchored before it was handed out again


def test_the_anchor_may_live_elsewhere(path: Path, tmp_path: Path) -> None:
    (tmp_path / "usb").mkdir()
    elsewhere = tmp_path / "usb" / "trips.anchor"
    Ledger(path, limit=1, anchor=elsewhere).spend(ASKED, 0.1, draw=fresh)
    assert Ledger(path, anchor=elsewhere).spent == Fraction(1, 10)
    with pytest.raises(LedgerError, match="no anchor"):
        Ledger(path)


def test_a_lost_or_damaged_answer_is_never_drawn_again(path: Path) -> None:
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, 0.1, draw=lambda: b"answer", key="k")
    (file,) = ledger.answers.iterdir()
    file.write_bytes(b"edited")
    with pytest.raises(LedgerError, match=r"is damaged.*never drawn again"):
        ledger.spend(ASKED, 0.1, draw=never, key="k")
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.verify()
    file.unlink()
    with pytest.raises(LedgerError, match=r"is missing.*never drawn again"):
        ledger.spend(ASKED, 0.1, draw=never, key="k")
    assert ledger.spent == Fraction(1, 10)


def test_a_folder_that_is_not_there_is_an_error_in_our_words(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="No such file or directory"):
        Ledger(tmp_path / "nowhere" / "trips.ledger", limit=1)


def test_an_allowance_outlives_the_process_and_is_verified(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    ledger = Ledger(path, limit=2)
    ledger.allow("ana", "1/2")
    ledger.allow("ana", "1/2")  # said already: no entry
    ledger.spend({"q": 1}, "1/3", draw=lambda: b"a", key="one", by="ana")
    again = Ledger(path)
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


def test_a_stored_answer_is_found_by_its_key(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "x.ledger", limit=1)
    before = time.time()
    ledger.spend({"q": 1}, "1/3", draw=lambda: b"answer", key="one")
    charge = ledger.find("one")
    assert charge is not None
    assert ledger.stored(charge) == b"answer"
    assert before - 1 <= ledger.answered_at(charge) <= time.time() + 1
    assert ledger.find("two") is None
    with pytest.raises(LedgerError, match="no stored answer yet"):
        ledger.stored(replace(charge, answer=None))


def test_a_running_process_notices_a_fork_before_it_charges(path: Path, tmp_path: Path) -> None:
    """Put in the place of the ledger it has read: another history of the same length."""
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, 0.1, draw=fresh, key="first")
    fork = copied(path, tmp_path / "fork")
    shutil.copy(ledger.anchor, tmp_path / "fork" / ledger.anchor.name)
    ledger.spend(ASKED, 0.1, draw=fresh, key="here")
    Ledger(fork).spend(ASKED, 0.1, draw=fresh, key="there")
    assert len(Ledger(fork).history()) == len(ledger.history())
    path.write_bytes(fork.read_bytes())
    with pytest.raises(LedgerError, match="fork of the true ledger"):
        ledger.spend(ASKED, 0.1, draw=never, key="next")
    with closing(sqlite3.connect(path)) as database:
        keys = [row[0] for row in database.execute("SELECT body FROM entries")]
    assert not any('"next"' in body for body in keys)


def test_verify_reads_every_entry_again(path: Path) -> None:
    """An early entry is edited under a process that has read it; the last one stays."""
    ledger = Ledger(path, limit=1)
    for key in ("one", "two", "three"):
        ledger.spend(ASKED, 0.1, draw=fresh, key=key)
    assert ledger.verify() > 6
    edit(path, """UPDATE entries SET body = replace(body, '"one"', '"own"') WHERE number = 1""")
    with pytest.raises(LedgerError, match="Entry 1 of the ledger has been edited"):
        ledger.verify()


def test_pages_that_do_not_hold_together_are_refused_on_opening(path: Path) -> None:
    """Every entry can be read, and yet the file is damaged: its list of free pages is too long."""
    ledger = Ledger(path, limit=1)
    ledger.spend(ASKED, 0.1, draw=fresh)
    content = bytearray(path.read_bytes())
    content[36:40] = (1).to_bytes(4, "big")
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="truncated, damaged or not a ledger"):
        Ledger(path)
    with pytest.raises(LedgerError, match="truncated, damaged or not a ledger"):
        ledger.verify()
