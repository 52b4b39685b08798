"""What a universe of keys has to say of itself, whatever its keys are.

A key is a whole number of 64 bits, or bytes. Values become keys by a total function of plain values
(columns as `trueup.owner` reads them: the same for every engine); what is no key is not counted.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Key = int | bytes
Bools = npt.NDArray[np.bool_]
Placed = tuple[Any, Bools]
"""Keys, as an int64 array or an Arrow array of bytes, and which of them are keys."""


class KeySpace(Protocol):
    """All keys that there could be, numbered from 0 and never listed."""

    @property
    def kind(self) -> str:
        """Its word in files and settings."""

    @property
    def words(self) -> str:
        """What its keys are, for a person to read."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The kinds of plain columns that say a key."""

    @property
    def whole(self) -> bool:
        """Whether keys are whole numbers; else they are bytes."""

    @property
    def size(self) -> int:
        """How many keys there are, exactly."""

    def place(self, *values: Any) -> Placed:
        """The keys of plain columns, the last argument saying which rows are known."""

    def rank(self, key: Key) -> int:
        """The number of a key among all."""

    def unrank(self, number: int) -> Key:
        """The key of this number."""

    def label(self, key: Key) -> str:
        """A key in words, different for different keys."""

    def read(self, text: str) -> Key | None:
        """The key that `label` words so; None if it is none."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
