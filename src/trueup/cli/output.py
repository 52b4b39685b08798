"""What the command line prints: tables for people, JSON for programs, one line for errors."""

from __future__ import annotations

import codecs
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Protocol
from unicodedata import category

import numpy as np
import typer

from trueup.errors import FileError, InputError, shown
from trueup.release.wording import written

_TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

# What is printed instead where an output cannot hold a sign: Latin-1, code pages, ASCII.
_SPELLED = {
    "±": "+/-", "×": "x", "–": "-", "−": "-", "…": "...", "→": "->", "≤": "<=", "≥": ">=",
    "ε": "epsilon", "ρ": "rho", "δ": "delta", "\u0303": "~", "\u0304": "-", "█": "#",
    **dict.fromkeys("▏▎▍▌▋▊▉", ""),
}  # fmt: skip

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def emit(as_json: bool, answer: dict[str, Any], show: Callable[[], None]) -> None:
    """Prints the answer as JSON, or shows it to a person."""
    if as_json:
        print(json.dumps(answer, default=_plain, ensure_ascii=not _is_unicode()), flush=True)
    else:
        show()


def _is_unicode() -> bool:
    """Whether standard output holds every sign there is."""
    return (getattr(sys.stdout, "encoding", None) or "ascii").lower().startswith("utf")


def spell_out() -> None:
    """Spells out what standard output cannot hold, where that would end in a traceback."""
    if not _is_unicode() and hasattr(sys.stdout, "reconfigure"):
        codecs.register_error("spelled", _spelled)
        sys.stdout.reconfigure(errors="spelled")


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """Our own signs in ASCII; others as Python escapes them, so that no two look alike."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_SPELLED.get(sign, ascii(sign)[1:-1]) for sign in signs), error.end


def _plain(value: object) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


def check_output(path: Path) -> None:
    """Refuses, before anything is spent, a file that the answer could not be saved in."""
    if path.suffix not in (".parquet", ".json"):
        raise InputError(
            f"The file must end in .parquet or .json, got {shown(path.name)}. trueup export makes "
            f"a CSV file of it."
        )
    folder = path.parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(
            f"Cannot write {path}: it is a folder, or its folder is not there or cannot be written."
        )


class Savable(Protocol):
    """What is saved as one file."""

    def save(self, path: str | Path) -> None:
        """Writes it."""


def save_paid(measured: Savable, path: Path, key: str) -> None:
    """Saves what was paid for; if that fails, says how to have it again for nothing."""
    try:
        measured.save(path)
    except FileError as wrong:
        raise FileError(f"{wrong} It is paid for: ask the same with --key {key}.") from None


@contextmanager
def stoppable(key: str) -> Iterator[None]:
    """Says, when Ctrl-C stops what may be charged by now, how to have the answer for nothing."""
    try:
        yield
    except KeyboardInterrupt:
        said = f"Stopped. If it was charged, it is paid for: ask the same with --key {key}."
        print(f"trueup: {visible(said)}", file=sys.stderr, flush=True)
        raise


def visible(text: str, lines: bool = False) -> str:
    """Text that moves no cursor and turns no direction: names may come from a stranger's file."""
    kept = "\n" if lines else ""
    return "".join(
        ascii(c)[1:-1] if c not in kept and (category(c) in ("Cc", "Cs") or c in _TURNING) else c
        for c in text
    )


def table(headers: list[str], rows: list[list[str]], title: str | None = None) -> None:
    """A table on the terminal; the first column is left, the others right."""
    headers, rows = [*map(visible, headers)], [[*map(visible, row)] for row in rows]
    wide = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    texts = [title or "", *headers, *(cell for row in rows for cell in row)]
    room = shutil.get_terminal_size().columns
    if sum(wide) + 4 * (len(wide) - 1) <= room and all(map(_plainly_wide, texts)):
        bold = "\033[1m{}\033[0m" if sys.stdout.isatty() else "{}"
        print(*([title] if title else []), bold.format(_line(headers, wide)), sep="\n")
        for row in rows:
            print(_line(row, wide))
        return
    # What has to be folded, or is wider than it is long; rich takes a while to load.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2))
    for i, header in enumerate(headers):
        grid.add_column(Text(header), justify="left" if i == 0 else "right", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))  # text, and not rich's markup
    Console(soft_wrap=False, highlight=False).print(grid)


def _plainly_wide(text: str) -> bool:
    """Whether each character takes one place, and none is markup or moves the cursor."""
    plain = "−–…ε≤≥"
    return all(c.isprintable() and c != "[" and (c < "\u0300" or c in plain) for c in text)


def _line(cells: list[str], wide: list[int]) -> str:
    first, *others = zip(cells, wide, strict=True)
    parts = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
    return "    ".join(parts).rstrip()


def say(words: str) -> None:
    """A plain line on standard output."""
    print(visible(words, lines=True), flush=True)


def confirm(as_json: bool) -> None:
    """Asks before anything is spent; refused where nobody is there to be asked."""
    if as_json or not sys.stdin.isatty():
        raise InputError("Nobody is there to be asked: give --yes to spend.")
    typer.confirm("Spend it?", abort=True, err=True)


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """A spinner on standard error while something runs, only if somebody is watching."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(words):
        yield


def number(value: float | int) -> str:
    """A number as a person writes it."""
    return written(value)
