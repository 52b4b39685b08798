"""Tallies of names: how many rows have which names, exact to the byte.

Names are whole numbers or bytes. Memory grows with how many different names there are together,
not with the number of rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from trueup.arrays import Ints, Words
from trueup.owner.lazily import pa
from trueup.owner.plain import one_array

_AT_ONCE = 1 << 22  # rows counted together
_SHORT = 1 << 30  # bytes of names that offsets of 32 bits reach well beyond


class Gathered:
    """Rows put together as they come, by a function from a table to one that says the same."""

    def __init__(self, fold: Callable[[Any], Any], at_once: int) -> None:
        self._fold, self._at_once = fold, at_once
        self._done: Any = None
        self._fresh: list[Any] = []
        self._rows = 0

    def add(self, table: Any) -> None:
        """More rows; the more there is already, the rarer it is gone through again."""
        self._fresh.append(table)
        self._rows += len(table)
        if self._rows >= max(self._at_once, 0 if self._done is None else len(self._done)):
            self._put_together()

    def _put_together(self) -> None:
        parts = self._fresh if self._done is None else [self._done, *self._fresh]
        self._fresh, self._rows = [], 0
        if parts:
            self._done = self._fold(pa.concat_tables(parts))

    @property
    def table(self) -> Any:
        """What is left of the rows; None if there were none."""
        if self._fresh:
            self._put_together()
        return self._done


class Tally:
    """How many rows have each combination of names; rows come in parts of any size."""

    def __init__(self) -> None:
        self._gathered = Gathered(summed, _AT_ONCE)

    def add(self, names: dict[str, Any]) -> None:
        """More rows: an Arrow array a column, of one length, without nulls."""
        table = pa.table(names)
        ones = pa.array(np.ones(len(table), np.int64))
        self._gathered.add(table.append_column("rows", ones))

    @property
    def table(self) -> Any:
        """Each combination once, and its number of `rows`; None if there was never a row."""
        return self._gathered.table


def together(tallies: Sequence[Tally]) -> Any:
    """The table of several tallies; None if none had a row."""
    tables = [table for tally in tallies if (table := tally.table) is not None]
    if len(tables) <= 1:
        return tables[0] if tables else None
    return summed(pa.concat_tables(tables))


def summed(table: Any) -> Any:
    """The table with equal names put together, their `rows` added up."""
    names = [name for name in table.column_names if name != "rows"]
    kinds = [table.schema.field(name).type for name in names]
    if table.nbytes < _SHORT:  # Arrow groups bytes with short offsets five times as fast
        short = [pa.binary() if pa.types.is_large_binary(kind) else kind for kind in kinds]
        table = table.select([*names, "rows"]).cast(_schema(names, short))
    found = table.group_by(names, use_threads=False).aggregate([("rows", "sum")])
    found = found.select([*names, "rows_sum"]).rename_columns([*names, "rows"])
    return found.cast(_schema(names, kinds))


def _schema(names: list[str], kinds: list[Any]) -> Any:
    return pa.schema([*zip(names, kinds, strict=True), ("rows", pa.int64())])


def whole(column: Any) -> Ints:
    """A column of 64-bit whole numbers without nulls, as an array."""
    one = one_array(column)
    return np.frombuffer(one.buffers()[1], np.int64, len(one), 8 * one.offset)


def sizes(table: Any, most: int) -> Ints:
    """The rows of each group, the largest ones only if there are more than were declared.

    A record moves one size by one, and so at most one of the largest by one.
    """
    rows = whole(table["rows"])
    return rows if len(rows) <= most else np.partition(rows, len(rows) - most)[len(rows) - most :]


def bounded(table: Any, most: int, key: str) -> Any:
    """The table of `unit`, `value` and `rows`, with at most so many rows of each unit left.

    A row is known by its unit, its value and its number among equal ones. The rows of a unit are
    put in the order of a hash of these three under the key, and the first few are kept: every row
    of a unit has the same chance, whatever its value, and another unit's rows have no part in it.
    """
    codes, units = coded(table["unit"])
    rows = whole(table["rows"])
    total = np.zeros(len(units), np.int64)
    np.add.at(total, codes, rows)
    over = total[codes] > most
    if not over.any():
        return table
    some = table.filter(pa.array(over))
    greedy = np.flatnonzero(total > most)
    place = np.zeros(len(total), np.int64)
    place[greedy] = np.arange(len(greedy))
    seeds = _hashed(units.take(pa.array(greedy)), key)
    kept = _first(place[codes[over]], seeds, _words(some["value"], key), rows[over], most)
    chosen = some.set_column(some.column_names.index("rows"), "rows", pa.array(kept))
    return pa.concat_tables([table.filter(pa.array(~over)), chosen.filter(pa.array(kept > 0))])


def coded(column: Any) -> tuple[Ints, Any]:
    """The number of each name, and the names by number."""
    found = one_array(column).dictionary_encode()
    codes = np.frombuffer(found.indices.buffers()[1], np.int32, len(found), 4 * found.offset)
    return codes.astype(np.int64), found.dictionary


def _words(values: Any, key: str) -> Words:
    """A word of 64 bits a value, different for different ones; of text, a hash."""
    if pa.types.is_int64(values.type):
        return whole(values).view(np.uint64)
    codes, texts = coded(values)
    return _hashed(texts, key)[codes, 0]


def _hashed(names: Any, key: str) -> Words:
    """Two words of 64 bits a name, which follow from its bytes and the key alone."""
    secret = hashlib.sha256(key.encode()).digest()
    digests = [
        hashlib.blake2b(
            name if isinstance(name, bytes) else name.to_bytes(8, "little", signed=True),
            digest_size=16,
            key=secret,
        ).digest()
        for name in names.to_pylist()
    ]
    return np.frombuffer(b"".join(digests), np.uint64).reshape(len(digests), 2)


def _first(units: Ints, seeds: Words, values: Words, rows: Ints, most: int) -> Ints:
    """How many rows of each entry are among the first of its unit, in the order of their hashes.

    `seeds` are two words of each unit, `values` a word of each entry's value.
    """
    by_unit = np.argsort(units, kind="stable")
    units, values, rows = units[by_unit], values[by_unit], rows[by_unit]
    found = np.zeros(len(rows), np.int64)
    kept, order = np.zeros(0, np.int64), np.zeros(0, np.uint64)  # of a unit that may go on
    for entries, numbers in _numbered(rows):
        seed = seeds[units[entries]]
        fresh = _mixed(_mixed(seed[:, 0] ^ values[entries]) + seed[:, 1] + numbers)
        kept, order = np.concatenate([kept, entries]), np.concatenate([order, fresh])
        sorting = np.lexsort((order, units[kept]))
        kept, order = kept[sorting], order[sorting]
        unit = units[kept]
        begins = np.flatnonzero(np.r_[True, unit[1:] != unit[:-1]])
        rank = np.arange(len(unit)) - np.repeat(begins, np.diff(np.r_[begins, len(unit)]))
        few = rank < most
        kept, order, unit = kept[few], order[few], unit[few]
        goes_on = unit == unit[-1]
        np.add.at(found, kept[~goes_on], 1)
        kept, order = kept[goes_on], order[goes_on]
    np.add.at(found, kept, 1)
    result = np.empty_like(found)
    result[by_unit] = found
    return result


def _numbered(rows: Ints) -> Iterator[tuple[Ints, Words]]:
    """Every row as its entry and its number among equal ones, some at a time."""
    stops = np.cumsum(rows)
    for begin in range(0, int(stops[-1]) if len(stops) else 0, _AT_ONCE):
        row = np.arange(begin, min(begin + _AT_ONCE, int(stops[-1])))
        entries = np.searchsorted(stops, row, side="right")
        yield entries, (row - (stops[entries] - rows[entries])).astype(np.uint64)


def _mixed(words: Words) -> Words:
    """Each word with its bits mixed through and through (the finaliser of MurmurHash3)."""
    words = (words ^ (words >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ (words >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ (words >> np.uint64(33))
