"""Person: what is told of one person, from all rows of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from trueup.epsilon import exact
from trueup.errors import InputError, shown
from trueup.owner import where as filters
from trueup.owner.where import Part

KNOWN = ("count", "any", "distinct", "min", "max", "sum", "first", "last")
_ORDERED = ("first", "last")
_EVERY = "*"
_FINEST = 9  # digits after the point of a sum's step
_MOST_STEPS = 1 << 28  # of a value: those of 2^34 rows add up in 64 bits


@dataclass(frozen=True, init=False, repr=False)
class Person:
    """A number, a time or a label that each person has, made from all rows of theirs.

    One of these, and with it the column it is made from:

        Person(count="*")                         how many rows
        Person(any="*", where="fare > 50")        1 if there is such a row, otherwise 0
        Person(distinct="shop")                   how many different values
        Person(min="fare"), Person(max="fare")    the smallest, the largest
        Person(sum="fare", low=0, high=100, step="0.01")
        Person(first="shop", by="day"), Person(last="shop", by="day")

    `where` filters the rows. Values of a sum are cut to [low, high] and rounded to the step, and
    added up as whole numbers of steps. Of rows at the same time, `first` takes the smallest value
    and `last` the largest, text by its bytes. Who has rows, but none that the filter keeps and
    whose values are known, has a count of 0, and no min, max, first or last.

    >>> Person(max="fare", where="day >= '2013-01-01'")
    Person(max='fare', where="day >= '2013-01-01'")
    """

    way: str
    column: str
    where: str | None
    by: str | None
    low: Fraction | None
    high: Fraction | None
    step: Fraction

    def __init__(
        self,
        *,
        where: str | None = None,
        by: str | None = None,
        low: object = None,
        high: object = None,
        step: object = None,
        **made_from: str,
    ) -> None:
        way, column = _one(made_from)
        if (way in _ORDERED) != (by is not None):
            raise InputError(
                f"Person({way}=…) needs by=, the column of the time."
                if way in _ORDERED
                else "by= goes with first and last only."
            )
        if by is not None:
            _named(by, "by")
        if way != "sum" and (low, high, step) != (None, None, None):
            raise InputError("low=, high= and step= go with sum only.")
        parsed = filters.rewritten(where)
        ends = _grid(low, high, 1 if step is None else step) if way == "sum" else (None, None, 1)
        put = object.__setattr__
        for name, value in (("way", way), ("column", column), ("where", parsed), ("by", by)):
            put(self, name, value)
        for name, end in zip(("low", "high"), ends[:2], strict=True):
            put(self, name, end)
        put(self, "step", Fraction(ends[2]))

    @property
    def part(self) -> Part | None:
        """The filter, parsed."""
        return filters.parsed(self.where)

    @property
    def every_row(self) -> bool:
        """Whether it looks at no column: all rows that the filter keeps."""
        return self.column == _EVERY

    @property
    def digits(self) -> int:
        """How many digits after the point its step has."""
        return next(d for d in range(_FINEST + 1) if (self.step * 10**d).denominator == 1)

    def words(self, unit: str) -> str:
        """What it tells of each unit, in a sentence.

        >>> Person(count="*", where="tip >= 2").words("rider")
        'How many rows each rider has, where tip >= 2.'
        >>> Person(sum="fare", low=0, high=100).words("rider")
        'The sum of fare over all rows of each rider, every value cut to 0 … 100.'
        """
        of, cut = self.column, ""
        if self.way == "sum":
            cut = f", every value cut to {self.low} … {self.high}"
        said = {
            "count": f"How many rows each {unit} has"
            + ("" if self.every_row else f" in which {of} is known"),
            "any": f"1 if a {unit} has any row"
            + ("" if self.every_row else f" in which {of} is known")
            + ", 0 if not",
            "distinct": f"How many different values of {of} each {unit} has",
            "min": f"The smallest {of} of each {unit}",
            "max": f"The largest {of} of each {unit}",
            "sum": f"The sum of {of} over all rows of each {unit}",
            "first": f"The first {of} of each {unit}, by {self.by}",
            "last": f"The last {of} of each {unit}, by {self.by}",
        }[self.way]
        if self.way == "any" and self.where is not None and self.every_row:
            return f"1 if a {unit} has a row where {self.where}, 0 if not."
        return f"{said}{'' if self.where is None else f', where {self.where}'}{cut}."

    def to_json(self) -> dict[str, Any]:
        """The feature as plain values, for the ledger."""
        said: dict[str, Any] = {self.way: self.column}
        for name in ("where", "by"):
            if getattr(self, name) is not None:
                said[name] = getattr(self, name)
        if self.way == "sum":
            said |= {name: str(getattr(self, name)) for name in ("low", "high", "step")}
        return said

    @staticmethod
    def from_json(said: object) -> Person:
        """The feature that `to_json` described, or that a file of settings declares."""
        if not isinstance(said, dict) or not all(isinstance(name, str) for name in said):
            raise InputError(f"A feature of a person is a table of settings, got {shown(said)}.")
        return Person(**said)

    def __repr__(self) -> str:
        return f"Person({', '.join(f'{name}={value!r}' for name, value in self.to_json().items())})"


def _one(made_from: dict[str, str]) -> tuple[str, str]:
    """The one way and its column."""
    if len(made_from) != 1 or not set(made_from) <= set(KNOWN):
        given = ", ".join(f"{name}=" for name in made_from) or "none"
        raise InputError(f"A feature of a person is one of {', '.join(KNOWN)}; got {given}.")
    ((way, column),) = made_from.items()
    _named(column, way)
    if column == _EVERY and way not in ("count", "any"):
        raise InputError(f'Person({way}=…) needs a column; "*" is for count and any.')
    return way, column


def _named(column: object, what: str) -> None:
    if not isinstance(column, str) or not column:
        raise InputError(f"{what}= names a column, got {shown(column)}.")


def _grid(low: object, high: object, step: object) -> tuple[Fraction, Fraction, Fraction]:
    """The ends and the step of a sum's values, exact; refused if sums could pass 64 bits."""
    if low is None or high is None:
        raise InputError(
            'A sum needs low= and high=, to which values are cut: Person(sum="fare", low=0, '
            "high=100). Choose them from what is public."
        )
    first, last = exact(low, "low"), exact(high, "high")
    unit = exact(step, "step")
    if unit <= 0 or (unit * 10**_FINEST).denominator != 1:
        raise InputError(
            f"The step of a sum must be positive, of at most {_FINEST} digits after the point, "
            f"got {shown(step)}."
        )
    if not first < last or (first / unit).denominator != 1 or (last / unit).denominator != 1:
        raise InputError("low must be below high, and both be whole numbers of steps.")
    digits = next(d for d in range(_FINEST + 1) if (unit * 10**d).denominator == 1)
    if max(abs(first), abs(last)) * 10**digits > _MOST_STEPS:
        raise InputError(
            f"Values of up to {max(abs(first), abs(last))} in units of 1/{10**digits} could add up "
            f"past 64 bits. Take a larger step, or narrower ends."
        )
    return first, last, unit


def declared_people(features: Mapping[str, Mapping[str, Any]]) -> dict[str, Person]:
    """Features as trueup.toml declares them: visits = {count = "*"}, largest = {max = "fare"}."""
    found = {}
    for name, said in features.items():
        try:
            found[name] = Person(**said)
        except InputError as wrong:
            raise InputError(f"people '{name}': {wrong}") from None
    return found


def no_people() -> InputError:
    """Why an owner has no table of people."""
    return InputError('Features of people need the column that names them: unit="user_id".')
