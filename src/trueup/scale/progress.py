"""A bar on the terminal that shows how far a pass is, and how long it will still take."""

from __future__ import annotations

import sys
from contextlib import suppress
from types import TracebackType
from typing import Any


class Progress:
    """A bar of rich's on the terminal, gone when the pass is done; nothing where there is none."""

    def __init__(self, words: str, total: int) -> None:
        self._words, self._total = words, total
        self._bar: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr is not None and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                TaskProgressColumn,
                TextColumn,
                TimeRemainingColumn,
            )
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                TextColumn("left"),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._words, total=self._total)
            self._bar.start()
        return self

    def advance(self, cells: int) -> None:
        """Moves on by so many cells."""
        if self._bar is not None:
            self._bar.advance(self._task, cells)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        wrong: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(Exception):
            if self._bar is not None:
                self._bar.stop()
