"""How many rows of a person count, chosen privately, and what the choice leaves out.

A small share of ε goes to a histogram of rows per person, which is handed out too. The bound is the
one at which the rows left out and the noise of all cells are expected to be least together; it
follows from noisy counts and from what is public, and so costs nothing more.
"""

from __future__ import annotations

import copy
import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueup.ask import CellCounts, Neighbours, Question
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.epsilon import positive
from trueup.errors import BudgetError, InputError, shown
from trueup.infer import errors_of, infer
from trueup.measurement import Measurement
from trueup.noise import Noise
from trueup.owner.owner import Owner
from trueup.owner.person import Person
from trueup.release import Estimate, Release
from trueup.release.wording import check_level, written

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_EACH = 8  # numbers of rows up to this have a cell each
_MOST = 1 << 31
_SURE = 9.0  # an empty cell is taken for a full one once in e^9 histograms
_LEAST, _LARGEST = Fraction(1, 10), Fraction(3, 10)  # of ε, for choosing


@dataclass(frozen=True, eq=False)
class BoundedMeasurement:
    """Counts with a bound on each person's rows, and the histogram of rows per person behind it.

    `measurement` is that of the question, `sizes` that of rows per person: both can be saved,
    inferred and shown. `not_counted` and `total` hold if nobody has more than `at_most` rows.
    """

    measurement: Measurement
    sizes: Measurement
    bound: int
    at_most: int

    @cached_property
    def release(self) -> Release:
        """The counts, unbiased for what the bound lets through."""
        found: Release = infer(self.measurement)
        return found

    @cached_property
    def rows_per_person(self) -> Release:
        """How many people have how many rows, unbiased."""
        found: Release = infer(self.sizes)
        return found

    def capped(self) -> Estimate:
        """How many rows count: at most the bound of each person. Its interval is exact."""
        return self.release.total()

    def not_counted(self) -> Estimate:
        """How many rows the bound leaves out, as if each cell's people had its mean of rows."""
        first, last = _ends(self.sizes.question.space.axes[0])
        return self._beyond((first + last) / 2)

    def _beyond(self, rows: Floats) -> Estimate:
        """The rows past the bound, if each person of a cell had so many."""
        found = self.rows_per_person
        past = np.maximum(rows - self.bound, 0.0)
        none = 0.0 * found.between(0, 1)
        cells = np.flatnonzero(past).tolist()
        return sum((float(past[c]) * found.between(c, c + 1) for c in cells), start=none)

    def total_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the number of all rows on the axis lies, if nobody has more than `at_most` rows.

        Half of 1 − level goes to the noise of what is counted, half to the rows left out. One
        person with more rows than that makes it wrong, and no private interval can help it.
        """
        each = 1 - (1 - check_level(level)) / 2
        low, high = self.capped().interval(each)
        most = self._beyond(_ends(self.sizes.question.space.axes[0])[1]).interval(each)[1]
        return low, high + max(most, 0.0)

    def statement(self, level: float = 0.95) -> str:
        """The two parts of the answer in words: noise, and what the bound leaves out."""
        unit = self.measurement.unit
        low, high = self.capped().interval(level)
        left = max(float(self.not_counted().value), 0.0)
        whole = max(float(self.capped().value) + left, 1.0)
        first, last = self.total_interval(level)
        rows = "1 row" if self.bound == 1 else f"{self.bound:,} rows"
        sure = f"{100 * level:.6g} % sure"
        return (
            f"At most {rows} of each {unit} count: {written(math.floor(low))} to "
            f"{written(math.ceil(high))} rows in all, {sure}. If nobody has more than "
            f"{self.at_most:,} rows, about {100 * left / whole:.2g} % of all rows are not counted, "
            f"and there are {written(math.floor(first))} to {written(math.ceil(last))} rows in "
            f"all, {sure}."
        )

    def __repr__(self) -> str:
        stamp, cost = self.measurement.facts.stamp, self.measurement.epsilon
        spent = None if cost is None or self.sizes.epsilon is None else cost + self.sizes.epsilon
        return (
            f"<BoundedMeasurement{stamp}: at most {self.bound:,} rows of each "
            f"{self.measurement.unit}, chosen for epsilon={self.sizes.epsilon} of {spent}>"
        )


def bounded(
    owner: Owner,
    question: Question,
    epsilon: object,
    *,
    at_most: int,
    share: object = None,
    key: str | None = None,
    where: str | None = None,
    neighbours: Neighbours = "add-remove",
) -> BoundedMeasurement:
    """The noisy answers to a question, with a bound on each person's rows that is chosen privately.

    `at_most` is the largest number of rows that anybody has, from what is public; the owner's own
    `rows_per_unit` plays no part. `share` of ε goes to a histogram of rows per person (a tenth to
    three tenths, the more the fewer cells the question has), the rest to the question. The same key
    gives the same answers and is charged once.
    """
    unit = _checked(owner, question)
    most = whole_number(at_most, "at_most, the largest number of rows of anybody,")
    if not 2 <= most <= _MOST:
        raise InputError(f"at_most must be between 2 and {_MOST:,}, got {shown(at_most)}.")
    cost = positive(epsilon)
    axis = rows_axis(f"rows per {unit}", most)
    asked = CellCounts(axis)
    small = _share(question, axis, neighbours) if share is None else positive(share, "share")
    part = cost * small
    if part >= cost:
        raise InputError(f"share must be below 1, got {shown(share)}.")
    people = owner.people(**{axis.name: Person(count="*", where=where)})
    people.check(asked, part, neighbours=neighbours)
    owner.check(question, cost - part, where=where, neighbours=neighbours)
    key = secrets.token_hex(16) if key is None else key
    begun = f"{key}, rows of each" in owner.ledger.charges["key"].to_pylist()
    if owner.ledger.remaining < cost and not begun:
        raise BudgetError(f"This costs {cost}; {owner.ledger.remaining} is left.")
    sizes = people.measure(asked, part, f"{key}, rows of each", neighbours=neighbours)
    each = each_cell(question, cost - part, neighbours)
    bound = chosen_bound(axis, sizes.noisy, float(sizes.noise.scales[0]), each)
    counting = copy.copy(owner)
    counting.rows_per_unit = bound
    measured = counting.measure(
        question, cost - part, f"{key}, counts", where=where, neighbours=neighbours
    )
    return BoundedMeasurement(measured, sizes, bound, most)


def _checked(owner: object, question: object) -> str:
    """The unit; refused where there is none, or the question has no cells to count rows in."""
    if not isinstance(owner, Owner) or owner.unit is None:
        raise InputError('bounded needs an Owner whose unit names people: unit="user_id".')
    if not isinstance(question, Question) or question.space.kind != "cells":
        raise InputError(
            f"A bound is chosen for counts over axes, such as TreeCounts(axis); got "
            f"{shown(question)}."
        )
    if question.space.margins or not getattr(question, "settled", True):
        raise InputError("A bound is chosen for questions that are fixed and about all cells.")
    return owner.unit


def rows_axis(name: str, at_most: int) -> Axis:
    """Numbers of rows, from 1: each its own cell while they are small, then ever wider ones."""
    edges = [*range(1, min(_EACH, at_most) + 1)]
    while edges[-1] <= at_most:
        edges.append(max(edges[-1] + 1, round(edges[-1] * math.sqrt(2))))
    kept = [edge for edge in edges if edge <= at_most]
    return Axis.edges(name, [float(edge) for edge in [*kept, at_most + 1]])


def _ends(axis: Axis) -> tuple[Floats, Floats]:
    """The fewest and the most rows of each cell."""
    edges = axis.positions(np.arange(axis.size + 1))
    return edges[:-1], edges[1:] - 1


def each_cell(question: Question, epsilon: Fraction, neighbours: Neighbours) -> float:
    """The mean absolute noise of all cells together, for each row of a person that counts."""
    errors = errors_of(Noise(question, epsilon, neighbours))
    sizes = [axis.size for axis in question.space.axes]
    if len(sizes) == 1:
        cells = np.arange(sizes[0])
        variances = errors.range_variances(cells, cells + 1)
    else:
        variances = errors.product_variances([np.arange(size + 1) for size in sizes])
    return float(np.sqrt(np.maximum(variances, 0.0)).sum()) / math.sqrt(2)


def _share(question: Question, axis: Axis, neighbours: Neighbours) -> Fraction:
    """What is worth spending on the choice: as much as finds groups that are worth counting."""
    cells = each_cell(question, Fraction(1), neighbours)
    wanted = Fraction((math.log(axis.size) + _SURE) / cells).limit_denominator(100)
    return min(max(wanted, _LEAST), _LARGEST)


def chosen_bound(axis: Axis, noisy: Ints, scale: float, each: float) -> int:
    """The bound that leaves out few rows and needs little noise: least of both, expected.

    A cell whose count noise alone would hardly give is taken at its word, any other for empty:
    a few people too many, of many rows, would weigh more than all others. `each` is what one row
    more of everybody costs in noise.
    """
    first, last = _ends(axis)
    surely = np.where(noisy >= scale * (math.log(axis.size) + _SURE), noisy, 0)
    middle = np.floor((first + last) / 2)
    bounds = np.unique(np.concatenate([first, middle, last]))
    at = bounds[:, None]
    inside = (last - at) * (last - at + 1) / 2 / (last - first + 1)  # rows are uniform in a cell
    past = np.where(at <= first, (first + last) / 2 - at, np.where(at >= last, 0.0, inside))
    return int(bounds[np.argmin(past @ surely + each * bounds)])
