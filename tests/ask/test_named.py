"""Named counts: the student example, what a query may name, and what it may not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Axis, FileError, InputError, NamedCounts
from trueup.ask import moves, question_from_json

GRADE = Axis.categories("grade", ["A", "B", "C", "D", "F"])
GRADES = NamedCounts(
    GRADE,
    {
        "total": slice(None),
        "passing": ["A", "B", "C", "D"],
        **{letter: [letter] for letter in "ABCDF"},
    },
)


def test_the_student_example_has_sensitivity_three():
    assert GRADES.sensitivity() == GRADES.sensitivity("replace") == 3
    answers = dict(zip(GRADES.names, GRADES.answers([7, 5, 3, 2, 1]).tolist(), strict=True))
    assert answers == {"total": 18, "passing": 17, "A": 7, "B": 5, "C": 3, "D": 2, "F": 1}
    # total = passing + F and passing = A + B + C + D, and nothing else.
    relations = GRADES.relations()
    assert relations.shape == (2, 7)
    assert not (relations @ np.array([18, 17, 7, 5, 3, 2, 1])).any()
    assert (relations @ np.array([19, 17, 7, 5, 3, 2, 1])).any()
    assert (relations @ np.array([18, 17, 8, 5, 3, 2, 1])).any()


def test_the_relations_are_all_there_are():
    rng = np.random.default_rng(5)
    for _ in range(50):
        size, length = rng.integers(1, 9, 2)
        members = rng.random((length, size)) < 0.5
        members[~members.any(axis=1), 0] = True
        queries = {f"q{i}": np.flatnonzero(row).tolist() for i, row in enumerate(members)}
        relations = NamedCounts(int(size), queries).relations().toarray()
        assert not (relations @ members).any()
        assert len(relations) == length - np.linalg.matrix_rank(members)
        assert len(relations) == (np.linalg.matrix_rank(relations) if len(relations) else 0)


@given(st.integers(1, 8).flatmap(lambda size: st.lists(
    st.sets(st.integers(0, size - 1), min_size=1), min_size=1, max_size=8
).map(lambda queries: (size, queries))))  # fmt: skip
def test_any_sets_of_cells_are_counted(made):
    size, queries = made
    question = NamedCounts(size, {f"q{i}": sorted(q) for i, q in enumerate(queries)})
    counts = np.arange(1, size + 1) ** 3
    assert question.answers(counts).tolist() == [sum((c + 1) ** 3 for c in q) for q in queries]
    columns = {tuple(int(cell in q) for q in queries) for cell in range(size)}
    assert {tuple(column) for column in question.distinct().toarray().T} == columns
    off_axis = columns | {(0,) * len(queries)}
    moves = [np.abs(np.subtract(a, b)).sum() for a, b in itertools.product(off_axis, repeat=2)]
    assert question.sensitivity("replace") == max(moves)


def test_a_query_may_name_values_ranges_and_nodes():
    place = Axis.hierarchy("place", {"CA": ["Kern", "Lake"], "NV": ["Lake"]})
    queries = {
        "by group": ["CA"],
        "by path": [("CA", "Lake"), "NV/Lake"],
        "by label": "Kern",
        "by range": slice("NV"),
    }
    question = NamedCounts(place, queries)
    assert question.cells == ((0, 1), (1, 2), (0,), (0, 1))
    days = Axis.dates("day", "2013-01-01", "2013-12-31")
    months = NamedCounts(days, {"april": ["2013-04"], "spring": slice("2013-03", "2013-06")})
    assert months.answers(np.ones(365, int)).tolist() == [30, 31 + 30 + 31]
    noon = NamedCounts(days, {"new year": ["2013-01-01T12:00"]})
    assert noon.cells == ((0,),)
    hosts = Axis.ipv4("host", "10.0.0.0/8", 16)
    blocks = NamedCounts(hosts, {"block": ["10.4.0.0/14"], "host": ["10.4.1.1"]})
    assert blocks.cells == ((4, 5, 6, 7), (4,))
    ages = NamedCounts(Axis.integers("age", 0, 99), {"minor": slice(0, 18), "some": [3, 5.0, 3]})
    assert ages.answers(np.ones(100, int)).tolist() == [18, 2]
    fares = NamedCounts(Axis.regular("fare", 0, 10, 5), {"ends": [0.5, 9.9]})
    assert fares.cells == ((0, 4),)


def test_the_order_of_the_queries_is_part_of_the_question():
    one = NamedCounts(3, {"a": [0], "b": [1]})
    other = NamedCounts(3, {"b": [1], "a": [0]})
    assert one != other
    assert one == NamedCounts(3, {"a": [0], "b": [1]})
    assert one.to_json() != other.to_json()


def test_thousands_of_queries_over_a_million_cells_fit_in_memory():
    size = 1_000_000
    queries = {f"q{i}": slice(400 * i, 400 * i + 1000) for i in range(2000)}
    question = NamedCounts(size, queries)
    answers = question.answers(np.ones(size, np.int64))
    assert answers.tolist() == [1000] * 2000
    # Windows of 1,000 at every 400 lie three deep at most; two far apart move six answers.
    assert question.sensitivity() == 3
    assert question.sensitivity("replace") == 6


@pytest.mark.parametrize(
    ("queries", "told"),
    [
        ({}, "needs a dict of named queries, at least one"),
        ([("a", ["A"])], "needs a dict of named queries"),
        ({"a": []}, "Query 'a' counts nothing"),
        ({"a": slice("B", "B")}, "Query 'a' counts nothing"),
        ({"a": ["A", "Z"]}, "Query 'a' counts 'Z', which is not on axis 'grade'"),
        ({"a": "AB"}, "counts 'AB', which is not on axis"),
        ({"a": [None]}, "counts None, which is not on axis"),
        ({"a": slice("A", "Z")}, "'Z' is not a label of axis 'grade'. Labels: 'A', 'B'"),
        ({"a": slice("C", "A")}, "is reversed"),
        ({"a": slice("A", "C", 2)}, "Query 'a' has a step"),
        ({"a": 5}, "Query 'a' needs a list of values or a slice, got 5"),
        ({1: ["A"]}, "The name of a query must be text, got 1"),
        ({"": ["A"]}, "The name of a query must be text, got ''"),
    ],
)
def test_queries_that_make_no_sense_are_refused(queries, told):
    with pytest.raises(InputError) as refusal:
        NamedCounts(GRADE, queries)
    assert told in str(refusal.value)


def test_a_value_outside_is_refused_and_never_counted_as_nothing():
    with pytest.raises(InputError, match=r"counts 2\.5, which is not on axis 'age'"):
        NamedCounts(Axis.integers("age", 0, 9), {"a": [2.5]})
    with pytest.raises(InputError, match="counts nan, which is not on axis 'fare'"):
        NamedCounts(Axis.regular("fare", 0, 10, 5), {"a": [float("nan")]})


def test_a_tuple_is_a_range_where_cells_are_not_labels():
    age = Axis.integers("age", 0, 99)
    assert NamedCounts(age, {"young": (0, 18)}).cells == NamedCounts(age, {"y": slice(0, 18)}).cells
    day = Axis.dates("day", "2013-01-01", "2013-12-31")
    assert len(NamedCounts(day, {"april": ("2013-04", "2013-05")}).cells[0]) == 30
    assert NamedCounts(GRADE, {"best": ("A", "B")}).cells == ((0, 1),)
    with pytest.raises(InputError, match=r"a tuple of 3.*single values go in a list"):
        NamedCounts(age, {"some": (1, 2, 3)})


@pytest.mark.parametrize("at_once", [1, 7, 1 << 22])
def test_replacing_is_priced_over_all_pairs_of_cells(at_once, monkeypatch):
    """However many pairs are looked at together, and wherever the furthest lie."""
    monkeypatch.setattr(moves, "_PAIRS_AT_ONCE", at_once)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sets = {f"{n}": np.flatnonzero(rng.random(9) < 0.4).tolist() or [n] for n in range(6)}
        if seed % 2:  # only the first two cells are far apart
            sets = {f"{n}": [n % 2, *range(2, 9)] for n in range(6)}
        question = NamedCounts(9, sets)
        columns = question.matrix().toarray().T
        apart = max(np.abs(a - b).sum() for a, b in itertools.combinations(columns, 2))
        assert question.sensitivity("replace") == max(apart, columns.sum(axis=1).max())


def test_queries_of_a_file_have_names_of_their_own():
    spec = NamedCounts(5, {"low": [0, 1], "high": [3]}).to_json()
    for wrong in ([["low", [0]], ["low", [3]]], []):
        with pytest.raises(FileError, match="need names, each its own"):
            NamedCounts.from_json({**spec, "queries": wrong})


def test_a_file_may_not_count_a_cell_twice_in_a_query():
    spec = NamedCounts(5, {"low": [0, 1]}).to_json()
    for wrong in ([0, 0], [1, 0], [0, 5], [-1, 0], []):
        with pytest.raises(FileError):
            NamedCounts.from_json({**spec, "queries": [["low", wrong]]})


@pytest.mark.parametrize("wrong", [[0, 1.5], [0, True], ["0", 1]])
def test_the_cells_of_a_file_are_whole_numbers(wrong):
    """A part of a number is not cut off: what is read is what stands in the file."""
    spec = NamedCounts(5, {"low": [0, 1]}).to_json()
    with pytest.raises(FileError, match="A cell must be a whole number"):
        question_from_json({**spec, "queries": [["low", wrong]]})
