"""A certified lower bound on the ε of any mechanism, from its outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from trueup.epsilon import positive
from trueup.errors import InputError

_CHUNK = 1 << 20
_TRIED = 256  # thresholds and single values tried for each output


@dataclass(frozen=True)
class Audit:
    """What a mechanism's outputs prove about its ε.

    `bound` is certified: the true ε is at least that, except with chance 1 − level. It says
    nothing from above: an audit can catch a mechanism, never clear it.
    """

    claimed: float
    bound: float
    level: float
    draws: int
    bounds: NDArray[np.float64]  # of each output by itself

    @property
    def passed(self) -> bool:
        """Whether the claim survived."""
        return self.bound <= self.claimed

    def __str__(self) -> str:
        verdict = "not contradicted" if self.passed else "FALSE"
        return (
            f"epsilon >= {self.bound:.4g} (wrong with chance {1 - self.level:.1g}) from "
            f"{self.draws:,} draws a side: the claim of {self.claimed:g} is {verdict}"
        )


def audit(
    mechanism: Callable[[Any], npt.ArrayLike],
    a: object,
    b: object,
    epsilon: object,
    draws: int = 10_000,
    level: float = 0.999,
    *,
    independent: bool = False,
) -> Audit:
    """A certified lower bound on the ε of a mechanism, from its outputs on neighbours a and b.

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

    return audit_in_bulk(repeat, a, b, epsilon, draws, level, independent=independent)


def audit_in_bulk(
    mechanism: Callable[[Any, int], npt.ArrayLike],
    a: object,
    b: object,
    epsilon: object,
    draws: int = 1_000_000,
    level: float = 0.999,
    *,
    independent: bool = False,
) -> Audit:
    """As `audit`, of `mechanism(input, times)`, which gives the outputs of many runs, one a row."""
    claimed = float(positive(epsilon))
    if draws < 20:
        raise InputError(f"An audit needs at least 20 draws, got {draws}.")
    if not 0.5 <= level < 1:
        raise InputError(f"The level must lie between 0.5 and 1, got {level}.")
    draw = _Draw(mechanism)
    trial = min(draws, _CHUNK)
    draw.learn(draw(a, trial), draw(b, trial))
    risk = 1 - level
    pairs = zip(draw(a, trial).T, draw(b, trial).T, strict=True)
    events = {k: event for k, pair in enumerate(pairs) if (event := _best_event(*pair, risk))}
    seen = np.zeros((2, draw.columns), np.int64)
    for start in range(0, draws if events else 0, _CHUNK):
        size = min(draws - start, _CHUNK)
        for side, given in enumerate((a, b)):
            outputs = draw(given, size)
            for k, event in events.items():
                seen[side, k] += event.holds(outputs[:, k])
    bounds = np.zeros(draw.columns)
    for k, event in events.items():
        likely, unlikely = seen[::-1, k] if event.reversed else seen[:, k]
        bounds[k] = _log_ratio(likely, unlikely, draws, risk / (2 * len(events)))
    single = bounds[: draw.outputs]
    together = float(single.sum()) if independent else 0.0
    return Audit(claimed, max(together, float(bounds.max(initial=0.0))), level, draws, single)


class _Draw:
    """Outputs of many runs, one a row, with a last column for what they tell together.

    What is not a number sorts below all numbers.
    """

    def __init__(self, mechanism: Callable[[Any, int], npt.ArrayLike]) -> None:
        self._mechanism = mechanism
        self.outputs = 0
        self._telling: NDArray[np.int64] | None = None

    @property
    def columns(self) -> int:
        return self.outputs + (self._telling is not None)

    def __call__(self, given: object, times: int) -> NDArray[np.float64]:
        outputs = np.asarray(self._mechanism(given, times), np.float64)
        if outputs.shape[:1] != (times,) or outputs.ndim > 2:
            raise InputError(
                f"{times:,} runs must give {times:,} numbers or rows of numbers, got shape "
                f"{outputs.shape}."
            )
        outputs = outputs.reshape(times, -1)
        if np.isnan(outputs).any():
            outputs = np.where(np.isnan(outputs), -np.inf, outputs)
        if self._telling is None:
            return outputs
        told = outputs[:, self._telling]
        if told.shape[1]:
            told = np.clip((told - self._middle) * self._weight, -self._most, self._most)
        return np.column_stack([outputs, told.sum(axis=1)])

    def learn(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
        """Finds the outputs that tell a from b, and how much each of their values tells.

        The log-likelihood ratio of Laplace noise: the distance from the middle, over the scale,
        no more than half the gap. For another law it is a guess, which costs power, not truth.
        """
        if a.shape != b.shape:
            raise InputError("The outputs on the two inputs differ in shape: replay shows how.")
        self.outputs = a.shape[1]
        if self.outputs == 1:
            return
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = a.mean(axis=0) - b.mean(axis=0)
            scale = (np.abs(a - a.mean(axis=0)) + np.abs(b - b.mean(axis=0))).mean(axis=0) / 2
            scale += 1e-9 * np.abs(gap)
            clear = np.abs(gap) > 2 * scale * math.sqrt(2 * math.log(2 * self.outputs) / len(a))
        self._telling = np.flatnonzero(clear & (scale > 0))
        gap, scale = gap[self._telling], scale[self._telling]
        self._middle = (a.mean(axis=0) + b.mean(axis=0))[self._telling] / 2
        self._weight, self._most = np.sign(gap) / scale, np.abs(gap) / (2 * scale)


@dataclass(frozen=True)
class _Event:
    """low ≤ output ≤ high, held to be likelier on the first side (`reversed`: the second)."""

    low: float
    high: float
    reversed: bool

    def holds(self, outputs: NDArray[np.float64]) -> int:
        return int(np.count_nonzero((outputs >= self.low) & (outputs <= self.high)))


def _best_event(a: NDArray[np.float64], b: NDArray[np.float64], risk: float) -> _Event | None:
    """The event that promises the largest bound; None if none promises any."""
    a, b = np.sort(a), np.sort(b)
    values = np.unique(np.concatenate([a, b]))
    tried = np.unique(values[np.linspace(0, values.size - 1, _TRIED).astype(np.int64)])
    below = np.nextafter(tried, np.inf)
    everything = np.full(tried.size, np.inf)
    lows = np.concatenate([-everything, below, tried])
    highs = np.concatenate([tried, everything, tried])
    best, found = 0.0, None
    for swapped, (likely, unlikely) in enumerate([(a, b), (b, a)]):
        score = _promise(_count(likely, lows, highs), _count(unlikely, lows, highs), a.size, risk)
        k = int(np.argmax(score))
        if score[k] > best:
            best, found = float(score[k]), _Event(lows[k], highs[k], bool(swapped))
    return found


def _count(
    ordered: NDArray[np.float64], lows: NDArray[np.float64], highs: NDArray[np.float64]
) -> NDArray[np.float64]:
    stops = np.searchsorted(ordered, highs, side="right")
    return (stops - np.searchsorted(ordered, lows, side="left")).astype(np.float64)


def _promise(
    likely: NDArray[np.float64], unlikely: NDArray[np.float64], size: int, risk: float
) -> NDArray[np.float64]:
    """About the bound that an event with such counts would be certified for."""
    deviations = math.sqrt(2 * math.log(1 / risk))
    p, q = (likely + 0.5) / (size + 1), (unlikely + 0.5) / (size + 1)
    error = np.sqrt((1 - p) / (p * size)) + np.sqrt((1 - q) / (q * size))
    promise: NDArray[np.float64] = np.log(p / q) - deviations * error
    return promise


def _log_ratio(likely: int, unlikely: int, draws: int, risk: float) -> float:
    """log of (least chance of the likely side / most of the other), each wrong with that risk."""
    from scipy.stats import beta

    if likely == 0:
        return 0.0
    least = beta.ppf(risk, likely, draws - likely + 1)
    most = beta.ppf(1 - risk, unlikely + 1, draws - unlikely) if unlikely < draws else 1.0
    return max(0.0, float(np.log(least / most)))
