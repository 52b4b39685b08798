"""Hierarchies against plain dicts and sets of paths."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trueup import Axis, InputError

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1)
labels = st.one_of(words, st.integers(-(2**70), 2**70))


def objects(values):
    return np.fromiter(values, dtype=object, count=len(values))


@st.composite
def forests(draw, deep=3):
    """A nested dict whose branches end at any depth, and its paths."""

    def branch(depth):
        names = draw(st.lists(words, min_size=1, max_size=3, unique=True))
        if depth == 0:
            return {name: {} for name in names}
        return {name: branch(depth - 1) if draw(st.booleans()) else {} for name in names}

    def walk(tree):
        for label, below in tree.items():
            if below:
                yield from ((label, *path) for path in walk(below))
            else:
                yield (label,)

    tree = branch(draw(st.integers(0, deep - 1)))
    return tree, list(walk(tree))


def cells_under(paths, prefix):
    return [i for i, path in enumerate(paths) if path[: len(prefix)] == tuple(prefix)]


def made(tree):
    """The axis, unless two of its labels cannot be told apart."""
    try:
        return Axis.hierarchy("place", tree)
    except InputError as refusal:
        assume("Change one of the" not in str(refusal))
        raise


@given(forests(), st.randoms(use_true_random=False))
def test_nested_dicts_and_shuffled_paths_are_the_same_hierarchy(forest, random):
    tree, paths = forest
    axis = made(tree)
    assert [tuple(p) for p in axis.to_json()["paths"]] == paths
    assert Axis.hierarchy("place", paths) == axis
    assert Axis.hierarchy("place", [list(p) for p in paths]) == axis
    shuffled = paths.copy()
    random.shuffle(shuffled)
    again = Axis.hierarchy("place", shuffled)
    found = [tuple(p) for p in again.to_json()["paths"]]
    assert sorted(map(str, found)) == sorted(map(str, paths))
    for path in paths:  # every group is together
        for depth in range(1, len(path) + 1):
            under = cells_under(found, path[:depth])
            assert under == list(range(under[0], under[-1] + 1))


@given(forests())
def test_a_path_is_in_its_own_cell_and_a_node_holds_the_cells_under_it(forest):
    tree, paths = forest
    axis = made(tree)
    finest = [path[-1] for path in paths]
    for cell, path in enumerate(paths):
        assert axis.locate([path])[0] == axis.locate(["/".join(path)])[0] == cell
        assert axis.span(*axis.interval(cell)) == (cell, cell + 1)
        assert axis.locate([path[-1]])[0] == (cell if finest.count(path[-1]) == 1 else -1) or (
            (path[-1],) in paths
        )
        for depth in range(1, len(path) + 1):
            under = cells_under(paths, path[:depth])
            assert axis.node(*path[:depth]) == (under[0], under[-1] + 1)
    assert axis.node() == (0, len(paths))


@given(forests())
def test_levels_begin_where_the_path_changes(forest):
    tree, paths = forest
    axis = made(tree)
    for depth, starts in enumerate(axis.levels().values(), start=1):
        cut = [path[:depth] for path in paths]
        assert starts.tolist() == [len(list(g)) and cut.index(k) for k, g in itertools.groupby(cut)]
        coarse = axis.coarsen(f"level {depth}")
        assert [tuple(p) for p in coarse.to_json()["paths"]] == list(dict.fromkeys(cut))
    assert len(axis.levels()["level 1"]) == len(tree)
    finest = list(axis.levels().values())[-1]
    assert finest.tolist() == list(range(len(paths)))


@given(forests())
def test_a_table_of_parents_is_the_same_hierarchy(forest):
    _, paths = forest
    every = {path[:depth] for path in paths for depth in range(1, len(path) + 1)}
    names = {node: f"{number}:{node[-1]}" for number, node in enumerate(sorted(every))}
    parents = {names[node]: names[node[:-1]] if len(node) > 1 else None for node in sorted(every)}
    axis = Axis.hierarchy("place", parents)
    expected = {tuple(names[path[:depth]] for depth in range(1, len(path) + 1)) for path in paths}
    assert {tuple(p) for p in axis.to_json()["paths"]} == expected


def test_a_label_finds_a_cell_if_it_alone_says_which():
    axis = Axis.hierarchy("place", {"CA": ["Kern", "Lake"], "NV": ["Lake"], "DC": None})
    # Lake alone does not say which; DC alone does.
    assert axis.locate(["Lake", "Kern", "DC", "NV/Lake", ("NV", "Lake")]).tolist() == [
        -1,
        0,
        3,
        2,
        2,
    ]
    assert axis.locate(objects([("CA", "Lake"), None, ("CA",)])).tolist() == [1, -1, -1]


def test_groups_named_once_may_be_asked_by_name_alone():
    axis = Axis.hierarchy("place", {"CA": ["Kern", "Lake"], "NV": ["Lake"]}, ["state", "county"])
    assert axis.node("CA") == (0, 2)
    assert axis.node("NV", "Lake") == axis.node("NV/Lake") == (2, 3)
    assert axis.span("Kern", "NV") == (0, 2)
    assert axis.span(("CA", "Lake"), ("NV", "Lake")) == (1, 2)
    assert [a.tolist() for a in axis.spans(["Kern", ("CA", "Lake")], "NV")] == [[0, 1], [2, 2]]
    with pytest.raises(InputError, match="'Lake' is ambiguous on axis 'place': CA/Lake or NV/Lake"):
        axis.node("Lake")
    with pytest.raises(
        InputError, match=r"'CA/Clark' is not a label of axis 'place'\. Labels: 'Kern'"
    ):
        axis.node("CA", "Clark")
    with pytest.raises(
        InputError, match=r"'TX' is not a label of axis 'place'\. Labels: 'CA', 'NV'"
    ):
        axis.node("TX")
    assert axis.cells.children("CA") == ["Kern", "Lake"]
    table = axis.columns(np.array([0, 0, 2]), np.array([1, 2, 3]))
    assert table == {"state": ["CA", "CA", "NV"], "county": ["Kern", None, "Lake"]}


@pytest.mark.parametrize(
    ("tree", "levels", "told"),
    [
        ({}, (), "has no cells"),
        ([], (), "has no cells"),
        ([[]], (), "has an empty path"),
        ("CA/Kern", (), "needs a nested dict, a list of paths or a table of parents"),
        (5, (), "got 5"),
        ([5], (), "must be a list of labels, got 5"),
        ([["CA", None]], (), "must be text or a whole number, got None"),
        ([("CA", "Kern"), ("CA", "Kern")], (), "names CA/Kern twice"),
        ([("CA",), ("CA", "Kern")], (), "has CA both as a cell and as a group"),
        ({"CA": {"Kern": 5}}, (), "holds 5 where a dict or list"),
        ({"CA": {"Kern": "Lost"}}, (), "holds 'Lost' where a dict or list"),
        ({"CA": ["Kern"]}, ["state"], "is 2 levels deep and needs 2 different level names"),
        ({"CA": ["Kern"]}, ["a", "a"], "needs 2 different level names"),
        ({"CA": ["Kern"]}, ["state", "count"], "is called 'count'"),
        ({"CA": ["Kern"]}, ["state", 2], "A level of axis 'place' must be text, got 2"),
        ({"a": "b", "b": "a"}, (), "goes in a circle"),
        ({"a": "b", "b": "a", "c": None}, (), "goes in a circle"),
        ({"x": "a", "a": "b", "b": "a"}, (), "goes in a circle"),
        ({"a": "a"}, (), "goes in a circle"),
        ([("a", "b"), ("c", "a/b")], (), "'a/b' is both the label of c/a/b"),
        ([("a/b", "c"), ("a", "b/c")], (), "both written a/b/c"),
    ],
)
def test_a_hierarchy_that_makes_no_sense_is_refused(tree, levels, told):
    with pytest.raises(InputError) as refusal:
        Axis.hierarchy("place", tree, levels)
    assert told in str(refusal.value)


def test_rows_of_children_and_parents_are_a_hierarchy():
    rows = [("CA", None), ("Kern", "CA"), ["Napa", "CA"], ("NV", None), ("Clark", "NV")]
    axis = Axis.hierarchy("place", parents=rows, levels=["state", "county"])
    assert axis == Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark"]}, axis.levels())
    assert axis == Axis.hierarchy("place", parents=dict(rows), levels=["state", "county"])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"parents": [("Lake", "CA"), ("Lake", "NV")]}, "'Lake' has two parents, 'CA' and 'NV'"),
        ({"parents": [("a", "b"), ("b", "a")]}, "goes in a circle"),
        ({"parents": [("a", "b", "c")]}, "rows (child, parent), got a tuple of 3"),
        ({"parents": ["ab"]}, "rows (child, parent), got 'ab'"),
        ({"parents": [5]}, "rows (child, parent), got 5"),
        ({"parents": "ab"}, "rows (child, parent), got 'ab'"),
        ({}, "by its tree or by its parents"),
        ({"tree": {"a": ["b"]}, "parents": {"b": "a"}}, "by its tree or by its parents"),
    ],
)
def test_a_table_of_parents_that_makes_no_sense_is_refused(given, told):
    with pytest.raises(InputError) as refusal:
        Axis.hierarchy("place", **given)
    assert told in str(refusal.value)


def test_a_branch_may_be_an_array():
    tree = {"CA": np.array(["Kern", "Napa"]), "NV": np.array([]), "DC": ()}
    assert Axis.hierarchy("place", tree).to_json()["paths"] == [
        ["CA", "Kern"],
        ["CA", "Napa"],
        ["NV"],
        ["DC"],
    ]


def test_a_hundred_thousand_labels_are_no_trouble():
    # Work that grows with the square of the size would hang here.
    paths = [(f"s{i // 2000}", f"c{i // 50}", f"t{i}") for i in range(100_000)]
    axis = Axis.hierarchy("place", paths)
    assert axis.count([path[-1] for path in paths]).tolist() == [1] * 100_000
    assert all(axis.node(f"c{i}") == (50 * i, 50 * i + 50) for i in range(2000))
    assert axis.coarsen("level 2").size == 2000
    with pytest.raises(InputError, match="twice"):
        Axis.categories("place", [*range(100_000), 99_999])
