"""A universe is written and read, and says how large it is."""

from __future__ import annotations

import pytest

from trueup.errors import InputError
from trueup.keys.universe import Universe, many


@pytest.mark.parametrize(
    "said",
    [
        None, {}, {"kind": "words"}, {"kind": "text", "most": 3}, {"kind": "ipv4", "bits": 3},
        {"kind": "pattern", "pattern": 7}, {"kind": "integers", "first": "a"},
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
    assert str(Universe.ipv6()) == "ipv6: 2^128 keys"
    assert "most 3" in str(Universe.text("a-c", 3))
