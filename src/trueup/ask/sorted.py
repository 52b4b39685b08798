"""S: the counts in rising order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.ask.question import (
    Block,
    Constraints,
    Ints,
    Neighbours,
    cell_counts,
    check_neighbours,
)
from trueup.axis.labels import text
from trueup.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class SortedCounts:
    """S: the counts of all groups in rising order, whoever they belong to.

    `groups` is public. `by` names the column whose values are the groups. `ends` is how many
    groups one record counts for: 2 for an undirected edge, which adds to two degrees.

    >>> SortedCounts(11_342, ends=2).sensitivity()
    2
    """

    groups: int
    by: str | None = None
    ends: int = 1

    def __post_init__(self) -> None:
        for name, value in (("groups", self.groups), ("ends", self.ends)):
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
                raise InputError(f"{name} must be a whole number, got {value!r}.")
        object.__setattr__(self, "groups", int(self.groups))
        object.__setattr__(self, "ends", int(self.ends))
        if self.by is not None:
            object.__setattr__(self, "by", text(self.by, "by, the column of the groups,"))
        if self.groups < 1:
            raise InputError(f"groups must be at least 1, got {self.groups}.")
        if self.groups > 1 << 32:
            raise InputError(f"groups must be at most 2^32, got {self.groups}.")
        if not 1 <= self.ends <= 2:
            raise InputError(f"ends must be 1, or 2 for undirected edges, got {self.ends}.")

    @property
    def size(self) -> int:
        return self.groups

    @property
    def length(self) -> int:
        return self.groups

    @property
    def blocks(self) -> tuple[Block, ...]:
        return ((self.groups, Fraction(1)),)

    def sensitivity(self, neighbours: Neighbours = "add-remove") -> int:
        replace = check_neighbours(neighbours) == "replace" and self.groups > 1
        return self.ends * (2 if replace else 1)

    def price(self, neighbours: Neighbours = "add-remove") -> Fraction:
        return Fraction(self.sensitivity(neighbours))

    def answers(self, counts: npt.ArrayLike) -> Ints:
        """The counts sorted; groups that do not appear have count 0."""
        counts = cell_counts(counts, self.groups, at_most=True)
        padded = np.zeros(self.groups, np.int64)
        padded[self.groups - len(counts) :] = counts
        padded.sort()
        return padded

    def matrix(self) -> csr_array[Any]:
        from scipy.sparse import csr_array, eye_array

        return csr_array(eye_array(self.groups))

    def constraints(self) -> Constraints:
        from scipy.sparse import csr_array, diags_array

        shape = (self.groups - 1, self.groups)
        steps = diags_array([-1.0, 1.0], offsets=[0, 1], shape=shape)
        return Constraints(csr_array(steps), ">=")

    def to_json(self) -> dict[str, Any]:
        return {"kind": "sorted", "groups": self.groups, "by": self.by, "ends": self.ends}
