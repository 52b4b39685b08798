"""What holds for every question, by brute force over all small databases and their neighbours.

A row is in one of the cells or off the axis, where it is not counted.
"""

from __future__ import annotations

import itertools
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

from trueup import (
    Axis,
    BoxCounts,
    CellCounts,
    GridCounts,
    HatCounts,
    InputError,
    NamedCounts,
    SortedCounts,
    TreeCounts,
    WeightedCounts,
)
from trueup.ask import cell_counts, question_from_json
from trueup.shortcuts import degrees

PLACE = Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": {"Clark": ["East"]}, "DC": []})
DAYS = Axis.dates("day", "2012-12-30", "2013-01-02")
GRADE = Axis.categories("grade", ["A", "B", "C", "D", "F"])
GRADES = NamedCounts(
    GRADE,
    {
        "total": slice(None),
        "passing": ["A", "B", "C", "D"],
        **{letter: [letter] for letter in "ABCDF"},
    },
)


def random_queries(rng, size):
    many = rng.integers(1, 6)
    chosen = [np.flatnonzero(rng.random(size) < 0.5) for _ in range(many)]
    return NamedCounts(
        size, {f"q{i}": c.tolist() if len(c) else slice(None) for i, c in enumerate(chosen)}
    )


def random_strategy(rng, size):
    """Signed weights with unequal denominators, and a row for each cell."""
    rows = [
        [Fraction(int(a), int(b)) for a, b in rng.integers([-4, 1], [5, 7], (size, 2))]
        for _ in range(2)
    ]
    rows = [row for row in rows if any(row)]
    cells = np.diag(rng.integers(1, 4, size)).tolist()
    return WeightedCounts(size, cells + rows)


def questions():
    rng = np.random.default_rng(7)
    for size in range(1, 6):
        yield CellCounts(size)
        yield SortedCounts(size, adaptive=False)
        for branching, root in itertools.product((2, 3, 16), (True, False)):
            yield TreeCounts(size, branching, root)
        yield from (random_queries(rng, size) for _ in range(4))
        yield from (HatCounts(size, strides) for strides in ([1], [2], [1, 3]))
        yield HatCounts(size, [1, 2, 4], ["1/2", "1/4", "1/8", "1/8"])
        yield random_strategy(rng, size)
    for shares in (["1/2", "1/4", "1/4"], ["0", "0.9", "0.1"], ["0.3", 0, "0.7"], [0, 0, 1]):
        yield TreeCounts(5, radices=[2, 3], shares=shares)
        yield TreeCounts(1, radices=[2, 3], shares=shares)
        yield TreeCounts(DAYS, levels=["year", "day"], shares=shares)
    yield GridCounts(HatCounts(Axis.integers("a", 0, 2), [1]), CellCounts(2))
    yield GridCounts(TreeCounts(Axis.integers("a", 0, 2), 2), HatCounts(2, [1, 2]))
    yield GridCounts(HatCounts(Axis.integers("a", 0, 4), [1]), HatCounts(1, [1]))
    yield BoxCounts.quadtree(4, 4, branching=2)
    yield BoxCounts.marginals(2, 3, marginals=[("axis 0",), ("axis 1",), ()])
    yield BoxCounts(2, 4, radices=[(2,), (2, 2)], shares={(1, 2): "1/2", (0, 1): "1/2"})
    yield TreeCounts(PLACE)
    yield TreeCounts(PLACE, levels=["level 1", "level 3"], shares=["1/10", "1/5", "7/10"])
    yield TreeCounts(PLACE, levels=["level 2"])
    yield TreeCounts(PLACE, branching=2)
    yield TreeCounts(DAYS, levels=["year", "month"])
    yield TreeCounts(Axis.ipv4("host", "10.0.0.0/8", 10), levels=["/9", "/10"])
    yield NamedCounts(PLACE, {"CA": ["CA"], "rest": ["NV", "DC"], "Kern": ["Kern"]})
    yield GRADES


every_question = pytest.mark.parametrize(
    "question", list(questions()), ids=lambda question: f"{type(question).__name__}{question.size}"
)


def counted(rows, size):
    return np.bincount([row for row in rows if row < size], minlength=size)


def neighbours_of(rows, size, relation):
    """The databases one record away; the cell number `size` is off the axis."""
    everywhere = range(size + 1)
    if relation == "add-remove":
        yield from ((*rows, new) for new in everywhere)
    else:
        yield from (
            (*rows[:i], new, *rows[i + 1 :]) for i in range(len(rows)) for new in everywhere
        )


def worst_moves(question, relation):
    """The largest L1 move of the answers, plain and weighed by block."""
    weights = np.concatenate([[weight] * length for length, weight in question.blocks])
    plain, weighed = 0, Fraction(0)
    for many in range(4):
        for rows in itertools.combinations_with_replacement(range(question.size + 1), many):
            here = question.answers(counted(rows, question.size))
            for other in neighbours_of(rows, question.size, relation):
                move = np.abs(question.answers(counted(other, question.size)) - here)
                plain = max(plain, int(move.sum()))
                cost = sum((int(move[i]) * weights[i] for i in np.flatnonzero(move)), Fraction(0))
                weighed = max(weighed, cost)
    return plain, weighed


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@every_question
def test_sensitivity_and_price_are_the_worst_case_over_all_small_databases(question, relation):
    plain, weighed = worst_moves(question, relation)
    assert question.sensitivity(relation) == plain
    assert question.price(relation) == weighed


def degree_sequences(question, possible, kind):
    """The answers for every graph; bit i of its number says whether it has edge i."""
    found = []
    for graph in range(1 << len(possible)):
        edges = [edge for i, edge in enumerate(possible) if graph >> i & 1]
        pairs = np.array(edges, np.int64).reshape(-1, 2)
        found.append(question.answers(degrees(pairs, question.size, kind)))
    return np.array(found)


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_an_undirected_edge_moves_the_degree_sequence_by_two_in_every_small_graph(nodes):
    question = SortedCounts(nodes, ends=2, adaptive=False)
    possible = list(itertools.combinations(range(nodes), 2))
    sequences = degree_sequences(question, possible, "undirected")
    every = np.arange(1 << len(possible))
    added = [
        np.abs(sequences[every | 1 << i] - sequences).sum(1).max() for i in range(len(possible))
    ]
    assert max(added) == question.sensitivity() == 2
    swapped = 0
    for i, j in itertools.permutations(range(len(possible)), 2):
        has = every[(every >> i & 1 == 1) & (every >> j & 1 == 0)]
        moved = sequences[has ^ (1 << i) ^ (1 << j)] - sequences[has]
        swapped = max(swapped, np.abs(moved).sum(1).max())
    assert swapped <= question.sensitivity("replace") == 4
    assert nodes < 5 or swapped == 4


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_a_directed_or_bipartite_edge_moves_the_degree_sequence_by_one(kind):
    nodes, others = 3, 3 if kind == "directed" else 2
    question = SortedCounts(nodes, adaptive=False)
    possible = [(a, b) for a in range(nodes) for b in range(others) if kind != "directed" or a != b]
    sequences = degree_sequences(question, possible, kind)
    every = np.arange(1 << len(possible))
    added = [
        np.abs(sequences[every | 1 << i] - sequences).sum(1).max() for i in range(len(possible))
    ]
    assert max(added) == question.sensitivity() == 1


@every_question
def test_answers_are_the_matrix_times_the_counts(question):
    rng = np.random.default_rng(1)
    for _ in range(5):
        counts = rng.integers(0, 100, question.size)
        asked = np.sort(counts) if isinstance(question, SortedCounts) else counts
        answers = question.answers(counts)
        assert answers.dtype == np.int64
        assert len(answers) == question.length == sum(length for length, _ in question.blocks)
        assert (question.matrix().toarray() @ asked).tolist() == answers.tolist()


@every_question
def test_a_question_survives_json(question):
    again = question_from_json(json.loads(json.dumps(question.to_json())))
    assert again == question
    assert hash(again) == hash(question)
    assert again.blocks == question.blocks
    assert pickle.loads(pickle.dumps(question)) == question


@every_question
def test_every_level_asked_has_a_weight_and_tree_weights_add_up_to_one(question):
    assert all(weight > 0 and length > 0 for length, weight in question.blocks)
    if isinstance(question, TreeCounts):
        assert sum(weight for _, weight in question.blocks) == question.price() == 1


@every_question
def test_the_caller_s_counts_are_left_alone(question):
    counts = np.arange(question.size)[::-1].copy()
    question.answers(counts)[:] = -5
    assert counts.tolist() == list(range(question.size))[::-1]


# ---- bad input


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ([1, 2, 3], "has 4 cells, but 3 counts were given"),
        ([1, 2, 3, 4, 5], "5 counts were given"),
        ([1, 2, 3, -4], "must not be negative"),
        ([1.0, 2.0, 3.0, 4.0], "of an integer type, got float64. If they are whole, pass"),
        ([1, 2, 3, None], "got object"),
        ([True, False, True, True], "got bool"),
        (["1", "2", "3", "4"], "got <U1"),
        ([[1, 2], [3, 4]], "must be a flat array, got 2 dimensions"),
        (7, "must be a flat array, got 0 dimensions"),
        ([[1, 2], [3]], "must be a flat array"),
        ([2**62, 0, 0, 0], "add up to more than 2^62 records"),
        ([2**61, 2**61, 0, 0], "add up to more than 2^62"),
        (np.array([2**63, 0, 0, 0], np.uint64), "add up to more than 2^62"),
        ([2**64, 0, 0, 0], "got object"),
        (np.ma.array([1, 2, 3, 4], mask=[0, 0, 1, 0]), "masked"),
        ([], "0 counts were given"),
    ],
)
def test_counts_that_cannot_be_counts_are_refused(counts, told):
    fails = (CellCounts(4), TreeCounts(4, 2), NamedCounts(4, {"all": slice(None)}))
    for question in fails:
        with pytest.raises(InputError) as refusal:
            question.answers(counts)
        assert told in str(refusal.value)


def test_counts_of_every_integer_type_are_taken():
    for kind in (np.int8, np.uint8, np.int32, np.uint64, np.int64):
        assert TreeCounts(4, 2).answers(np.array([2, 0, 10, 2], kind)).tolist() == [
            14, 2, 12, 2, 0, 10, 2,
        ]  # fmt: skip
    assert cell_counts([2**62 - 2**20, 0], 2).sum() == 2**62 - 2**20


@pytest.mark.parametrize("axis", [0, -1, True, 2.0, "ages", None])
@pytest.mark.parametrize("ask", [CellCounts, TreeCounts, lambda a: NamedCounts(a, {"all": [0]})])
def test_a_question_needs_an_axis_or_a_number_of_cells(ask, axis):
    with pytest.raises(InputError, match="A question needs"):
        ask(axis)


@every_question
def test_a_relation_that_is_neither_is_refused(question):
    for ask in (question.sensitivity, question.price):
        with pytest.raises(InputError, match='must be "add-remove" or "replace", got \'swap\''):
            ask("swap")
