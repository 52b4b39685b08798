"""Axes of codes: against plain Python over the digits, and against a hierarchy of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Axis, FileError, InputError
from trueup.axis.codes import packed, unpacked

LEVELS = {"state": 1, "county": 3, "block": 5}
BLOCKS = Axis.codes("block", ["00000", "00001", "01299", "40100", "40111", "99999"], LEVELS)


@st.composite
def axes(draw: Any) -> Axis:
    codes = draw(st.sets(st.integers(0, 99_999), min_size=1, max_size=40))
    return Axis.codes("block", list(codes), LEVELS)


@given(axes(), st.lists(st.integers(-10, 110_000), max_size=20))
def test_a_value_is_in_the_cell_of_its_code_and_in_no_other(axis: Axis, values: list[int]) -> None:
    codes = sorted(int(axis.edge(cell)) for cell in range(axis.size))
    values += codes
    wanted = [codes.index(value) if value in codes else -1 for value in values]
    assert axis.locate(np.array(values, np.int64)).tolist() == wanted


@given(axes())
def test_levels_are_those_of_the_hierarchy_of_first_digits(axis: Axis) -> None:
    texts = [str(axis.edge(cell)) for cell in range(axis.size)]
    paths = [(text[:1], text[:3], text) for text in texts]
    labels = Axis.hierarchy("block", paths, list(LEVELS))
    for level, starts in axis.levels().items():
        assert starts.tolist() == labels.levels()[level].tolist()
        stops = np.append(starts[1:], axis.size)
        named = axis.level_labels(level, starts, stops)
        assert named == labels.level_labels(level, starts, stops)
        for name, start, stop in zip(named, starts.tolist(), stops.tolist(), strict=True):
            assert axis.node(name) == labels.node(name) == (start, stop)
            assert axis.parse_span(name) == (start, stop)
            assert axis.node(axis.words(start, stop)) == (start, stop)
        coarse, other = axis.coarsen(level), labels.coarsen(level)
        assert [coarse.edge(cell) for cell in range(coarse.size)] == [p[-1] for p in other.paths]
    starts = np.zeros(axis.size, np.int64)
    stops = np.arange(1, axis.size + 1)
    assert axis.columns(starts, stops) == labels.columns(starts, stops)


@given(axes())
def test_a_file_gives_the_same_axis_back(axis: Axis) -> None:
    again = Axis.from_json(axis.to_json())
    assert again == axis
    assert hash(again) == hash(axis)
    assert again != Axis.codes("block", [77], LEVELS)


@given(st.sets(st.integers(0, 10**18 - 1), min_size=1))
def test_packed_codes_come_back(codes: set[int]) -> None:
    rising = np.array(sorted(codes), np.int64)
    assert unpacked(packed(rising)).tolist() == rising.tolist()


def test_ranges_of_codes_are_half_open_and_codes_may_be_numbers() -> None:
    assert BLOCKS.span("012", "401") == (2, 3)
    assert BLOCKS.span("40100", None) == (3, 6)
    assert BLOCKS.node(1299) == (2, 3)
    starts, stops = BLOCKS.spans(np.array([0, 1299]), np.array([40100, 99999]))
    assert (starts.tolist(), stops.tolist()) == ([0, 2], [3, 5])
    assert BLOCKS.words(0, 2) == "000"
    assert BLOCKS.words(0, 4) == "00000 – 40100"
    assert BLOCKS.count([1299, 1299, 5, -3, 40111]).tolist() == [0, 0, 2, 0, 1, 0]


@pytest.mark.parametrize(
    ("codes", "levels", "says"),
    [
        ([1, 1], LEVELS, "has the code 1 twice"),
        ([100_000], LEVELS, "must have 5 digits at most"),
        ([-1], LEVELS, "must have 5 digits at most"),
        (["123"], LEVELS, "has 5 digits, got '123'"),
        ([], LEVELS, "needs a list of whole numbers"),
        ([1.5], LEVELS, "needs a list of whole numbers"),
        (7, LEVELS, "needs a list of whole numbers"),
        ([1], {}, "how many digits name a node"),
        ([1], ["state"], "how many digits name a node"),
        ([1], {"a": 2, "b": 2}, "need more and more digits"),
        ([1], {"a": 19}, "at most 18"),
        ([1], {"a": "2"}, "must be a whole number"),
    ],
)
def test_what_is_no_axis_of_codes_is_told_why(codes: Any, levels: Any, says: str) -> None:
    with pytest.raises(InputError) as refused:
        Axis.codes("block", codes, levels)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("5", "is no code of axis 'block', nor the first digits"),
        ("0012", "is written with its first digits, 1 for a state, 3 for a county"),
        ("00", "is written with its first digits"),  # of some codes, and of no level
        ("x", "is written with its first digits"),
        (None, "got None"),
        (True, "got True"),
        (2, "run from 00000 to 99999"),
    ],
)
def test_a_node_that_is_not_there_is_told_how_nodes_are_written(given: Any, says: str) -> None:
    with pytest.raises(InputError) as refused:
        BLOCKS.node(given)
    assert says in str(refused.value)


@pytest.mark.parametrize("text", ["", "gA==", "////////////AQ==", "!"])
def test_damaged_codes_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (words of the standard library among them)
        unpacked(text)
    with pytest.raises(FileError, match="cannot be read"):
        Axis.from_json({"kind": "codes", "name": "x", "codes": text, "levels": {"x": 18}})
