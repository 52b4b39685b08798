"""What everything published can do: be saved, tabulated, drawn, and say whether it is private."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from trueup.errors import InputError
from trueup.facts import Facts
from trueup.files.codec import arrow_table, write

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from trueup.pictures.page import Picture

Contents = tuple[str, dict[str, Any], dict[str, Any]]
Row = tuple[str, float, float]


class Published(ABC):
    """Consistent answers with the facts about them. Frozen, arrays too."""

    facts: Facts

    @property
    def error_words(self) -> str:
        """What stands behind ± in `lines`."""
        return "one standard error"

    @property
    @abstractmethod
    def unbiased(self) -> Published:
        """The answers as they were inferred, with their errors: itself, unless made to be shown."""

    @abstractmethod
    def lines(self, most: int) -> list[Row]:
        """Some of the counts to be read: what is counted, the count and its error."""

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """The answers as the columns of a table."""

    @abstractmethod
    def contents(self) -> Contents:
        """What a file of it holds: the kind, the columns and the facts."""

    @abstractmethod
    def picture(self, kind: str | None = None) -> Picture:
        """What is drawn of it, of a kind."""

    def plot(self, kind: str | None = None) -> Figure:
        """The plotly figure: shows itself in a notebook.

        Over one axis a "histogram" or a "cdf"; over several a "heatmap" between margins, or the
        "error" of every box; of sorted counts "sorted" or their "tail"; by name, "bars".
        """
        return self.picture(kind).figure

    def to_frame(self, library: str = "pyarrow") -> Any:
        """The answers as a table of pyarrow, or of any library that narwhals knows by name."""
        return to_frame(self.columns(), library)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_frame().__arrow_c_stream__(requested_schema)

    def save(self, path: str | Path) -> None:
        """Writes one file by its ending: .parquet or .json, which `trueup.load` reads, or .csv."""
        write(path, *self.contents())

    def save_plot(self, path: str | Path, kind: str | None = None) -> None:
        """Draws it into a file by its ending: .html (self-contained, to zoom in), .png or .svg."""
        self.picture(kind).save(path)


def freeze(*arrays: npt.NDArray[Any] | None) -> None:
    """Makes arrays that were handed over read only."""
    for array in arrays:
        if array is not None:
            array.setflags(write=False)


def beside(shown: Any, unbiased: Any, spread: Any, pooled: bool = False) -> dict[str, Any]:
    """The columns of counts: with their error, or beside the unbiased ones whose error it is.

    Where cells were `pooled` a count may be further off than noise explains: the error is called
    that of the noise.
    """
    counts = {"count": shown} if unbiased is None else {"count": shown, "unbiased": unbiased}
    name = "std_error" if unbiased is None else "unbiased_std_error"
    return {**counts, "noise_std_error" if pooled else name: spread}


def to_frame(columns: dict[str, Any], library: str) -> Any:
    """The columns as a table of the library named."""
    return in_library(arrow_table(columns), library)


def in_library(table: Any, library: str) -> Any:
    """A table of Arrow as one of the library named."""
    if library == "pyarrow":
        return table
    import narwhals as nw

    try:
        frame = nw.from_arrow(table, backend=library)  # type: ignore[arg-type]
        return frame.to_native()
    except (ValueError, ImportError, TypeError):
        raise InputError(
            f"Cannot make a {library!r} table; try 'pyarrow', 'pandas' or 'polars', installed."
        ) from None
