"""What holds for every kind of axis."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
    table = axis.columns(starts, stops)
    for column in table.values():
        assert len(column) == len(starts)
    if "low" in table:
        found = zip(starts, stops - 1, table["low"], table["high"], strict=True)
        for first, last, low, high in found:
            begin, end = axis.interval(int(first))[0], axis.interval(int(last))[1]
            if isinstance(low, np.datetime64):
                begin, end = np.datetime64(begin), np.datetime64(end)
            assert (low, high) == (begin, end)


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


# ---- what a person types


@each_axis
def test_what_a_cell_is_called_can_be_typed(axis):
    for cell in range(axis.size):
        low, high = axis.interval(cell)
        typed = ["" if end is None else str(end) for end in (low, high)]
        assert axis.span(*map(axis.parse, typed)) == (cell, cell + 1)
        assert axis.span(axis.parse(low), axis.parse(high)) == (cell, cell + 1)
        assert axis.parse_span("..".join(typed)) == (cell, cell + 1)
        if (
            not axis.traits.bins
            and axis.traits.kind != "hierarchy"
            and " – " not in axis.words(cell, cell + 1)
        ):
            assert axis.parse_span(axis.words(cell, cell + 1)) == (cell, cell + 1)
    assert axis.parse("") is axis.parse(" ") is axis.parse(None) is None
    assert axis.parse_span("..") == axis.parse_span(" : ") == (0, axis.size)


@given(st.integers(-(2**62), 2**62 - 2))
@example(2**53 + 1)
def test_a_typed_whole_number_is_that_number(number):
    axis = Axis.integers("id", max(number - 3, -(2**62)), min(number + 3, 2**62))
    for typed in (f"{number}", f" {number} ", f"{number}.0", f"{number}.00", f"{number}e0"):
        assert axis.parse(typed) == number
        assert isinstance(axis.parse(typed), int)
    cell = number - axis.edge(0)
    assert axis.parse_span(f"{number}:{number + 1}") == (cell, cell + 1)
    assert axis.parse_span(f"{number}") == (cell, cell + 1)


@pytest.mark.parametrize("typed", ["²", "³:", "--5", "1_0", "٣", "½", "0x1", "1 2", "a"])
@each_axis
def test_what_is_no_end_of_a_range_is_refused_and_nothing_else_happens(axis, typed):
    with pytest.raises(InputError):
        axis.span(axis.parse(typed), None)
    with pytest.raises(InputError):
        axis.parse_span(typed)


@pytest.mark.parametrize("typed", ["", " ", "5", "1:2:3", "1,2", "nan:nan", "1e400:", ":inf"])
def test_what_is_no_range_of_bins_is_refused(typed):
    for axis in (Axis.regular("x", 0, 10, 10), Axis.edges("x", range(11))):
        with pytest.raises(InputError):
            axis.parse_span(typed)


@pytest.mark.parametrize(
    "label", ["²", "٣", "5", "-5", "--5", "a:b", "a..b", " a ", "1e3", "x,y", ":"]
)
def test_any_label_can_be_typed(label):
    for axis in (
        Axis.categories("kind", ["z", label, "y"]),
        Axis.hierarchy("place", {"z": None, label: None, "y": None}),
    ):
        assert axis.span(axis.parse(label), None) == (1, 3)
        assert axis.parse_span(label) == (1, 2)


def test_text_that_is_a_label_is_no_number():
    axis = Axis.categories("code", [7, "7", "8", 9])
    assert [axis.parse(given) for given in ("7", 7, "8", "9")] == ["7", 7, "8", 9]
    assert [axis.parse_span(typed) for typed in ("7", "8", "9")] == [(1, 2), (2, 3), (3, 4)]


def test_paths_are_typed_with_slashes():
    axis = Axis.hierarchy("place", {"CA": ["Kern", 5], 6: ["x/y"]})
    typed = ["CA", "Kern", "CA/Kern", "5", "CA/5", "6", "6/x/y", "x/y"]
    assert [axis.parse_span(text) for text in typed] == [
        (0, 2), (0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3), (2, 3)
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"'CA/Napa' is not a label.*Labels: 'Kern', 5\."):
        axis.parse_span("CA/Napa")


def test_moments_hold_colons():
    axis = Axis.dates("at", "2013-01-01T00", "2013-01-02T23", "hour")
    assert axis.parse_span("2013-01-01T05:00..2013-01-01T07:00") == (5, 7)
    assert axis.parse_span("2013-01-02") == (24, 48)
    assert axis.parse_span("2013-01-01T05") == (5, 6)
    with pytest.raises(InputError, match="is not an edge"):
        axis.parse_span("2013-01-01T05:00")  # a minute of it


# ---- what a person reads


@pytest.mark.parametrize(
    ("axis", "cells", "told"),
    [
        (Axis.integers("age", 0, 99), (4, 5), "4"),
        (Axis.integers("age", 0, 99), (18, 65), "18 – 64"),
        (Axis.regular("fare", 0, 8, 16), (1, 4), "0.5 – 2.0"),
        (Axis.edges("fare", [0, 1, 2.5]), (1, 2), "1.0 – 2.5"),
        (Axis.dates("d", "2012-02-01", "2012-03-05"), (0, 1), "2012-02-01"),
        (Axis.dates("d", "2012-02-01", "2012-03-05"), (0, 29), "2012-02-01 – 2012-02-29"),
        (Axis.dates("d", "2012", "2012", "month"), (1, 2), "2012-02"),
        (Axis.dates("d", "2012-01-02", "2012-02-05", "week"), (1, 2), "2012-01-09 – 2012-01-15"),
        (Axis.ipv4("host", "10.0.0.0/8", 16), (4, 8), "10.4.0.0/14"),
        (Axis.ipv4("host", "10.0.0.0/8", 16), (5, 7), "10.5.0.0 – 10.6.255.255"),
        (Axis.ipv4("host", "0.0.0.0/0", 4), (0, 16), "0.0.0.0/0"),
        (Axis.categories("kind", ["A", "B", 3]), (1, 2), "B"),
        (Axis.categories("kind", ["A", "B", 3]), (1, 3), "B … 3"),
        (Axis.hierarchy("p", {"CA": ["Kern", "Napa"], "DC": None}), (0, 1), "CA / Kern"),
        (Axis.hierarchy("p", {"CA": ["Kern", "Napa"], "DC": None}), (0, 2), "CA"),
        (Axis.hierarchy("p", {"CA": ["Kern", "Napa"], "DC": None}), (1, 3), "CA/Napa … DC"),
    ],
)  # fmt: skip
def test_intervals_are_worded_as_a_person_writes_them(axis, cells, told):
    assert axis.words(*cells) == told


@each_axis
def test_no_two_runs_of_one_axis_have_the_same_words(axis):
    if axis.traits.nested:  # a state and its only town
        return
    runs = [(a, b) for a in range(axis.size) for b in range(a + 1, axis.size + 1)]
    assert len({axis.words(*run) for run in runs[:2000]}) == len(runs[:2000])


@each_axis
def test_edges_one_by_one_and_all_at_once(axis):
    places = np.arange(axis.size + 1)
    assert axis.edges_at(places) == [axis.edge(place) for place in range(axis.size + 1)]
    json.dumps(axis.edges_at(places))
    if axis.traits.scale is None:
        with pytest.raises(InputError, match="have names, and no positions"):
            axis.positions(places)
        return
    positions = axis.positions(places)
    assert positions.dtype == np.float64
    expected = axis.edges_at(places)
    if axis.traits.scale == "time":
        expected = np.array(expected, "datetime64[us]").astype(np.int64)
    assert positions.tolist() == list(map(float, expected))


@each_axis
def test_traits_are_what_the_axis_does(axis):
    assert axis.traits.kind == axis.to_json()["kind"]
    assert axis.has_nodes == (axis.traits.scale != "number")
    assert axis.describe()
    if axis.traits.nested:
        assert axis.traits.labelled
        assert axis.levels()


# ---- parts of an axis

DECLARED = [
    Axis.regular("x", 0, 96, 480),
    Axis.integers("x", 1, 120),
    Axis.edges("x", [0, 1, 2.5, 7, 100]),
    Axis.dates("x", "2012-12-15", "2013-03-31"),
    Axis.dates("x", "2013-01-01T00", "2013-01-03T23", "hour"),
    Axis.ipv4("x", "10.0.0.0/8", 12),
    Axis.categories("x", ["a", "b", "c"]),
    Axis.hierarchy("x", {"CA": ["Kern", "Napa"], "NV": ["Clark"]}),
]


def edges(axis):
    return [axis.edge(index) for index in range(axis.size + 1)]


@pytest.mark.parametrize("axis", DECLARED, ids=lambda axis: axis.traits.kind)
@given(data=st.data())
def test_a_part_is_made_of_declared_cells(axis, data):
    start = data.draw(st.integers(0, axis.size - 1))
    stop = data.draw(st.integers(start + 1, axis.size))
    cells = data.draw(st.none() | st.integers(1, stop - start) | st.integers(1, 12))
    ends = data.draw(st.sampled_from([None, (axis.edge(start), axis.edge(stop))]))
    try:
        part = axis.part(ends, cells)
    except InputError:
        assert cells is not None or (ends is not None and (start, stop) != (0, axis.size))
        return
    assert part.name == axis.name
    if cells is not None:
        assert part.size == cells
    # Every edge of the part is an edge of the axis, in the axis's own words or its level's.
    first, last = (0, axis.size) if ends is None else (start, stop)
    found = [axis.span(None, edge)[1] for edge in edges(part)[:-1] if edge is not None]
    if found and not part.has_nodes:
        assert found[0] == first
        assert all(first <= cell <= last for cell in found)


@pytest.mark.parametrize("cells", [0, -1, 1 << 30])
@pytest.mark.parametrize("axis", DECLARED, ids=lambda axis: axis.traits.kind)
def test_finer_than_declared_is_refused(axis, cells):
    with pytest.raises(InputError):
        axis.part(None, cells)


def test_a_month_of_days_may_be_asked_by_itself():
    day = DECLARED[3]
    part = day.part(("2013-02-01", "2013-03-01"), None)
    assert (part.size, part.edge(0), part.edge(28)) == (28, "2013-02-01", "2013-03-01")
    assert day.part(("2013-01-01", "2013-03-01"), 2).size == 2


@pytest.mark.parametrize("axis", DECLARED[:3], ids=lambda axis: axis.traits.kind)
@given(low=st.floats(-1e7, 1e7), high=st.floats(-1e7, 1e7))
def test_a_view_reaches_around_its_ends(axis, low, high):
    start, stop = axis.around(str(low), str(high))
    edges = [float(axis.edge(i)) for i in range(axis.size + 1)]
    assert 0 <= start < stop <= axis.size
    if edges[0] <= low <= high <= edges[-1]:
        assert edges[start] <= low or start == axis.size - 1
        assert edges[stop] >= high
        inside = [i for i in range(axis.size) if edges[i + 1] > low and edges[i] < high]
        if inside:
            assert (start, stop) == (inside[0], inside[-1] + 1)


def test_a_view_without_ends_is_all_of_it_and_one_of_no_number_is_refused():
    axis = DECLARED[0]
    assert axis.around(None, None) == axis.around("", "") == axis.around("-inf", "inf") == (0, 480)
    for wrong in ("nan", "x", [0]):
        with pytest.raises(InputError):
            axis.around(wrong, None)
    assert DECLARED[3].around("2013-01-01", "2013-01-03") == (17, 19)
