"""Keys as trueup.toml declares them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import trueup as tu
from trueup.errors import InputError
from trueup.keys.declared import declared_keys


def test_a_declaration_is_the_question_that_it_says() -> None:
    given = {"universe": "text:a-z:8", "keys_per_unit": 3, "number": "1/20", "title": "Words"}
    asked = tu.KeyCounts(tu.Universe.text("a-z", 8), "word", 3, number=Fraction(1, 20))
    assert declared_keys("word", given) == asked
    place = {"universe": {"kind": "places", "degrees": "45/64"}, "columns": ["lat", "lon"]}
    assert declared_keys("place", place).columns == ("lat", "lon")
    tree = {"universe": "ipv4", "column": "host", "tree": True, "step": 8}
    assert declared_keys("hosts", tree) == tu.PrefixCounts(tu.Universe.ipv4(), "host", step=8)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "universe is missing"),
        ({"universe": "text"}, "whole number"),
        ({"universe": "ipv4", "step": 8}, "step"),
        ({"universe": "ipv4", "tree": True, "number": "1/2"}, "number"),
        ({"universe": "ipv4", "tree": "yes"}, "true or false"),
        ({"universe": "ipv4", "column": "a", "columns": ["a"]}, "not both"),
        ({"universe": "ipv4", "columns": "a"}, "must be a list"),
        ({"universe": "places:1/100", "column": "lat"}, "two columns"),
    ],
)
def test_what_makes_no_sense_is_refused(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        declared_keys("word", spec)


def test_cells_are_declared_by_their_axes_and_read_their_columns() -> None:
    axes = [
        {"name": "age", "kind": "integers", "first": 0, "last": 99},
        {"name": "borough", "kind": "categories", "labels": ["Bronx", "Kings"]},
    ]
    universe = {"kind": "cells", "axes": axes}
    asked = declared_keys("visits", {"universe": universe})
    assert asked.columns == ("age", "borough")
    assert asked.universe.size == 200
    other = declared_keys("visits", {"universe": universe, "columns": ["a", "b"]})
    assert other.columns == ("a", "b")
    with pytest.raises(InputError, match="a column for each axis, 2 in all"):
        declared_keys("visits", {"universe": universe, "column": "age"})
    alone = declared_keys("visits", {"universe": {"kind": "cells", "axes": axes[:1]}})
    assert alone.columns == ("age",)


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("said", ["once", "many"])
def test_how_often_a_unit_counts_in_a_key_is_as_declared(tree: bool, said: str) -> None:
    spec = {"universe": "ipv4", "tree": tree, "duplicates": said}
    assert declared_keys("host", spec).duplicates == said
    del spec["duplicates"]
    assert declared_keys("host", spec).duplicates == "once"
