"""Ways to tamper with a ledger, and the words in which each must be refused."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from homes import Home, PostgresHome, SqliteHome

from trueup.owner.account import Account, Entry, canonical, link
from trueup.owner.ledger import Ledger

CHARGES = 12


@dataclass(frozen=True)
class Source:
    """A ledger of some charges: backups of all its past, of a fork, and the anchors beside them."""

    now: bytes
    anchor: bytes
    entries: list[Entry]
    after: list[bytes]  # after each charge but the last
    fork: bytes
    stranger: bytes  # the anchor of another ledger
    log: tuple[bytes, bytes]  # a file whose last entries are in its log, and its anchor


def prepare(home: Home, chance: random.Random) -> Source:
    """Make the ledger, and leave it as it is now."""
    ledger = home.ledger(10)
    after, forked, log = [], b"", (b"", b"")
    for number in range(CHARGES):
        if number == CHARGES // 2:
            forked, forked_anchor = home.snapshot(), home.anchor.read_bytes()
        cost = Fraction(1, chance.randint(5, 50))
        with _log_kept(home):
            ledger.spend({"question": number}, cost, draw=lambda: os.urandom(8), key=str(number))
            log = (home.snapshot(), home.anchor.read_bytes())
        after.append(home.snapshot())
    now, anchor, entries = home.snapshot(), home.anchor.read_bytes(), home.entries()
    home.put(forked)
    home.anchor.write_bytes(forked_anchor)
    branch = home.ledger()
    for number in range(CHARGES):
        branch.spend({"question": -number}, Fraction(1, 20), draw=lambda: b"fork")
    fork = home.snapshot()
    stranger = home.anchor.with_name("stranger")
    Ledger(stranger, limit=10, anchor=stranger.with_name("stranger.anchor"))
    other = stranger.with_name("stranger.anchor").read_bytes()
    return Source(now, anchor, entries, after[:-1], fork, other, log)


@contextlib.contextmanager
def _log_kept(home: Home) -> Iterator[None]:
    """Held open by a reader, a file's log is not folded into it."""
    if not isinstance(home, SqliteHome):
        yield
        return
    with contextlib.closing(sqlite3.connect(home.path)) as reader:
        reader.execute("SELECT count(*) FROM entries").fetchone()
        yield


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
            notion = account.budget.notion
            cost = Fraction(fact[notion]) / (2 if entry.number == victim else 1)
            if notion == "rho":
                fact.pop("epsilon", None)  # or the square of it would not be what is charged
            fact |= {notion: str(cost), "spent": str(account.spent + cost)}
        body = canonical(fact)
        made.append(Entry(entry.number, body, link(account.hash, body)))
        account.follow(made[-1])
    return made


def _added(entries: list[Entry], fact: dict[str, object]) -> list[Entry]:
    body = canonical(fact | {"entry": len(entries)})
    return [*entries, Entry(len(entries), body, link(entries[-1].hash, body))]


def _cut_off(home: Home, source: Source, chance: random.Random) -> None:
    home.rewrite(source.entries[: chance.randrange(1, len(source.entries))])


def _forge(home: Home, source: Source, chance: random.Random) -> None:
    home.rewrite(forged(source.entries, chance))


def _edit_body(home: Home, source: Source, chance: random.Random) -> None:
    entries = list(source.entries)
    victim = chance.choice(entries[1:])
    entries[victim.number] = Entry(victim.number, changed(victim.body, chance), victim.hash)
    home.rewrite(entries)


def _edit_hash(home: Home, source: Source, chance: random.Random) -> None:
    entries = list(source.entries)
    victim = chance.choice(entries[1:])
    entries[victim.number] = Entry(victim.number, victim.body, changed(victim.hash, chance))
    home.rewrite(entries)


def _delete(home: Home, source: Source, chance: random.Random) -> None:
    entries = list(source.entries)
    del entries[chance.randrange(1, len(entries) - 1)]
    home.rewrite(entries)


def _swap(home: Home, source: Source, chance: random.Random) -> None:
    entries = list(source.entries)
    one, two = chance.sample(entries[1:], 2)
    entries[one.number] = Entry(one.number, two.body, two.hash)
    entries[two.number] = Entry(two.number, one.body, one.hash)
    home.rewrite(entries)


def _double(home: Home, source: Source, chance: random.Random) -> None:
    home.rewrite(_added(source.entries, json.loads(chance.choice(source.entries[1:]).body)))


def _refund(home: Home, source: Source, chance: random.Random) -> None:
    home.rewrite(_added(source.entries, {"kind": "refund", "epsilon": "-1"}))


def _damage_anchor(home: Home, source: Source, chance: random.Random) -> None:
    data = bytearray(source.anchor.rstrip())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(7)
    home.anchor.write_bytes(data)


def _remove_log(home: SqliteHome, source: Source, chance: random.Random) -> None:
    home.put(source.log[0])
    home.anchor.write_bytes(source.log[1])


def _overwrite(home: SqliteHome, source: Source, chance: random.Random) -> None:
    """Random bytes over a random place, chosen again until what SQLite reads is not the same."""
    while True:
        data = bytearray(source.now)
        start = chance.randrange(len(data))
        data[start : start + 64] = chance.randbytes(len(data[start : start + 64]))
        home.path.write_bytes(data)
        try:
            if home.entries() != source.entries:
                return
        except (sqlite3.Error, UnicodeDecodeError, TypeError):
            return


Way = Callable[[object, Source, random.Random], None]
EVERYWHERE: dict[str, tuple[str, Way]] = {
    "older copy": ("is an older copy", lambda h, s, c: h.put(c.choice(s.after))),
    "last entries deleted": ("is an older copy", _cut_off),
    "fork": ("is a fork", lambda h, s, c: h.put(s.fork)),
    "chain forged": ("is a fork", _forge),
    "entry edited": ("edited", _edit_body),
    "hash edited": ("edited", _edit_hash),
    "entry deleted": ("edited", _delete),
    "entries swapped": ("edited", _swap),
    "entry doubled": ("edited", _double),
    "entry of nonsense added": ("edited", _refund),
    "guards dropped": ("not a ledger made by trueup", lambda h, s, c: h.drop_guard()),
    "anchor removed": ("no anchor", lambda h, s, c: h.anchor.unlink()),
    "anchor damaged": ("is damaged", _damage_anchor),
    "anchor of another": (
        "belongs to another ledger",
        lambda h, s, c: h.anchor.write_bytes(s.stranger),
    ),
    "ledger removed": ("There is no ledger", lambda h, s, c: h.remove()),
}
WAYS: dict[type, dict[str, tuple[str, Way]]] = {
    SqliteHome: EVERYWHERE
    | {
        "log removed": ("is an older copy", _remove_log),
        "file truncated": (
            "ledger",
            lambda h, s, c: os.truncate(h.path, c.randrange(len(s.now))),
        ),
        "block overwritten": ("ledger", _overwrite),
    },
    PostgresHome: EVERYWHERE
    | {
        "guards switched off": (
            "not a ledger made by trueup",
            lambda h, s, c: h.execute("ALTER TABLE entries DISABLE TRIGGER ALL"),
        ),
        "answers dropped": (
            "damaged or not ours",
            lambda h, s, c: h.execute("DROP TABLE answers"),
        ),
    },
}


def tamper(home: Home, source: Source, number: int, chance: random.Random) -> tuple[str, str]:
    """Tamper with the ledger as it was; what was done, and the words of its refusal."""
    ways = WAYS[type(home)]
    kind = list(ways)[number % len(ways)]
    home.put(source.now)
    home.anchor.write_bytes(source.anchor)
    words, way = ways[kind]
    way(home, source, chance)
    return kind, words
