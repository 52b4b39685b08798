"""Lists of keys are read as tuples are, and put in the order of Python's bytes and numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.keys.listed import Keys, as_arrow, order_of

NUMBERS = (-(2**63), -1, 0, 7, 2**63 - 1)
TEXTS = (b"", b"\0", b"a", b"a\0", b"ab", b"\xff")


@pytest.mark.parametrize(
    ("keys", "whole"), [(NUMBERS, True), (TEXTS, False), ((), True), ((), False)]
)
def test_a_list_of_keys_is_read_as_a_tuple_is(keys: tuple, whole: bool) -> None:
    found = Keys.of(keys, whole)
    assert Keys.of(found, whole) is found
    assert (tuple(found), len(found)) == (keys, len(keys))
    assert [found[place] for place in range(-len(keys), len(keys))] == [*keys, *keys]
    assert (found[1:3], found[::2]) == (keys[1:3], keys[::2])
    assert found == keys
    assert found == list(keys)
    assert found == Keys.of(keys, whole)
    assert hash(found) == hash(keys)
    assert found != (*keys, 9)
    assert found != Keys.of((*keys, keys[0] if keys else (0 if whole else b"")), whole)
    assert found != "keys"
    assert (len(keys) == 0) == (found == Keys.of((), not whole))
    assert repr(found) == f"Keys({list(keys)})"
    assert {type(key) for key in found} <= {int, bytes}


@pytest.mark.parametrize(("keys", "whole"), [(NUMBERS, True), (TEXTS, False)])
def test_keys_rise_only_if_each_is_there_once_and_in_order(keys: tuple, whole: bool) -> None:
    assert Keys.of(keys, whole).rising
    assert Keys.of(keys[:1], whole).rising
    assert Keys.of((), whole).rising
    for place in range(1, len(keys)):
        twice = (*keys[:place], keys[place - 1], *keys[place:])
        assert not Keys.of(twice, whole).rising
        swapped = [*keys]
        swapped[place - 1 : place + 1] = keys[place], keys[place - 1]
        assert not Keys.of(swapped, whole).rising


@given(st.sets(st.binary(max_size=30) | st.text("a\0b", max_size=40).map(str.encode)))
def test_texts_are_put_in_the_order_of_their_bytes(texts: set[bytes]) -> None:
    some = list(texts)
    column = pa.array([b"before", *some], pa.large_binary()).slice(1)
    assert [some[place] for place in order_of(column)] == sorted(some)
    values = np.arange(len(some))
    keys, carried = Keys(column).ordered(values)
    assert [some[place] for place in carried] == list(keys) == sorted(some)


def test_many_texts_that_begin_alike_are_put_in_order() -> None:
    """More groups than leave room for seven bytes beside them."""
    rng = np.random.default_rng(1)
    some = [b"the same beginning %06x %d" % (n % 7001, n) for n in rng.permutation(40_000)]
    assert [some[place] for place in order_of(pa.array(some, pa.large_binary()))] == sorted(some)


def test_a_text_that_is_there_twice_has_no_place() -> None:
    with pytest.raises(ValueError, match="same"):
        order_of(pa.array([b"fig", b"pear", b"fig"], pa.large_binary()))


def test_numbers_are_ordered_with_their_values() -> None:
    keys, values = Keys(np.array([5, -3, 9])).ordered(np.array([1, 2, 3]))
    assert (tuple(keys), values.tolist()) == ((-3, 5, 9), [2, 1, 3])
    assert as_arrow(np.array([3, 4])[::-1]).to_pylist() == [4, 3]
