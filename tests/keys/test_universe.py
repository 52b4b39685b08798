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


def test_sizes_are_said_in_words() -> None:
    assert [many(5), many(2**20), many(2**32), many(10**20)] == [
        "5", "1,048,576", "2^32", "about 2^66",
    ]  # fmt: skip
    assert str(Universe.ipv6()) == "ipv6: 2^128 keys"
    assert "most 3" in str(Universe.text("a-c", 3))
