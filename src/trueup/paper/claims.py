"""What an experiment gives back: tables, a picture, and the paper's claims held or not held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STAMP = "NOT PRIVATE: experiments with reproducible noise."


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, what was measured, and whether it held."""

    paper: str
    measured: str
    held: bool

    @property
    def verdict(self) -> str:
        return "held" if self.held else "NOT HELD"


@dataclass(frozen=True)
class Table:
    """Rows under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def text(self) -> str:
        """The table in plain text: numbers to the right, words to the left."""
        cells = [list(self.columns), *([shown(value) for value in row] for row in self.rows)]
        widths = [max(width(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = []
        for row in cells:
            room = [w - width(cell) for cell, w in zip(row, widths, strict=True)]
            padded = [
                " " * free + cell if right else cell + " " * free
                for cell, free, right in zip(row, room, self._numbers, strict=True)
            ]
            lines.append("  ".join(padded).rstrip())
        lines.insert(1, "  ".join("─" * w for w in widths))
        return "\n".join([self.title, *lines])

    def markdown(self) -> str:
        """The table in Markdown."""
        marks = ["---:" if right else "---" for right in self._numbers]
        rows = [self.columns, marks, *([shown(value) for value in row] for row in self.rows)]
        return "\n".join([f"*{self.title}*", "", *("| " + " | ".join(r) + " |" for r in rows)])

    @property
    def _numbers(self) -> list[bool]:
        """Which columns hold numbers alone."""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        return [all(isinstance(value, (int, float)) for value in column) for column in columns]


@dataclass(frozen=True)
class Figure:
    """One experiment's outcome."""

    name: str
    title: str
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...]
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
        claims = Table("The paper's claims", ("claim", "measured", ""), tuple(rows)).markdown()
        parts = [f"## {self.title}", f"![{self.title}]({self.name}.svg)", claims]
        return "\n\n".join([*parts, *(table.markdown() for table in self.tables)])


def shown(value: object) -> str:
    """A number with three significant digits or more, grouped by thousands; text as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if value != value:
        return "–"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def width(text: str) -> int:
    """The columns a text takes on a terminal: combining marks take none."""
    return sum(1 for letter in text if not "\u0300" <= letter <= "\u036f")
