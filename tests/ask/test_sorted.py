"""S: the trace of the paper, and groups that make no sense."""

from __future__ import annotations

import json

import numpy as np
import pytest

from trueup import InputError, SortedCounts


def test_the_sorted_counts_of_the_trace():
    question = SortedCounts(4, adaptive=False)
    assert question.answers([2, 0, 10, 2]).tolist() == [0, 2, 2, 10]
    assert question.sensitivity() == 1
    assert question.sensitivity("replace") == 2


def test_groups_that_do_not_appear_count_zero():
    assert SortedCounts(6, adaptive=False).answers([3, 1]).tolist() == [0, 0, 0, 0, 1, 3]
    assert SortedCounts(2, adaptive=False).answers([]).tolist() == [0, 0]


def test_numbers_from_numpy_are_plain_in_files():
    question = SortedCounts(np.int64(5), "user", np.int64(2), adaptive=False)
    assert json.loads(json.dumps(question.to_json())) == {
        "kind": "sorted", "groups": 5, "by": "user", "ends": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"groups": 0}, "groups must be at least 1, got 0"),
        ({"groups": -5}, "groups must be at least 1, got -5"),
        ({"groups": 2.0}, "groups must be a whole number, got 2.0"),
        ({"groups": True}, "groups must be a whole number, got True"),
        ({"groups": None}, "groups must be a whole number, got None"),
        ({"groups": 2**40}, "groups must be at most 2^32"),
        ({"groups": 2**32 + 1}, "groups must be at most 2^32"),
        ({"groups": 5, "ends": 0}, "ends must be 1, or 2 for undirected edges, got 0"),
        ({"groups": 5, "ends": 3}, "got 3"),
        ({"groups": 5, "ends": 1.0}, "ends must be a whole number, got 1.0"),
        ({"groups": 5, "by": 5}, "by, the column of the groups, must be text, got 5"),
    ],
)
def test_groups_that_make_no_sense_are_refused(arguments, told):
    with pytest.raises(InputError) as refusal:
        SortedCounts(**arguments, adaptive=False)
    assert told in str(refusal.value)


def test_as_many_groups_as_have_a_number_in_32_bits_can_be_asked_about():
    assert SortedCounts(2**32, adaptive=False).groups == 2**32


def test_more_groups_than_declared_are_refused():
    with pytest.raises(InputError, match="There are more groups than the 2 that the question"):
        SortedCounts(2, adaptive=False).answers([1, 2, 3])
