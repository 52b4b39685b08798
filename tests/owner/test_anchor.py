"""The anchor: a ledger may go on from it, never back, and a damaged one is never believed."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.budget import Budget
from trueup.errors import LedgerError
from trueup.owner import account
from trueup.owner.account import Account
from trueup.owner.anchor import Anchor, FileAnchor

HEAD = Anchor("a" * 32, 3, "b" * 64)


def test_what_is_written_is_read_and_nothing_is_none(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    assert FileAnchor(path).read() is None
    FileAnchor(path).write(HEAD)
    assert FileAnchor(path).read() == HEAD
    FileAnchor(path).write(Anchor("a" * 32, 4, "c" * 64))
    assert FileAnchor(path).read() == Anchor("a" * 32, 4, "c" * 64)


def test_a_settled_anchor_has_its_name_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is synced, as whoever wrote the anchor may have died before that."""
    anchor, synced = FileAnchor(tmp_path / "anchor"), []
    anchor.write(HEAD)
    sync = os.fsync

    def syncing(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        sync(handle)

    monkeypatch.setattr(os, "fsync", syncing)
    anchor.settle()
    assert synced == [str(tmp_path)]


@given(place=st.integers(min_value=0), bit=st.integers(min_value=0, max_value=7))
def test_an_anchor_with_one_bit_flipped_is_refused_or_says_the_same(
    tmp_path_factory: pytest.TempPathFactory, place: int, bit: int
) -> None:
    path = tmp_path_factory.mktemp("anchor") / "anchor"
    FileAnchor(path).write(HEAD)
    text = bytearray(path.read_bytes())
    text[place % len(text)] ^= 1 << bit
    path.write_bytes(bytes(text))
    if place % len(text) == len(text) - 1 and bytes(text[-1:]).isspace():
        assert FileAnchor(path).read() == HEAD  # another space for the newline at its end
        return
    with pytest.raises(LedgerError, match="is damaged"):
        FileAnchor(path).read()


@pytest.mark.parametrize("said", ["", "{}", "[]", "null", "3", '{"sum": 1}', "[" * 100_000])
def test_what_is_no_anchor_is_refused(tmp_path: Path, said: str) -> None:
    path = tmp_path / "anchor"
    path.write_text(said)
    with pytest.raises(LedgerError, match="is damaged"):
        FileAnchor(path).read()


def test_an_anchor_with_another_entry_and_its_old_sum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    FileAnchor(path).write(HEAD)
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "entry": 2}))
    with pytest.raises(LedgerError, match="is damaged"):
        FileAnchor(path).read()


def test_a_ledger_must_contain_the_anchored_entry() -> None:
    now = Account()
    now.follow(
        account.opening("a" * 32, Budget("epsilon", Fraction(1)), "2026-01-01T00:00:00+00:00", None)
    )
    now.follow(now.allowance("ann", Fraction(1), "2026-01-01T00:00:00+00:00"))
    here, there = "ledger", "anchor"
    for entry in (0, 1):
        Anchor("a" * 32, entry, now.hashes[entry]).check(now, here, there)
    with pytest.raises(LedgerError, match="another ledger"):
        Anchor("b" * 32, 1, now.hash).check(now, here, there)
    with pytest.raises(LedgerError, match="ends before entry 2"):
        Anchor("a" * 32, 2, now.hash).check(now, here, there)
    for entry in (0, 1):
        with pytest.raises(LedgerError, match=f"another entry {entry} than"):
            Anchor("a" * 32, entry, now.hashes[1 - entry]).check(now, here, there)
