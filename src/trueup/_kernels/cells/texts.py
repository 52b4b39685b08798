"""How often each text occurs: a table of texts, compared byte by byte.

A record is a count, a length in bytes, and the bytes themselves in words of eight, the last one
filled up with zeros. Records lie one behind the other. A slot holds where a record begins, and some
bits of its text's hash; 0 if it is empty. The hash only says where to look: whether two texts are
one is decided by their lengths and all their bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled
from trueup.arrays import Ints, Words

Whole = int | np.signedinteger[Any]

HEAD = 2  # words of a record before its bytes
_NEXT = 3  # words on: a short record may lie in two lines of the cache
_PLAIN = 1 << 12  # elements of a call that is run as plain Python, which takes microseconds each
_TOGETHER = 256  # texts looked up together
_TAG = np.uint64(40)  # bits of a slot that say where; above them are bits of the hash
_PLACE = np.uint64((1 << 40) - 1)
_SIXTY_FOUR = np.uint64(64)
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


@compiled
def _word(words: Words, at: Whole, left: Whole) -> np.uint64:
    """Eight bytes from a place on that need be no multiple of eight; zeros from `left` on."""
    place = at >> 3
    by = np.uint64((at & 7) << 3)
    word = words[place]
    if by != np.uint64(0):
        word = (word >> by) | (words[place + 1] << (_SIXTY_FOUR - by))
    if left < 8:
        word &= (np.uint64(1) << np.uint64(left << 3)) - np.uint64(1)
    return word


@compiled
def _hash(words: Words, begin: Whole, length: Whole, salt: np.uint64) -> np.uint64:
    mixed = salt ^ np.uint64(length)
    for at in range(0, length, 8):
        mixed = (mixed ^ _word(words, begin + at, length - at)) * _FIRST
        mixed ^= mixed >> np.uint64(32)
    mixed *= _SECOND
    return mixed ^ (mixed >> np.uint64(29))


@compiled
def _is(words: Words, begin: Whole, length: Whole, records: Words, record: Whole) -> bool:
    """Whether a text is that of a record."""
    if records[record + 1] != np.uint64(length):
        return False
    for at in range(0, length, 8):
        if records[record + HEAD + (at >> 3)] != _word(words, begin + at, length - at):
            return False
    return True


@compiled
def _shift(slots: Words) -> np.uint64:
    """By how much a hash is moved to become a place among the slots."""
    shift = 64
    while 1 << (64 - shift) < slots.size:
        shift -= 1
    return np.uint64(shift)


@compiled
def _added(
    words: Words,
    begin: Whole,
    length: Whole,
    times: np.uint64,
    mixed: np.uint64,
    slots: Words,
    records: Words,
    used: Whole,
) -> Whole:
    """Adds to the count of a text, which may be new; how many words of records are used now."""
    last = slots.size - 1
    at = np.int64(mixed >> _shift(slots))
    tag = mixed << _TAG
    while slots[at] != np.uint64(0):
        if slots[at] & ~_PLACE == tag:
            record = np.int64(slots[at] & _PLACE) - 1
            if _is(words, begin, length, records, record):
                records[record] += times
                return used
        at = (at + 1) & last
    slots[at] = tag | np.uint64(used + 1)
    records[used] = times
    records[used + 1] = np.uint64(length)
    for byte in range(0, length, 8):
        records[used + HEAD + (byte >> 3)] = _word(words, begin + byte, length - byte)
    return used + HEAD + ((length + 7) >> 3)


@compiled(work=1, most=_PLAIN)
def count_texts(
    words: Words,
    ends: Ints,
    times: Words,
    slots: Words,
    records: Words,
    salt: np.uint64,
    used: Whole,
) -> tuple[Whole, int, np.uint64]:
    """Adds to the counts of texts; (words of records used now, new texts, a number of no meaning).

    Text i has the bytes from ends[i] to ends[i + 1]; one more word lies behind the last. There is
    room for all of them, and a slot to spare. Of some texts together the hashes are found, then
    slots and records are touched, so that memory is waited for once, and only then is compared.
    """
    shift, last, end = _shift(slots), slots.size - 1, records.size - 1
    hashes, found = np.empty(_TOGETHER, np.uint64), np.empty(_TOGETHER, np.int64)
    fresh, touched = 0, np.uint64(0)
    for first in range(0, times.size, _TOGETHER):
        many = min(_TOGETHER, times.size - first)
        for i in range(many):
            begin = ends[first + i]
            hashes[i] = _hash(words, begin, ends[first + i + 1] - begin, salt)
        for i in range(many):
            touched ^= slots[hashes[i] >> shift]
        for i in range(many):
            at = np.int64(hashes[i] >> shift)
            tag = hashes[i] << _TAG
            slot = slots[at]
            while slot != np.uint64(0) and slot & ~_PLACE != tag:
                at = (at + 1) & last
                slot = slots[at]
            found[i] = np.int64(slot & _PLACE) - 1
        for i in range(many):
            touched ^= records[max(found[i], 0)] ^ records[min(found[i] + _NEXT, end)]
        for i in range(many):
            begin = ends[first + i]
            length = ends[first + i + 1] - begin
            if found[i] >= 0 and _is(words, begin, length, records, found[i]):
                records[found[i]] += times[first + i]
                continue
            before = used
            used = _added(words, begin, length, times[first + i], hashes[i], slots, records, used)
            fresh += int(used > before)
    return used, fresh, touched


@compiled(work=0, most=_PLAIN)
def find_slots(records: Words, slots: Words, salt: np.uint64) -> None:
    """Gives every record, each of another text, a slot; all are empty, and more than enough."""
    shift, last = _shift(slots), slots.size - 1
    place: Whole = 0
    while place < records.size:
        length = np.int64(records[place + 1])
        mixed = _hash(records, (place + HEAD) << 3, length, salt)
        at = np.int64(mixed >> shift)
        while slots[at] != np.uint64(0):
            at = (at + 1) & last
        slots[at] = (mixed << _TAG) | np.uint64(place + 1)
        place += HEAD + ((length + 7) >> 3)


@compiled(work=0, most=_PLAIN)
def spread_texts(records: Words, ends: Ints, data: npt.NDArray[np.uint8], counts: Ints) -> None:
    """Puts the texts one behind the other, with where each ends and its count."""
    place: Whole = 0
    to: Whole = 0
    text = 0
    ends[0] = 0
    while place < records.size:
        length = np.int64(records[place + 1])
        for at in range(length):
            word = records[place + HEAD + (at >> 3)]
            data[to + at] = np.uint8((word >> np.uint64((at & 7) << 3)) & np.uint64(255))
        to += length
        counts[text] = np.int64(records[place])
        text += 1
        ends[text] = to
        place += HEAD + ((length + 7) >> 3)
