"""What a kind of axis declares of itself, so that nobody has to ask for its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class CellTraits:
    """What can be said of all axes of one kind."""

    # The word for it in files and in trueup.toml.
    kind: str
    # What its column holds; labels are text or whole numbers.
    values: Literal["integer", "number", "time", "address", "label"]
    # What edges are measured on; None where cells have names and no place on a line.
    scale: Literal["number", "time"] | None = None
    # Values inside one cell differ: a quantile lies somewhere inside it.
    bins: bool = False
    # Cells are labels: to be next to one another means nothing.
    labelled: bool = False
    # Labels stand under labels: the axis's own levels are what is asked about.
    nested: bool = False
    # A cell is one whole number, its code, and codes have gaps.
    coded: bool = False

    @property
    def circular(self) -> bool:
        """Whether it goes round, as UHI asks: none does."""
        return False

    @property
    def discrete(self) -> bool:
        """Whether cells are names, as UHI asks."""
        return self.scale is None
