"""What every question knows, and the checks they share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, cast

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints
from trueup.ask.moves import moved_by_matrix
from trueup.axis import Axis
from trueup.errors import InputError, kind, shown

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Neighbours = Literal["add-remove", "replace"]
Block = tuple[int, Fraction]
Weights = Sequence[Fraction | int]

MOST_RECORDS = 1 << 62


@dataclass(frozen=True)
class Space:
    """What a question counts over, and what its release is over.

    - "cells": records are counted by their cells on `axes`; the release is over `answer_axes`;
      where only some `margins` are asked, by the names of their axes, it answers those alone;
    - "ranks": records are counted by group, in rising order: `groups` of them, the values of the
      column `by`; one record counts for `ends` groups;
    - "names": records are counted by their cell on the one axis; the release is by name.
    """

    kind: Literal["cells", "ranks", "names"]
    axes: tuple[Axis, ...] = ()
    answer_axes: tuple[Axis, ...] = ()
    names: tuple[str, ...] = ()
    groups: int = 0
    by: str | None = None
    ends: int = 1
    margins: tuple[tuple[str, ...], ...] = ()

    @property
    def size(self) -> int:
        """How many counts there are."""
        return self.groups or math.prod(axis.size for axis in self.axes)

    @property
    def one_axis(self) -> bool:
        """Whether it is about the cells of one axis, and so about ranges."""
        return self.kind == "cells" and len(self.axes) == 1

    def check_one_axis(self) -> Axis:
        """The one axis that a release is over; refused where there are several, or none."""
        if not self.one_axis:
            raise InputError("Only counts over the cells of one axis have ranges.")
        return self.answer_axes[0]


class Question(ABC):
    """What is asked: frozen, and it declares everything that anyone may ask of it.

    A question knows nothing of noise or of inference. `kinds` are the words under which files,
    ledgers, command line and server know it.
    """

    kinds: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def space(self) -> Space:
        """What it counts over."""

    @property
    @abstractmethod
    def blocks(self) -> tuple[Block, ...]:
        """Runs of answers that share a noise scale: (length, weight), in order.

        The scale of a block is price · rows per unit / (weight · ε); see `trueup.noise`.
        """

    @property
    def heaviest(self) -> int:
        """The largest weight of a cell in an answer, or in a sum on the way to it; 1 for counts.

        As the matrix has it, unless a question says it itself.
        """
        return int(abs(self.matrix()).max())

    def __repr__(self) -> str:
        space = self.space
        over = " × ".join(f"'{axis.name}' ({axis.size:,} cells)" for axis in space.axes)
        if space.kind == "ranks":
            over = f"{space.groups:,} groups" + (f" of '{space.by}'" if space.by else "")
        if space.names:
            over += f", {len(space.names):,} names"
        return f"<{type(self).__name__}: {_cut(over, 90)}{_chosen(self)}>"

    @property
    def size(self) -> int:
        """How many counts it is asked of."""
        return self.space.size

    @property
    def block_lengths(self) -> list[int]:
        """How many answers each block has."""
        return [length for length, _ in self.blocks]

    @property
    def length(self) -> int:
        """How many answers it has."""
        return sum(self.block_lengths)

    @property
    def kind(self) -> str:
        """The word under which it is recorded."""
        return str(self.to_json()["kind"])

    @property
    def anew(self) -> Question:
        """The same question without what noise chose of it: as it was first put to data."""
        return self

    def moved(self, weights: Weights, power: int, replacing: bool) -> Fraction:
        """The most that one record moves the answers: Σ weight of its block · |move|^power.

        The record comes or goes; if `replacing`, it may also be moved from cell to cell. From the
        matrix; a question whose matrix is large, or that has none, says it itself.
        """
        return moved_by_matrix(self.matrix(), self.block_lengths, weights, power, replacing)

    def sensitivity(self, neighbours: Neighbours = "add-remove") -> int:
        """The most that one record can move the answers, in L1."""
        return int(self.moved([1] * len(self.blocks), 1, check_neighbours(neighbours) == "replace"))

    def price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        """As `sensitivity`, each answer's move counted with its block's weight."""
        weights = [weight for _, weight in self.blocks]
        return self.moved(weights, 1, check_neighbours(neighbours) == "replace")

    @property
    def squares(self) -> tuple[Fraction, ...]:
        """The squared weight of each block: the larger, the smaller its Gaussian noise.

        The noise variance of a block is square price · rows per unit² / (2 · square · ρ).
        """
        return tuple(weight * weight for _, weight in self.blocks)

    def square_price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        """The most that one record can move the answers, squared: Σ block's square · move²."""
        return self.moved(self.squares, 2, check_neighbours(neighbours) == "replace")

    @abstractmethod
    def answers(self, counts: npt.ArrayLike) -> Ints:
        """The true answers, from the counts."""

    @abstractmethod
    def labels(self) -> dict[str, Any]:
        """What each answer counts, as the columns of a table."""

    @abstractmethod
    def matrix(self) -> csr_array[Any]:
        """The question as a matrix: answers = matrix @ counts (sorted first, for S)."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The question as plain values, for a file's metadata."""

    @classmethod
    @abstractmethod
    def from_json(cls, spec: dict[str, Any]) -> Question:
        """The question that `to_json` described; checked as if typed."""

    @property
    def settled(self) -> bool:
        """Whether it is known which answers are asked: noise has no say in it any more."""
        return True

    def check_new(self) -> None:  # noqa: B027 (most questions may be asked again)
        """Refuses, before anything is spent, a question that can only have been asked already, or
        whose answers no memory holds."""


class AxisQuestion(Question):
    """A question about the cells of one axis, and so about ranges."""

    axis: Axis

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", as_axis(self.axis))

    @property
    def space(self) -> Space:
        return Space("cells", (self.axis,), (self.axis,))

    def to_json(self) -> dict[str, Any]:
        """Its kind, its axis, and whatever else it is made of, by name."""
        others = {name: _plain(getattr(self, name)) for name in _made_of(self)}
        return {"kind": self.kinds[0], "axis": self.axis.to_json(), **others}

    @classmethod
    def from_json(cls, spec: dict[str, Any]) -> Self:
        made: Any = cls
        others = {name: spec[name] for name in _made_of(made)}
        found: Self = made(axis=Axis.from_json(spec["axis"]), **others)
        return found


class Draw(Protocol):
    """Fresh noise for so many answers of a weight: the larger the weight, the less noise."""

    def __call__(self, size: int, weight: Fraction = ..., square: Fraction = ..., /) -> Ints:
        """So many whole numbers: of 1/weight times the scale, or 1/square times the variance."""


class AdaptiveQuestion(Question):
    """A question whose every further answer is chosen from the noisy answers so far.

    Until it was put to data it is not `settled`.
    """

    @abstractmethod
    def measure_adaptively(
        self, counts: npt.ArrayLike, scale: Fraction, draw: Draw
    ) -> tuple[Question, Ints]:
        """The question that was asked of these counts, settled, and its noisy answers.

        `scale` is that of an answer of weight 1, its noise's deviation over √2; it only helps to
        choose. `draw(size, weight, square)` gives fresh noise. Nothing else of the counts comes
        back.
        """

    def check_answers(self, noisy: npt.NDArray[Any], scale: Fraction) -> None:
        """Refuses noisy answers after which something else would have been asked.

        `scale` is that of an answer of weight 1. Where what was asked does not say it, all pass.
        """

    @abstractmethod
    def in_order(self, answers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The answers, one for each of the question's, in the order in which they were asked."""


def _made_of(question: Any) -> list[str]:
    """The names of what a question is made of, its axis left out."""
    return [each.name for each in fields(question) if each.name != "axis"]


def _plain(value: Any) -> Any:
    """A value as files hold it: exact numbers as text, tuples as lists."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Fraction) else value


def moved_in_each(blocks: Sequence[Block], weights: Weights, replacing: bool) -> Fraction:
    """The most that a record moves blocks of sums of cells, if it is in one sum of each.

    Replacing a record moves two sums of each block that tells the two cells apart, by 1 each, and
    some two cells are told apart by every block of more than one sum. A record that comes onto the
    axis, or leaves it, moves one of each.
    """
    one = sum((Fraction(weight) for weight in weights), Fraction(0))
    if not replacing:
        return one
    apart = [2 * Fraction(w) for w, (length, _) in zip(weights, blocks, strict=True) if length > 1]
    return max(one, sum(apart, Fraction(0)))


def _chosen(question: Any) -> str:
    """What was chosen besides what is counted over, shortly: fan-outs, shares, strides."""
    told = {"axis", "axes", "factors", "groups", "by", "names", "cells", "asked", "units"}
    found = ""
    for each in fields(question):
        value = getattr(question, each.name)
        plain = isinstance(value, (bool, int, str, tuple)) and value != ()
        if plain and each.name not in told and value != each.default:
            found += f", {each.name} {_cut(_short(value), 50)}"
    return found


def _short(value: Any) -> str:
    return f"({', '.join(map(_short, value))})" if isinstance(value, tuple) else str(value)


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def check_question(question: object) -> Question:
    """The question, refused if it is anything else."""
    if isinstance(question, Question):
        return question
    if hasattr(question, "universe"):
        raise InputError(
            "Keys that nobody can list are measured by measure_keys and measure_prefixes, or "
            "through an owner by owner.keys."
        )
    raise InputError(
        f"A question such as TreeCounts(axis) is needed, got {shown(question)}. The counts come "
        f"first: measure(counts, question, epsilon)."
    )


def as_axis(axis: Axis | int) -> Axis:
    """The axis itself; for a number, that many unnamed cells."""
    if isinstance(axis, Axis):
        return axis
    if isinstance(axis, (int, np.integer)) and not isinstance(axis, bool):
        if axis < 1:
            raise InputError(f"A question needs at least 1 cell, got {axis}.")
        return Axis.integers("cell", 0, int(axis) - 1)
    raise InputError(f"A question needs an Axis or a number of cells, got {kind(axis)}.")


def check_neighbours(neighbours: str) -> Neighbours:
    """The neighbour relation, refused if it is not one of the two."""
    if isinstance(neighbours, str) and neighbours in ("add-remove", "replace"):
        return cast(Neighbours, neighbours)
    raise InputError(f'neighbours must be "add-remove" or "replace", got {shown(neighbours)}.')


def listed(values: Sequence[Any], name: str) -> tuple[Any, ...]:
    """The values as a tuple, refused unless they are a list."""
    if isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str):
        return tuple(values)
    raise InputError(f"{name} must be a list, one entry a level, got {shown(values)}.")


def even_radices(size: int, branching: int) -> tuple[int, ...]:
    """As many levels of one fan-out as it takes to reach every cell."""
    height, reach = 0, 1
    while reach < size:
        height, reach = height + 1, reach * branching
    return (branching,) * height


def cell_counts(counts: npt.ArrayLike, size: int, at_most: bool = False, threads: int = 1) -> Ints:
    """The counts as int64, refused unless whole, non-negative, of the right length and sum."""
    try:
        array = np.asarray(counts)
    except ValueError:
        raise InputError("Counts must be a flat array of whole numbers.") from None
    if np.ma.is_masked(counts):
        raise InputError("Some of the counts are masked. Fill them in first.")
    if array.ndim != 1:
        raise InputError(f"Counts must be a flat array, got {array.ndim} dimensions.")
    if array.dtype.kind not in "iu" and array.size:
        raise InputError(
            f"Counts must be whole numbers of an integer type, got {array.dtype}. "
            f"If they are whole, pass counts.astype('int64')."
        )
    if at_most and len(array) > size:
        raise InputError(f"There are more groups than the {size:,} that the question declares.")
    if not at_most and len(array) != size:
        raise InputError(
            f"The question has {size:,} cells, but {len(array):,} counts were given. If these are "
            f"values rather than counts, count them first: axis.count(values)."
        )
    if not array.size:
        return np.zeros(0, np.int64)
    # Read as unsigned, a negative count is larger than any other: one pass finds both ends. The
    # largest settles the sum, nearly always, in a fraction of the time of adding up floats.
    largest = _largest(array.view(array.dtype.str.replace("i", "u")), threads)
    if array.dtype.kind == "i" and largest > np.iinfo(array.dtype).max:
        raise InputError("Counts must not be negative.")
    most = largest * array.size
    if most >= MOST_RECORDS and float(array.sum(dtype=np.float64)) >= MOST_RECORDS:
        raise InputError("The counts add up to more than 2^62 records.")
    return array.astype(np.int64, copy=False)


def _largest(array: npt.NDArray[Any], threads: int) -> int:
    """The largest element, sought in so many threads."""
    if threads == 1 or array.size < threads:
        return int(array.max())
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        return max(int(part) for part in pool.map(np.max, np.array_split(array, threads)))


def check_records(question: Question, counts: npt.ArrayLike) -> None:
    """Refuses more records than the weights leave room for: answers are kept modulo 2^64."""
    weight = question.heaviest
    if weight == 1:
        return
    try:
        records = float(np.asarray(counts).sum(dtype=np.float64))
    except (TypeError, ValueError):
        return  # no counts at all: for the question to refuse
    if records * weight >= MOST_RECORDS:
        raise InputError(
            f"With weights of up to {weight:,} at most {MOST_RECORDS // weight:,} records can be "
            f"counted. Ask smaller strides, or weights of fewer digits."
        )
