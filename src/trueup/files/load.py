"""Reading back what was saved: every kind of file has a reader, registered under its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.errors import FileError
from trueup.facts import Facts
from trueup.files.codec import read


@dataclass(frozen=True, eq=False)
class Saved:
    """What a file holds: its columns, the facts, and the numbers that some kinds keep beside."""

    columns: dict[str, Any]
    facts: Facts
    beside: dict[str, Any]

    def numbers(self, name: str, length: int) -> npt.NDArray[Any]:
        """A column of finite numbers, so many of them."""
        return finite(self.columns[name], length)

    def kept(self, name: str, length: int) -> npt.NDArray[Any] | None:
        """As `numbers`; None where the file has no such column."""
        return self.numbers(name, length) if name in self.columns else None


Reader = Callable[[Saved], Any]
_READERS: dict[str, Reader] = {}


def reads(kind: str, reader: Reader) -> None:
    """Registers what makes something of files of a kind."""
    _READERS[kind] = reader


def load(path: str | Path) -> Any:
    """What was saved under this path, verified: a Measurement or a release.

    A damaged file, one of a newer format, or one that is not ours is refused.
    """
    kind, columns, about = read(path)
    name = Path(path).name
    if kind not in _READERS:
        raise FileError(f"{name} holds a {kind!r}, which this version does not know.")
    try:
        return _READERS[kind](Saved(columns, Facts.from_json(about), about))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as wrong:
        raise FileError(f"{name} cannot be read: {wrong}") from None


def finite(column: Any, length: int) -> npt.NDArray[Any]:
    """So many finite numbers."""
    numbers = np.asarray(column)
    if numbers.dtype.kind not in "if" or numbers.shape != (length,):
        raise FileError(f"The file needs {length:,} numbers in a column.")
    if not np.isfinite(numbers).all():
        raise FileError("The file holds counts that are not finite.")
    return numbers
