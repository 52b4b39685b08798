"""What an experiment gives back: tables, a picture, and the paper's claims held or not held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueup.pictures.sheet import Sheet

STAMP = "NOT PRIVATE: experiments with reproducible noise."


@dataclass(frozen=True)
class PaperClaim:
    """A sentence of the paper, what was measured, and whether it held."""

    paper: str
    measured: str
    held: bool

    @property
    def verdict(self) -> str:
        return "held" if self.held else "NOT HELD"


@dataclass(frozen=True)
class Figure:
    """One experiment's outcome."""

    name: str
    title: str
    tables: tuple[Sheet, ...]
    claims: tuple[PaperClaim, ...]
    picture: str

    def text(self) -> str:
        """Everything but the picture, for a terminal."""
        claims = [
            f"  {c.verdict:>8}  {c.paper}\n            measured: {c.measured}" for c in self.claims
        ]
        head = f"{self.title}\n{'═' * len(self.title)}"
        tables = [table.text() for table in self.tables]
        return "\n\n".join([head, *tables, "The paper's claims\n" + "\n".join(claims)])

    def markdown(self) -> str:
        """The same for a page, the picture beside it."""
        rows: Sequence[tuple[object, ...]] = [(c.paper, c.measured, c.verdict) for c in self.claims]
        claims = Sheet("The paper's claims", ("claim", "measured", ""), tuple(rows)).markdown()
        parts = [f"## {self.title}", f"![{self.title}]({self.name}.svg)", claims]
        return "\n\n".join([*parts, *(table.markdown() for table in self.tables)])
