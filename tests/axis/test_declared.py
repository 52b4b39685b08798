"""Axes as an owner declares them: what is missing, strange or wrong is named."""

from __future__ import annotations

from typing import Any

import pytest

from trueup import Axis, InputError
from trueup.axis.declared import declared_axis

DECLARED: list[tuple[dict[str, Any], Axis]] = [
    ({"kind": "integers", "first": 0, "last": 2**53 + 1 - 2**53}, Axis.integers("x", 0, 1)),
    ({"kind": "regular", "low": 0, "high": 1.5, "bins": 3}, Axis.regular("x", 0, 1.5, 3)),
    ({"kind": "edges", "edges": [0, 1, 5]}, Axis.edges("x", [0, 1, 5])),
    ({"kind": "categories", "labels": ["a", 2]}, Axis.categories("x", ["a", 2])),
    ({"kind": "dates", "first": "2013", "last": "2013"}, Axis.dates("x", "2013", "2013")),
    ({"kind": "ipv4", "network": "10.0.0.0/8"}, Axis.ipv4("x", "10.0.0.0/8", 16)),
    ({"kind": "hierarchy", "tree": {"a": ["b"]}}, Axis.hierarchy("x", {"a": ["b"]})),
    ({"kind": "codes", "codes": [3, 17], "levels": {"a": 2}}, Axis.codes("x", [17, 3], {"a": 2})),
    (
        {"kind": "hierarchy", "paths": [["a", "b"]], "levels": ["one", "two"]},
        Axis.hierarchy("x", [["a", "b"]], ["one", "two"]),
    ),
]


@pytest.mark.parametrize(("spec", "axis"), DECLARED, ids=lambda value: str(value)[:40])
def test_a_declaration_makes_the_axis_that_python_makes(spec: Any, axis: Axis) -> None:
    assert declared_axis("x", spec) == axis


@pytest.mark.parametrize("axis", [axis for _, axis in DECLARED], ids=lambda axis: axis.traits.kind)
def test_what_a_file_says_of_an_axis_declares_it(axis: Axis) -> None:
    assert declared_axis("x", axis.to_json()) == axis


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({}, "must be one of integers, regular"),
        ({"kind": "spiral"}, "got 'spiral'"),
        ({"kind": "integers", "first": 0}, "lacks last: integers needs first, last"),
        (
            {"kind": "regular", "low": 0, "high": 9, "bins": 3, "bin": 4},
            "Did you mean bins",
        ),
        ({"kind": "integers", "first": "0", "last": 9}, "whole number"),
        ({"kind": "edges", "edges": 3}, "edges"),
        ({"kind": "hierarchy", "tree": 3}, "nested dict"),
        ({"kind": "dates", "first": 2013, "last": "2013"}, "date"),
    ],
    ids=str,
)
def test_a_declaration_that_makes_no_sense_is_told_why(spec: Any, says: str) -> None:
    with pytest.raises(InputError) as refused:
        declared_axis("x", spec)
    assert says in str(refused.value)
