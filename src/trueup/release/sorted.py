"""SortedRelease: an unattributed histogram, the counts in rising order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from trueup._kernels.sorted.sorted_band import sorted_band
from trueup.arrays import Ints
from trueup.axis.numbers import whole_number
from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES, Facts
from trueup.law import SumErrors
from trueup.noise import GAUSSIAN
from trueup.release.distribution import for_each
from trueup.release.estimate import Estimate
from trueup.release.published import Contents, Published, Row, freeze
from trueup.release.wording import check_level, written

if TYPE_CHECKING:
    from trueup._kernels.sorted.transcript import Transcript
    from trueup.pictures.page import Picture


@dataclass(frozen=True, eq=False, repr=False)
class FromBand:
    """A number read from sorted counts, and between what the band says it lies.

    All intervals of one release and level hold together: they follow from one band.
    """

    value: float | int
    band: Callable[[float], tuple[npt.NDArray[Any], npt.NDArray[Any]]] = field(repr=False)
    # The number is `rising`, less `less`, of the counts; neither falls if a count grows.
    rising: Callable[[npt.NDArray[Any]], Any] = field(repr=False)
    less: Callable[[npt.NDArray[Any]], Any] | None = field(default=None, repr=False)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Between what the true number lies, with at least this probability."""
        low, high = self.band(level)
        if self.less is None:
            return self.rising(low), self.rising(high)
        return max(self.rising(low) - self.less(high), 0), self.rising(high) - self.less(low)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"<FromBand: {written(self.value)} (95 %: {written(low)} to {written(high)})>"

    def __str__(self) -> str:
        low, high = self.interval()
        return f"{written(self.value)} ({written(low)} to {written(high)})"


def _reaching(count: int, counts: npt.NDArray[Any]) -> int:
    """How many of the counts, rounded, are at least this."""
    return len(counts) - int(np.searchsorted(counts, count - 0.5))


@dataclass(frozen=True, eq=False)
class SortedRelease(Published):
    """The counts of all groups in rising order, whoever they belong to.

    Where they were made non-negative, whole or graphical to be shown, the fit that they were
    made from is kept as `isotonic_fit`; the band and the total's error come from it.
    Counts that were asked adaptively keep the `transcript`, from which theirs come. `scale` is that
    of the noise, or σ² of Gaussian noise.
    """

    fitted: npt.NDArray[Any]
    scale: Fraction
    facts: Facts
    isotonic_fit: npt.NDArray[Any] | None = None
    transcript: Transcript | None = None

    @property
    def error_words(self) -> str:
        """What stands behind ± in `lines`."""
        return "the 95 % band's half width"

    def __post_init__(self) -> None:
        freeze(self.fitted, self.isotonic_fit)

    @cached_property
    def unbiased(self) -> SortedRelease:
        """The plain isotonic fit, whose total is unbiased: itself, unless made to be shown."""
        if self.isotonic_fit is None:
            return self
        facts = self.facts.made(LEAST_SQUARES)
        return SortedRelease(self.isotonic_fit, self.scale, facts, None, self.transcript)

    @property
    def law(self) -> str:
        """The law of the noise."""
        return self.facts.law

    def counts(self) -> npt.NDArray[Any]:
        """The counts, rising."""
        return self.fitted

    def total(self) -> Estimate:
        """The sum of all counts: isotonic regression leaves it as it was measured.

        Of adaptive counts it is the sum of what is shown; `unbiased` is the one measured.
        """
        whole = (("total", 1.0),)
        shown_for = None if self.unbiased is self else self.unbiased.total()
        if self.transcript is not None:
            from trueup._kernels.sorted.transcript import measured_total

            total = measured_total(self.transcript)
            shown_for = Estimate.of(total, whole, self._errors, self.facts)
        return Estimate.of(self.fitted.sum().item(), whole, self._errors, self.facts, shown_for)

    @cached_property
    def _errors(self) -> SumErrors:
        """The error of the total: one object, by which estimates of one release know each other."""
        answers = self.fitted if self.transcript is None else self.transcript.noisy
        return SumErrors(len(answers), self.scale, self.law)

    def band(self, level: float = 0.95) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Two sequences: with at least this probability all true counts lie between them.

        The band is narrow where counts repeat, because there the fit is a mean of many noisy
        counts. It is nowhere wider than the largest single noise.
        """
        check_level(level)
        if self.transcript is not None:
            from trueup._kernels.sorted.young_band import young_band

            groups, scale = len(self.fitted), float(self.scale)
            return young_band(self.transcript, groups, scale, level, self.law in GAUSSIAN)
        # The band is that of discrete noise; continuous noise is as good as a very fine lattice.
        gaussian = self.law in GAUSSIAN
        finer = 1024 if self.law in ("continuous", "normal") else 1
        fit = self.unbiased.fitted.astype(np.float64) * finer
        scale = float(self.scale) * finer ** (2 if gaussian else 1)
        low, high = sorted_band(fit, scale, level, gaussian)
        return np.maximum(low / finer, 0), np.maximum(high / finer, 0)

    def how_many(self, count: int | None = None, *, at_least: int | None = None) -> FromBand:
        """How many groups have this count, or at least this count.

        >>> from trueup import Measurement, SortedCounts, infer
        >>> question = SortedCounts(4, adaptive=False)
        >>> frequencies = infer(Measurement(question, [1, 1, 1, 11], epsilon=40))
        >>> frequencies.how_many(1).value, frequencies.how_many(at_least=2).value
        (3, 1)
        """
        if (count is None) == (at_least is None):
            raise InputError("Give either a count or at_least=count.")
        if at_least is not None:
            return self._read(partial(_reaching, whole_number(at_least, "at_least")))
        wanted = whole_number(count, "count")
        upper, lower = partial(_reaching, wanted), partial(_reaching, wanted + 1)
        return FromBand(upper(self.fitted) - lower(self.fitted), self.band, upper, lower)

    def counts_of_counts(self) -> tuple[npt.NDArray[Any], Ints]:
        """Each count that occurs, rising, and how many groups have it."""
        return np.unique(self.fitted, return_counts=True)

    def largest(self) -> FromBand:
        """The largest count of all groups."""
        return self._read(lambda counts: counts[-1].item())

    def mean(self) -> FromBand:
        """The mean count of a group."""
        return self._read(lambda counts: float(counts.mean()))

    @overload
    def quantile(self, share: float) -> FromBand: ...
    @overload
    def quantile(self, share: Sequence[float]) -> list[FromBand]: ...
    def quantile(self, share: float | Sequence[float]) -> FromBand | list[FromBand]:
        """The smallest count that a share of the groups does not exceed; 0.5 is the median.

        Of a list of shares, a list; each has its `interval(level)`.
        """
        found: FromBand | list[FromBand] = for_each(share, self._quantile)
        return found

    def _quantile(self, share: float) -> FromBand:
        place = max(math.ceil(share * len(self.fitted)) - 1, 0)
        return self._read(lambda counts: counts[place].item())

    def _read(self, rising: Callable[[npt.NDArray[Any]], Any]) -> FromBand:
        return FromBand(rising(self.fitted), self.band, rising)

    def columns(self) -> dict[str, Any]:
        """The counts as a table, rising: rank, count, and the 95 % band around the whole sequence.

        Rank 1 is the largest count, here as in pictures and on the page.
        """
        low, high = self.band(0.95)
        rank = np.arange(len(self.fitted), 0, -1)
        table = {"rank": rank, "count": self.fitted, "low": low, "high": high}
        return table if self.isotonic_fit is None else {**table, "isotonic": self.isotonic_fit}

    def lines(self, most: int) -> list[Row]:
        """So many of the counts, evenly from the smallest to the largest, and how far off each may
        be: to the further side of the band."""
        n = len(self.fitted)
        low, high = self.band(0.95)
        places = np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64)).tolist()
        counts = self.fitted.tolist()
        reach = np.maximum(high - self.fitted, self.fitted - low).tolist()
        return [(f"rank {n - place:,}", counts[place], reach[place]) for place in places]

    def contents(self) -> Contents:
        """What a file of it holds: the kind, the columns and the facts."""
        about = self.facts.to_json()
        if self.transcript is not None:  # the band of any level comes from the answers
            about = {**about, "answers": self.transcript.noisy.tolist()}
        return "sorted release", self.columns(), about

    def __repr__(self) -> str:
        stamp = self.facts.stamp
        return (
            f"<SortedRelease{stamp}: {len(self.fitted):,} groups, total {self.total()}, "
            f"{self.facts.cost}{self.facts.also}>"
        )

    def picture(self, kind: str | None = None) -> Picture:
        """The counts inside their 95 % band, or their "tail": how many groups reach each count."""
        from trueup.pictures import charts
        from trueup.pictures.page import Picture
        from trueup.release.drawing import check_kind

        sides = (np.asarray(side, np.float64) for side in (self.fitted, *self.band(0.95)))
        drawn = charts.tail if check_kind(kind, "sorted", "tail") == "tail" else charts.sequence
        return Picture(drawn(self.facts, charts.Interval(*sides), 0.95))

    def _repr_html_(self) -> str:
        from trueup.release.drawing import note, rows_drawing

        title = f"{len(self.fitted):,} counts in rising order, total {self.total()}"
        said = note(self.facts, "marks show the 95 % band, ± one standard error")
        return rows_drawing(title, self.lines(64), said)
