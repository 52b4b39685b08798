"""Catching a δ that is too small: keys that one unit alone has, and how often they are shown.

A unit that comes with keys that nobody else has betrays itself when one of them is shown. Without
it they are shown by no chance at all, so for every ε the chance of it is at most δ. It is counted
over many units at once, and bounded from below (Clopper and Pearson).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from trueup.arrays import Bools
from trueup.axis.numbers import whole_number
from trueup.cost import check_delta
from trueup.errors import InputError
from trueup.keys import KeyTerms
from trueup.keys.drawing import selected_keys

Shows = Callable[[int], Bools]
"""Which of so many keys, each with a count of one, are shown."""


@dataclass(frozen=True)
class LonelyAudit:
    """Of so many units how many were betrayed, and the δ that this proves, at the least."""

    units: int
    betrayed: int
    delta: Fraction
    least: float

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the δ that was claimed."""
        return self.least <= self.delta

    def __str__(self) -> str:
        verdict = "nothing against it" if self.holds else "too small"
        return (
            f"delta {float(self.delta):.3g} claimed, at least {self.least:.3g} shown "
            f"({self.betrayed:,} of {self.units:,} units betrayed): {verdict}"
        )


def audit_delta(
    shows: Shows, delta: object, keys_per_unit: int = 1, units: int = 200_000, risk: float = 1e-6
) -> LonelyAudit:
    """How often a unit is betrayed by keys that nobody else has, against the δ that is claimed.

    `shows` is the mechanism: given how many keys there are, each with a count of one, it says which
    it shows. A right one is found fault with, with a probability of at most `risk`.

    >>> bad = audit_delta(lambda keys: np.random.default_rng(1).random(keys) < 1e-3, "1e-3", 5)
    >>> bad.holds
    False
    """
    from scipy.stats import beta

    claimed = check_delta(delta)
    keys, many = whole_number(keys_per_unit, "keys_per_unit"), whole_number(units, "units")
    if keys < 1 or many < 1:
        raise InputError("An audit needs at least one unit with at least one key.")
    shown = np.asarray(shows(keys * many), np.bool_)
    if shown.shape != (keys * many,):
        raise InputError("The mechanism must say of each key whether it is shown.")
    betrayed = int(shown.reshape(many, keys).any(axis=1).sum())
    least = float(beta.ppf(risk, betrayed, many - betrayed + 1)) if betrayed else 0.0
    return LonelyAudit(many, betrayed, claimed, least)


def shown_alone(terms: KeyTerms) -> Shows:
    """Our own mechanism, as `audit_delta` takes it: exact noise, drawn as in a measurement."""
    if not terms.cost.delta:
        raise InputError("Only a measurement with a delta can be audited for it.")

    def shows(keys: int) -> Bools:
        ones = np.ones(keys, np.int64)
        noise = terms.count_scale, terms.threshold, terms.cut
        found, _ = selected_keys(np.arange(keys), ones, *noise)
        shown = np.zeros(keys, np.bool_)
        shown[np.array(found, np.int64)] = True
        return shown

    return shows
