"""Counts of a sample of units, scaled to all: the noise and the sampling are both in the interval.

Each unit is in the sample with probability p, one by itself. It brings at most c rows to the count.
Say that all units together have N rows and those of the sample have S. As ln(1 − p + p·e^(tn)) is
convex in n, the moments of S are at most those of c times a binomial count of N/c units, so that
Chernoff's bound holds for S as for that:

    P(S ≥ s) ≤ exp(−(N/c) · KL(s/N ‖ p))  for s/N ≥ p,  and P(S ≤ s) likewise for s/N ≤ p.

The interval has every N that this does not rule out. It needs no estimate of any variance, and it
holds at least as often as it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from trueup.errors import InputError
from trueup.release.wording import check_level, written

if TYPE_CHECKING:
    from trueup.release.estimate import Estimate

_HALVINGS = 200  # of a stretch: more than a float has bits


@dataclass(frozen=True)
class Scaled:
    """A count of all units, estimated from a sample: between `low` and `high` at its level."""

    value: float
    low: float
    high: float
    level: float
    factor: Fraction

    def __str__(self) -> str:
        ends = f"{written(self.low)} to {written(self.high)}"
        return f"{written(self.value)} ({100 * self.level:.6g} %: {ends}), scaled by {self.factor}"


def scaled(estimate: Estimate, level: float) -> Scaled:
    """The count of all units, from that of a sample; refused where there is no sample."""
    check_level(level)
    facts = estimate.facts
    covered = facts.period
    if covered is None or covered.periods_per_unit is None:
        raise InputError("These counts are of all units, not of a sample: there is no scaling.")
    plain = len(estimate.parts) == 1 and estimate.constant == 0
    if not plain or any(times != 1 for _, times in estimate.parts[0].combination):
        raise InputError("Only a count is scaled, not a difference, a multiple or a sum of counts.")
    few, of = covered.periods_per_unit
    rows = facts.rows * len(covered.names)
    spare = (1 - level) / 2  # half for the noise, half for the sampling
    low, high = estimate.interval(1 - spare)
    least, most = sample_interval(low, high, few / of, rows, spare)
    factor = Fraction(of, few)
    return Scaled(float(estimate.value) * float(factor), least, most, level, factor)


def sample_interval(
    low: float, high: float, chance: float, rows: int, spare: float
) -> tuple[float, float]:
    """Between what the rows of all units lie if those of the sample lie between low and high.

    It fails with probability `spare` at most, half of it at each end.
    """
    reach = rows * math.log(2 / spare)

    def ruled_out(count: float, sampled: float) -> bool:
        return count > 0 and count * _divergence(sampled / count, chance) > reach

    low, high = max(low, 0.0), max(high, 0.0)
    top = high / chance + 1
    while not ruled_out(top, high):
        top *= 2
    most = _edge(high / chance, top, lambda count: ruled_out(count, high))
    least = _edge(low / chance, low, lambda count: ruled_out(count, low)) if low > 0 else 0.0
    return float(math.floor(least)), float(math.ceil(most))


def _edge(inside: float, outside: float, ruled_out: Callable[[float], bool]) -> float:
    """Where counts begin to be ruled out between one that is not and one that is."""
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if ruled_out(middle):
            outside = middle
        else:
            inside = middle
    return outside


def _divergence(share: float, chance: float) -> float:
    """KL(share ‖ chance) of two coins."""
    share = min(max(share, 0.0), 1.0)
    first = share * math.log(share / chance) if share > 0 else 0.0
    return first + ((1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0)
