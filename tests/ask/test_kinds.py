"""Records of questions: every kind is read by the question that wrote it, and by no other."""

from __future__ import annotations

import json

import pytest

import trueup as tu
from trueup.ask.kinds import known_kinds, question_from_json, register

AXIS = tu.Axis.integers("a", 0, 7)
QUESTIONS = [
    tu.CellCounts(AXIS),
    tu.TreeCounts(AXIS, branching=2),
    tu.HatCounts(24, [2], ["2/3", "1/3"], ends=True),
    tu.WaveletCounts(AXIS),
    tu.WindowCounts(AXIS, "prefixes"),
    tu.PastCounts(AXIS, 2, 64),
    tu.WeightedCounts(2, [[1, 0], [1, 1]]),
    tu.NamedCounts(AXIS, {"low": [0, 1]}),
    tu.SortedCounts(4),
    tu.SortedCounts(4, adaptive=False),
    tu.GridCounts(tu.CellCounts(AXIS), tu.CellCounts(tu.Axis.integers("b", 0, 2))),
    tu.BoxCounts(2, 4, radices=[(2,), (2, 2)], shares={(1, 2): "1/2", (0, 1): "1/2"}),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
def test_a_question_is_read_as_it_was_written(question):
    said = json.loads(json.dumps(question.to_json()))
    again = question_from_json(said)
    assert type(again) is type(question)
    assert again.to_json() == question.to_json()
    assert again.blocks == question.blocks
    assert again.price("replace") == question.price("replace")
    with pytest.raises(tu.FileError):
        question_from_json({"kind": said["kind"]})


def test_the_words_of_files_are_those_of_the_first_version():
    words = ["unit", "queries", "lattice", "strategy", "haar", "grid", "sorted", "young"]
    assert {question.kind for question in QUESTIONS} <= set(known_kinds())
    assert set(words) <= set(known_kinds())


@pytest.mark.parametrize("said", [None, [], "unit", {}, {"kind": None}, {"kind": ["unit"]}])
def test_what_is_no_record_of_a_question_is_refused(said):
    with pytest.raises(tu.FileError):
        question_from_json(said)


def test_a_word_stands_for_one_question():
    class Other(tu.CellCounts):
        kinds = ("unit",)

    with pytest.raises(ValueError, match="recorded for CellCounts already"):
        register(Other)
    register(tu.CellCounts)
