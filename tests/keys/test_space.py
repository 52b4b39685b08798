"""One contract for every universe: numbered without gaps, worded without doubles, total."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from trueup.keys import Universe

SMALL = {
    "integers": Universe.integers(-3, 9),
    "bytes": Universe.bytes(1),
    "text": Universe.text("ab_é", 3),
    "pattern": Universe.pattern(r"[a-c]{2}-[0-9]\[x"),
    "places": Universe.places(30),
}
LARGE = {
    "integers": Universe.integers(),
    "bytes": Universe.bytes(20),
    "text": Universe.text("a-zA-Z0-9 ", 30),
    "pattern": Universe.pattern("[A-Z]{3}[0-9A-F]{16}"),
    "ipv4": Universe.ipv4(),
    "ipv6": Universe.ipv6(),
    "places": Universe.places("1/1000"),
}
# Any bytes at all: what a column may hold, whatever it was declared for.
ODD = [
    None, b"", b"a", b"ab", "abé".encode(), "é".encode()[:1], b"\xff\xfe", b"\0", b"a\0b",
    b"-", b"aa-0[x", b"AA-0[x", b"aa-0[x ", b"::1", b"0:0::1", b"1.2.3.4", b"::FFFF:1.2.3.4",
    b"fe80::1%eth0", b"1.2.3.04", b"::g", b" ::1", b"A" * 5000, b"\xf0\x9f\x98\x80", b"a" * 31,
]  # fmt: skip


@pytest.mark.parametrize("kind", SMALL)
def test_every_key_has_one_number_and_one_word(kind: str) -> None:
    universe = SMALL[kind]
    keys = [universe.unrank(number) for number in range(universe.size)]
    assert [universe.rank(key) for key in keys] == list(range(universe.size))
    labels = [universe.label(key) for key in keys]
    assert len(set(keys)) == len(set(labels)) == universe.size
    assert [universe.read(label) for label in labels] == keys
    for beyond in ("", "no such key", "-4", "10", "\ud800", "90,0", "1e1,3", None, 5.0):
        assert universe.read(beyond) in {None, *keys}


@pytest.mark.parametrize("kind", LARGE)
def test_large_universes_are_numbered_alike(kind: str) -> None:
    universe, seeded = LARGE[kind], random.Random(1)
    for number in [0, universe.size - 1, *(seeded.randrange(universe.size) for _ in range(60))]:
        key = universe.unrank(number)
        assert universe.rank(key) == number
        assert universe.read(universe.label(key)) == key
    assert Universe.from_json(universe.to_json()) == universe


@pytest.mark.parametrize("kind", ["bytes", "text", "pattern", "ipv6"])
def test_bytes_become_keys_by_a_total_function_of_each_alone(kind: str) -> None:
    """In any company and at any place of an array, a value has the key that it has alone."""
    for universe in (LARGE[kind], SMALL.get(kind, LARGE[kind])):
        column = pa.array(ODD, pa.large_binary())
        known = np.array([value is not None for value in ODD])
        keys, good = universe.place(column, known=known)
        for place, value in enumerate(ODD):
            alone = column.slice(place, 1)
            key, told = universe.place(alone, known=np.array([value is not None]))
            assert told[0] == good[place]
            if told[0]:
                assert key[0].as_py() == keys[place].as_py()
                assert 0 <= universe.rank(key[0].as_py()) < universe.size
        assert not good[0]


def test_numbers_become_keys_only_inside() -> None:
    ends = np.array([-(2**63), -4, -3, 9, 10, 2**63 - 1])
    keys, good = SMALL["integers"].place(ends, known=np.ones(6, bool))
    assert good.tolist() == [False, False, True, True, False, False]
    assert keys[good].tolist() == [-3, 9]
    assert LARGE["integers"].place(ends, known=np.ones(6, bool))[1].all()
    assert not LARGE["ipv4"].place(np.array([-1, 2**32]), known=np.ones(2, bool))[1].any()


@pytest.mark.parametrize("kind", LARGE)
def test_what_is_not_known_is_no_key(kind: str) -> None:
    """Rows that a filter, or a unit without a name, has left out stay out: every other one here."""
    universe = LARGE[kind]
    keys = [universe.unrank(number) for number in (0, 1, 2, universe.size // 2, universe.size - 1)]
    if universe.space.kind == "places":
        columns = np.array([-89.5, 0, 1, 3, 5]), np.array([0.5, 0, 2, 4, 6])
    elif universe.whole:
        columns = (np.array(keys),)
    else:
        said = [universe.label(key).encode() if kind == "ipv6" else key for key in keys]
        columns = (pa.array(said, pa.large_binary()),)
    for known in (np.ones(5, bool), np.arange(5) % 2 == 0, np.zeros(5, bool)):
        before = known.copy()
        _, good = universe.place(*columns, known=known)
        assert good.tolist() == known.tolist() == before.tolist()
