"""A universe is written and read, and says how large it is."""

from __future__ import annotations

import pytest

from trueup.axis import Axis
from trueup.errors import InputError
from trueup.keys.listed import Keys
from trueup.keys.universe import Universe, many


@pytest.mark.parametrize(
    "said",
    [
        None, {}, {"kind": "words"}, {"kind": "text", "most": 3}, {"kind": "ipv4", "bits": 3},
        {"kind": "pattern", "pattern": 7}, {"kind": "integers", "first": "a"}, {"kind": ["ipv4"]},
    ],
)  # fmt: skip
def test_what_is_no_universe_is_refused(said: object) -> None:
    with pytest.raises(InputError):
        Universe.from_json(said)


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("text:a-z:8", Universe.text("a-z", 8)), ("text:a:b:8", Universe.text("a:b", 8)),
        ("bytes:3", Universe.bytes(3)), ("integers", Universe.integers()),
        ("integers:-5:7", Universe.integers(-5, 7)), ("ipv4", Universe.ipv4()),
        ("pattern:[0-9]:[a-f]", Universe.pattern("[0-9]:[a-f]")),
        ("places:1/10", Universe.places("1/10")),
    ],
)  # fmt: skip
def test_universes_are_typed(typed: str, made: Universe) -> None:
    assert Universe.typed(typed) == made


@pytest.mark.parametrize(
    "typed", ["", "words", "ipv4:3", "bytes:", "bytes:x", "text:a-z", "integers:1:2:3", "text:8"]
)
def test_what_is_no_universe_cannot_be_typed(typed: str) -> None:
    with pytest.raises(InputError):
        Universe.typed(typed)


def test_sizes_are_said_in_words() -> None:
    assert [many(5), many(2**20), many(2**32), many(10**20)] == [
        "5", "1,048,576", "2^32", "about 2^66",
    ]  # fmt: skip
    assert str(Universe.ipv6()) == "IPv6 addresses (2^128 keys)"


@pytest.mark.parametrize(
    ("universe", "words"),
    [
        (Universe.text("0-9a-z", 6), "text of up to 6 characters, from 0–9 and a–z"),
        (Universe.text("ab", 1), "text of up to 1 character, from a and b"),
        (
            Universe.text("a-c \\-\t", 2),
            "text of up to 2 characters, from U+0009, space, - and a–c",
        ),
        (Universe.bytes(20), "up to 20 bytes"),
        (Universe.pattern("[A-Z]{2}-[0-9]{4}"), "text of the form '[A-Z]{2}-[0-9]{4}'"),
        (Universe.integers(), "whole numbers of 64 bits"),
        (Universe.integers(-5, 1000), "whole numbers from -5 to 1,000"),
        (Universe.ipv4(), "IPv4 addresses"),
        (Universe.places("1/10"), "places on the globe, in cells of 1/10 degrees"),
        (Universe.cells(Axis.integers("age", 0, 99)), "cells of age: whole numbers from 0 to 99"),
    ],
)
def test_a_universe_is_described_for_a_person(universe: Universe, words: str) -> None:
    assert str(universe).startswith(words)


LABELLED = [
    (Universe.integers(), [-(2**63), -1, 0, 7, 2**63 - 1]),
    (Universe.bytes(9), [b"", b"\0", b"fig", b"Z\xc3\xbcrich"]),
    (Universe.bytes(9), [b"", b"fig", b"\\x41", b"a\\b"]),
    (Universe.bytes(9), [b"fig", b"\xff", b"\xc3"]),
    (Universe.text("a-zé", 9), ["é".encode(), b"fig"]),
    (Universe.pattern("[A-Z]{2}-[0-9]{2}"), [b"AB-12", b"ZZ-99"]),
    (Universe.ipv4(), [0, 2**32 - 1]),
    (Universe.ipv6(), [bytes(16), bytes(15) + b"\1"]),
    (Universe.places("1/2"), [0, 7]),
    (Universe.cells(Axis.categories("a", ["x", "y"]), Axis.integers("b", 3, 4)), [0, 3]),
]


@pytest.mark.parametrize(("universe", "keys"), LABELLED)
def test_labels_of_many_keys_are_those_of_each(universe: Universe, keys: list) -> None:
    for some in (keys, keys[1:], []):
        found = universe.labels(Keys.of(some, universe.whole))
        assert found.to_pylist() == [universe.label(key) for key in some]
        assert [universe.read(label) for label in found.to_pylist()] == some
    if not universe.whole:  # from the middle of an array
        column = Keys.of(keys, False).column.slice(1)
        assert universe.labels(Keys(column)).to_pylist() == [*map(universe.label, keys[1:])]


@pytest.mark.parametrize("universe", [each for each, _ in LABELLED])
def test_half_a_character_is_no_key(universe: Universe) -> None:
    """JSON may hold a lone surrogate, which no text of bytes spells."""
    for text in ("\ud800", "1.2.3.4\udfff", "::1\ud800", "AB-1\ud800"):
        assert universe.read(text) is None
