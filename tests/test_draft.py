"""A first trueup.toml: names and types of columns, and blanks."""

from __future__ import annotations

import tomllib

import pytest

from trueup.draft import BLANK, blank, draft

SCHEMA = {
    "age": "integer",
    "fare": "float",
    "a b": "text",
    'q"uote': "decimal",
    "day": "date",
    "when": "time",
    "paid": "boolean",
    "blob": "something else",
    "read": "raw",
}


def test_a_draft_is_toml_with_an_axis_for_every_column_that_can_have_one() -> None:
    found = tomllib.loads(draft("trips", "trips.parquet", SCHEMA))["datasets"]["trips"]
    assert list(found["axes"]) == ["age", "fare", "a b", 'q"uote', "day", "when", "read"]
    assert found["source"] == "trips.parquet"
    assert found["limit"] == BLANK
    for axis in found["axes"].values():
        assert blank(axis) is not None


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"limit": "?"}, "limit"),
        ({"axes": {"age": {"first": 0, "last": "?"}}}, "axes.age.last"),
        ({"axes": {"town": {"labels": ["?"]}}}, "axes.town.labels"),
        ({"axes": {"town": {"labels": ["Kern", "?"]}}}, None),  # a label like any other
        ({"limit": "1", "title": "Why?"}, None),
    ],
)
def test_a_blank_is_found(value: object, place: str | None) -> None:
    assert blank(value) == place
