"""The terms of a measurement of keys: its noise and its threshold, known before anything is spent.

With a universe of U keys and noise X of scale b, every key gets noise and is shown where its noisy
count is at least τ, the least whole number with U · P(X ≥ τ) ≤ false_keys. That is ε-differentially
private, for it is a function of the noisy counts of all keys.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from trueup.ask.cells import CellCounts
from trueup.ask.question import Neighbours, check_neighbours
from trueup.axis import Axis
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.facts import Facts, check_unit
from trueup.keys.law import ShownLaw
from trueup.keys.question import KeyCounts, check_keys_per_unit
from trueup.keys.universe import many
from trueup.noise import Noise

_TWO = CellCounts(Axis.integers("key", 0, 1))
_LONG = 100  # bits of a universe beyond which a tree of prefixes needs fewer records a key


@dataclass(frozen=True)
class KeyTerms:
    """A question of keys, what it costs and whom it protects.

    >>> from trueup.keys.universe import Universe
    >>> terms = KeyTerms.of(KeyCounts(Universe.integers(), total=0), epsilon=1)
    >>> terms.threshold, terms.count_scale
    (45, Fraction(1, 1))
    """

    question: KeyCounts
    cost: Cost
    neighbours: Neighbours = "add-remove"
    unit: str = "row"
    keys_per_unit: int = 1

    @staticmethod
    def of(
        question: KeyCounts,
        epsilon: object = None,
        neighbours: Neighbours = "add-remove",
        unit: str = "row",
        rows_per_unit: int | None = None,
    ) -> KeyTerms:
        """The terms, each checked, and the noise found to be one that can be drawn."""
        if not isinstance(question, KeyCounts):
            raise InputError("Keys are asked for by KeyCounts(universe, by=…).")
        cost, unit = Cost.of(epsilon), check_unit(unit)
        if unit == "row":
            if question.keys_per_unit not in (None, 1):
                raise InputError(
                    "A row has one key. keys_per_unit goes with a unit, such as "
                    'Owner(…, unit="user_id", rows_per_unit=3).'
                )
            keys = 1
        else:
            given = question.keys_per_unit
            keys = check_keys_per_unit(rows_per_unit if given is None else given)
        terms = KeyTerms(question, cost, check_neighbours(neighbours), unit, keys)
        terms.check_drawable()
        return terms

    def _scale(self, share: Fraction) -> Fraction:
        """The noise scale of numbers that a unit moves by its keys in all, at a share of ε."""
        return Noise(_TWO, self.cost.amount * share, self.neighbours, self.keys_per_unit).scales[0]

    @cached_property
    def count_scale(self) -> Fraction:
        """The noise scale of the count of a key."""
        return self._scale(self.question.counts)

    @property
    def total_scale(self) -> Fraction | None:
        """The noise scale of the total; None if it is not asked."""
        return self._scale(self.question.total) if self.question.total else None

    @property
    def number_scale(self) -> Fraction | None:
        """The noise scale of the number of keys; None if it is not asked."""
        return self._scale(self.question.number) if self.question.number else None

    @cached_property
    def threshold(self) -> int:
        """The least noisy count that is shown."""
        from trueup._kernels.noise.passing import threshold_for

        return threshold_for(
            self.question.universe.size, self.question.false_keys, self.count_scale
        )

    @cached_property
    def law(self) -> ShownLaw:
        """The law of a noisy count, given that it is shown."""
        return ShownLaw(float(self.count_scale), self.threshold)

    @property
    def false_keys(self) -> float:
        """How many keys that nobody has are shown on average, at most."""
        size = self.question.universe.size
        return math.exp(math.log(size) + self.law.log_chance(0))

    def check_drawable(self) -> None:
        """Refuses, before anything is spent, noise that cannot be drawn."""
        from trueup._kernels.noise.laplace_tables import checked_scale

        for scale in (self.count_scale, self.total_scale, self.number_scale):
            if scale is not None:
                checked_scale(scale)
        if self.threshold >= 1 << 62:
            raise InputError("The threshold would pass 2^62: choose a larger epsilon.")

    @property
    def counted(self) -> str:
        """What may be left out of the counts, in words; nothing where each row counts."""
        if self.unit == "row":
            return ""
        keys = f"{self.keys_per_unit:,} {'key' if self.keys_per_unit == 1 else 'keys'}"
        if self.question.duplicates == "many":
            keys = f"{self.keys_per_unit:,} {'row' if self.keys_per_unit == 1 else 'rows'}"
            return f"at most {keys} of each {self.unit} are counted: true totals may be higher"
        return f"each {self.unit} is counted once in at most {keys}: true totals may be higher"

    def lines(self) -> dict[str, str]:
        """What a person should know before it is paid for."""
        universe = self.question.universe
        almost = self.law.surely_shown(0.95)
        said = {
            "universe": str(universe),
            "threshold": f"a key is shown if its noisy count is at least {self.threshold:,}",
            "finds": f"a key with {almost:,} or more is shown with probability 95 %",
            "false keys": f"{self.false_keys:.2g} keys that nobody has are shown on average",
        }
        if universe.size.bit_length() > _LONG:
            said["advice"] = (
                f"{many(universe.size)} keys need a high threshold: shorter keys, or a tree of "
                f"prefixes, need fewer records"
            )
        return said

    @property
    def facts(self) -> Facts:
        """The public facts that all numbers carry."""
        return Facts(
            epsilon=self.cost.epsilon,
            neighbours=self.neighbours,
            unit=self.unit,
            rows_per_unit=self.keys_per_unit,
        )

    def to_json(self) -> dict[str, Any]:
        """As plain values, the noise and the threshold among them."""
        return {
            "question": self.question.to_json(),
            "epsilon": str(self.cost.amount),
            "neighbours": self.neighbours,
            "unit": self.unit,
            "keys_per_unit": self.keys_per_unit,
            "scale": str(self.count_scale),
            "threshold": self.threshold,
        }

    @staticmethod
    def from_json(said: Mapping[str, Any]) -> KeyTerms:
        """Those that were written; refused if noise or threshold do not follow from the rest."""
        terms = KeyTerms.of(
            KeyCounts.from_json(said["question"]),
            said["epsilon"],
            said["neighbours"],
            said["unit"],
            said["keys_per_unit"],
        )
        if terms.to_json() != dict(said):
            raise InputError("The noise or the threshold do not follow from the question.")
        return terms
