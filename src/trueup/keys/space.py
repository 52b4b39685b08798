"""What a universe of keys has to say of itself, whatever its keys are.

A key is a whole number of 64 bits, or bytes. Values become keys by a total function of plain values
(columns as `trueup.owner` reads them: the same for every engine); what is no key is not counted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from trueup.arrays import Bools

Key = int | bytes
Placed = tuple[Any, Bools]
"""Keys, as an int64 array or an Arrow array of bytes, and which of them are keys."""


class KeySpace(ABC):
    """All keys that there could be, numbered from 0 and never listed."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Its word in files and settings."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What its keys are, for a person to read."""

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The kinds of plain columns that say a key."""

    @property
    @abstractmethod
    def whole(self) -> bool:
        """Whether keys are whole numbers; else they are bytes."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many keys there are, exactly."""

    @property
    def longest(self) -> int:
        """The most bytes of a text that is a key; 0 where keys are not read from texts."""
        return 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the key, where the universe names them; else none."""
        return ()

    @abstractmethod
    def place(self, *values: Any) -> Placed:
        """The keys of plain columns, the last argument saying which rows are known."""

    @abstractmethod
    def rank(self, key: Key) -> int:
        """The number of a key among all."""

    @abstractmethod
    def unrank(self, number: int) -> Key:
        """The key of this number."""

    @abstractmethod
    def label(self, key: Key) -> str:
        """A key in words, different for different keys."""

    def labels(self, keys: Any) -> Any:
        """Keys in words, each as `label` words it, as an Arrow array of text."""
        import pyarrow as pa

        return pa.array([self.label(key) for key in keys], pa.string())

    @abstractmethod
    def read(self, text: str) -> Key | None:
        """The key that `label` words so; None if it is none."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """As plain values."""


class NumberedKeys(KeySpace):
    """Keys that are the whole numbers from 0 on."""

    whole: ClassVar[bool] = True

    def rank(self, key: Key) -> int:
        return int(key)

    def unrank(self, number: int) -> Key:
        return number
