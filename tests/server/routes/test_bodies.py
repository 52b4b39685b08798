"""What may be sent: known fields within bounds; the cells that a picture shows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.server.errors import FieldError
from trueup.server.routes.bodies import Ask, Ranges, View, Zoom


@pytest.mark.parametrize(
    ("epsilon", "exact"), [("1/10", "1/10"), (0.1, "1/10"), ("0.25", "1/4"), (2, "2")]
)
def test_a_price_is_exact(epsilon: Any, exact: str) -> None:
    assert Ask(epsilon=epsilon).asked().cost.epsilon == Fraction(exact)


@pytest.mark.parametrize(
    "body",
    [
        {"epsilon": True},
        {"epsilon": 1, "range": [1]},
        {"epsilon": 1, "range": [1, True]},
        {"epsilon": 1, "cells": 0},
        {"epsilon": 1, "cells": "3"},
        {"epsilon": 1, "strategy": "x" * 41},
        {"epsilon": 1, "colour": "red"},
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(pydantic.ValidationError):
        Ask.model_validate(body)


def test_an_error_does_not_repeat_what_was_sent() -> None:
    with pytest.raises(pydantic.ValidationError) as refused:
        Ranges.model_validate({"ranges": [["secret", 1, 2]]})
    assert "secret" not in str(refused.value)


@given(st.integers(1, 50), st.integers(0, 60), st.integers(0, 60))
def test_a_picture_by_cells_shows_at_least_one_of_the_axis(
    size: int, start: int, stop: int
) -> None:
    axis = tu.Axis.integers("x", 0, size - 1)
    if start >= stop:
        with pytest.raises(tu.InputError, match="must lie before"):
            Zoom(start=start, stop=stop).cells(axis)
        return
    first, last = Zoom(start=start, stop=stop).cells(axis)
    assert 0 <= first < last <= size
    asked = set(range(start, stop)) & set(range(size))
    assert not asked or set(range(first, last)) == asked


def test_a_picture_is_asked_by_ends_or_by_cells() -> None:
    axis = tu.Axis.integers("x", 0, 99)
    assert View().cells(axis) == (0, 100)
    assert View(low="17.5", high="20").cells(axis) == (17, 20)
    with pytest.raises(tu.InputError, match="not both"):
        View(low="1", stop=3).cells(axis)


@pytest.mark.parametrize(("body", "place"), [({}, "/epsilon"), ({"epsilon": 1, "rho": 1}, "/rho")])
def test_a_price_is_in_epsilon_or_in_rho(body: dict[str, Any], place: str) -> None:
    assert Ask(rho="1/8").asked().cost.rho == Fraction(1, 8)
    with pytest.raises(FieldError, match="one of the two") as wrong:
        Ask.model_validate(body).asked()
    assert wrong.value.pointer == place
