"""Going down a hierarchy: children add up to their parent, tables hold every node once."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu

PLACES = {"West": {"CA": ["Kern", "Napa", "Yolo"], "NV": ["Clark"]}, "DC": None}
COUNTS = [5, 6, 7, 8, 9]


def place(**way):
    axis = tu.Axis.hierarchy("place", PLACES, ["region", "state", "county"])
    shares = ["1/10", "3/10", "6/10"]
    question = tu.TreeCounts(axis, levels=["region", "state", "county"], shares=shares)
    return tu.infer(tu.measure(COUNTS, question, epsilon="0.5"), **way)


@pytest.mark.parametrize("way", [{}, {"nonnegative": True, "integers": True}], ids=str)
def test_children_sum_to_their_parent(way):
    release = place(**way)
    for path in ((), ("West",), ("CA",), ("West", "NV")):
        children = release.children(*path)
        parent = release.node(*path) if path else release.total()
        assert sum(child.value for child in children.values()) == parent.value
        added = sum(list(children.values())[1:], start=next(iter(children.values())))
        assert added.unbiased.std_error == pytest.approx(parent.unbiased.std_error, abs=1e-6)
    assert list(release.children()) == ["West", "DC"]
    assert list(release.children("CA")) == list(release.children("West", "CA"))
    assert list(release.children("NV")) == ["Clark"]
    assert release.children("Kern") == release.children("DC") == {}


def test_a_table_holds_every_node_under_a_path_once():
    release = place()
    table = release.table().to_pylist()
    names = ("region", "state", "county")
    assert [tuple(row[name] for name in ("level", *names)) for row in table] == [
        ("region", "West", None, None),
        ("region", "DC", None, None),
        ("state", "West", "CA", None),
        ("state", "West", "NV", None),
        ("county", "West", "CA", "Kern"),
        ("county", "West", "CA", "Napa"),
        ("county", "West", "CA", "Yolo"),
        ("county", "West", "NV", "Clark"),
    ]
    for row in table:
        answer = release.node(*(row[name] for name in names if row[name]))
        assert row["count"] == answer.value
        assert row["std_error"] == pytest.approx(answer.std_error)
    counties = release.table("West", level="county", library="pandas")
    assert counties["county"].tolist() == ["Kern", "Napa", "Yolo", "Clark"]
    assert release.table("Kern").num_rows == 0


def test_shown_tables_keep_the_unbiased_counts_and_their_errors():
    release = place(nonnegative=True)
    table = release.table("CA", library="pandas")
    own = release.unbiased.table("CA", library="pandas")
    assert table["unbiased"].tolist() == own["count"].tolist()
    assert table["unbiased_std_error"].tolist() == own["std_error"].tolist()
    assert "std_error" not in table


def test_calendars_go_from_years_to_days():
    day = tu.Axis.dates("day", "2013-01-01", "2014-12-31")
    question = tu.TreeCounts(day, levels=["year", "month", "day"], shares=["0.2", "0.3", "0.5"])
    release = tu.infer(tu.measure(np.arange(730), question, epsilon=1))
    assert list(release.children()) == ["2013", "2014"]
    assert list(release.children("2013"))[3] == "2013-04"
    april = release.children("2013-04")
    assert list(april)[::29] == ["2013-04-01", "2013-04-30"]
    assert sum(answer.value for answer in april.values()) == release.node("2013-04").value
    assert release.children("2013-04-05") == {}
    months = release.table("2014", level="month", library="pandas")
    assert months["count"].sum() == release.node("2014").value
    assert len(months) == 12


def test_networks_go_from_prefix_to_prefix():
    host = tu.Axis.ipv4("host", "10.0.0.0/14", 18)
    release = tu.infer(tu.measure(np.arange(16), tu.CellCounts(host), epsilon=1))
    assert list(release.children("10.0.0.0/16")) == ["10.0.0.0/17", "10.0.128.0/17"]


def test_what_has_no_levels_is_refused():
    release = tu.infer(tu.measure([1, 2], tu.CellCounts(2), epsilon=1))
    with pytest.raises(tu.InputError, match="no levels"):
        release.children()
    with pytest.raises(tu.InputError, match=r"no level 'town'\. Levels: region, state, county"):
        place().table(level="town")
    with pytest.raises(tu.InputError, match="'TX' is not a label"):
        place().children("TX")
