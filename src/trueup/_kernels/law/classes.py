"""Coefficients of noisy answers put together in classes, for many sums at once, compiled.

What `trueup.coefficient_classes.law_of` does for one sum, for every line of coefficients: those of
one scale that differ by less than a class's width become their root mean square, as often as they
are.
"""

from __future__ import annotations

import math

import numpy as np

from trueup._kernels.compiled import compiled
from trueup.arrays import Floats, Ints


@compiled
def classes_of_lines(
    lines: Floats, ends: Ints, scales: Floats, limits: tuple[float, float, float, float]
) -> tuple[Floats, Ints, Floats, Ints]:
    """Of each line the classes: sizes, which block they are of, how many; and how many classes.

    `ends` are where the blocks of answers end, `scales` those of their noise. `limits` are the
    width of a class as a part of the strongest noise, the most that a class is wider than its
    least, the least part that is told apart, and the part of the largest coefficient that is
    rounding.
    """
    width, widest, least, dust = limits
    knee = width / widest
    first = (1.0 - knee) / width
    bins = math.floor(first + math.log(knee / least) / widest) + 1
    room = min(bins * len(ends), lines.shape[1])
    count = lines.shape[0]
    sizes, blocks = np.zeros((count, room)), np.zeros((count, room), np.int64)
    numbers, used = np.zeros((count, room)), np.zeros(count, np.int64)
    squares, often = np.zeros(bins), np.zeros(bins)
    for row in range(count):
        largest, strongest, begin = 0.0, 0.0, 0
        for block in range(len(ends)):
            for i in range(begin, ends[block]):
                largest = max(largest, abs(lines[row, i]))
                strongest = max(strongest, abs(lines[row, i]) * scales[block])
            begin = ends[block]
        begin, place = 0, 0
        for block in range(len(ends)):
            for i in range(begin, ends[block]):
                size = abs(lines[row, i])
                if size > dust * largest:
                    part = max(size * scales[block] / strongest, least)
                    number = (1.0 - part) / width
                    if part < knee:
                        number = first + math.log(knee / part) / widest
                    at = math.floor(number)
                    squares[at] += size * size
                    often[at] += 1.0
            for at in range(bins):
                if often[at] > 0.0:
                    sizes[row, place] = math.sqrt(squares[at] / often[at])
                    blocks[row, place] = block
                    numbers[row, place] = often[at]
                    squares[at], often[at] = 0.0, 0.0
                    place += 1
            begin = ends[block]
        used[row] = place
    return sizes, blocks, numbers, used
