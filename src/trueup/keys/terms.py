"""The terms of a measurement of keys: its noise and its threshold, known before anything is spent.

With a universe of U keys and noise X of scale b, every key gets noise and is shown where its noisy
count is at least τ, the least whole number with U · P(X ≥ τ) ≤ false_keys. That is ε-differentially
private, for it is a function of the noisy counts of all keys.

With a δ the universe plays no part: only keys that somebody has get noise, and a key that one unit
alone has is shown with a chance of at most δ over all its keys. That is (ε, δ), or (ρ, δ).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from trueup.ask.cells import CellCounts
from trueup.ask.question import Neighbours, check_neighbours
from trueup.axis import Axis
from trueup.cost import Cost, short
from trueup.errors import InputError
from trueup.facts import Facts, check_unit
from trueup.keys.law import GaussTails, LaplaceTails, ShownLaw
from trueup.keys.question import KeyCounts, check_keys_per_unit
from trueup.keys.universe import many
from trueup.noise import Noise
from trueup.period import Covered

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
        if cost.rho is not None and not cost.delta:
            raise InputError(
                "With rho, keys are shown by a delta: give one, such as Cost.of(rho=…, "
                'delta="1e-6"). Without a delta, give epsilon.'
            )
        if cost.delta and unit != "row" and question.duplicates == "many":
            raise InputError(
                'With a delta, a unit counts once in each of its keys: duplicates="once".'
            )
        terms = KeyTerms(question, cost, check_neighbours(neighbours), unit, keys)
        terms.check_drawable()
        return terms

    def _scale(self, share: Fraction) -> Fraction:
        """The scale of noise on what a unit moves by its keys in all, at a share of the cost."""
        amount = self.cost.amount * share
        if self.cost.rho is not None:
            return Noise(_TWO, None, self.neighbours, self.keys_per_unit, rho=amount).scales[0]
        return Noise(_TWO, amount, self.neighbours, self.keys_per_unit).scales[0]

    @cached_property
    def count_scale(self) -> Fraction:
        """The noise scale of the count of a key; of Gaussian noise, the variance.

        With ρ a unit moves each of its keys' counts by one, so that squares add up to its keys.
        """
        if self.cost.rho is None:
            return self._scale(self.question.counts)
        each = self.cost.rho * self.question.counts / self.keys_per_unit
        return Noise(_TWO, None, self.neighbours, 1, rho=each).scales[0]

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian, as it is for a ρ."""
        return self.cost.rho is not None

    @property
    def delta_of_a_key(self) -> Fraction:
        """The chance with which a key that one unit alone has may be shown."""
        keys = self.keys_per_unit * (2 if self.neighbours == "replace" else 1)
        return self.cost.delta / keys

    @cached_property
    def cut(self) -> int | None:
        """Within which the noise of counts lies; None where it has no bound."""
        from trueup._kernels.noise.cut import cut_for

        if not self.cost.delta or self.gaussian:
            return None
        return cut_for(self.delta_of_a_key, self.count_scale)

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
        from trueup._kernels.noise.cut import gaussian_threshold
        from trueup._kernels.noise.passing import threshold_for

        if self.cut is not None:
            return self.cut + 1
        if self.gaussian:
            return gaussian_threshold(self.delta_of_a_key, self.count_scale)
        return threshold_for(
            self.question.universe.size, self.question.false_keys, self.count_scale
        )

    @cached_property
    def law(self) -> ShownLaw:
        """The law of a noisy count, given that it is shown."""
        if self.gaussian:
            return ShownLaw(GaussTails(float(self.count_scale)), self.threshold)
        return ShownLaw(LaplaceTails(float(self.count_scale), self.cut), self.threshold)

    @property
    def false_keys(self) -> float:
        """How many keys that nobody has are shown on average, at most."""
        if self.cost.delta:
            return 0.0
        scale = float(self.count_scale)
        lost = self.threshold / scale + math.log1p(math.exp(-1 / scale))
        return math.exp(math.log(self.question.universe.size) - lost)

    def check_drawable(self) -> None:
        """Refuses, before anything is spent, noise that cannot be drawn."""
        from trueup._kernels.noise.gauss_tables import checked_variance
        from trueup._kernels.noise.laplace_tables import checked_scale

        for scale in (self.count_scale, self.total_scale, self.number_scale):
            if scale is not None:
                checked_variance(scale) if self.gaussian else checked_scale(scale)
        if self.threshold >= 1 << 62:
            raise InputError("The threshold would pass 2^62: choose a larger epsilon.")

    def rehearse(self) -> None:
        """Does, without data and without noise, what could fail after the charge."""
        from trueup._kernels.noise.bits import Keystream
        from trueup._kernels.noise.gauss_tables import gauss_tables
        from trueup._kernels.noise.laplace_tables import tables
        from trueup.files.codec import encode

        Keystream()
        for scale in (self.count_scale, self.total_scale, self.number_scale):
            if scale is not None:
                gauss_tables(scale) if self.gaussian else tables(scale)
        encode("key measurement", {"key": [], "noisy": np.zeros(0, np.int64)}, self.to_json())

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
        }
        if self.cost.delta:
            said["chance"] = (
                f"a key that one {self.unit} alone has is shown with a chance of at most "
                f"{short(self.delta_of_a_key)}"
            )
            return said
        said["false keys"] = f"{self.false_keys:.2g} keys that nobody has are shown on average"
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
            rho=self.cost.rho,
            law="gaussian" if self.gaussian else "discrete",
            neighbours=self.neighbours,
            unit=self.unit,
            rows_per_unit=self.keys_per_unit,
        )

    def beside(self, name: str | None, period: Covered | None) -> dict[str, Any]:
        """What a file of keys says beside them: what was counted, its id, and its periods."""
        said = "; ".join(each for each in (self.counted, period and f"of {period}") if each)
        found = {"counted": said or None, "id": name, "period": period and period.to_json()}
        return {word: value for word, value in found.items() if value is not None}

    def to_json(self) -> dict[str, Any]:
        """As plain values, the noise and the threshold among them."""
        delta = {"delta": str(self.cost.delta)} if self.cost.delta else {}
        return {
            "question": self.question.to_json(),
            self.cost.notion: str(self.cost.amount),
            **delta,
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
            Cost.of(said.get("epsilon"), said.get("rho"), said.get("delta", 0)),
            said["neighbours"],
            said["unit"],
            said["keys_per_unit"],
        )
        if terms.to_json() != dict(said):
            raise InputError("The noise or the threshold do not follow from the question.")
        return terms
