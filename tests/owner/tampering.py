"""Ways to tamper with a ledger, and the words in which each must be refused."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

from trueup.owner.account import Account, Entry, canonical, link
from trueup.owner.ledger import Ledger

WORDS = {
    "older copy": "is an older copy",
    "log removed": "is an older copy",
    "last entries deleted": "is an older copy",
    "fork": "is a fork",
    "chain forged": "is a fork",
    "entry edited": "edited",
    "hash edited": "edited",
    "entry deleted": "edited",
    "entries swapped": "edited",
    "entry doubled": "edited",
    "entry of nonsense added": "edited",
    "file truncated": "ledger",
    "block overwritten": "ledger",
    "guards dropped": "not a ledger made by trueup",
    "anchor removed": "no anchor",
    "anchor damaged": "is damaged",
    "anchor of another": "belongs to another ledger",
    "ledger removed": "There is no ledger",
}
CHARGES = 12


def prepare(folder: Path, chance: random.Random) -> Path:
    """A ledger of some charges, with a copy from after each of them, a fork, and a stranger."""
    now = folder / "now"
    now.mkdir(parents=True)
    ledger = Ledger(now / "ledger", limit=10)
    for number in range(CHARGES):
        if number == CHARGES // 2:
            shutil.copytree(now, folder / "fork")
        # Held open by a reader, the log is not folded into the database, and is copied as well.
        with contextlib.closing(sqlite3.connect(now / "ledger")) as reader:
            reader.execute("SELECT count(*) FROM entries").fetchone()
            cost = Fraction(1, chance.randint(5, 50))
            ledger.spend({"question": number}, cost, draw=lambda: os.urandom(8), key=str(number))
            (folder / "log").mkdir(exist_ok=True)
            for file in ("ledger", "ledger-wal", "ledger.anchor"):
                shutil.copy(now / file, folder / "log" / file)
        shutil.copytree(now, folder / "after" / str(number))
    branch = Ledger(folder / "fork" / "ledger")
    for number in range(CHARGES):
        branch.spend({"question": -number}, Fraction(1, 20), draw=lambda: b"fork")
    (folder / "stranger").mkdir()
    Ledger(folder / "stranger" / "ledger", limit=10)
    return folder


def rows(path: Path) -> list[Entry]:
    """The entries of a ledger, read without its checks."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        return [Entry(*row) for row in database.execute("SELECT * FROM entries ORDER BY number")]


def rewrite(path: Path, entries: list[Entry]) -> None:
    """Put other entries in a ledger, its guards set aside for the moment."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        guards = database.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"
        ).fetchall()
        for name, _ in guards:
            database.execute(f"DROP TRIGGER {name}")
        database.execute("DELETE FROM entries")
        for entry in entries:
            row = (entry.number, entry.body, entry.hash)
            database.execute("INSERT INTO entries VALUES (?, ?, ?)", row)
        for _, sql in guards:
            database.execute(sql)


def changed(text: str, chance: random.Random) -> str:
    """The text with one character changed."""
    place = chance.randrange(len(text))
    other = chance.choice([new for new in "0123456789abcdef" if new != text[place]])
    return text[:place] + other + text[place + 1 :]


def forged(entries: list[Entry], chance: random.Random) -> list[Entry]:
    """A chain that is well linked and adds up, but charges less for one request."""
    account, made = Account(), []
    victim = chance.choice([e.number for e in entries if '"kind":"charge"' in e.body])
    for entry in entries:
        fact = json.loads(entry.body)
        if fact["kind"] == "charge":
            cost = Fraction(fact["epsilon"]) / (2 if entry.number == victim else 1)
            fact |= {"epsilon": str(cost), "spent": str(account.spent + cost)}
        body = canonical(fact)
        made.append(Entry(entry.number, body, link(account.hash, body)))
        account.follow(made[-1])
    return made


def tamper(source: Path, copy: Path, number: int, chance: random.Random) -> str:
    """Make a tampered copy, and say what was done to it. The kinds take turns."""
    kind = list(WORDS)[number % len(WORDS)]
    shutil.copytree(source / "now", copy)
    path = copy / "ledger"
    entries = rows(path)
    victim = chance.randrange(1, len(entries))
    other = chance.choice([place for place in range(1, len(entries)) if place != victim])
    entry = entries[victim]
    if kind == "older copy":
        old = source / "after" / str(chance.randrange(CHARGES - 1))
        shutil.copy(old / "ledger", path)
    elif kind == "log removed":
        for file in ("ledger", "ledger.anchor"):
            shutil.copy(source / "log" / file, copy / file)
    elif kind == "last entries deleted":
        rewrite(path, entries[:victim])
    elif kind == "fork":
        shutil.copy(source / "fork" / "ledger", path)
    elif kind == "chain forged":
        rewrite(path, forged(entries, chance))
    elif kind == "entry edited":
        entries[victim] = Entry(victim, changed(entry.body, chance), entry.hash)
        rewrite(path, entries)
    elif kind == "hash edited":
        entries[victim] = Entry(victim, entry.body, changed(entry.hash, chance))
        rewrite(path, entries)
    elif kind == "entry deleted":
        del entries[min(victim, len(entries) - 2)]
        rewrite(path, entries)
    elif kind == "entries swapped":
        entries[victim] = Entry(victim, entries[other].body, entries[other].hash)
        entries[other] = Entry(other, entry.body, entry.hash)
        rewrite(path, entries)
    elif kind == "entry doubled":
        body = canonical(json.loads(entry.body) | {"entry": len(entries)})
        rewrite(path, [*entries, Entry(len(entries), body, link(entries[-1].hash, body))])
    elif kind == "entry of nonsense added":
        body = canonical({"entry": len(entries), "kind": "refund", "epsilon": "-1"})
        rewrite(path, [*entries, Entry(len(entries), body, link(entries[-1].hash, body))])
    elif kind == "file truncated":
        os.truncate(path, chance.randrange(path.stat().st_size))
    elif kind == "block overwritten":
        overwrite(path, entries, chance)
    elif kind == "guards dropped":
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute(f"DROP TRIGGER {chance.choice(['never_changed', 'never_dropped'])}")
    elif kind == "anchor removed":
        (copy / "ledger.anchor").unlink()
    elif kind == "anchor damaged":
        anchor = copy / "ledger.anchor"
        data = bytearray(anchor.read_bytes().rstrip())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(7)
        anchor.write_bytes(data)
    elif kind == "anchor of another":
        shutil.copy(source / "stranger" / "ledger.anchor", copy / "ledger.anchor")
    elif kind == "ledger removed":
        path.unlink()
    return kind


def overwrite(path: Path, entries: list[Entry], chance: random.Random) -> None:
    """Random bytes over a random place, chosen again until what SQLite reads is not the same."""
    good = path.read_bytes()
    while True:
        data = bytearray(good)
        start = chance.randrange(len(data))
        data[start : start + 64] = chance.randbytes(len(data[start : start + 64]))
        path.write_bytes(data)
        try:
            if rows(path) != entries:
                return
        except (sqlite3.Error, UnicodeDecodeError, TypeError):
            return
