"""How often each text occurs: few texts are counted by Arrow, many by a table of our own.

Texts are the bytes that they are, compared byte by byte. Memory grows with how many different ones
there are, not with the rows.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueup._kernels.cells.texts import HEAD, count_texts, find_slots, spread_texts
from trueup._kernels.compiled import worth_compiling
from trueup.arrays import Ints, Words
from trueup.owner.lazily import pa
from trueup.owner.tally import Tally, whole

_SLOTS, _RECORDS = 1 << 12, 1 << 14  # of a table that is empty
_SHORT = 16  # bytes of a short text and where it ends: longer ones are sooner worth a table


class TextTally:
    """How often each text occurs, among those that one thread was given."""

    def __init__(self) -> None:
        self.few: list[Any] = []
        self.table: TextTable | None = None

    def add(self, texts: Any) -> None:
        """More texts: an Arrow array of bytes without nulls."""
        if self.table is None:
            self.few.append(texts)
            if worth_compiling(count_texts, texts.nbytes // _SHORT):
                self.table = TextTable()
                self.put()
        else:
            self.table.add(texts)

    def put(self, table: TextTable | None = None) -> None:
        """Puts the few texts into a table: its own, or another."""
        target = self.table if table is None else table
        assert target is not None
        for texts in self.few:
            target.add(texts)
        self.few = []


def counted(tallies: Sequence[TextTally]) -> tuple[Any, Ints]:
    """The different texts of some tallies as an Arrow array of bytes, and how often each occurs."""
    tables = [tally.table for tally in tallies if tally.table is not None]
    if tables:
        first, *rest = sorted(tables, key=lambda table: -table.used)
        for table in rest:
            first.add(*table.whole())
        for tally in tallies:
            tally.put(first)
        return first.whole()
    found = Tally()
    for texts in [each for tally in tallies for each in tally.few]:
        found.add({"value": texts.cast(pa.large_binary())})
    if found.table is None:
        return pa.array([], pa.large_binary()), np.zeros(0, np.int64)
    return found.table["value"].combine_chunks(), whole(found.table["rows"])


class TextTable:
    """A table of texts that grows; its hash has a secret of its own, so that no texts crowd it."""

    def __init__(self) -> None:
        self._salt = np.uint64(secrets.randbits(64))
        self._slots: Words = np.zeros(_SLOTS, np.uint64)
        self._records = _aligned(_RECORDS)
        self._words: Words = np.zeros(0, np.uint64)  # bytes that are being read
        self._ones: Words = np.ones(0, np.uint64)
        self._texts = self.used = 0

    def add(self, texts: Any, times: Ints | None = None) -> None:
        """More texts, an Arrow array of bytes without nulls, and how often each is there: once."""
        if not len(texts):
            return
        if len(self._ones) < len(texts):
            self._ones = np.ones(len(texts), np.uint64)
        many = self._ones[: len(texts)] if times is None else times.view(np.uint64)
        ends, words = self._read(texts)
        self._make_room(len(texts), int(ends[-1]))
        used, fresh, _ = count_texts(
            words, ends, many, self._slots, self._records, self._salt, self.used
        )
        self.used, self._texts = int(used), self._texts + fresh

    def whole(self) -> tuple[Any, Ints]:
        """The texts as an Arrow array of bytes, and how often each was added."""
        ends, counts = np.zeros(self._texts + 1, np.int64), np.zeros(self._texts, np.int64)
        data = np.zeros(8 * self.used, np.uint8)
        spread_texts(self._records[: self.used], ends, data, counts)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data[: int(ends[-1])])]
        return pa.Array.from_buffers(pa.large_binary(), self._texts, buffers), counts

    def _read(self, texts: Any) -> tuple[Ints, Words]:
        """Where the texts end, and their bytes in words, with one to spare."""
        width = 4 if pa.types.is_binary(texts.type) else 8
        _, ends, data = texts.buffers()
        stops = np.frombuffer(ends, f"i{width}", len(texts) + 1, texts.offset * width)
        stops = stops.astype(np.int64)
        first, size = int(stops[0]), int(stops[-1] - stops[0])
        if 8 * len(self._words) < size + 16:
            self._words = np.zeros(size // 4 + 2, np.uint64)
        if size:
            self._words.view(np.uint8)[:size] = np.frombuffer(data, np.uint8, size, first)
        return stops - first, self._words

    def _make_room(self, texts: int, size: int) -> None:
        """Makes sure that so many more texts fit, with so many bytes together."""
        if 8 * (self._texts + texts) > 5 * len(self._slots):
            while 8 * (self._texts + texts) > 5 * len(self._slots):
                self._slots = np.zeros(2 * len(self._slots), np.uint64)
            find_slots(self._records[: self.used], self._slots, self._salt)
        words = self.used + (HEAD + 1) * texts + size // 8
        if words > len(self._records):
            grown = _aligned(max(words, 2 * len(self._records)))
            grown[: self.used] = self._records[: self.used]
            self._records = grown


def _aligned(size: int) -> Words:
    """So many words of zero from the beginning of a line of the cache on."""
    room: Words = np.zeros(size + 8, np.uint64)
    first = -room.ctypes.data % 64 // 8
    return room[first : first + size]
