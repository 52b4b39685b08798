"""Neighbours: pairs of made-up inputs that one record sets apart, and which of them tells most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.arrays import Floats
from trueup.audit.bound import promised
from trueup.audit.claim import Claim
from trueup.errors import InputError

Run = Callable[[Any, int], Floats]
_PLACES = 8  # cells, or records, that are tried


@dataclass(frozen=True)
class Pair:
    """Two neighbouring inputs, and in words what sets them apart."""

    first: Any
    second: Any
    words: str


def neighbours_of_counts(counts: Sequence[int], relation: str = "add-remove") -> list[Pair]:
    """Pairs of counts: a record more or less here and there; replaced, one moved.

    Also of no records at all, and of many: some mechanisms fail only there.

    >>> [pair.second for pair in neighbours_of_counts([1, 0])][:2]
    [[2, 0], [0, 0]]
    """
    base = [int(count) for count in counts]
    if any(count < 0 for count in base) or not base:
        raise InputError("Counts must be whole numbers of at least 0, one or more.")
    cells = _places(len(base))
    found = []
    for start, name in ((base, "these counts"), ([0] * len(base), "no records")):
        for cell in cells:
            if relation == "add-remove":
                found.append(Pair(start, _moved(start, cell), f"{name}, one more in cell {cell}"))
                if start[cell]:
                    less = _moved(start, cell, -1)
                    found.append(Pair(start, less, f"{name}, one less in cell {cell}"))
        if relation == "replace":
            held = [cell for cell in cells if start[cell]]
            found += [
                Pair(start, _moved(_moved(start, a, -1), b), f"{name}, one from {a} to {b}")
                for a in held
                for b in cells
                if a != b
            ]
    if relation == "replace" and not found:
        raise InputError("Nothing can be replaced: all counts are 0, or there is one cell.")
    return found


def neighbours_of_records(records: Sequence[Any], relation: str = "add-remove") -> list[Pair]:
    """Pairs of lists of records: one left out; replaced, one made another of the list."""
    rows = list(records)
    if not rows:
        raise InputError("A list of records needs at least one of them.")
    found = []
    for place in _places(len(rows)):
        rest = rows[:place] + rows[place + 1 :]
        if relation == "add-remove":
            found.append(Pair(rows, rest, f"record {place} left out"))
        else:
            other = rows[(place + len(rows) // 2) % len(rows)]
            if other != rows[place]:
                made = [*rows[:place], other, *rows[place + 1 :]]
                found.append(Pair(rows, made, f"record {place} made another"))
    if not found:
        raise InputError("All records are alike: replacing one changes nothing.")
    return found


def _places(size: int) -> list[int]:
    return sorted(set(np.linspace(0, size - 1, _PLACES).astype(int).tolist()))


def _moved(counts: list[int], cell: int, by: int = 1) -> list[int]:
    return [count + by * (place == cell) for place, count in enumerate(counts)]


def most_telling(
    run: Run, pairs: Sequence[Pair], claim: Claim, draws: int, told: Callable[[Pair], None]
) -> tuple[Pair, list[float]]:
    """The pair whose outputs differ most, from some draws of each; and what each promised.

    Only a choice: what is proved of it is proved on fresh draws.
    """
    best = []
    for pair in pairs:
        told(pair)
        best.append(promised(run, pair.first, pair.second, claim, draws))
    return pairs[int(np.argmax(best))], best
