"""What holds for every kind of axis."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from trueup import Axis, FileError, InputError

AXES = [
    Axis.integers("n", -3, 9),
    Axis.integers("n", 7, 7),
    Axis.regular("x", 0.1, 0.7, 11),
    Axis.edges("x", [-1, 0, 0.5, 1e9]),
    Axis.categories("kind", ["A", "B", 3]),
    Axis.dates("d", "2012-02-01", "2012-03-05"),
    Axis.dates("d", "2012", "2013", "week"),
    Axis.dates("d", "2012-02-10", "2012-05-05").coarsen("month"),
    Axis.dates("d", "2012-01-01T00:00", "2012-01-01T02:09", "minute"),
    Axis.ipv4("host", "10.0.0.0/8", 12),
    Axis.ipv4("host", "0.0.0.0/0", 4),
    Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark"], "DC": []}, ["state", "town"]),
]
each_axis = pytest.mark.parametrize("axis", AXES, ids=lambda axis: type(axis.cells).__name__)


@each_axis
def test_value_cell_interval_and_back(axis):
    for cell in range(axis.size):
        low, high = axis.interval(cell)
        assert axis.locate([low]).tolist() == [cell]
        assert axis.span(low, high) == (cell, cell + 1)
    assert axis.span(None, None) == (0, axis.size)


@each_axis
def test_an_axis_survives_json(axis):
    again = Axis.from_json(json.loads(json.dumps(axis.to_json())))
    assert again == axis
    assert hash(again) == hash(axis)
    assert [again.interval(i) for i in range(axis.size)] == [
        axis.interval(i) for i in range(axis.size)
    ]


@each_axis
def test_an_axis_can_be_sent_to_another_process(axis):
    again = pickle.loads(pickle.dumps(axis))
    assert again == axis
    assert again.locate([axis.interval(0)[0]]).tolist() == [0]


def test_numbers_from_numpy_make_the_same_axes():
    one, nine = np.int64(1), np.int32(9)
    made = [
        (Axis.integers("n", one, nine), Axis.integers("n", 1, 9)),
        (Axis.regular("n", np.float32(1), nine, nine), Axis.regular("n", 1, 9, 9)),
        (Axis.edges("n", np.array([1, 9])), Axis.edges("n", [1, 9])),
        (Axis.categories("n", np.array([1, 9])), Axis.categories("n", [1, 9])),
        (Axis.categories("n", np.array(["a", "b"])), Axis.categories("n", ["a", "b"])),
        (Axis.ipv4("n", "10.0.0.0/8", nine), Axis.ipv4("n", "10.0.0.0/8", 9)),
        (
            Axis.dates("n", np.datetime64("2012-01-01"), np.datetime64("2012-01-09")),
            Axis.dates("n", "2012-01-01", "2012-01-09"),
        ),
    ]
    for theirs, ours in made:
        assert theirs == ours
        assert json.dumps(theirs.to_json()) == json.dumps(ours.to_json())


@each_axis
def test_columns_have_a_row_a_run(axis):
    starts, stops = np.triu_indices(axis.size + 1, 1)
    for column in axis.columns(starts, stops).values():
        assert len(column) == len(starts)


@each_axis
def test_levels_nest_and_end_in_the_cells(axis):
    coarser = {0}
    for starts in axis.levels().values():
        assert coarser <= set(starts.tolist())
        assert starts[0] == 0
        coarser = set(starts.tolist())
    if axis.levels():
        assert coarser == set(range(axis.size))


@each_axis
@pytest.mark.parametrize("cell", [-1, 10**9, 0.5, "0", None, True])
def test_a_cell_that_is_not_there_is_refused(axis, cell):
    with pytest.raises(InputError):
        axis.interval(cell)


def test_kinds_of_axis_without_names_or_levels_say_so():
    axis = Axis.integers("n", 0, 9)
    with pytest.raises(InputError, match="Axis 'n' has no named nodes; ask for a range"):
        axis.node(3)
    with pytest.raises(InputError, match=r"Axis 'n' has no level 'x'\. Levels: none"):
        axis.coarsen("x")


@pytest.mark.parametrize("name", ["", None, 5, "\ud800"])
def test_an_axis_needs_a_name(name):
    for make in (
        lambda: Axis.integers(name, 0, 1),
        lambda: Axis.regular(name, 0, 1, 1),
        lambda: Axis.edges(name, [0, 1]),
        lambda: Axis.categories(name, ["A"]),
        lambda: Axis.dates(name, "2012", "2012"),
        lambda: Axis.ipv4(name),
        lambda: Axis.hierarchy(name, ["A"]),
    ):
        with pytest.raises(InputError, match="The name of an axis, its column, must be text"):
            make()


def test_an_axis_is_made_by_its_makers():
    with pytest.raises(InputError, match=r"Make an axis with Axis\.integers"):
        Axis("n", [1, 2])


@pytest.mark.parametrize(
    "spec",
    [{"kind": "integers", "name": "n", "first": 0}, {"kind": "spiral", "name": "n"}, {}],
)
def test_a_description_that_lacks_something_is_refused(spec):
    with pytest.raises(FileError):
        Axis.from_json(spec)
