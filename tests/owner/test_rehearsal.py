"""Noise that cannot be drawn is refused before anything is charged."""

from __future__ import annotations

import pytest

import trueup as tu
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.owner.rehearsal import check_noise


def test_noise_is_tried_without_data() -> None:
    question = tu.CellCounts(tu.Axis.integers("n", 0, 3))
    for cost in (Cost.of(1), Cost.of(rho=1)):
        check_noise(question, cost, "add-remove", 1)
    with pytest.raises(InputError):
        check_noise(question, Cost.of("1e-14"), "replace", 10**9)
