"""ReweightedCounts: a table made from noisy counts of boxes, chosen one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.display.boxes import box_sums
from trueup._kernels.rows.reweigh import replayed
from trueup.arrays import Floats, Ints
from trueup.ask.question import check_neighbours
from trueup.axis import Axis
from trueup.epsilon import positive
from trueup.errors import FileError, InputError
from trueup.facts import Facts
from trueup.files.codec import decode, encode, write
from trueup.noise import check_rows_per_unit
from trueup.release.boxes import box_of, places, prefix_of, stacked
from trueup.release.published import freeze, to_frame
from trueup.release.wording import check_level, written

INFERRED = "multiplicative weights"
KIND = "reweighted counts"


@dataclass(frozen=True, eq=False, repr=False)
class ReweightedCounts:
    """Non-negative counts over one axis or several, without errors of their own.

    In each round a box was chosen in which the table was far off, and counted with noise. `starts`
    and `stops` are the cells of each round's box, `answers` the noisy counts, `measured_total` the
    noisy total. The counts follow from these alone; of their error nothing is known beyond the
    noise of each box, whose scale is `scale`.
    """

    axes: tuple[Axis, ...]
    starts: Ints
    stops: Ints
    answers: Ints
    measured_total: int
    facts: Facts

    def __post_init__(self) -> None:
        rounds, sizes = len(self.answers), np.array([axis.size for axis in self.axes])
        if self.starts.shape != (rounds, len(sizes)) or self.stops.shape != self.starts.shape:
            raise InputError("Each round needs a box of all axes.")
        if rounds < 1 or not ((self.starts >= 0) & (self.starts < self.stops)).all():
            raise InputError("A box has a cell of each axis.")
        if (self.stops > sizes).any():
            raise InputError("A box ends past its axis.")
        freeze(self.starts, self.stops, self.answers)

    @property
    def rounds(self) -> int:
        """How many boxes were chosen and counted."""
        return len(self.answers)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of each box's count, and of the total's."""
        assert self.facts.epsilon is not None
        return (2 * self.rounds + 1) * self.facts.rows / self.facts.epsilon

    @cached_property
    def _counts(self) -> Floats:
        sizes = [axis.size for axis in self.axes]
        found = replayed(sizes, self.measured_total, self.starts, self.stops, self.answers)
        freeze(found)
        return found

    def counts(self) -> Floats:
        """The count of every cell; one dimension an axis."""
        return self._counts

    @cached_property
    def _prefix(self) -> npt.NDArray[Any]:
        return prefix_of(self._counts)

    def range(self, *ends: Any, **named: Any) -> float:
        """The count of [low, high) in axis units, of a box of several axes: a number alone."""
        box = np.array(box_of(self.axes, ends, named), np.int64)
        return float(box_sums(self._prefix, box[None, :, 0], box[None, :, 1])[0])

    def ranges(self, low: Any, high: Any) -> Floats:
        """The counts of many ranges at once; over several axes, arrays of ends for each axis."""
        given = [(low, high)] if len(self.axes) == 1 else list(zip(low, high, strict=True))
        if len(given) != len(self.axes):
            raise InputError(f"Give an array of ends for each of the {len(self.axes)} axes.")
        spans = [axis.spans(*ends) for axis, ends in zip(self.axes, given, strict=True)]
        return box_sums(self._prefix, *stacked(spans))

    def columns(self) -> dict[str, Any]:
        """The cells as a table: interval or label on each axis, and the count."""
        return places(self.axes) | {"count": self._counts.ravel()}

    def to_frame(self, library: str = "pyarrow") -> Any:
        """The cells as a table of pyarrow, pandas or Polars."""
        return to_frame(self.columns(), library)

    def measured(self, level: float = 0.95) -> dict[str, Any]:
        """What was counted, round by round: each box, its noisy count, and an exact interval.

        The noise of a count is fresh, so that the interval holds whichever box was chosen. These
        are the only intervals there are: of other ranges nobody knows how far off they are.
        """
        wide = half_width(float(self.scale), check_level(level))
        found: dict[str, Any] = {}
        for place, axis in enumerate(self.axes):
            for end, cells in (("from", self.starts), ("to", self.stops)):
                found[f"{axis.name} {end}"] = cells[:, place]
        low, high = np.maximum(self.answers - wide, 0), np.maximum(self.answers + wide, 0)
        return found | {"noisy": self.answers, "low": low, "high": high}

    def save(self, path: str | Path) -> None:
        """Writes one file by its ending: .parquet or .json, which `trueup.load` reads, or .csv."""
        write(path, KIND, self.columns(), self._about())

    def to_bytes(self) -> bytes:
        """The bytes of its Parquet file, for a place that is not a path."""
        return encode(KIND, self.columns(), self._about())

    @staticmethod
    def from_bytes(data: bytes) -> ReweightedCounts:
        """What `to_bytes` wrote, verified."""
        kind, columns, about = decode(data, "The counts")
        if kind != KIND:
            raise FileError(f"Reweighted counts were expected, not a {kind}.")
        return read(columns, about)

    def _about(self) -> dict[str, Any]:
        return {
            "private": self.facts.private,
            "axes": [axis.to_json() for axis in self.axes],
            "cost": str(self.facts.epsilon),
            "neighbours": self.facts.neighbours,
            "unit": self.facts.unit,
            "rows_per_unit": self.facts.rows,
            "measurement": self.facts.id,
            "starts": self.starts.tolist(),
            "stops": self.stops.tolist(),
            "answers": self.answers.tolist(),
            "total": self.measured_total,
        }

    def __repr__(self) -> str:
        names = " × ".join(f"'{axis.name}'" for axis in self.axes)
        return (
            f"<ReweightedCounts{self.facts.stamp}: {self._counts.size:,} cells of {names}, "
            f"{self.rounds} rounds, total {written(float(self._counts.sum()))}, {self.facts.cost}"
            f"{self.facts.also}>"
        )


def half_width(scale: float, level: float) -> int:
    """The least h for which discrete Laplace noise is within ±h as often as that.

    With q = e^(−1/scale), P(|noise| > h) = 2·q^(h+1)/(1 + q).
    """
    q = math.exp(-1 / scale)
    return max(math.ceil(-scale * math.log((1 - level) * (1 + q) / 2)) - 1, 0)


def facts_of(
    epsilon: Fraction,
    neighbours: str,
    name: str | None,
    private: bool = True,
    unit: str = "row",
    rows: int = 1,
) -> Facts:
    """What such counts cost and whom they protect."""
    return Facts(
        epsilon=epsilon,
        neighbours=check_neighbours(neighbours),
        unit=unit,
        rows_per_unit=check_rows_per_unit(rows),
        private=private,
        id=name,
        inferred=INFERRED,
    )


def read(columns: dict[str, Any], beside: dict[str, Any]) -> ReweightedCounts:
    """What a file holds; refused where its counts do not follow from its rounds."""
    axes = tuple(Axis.from_json(each) for each in beside["axes"])
    facts = facts_of(
        positive(beside["cost"]),
        beside["neighbours"],
        beside["measurement"],
        beside["private"] is True,
        beside["unit"],
        beside["rows_per_unit"],
    )
    starts, stops, answers = (_whole(beside[name]) for name in ("starts", "stops", "answers"))
    found = ReweightedCounts(axes, starts, stops, answers, int(beside["total"]), facts)
    if not np.allclose(np.asarray(columns["count"], float), found.counts().ravel(), rtol=1e-6):
        raise FileError("The file's counts do not follow from its rounds.")
    return found


def _whole(numbers: Sequence[Any]) -> Ints:
    found = np.array(numbers)
    if found.dtype.kind != "i":
        raise FileError("The rounds of the file are not whole numbers.")
    return found.astype(np.int64)
