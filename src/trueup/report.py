"""One self-contained page: pictures, tables and words. Nothing is fetched from elsewhere."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from trueup.errors import FileError
from trueup.plots import to_html

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_STYLE = """
:root { color-scheme: light; font-family: system-ui, sans-serif; color: #1b2733; }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; line-height: 1.5; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid #d8dee4; }
th:first-child, td:first-child { text-align: left; }
caption { text-align: left; padding-bottom: .4rem; color: #4b5863; }
.figure { min-height: 450px; }
"""


@dataclass(frozen=True)
class Table:
    """Rows under headers, with a line of words above."""

    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_html(self) -> str:
        """The table as HTML."""
        head = "".join(f'<th scope="col">{escape(h)}</th>' for h in self.headers)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows
        )
        return (
            f'<div class="scroll"><table><caption>{escape(self.caption)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


@dataclass(frozen=True)
class Picture:
    """A figure; with the release it shows, its bars split when zoomed in."""

    figure: Figure
    release: object = None

    def to_html(self) -> str:
        """The figure as a part of a page that has plotly.js."""
        return f'<div class="figure">{to_html(self.figure, self.release, whole_page=False)}</div>'


Part = str | Table | Picture


def report(title: str, sections: dict[str, list[Part]]) -> str:
    """The page: a title and, under each heading, paragraphs, tables and pictures in order."""
    from plotly.offline import get_plotlyjs

    parts = [f"<h1>{escape(title)}</h1>"]
    for heading, content in sections.items():
        parts.append(f"<section><h2>{escape(heading)}</h2>")
        parts += [f"<p>{escape(p)}</p>" if isinstance(p, str) else p.to_html() for p in content]
        parts.append("</section>")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><style>{_STYLE}</style>'
        f"<script>{get_plotlyjs()}</script></head><body><main>{''.join(parts)}</main></body></html>"
    )


def save_report(page: str, path: str | Path) -> None:
    """Writes a page in one step."""
    target = Path(path)
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=target.parent, delete=False
        ) as stream:
            stream.write(page)
        os.replace(stream.name, target)
        target.chmod(0o644)
    except OSError as wrong:
        raise FileError(f"Cannot write {target}: {wrong.strerror}.") from None
