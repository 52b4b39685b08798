"""Keys in a list: an array, of which single keys are made when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from trueup.arrays import Ints, Words
from trueup.keys.space import Key
from trueup.keys.strings import spans


class Keys(Sequence[Key]):
    """Whole numbers as an int64 array, or bytes as an Arrow array; to be read as a tuple is.

    >>> keys = Keys(np.array([3, 5, 8]))
    >>> keys[1], len(keys), keys == (3, 5, 8)
    (5, 3, True)
    """

    def __init__(self, column: Any) -> None:
        self.column = column

    @staticmethod
    def of(keys: Sequence[Key], whole: bool) -> Keys:
        """The keys given, as an array of whole numbers or of bytes."""
        if isinstance(keys, Keys):
            return keys
        if whole:
            return Keys(np.array(keys, np.int64))
        import pyarrow as pa

        return Keys(pa.array(keys, pa.large_binary()))

    @property
    def _whole(self) -> bool:
        return isinstance(self.column, np.ndarray)

    def __len__(self) -> int:
        return len(self.column)

    @overload
    def __getitem__(self, place: int) -> Key: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Key, ...]: ...

    def __getitem__(self, place: int | slice) -> Key | tuple[Key, ...]:
        if isinstance(place, slice):
            return tuple(Keys(self.column[place]))
        found: Key = int(self.column[place]) if self._whole else self.column[place].as_py()
        return found

    def __iter__(self) -> Iterator[Key]:
        return iter(self.column.tolist() if self._whole else self.column.to_pylist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Keys) and self._whole == other._whole:
            if self._whole:
                return np.array_equal(self.column, other.column)
            return bool(self.column.equals(other.column))
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return False
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Keys({list(self)!r})"

    @property
    def rising(self) -> bool:
        """Whether they are in order, each once."""
        if self._whole:
            return bool((self.column[1:] > self.column[:-1]).all())
        import pyarrow.compute as pc

        return pc.min(pc.greater(self.column[1:], self.column[:-1])).as_py() is not False

    def ordered(self, values: Ints) -> tuple[Keys, Ints]:
        """The keys in their order, of bytes that of Python's, and with each its value."""
        if self._whole:
            order = np.argsort(self.column, kind="stable")
            return Keys(self.column[order]), values[order]
        places = order_of(self.column)
        return Keys(self.column.take(as_arrow(places))), values[places]


def as_arrow(values: Ints) -> Any:
    """Whole numbers as an Arrow array, as they lie in memory.

    pa.array(…) of a numpy array would load pandas, a quarter of a second, to ask whether it is one.
    """
    import pyarrow as pa

    flat = np.ascontiguousarray(values, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(flat), [None, pa.py_buffer(flat)])


def order_of(texts: Any) -> Ints:
    """The places of different texts, an Arrow array of bytes, in the order of their bytes.

    Behind what all begin with, they are sorted by seven bytes and how many there are. Those that
    are alike so far are sorted by their group and some more bytes, until no two are alike.
    """
    ends, data = spans(texts)
    padded = np.concatenate([data[int(ends[0]) : int(ends[-1])], np.zeros(8, np.uint8)])
    begins, stops = ends[:-1] - ends[0], ends[1:] - ends[0]
    # Eight bytes from every place on, the first of them the highest.
    windows = np.ndarray((len(padded) - 7,), ">u8", padded.data, 0, (1,))
    begins = begins + _shared(windows, begins, stops)
    order = np.arange(len(texts))
    places, groups = order.copy(), np.zeros(len(order), np.uint64)  # what is not yet in order
    while len(places):
        bits = int(groups[-1]).bit_length()
        wide = (60 - bits) // 8
        words, more = _chunks(windows, begins[order[places]], stops[order[places]], wide)
        words |= groups << np.uint64(64 - bits) if bits else np.uint64(0)
        sorting = np.argsort(words)
        order[places] = order[places][sorting]
        words, more = words[sorting], more[sorting]
        fresh = np.r_[True, words[1:] != words[:-1]]
        alike = ~(fresh & np.r_[fresh[1:], True])
        if not more[alike].all():
            raise ValueError("Two texts are the same.")
        begins = np.minimum(begins + wide, stops)
        places = places[alike]
        groups = (np.cumsum(fresh[alike]) - 1).astype(np.uint64)
    return order


def _shared(windows: Any, begins: Ints, stops: Ints) -> int:
    """With how many bytes that are the same all texts begin."""
    least, shared = int((stops - begins).min(initial=1 << 62)), 0
    while len(begins) and shared < least:
        words = windows[begins + shared]
        same = 8 - (int(np.bitwise_or.reduce(words ^ words[0])).bit_length() + 7) // 8
        shared += same
        if same < 8:
            break
    return min(shared, least) if len(begins) else 0


def _chunks(windows: Any, begins: Ints, stops: Ints, wide: int) -> tuple[Words, npt.NDArray[Any]]:
    """So many bytes of texts, zeros behind their ends, and how many there are; or if more."""
    left = np.minimum(stops - begins, wide + 1)
    words = windows[begins].astype(np.uint64)
    kept = np.array([0] + [2**64 - 2 ** (64 - 8 * n) for n in range(1, wide + 1)], np.uint64)
    words &= kept[np.minimum(left, wide)]
    words >>= np.uint64(64 - 8 * wide)
    return (words << np.uint64(4)) | left.astype(np.uint64), left > wide
