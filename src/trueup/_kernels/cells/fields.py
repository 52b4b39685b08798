"""The fields of comma-separated text: one pass over its bytes, which takes any bytes.

A field that begins with a quote runs to the next single quote, over separators and line breaks; two
quotes in it are one. What follows its end belongs to it as it stands. Anywhere else a quote is a
character like any other. A record ends at a line break; a carriage return before it is no part of
the last field. This is how Python's csv module reads, which also ends records at a lone return.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup._kernels.compiled import compiled
from trueup.arrays import Bools, Ints

Bytes = npt.NDArray[np.uint8]

_QUOTE, _NEWLINE, _RETURN = 34, 10, 13
_FRESH, _BARE, _QUOTED, _AFTER = 0, 1, 2, 3  # before a field, in one, in quotes, after a quote


@compiled
def split(
    text: Bytes,
    last: bool,
    comma: int,
    longest: int,
    slots: Ints,
    out: Bytes,
    ends: Ints,
    known: Bools,
) -> tuple[int, int]:
    """The fields of whole records: how many records there are, and where the rest begins.

    `slots[i]` is where column i goes, -1 if nowhere. Column by column `out[s]` gets the bytes of
    slot s, one value after the other, `ends[s, r + 1]` their end in record r, and `known[s, r]`
    whether there was one: an empty field without quotes is none. Records of fewer fields than
    columns, or of more bytes than `longest`, are left out; fields beyond the columns are ignored.
    `last` says that no text follows.
    """
    width, most = slots.size, known.shape[1]
    position = np.zeros(out.shape[0], np.int64)
    rows, start, place, size = 0, 0, 0, text.size
    while rows < most and start < size:
        state, column, quoted, begins = _FRESH, 0, False, place
        length = 0  # of the field so far, whether it is kept or not
        ended = False
        while place <= size:
            if place == size:
                if not last:
                    break
                byte = _NEWLINE
            else:
                byte = text[place]
            place += 1
            slot = slots[column] if column < width else -1
            if state == _QUOTED:
                if byte == _QUOTE and place <= size:
                    state = _AFTER
                    continue
                if place <= size:
                    if slot >= 0:
                        out[slot, position[slot]] = byte
                        position[slot] += 1
                    length += 1
                    continue
            elif state == _FRESH and byte == _QUOTE:
                state, quoted = _QUOTED, True
                continue
            elif state == _AFTER and byte == _QUOTE:
                state = _QUOTED
                if slot >= 0:
                    out[slot, position[slot]] = byte
                    position[slot] += 1
                length += 1
                continue
            elif byte != comma and byte != _NEWLINE:
                state = _BARE
                if slot >= 0:
                    out[slot, position[slot]] = byte
                    position[slot] += 1
                length += 1
                continue
            # The field is over.
            if byte == _NEWLINE and length and state == _BARE and text[place - 2] == _RETURN:
                length -= 1
                if slot >= 0:
                    position[slot] -= 1
            if slot >= 0:
                known[slot, rows] = quoted or length > 0
                ends[slot, rows + 1] = position[slot]
            column += 1
            state, quoted, length = _FRESH, False, 0
            if byte == _NEWLINE or place > size:
                ended = True
                break
        good = ended and column >= width and place - begins <= longest
        if not good:
            for slot in range(out.shape[0]):
                position[slot] = ends[slot, rows]
        if not ended:
            place = begins
            break
        if good:
            rows += 1
        start = min(place, size)
    return rows, start


@compiled
def past_record(text: Bytes, comma: int, state: int) -> tuple[int, int]:
    """Where the record that is under way ends, -1 if not here, and the state at the end of text."""
    for place in range(text.size):
        byte = text[place]
        if state == _QUOTED:
            state = _AFTER if byte == _QUOTE else _QUOTED
        elif byte == _NEWLINE:
            return place + 1, _FRESH
        elif byte == _QUOTE and state != _BARE:
            state = _QUOTED
        else:
            state = _FRESH if byte == comma else _BARE
    return -1, state
