"""Pages and files of pictures. Nothing is fetched from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING

from trueup.errors import FileError, InputError, shown
from trueup.files.atomic import write_whole
from trueup.pictures.sheet import Sheet
from trueup.pictures.theme import plotly

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
class Picture:
    """A figure; with a script, made when a page is, its bars split when zoomed in."""

    figure: Figure
    script: Callable[[], str] | None = None

    def html(self, library: bool = False) -> str:
        """The figure as a part of a page; with the library unless the page has plotly.js."""
        part = self.figure.to_html(
            full_html=False,
            include_plotlyjs=library,
            post_script=[self.script()] if self.script else [],
            config={"displaylogo": False, "responsive": True},
        )
        return f'<div class="figure">{part}</div>'

    def page(self) -> str:
        """The figure as a page of its own."""
        # Names of axes may come from a file that a stranger wrote: text, and never markup.
        first = str(self.figure.layout.title.text or "trueup").split("<br>")[0]
        title = unescape(re.sub("</?b>", "", first))
        return _page(title, "<style>body { margin: 0 }</style>", self.html(library=True))

    def save(self, path: str | Path) -> None:
        """Writes it by the file's ending: .html (self-contained), .png or .svg.

        PNG and SVG are drawn by kaleido with the Chromium or Chrome of the machine.
        """
        target = Path(path)
        if target.suffix not in (".html", ".png", ".svg"):
            raise InputError(
                f"A picture must end in .html, .png or .svg, got {shown(target.name)}."
            )
        if target.suffix == ".html":
            save_page(self.page(), target)
            return
        scale = 2 if target.suffix == ".png" else 1
        try:
            self.figure.write_image(target, width=960, height=540, scale=scale)
        except (ImportError, ValueError, RuntimeError, OSError) as wrong:
            raise FileError(
                f"{target.suffix} pictures need kaleido and Chromium or Chrome "
                f"(Debian: apt install chromium). Write .html instead. ({type(wrong).__name__})"
            ) from None


Part = str | Sheet | Picture


def report(title: str, sections: dict[str, list[Part]]) -> str:
    """The page: a title and, under each heading, paragraphs, tables and pictures in order."""
    library = plotly("offline").get_plotlyjs()
    parts = [f"<main><h1>{escape(title)}</h1>"]
    for heading, content in sections.items():
        parts.append(f"<section><h2>{escape(heading)}</h2>")
        parts += [f"<p>{escape(p)}</p>" if isinstance(p, str) else p.html() for p in content]
        parts.append("</section>")
    head = f"<style>{_STYLE}</style><script>{library}</script>"
    return _page(title, head, "".join([*parts, "</main>"]))


def _page(title: str, head: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,">{head}</head><body>{body}</body></html>'
    )


def save_page(page: str, path: str | Path) -> None:
    """Writes a page in one step."""
    try:
        write_whole(Path(path), page.encode(), 0o666)
    except OSError as wrong:
        raise FileError(f"Cannot write {path}: {wrong.strerror}.") from None
