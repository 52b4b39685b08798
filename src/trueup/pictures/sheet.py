"""Sheet: a small table to be read, wherever it is read."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Sheet:
    """Rows under named columns, for a terminal, for Markdown and for a page."""

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

    def html(self) -> str:
        """The table in HTML."""
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(shown(value))}</td>" for value in row) + "</tr>"
            for row in self.rows
        )
        return (
            f'<div class="scroll"><table><caption>{escape(self.title)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    @property
    def _numbers(self) -> list[bool]:
        """Which columns hold numbers alone, or numbers in words."""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        return [all(_is_number(value) for value in column) for column in columns]


def _is_number(value: object) -> bool:
    """Whether it is a number, or written of digits and signs such as 1,234 ± 5 or 0.1%."""
    words = str(value)
    plain = any(map(str.isdigit, words)) and not any(map(str.isalpha, words.replace(" to ", "")))
    return isinstance(value, (int, float)) or plain


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
    return f"{value:#.3g}".rstrip(".")  # 34.0 beside 7.20, and 100 for 99.96


def width(text: str) -> int:
    """The columns a text takes on a terminal: combining marks take none."""
    return sum(1 for letter in text if not "\u0300" <= letter <= "\u036f")
