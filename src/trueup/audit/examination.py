"""An examination: all that can be tried on one mechanism, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from trueup.arrays import Floats
from trueup.audit.bound import Audit, audit_in_bulk
from trueup.audit.claim import Claim
from trueup.audit.fit import noise_fit
from trueup.audit.search import Pair, most_telling
from trueup.audit.targets import Target
from trueup.epsilon import positive
from trueup.errors import InputError

SURE = 1 - 1e-6
_SEEDS = 20
_UNLIKELY = 1e-9  # a sampler's fit below this is no chance


@dataclass(frozen=True)
class Finding:
    """One thing that was tried: what, what came of it, and whether the mechanism stood."""

    what: str
    result: str
    passed: bool | None  # None: it could not be tried


@dataclass(frozen=True)
class Effort:
    """What to try: how often to draw, how sure to be, and what else the mechanism declares.

    `scale` is that of discrete Laplace noise in every output, and calls for a look at the noise;
    `sensitivity` how far one record may move all outputs, and calls for a replay.
    """

    draws: int = 100_000
    level: float = SURE
    independent: bool = False
    scale: object = None
    sensitivity: object = None
    trial: int = field(default=0)  # draws for each pair while the most telling is sought

    def __post_init__(self) -> None:
        if self.scale is not None:
            positive(self.scale, "scale")
        if self.sensitivity is not None:
            _ = self.allowed

    @property
    def allowed(self) -> float:
        """How far one record may move all outputs."""
        if isinstance(self.sensitivity, float) and 0 < self.sensitivity < float("inf"):
            return self.sensitivity  # a root of 2 has more digits than are taken for exact
        return float(positive(self.sensitivity, "sensitivity"))

    @property
    def search(self) -> int:
        """Draws of each pair while the most telling one is sought."""
        return self.trial or max(200, min(self.draws // 20, 20_000))


@dataclass(frozen=True, eq=False)
class Examination:
    """What was examined, when, and all that was found."""

    target: str
    claim: Claim
    pair: Pair
    audit: Audit
    findings: tuple[Finding, ...]
    tried: tuple[tuple[str, float], ...]  # every pair in words, and what it promised
    wanted: Effort
    when: str

    @property
    def passed(self) -> bool:
        """Whether nothing that was tried contradicts the claim."""
        return all(one.passed is not False for one in self.findings)

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        if self.passed:
            return f"The claim of {self.claim} is not contradicted by what was tried."
        wrong = [one.what for one in self.findings if one.passed is False]
        return f"The claim of {self.claim} is FALSE: {', '.join(wrong)}."


def examine(
    target: Target,
    pairs: Sequence[Pair],
    claim: Claim,
    wanted: Effort,
    told: Callable[[str], None] = lambda words: None,
) -> Examination:
    """Tries to catch a mechanism: on the most telling of some pairs, by its sampler, by replay."""
    if not pairs:
        raise InputError("An examination needs at least one pair of neighbours.")
    when = datetime.now(UTC).isoformat(timespec="seconds")
    promises = [0.0]
    chosen = pairs[0]
    if len(pairs) > 1:
        chosen, promises = most_telling(
            target.run, pairs, claim, wanted.search, lambda pair: told(f"looking at {pair.words}")
        )
    told(f"drawing {wanted.draws:,} times a side: {chosen.words}")
    findings = [_shapes(target, chosen)]
    if findings[0].passed:
        found = _bound(target, chosen, claim, wanted)
        words = f" The event: {found.event}." if found.event else ""
        findings.append(Finding(f"lower bound on {claim.notion}", f"{found}.{words}", found.passed))
    else:
        found = Audit(claim.number, float("inf"), wanted.level, 0, np.zeros(0), claim, "")
    findings.append(_noise(target, chosen, wanted))
    findings.append(_moves(target, pairs, wanted))
    tried = tuple(zip((pair.words for pair in pairs), promises, strict=False))
    return Examination(target.name, claim, chosen, found, tuple(findings), tried, wanted, when)


def _bound(target: Target, pair: Pair, claim: Claim, wanted: Effort) -> Audit:
    return audit_in_bulk(
        target.run,
        pair.first,
        pair.second,
        claim,
        wanted.draws,
        wanted.level,
        independent=wanted.independent,
    )


def _shapes(target: Target, pair: Pair) -> Finding:
    """Whether both inputs give as many numbers: how many there are may not depend on a record."""
    sizes = [target.run(given, 3).shape[1] for given in (pair.first, pair.second)]
    words = f"{sizes[0]:,} numbers from one input and {sizes[1]:,} from the other"
    return Finding("as many outputs on neighbours", words, sizes[0] == sizes[1])


def _noise(target: Target, pair: Pair, wanted: Effort) -> Finding:
    """Whether the noise of every output is discrete Laplace noise of the declared scale."""
    what = "noise of the declared law"
    if wanted.scale is None:
        return Finding(what, "not tried: no scale of discrete Laplace noise was declared", None)
    middle = np.median(target.run(pair.first, 999), axis=0)
    worst = 1.0
    for output in range(len(middle)):
        truth = float(np.rint(middle[output]))

        def sampler(size: int, output: int = output, truth: float = truth) -> Any:
            drawn = target.run(pair.first, size)[:, output] - truth
            if (drawn != np.rint(drawn)).any():
                return np.full(size, 1 << 40)  # no whole number: no noise of this law
            return drawn.astype(np.int64)

        worst = min(worst, noise_fit(sampler, wanted.scale, wanted.draws))
    worst = min(1.0, worst * len(middle))
    words = f"exact noise of scale {wanted.scale} fits as badly with chance {worst:.2g} at most"
    return Finding(what, words, worst >= _UNLIKELY)


def _moves(target: Target, pairs: Sequence[Pair], wanted: Effort) -> Finding:
    """With its randomness repeated: whether one record moves the outputs further than declared."""
    what = "moves under the same randomness"
    if wanted.sensitivity is None:
        return Finding(what, "not tried: no sensitivity was declared", None)
    if target.seeded is None:
        return Finding(what, "not tried: the mechanism does not let its randomness be fixed", None)
    again = [target.seeded(7, pairs[0].first) for _ in range(2)]
    if _apart(again[0], again[1]):
        return Finding(what, "not tried: its randomness cannot be fixed from outside", None)
    most, where = 0.0, pairs[0].words
    for pair in pairs:
        for seed in range(1, _SEEDS + 1):
            one, other = target.seeded(seed, pair.first), target.seeded(seed, pair.second)
            move = _apart(one, other)
            if move > most:
                most, where = move, pair.words
    words = f"outputs moved by {most:.6g} ({where}), declared {wanted.allowed:g}"
    return Finding(what, words, most <= wanted.allowed * (1 + 1e-9))


def _apart(one: Floats, other: Floats) -> float:
    """How far two rows of outputs lie apart; NaN is beside NaN alone."""
    if one.shape != other.shape:
        return float("inf")
    differ = (one != other) & ~(np.isnan(one) & np.isnan(other))
    move = float(np.abs(one[differ] - other[differ]).sum())
    return float("inf") if np.isnan(move) else move
