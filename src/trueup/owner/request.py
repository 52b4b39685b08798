"""A request: what is to be counted, once all that it says has been checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from trueup.arrays import Ints
from trueup.axis import Axis
from trueup.keys import Universe
from trueup.owner.columns import Wanted
from trueup.owner.dated import Dated
from trueup.owner.graph import Graph
from trueup.owner.paths import Group
from trueup.owner.where import Part


@dataclass(frozen=True)
class Request:
    """Which rows of which columns are counted, and in which cells or groups.

    `values` has a column for each axis, and the counts are those of the cells, the last axis
    running fastest; where several columns tell one axis of the question, `groups` says so. Without
    axes it is the column whose values are the groups, or the two ends of an edge: the counts are
    the sizes of the groups, `size` of them at most, the largest; or, with `number`, how many
    groups there are. `where` is in the plain form of its columns, `compared`. Of each `unit` so
    many rows count, chosen under `key`, which is random and of this request. With `dated` only rows
    of its periods count, and of each unit so many of each period.

    With a `universe` the counts are those of its keys: of each unit so many rows, or with `once` so
    many keys, each of them once. With a `window` only the cells [start, stop) are counted: the
    rows, and those of each unit, are chosen as without it.
    """

    size: int
    values: tuple[Wanted, ...]
    axes: tuple[Axis, ...] = ()
    where: Part | None = None
    compared: tuple[Wanted, ...] = ()
    unit: Wanted | None = None
    rows_per_unit: int = 1
    key: str = ""
    graph: Graph | None = None
    number: bool = False
    groups: tuple[Group, ...] = ()
    dated: Dated | None = None
    universe: Universe | None = None
    once: bool = False
    window: tuple[int, int] | None = None

    @property
    def several(self) -> Dated | None:
        """The periods, where there are several: a unit's rows are bounded in each by itself."""
        return self.dated if self.dated is not None and len(self.dated.periods) > 1 else None

    @property
    def wanted(self) -> list[Wanted]:
        """All columns to be read."""
        unit = () if self.unit is None else (self.unit,)
        dated = () if self.dated is None else (self.dated.wanted,)
        return [*unit, *self.values, *self.compared, *dated]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each axis of the question has."""
        return tuple(each.size for each in self.groups or self.axes)

    def cells_of(self, cells: Sequence[Ints]) -> list[Ints]:
        """The cell of each row on each axis of the question, from those of the columns read."""
        if not self.groups:
            return list(cells)
        left = iter(cells)
        return [group.cell([next(left) for _ in group.axes]) for group in self.groups]

    @property
    def by_column(self) -> Mapping[str, Wanted]:
        """The columns that the filter looks at, by name."""
        return {one.column: one for one in self.compared}


# A count that is ready to run: its source is open and as it was, and no row has been read. It gives
# an array of counts; for a universe, the keys present with theirs.
Count = Callable[[], Any]


@dataclass(frozen=True)
class Passes:
    """Counts of several passes over a table, to be run while it is `held` as it was in the first.

    Files cannot be held. They have a stamp, which is looked at after every pass.
    """

    counts: Sequence[Count]
    held: AbstractContextManager[object] = field(default_factory=nullcontext)


# Work to be done on a cluster, with the cells of all rows and their numbers as a frame of it.
Spread = Callable[[Callable[[Any], Any]], Any]
# The same of several requests at once.
Counts = Callable[[], list[Ints]]
