"""The best strategy, and the one of a name, of lists whose answer is plain to see."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from trueup.errors import InputError
from trueup.plan.choice import best_of, named


@dataclass(frozen=True)
class One:
    name: str
    mean: float


ALL = (One("flat", 5.0), One("tree", 3.0), One("hats", 3.0 * (1 - 1e-13)), One("rule", 9.0))


def test_the_least_error_is_best_and_of_equal_ones_the_simplest() -> None:
    assert best_of(ALL, nonnegative=False).name == "tree"
    assert best_of((*ALL, One("more", 2.9)), nonnegative=False).name == "more"
    assert best_of(ALL, nonnegative=True).name == "rule"


def test_strategies_are_found_by_name_or_place() -> None:
    assert named(ALL, "hats") is named(ALL, 2) is ALL[2]
    with pytest.raises(InputError, match="'flat', 'tree'"):
        named(ALL, "trees")
