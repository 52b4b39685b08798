"""Kinds of columns: what is read as what is decided by types alone, before a value is seen."""

from __future__ import annotations

import itertools

import pytest

import trueup as tu
from trueup.owner.columns import DECLARABLE, Columns, Wanted

STORAGES = (
    "integer",
    "float",
    "decimal",
    "text",
    "date",
    "time",
    "boolean",
    "raw",
    "something else",
)
# What a person would expect to be able to read as what.
READS = {
    "integer": {"integer", "float", "decimal", "raw"},
    "number": {"integer", "float", "decimal", "raw"},
    "text": {"text", "raw"},
    "time": {"time", "date", "raw"},
    "address": {"text", "integer", "raw"},
    "boolean": {"boolean", "raw"},
}
ALL = Columns({storage: storage for storage in STORAGES}, None)


@pytest.mark.parametrize(("kind", "storage"), list(itertools.product(READS, STORAGES)))
def test_a_column_is_read_as_a_kind_or_refused_by_its_type(kind, storage):
    if storage in READS[kind]:
        assert ALL.wanted(storage, kind, "0") == Wanted(storage, storage, kind, "0")
    else:
        with pytest.raises(tu.SourceError, match=f"Column '{storage}' holds .*, where .* needed"):
            ALL.wanted(storage, kind, "0")


def test_a_column_that_is_not_there_is_refused_and_lines_may_have_any():
    with pytest.raises(tu.SourceError, match="no column 'else'"):
        ALL.wanted("else", "text", "0")
    assert Columns(None, None).wanted("else", "text", "0").storage == "raw"


@pytest.mark.parametrize(
    ("axis", "storage", "kind"),
    [
        (tu.Axis.integers("c", 0, 3), "float", "integer"),
        (tu.Axis.regular("c", 0, 3, bins=3), "integer", "number"),
        (tu.Axis.dates("c", "2020-01-01", "2020-02-01"), "date", "time"),
        (tu.Axis.ipv4("c", "10.0.0.0/8", 16), "text", "address"),
        (tu.Axis.categories("c", ["x", "y"]), "text", "text"),
        (tu.Axis.categories("c", [1, 2]), "integer", "integer"),
        (tu.Axis.categories("c", [1, "x"]), "integer", "integer"),
        (tu.Axis.categories("c", [1, "x"]), "text", "text"),
        (tu.Axis.categories("c", [1, "x"]), "raw", "text"),
        (tu.Axis.categories("c", [1, 2]), "raw", "integer"),
    ],
)
def test_an_axis_reads_its_column_as_the_kind_that_it_takes(axis, storage, kind):
    assert Columns({"c": storage}, None).counted(axis, "0") == Wanted("c", storage, kind, "0")


def test_once_columns_are_declared_a_filter_may_use_only_those():
    schema = {"a": "integer", "b": "text", "r": "raw"}
    free = Columns(schema, None)
    assert free.compared("a", "0").kind == "integer"
    with pytest.raises(tu.SourceError, match="was not declared"):
        free.compared("r", "0")
    declared = Columns(schema, {"a": "number", "r": "time"})
    assert declared.compared("a", "0").kind == "number"
    assert declared.compared("r", "0").kind == "time"
    with pytest.raises(tu.SourceError, match="filter uses column 'b', whose type was not declared"):
        declared.compared("b", "0")
    with pytest.raises(tu.SourceError, match="was not declared"):
        Columns(schema, {}).compared("a", "0")


def test_what_is_declared_must_be_there_and_readable():
    with pytest.raises(tu.InputError, match="must be one of integer, number, text, time, boolean"):
        Columns({"a": "text"}, {"a": "address"})
    assert "address" not in DECLARABLE
    with pytest.raises(tu.SourceError, match="no column 'b'"):
        Columns({"a": "text"}, {"b": "text"})
    with pytest.raises(tu.SourceError, match="holds text, where times are needed"):
        Columns({"a": "text"}, {"a": "time"})


@pytest.mark.parametrize("storage", STORAGES)
def test_only_text_and_whole_numbers_name_units(storage):
    named = {"integer": "integer", "text": "text", "raw": "text"}
    columns = Columns({"u": storage}, None)
    if storage in named:
        assert columns.naming("u", "0").kind == named[storage]
    else:
        with pytest.raises(tu.SourceError):
            columns.naming("u", "0")
    assert Columns({"u": "float"}, {"u": "integer"}).naming("u", "0").kind == "integer"


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_a_file_with_other_separators_is_told_from_one_without_the_column(sign):
    """Its whole first line is one name, in which the column that is asked for stands."""
    with pytest.raises(tu.SourceError, match=r"no column 'age'.* separated by .*with commas"):
        Columns({f"age{sign}name": "raw"}, None).storage("age")
    with pytest.raises(tu.SourceError) as refused:
        Columns({"age;name": "raw", "town": "raw"}, None).storage("age")
    assert "separated" not in str(refused.value)


def test_a_table_without_names_that_are_text_is_not_said_to_be_empty():
    with pytest.raises(tu.SourceError, match="has no column whose name is text"):
        Columns({}, None).storage("age")


def test_a_type_that_no_axis_takes_is_refused_with_what_it_may_be():
    for kind in READS:
        with pytest.raises(tu.SourceError, match="not the same in every file"):
            ALL.wanted("something else", kind, "0")
