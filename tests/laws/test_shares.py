"""Law: the shares of ε that a question gives its levels add up to 1, or it is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

import trueup as tu
from trueup.ask import Question

SHARED: dict[str, Callable[[list[Fraction]], Question]] = {
    "tree": lambda parts: tu.TreeCounts(8, radices=(2, 4), shares=parts),
    "hats": lambda parts: tu.HatCounts(8, [2, 4], parts),
    "wavelet": lambda parts: tu.WaveletCounts(4, parts),
    "boxes": lambda parts: tu.BoxCounts(
        2, 4, radices=[(2,), (2, 2)], shares=dict(zip([(1, 2), (0, 1), (0, 0)], parts, strict=True))
    ),
    "marginals": lambda parts: tu.BoxCounts.marginals(
        2, 3, marginals=[("axis 0",), ("axis 1",), ()], shares=parts
    ),
}


@pytest.mark.parametrize("kind", SHARED)
def test_shares_add_up_to_one(kind: str) -> None:
    parts = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    assert SHARED[kind](parts).price() == 1
    for times in (
        Fraction(1, 2),
        Fraction(999, 1000),
        Fraction(1001, 1000),
        Fraction(2),
        Fraction(3),
    ):
        with pytest.raises(tu.InputError, match="add up"):
            SHARED[kind]([part * times for part in parts])
    with pytest.raises(tu.InputError):
        SHARED[kind]([Fraction(3, 2), Fraction(-1, 3), Fraction(-1, 6)])
