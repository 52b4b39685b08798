"""What a table declares turns a question into a request, and is checked when it is opened."""

from __future__ import annotations

from typing import Any

import pytest

import trueup as tu
from trueup.errors import InputError, SourceError
from trueup.owner.columns import Columns
from trueup.owner.declared import Declared
from trueup.owner.graph import Graph

SCHEMA: Any = {"user": "text", "fare": "integer", "at": "time", "a": "integer", "b": "text"}


def test_a_request_reads_what_was_declared_and_no_more() -> None:
    table = Declared(Columns(SCHEMA, None), "user", 3, None, None)
    asked = table.request_for(tu.CellCounts(tu.Axis.integers("fare", 0, 3)), None, False)
    assert [one.column for one in asked.wanted] == ["user", "fare"]
    assert (asked.rows_per_unit, asked.dated) == (3, None)
    again = table.request_for(tu.CellCounts(tu.Axis.integers("fare", 0, 3)), None, False)
    assert asked.key != again.key


def test_units_and_ends_that_cannot_be_names_are_refused_when_it_is_opened() -> None:
    with pytest.raises(SourceError, match="text or whole numbers are needed"):
        Declared(Columns(SCHEMA, None), "at", 3, None, None)
    with pytest.raises(InputError, match="columns of one type"):
        Declared(Columns(SCHEMA, None), None, 1, Graph("a", "b", "undirected"), None)
