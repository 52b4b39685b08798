"""How many rows of a person count, chosen from a noisy histogram of rows per person.

The histogram is published beside the answers; everything here follows from it and from what is
public. The bound is the one at which the rows left out and the noise of all cells are expected to
be least together. Of the noisy counts of people the likely ones are made first (`likely_people`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.ask import CellCounts, Neighbours
from trueup.axis import Axis
from trueup.axis.numbers import whole_number
from trueup.cost import Cost
from trueup.errors import FileError, InputError, shown
from trueup.noise import Noise

MOST_ROWS = 1_000_000_000  # as of rows_per_unit
_EACH = 8  # numbers of rows up to this have a cell each
_WIDER = 2 ** (1 / 3)  # from there on each cell ends at so many times its beginning
_DOUBLINGS = 40  # a cell has at most so many doublings of one person
_CERTAIN = 60.0  # a count of so many scales is taken at its word
_WIDTH, _FALL = 1.5, 0.5  # from cell to cell: doublings up or down, and how many down
_NEW, _DIES = 0.03, 0.3  # a cell after an empty one is seldom full, one after a few people empty
_ENDED, _GAP, _SOME = range(3)  # states of a cell: nobody from here on, nobody here, people


class BoundTerms(TypedDict, total=False):
    """How an owner declares a bound that is to be chosen."""

    at_most: int | None


@dataclass(frozen=True)
class ChosenBound:
    """The noisy histogram behind a bound that was chosen privately, and what it cost.

    `people` are the noisy counts of people by their rows, over the cells of `rows_axis`. All that
    is told of rows left out holds if nobody has more than `at_most` rows.
    """

    people: tuple[int, ...]
    at_most: int
    epsilon: Fraction | None = None
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        Cost.of(self.epsilon, self.rho)
        check_at_most(self.at_most)
        if len(self.people) != self.axis("person").size:
            raise InputError("The histogram behind a bound has a count for each cell of rows.")

    def axis(self, unit: str) -> Axis:
        """The numbers of rows that the histogram counts people by."""
        return rows_axis(f"rows per {unit}", self.at_most)

    @property
    def cost(self) -> Cost:
        """What the histogram cost."""
        return Cost.of(self.epsilon, self.rho)

    def share_left_out(self, bound: int, neighbours: Neighbours) -> float:
        """About which part of all rows a bound leaves out, if nobody has more than `at_most`."""
        return _share_left_out(self, bound, neighbours)

    def to_json(self) -> dict[str, Any]:
        """Its plain values, for a file's metadata."""
        return {
            "people": list(self.people),
            "at_most": self.at_most,
            self.cost.notion: str(self.cost.amount),
        }

    @staticmethod
    def from_json(said: Any) -> ChosenBound:
        """What `to_json` wrote, checked."""
        try:
            people = tuple(whole_number(each, "A count of people") for each in said["people"])
            cost = Cost.of(said.get("epsilon"), said.get("rho"))
            return ChosenBound(people, said["at_most"], cost.epsilon, cost.rho)
        except InputError as wrong:
            raise FileError(f"The file's bound makes no sense: {wrong}") from None


@lru_cache(maxsize=64)  # it is said beside every number
def _share_left_out(chosen: ChosenBound, bound: int, neighbours: Neighbours) -> float:
    axis = chosen.axis("person")
    noise = Noise(CellCounts(axis), chosen.epsilon, neighbours, rho=chosen.rho)
    likely = likely_people(axis, np.array(chosen.people, np.int64), noise)
    first, last = ends(axis)
    left = float(_past(first, last, np.array([float(bound)]))[0] @ likely)
    return left / max(float((first + last) / 2 @ likely), 1.0)


def check_at_most(at_most: object) -> int:
    """The largest number of rows of anybody, as a whole number."""
    most = whole_number(at_most, "at_most, the largest number of rows of anybody,")
    if not 2 <= most <= MOST_ROWS:
        raise InputError(f"at_most must be between 2 and {MOST_ROWS:,}, got {shown(at_most)}.")
    return most


def most_rows(rows_per_unit: object, terms: Mapping[str, object], unit: str | None) -> int | None:
    """The most rows of anybody, where the bound is to be chosen; None where it is a number."""
    unknown = set(terms) - set(BoundTerms.__annotations__)
    if unknown:
        raise TypeError(f"unexpected keyword argument {sorted(unknown)[0]!r}")
    at_most = terms.get("at_most")
    if not isinstance(rows_per_unit, str):
        if at_most is not None:
            raise InputError("at_most goes with rows_per_unit='auto'.")
        return None
    if rows_per_unit != "auto":
        raise InputError(f"rows_per_unit is a whole number or 'auto', got {shown(rows_per_unit)}.")
    if unit in (None, "row", "edge"):
        raise InputError("rows_per_unit='auto' goes with a unit, such as unit='user_id'.")
    if at_most is None:
        raise InputError(
            "rows_per_unit='auto' needs at_most=, the largest number of rows that anybody has. "
            "Take it from what is public."
        )
    return check_at_most(at_most)


def rows_axis(name: str, at_most: int) -> Axis:
    """Numbers of rows, from 1: each its own cell while they are small, then ever wider ones."""
    edges = [*range(1, min(_EACH, at_most) + 1)]
    while edges[-1] <= at_most:
        edges.append(max(edges[-1] + 1, round(edges[-1] * _WIDER)))
    kept = [edge for edge in edges if edge <= at_most]
    return Axis.edges(name, [float(edge) for edge in [*kept, at_most + 1]])


def ends(axis: Axis) -> tuple[Floats, Floats]:
    """The fewest and the most rows of each cell."""
    edges = axis.positions(np.arange(axis.size + 1))
    return edges[:-1], edges[1:] - 1


@cache
def _steps() -> tuple[Floats, Floats]:
    """The people of each state of a cell, and how likely each state is after each.

    People come in half doublings. After a cell of c people comes an empty one the sooner the
    smaller c is, and otherwise one of somewhat fewer people. Of empty cells there are two kinds:
    those with nobody after them, and those in a gap, after which people come.
    """
    people = np.concatenate([[0.0, 0.0], 2.0 ** np.arange(0, _DOUBLINGS, 0.5)])
    some, doublings = people[_SOME:], np.log2(people[_SOME:])
    follows = np.exp(-np.abs(doublings[:, None] - doublings - _FALL) / _WIDTH)
    dies, seldom = 0.5 * some**-_DIES, some**-0.5
    likely = np.zeros((len(people), len(people)))
    likely[_SOME:, _SOME:] = (1 - dies)[:, None] * follows / follows.sum(axis=1, keepdims=True)
    likely[_SOME:, _ENDED] = likely[_SOME:, _GAP] = dies
    likely[_ENDED, _ENDED] = likely[_GAP, _GAP] = 1.0
    likely[_GAP, _SOME:] = _NEW * seldom / seldom.sum()
    return people, likely


def likely_people(axis: Axis, noisy: npt.NDArray[Any], noise: Noise) -> Floats:
    """How many people each cell has, expected, given the noisy counts of all cells.

    `noise` is that of the counts. The cells are a chain: what is likely in one follows from the one
    before. Forward and backward over the chain gives the weight of each state of each cell. People
    after a gap weigh the less the more rows grow over it: a bound that is raised to them would be
    wrong by as many times if they were noise.
    """
    people, chances = _steps()
    apart, scale = np.abs(noisy[:, None] - people), float(noise.scales[0])
    if noise.gaussian:  # its scale is a variance
        apart, scale = apart**2 / (2 * scale), math.sqrt(scale)
    else:
        apart /= scale
    fits = np.maximum(np.exp(apart.min(axis=1, keepdims=True) - apart), 1e-200)
    before, after = np.ones_like(fits), np.ones_like(fits)
    rows = ends(axis)[0]
    grown = np.ones((len(rows), len(people)))
    grown[1:, _GAP] = rows[:-1] / rows[1:]
    before[0] = fits[0] * (np.arange(len(people)) != _ENDED)
    for cell in range(1, len(noisy)):
        here = (before[cell - 1] * grown[cell]) @ chances * fits[cell]
        before[cell] = here / here.sum()
    for cell in range(len(noisy) - 2, -1, -1):
        here = grown[cell + 1] * (chances @ (after[cell + 1] * fits[cell + 1]))
        after[cell] = here / here.sum()
    weights = before * after
    expected: Floats = weights @ people / weights.sum(axis=1)
    return np.where(noisy > _CERTAIN * scale, noisy, expected)


def _past(first: Floats, last: Floats, bounds: Floats) -> Floats:
    """The mean of the rows past each bound of somebody in each cell, uniform within the cell."""
    at = bounds[:, None]
    inside = (last - at) * (last - at + 1) / 2 / (last - first + 1)
    return np.where(at <= first, (first + last) / 2 - at, np.where(at >= last, 0.0, inside))


def chosen_bound(axis: Axis, noisy: npt.NDArray[Any], noise: Noise, each: float) -> int:
    """The bound that leaves out few rows and needs little noise: least of both, expected.

    `noise` is that of the histogram, and `each` what one row more of everybody costs in noise.
    """
    first, last = ends(axis)
    middle = np.floor((first + last) / 2)
    bounds = np.unique(np.concatenate([first, middle, last]))
    left = _past(first, last, bounds) @ likely_people(axis, noisy, noise)
    return int(bounds[np.argmin(left + each * bounds)])
