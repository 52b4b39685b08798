"""Axis: a declared, public, ordered domain. It is never read from the data."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.axis.bins import IntegerCells, RegularCells
from trueup.axis.codes import CodeCells
from trueup.axis.column import column_of
from trueup.axis.dates import DateCells
from trueup.axis.edges import EdgeCells
from trueup.axis.hierarchy import HierarchyCells, paths_from_parents, paths_of
from trueup.axis.ipv4 import Ipv4Cells
from trueup.axis.labels import CategoryCells, text
from trueup.axis.numbers import typed_whole, whole_number
from trueup.axis.reading import Check, read
from trueup.axis.traits import CellTraits
from trueup.errors import FileError, InputError, shown

__all__ = ["Axis"]

Cells = (
    IntegerCells
    | RegularCells
    | EdgeCells
    | CategoryCells
    | DateCells
    | Ipv4Cells
    | HierarchyCells
    | CodeCells
)
Labelled = (CategoryCells, HierarchyCells)
Numbers = (IntegerCells, RegularCells, EdgeCells)
Levelled = (DateCells, Ipv4Cells, HierarchyCells, CodeCells)


@dataclass(frozen=True, repr=False)
class Axis:
    """A column by its name, and the cells that its values fall into.

    Values that are missing, NaN, infinite or beyond the ends are not counted.

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
        """Half-open bins between rising edges, the last bin too.

        The ends may be open: the last bin of [0, 50_000, 250_000, math.inf] is 250,000 and more.
        """
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

    @staticmethod
    def codes(name: str, codes: Any, levels: Mapping[str, int]) -> Axis:
        """Whole-number codes whose first digits name the groups, such as those of census blocks.

        `levels` says how many digits name a node of each level. Millions of cells take 8 bytes
        each. Take codes from a public list, never from the data; the column has whole numbers.

        >>> place = Axis.codes("county", ["06029", "06055", "32003"], {"state": 2, "county": 5})
        >>> place.size, place.node("06"), place.locate([6055]).tolist()
        (3, (0, 2), [1])
        """
        return Axis(_named(name), CodeCells(name, codes, levels))  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        _named(self.name)
        if not isinstance(self.cells, Cells):
            raise InputError("Make an axis with Axis.integers, Axis.regular, Axis.edges and so on.")

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.cells.size

    @property
    def traits(self) -> CellTraits:
        """What is declared of its kind: what edges are measured on, whether cells are labels."""
        return self.cells.traits

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, cell: int) -> Any:
        """A cell as UHI, the protocol of histograms, has it: two edges as floats, or a label."""
        if not 0 <= cell < self.size:
            raise IndexError(cell)
        if self.traits.scale is None:
            return self.words(cell, cell + 1) if self.traits.bins else str(self.edge(cell))
        unit = 1e6 if self.traits.scale == "time" else 1.0
        low, high = (self.positions(np.array([cell, cell + 1])) / unit).tolist()
        return low, high

    @property
    def labels(self) -> Mapping[Any, int]:
        """The cells by all that names them in a column; none unless cells are labels."""
        return self.cells.by_label if isinstance(self.cells, Labelled) else {}

    @property
    def paths(self) -> tuple[tuple[Any, ...], ...]:
        """The path of labels to every cell of a hierarchy; none on other axes."""
        return self.cells.paths if isinstance(self.cells, HierarchyCells) else ()

    @property
    def path_levels(self) -> tuple[str, ...]:
        """The names of a hierarchy's levels, coarsest first; none on other axes."""
        return self.cells.level_names if isinstance(self.cells, HierarchyCells) else ()

    def locate(self, values: Any) -> Ints:
        """The cell of each value of one column, -1 for those that fall into none."""
        return read(self, column_of(values, f"Axis '{self.name}'")).cells

    def place(self, plain: npt.NDArray[Any]) -> Ints:
        """As `locate`, for values in their plain form: float64, 64-bit whole numbers, microseconds.

        A total function of a value alone. Labels are looked up in `labels` instead.
        """
        if isinstance(self.cells, Labelled):
            raise InputError(f"The cells of axis '{self.name}' are labels, and have no plain form.")
        return self.cells.place(plain)

    def count(self, values: Any) -> Ints:
        """How many of the values fall into each cell.

        `values` is one column: an array, a list, a column of pandas, Polars or Arrow. A column
        whose type the axis cannot read is refused; `check` says what becomes of the values.
        """
        cells = self.locate(values)
        return np.bincount(cells + 1, minlength=self.size + 1)[1:].astype(np.int64, copy=False)

    def check(self, values: Any) -> Check:
        """How many of the values are on the axis, off it, missing, unreadable.

        FOR THE OWNER'S EYES ONLY. These are true counts, which no noise protects: look at them to
        find a wrong column or a wrong unit, and do not publish them.

        >>> found = Axis.integers("age", 0, 99).check([34, 150, None, "unknown"])
        >>> found.on, found.off, found.missing, found.unreadable
        (1, 1, 1, 1)
        """
        found = read(self, column_of(values, f"Axis '{self.name}'"))
        on = int((found.cells >= 0).sum())
        missing, unreadable = int(found.missing.sum()), int(found.unreadable.sum())
        return Check(on, len(found.cells) - on - missing - unreadable, missing, unreadable)

    def interval(self, cell: int) -> tuple[Any, Any]:
        """The two edges of a cell; for labels, the label and the one after it.

        They are what `span` takes: None is the end of the axis, where it has no name.
        """
        if not 0 <= whole_number(cell, "The number of a cell") < self.size:
            raise InputError(f"Axis '{self.name}' has cells 0 to {self.size - 1}, got {cell}.")
        return self.cells.edge(cell), self.cells.edge(cell + 1)

    def edge(self, place: int) -> Any:
        """The edge with so many cells left of it, as `span` takes it; for labels, the label."""
        return self.cells.edge(place)

    def edges_at(self, places: Ints) -> list[Any]:
        """As `edge`, for many."""
        if isinstance(self.cells, Numbers) and self.traits.scale is not None:
            found: list[Any] = self.cells.edges_at(places).tolist()
            return found
        return [self.cells.edge(place) for place in places.tolist()]

    def positions(self, places: Ints) -> Floats:
        """The edges as floats on the axis's scale; of time, microseconds since 1970."""
        if isinstance(self.cells, Numbers) and self.traits.scale is not None:
            return self.cells.edges_at(places).astype(np.float64, copy=False)
        if isinstance(self.cells, DateCells):
            return self.cells.edges[places].astype(np.float64)
        raise InputError(f"The cells of axis '{self.name}' have names, and no positions.")

    def words(self, start: int, stop: int) -> str:
        """The cells start … stop − 1 as a person writes them.

        >>> Axis.integers("age", 0, 99).words(4, 5), Axis.integers("age", 0, 99).words(18, 65)
        ('4', '18 – 64')
        """
        return self.cells.words(start, stop)

    def __repr__(self) -> str:
        return f"<Axis {self.name!r}: {self.describe()}>"

    def describe(self) -> str:
        """The axis in words.

        >>> Axis.regular("fare", 0, 128, bins=1024).describe()
        'numbers from 0 to 128 in 1,024 cells'
        """
        return self.cells.describe()

    def parse(self, given: Any) -> Any:
        """One end of a range in the units of the axis; None is the end of the axis.

        Text is read as a person types it; nothing typed is the end. What is no text, such as a
        number of JSON, is taken as it is.

        >>> Axis.integers("id", 2**53, 2**53 + 99).parse("9007199254740993")
        9007199254740993
        """
        if not isinstance(given, str):
            return given
        typed = given if self._names(given) else given.strip()
        return self.cells.parse(typed) if typed else None

    def _names(self, typed: str) -> bool:
        """Whether a text is, as it stands, the name of a part of the axis."""
        return not isinstance(self.cells, Numbers) and self.cells.names(typed)

    def parse_span(self, typed: str) -> tuple[int, int]:
        """The cells of "0:20", "2013-01..2013-04" or "20:"; of a whole number, label or prefix.

        Ranges are half open. Where values hold colons themselves, dots stand between them.

        >>> age = Axis.integers("age", 0, 99)
        >>> age.parse_span("18:65"), age.parse_span("4"), age.parse_span("65:")
        ((18, 65), (4, 5), (65, 100))
        """
        if self._names(typed):
            return self.node(self.parse(typed))
        for between in ("..", ":"):
            if typed.count(between) == 1:
                low, _, high = typed.partition(between)
                return self.span(self.parse(low), self.parse(high))
        if self.has_nodes and typed.strip():
            return self.node(self.parse(typed))
        number = typed_whole(typed.strip())
        if isinstance(self.cells, IntegerCells) and number is not None:
            return self.span(number, number + 1)
        raise InputError(f"{typed!r} is no range. Write it as low:high, half open, such as 0:20.")

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
            raise InputError(f"Range number {wrong.argmax()} on '{self.name}' is reversed.")
        return starts, stops

    def around(self, low: Any, high: Any) -> tuple[int, int]:
        """The cells that a picture from low to high shows.

        On an axis of numbers the ends need not be edges, nor lie on the axis.
        """
        low, high = self.parse(low), self.parse(high)
        if self.traits.scale != "number":
            return self.span(low, high)
        for end in (low, high):
            if end is not None and not (isinstance(end, (int, float)) and end == end):
                raise InputError(f"The ends of a view must be numbers, got {shown(end)}.")
        places = range(self.size + 1)
        start = 0 if low is None else bisect_right(places, low, key=self.edge) - 1
        stop = self.size if high is None else bisect_left(places, high, key=self.edge)
        start = min(max(start, 0), self.size - 1)
        return start, max(min(stop, self.size), start + 1)

    def part(self, ends: tuple[Any, Any] | None, cells: int | None) -> Axis:
        """The part of the axis between two of its edges, in so many cells.

        Never beyond the axis, never finer than it, and every edge an edge of it.

        >>> Axis.regular("fare", 0, 128, bins=1024).part((0, 64), 128).cells
        RegularCells(name='fare', low=0.0, high=64.0, bins=128)
        """
        start, stop = (0, self.size) if ends is None else self.span(*map(self.parse, ends))
        size = stop - start
        if size < 1:
            raise InputError(f"The range {ends!r} has no cell of '{self.name}'.")
        if size == self.size and cells in (None, size):
            return self
        wanted = size if cells is None else cells
        if isinstance(self.cells, Numbers):
            return Axis(self.name, self.cells.part(start, stop, wanted))
        if size == self.size:
            return self._in(wanted)
        if isinstance(self.cells, DateCells):
            return Axis(self.name, self.cells.part(start, stop))._in(wanted)
        raise InputError(f"'{self.name}' is asked as a whole: leave range out.")

    def _in(self, cells: int) -> Axis:
        """The axis in the unit, prefix or level that has so many cells."""
        if cells == self.size:
            return self
        levels = self.level_sizes()
        for level, size in levels.items():
            if size == cells:
                return self.coarsen(level)
        known = ", ".join(f"{size:,} ({level})" for level, size in levels.items())
        raise InputError(
            f"'{self.name}' cannot be put into {cells:,} cells. Possible here: "
            f"{known or f'{self.size:,}'}."
        )

    @property
    def has_nodes(self) -> bool:
        """Whether parts of the axis go by names: labels, periods, prefixes."""
        return not isinstance(self.cells, Numbers)

    def node(self, *path: object) -> tuple[int, int]:
        """The cells [start, stop) of a label, a path of labels, a period or a prefix."""
        if isinstance(self.cells, Numbers):
            raise InputError(f"Axis '{self.name}' has no named nodes; ask for a range.")
        if len(path) == 1 and isinstance(path[0], tuple):
            path = path[0]  # a path that `parse` read
        return self.cells.node(*path)

    def levels(self) -> Mapping[str, Ints]:
        """The first cell of every node of the axis's own hierarchy, coarsest level first."""
        return self.cells.levels() if isinstance(self.cells, Levelled) else {}

    def level_sizes(self) -> dict[str, int]:
        """How many nodes each of these levels has."""
        if isinstance(self.cells, Ipv4Cells):
            return self.cells.level_sizes()
        return {level: len(starts) for level, starts in self.levels().items()}

    def every_level(self) -> Mapping[str, Ints]:
        """As `levels`, with those that do not nest in the others: of dates, weeks."""
        others = self.cells.other_levels() if isinstance(self.cells, DateCells) else {}
        return {**self.levels(), **others} if others else self.levels()

    def level_labels(self, level: str, starts: Ints, stops: Ints) -> list[str]:
        """What the nodes [starts, stops) of a level are called."""
        assert isinstance(self.cells, Levelled)
        return self.cells.level_labels(level, starts, stops)

    def coarsen(self, level: str) -> Axis:
        """The same axis with the nodes of one of its levels as cells."""
        levels = self.every_level()
        if level not in levels:
            known = ", ".join(levels) or "none"
            raise InputError(f"Axis '{self.name}' has no level {level!r}. Levels: {known}.")
        assert isinstance(self.cells, Levelled)
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
                    marks = (bool(spec.get(mark, False)) for mark in ("cut", "monday"))
                    said = spec["first"], spec["last"], spec["unit"]
                    return Axis(name, DateCells(name, *said, *marks))
                case "ipv4":
                    return Axis.ipv4(name, spec["network"], spec["length"])
                case "codes":
                    return Axis.codes(name, spec["codes"], spec["levels"])
                case "hierarchy":
                    return Axis.hierarchy(name, spec["paths"], spec["levels"])
        except KeyError as missing:
            raise FileError(f"The axis '{name}' lacks {missing}.") from None
        except (TypeError, ValueError) as wrong:
            raise FileError(f"The axis '{name}' cannot be read: {wrong}") from None
        raise FileError(f"Axis kind {kind!r} is not known to this version.")


def _named(name: object) -> str:
    return text(name, "The name of an axis, its column,")
