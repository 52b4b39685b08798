"""Answers leave at the end of their class: never early, and within it all alike."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trueup.server.deadlines import leaves_at

TIMES = st.floats(min_value=0, max_value=1e6)
FIRSTS = st.floats(min_value=0.01, max_value=60)


@given(TIMES, FIRSTS)
def test_nothing_leaves_before_it_is_ready_or_much_later(took: float, first: float) -> None:
    at = leaves_at(0.0, took, first)
    assert at >= took * (1 - 1e-12)
    assert at <= max(first, min(2 * took, took + 3600)) * (1 + 1e-9)


@given(TIMES, TIMES, FIRSTS)
def test_what_is_ready_earlier_never_leaves_later(one: float, other: float, first: float) -> None:
    soon, late = sorted((one, other))
    assert leaves_at(0.0, soon, first) <= leaves_at(0.0, late, first)


@given(st.lists(TIMES, min_size=200, max_size=200), FIRSTS)
def test_there_are_few_classes(took: list[float], first: float) -> None:
    # Whatever 200 measurements took within an hour, the clock tells no more than a few classes.
    within = {leaves_at(0.0, t % 3600, first) for t in took}
    assert len(within) <= 21


def test_a_clock_that_was_set_back_is_the_first_class() -> None:
    assert leaves_at(100.0, 90.0, 1.0) == 101.0
