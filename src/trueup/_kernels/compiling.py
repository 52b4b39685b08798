"""What is shown while kernels are compiled: a bar, where somebody sits and waits."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

WORDS = "compiling kernels, once: ~8 s"
_USUAL = 30  # kernels that are compiled for one release; the bar of a notebook is so long

_watching = False


@contextmanager
def watched() -> Iterator[None]:
    """While this lasts, compiling shows a bar on a terminal or in a notebook.

    Elsewhere nothing is written. What is kept on disk is not compiled anew, and shows nothing.
    """
    global _watching
    bar = None if _watching else _bar()
    if bar is None:
        yield
        return
    event: Any = importlib.import_module("numba.core.event")
    events = _listener(event, bar)
    event.register("numba:compile", events)
    _watching = True
    try:
        yield
    finally:
        _watching = False
        event.unregister("numba:compile", events)
        bar.stop()


def _listener(event: Any, bar: _Terminal | _Notebook) -> Any:
    """A listener of numba's that moves the bar by one for every kernel that is compiled."""

    def quietly(action: Callable[[], None]) -> Callable[..., None]:
        def on_event(*_: object) -> None:
            with suppress(Exception):  # no bar that fails makes a kernel fail
                action()

        return on_event

    methods = {"on_start": quietly(bar.start), "on_end": quietly(bar.advance)}
    return type("Listener", (event.Listener,), methods)()


def _bar() -> _Terminal | _Notebook | None:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return _Notebook()
    return _Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


class _Terminal:
    """A bar of rich's on the terminal, gone when the work is done."""

    def __init__(self) -> None:
        self._progress: Any = None

    def start(self) -> None:
        """Shows the bar, at the first kernel."""
        if self._progress is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            console = Console(stderr=True)
            self._progress = Progress(*columns, console=console, transient=True)
            self._task = self._progress.add_task(WORDS, total=None)
            self._progress.start()

    def advance(self) -> None:
        """Moves on by a kernel."""
        self._progress.advance(self._task)

    def stop(self) -> None:
        """Takes the bar away."""
        with suppress(Exception):
            if self._progress is not None:
                self._progress.stop()


class _Notebook:
    """A bar of HTML under the cell, empty when the work is done; needs no widgets."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._done = 0

    def start(self) -> None:
        """Shows the bar, at the first kernel."""
        if self._handle is None:
            self._handle = _ipython().display(self._drawn(), display_id=True)

    def advance(self) -> None:
        """Moves on by a kernel."""
        self._done += 1
        self._handle.update(self._drawn())

    def stop(self) -> None:
        """Takes the bar away."""
        with suppress(Exception):
            if self._handle is not None:
                self._handle.update(_ipython().HTML(""))

    def _drawn(self) -> Any:
        part = min(self._done, _USUAL)
        return _ipython().HTML(f'{WORDS} <progress value="{part}" max="{_USUAL}"></progress>')


def _ipython() -> Any:
    return importlib.import_module("IPython.display")
