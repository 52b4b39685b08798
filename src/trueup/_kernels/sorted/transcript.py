"""What a walk over the Young diagram counted: stretches of rows and of columns, and the answers."""

from __future__ import annotations

from typing import NamedTuple

from trueup.arrays import Ints

SPARE = 1 << 17  # strips beyond one a group, at most


class Stretch(NamedTuple):
    """Sets of one kind: rows start … stop − 1 right of `base`, or strips between `edges`.

    Rows were read from `turn` − 1 down to `start`, then from `turn` up.
    """

    start: int
    turn: int
    stop: int
    base: int
    edges: Ints | None  # None for rows


class Transcript(NamedTuple):
    """What was counted, rows and columns in turns, and the noisy answers in rising order."""

    stretches: list[Stretch]
    noisy: Ints


def measured_total(transcript: Transcript) -> int:
    """The sum of all counts as it was measured: all answers, and the cells taken for granted.

    Columns begin where the rows before have shown all further rows to reach.
    """
    granted, count = 0, 0
    for part in transcript.stretches:
        if part.edges is not None:
            granted += (part.stop - part.start) * int(part.edges[0] - count)
            count = int(part.edges[-1])
    return int(transcript.noisy.sum()) + granted


def most_answers(groups: int) -> int:
    """No walk has more answers: a row and a strip for every group, and some."""
    return 2 * groups + SPARE
