"""A plan's table, and the numbers in it."""

from __future__ import annotations

from html import escape


def figure(number: float) -> str:
    """A number to four figures, thousands separated.

    >>> figure(0.123456), figure(12345.6)
    ('0.1235', '12,346')
    """
    if number >= 1000 or number == 0:
        return f"{number:,.0f}"
    return f"{number:.4g}"


def html_table(markdown: str) -> str:
    """A Markdown table as HTML, for a notebook."""
    rows = [line.strip("|").split("|") for line in markdown.split("\n")]
    cells = [[escape(cell.strip().replace("**", "")) for cell in row] for row in rows]
    head = "".join(f"<th>{cell}</th>" for cell in cells[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells[2:]
    )
    return f"<table><tr>{head}</tr>{body}</table>"
