"""Numbers, addresses and places as keys, against Python's own addresses and fractions."""

from __future__ import annotations

import ipaddress
import math
import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from trueup.errors import InputError
from trueup.keys import Universe
from trueup.keys.numbered import IntegerKeys, Ipv4Keys, Ipv6Keys, PlaceKeys


def test_every_spelling_of_an_ipv6_address_is_one_key() -> None:
    seeded, universe = random.Random(4), Universe.ipv6()
    for _ in range(100):
        number = seeded.getrandbits(128) & seeded.getrandbits(128) & ~(0xFFFF << 64)
        address = ipaddress.IPv6Address(number)
        spelled = {str(address), address.exploded, str(address).upper()}
        keys, good = universe.place(
            pa.array([each.encode() for each in spelled], pa.large_binary()),
            known=np.ones(len(spelled), bool),
        )
        assert good.all()
        assert set(keys.to_pylist()) == {address.packed}
        assert universe.rank(address.packed) == number


def test_ipv4_addresses_are_mapped_and_zones_are_none() -> None:
    read = Ipv6Keys().read
    assert read("1.2.3.4") == read("::ffff:1.2.3.4") == read("::ffff:102:304")
    assert Ipv6Keys().label(read("1.2.3.4")) == "::ffff:1.2.3.4"
    for wrong in ("fe80::1%eth0", "1.2.3.04", "::1 ", "1::2::3", "12345::", "1" * 60, "", "::é"):
        assert read(wrong) is None
    assert Ipv4Keys().read("1.2.3.4") == 0x01020304
    assert Ipv4Keys().label(0x01020304) == "1.2.3.4"


def test_a_place_lies_in_its_cell_exactly() -> None:
    cells, seeded = PlaceKeys("1/10"), random.Random(8)
    assert cells.size == 1800 * 3600
    latitude = np.array([seeded.uniform(-90, 90) for _ in range(300)] + [-90.0, 89.95, 0.3, -0.0])
    longitude = np.array([seeded.uniform(-180, 180) for _ in range(300)] + [-180.0, 0.1, 0.7, 5.0])
    keys, good = cells.place(latitude, longitude, np.ones(len(latitude), bool))
    assert good.all()
    for key, north, east in zip(keys.tolist(), latitude, longitude, strict=True):
        # Edges are the floats nearest to the tenths, as for regular bins.
        for value, corner in zip((north, east), cells.corner(key), strict=True):
            assert float(corner) <= value < float(corner + Fraction(1, 10))
    odd = np.array([90.0, -90.1, math.nan, math.inf, 0, 0, 0, 0])
    else_ = np.array([0, 0, 0, 0, 180.0, -180.1, math.nan, -math.inf])
    assert not cells.place(odd, else_, np.ones(8, bool))[1].any()


@pytest.mark.parametrize("degrees", [0, -1, "1/7 ", 7, "1/10000000000", True, "x"])
def test_cells_that_do_not_fit_the_globe_are_refused(degrees: object) -> None:
    if degrees == "1/7 ":
        assert PlaceKeys("1/7").rows == 1260
    else:
        with pytest.raises(InputError):
            PlaceKeys(degrees)


def test_whole_numbers_keep_to_64_bits() -> None:
    for ends in ((0, 2**63), (-(2**63) - 1, 0), (5, 4), (0.5, 3)):
        with pytest.raises(InputError):
            IntegerKeys(*ends)
    assert IntegerKeys().read("007") is None
    assert IntegerKeys(0, 5).read("6") is None


@pytest.mark.parametrize(
    ("keys", "first", "last"),
    [(IntegerKeys(-3, 8), -3, 8), (IntegerKeys(5, 5), 5, 5), (Ipv4Keys(), 0, 2**32 - 1)],
)
def test_both_ends_are_keys_and_their_neighbours_are_none(
    keys: IntegerKeys | Ipv4Keys, first: int, last: int
) -> None:
    values = np.array([first - 1, first, last, last + 1, -(2**63), 2**63 - 1])
    found, good = keys.place(values, np.ones(6, bool))
    assert good.tolist() == [False, True, True, False, False, False]
    assert found[good].tolist() == [first, last]
    assert keys.size == last - first + 1
    assert [keys.rank(key) for key in (first, last)] == [0, keys.size - 1]
    assert [keys.unrank(number) for number in (0, keys.size - 1)] == [first, last]
    every = IntegerKeys().place(values, np.ones(6, bool))[1]
    assert every.all()
    assert not keys.place(values, np.zeros(6, bool))[1].any()  # rows that are not known


def test_no_bytes_of_a_record_stop_the_count_of_addresses() -> None:
    """What is no address is no key: one odd record must not make an error."""
    odd = [
        b"::1\0",
        b"\0",
        b"::1\n",
        b"\xff\xfe",
        b"1.2.3.4\0",
        b"::" + b"1" * 50,
        b"",
        None,
        b"::1",
    ]
    known = np.array([text is not None for text in odd])
    found, good = Ipv6Keys().place(pa.array(odd, pa.large_binary()), known)
    assert good.tolist() == [False] * 8 + [True]
    assert found[8].as_py() == ipaddress.IPv6Address("::1").packed
    assert Ipv6Keys().read("::1\0") is None


def test_the_finest_cells_of_the_globe_are_taken_and_finer_ones_are_not() -> None:
    assert PlaceKeys(Fraction(180, 5 * 10**8)).rows == 5 * 10**8
    with pytest.raises(InputError, match="at least"):
        PlaceKeys(Fraction(180, 5 * 10**8 + 1))
