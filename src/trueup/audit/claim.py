"""What a mechanism claims to cost, and what chances of one event prove about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.arrays import Floats
from trueup.epsilon import exact, positive
from trueup.errors import InputError

# Orders of Rényi's divergence that are tried; 1 is Kullback and Leibler's.
_ORDERS = (1.0, 1.01, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0)


@dataclass(frozen=True)
class Claim:
    """ε, or ε and δ, or the ρ of zero-concentrated privacy, as it was said.

    >>> print(Claim.of("1/2", "1e-6"), Claim.of(rho="1/8"))
    epsilon = 0.5, delta = 1e-06 rho = 0.125
    """

    notion: str = "epsilon"
    number: float = 1.0
    delta: float = 0.0

    @staticmethod
    def of(epsilon: object = None, delta: object = 0, rho: object = None) -> Claim:
        """The claim, refused unless it is one."""
        if isinstance(epsilon, Claim) and rho is None:
            return epsilon
        if (epsilon is None) == (rho is None):
            raise InputError("Give the claim as epsilon, perhaps with delta, or as rho.")
        more = exact(delta, "delta")
        if not 0 <= more < 1:
            raise InputError(f"delta must be at least 0 and below 1, got {delta}.")
        if rho is not None and more:
            raise InputError("rho has no delta beside it.")
        if rho is not None:
            return Claim("rho", float(positive(rho, "rho")))
        return Claim("epsilon", float(positive(epsilon)), float(Fraction(more)))

    def __str__(self) -> str:
        beside = f", delta = {self.delta:g}" if self.delta else ""
        return f"{self.notion} = {self.number:g}{beside}"

    def proved(self, least: float, most: float) -> float:
        """What it costs at least if an event has chance ≥ least here, and ≤ most there.

        ε: least ≤ e^ε · most + δ. ρ: Rényi's divergence of order α is at most ρ · α, whatever α,
        and of the event alone no larger than of all outputs.
        """
        return float(self.promised(np.array([least]), np.array([most]))[0])

    def promised(self, least: Floats, most: Floats) -> Floats:
        """As `proved`, for many events."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.notion == "epsilon":
                found = np.log(np.maximum(least - self.delta, 0.0) / most)
            else:
                found = np.max([d / order for order, d in _divergences(least, most)], axis=0)
        found = np.where((least > most) & np.isfinite(found), found, 0.0)
        return np.maximum(found, 0.0)

    def together(self, proofs: Sequence[tuple[float, float, bool]]) -> float:
        """What outputs of independent noise prove together: (least, most, reversed) of each.

        Ratios of chances multiply, and divergences add up, among events of one side: those that
        are likelier on the first input, or those that are likelier on the second. With δ nothing
        adds up.
        """
        best = 0.0
        for side in (False, True) if not self.delta else ():
            own = [(least, most) for least, most, turned in proofs if turned is side]
            if own and self.notion == "epsilon":
                best = max(best, math.fsum(self.proved(*each) for each in own))
            elif own:
                both = np.array(own)
                sums = [d.sum() / order for order, d in _divergences(both[:, 0], both[:, 1])]
                best = max(best, float(max(sums)))
        return best


def _divergences(least: Floats, most: Floats) -> list[tuple[float, NDArray[Any]]]:
    """Rényi's divergences of yes or no with these chances, of every order; 0 where nothing shows.

    They grow with the chance here and fall with the chance there, while the first is larger.
    """
    found = []
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        p, q = np.clip(least, 0.0, 1.0), np.clip(most, 1e-300, 1 - 1e-16)
        yes, no = np.log(p) - np.log(q), np.log1p(-p) - np.log1p(-q)
        for order in _ORDERS:
            if order == 1.0:
                each = p * yes + np.where(p < 1, (1 - p) * no, 0.0)
            else:
                first = np.log(q) + order * yes
                second = np.where(p < 1, np.log1p(-q) + order * no, -np.inf)
                each = np.logaddexp(first, second) / (order - 1)
            each = np.where((p > q) & np.isfinite(each), np.maximum(each, 0.0), 0.0)
            found.append((order, each))
    return found
