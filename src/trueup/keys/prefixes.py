"""PrefixCounts: an adaptive tree over a universe that nobody can list, split where counts are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.ask.cells import CellCounts
from trueup.ask.question import Neighbours, check_neighbours
from trueup.axis import Axis
from trueup.cost import Cost
from trueup.epsilon import positive
from trueup.errors import InputError, shown
from trueup.facts import Facts, check_unit, rows_for
from trueup.keys.paths import Paths
from trueup.keys.question import Duplicates, checked_columns, named_columns
from trueup.keys.universe import Universe
from trueup.noise import Noise, noise_variance

_TWO = CellCounts(Axis.integers("key", 0, 1))
_STRAY = Fraction(1, 50)  # children of one node that noise alone lifts above the threshold
_CROWD = 3  # standard errors above which small children together are not empty
_SPAN = 8  # how many times the share of the first level the last one may have
_FINER = Fraction(13, 10)  # the share of a level in that of the one above, in trees of few levels


@dataclass(frozen=True)
class PrefixCounts:
    """The counts of prefixes, split where they are large, over the tree of a universe.

    Of a unit as many keys count as the owner's `rows_per_unit` says, each `"once"`; or with
    `duplicates="many"` as many rows.

    IPv4 and IPv6 addresses and whole numbers go by `step` bits a level, strings by letters, places
    by quarters. A child whose noisy count stands above its noise is shown and split in turn; the
    other children of a node are one "others". `levels` is how deep it goes; None for all the way.

    >>> asked = PrefixCounts(Universe.ipv4(), by="host", step=8)
    >>> asked.paths.fans
    (256, 256, 256, 256)
    """

    universe: Universe
    by: str | tuple[str, ...] | None = None
    step: int | None = None
    levels: int | None = None
    finer: Any = None
    duplicates: Duplicates = "once"
    paths: Paths = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.universe, Universe):
            raise InputError("PrefixCounts needs a universe such as Universe.ipv4().")
        object.__setattr__(self, "paths", Paths(self.universe, self.step, self.levels))
        object.__setattr__(self, "by", checked_columns(self.by, self.universe))
        if self.duplicates not in ("once", "many"):
            raise InputError(f'duplicates are "once" or "many", got {shown(self.duplicates)}.')
        if self.finer is not None:
            object.__setattr__(self, "finer", positive(self.finer, "finer"))
            if not Fraction(1, 2) <= self.finer <= 4:
                raise InputError(f"finer lies between 1/2 and 4, got {self.finer}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the key."""
        return named_columns(self.by)

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of each level: they add up to 1."""
        levels = len(self.paths.fans)
        times = self.finer
        if times is None:
            times = min(_FINER, Fraction(round(100 * _SPAN ** (1 / levels)), 100))
        weights = [times**level for level in range(levels)]
        return tuple(weight / sum(weights) for weight in weights)

    def to_json(self) -> dict[str, Any]:
        """As plain values, for files and ledgers."""
        return {
            "kind": "prefixes",
            "universe": self.universe.to_json(),
            "by": list(self.by) if isinstance(self.by, tuple) else self.by,
            "step": self.step,
            "levels": self.levels,
            "finer": None if self.finer is None else str(self.finer),
            "duplicates": self.duplicates,
        }

    @staticmethod
    def from_json(said: Mapping[str, Any]) -> PrefixCounts:
        """The question that was written, checked."""
        if said["kind"] != "prefixes":
            raise InputError("The file's question does not ask for prefixes.")
        by = said["by"]
        return PrefixCounts(
            Universe.from_json(said["universe"]),
            tuple(by) if isinstance(by, list) else by,
            said["step"],
            said["levels"],
            said["finer"],
            said["duplicates"],
        )


@dataclass(frozen=True)
class PrefixTerms:
    """A question of prefixes, what it costs and whom it protects: its noise and its thresholds."""

    question: PrefixCounts
    cost: Cost
    neighbours: Neighbours = "add-remove"
    unit: str = "row"
    rows_per_unit: int = 1

    @staticmethod
    def of(
        question: PrefixCounts,
        epsilon: object = None,
        neighbours: Neighbours = "add-remove",
        unit: str = "row",
        rows_per_unit: int | None = None,
    ) -> PrefixTerms:
        """The terms, each checked, and the noise found to be one that can be drawn."""
        from trueup._kernels.noise.laplace_tables import checked_scale

        if not isinstance(question, PrefixCounts):
            raise InputError("Prefixes are asked for by PrefixCounts(universe, by=…).")
        cost, unit = Cost.of(epsilon), check_unit(unit)
        if cost.epsilon is None or cost.delta:
            raise InputError("Prefixes cost a pure epsilon: give epsilon, and no rho or delta.")
        rows = rows_for(unit, rows_per_unit)
        terms = PrefixTerms(question, cost, check_neighbours(neighbours), unit, rows)
        for share in {*question.shares, *terms.left} - {0}:
            checked_scale(terms.scale(share))
        return terms

    def scale(self, share: Fraction) -> Fraction:
        """The noise scale of answers that have a share of ε, and hold a unit's rows."""
        return Noise(_TWO, self.cost.amount * share, self.neighbours, self.rows_per_unit).scales[0]

    @cached_property
    def left(self) -> tuple[Fraction, ...]:
        """By level: the share of the others, all that is left of the path."""
        shares = self.question.shares
        return tuple(sum(shares[level + 1 :], Fraction(0)) for level in range(len(shares)))

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """By level: the least noisy count that is shown."""
        from trueup._kernels.noise.passing import threshold_for

        fans, shares = self.question.paths.fans, self.question.shares
        return tuple(
            threshold_for(fan, _STRAY, self.scale(share))
            for fan, share in zip(fans, shares, strict=True)
        )

    @cached_property
    def rule(self) -> list[tuple[int, Ints]]:
        """By level: the threshold, and by their number the sum at which small children crowd."""
        found = []
        for fan, share, least in zip(
            self.question.paths.fans, self.question.shares, self.thresholds, strict=True
        ):
            many = np.arange(fan + 1)
            spread = _CROWD * math.sqrt(noise_variance(self.scale(share)))
            found.append((least, np.ceil(spread * np.sqrt(many)).astype(np.int64)))
        return found

    def rehearse(self) -> None:
        """Does, without data and without noise, what could fail after the charge."""
        from trueup._kernels.noise.bits import Keystream
        from trueup._kernels.noise.laplace_tables import tables
        from trueup.files.codec import encode

        Keystream()
        for share in {*self.question.shares, *self.left} - {0}:
            tables(self.scale(share))
        self.question.paths.digits(
            np.zeros(0, np.int64) if self.question.universe.whole else _no_bytes()
        )
        encode("prefix measurement", {"noisy": np.zeros(0, np.int64)}, self.to_json())

    @property
    def facts(self) -> Facts:
        """The public facts that all numbers carry."""
        return Facts(
            epsilon=self.cost.epsilon,
            neighbours=self.neighbours,
            unit=self.unit,
            rows_per_unit=self.rows_per_unit,
        )

    def lines(self) -> dict[str, str]:
        """What a person should know before it is paid for."""
        fans = self.question.paths.fans
        first, last = self.thresholds[0], self.thresholds[-1]
        noise = math.sqrt(2) * float(self.scale(self.left[0] or self.question.shares[0]))
        return {
            "tree": f"{len(fans)} levels, up to {max(fans):,} children a node",
            "threshold": f"a prefix is shown from {first:,} (first level) or {last:,} (last) on",
            "noise": f"others of the first level have a standard error of {noise:.3g}",
        }

    def to_json(self) -> dict[str, Any]:
        """As plain values, the thresholds among them."""
        return {
            "question": self.question.to_json(),
            "epsilon": str(self.cost.amount),
            "neighbours": self.neighbours,
            "unit": self.unit,
            "rows_per_unit": self.rows_per_unit,
            "shares": [str(share) for share in self.question.shares],
            "thresholds": list(self.thresholds),
        }

    @staticmethod
    def from_json(said: Mapping[str, Any]) -> PrefixTerms:
        """Those that were written; refused if shares or thresholds do not follow from the rest."""
        terms = PrefixTerms.of(
            PrefixCounts.from_json(said["question"]),
            said["epsilon"],
            said["neighbours"],
            said["unit"],
            said["rows_per_unit"],
        )
        if terms.to_json() != dict(said):
            raise InputError("The shares or the thresholds do not follow from the question.")
        return terms


def _no_bytes() -> Any:
    import pyarrow as pa

    return pa.array([b""], pa.large_binary())[:0]
