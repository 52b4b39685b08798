"""Workload: which answers somebody will want, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.axis import Axis
from trueup.errors import InputError, shown

Kind = Literal["ranges", "prefixes", "lengths", "log-uniform", "given", "level", "mix"]


class Figures(Protocol):
    """The expected squared error of a strategy, over sets of ranges."""

    def mean_over_ranges(self) -> float:
        """Averaged over all ranges."""

    def mean_over_prefixes(self) -> float:
        """Averaged over all prefixes."""

    def mean_by_length(self, lengths: npt.ArrayLike) -> Floats:
        """For each length, averaged over all ranges of it."""

    def range_variances(self, starts: npt.ArrayLike, stops: npt.ArrayLike) -> Floats:
        """Of each range [start, stop) of cells."""

    def worst_range(self) -> float:
        """Of the range that has the largest."""


@dataclass(frozen=True, repr=False)
class Workload:
    """A set of ranges, all equally likely, or a mix of such sets.

    Made by `all_ranges`, `prefixes`, `cell_counts`, `log_uniform`, `lengths`, `given`, `level` and
    `mix`; where a workload is wanted, the names "all ranges", "prefixes", "cell counts" and
    "log-uniform lengths" will do.

    >>> Workload.mix({"cell counts": 3, Workload.lengths([7, 30]): 1}).words
    '75 % cell counts, 25 % ranges of 7 or 30 cells'
    """

    kind: Kind
    words: str
    sizes: tuple[int, ...] = ()
    ends: tuple[tuple[Any, Any], ...] = ()
    named: str = ""
    parts: tuple[tuple[Workload, float], ...] = ()

    def __repr__(self) -> str:
        return f"<Workload: {self.words}>"

    @staticmethod
    def all_ranges() -> Workload:
        """Every range of cells."""
        return Workload("ranges", "all ranges")

    @staticmethod
    def prefixes() -> Workload:
        """Every range from the start of the axis: what a cdf is read from."""
        return Workload("prefixes", "prefixes")

    @staticmethod
    def cell_counts() -> Workload:
        """Every single cell."""
        return Workload("lengths", "cell counts", sizes=(1,))

    @staticmethod
    def log_uniform() -> Workload:
        """Ranges of 1, 2, 4, … cells up to the whole axis, each length equally likely."""
        return Workload("log-uniform", "log-uniform lengths")

    @staticmethod
    def lengths(cells: Iterable[int]) -> Workload:
        """Every range of one of these numbers of cells; each number equally likely."""
        sizes = tuple(cells) if isinstance(cells, Iterable) else (cells,)
        for size in sizes:
            if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
                raise InputError(f"A length must be a whole number of cells, got {shown(size)}.")
        if not sizes:
            raise InputError("A workload needs at least one length.")
        many = f"{len(sizes)} lengths"
        few = " or ".join(f"{size:,}" for size in sizes)
        words = f"ranges of {few if len(sizes) <= 4 else many} cells"
        return Workload("lengths", words, sizes=tuple(int(size) for size in sizes))

    @staticmethod
    def given(ranges: Iterable[tuple[Any, Any]]) -> Workload:
        """Just these ranges [low, high), in the units of the axis."""
        try:
            ends = tuple((low, high) for low, high in ranges)
        except (TypeError, ValueError):
            raise InputError("Ranges must be given as pairs (low, high).") from None
        if not ends:
            raise InputError("A workload needs at least one range.")
        return Workload("given", f"{len(ends):,} given ranges", ends=ends)

    @staticmethod
    def level(name: str) -> Workload:
        """Every node of one level of the axis's own hierarchy."""
        return Workload("level", f"level '{name}'", named=str(name))

    @staticmethod
    def mix(parts: Mapping[Any, float]) -> Workload:
        """Several workloads, each as likely as its weight says."""
        found = []
        for part, weight in parts.items():
            real = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
            if not real or not 0 < weight < np.inf:
                raise InputError(f"A weight in a mix must be positive, got {shown(weight)}.")
            found.append((as_workload(part), float(weight)))
        if not found:
            raise InputError("A mix needs at least one workload.")
        total = sum(weight for _, weight in found)
        shares = tuple((part, weight / total) for part, weight in found)
        words = ", ".join(f"{100 * share:.3g} % {part.words}" for part, share in shares)
        return Workload("mix", words, parts=shares)

    @property
    def by_level(self) -> bool:
        """Whether it asks for nodes of the axis's own levels."""
        return self.kind == "level" or any(part.by_level for part, _ in self.parts)

    def check(self, axis: Axis) -> None:
        """Refuses ranges that are not on the axis, lengths it does not have, unknown levels."""
        for part, _ in self.parts:
            part.check(axis)
        if self.kind == "lengths" and max(self.sizes) > axis.size:
            raise InputError(
                f"Axis '{axis.name}' has {axis.size:,} cells; ranges of {max(self.sizes):,} do not "
                f"fit on it."
            )
        if self.kind in ("given", "level"):
            self.spans(axis)

    def spans(self, axis: Axis) -> tuple[Ints, Ints]:
        """The given ranges, or the nodes of the level, in cells."""
        if self.kind == "given":
            pairs = [axis.span(low, high) for low, high in self.ends]
            empty = [
                ends for ends, pair in zip(self.ends, pairs, strict=True) if pair[0] == pair[1]
            ]
            if empty:
                raise InputError(f"The range {empty[0]!r} holds no cell of '{axis.name}'.")
            starts, stops = np.array(pairs, np.int64).T
            return starts, stops
        levels = axis.every_level()
        if self.named not in levels:
            known = ", ".join(levels) or "none"
            raise InputError(f"Axis '{axis.name}' has no level {self.named!r}. Levels: {known}.")
        starts = np.asarray(levels[self.named], np.int64)
        return starts, np.append(starts[1:], axis.size)

    def cells(self, axis: Axis) -> Ints:
        """The lengths that its ranges have, where they are a list."""
        if self.kind == "lengths":
            return np.array(self.sizes, np.int64)
        doubling = 1 << np.arange(axis.size.bit_length())
        return np.unique(np.append(doubling, axis.size)).astype(np.int64)

    def longest(self, axis: Axis) -> int:
        """How many cells its longest range has."""
        match self.kind:
            case "lengths":
                return max(self.sizes)
            case "mix":
                return max(part.longest(axis) for part, _ in self.parts)
            case "given" | "level":
                starts, stops = self.spans(axis)
                return int((stops - starts).max())
        return axis.size

    def mean(self, figures: Figures, axis: Axis) -> float:
        """The expected squared error of an answer of this workload."""
        match self.kind:
            case "ranges":
                return figures.mean_over_ranges()
            case "prefixes":
                return figures.mean_over_prefixes()
            case "lengths" | "log-uniform":
                return float(figures.mean_by_length(self.cells(axis)).mean())
            case "mix":
                return sum(share * part.mean(figures, axis) for part, share in self.parts)
        return float(figures.range_variances(*self.spans(axis)).mean())

    def worst(self, figures: Figures, axis: Axis) -> float:
        """The largest expected squared error: of the ranges given, or of any range."""
        if self.kind in ("given", "level"):
            return float(figures.range_variances(*self.spans(axis)).max())
        return figures.worst_range()

    def sample(self, axis: Axis, number: int) -> tuple[Ints, Ints, Floats]:
        """About that many of its ranges, spread evenly, the same ones every time, and how likely.

        The likelihoods add up to 1.
        """
        n = axis.size
        # Points of a low-discrepancy sequence, mapped to places and lengths.
        i = np.arange(1, number + 1)
        u, v = (i * 0.7548776662466927) % 1, (i * 0.5698402909980532) % 1
        match self.kind:
            case "ranges":
                starts = (n * (1 - np.sqrt(1 - u))).astype(np.int64)
                stops = starts + 1 + ((n - starts) * v).astype(np.int64)
            case "prefixes":
                starts, stops = np.zeros(number, np.int64), 1 + (n * u).astype(np.int64)
            case "lengths" | "log-uniform":
                known = self.cells(axis)
                sizes = known[(len(known) * v).astype(np.int64)]
                starts = ((n - sizes + 1) * u).astype(np.int64)
                stops = starts + sizes
            case "mix":
                each = [part.sample(axis, -(-number // len(self.parts))) for part, _ in self.parts]
                likely = [s * p[2] for p, (_, s) in zip(each, self.parts, strict=True)]
                starts, stops, _ = (np.concatenate(ends) for ends in zip(*each, strict=True))
                return starts, stops, np.concatenate(likely)
            case _:
                starts, stops = self.spans(axis)
                some = np.unique(np.linspace(0, len(starts) - 1, number).astype(np.int64))
                starts, stops = starts[some], stops[some]
        return starts, np.minimum(stops, n), np.full(len(starts), 1 / len(starts))


def as_workload(workload: object) -> Workload:
    """The workload itself, or the one of that name."""
    if isinstance(workload, Workload):
        return workload
    named = {
        "all ranges": Workload.all_ranges,
        "prefixes": Workload.prefixes,
        "cell counts": Workload.cell_counts,
        "log-uniform lengths": Workload.log_uniform,
    }
    if isinstance(workload, str) and workload in named:
        return named[workload]()
    raise InputError(
        f"A workload is one of {', '.join(map(repr, named))}, or made by Workload.lengths, .given, "
        f".level or .mix; got {shown(workload)}."
    )


def default_workload(axis: Axis) -> Workload:
    """All ranges; for a hierarchy of labels, all its levels alike."""
    if axis.traits.nested:
        return Workload.mix({Workload.level(name): 1.0 for name in axis.levels()})
    return Workload.all_ranges()
