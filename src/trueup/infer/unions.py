"""Errors of unions of regions, of a table with a tree over its last axis: however large it is.

Such a table is many trees side by side: every cell of the first axis has one of its own, and the
least-squares solution goes line by line. So has every line the coefficients of the same tree, with
noise of its own, and a union that is the same on several lines has each of them as often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask import CellCounts, GridCounts, Question, TreeCounts
from trueup.coefficient_classes import law_of
from trueup.intervaltree.unions import TreeUnions
from trueup.law import Combination, NoiseLaw, added, steps
from trueup.noise import Noise, noise_variance


def tree_of_lines(question: Question) -> TreeCounts | None:
    """The tree over the last axis of a table, the cells of whose other axis are asked; else None.

    >>> from trueup.axis import Axis
    >>> kind, place = Axis.categories("kind", ["a", "b"]), Axis.integers("place", 1, 4)
    >>> tree_of_lines(GridCounts(CellCounts(kind), TreeCounts(place, branching=2))).size
    4
    >>> tree_of_lines(GridCounts(CellCounts(kind), CellCounts(place))) is None
    True
    """
    match question:
        case GridCounts(factors=(CellCounts(), TreeCounts() as tree)):
            return tree
        case _:
            return None


@dataclass(frozen=True, eq=False)
class UnionErrors:
    """The error of every union of regions on any of the lines of a table.

    `scales` are those of the levels of the tree, root first; None for a level that was not asked.
    """

    unions: TreeUnions
    lines: int
    scales: tuple[Fraction | None, ...]
    law: str = "discrete"

    @staticmethod
    def of(noise: Noise) -> UnionErrors:
        """The errors of a table that was measured with this noise."""
        tree = tree_of_lines(noise.question)
        assert tree is not None
        weights = tuple(float(share / max(tree.shares)) ** 2 for share in tree.shares)
        asked = iter(noise.scales)
        scales = tuple(next(asked) if share else None for share in tree.shares)
        lines = noise.question.size // tree.size
        return UnionErrors(TreeUnions(tree.shape, weights), lines, scales, noise.law)

    @property
    def work(self) -> int:
        """What one law takes: the nodes above the cells."""
        return int(self.unions.shape.level_starts[-2])

    @property
    def variance_work(self) -> int:
        """What one variance takes: the children of a few nodes."""
        return 1 << 10

    @cached_property
    def _variances(self) -> Floats:
        return np.array([0.0 if b is None else noise_variance(b, self.law) for b in self.scales])

    def _alike(self, combination: Combination) -> Iterator[tuple[int, list[int], list[float]]]:
        """Lines on which the combination is the same: how many, and its values on the tree."""
        ends = sorted({end for (across, _), _ in combination for end in across})
        for start, stop in pairwise(ends):
            own = tuple(
                (along, coefficient)
                for (across, along), coefficient in combination
                if across[0] <= start and stop <= across[1]
            )
            cuts, values = steps(own, self.unions.shape.size)
            if any(values):
                yield stop - start, cuts, values

    def variance(self, combination: Combination) -> float:
        """The variance of a combination of boxes: (lines, cells of the tree)."""
        return sum(
            number * float(self.unions.squares(cuts, values) @ self._variances)
            for number, cuts, values in self._alike(combination)
        )

    def noise_law(self, combination: Combination) -> NoiseLaw:
        """The law of the error of a combination of boxes."""
        laws = []
        for number, cuts, values in self._alike(combination):
            asked = [
                (size, often * number, scale)
                for (size, often), scale in zip(
                    self.unions.classes(cuts, values), self.scales, strict=True
                )
                if scale is not None
            ]
            sizes, often, scales = zip(*asked, strict=True)
            laws.append(law_of(sizes, scales, self.law, often))
        found = added(laws)
        assert isinstance(found, NoiseLaw)
        return found

    def box_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """The variance of each box: a row of `starts` and of `stops` each, one column an axis."""
        starts, stops = np.asarray(starts, np.int64), np.asarray(stops, np.int64)
        ends, which = np.unique(
            np.stack([starts[:, 1], stops[:, 1]], axis=1), axis=0, return_inverse=True
        )
        each = np.array([self._range(a, b) for a, b in ends.tolist()])
        return (stops[:, 0] - starts[:, 0]) * each[which.ravel()]

    def product_variances(self, cuts: Sequence[Ints]) -> Floats:
        """The variances of all boxes between neighbouring cuts of each axis, as an array."""
        each = np.array([self._range(a, b) for a, b in pairwise(cuts[1].tolist())])
        return np.multiply.outer(np.diff(cuts[0]).astype(np.float64), each)

    def _range(self, start: int, stop: int) -> float:
        return self.variance(((((0, 1), (start, stop)), 1.0),))
