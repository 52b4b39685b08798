"""Digits of keys, against Python's own numbers and slices of text."""

from __future__ import annotations

import ipaddress
import random

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.errors import InputError
from trueup.keys.paths import Paths

U = tu.Universe


def keys_of(universe: tu.Universe, many: int = 80) -> tuple[list, object]:
    seeded = random.Random(2)
    keys = [universe.unrank(seeded.randrange(universe.size)) for _ in range(many)]
    column = np.array(keys, np.int64) if universe.whole else pa.array(keys, pa.large_binary())
    return keys, column


@pytest.mark.parametrize("step", [1, 2, 4, 8, 16])
def test_whole_numbers_go_by_bits(step: int) -> None:
    for universe in (U.integers(), U.ipv4(), U.integers(-5, 1000)):
        paths = Paths(universe, step)
        below = 1 << (step * (len(paths.fans) - 1))  # no more children than hold a key
        assert paths.fans[0] == -(-universe.size // below) > 1
        keys, column = keys_of(universe)
        for key, digits in zip(keys, paths.digits(column).tolist(), strict=True):
            number = 0
            for digit, fan in zip(digits, paths.fans, strict=True):
                assert 0 <= digit < fan
                number = number * fan + digit
            assert number == universe.rank(key)


@pytest.mark.parametrize("step", [4, 8, 16])
def test_ipv6_addresses_go_by_bits_from_the_left(step: int) -> None:
    keys, column = keys_of(U.ipv6())
    paths = Paths(U.ipv6(), step)
    assert (paths.digits(column.slice(3)) == paths.digits(column)[3:]).all()
    for key, digits in zip(keys, paths.digits(column).tolist(), strict=True):
        assert sum(d << (128 - step * (k + 1)) for k, d in enumerate(digits)) == int.from_bytes(key)
        label = paths.label(tuple(digits[:2]))
        assert ipaddress.IPv6Address(key) in ipaddress.IPv6Network(label)


def test_strings_go_by_letters_and_end() -> None:
    universe = U.text("a-c", 5)
    paths = Paths(universe, levels=4)
    keys, column = keys_of(universe)
    for key, digits in zip(keys, paths.digits(column).tolist(), strict=True):
        letters = [" abc".index(letter) for letter in key.decode()[:4]]
        assert digits == letters + [0] * (4 - len(letters))
    assert paths.label((1, 2)) == "ab…"
    assert paths.label((1, 2, 0)) == "ab"
    assert Paths(U.bytes(100)).fans == (257,) * 16
    assert Paths(U.pattern("[ab][xyz]")).label((1, 2)) == "bz"
    assert Paths(U.pattern("[ab][xyz]")).label((1,)) == "b…"


def test_places_go_by_quarters() -> None:
    universe = U.places("45/8")  # 32 rows
    paths = Paths(universe)
    assert paths.fans == (8, 4, 4, 4, 4)
    keys, column = keys_of(universe, 40)
    for key, digits in zip(keys, paths.digits(column).tolist(), strict=True):
        low, high = (
            [float(end) for end in corner.split(",")]
            for corner in paths.label(tuple(digits)).split(" to ")
        )
        assert [float(end) for end in universe.space.corner(key)] == low
        assert high == [low[0] + 5.625, low[1] + 5.625]
    assert paths.label((0,)) == "-90,-180 to 0,-90"
    assert Paths(U.places("45/4")).fans == (32, 16)


def test_labels_of_addresses_and_numbers() -> None:
    assert Paths(U.ipv4(), 8).label((10, 0)) == "10.0.0.0/16"
    assert Paths(U.ipv4(), 8).label(()) == "all"
    assert Paths(U.integers(0, 1000), 4).label((3,)) == "768–1000"
    assert Paths(U.integers(0, 1000), 4).label((0, 0, 7)) == "7"


@pytest.mark.parametrize(
    ("universe", "step", "levels"),
    [
        (U.ipv4(), 3, None), (U.ipv6(), 2, None), (U.places(1), None, None),
        (U.places("45/8"), 2, None), (U.text("a-c", 3), 2, None), (U.text("é", 3), None, None),
        (U.ipv4(), 8, 5), (U.ipv4(), 8, 0), (U.ipv4(), 8, 9),
        (U.pattern("ab"), 2, None), (U.bytes(200), None, 100),
    ],
)  # fmt: skip
def test_trees_that_cannot_be_are_refused(
    universe: tu.Universe, step: int | None, levels: int | None
) -> None:
    with pytest.raises(InputError):
        Paths(universe, step, levels)
