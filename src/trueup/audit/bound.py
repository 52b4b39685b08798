"""A certified lower bound on the ε, or the ρ, of any mechanism, from its outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.audit.claim import Claim
from trueup.errors import InputError

_CHUNK = 1 << 20
_TRIED = 256  # thresholds and single values tried for each output
_MOST_ROUGH = 16  # outputs whose last bits are looked at


@dataclass(frozen=True)
class Audit:
    """What a mechanism's outputs prove about its ε, or its ρ.

    `bound` is certified: the true cost is at least that, except with chance 1 − level. It says
    nothing from above: an audit can catch a mechanism, never clear it.
    """

    claimed: float
    bound: float
    level: float
    draws: int
    bounds: Floats  # of each output by itself
    claim: Claim = field(default_factory=Claim, compare=False)
    event: str = field(default="", compare=False)  # what told the two inputs apart, in words

    @property
    def passed(self) -> bool:
        """Whether the claim survived."""
        return self.bound <= self.claimed

    def __str__(self) -> str:
        verdict = "not contradicted" if self.passed else "FALSE"
        return (
            f"{self.claim.notion} >= {self.bound:.4g} (wrong with chance {1 - self.level:.1g}) "
            f"from {self.draws:,} draws a side: the claim of {self.claim} is {verdict}"
        )


def audit(
    mechanism: Callable[[Any], npt.ArrayLike],
    a: object,
    b: object,
    epsilon: object = None,
    draws: int = 10_000,
    level: float = 0.999,
    *,
    independent: bool = False,
    delta: object = 0,
    rho: object = None,
) -> Audit:
    """A certified lower bound on the ε of a mechanism, from its outputs on neighbours a and b.

    With `delta` the claim is (ε, δ); with `rho`, in place of ε, it is zero-concentrated.

    `mechanism(input)` gives a number or a flat array of them. For each output, and for the sum
    over all outputs of what each seems to tell, an event (at most a threshold, above it, or one
    value) is chosen on a first sample; its chances on both sides are then bounded on fresh draws
    (Clopper–Pearson), the level split over all events. With `independent=True`, to be given
    only where the noise of different outputs is independent, the bounds of the outputs add up.

    >>> rng = np.random.default_rng(0)
    >>> found = audit(lambda count: count + rng.laplace(0, 0.5), 10, 11, epsilon=1)
    >>> found.passed  # scale 1/2 is epsilon = 2
    False
    """

    def repeat(given: Any, times: int) -> npt.ArrayLike:
        return np.array([mechanism(given) for _ in range(times)])

    return audit_in_bulk(
        repeat, a, b, epsilon, draws, level, independent=independent, delta=delta, rho=rho
    )


def audit_in_bulk(
    mechanism: Callable[[Any, int], npt.ArrayLike],
    a: object,
    b: object,
    epsilon: object = None,
    draws: int = 1_000_000,
    level: float = 0.999,
    *,
    independent: bool = False,
    delta: object = 0,
    rho: object = None,
) -> Audit:
    """As `audit`, of `mechanism(input, times)`, which gives the outputs of many runs, one a row."""
    claim = Claim.of(epsilon, delta, rho)
    if draws < 20:
        raise InputError(f"An audit needs at least 20 draws, got {draws}.")
    if not 0.5 <= level < 1:
        raise InputError(f"The level must lie between 0.5 and 1, got {level}.")
    draw = _Draw(mechanism)
    trial = min(draws, _CHUNK)
    draw.learn(draw(a, trial), draw(b, trial))
    risk = 1 - level
    pairs = zip(draw(a, trial).T, draw(b, trial).T, strict=True)
    events: list[tuple[int, _Event]] = []
    for k, pair in enumerate(pairs):
        found = _best_events(*pair, risk, claim)
        # Of independent outputs one event for each side: only those of one side add up.
        events += [(k, event) for event in (found if independent else found[:1])]
    seen = np.zeros((2, len(events)), np.int64)
    for start in range(0, draws if events else 0, _CHUNK):
        size = min(draws - start, _CHUNK)
        for side, given in enumerate((a, b)):
            outputs = draw(given, size)
            for i, (k, event) in enumerate(events):
                seen[side, i] += event.holds(outputs[:, k])
    return _certified(draw, claim, events, seen, (level, draws), independent)


def _certified(
    draw: _Draw,
    claim: Claim,
    events: list[tuple[int, _Event]],
    seen: Ints,
    given: tuple[float, int],
    independent: bool,
) -> Audit:
    """What the events prove that were seen so often on either side."""
    level, draws = given
    bounds, words, best = np.zeros(draw.columns), "", 0.0
    proofs = []
    for i, (k, event) in enumerate(events):
        likely, unlikely = seen[::-1, i] if event.reversed else seen[:, i]
        least, most = _limits(likely, unlikely, draws, (1 - level) / (2 * len(events)))
        proved = claim.proved(least, most)
        if k < draw.outputs:
            proofs.append((least, most, event.reversed))
        bounds[k] = max(bounds[k], proved)
        if proved > best:
            best, words = proved, event.words(draw.name(k))
    together = claim.together(proofs) if independent else 0.0
    if together > best:
        best, words = together, "all outputs together, their noise being independent"
    return Audit(claim.number, best, level, draws, bounds[: draw.outputs], claim, words)


def promised(
    mechanism: Callable[[Any, int], npt.ArrayLike], a: object, b: object, claim: Claim, draws: int
) -> float:
    """About what an audit of these two inputs would prove: a guess, made on these very draws."""
    draw = _Draw(mechanism)
    here, there = draw(a, draws), draw(b, draws)
    if here.shape != there.shape:
        return float("inf")  # no output of one can be an output of the other
    draw.learn(here, there)
    best = 0.0
    for one, other in zip(draw(a, draws).T, draw(b, draws).T, strict=True):
        for event in _best_events(one, other, 0.05, claim):
            seen = event.holds(one), event.holds(other)
            likely, unlikely = seen[::-1] if event.reversed else seen
            best = max(best, claim.proved(*_limits(likely, unlikely, draws, 0.05)))
    return best


class _Draw:
    """Outputs of many runs, one a row, with columns at the end for what they tell beside.

    One for what all tell together, of noise that is Laplace's and of noise that is Gauss's; one an
    output for its last bits, where outputs are no whole numbers: a sum of floats shows in them what
    was added. What is not a number sorts below all numbers.
    """

    def __init__(self, mechanism: Callable[[Any, int], npt.ArrayLike]) -> None:
        self._mechanism = mechanism
        self.outputs = 0
        self.columns = 0
        self._telling: Ints | None = None
        self._rough: Ints = np.zeros(0, np.int64)

    def name(self, column: int) -> str:
        """What a column is, in words."""
        if column < self.outputs:
            return "the output" if self.outputs == 1 else f"output {column + 1}"
        if column < self.columns - len(self._rough):
            return "all outputs, weighed by what each tells"
        which = self._rough[column - self.columns + len(self._rough)] + 1
        return f"the last bit of output {which}, as a power of two"

    def __call__(self, given: object, times: int) -> Floats:
        outputs = np.asarray(self._mechanism(given, times), np.float64)
        if outputs.shape[:1] != (times,) or outputs.ndim > 2:
            raise InputError(
                f"{times:,} runs must give {times:,} numbers or rows of numbers, got shape "
                f"{outputs.shape}."
            )
        outputs = outputs.reshape(times, -1)
        if np.isnan(outputs).any():
            outputs = np.where(np.isnan(outputs), -np.inf, outputs)
        parts = [outputs]
        if self._telling is not None:
            told = outputs[:, self._telling]
            if told.shape[1]:
                told = (told - self._middle) * self._weight
            clipped = np.clip(told, -self._most, self._most) if told.shape[1] else told
            parts += [clipped.sum(axis=1)[:, None], (told * self._most).sum(axis=1)[:, None]]
        if len(self._rough):
            parts.append(_last_bits(outputs[:, self._rough]))
        return np.concatenate(parts, axis=1) if len(parts) > 1 else outputs

    def learn(self, a: Floats, b: Floats) -> None:
        """Finds the outputs that tell a from b, and how much each of their values tells.

        The log-likelihood ratio of Laplace noise: the distance from the middle, over the scale,
        no more than half the gap. For another law it is a guess, which costs power, not truth.
        """
        if a.shape != b.shape:
            raise InputError("The outputs on the two inputs differ in shape: replay shows how.")
        self.outputs = self.columns = a.shape[1]
        both = np.concatenate([a, b])
        finite = np.where(np.isfinite(both), both, 0.0)
        self._rough = np.flatnonzero((finite != np.rint(finite)).any(axis=0))[:_MOST_ROUGH]
        if self.outputs > 1:
            with np.errstate(invalid="ignore", divide="ignore"):
                gap = a.mean(axis=0) - b.mean(axis=0)
                scale = (np.abs(a - a.mean(axis=0)) + np.abs(b - b.mean(axis=0))).mean(axis=0) / 2
                scale += 1e-9 * np.abs(gap)
                sure = 2 * scale * math.sqrt(2 * math.log(2 * self.outputs) / len(a))
                clear = np.abs(gap) > sure
            self._telling = np.flatnonzero(clear & (scale > 0))
            gap, scale = gap[self._telling], scale[self._telling]
            self._middle = (a.mean(axis=0) + b.mean(axis=0))[self._telling] / 2
            self._weight, self._most = np.sign(gap) / scale, np.abs(gap) / (2 * scale)
            self.columns += 2
        self.columns += len(self._rough)


def _last_bits(values: Floats) -> Floats:
    """The power of two of the last bit that is set in each number; 0 and infinities have none."""
    usable = np.isfinite(values) & (values != 0)
    parts, powers = np.frexp(np.where(usable, values, 1.0))
    whole = np.abs(parts * 2.0**53).astype(np.int64)
    last = np.log2((whole & -whole).astype(np.float64)) - 53 + powers
    return np.where(usable, last, -2000.0)


@dataclass(frozen=True)
class _Event:
    """low ≤ output ≤ high, held to be likelier on the first side (`reversed`: the second)."""

    low: float
    high: float
    reversed: bool

    def holds(self, outputs: Floats) -> int:
        return int(np.count_nonzero((outputs >= self.low) & (outputs <= self.high)))

    def words(self, what: str) -> str:
        """The event as a sentence would have it."""
        if self.low == self.high:
            return f"{what} is {self.low:.6g}"
        if np.isinf(self.low):
            return f"{what} is at most {self.high:.6g}"
        return f"{what} is at least {self.low:.6g}"


def _best_events(a: Floats, b: Floats, risk: float, claim: Claim) -> list[_Event]:
    """The event of each side that promises the largest bound, the better one first."""
    a, b = np.sort(a), np.sort(b)
    values = np.unique(np.concatenate([a, b]))
    tried = np.unique(values[np.linspace(0, values.size - 1, _TRIED).astype(np.int64)])
    below = np.nextafter(tried, np.inf)
    everything = np.full(tried.size, np.inf)
    lows = np.concatenate([-everything, below, tried])
    highs = np.concatenate([tried, everything, tried])
    found: list[tuple[float, _Event]] = []
    for swapped, (likely, unlikely) in enumerate([(a, b), (b, a)]):
        counts = _count(likely, lows, highs), _count(unlikely, lows, highs)
        score = _promise(*counts, a.size, risk, claim)
        k = int(np.argmax(score))
        if score[k] > 0:
            found.append((float(score[k]), _Event(lows[k], highs[k], bool(swapped))))
    return [event for _, event in sorted(found, key=lambda one: -one[0])]


def _count(ordered: Floats, lows: Floats, highs: Floats) -> Floats:
    stops = np.searchsorted(ordered, highs, side="right")
    return (stops - np.searchsorted(ordered, lows, side="left")).astype(np.float64)


def _promise(
    likely: Floats,
    unlikely: Floats,
    size: int,
    risk: float,
    claim: Claim,
) -> Floats:
    """About the bound that an event with such counts would be certified for."""
    deviations = math.sqrt(2 * math.log(1 / risk))
    p, q = (likely + 0.5) / (size + 1), (unlikely + 0.5) / (size + 1)
    least = p * np.exp(-deviations * np.sqrt((1 - p) / (p * size)))
    most = q * np.exp(deviations * np.sqrt((1 - q) / (q * size)))
    return claim.promised(least, np.minimum(most, 1.0))


def _limits(likely: int, unlikely: int, draws: int, risk: float) -> tuple[float, float]:
    """The least chance of the likely side and the most of the other, each wrong with that risk."""
    from scipy.stats import beta

    least = float(beta.ppf(risk, likely, draws - likely + 1)) if likely else 0.0
    most = float(beta.ppf(1 - risk, unlikely + 1, draws - unlikely)) if unlikely < draws else 1.0
    return least, most
