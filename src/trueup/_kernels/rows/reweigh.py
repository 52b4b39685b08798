"""Multiplicative weights: a table moved towards noisy counts of boxes (Hardt and others, 2012)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trueup.arrays import Floats, Ints

_PASSES = 20  # over all boxes so far, after each new one
_FURTHEST = 50.0  # of an exponent: what is further away is met in several passes


def moved(table: Floats, starts: Ints, stops: Ints, answers: Sequence[int]) -> Floats:
    """The table after some passes over boxes and their noisy counts; its total stays."""
    table = table.copy()
    total = float(table.sum())
    boxes = [
        tuple(slice(a, b) for a, b in zip(start, stop, strict=True))
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    for _ in range(_PASSES):
        for box, answer in zip(boxes, answers, strict=True):
            step = (answer - float(table[box].sum())) / (2 * total)
            table[box] *= math.exp(min(max(step, -_FURTHEST), _FURTHEST))
            table *= total / float(table.sum())
    return table


def replayed(sizes: Sequence[int], total: int, starts: Ints, stops: Ints, answers: Ints) -> Floats:
    """The mean of the tables after each round: what the rounds of a measurement lead to."""
    table = level(sizes, total)
    mean = np.zeros(list(sizes))
    for number in range(1, len(answers) + 1):
        table = moved(table, starts[:number], stops[:number], answers[:number].tolist())
        mean += table / len(answers)
    return mean


def level(sizes: Sequence[int], total: int) -> Floats:
    """The table in which all cells are alike; of less than one record, one record."""
    return np.full(list(sizes), max(float(total), 1.0) / math.prod(sizes))
