"""Axis: a declared, public, ordered domain. It is never read from the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.axis.dates import DateCells
from trueup.axis.ipv4 import Ipv4Cells
from trueup.axis.labels import CategoryCells, HierarchyCells, paths_from_parents, paths_of, text
from trueup.axis.numbers import EdgeCells, IntegerCells, Ints, RegularCells, whole_number
from trueup.errors import FileError, InputError

__all__ = ["Axis"]

Cells = (
    IntegerCells | RegularCells | EdgeCells | CategoryCells | DateCells | Ipv4Cells | HierarchyCells
)


@dataclass(frozen=True)
class Axis:
    """A named column and the cells its values fall into.

    What is missing, NaN, infinite or beyond the ends falls into no cell and is not counted.

    >>> fare = Axis.regular("fare", 0, 128, bins=1024)
    >>> fare.size, fare.locate([0, 0.125, 127.99, 128, float("nan")]).tolist()
    (1024, [0, 1, 1023, -1, -1])
    """

    name: str
    cells: Cells

    @staticmethod
    def integers(name: str, first: int, last: int) -> Axis:
        """One cell for each whole number from first to last, both included."""
        return Axis(_named(name), IntegerCells(name, first, last))

    @staticmethod
    def regular(name: str, low: float, high: float, bins: int) -> Axis:
        """Equal half-open bins over [low, high)."""
        return Axis(_named(name), RegularCells(name, low, high, bins))

    @staticmethod
    def edges(name: str, edges: Iterable[float]) -> Axis:
        """Half-open bins between rising edges, the last bin too."""
        return Axis(_named(name), EdgeCells(name, edges))  # type: ignore[arg-type]

    @staticmethod
    def categories(name: str, labels: Iterable[str | int]) -> Axis:
        """One cell a label, in the order given."""
        return Axis(_named(name), CategoryCells(name, labels))  # type: ignore[arg-type]

    @staticmethod
    def dates(name: str, first: object, last: object, unit: str = "day") -> Axis:
        """One cell a minute, hour, day, week or month, first to last, both included, in UTC."""
        return Axis(_named(name), DateCells(name, first, last, unit))  # type: ignore[arg-type]

    @staticmethod
    def ipv4(name: str, network: str = "0.0.0.0/0", length: int = 16) -> Axis:
        """One cell for each prefix of that length inside the network."""
        return Axis(_named(name), Ipv4Cells(name, network, length))

    @staticmethod
    def hierarchy(
        name: str, tree: object = None, levels: Iterable[str] = (), *, parents: object = None
    ) -> Axis:
        """Labels under labels: region → state → county, with any fan-out.

        `tree` is a nested dict, a list of paths, or a table of parents {child: parent};
        `parents=` takes that table as rows (child, parent) too.

        >>> place = Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark"]})
        >>> place.size, place.node("CA")
        (3, (0, 2))
        """
        names = (levels,) if isinstance(levels, str) else tuple(levels)
        if (tree is None) == (parents is None):
            raise InputError("A hierarchy is given by its tree or by its parents: one of them.")
        paths = paths_of(tree, name) if parents is None else paths_from_parents(parents, name)
        return Axis(_named(name), HierarchyCells(name, paths, names))

    def __post_init__(self) -> None:
        _named(self.name)
        if not isinstance(self.cells, Cells):
            raise InputError("Make an axis with Axis.integers, Axis.regular, Axis.edges and so on.")

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.cells.size

    def locate(self, values: npt.ArrayLike) -> Ints:
        """The cell of each value, -1 for those that fall into none."""
        cells = self.cells.locate(np.ma.getdata(values) if np.ma.isMA(values) else values)
        return np.where(np.ma.getmaskarray(values), -1, cells) if np.ma.isMA(values) else cells

    def count(self, values: npt.ArrayLike) -> Ints:
        """How many of the values fall into each cell."""
        cells = self.locate(values).ravel()
        return np.bincount(cells + 1, minlength=self.size + 1)[1:].astype(np.int64, copy=False)

    def interval(self, cell: int) -> tuple[Any, Any]:
        """The two edges of a cell; for labels, the label and the one after it.

        They are what `span` takes: None is the end of the axis, where it has no name.
        """
        if not 0 <= whole_number(cell, "The number of a cell") < self.size:
            raise InputError(f"Axis '{self.name}' has cells 0 to {self.size - 1}, got {cell}.")
        return self.cells.edge(cell), self.cells.edge(cell + 1)

    def span(self, low: object, high: object) -> tuple[int, int]:
        """The cells [start, stop) between two edges; None is the end of the axis."""
        start = 0 if low is None else self.cells.boundary(low)
        stop = self.size if high is None else self.cells.boundary(high)
        if start > stop:
            raise InputError(f"The range from {low!r} to {high!r} on '{self.name}' is reversed.")
        return start, stop

    def spans(self, low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[Ints, Ints]:
        """As `span`, for arrays of ends; one end for many is repeated, as numpy does."""
        starts, stops = self.cells.boundaries(low), self.cells.boundaries(high)
        try:
            starts, stops = np.broadcast_arrays(starts, stops)
        except ValueError:
            raise InputError(
                f"{starts.size} low ends but {stops.size} high ends were given."
            ) from None
        wrong = starts > stops
        if wrong.any():
            first = int(np.argmax(wrong))
            raise InputError(f"Range number {first} on '{self.name}' is reversed.")
        return starts, stops

    @property
    def has_nodes(self) -> bool:
        """Whether parts of the axis go by names: labels, periods, prefixes."""
        return not isinstance(self.cells, (IntegerCells, RegularCells, EdgeCells))

    def node(self, *path: object) -> tuple[int, int]:
        """The cells [start, stop) of a label, a path of labels, a period or a prefix."""
        if isinstance(self.cells, (IntegerCells, RegularCells, EdgeCells)):
            raise InputError(f"Axis '{self.name}' has no named nodes; ask for a range.")
        return self.cells.node(*path)

    def levels(self) -> dict[str, Ints]:
        """The first cell of every node of the axis's own hierarchy, coarsest level first."""
        if isinstance(self.cells, (DateCells, Ipv4Cells, HierarchyCells)):
            return self.cells.levels()
        return {}

    def coarsen(self, level: str) -> Axis:
        """The same axis with the nodes of one of its levels as cells."""
        levels = self.levels()
        if level not in levels:
            known = ", ".join(levels) or "none"
            raise InputError(f"Axis '{self.name}' has no level {level!r}. Levels: {known}.")
        assert isinstance(self.cells, (DateCells, Ipv4Cells, HierarchyCells))
        return Axis(self.name, self.cells.coarsen(level))

    def columns(self, starts: Ints, stops: Ints) -> dict[str, Any]:
        """The intervals [starts, stops) of cells as columns of a table."""
        return self.cells.columns(starts, stops)

    def to_json(self) -> dict[str, Any]:
        """The axis as plain values, for a file's metadata."""
        return {"name": self.name, **self.cells.to_json()}

    @staticmethod
    def from_json(spec: dict[str, Any]) -> Axis:
        """The axis that `to_json` described; checked as if typed."""
        if not isinstance(spec, dict):
            raise FileError("The axis cannot be read: it is no description.")
        kind, name = spec.get("kind"), spec.get("name", "")
        try:
            match kind:
                case "integers":
                    return Axis.integers(name, spec["first"], spec["last"])
                case "regular":
                    return Axis.regular(name, spec["low"], spec["high"], spec["bins"])
                case "edges":
                    return Axis.edges(name, spec["edges"])
                case "categories":
                    return Axis.categories(name, spec["labels"])
                case "dates":
                    cut = bool(spec.get("cut", False))
                    return Axis(
                        name, DateCells(name, spec["first"], spec["last"], spec["unit"], cut)
                    )
                case "ipv4":
                    return Axis.ipv4(name, spec["network"], spec["length"])
                case "hierarchy":
                    return Axis.hierarchy(name, spec["paths"], spec["levels"])
        except KeyError as missing:
            raise FileError(f"The axis '{name}' lacks {missing}.") from None
        except (TypeError, ValueError) as wrong:
            raise FileError(f"The axis '{name}' cannot be read: {wrong}") from None
        raise FileError(f"Axis kind {kind!r} is not known to this version.")


def _named(name: object) -> str:
    return text(name, "The name of an axis, its column,")
