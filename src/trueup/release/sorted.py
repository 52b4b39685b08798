"""SortedRelease: an unattributed histogram, the counts in rising order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.sorted_band import sorted_band
from trueup.files import write
from trueup.release.estimate import Estimate, check_level
from trueup.release.histogram import to_frame
from trueup.release.html import page
from trueup.uncertainty import SumErrors


@dataclass(frozen=True, eq=False)
class SortedRelease:
    """The counts of all groups in rising order, whoever they belong to.

    Where they were made non-negative, whole or graphical to be shown, the fit that they were
    made from is kept as `isotonic_fit`; the band and the total's error come from it.
    """

    fitted: npt.NDArray[Any]
    scale: Fraction
    about: dict[str, Any]
    isotonic_fit: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        self.fitted.setflags(write=False)
        if self.isotonic_fit is not None:
            self.isotonic_fit.setflags(write=False)

    @cached_property
    def unbiased(self) -> SortedRelease:
        """The plain isotonic fit, whose total is unbiased: itself, unless made to be shown."""
        if self.isotonic_fit is None:
            return self
        about = {**self.about, "inferred": "least squares"}
        return SortedRelease(self.isotonic_fit, self.scale, about)

    @property
    def law(self) -> str:
        """The law of the noise."""
        return str(self.about.get("law", "discrete"))

    def counts(self) -> npt.NDArray[Any]:
        """The counts, rising."""
        return self.fitted

    def total(self) -> Estimate:
        """The sum of all counts: isotonic regression leaves it as it was measured."""
        shown_for = None if self.unbiased is self else self.unbiased.total()
        return Estimate(self.fitted.sum().item(), (("total", 1.0),), self._errors, shown_for)

    @cached_property
    def _errors(self) -> SumErrors:
        """The error of the total: one object, by which estimates of one release know each other."""
        return SumErrors(len(self.fitted), self.scale, self.law)

    def band(self, level: float = 0.95) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Two sequences that hold all the true counts between them with that probability.

        Simultaneous: with at least that probability every count lies inside. It is narrow where
        counts repeat, for there the fit is a mean of many noisy ones; nowhere is it wider than
        the largest single noise.
        """
        check_level(level)
        # The band is that of discrete noise; continuous noise is as good as a very fine lattice.
        finer = 1024 if self.law == "continuous" else 1
        fit = self.unbiased.fitted.astype(np.float64) * finer
        low, high = sorted_band(fit, float(self.scale) * finer, level)
        return np.maximum(low / finer, 0), np.maximum(high / finer, 0)

    def columns(self) -> dict[str, Any]:
        """The counts as a table: rank, count, and the 95 % band around the whole sequence."""
        low, high = self.band(0.95)
        rank = np.arange(1, len(self.fitted) + 1)
        table = {"rank": rank, "count": self.fitted, "low": low, "high": high}
        return table if self.isotonic_fit is None else {**table, "isotonic": self.isotonic_fit}

    def to_frame(self, library: str = "pyarrow") -> Any:
        """The counts as a table of pyarrow, or of any library that narwhals knows by name."""
        return to_frame(self.columns(), library)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_frame().__arrow_c_stream__(requested_schema)

    def save(self, path: str | Path) -> None:
        """Writes one file, Parquet or (by its ending) JSON, that `trueup.load` reads back."""
        write(path, "sorted release", self.columns(), self.about)

    def __repr__(self) -> str:
        stamp = "" if self.about.get("private", True) else " NOT PRIVATE"
        return (
            f"<SortedRelease{stamp}: {len(self.fitted):,} groups, total {self.total()}, "
            f"epsilon={self.about.get('epsilon')}>"
        )

    def _repr_html_(self) -> str:
        places = np.unique(np.linspace(0, len(self.fitted) - 1, 64).astype(np.int64))
        low, high = self.band(0.95)
        spread = (high - low)[places] / 2
        title = f"{len(self.fitted):,} counts in rising order, total {self.total()}"
        heights = self.fitted[places].astype(np.float64)
        return page(title, heights, spread, ("1", f"{len(self.fitted):,}"), self.about)
