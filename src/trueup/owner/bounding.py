"""Rows of each person counted up to a bound that is chosen privately, and what it leaves out.

A small share of ε, or of ρ, goes to a histogram of rows per person, which is handed out too. The
bound follows from the noisy histogram and from what is public (`trueup.rows_bound`), and so costs
nothing more. Histogram and answers are one charge and one stored answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

import numpy as np

from trueup.arrays import Floats, Ints
from trueup.ask import CellCounts, Neighbours, Question, check_neighbours
from trueup.axis import Axis
from trueup.cost import Cost, Notion
from trueup.epsilon import positive
from trueup.errors import InputError, kind, shown
from trueup.facts import Facts
from trueup.infer import errors_of, infer
from trueup.measure import measure_all
from trueup.measurement import Measurement
from trueup.noise import Law, Noise
from trueup.owner import where as filters
from trueup.owner.order import AskedTerms, Order, check_private
from trueup.owner.person import Person
from trueup.owner.rehearsal import check_noise
from trueup.owner.request import Count
from trueup.release import Estimate, Release
from trueup.release.wording import check_level, written
from trueup.rows_bound import ChosenBound, check_at_most, chosen_bound, ends, rows_axis

if TYPE_CHECKING:
    from trueup.owner.owner import Owner


_SHARE, _SHARE_OF_RHO = 0.7, 0.3  # for choosing: over the root of the noise of all cells
_LEAST, _LARGEST = Fraction(1, 50), Fraction(1, 4)
_MEAN_OF_LAPLACE, _MEAN_OF_NORMAL = math.sqrt(1 / 2), math.sqrt(2 / math.pi)  # |X| over deviation


@dataclass(frozen=True)
class Choice:
    """How a bound is chosen: the most rows of anybody, and the share of the cost that it takes."""

    at_most: int
    share: Fraction

    @staticmethod
    def of(
        question: Question,
        at_most: object,
        share: object,
        neighbours: Neighbours,
        notion: Notion = "epsilon",
    ) -> Choice:
        """Checked; without a share, what is worth spending for this question."""
        if not isinstance(question, Question) or question.space.kind != "cells":
            raise InputError(
                f"A bound is chosen for counts over axes, such as TreeCounts(axis); got "
                f"{shown(question)}."
            )
        if not getattr(question, "settled", True):
            raise InputError(
                "rows_per_unit='auto' cannot choose a bound for an adaptive question: leave out "
                "adaptive=True, or give rows_per_unit as a number."
            )
        if question.space.margins:
            raise InputError(
                "rows_per_unit='auto' cannot choose a bound for margins: give it as a number."
            )
        part = positive(share, "share") if share is not None else None
        if part is None:
            part = share_for(question, neighbours, notion)
        if part >= 1:
            raise InputError(f"share must be below 1, got {shown(share)}.")
        return Choice(check_at_most(at_most), part)

    def parts(self, cost: Cost) -> tuple[Cost, Cost]:
        """What of a cost goes to the histogram, and what to the question."""
        small = replace(cost, amount=cost.amount * self.share)
        return small, replace(cost, amount=cost.amount - small.amount)

    def check(self, question: Question, cost: Cost, neighbours: Neighbours) -> None:
        """Refuses noise that cannot be drawn: of the histogram, or with any bound it may lead to.

        Scales rise with the bound, so that the first and the last one speak for all.
        """
        small, rest = self.parts(cost)
        check_noise(CellCounts(rows_axis("rows", self.at_most)), small, neighbours, 1)
        for bound in (1, self.at_most):
            check_noise(question, rest, neighbours, bound)

    def drawn(
        self,
        question: Question,
        cost: Cost,
        neighbours: Neighbours,
        unit: str,
        people: Callable[[Axis], Ints],
        rows: Callable[[int], Ints],
    ) -> Measurement:
        """The noisy answers. `people` counts people by their rows, `rows` with a bound on them."""
        axis = rows_axis(f"rows per {unit}", self.at_most)
        small, rest = self.parts(cost)
        sizes = measure_all(
            people(axis), CellCounts(axis), small, neighbours, unit=unit, rows_per_unit=1
        )
        each = each_cell(question, rest, neighbours)
        bound = chosen_bound(axis, sizes.noisy, sizes.noise, each)
        measured = measure_all(
            rows(bound), question, rest, neighbours, unit=unit, rows_per_unit=bound
        )
        people_seen = tuple(sizes.noisy.tolist())
        chosen = ChosenBound(people_seen, self.at_most, small.epsilon, small.rho)
        return replace(measured, bound=chosen)


def each_cell(question: Question, cost: Cost, neighbours: Neighbours) -> float:
    """The mean absolute noise of all cells together, for each row of a person that counts.

    As if noise were on the real line: it then grows as the rows that count do, however small it is.
    """
    law: Law = "continuous" if cost.rho is None else "normal"
    noise = Noise(question, cost.epsilon, neighbours, law=law, rho=cost.rho)
    errors, mean = errors_of(noise), _MEAN_OF_NORMAL if noise.gaussian else _MEAN_OF_LAPLACE
    sizes = [axis.size for axis in question.space.axes]
    if len(sizes) == 1:
        cells = np.arange(sizes[0])
        variances = errors.range_variances(cells, cells + 1)
    else:
        variances = errors.product_variances([np.arange(size + 1) for size in sizes])
    return float(np.sqrt(np.maximum(variances, 0.0)).sum()) * mean


def share_for(question: Question, neighbours: Neighbours, notion: Notion = "epsilon") -> Fraction:
    """What is worth spending on the choice: the more the fewer cells there are."""
    one = Cost(notion, Fraction(1) if notion == "epsilon" else Fraction(1, 2))
    cells = each_cell(question, one, neighbours)
    most = _SHARE if notion == "epsilon" else _SHARE_OF_RHO
    wanted = Fraction(most / math.sqrt(cells)).limit_denominator(100)
    return min(max(wanted, _LEAST), _LARGEST)


def measure_bounded(owner: Owner, question: Question, order: Order, choice: Choice) -> Measurement:
    """The noisy answers with a bound that is chosen for them, charged before anything is read.

    Where each period has a limit, a person is another one in each, and so is the bound.
    """
    if owner.unit is None:
        raise InputError('A bound needs an Owner whose unit names people: unit="user_id".')
    said = {"rows_per_unit": "auto", "at_most": choice.at_most, "share": str(choice.share)}
    request = order.request(owner, question.to_json(), **said)
    counts = _Counts(owner, question, order, choice)
    answer = Measurement.from_bytes(order.paid(owner, request, counts.ready))
    check_private(answer.private)
    return answer


@dataclass(frozen=True)
class _Counts:
    """What is counted for a bound and with it: people by their rows, and the question's cells."""

    owner: Owner
    question: Question
    order: Order
    choice: Choice

    def ready(self) -> Callable[[], bytes]:
        """What draws the answers. All that can fail then, whatever the bound will be, is tried."""
        owner, question, order, choice = self.owner, self.question, self.order, self.choice
        axis = rows_axis(f"rows per {owner.unit}", choice.at_most)
        where = None if order.part is None else filters.written(order.part)
        people = owner.people(**{axis.name: Person(count="*", where=where)})
        of_people = people.prepared(CellCounts(axis), None, False, order.periods)
        for bound in (1, choice.at_most):
            self._rows(bound)
        choice.check(question, order.cost, order.neighbours)

        def draw() -> bytes:
            noisy = choice.drawn(
                question,
                order.cost,
                order.neighbours,
                owner.protects,
                lambda axis: people.read(of_people, order.key),
                lambda bound: owner.read(self._rows(bound), order.key),
            )
            return owner.covering(noisy, order.periods).to_bytes()

        return draw

    def _rows(self, bound: int) -> Count:
        """The count of the question's cells, with so many rows of each person."""
        order = self.order
        return self.owner.bounded_by(bound).prepared(
            self.question, order.part, False, order.periods
        )


def bounded(
    owner: Owner,
    question: Question,
    epsilon: object = None,
    *,
    at_most: int,
    rho: object = None,
    share: object = None,
    key: str | None = None,
    **asked: Unpack[AskedTerms],
) -> BoundedCounts:
    """The noisy answers to a question, with a bound on each person's rows that is chosen privately.

    As an owner with `rows_per_unit="auto"` measures them; the owner's own `rows_per_unit` plays no
    part. `at_most` is the largest number of rows that anybody has, in one period where each has a
    limit; take it from what is public. `share` of ε, or ρ, goes to a histogram of rows per person
    (without it a fiftieth to a quarter, the more the fewer cells the question has), the rest to the
    question. The same key gives the same answers and is charged once. The rest (`where`,
    `neighbours`, `by`, `period`) is as for `Owner.measure`.
    """
    if not hasattr(owner, "bounded_by"):
        raise InputError(f"bounded needs an Owner, got {kind(owner)}.")
    order = Order.of(owner, Cost.of(epsilon, rho), key, asked)
    choice = Choice.of(question, at_most, share, order.neighbours, order.cost.notion)
    return left_out(measure_bounded(owner, question, order, choice))


def left_out(counts: Measurement | Release) -> BoundedCounts:
    """What a bound that was chosen privately leaves out, of a measurement or a release."""
    facts = getattr(counts, "facts", None)
    if not isinstance(facts, Facts) or facts.bound is None:
        raise InputError(
            f"left_out needs counts whose bound was chosen privately, rows_per_unit='auto'; got "
            f"{shown(counts)}."
        )
    if isinstance(counts, Measurement):
        return BoundedCounts(infer(counts), counts)
    return BoundedCounts(counts)


@dataclass(frozen=True, eq=False)
class BoundedCounts:
    """Counts with a bound on each person's rows, and the histogram of rows per person behind it.

    `release` are the counts, and `measurement` the noisy answers where they are at hand. `sizes`
    can be saved, inferred and shown. `not_counted` and `total_interval` hold if nobody has more
    than `at_most` rows.
    """

    release: Release
    measurement: Measurement | None = None

    @property
    def chosen(self) -> ChosenBound:
        """The histogram behind the bound, as it is kept with the counts."""
        found = self.release.facts.bound
        assert found is not None
        return found

    @property
    def bound(self) -> int:
        """How many rows of each person count, at most."""
        return self.release.facts.rows

    @property
    def at_most(self) -> int:
        """The most rows of anybody, as it was declared."""
        return self.chosen.at_most

    @cached_property
    def sizes(self) -> Measurement:
        """The noisy histogram of rows per person."""
        facts = self.release.facts
        return Measurement(
            CellCounts(self.chosen.axis(str(facts.unit))),
            np.array(self.chosen.people, np.int64),
            self.chosen.epsilon,
            check_neighbours(str(facts.neighbours)),
            str(facts.unit),
            rho=self.chosen.rho,
            private=facts.private,
            period=facts.period,
            features=((f"rows per {facts.unit}", repr(Person(count="*"))),),
        )

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
        first, last = ends(self.sizes.question.space.axes[0])
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
        most = self._beyond(ends(self.sizes.question.space.axes[0])[1]).interval(each)[1]
        return low, high + max(most, 0.0)

    def statement(self, level: float = 0.95) -> str:
        """The two parts of the answer in words: noise, and what the bound leaves out."""
        facts = self.release.facts
        low, high = self.capped().interval(level)
        left = self.chosen.share_left_out(self.bound, self.sizes.neighbours)
        first, last = self.total_interval(level)
        rows = "1 row" if self.bound == 1 else f"{self.bound:,} rows"
        sure = f"{100 * level:.6g} % sure"
        return (
            f"At most {rows} of each {facts.unit} count: {written(math.floor(low))} to "
            f"{written(math.ceil(high))} rows in all, {sure}. If nobody has more than "
            f"{self.at_most:,} rows, about {100 * left:.2g} % of all rows are not counted, and "
            f"there are {written(math.floor(first))} to {written(math.ceil(last))} rows in all, "
            f"{sure}."
        )

    def __repr__(self) -> str:
        facts = self.release.facts
        return (
            f"<BoundedCounts{facts.stamp}: at most {self.bound:,} rows of each {facts.unit}, "
            f"chosen for {self.chosen.cost} of {facts.whole_rho or facts.whole_epsilon}>"
        )
