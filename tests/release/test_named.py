"""Named counts, published."""

from __future__ import annotations

import pyarrow as pa
import pytest

import trueup as tu

QUESTION = tu.NamedCounts(3, {"all": slice(None), "a": [0], "b": [1], "c": [2]})


def release():
    return tu.infer(tu.Measurement(QUESTION, [10, 5, 3, 4], 1))


def test_answers_go_by_name_and_add_up():
    r = release()
    assert r["a"].value + r["b"].value + r["c"].value == r["all"].value
    assert r.names == ("all", "a", "b", "c")
    assert [r[name].value for name in r.names] == r.counts().tolist()
    assert (r["all"] - r["a"]).value == r["b"].value + r["c"].value


def test_the_table_is_names_counts_and_errors():
    r = release()
    table = r.to_frame()
    assert table.column_names == ["query", "count", "std_error"]
    assert table["query"].to_pylist() == list(r.names)
    assert table["std_error"].to_pylist() == pytest.approx([r[name].std_error for name in r.names])
    assert pa.table(r).equals(table)
    assert r.to_frame("polars")["query"].to_list() == list(r.names)
    assert r.to_frame("pandas")["count"].tolist() == r.counts().tolist()


@pytest.mark.parametrize("name", ["d", "", None, 0])
def test_a_query_that_was_not_asked_is_refused(name):
    with pytest.raises(tu.InputError, match=r"There is no query .*\. Queries: all, a, b, c"):
        release()[name]


def test_answers_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="read-only"):
        release().counts()[0] = 5
    assert repr(release()).startswith("<NamedRelease: all ")
