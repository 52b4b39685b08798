"""Whose noise is in an estimate: what is common to two of them, and what is independent.

A measurement made by `measure` has an id, which its releases keep. So estimates of one measurement
know each other, wherever they come from, and those of different measurements are independent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from trueup.errors import InputError
from trueup.facts import Facts
from trueup.law import Combination, Errors, Law, times
from trueup.release.slices import unsliced


@dataclass(frozen=True, eq=False)
class Part:
    """What an estimate takes from one release: a combination of its answers, and their errors."""

    errors: Errors
    combination: Combination
    facts: Facts

    @staticmethod
    def of(errors: Errors, combination: Combination, facts: Facts) -> Part:
        """The part; of a slice of a grid, in boxes of the grid, as its other slices are."""
        whole, boxes = unsliced(errors, combination)
        return Part(whole, boxes, facts if whole is errors else replace(facts, slice=None))

    @cached_property
    def variance(self) -> float:
        """The variance of its error."""
        return self.errors.variance(self.combination)

    @cached_property
    def noise_law(self) -> Law:
        """The law of its error."""
        return self.errors.noise_law(self.combination)

    @property
    def noise_alone(self) -> bool:
        """Whether noise alone separates it from the truth; its law is found only if need be."""
        return not getattr(self.errors, "pooled", False) or self.noise_law.noise_alone

    def times(self, factor: float) -> Part:
        """A multiple of it."""
        scaled = tuple((key, factor * coefficient) for key, coefficient in self.combination)
        return replace(self, combination=scaled)

    def same_noise(self, other: Part) -> bool:
        """Whether the two are combinations of the same noisy answers."""
        return self.errors is other.errors or self.facts.same_noise(other.facts)


def facts_of(parts: tuple[Part, ...]) -> Facts:
    """What was asked, what it cost, whom it protects: of all parts together."""
    if len(parts) == 1:
        return parts[0].facts
    every = tuple(part.facts for part in parts)
    return Facts.together(every, sources=every)


def joined(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts of a sum: one for each noise. Refused where noise is shared in a way unknown."""
    found: list[Part] = []
    for part in parts:
        place = next((i for i, other in enumerate(found) if part.same_noise(other)), None)
        if place is None:
            for other in found:
                _check_independent(part.facts, other.facts)
            found.append(part)
        else:
            both = found[place].combination + part.combination
            found[place] = replace(found[place], combination=_collected(both))
    return tuple(part for part in found if part.combination)


def _collected(combination: Combination) -> Combination:
    """The combination with each answer in it once, and none that cancels."""
    found: dict[object, float] = {}
    for key, coefficient in combination:
        found[key] = found.get(key, 0.0) + coefficient
    return tuple((key, coefficient) for key, coefficient in found.items() if coefficient)


def _check_independent(one: Facts, other: Facts) -> None:
    if not (one.traced and other.traced):
        raise InputError(
            "These estimates come from different releases, and nothing says whether their noise is "
            "the same: a measurement made by trueup has an id, and at least one of these has none. "
            "Give each Measurement its own id=, if their noise was drawn separately."
        )
    if set(one.measured) & set(other.measured):
        raise InputError(
            "These estimates come from different releases that share a measurement, so their "
            "errors are neither common nor independent. Take both from one release: "
            "trueup.reconcile makes one of several."
        )


def law_between(one: tuple[Part, ...], other: tuple[Part, ...]) -> LawBetween:
    """The laws of all x·one − y·other, what they have in common taken together."""
    common = [(a, b) for a in one for b in other if a.same_noise(b)]
    joined([*one, *other])  # refused where they are not known to be independent
    left = {id(part) for pair in common for part in pair}
    return LawBetween(
        tuple(part for part in one if id(part) not in left),
        tuple(part for part in other if id(part) not in left),
        tuple(common),
    )


@dataclass(frozen=True, eq=False)
class LawBetween:
    """The law of x·a − y·b for any x and y: the noise of a alone, of b alone, and of both."""

    first: tuple[Part, ...]
    second: tuple[Part, ...]
    both: tuple[tuple[Part, Part], ...]

    def laws(self, x: float, y: float) -> list[Law]:
        """The independent laws of which that of x·a − y·b is the sum."""
        found = [times(part.noise_law, x) for part in self.first if x]
        found += [times(part.noise_law, -y) for part in self.second if y]
        for a, b in self.both:
            mixed = _collected(a.times(x).combination + b.times(-y).combination)
            if mixed:
                found.append(a.errors.noise_law(mixed))
        return found
