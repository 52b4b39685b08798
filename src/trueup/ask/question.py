"""What every question knows, and the checks they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from trueup.axis import Axis
from trueup.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ints = npt.NDArray[np.int64]
Neighbours = Literal["add-remove", "replace"]
Block = tuple[int, Fraction]

MOST_RECORDS = 1 << 62


@dataclass(frozen=True)
class Constraints:
    """What the true answers obey: matrix @ answers == 0, or >= 0 for sorted counts."""

    matrix: csr_array[Any]
    relation: Literal["==", ">="]

    def hold(self, answers: npt.ArrayLike) -> bool:
        """Whether these answers obey them, exactly."""
        left = self.matrix @ np.asarray(answers)
        return bool(np.all(left == 0) if self.relation == "==" else np.all(left >= 0))


@runtime_checkable
class Question(Protocol):
    """What every question knows."""

    @property
    def size(self) -> int:
        """How many cell counts it is asked of."""

    @property
    def length(self) -> int:
        """How many answers it has."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Runs of answers that share a noise scale: (length, weight), in order.

        The scale of a block is price · rows per unit / (weight · ε).
        """

    def sensitivity(self, neighbours: Neighbours = "add-remove") -> int:
        """The most that one record can move the answers, in L1."""

    def price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        """As `sensitivity`, each answer's move counted with its block's weight."""

    def answers(self, counts: npt.ArrayLike) -> Ints:
        """The true answers, from the cell counts."""

    def matrix(self) -> csr_array[Any]:
        """The question as a matrix: answers = matrix @ cell counts (sorted first, for S)."""

    def constraints(self) -> Constraints:
        """What the true answers obey."""

    def to_json(self) -> dict[str, Any]:
        """The question as plain values, for a file's metadata."""


def check_question(question: object) -> Question:
    """The question, refused if it is anything else."""
    if isinstance(question, Question) and not isinstance(question, type):
        return question
    raise InputError(f"A question such as TreeCounts(axis) is needed, got {question!r}.")


def as_axis(axis: Axis | int) -> Axis:
    """The axis itself; for a number, that many unnamed cells."""
    if isinstance(axis, Axis):
        return axis
    if isinstance(axis, (int, np.integer)) and not isinstance(axis, bool):
        if axis < 1:
            raise InputError(f"A question needs at least 1 cell, got {axis}.")
        return Axis.integers("cell", 0, int(axis) - 1)
    raise InputError(f"A question needs an Axis or a number of cells, got {axis!r}.")


def check_neighbours(neighbours: str) -> Neighbours:
    """The neighbour relation, refused if it is not one of the two."""
    if neighbours in ("add-remove", "replace"):
        return cast(Neighbours, neighbours)
    raise InputError(f'neighbours must be "add-remove" or "replace", got {neighbours!r}.')


def listed(values: Sequence[Any], name: str) -> tuple[Any, ...]:
    """The values as a tuple, refused unless they are a list."""
    if isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str):
        return tuple(values)
    raise InputError(f"{name} must be a list, one entry a level, got {values!r}.")


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
        raise InputError(f"The question has {size:,} cells, but {len(array):,} counts were given.")
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


def heaviest(question: Question) -> int:
    """The largest weight that a cell has in an answer; 1 where all that is asked are counts."""
    return int(getattr(question, "heaviest", 1))


def check_records(question: Question, counts: npt.ArrayLike) -> None:
    """Refuses more records than the weights leave room for: answers are kept modulo 2^64."""
    weight = heaviest(question)
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
