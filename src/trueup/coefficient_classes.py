"""Classes of coefficients: the law of a sum of many noises, those put together that are alike.

An answer may have thousands of coefficients. What is alike counts as one class, so that its law is
found in the time of a few, and hardly moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from trueup.arrays import Floats
from trueup.law import NoiseLaw
from trueup.noise import GAUSSIAN

_CLASS_WIDTH = 0.01  # noises whose parts differ by one percent of the largest are one class
_WIDEST = 0.5  # but none is so much wider than its least coefficient
_LEAST = 1e-7  # and those below this part of the largest are another
_ATOMS = 0.5  # noise of a smaller scale is mostly 0, and where it is not, each value shows
_NARROW = 0.0001  # then those of a class are as near as this, however small
_DUST = 1e-13  # what rounding leaves where a coefficient is 0


def class_limits(
    scales: Sequence[Fraction], law: str = "discrete"
) -> tuple[float, float, float, float] | None:
    """How wide classes of coefficients are, the least that is told apart, and what is left out.

    None where noise is mostly 0, so that every value of it shows.
    """
    atoms = min(map(partial(_width, law=law), scales), default=1) < _ATOMS
    return None if atoms else (_CLASS_WIDTH, _WIDEST, _LEAST, _DUST)


def _class_numbers(part: Floats) -> Floats:
    """Numbers that rise by one from class to class as the part of the strongest falls."""
    knee = _CLASS_WIDTH / _WIDEST
    small = (1 - knee) / _CLASS_WIDTH + np.log(knee / np.minimum(part, knee)) / _WIDEST
    return np.where(part < knee, small, (1 - part) / _CLASS_WIDTH)


def _width(scale: Fraction, law: str) -> float:
    """How wide noise is: its scale, and of Gaussian noise σ."""
    return math.sqrt(scale) if law in GAUSSIAN else float(scale)


def law_of(
    coefficients: Sequence[Floats],
    scales: Sequence[Fraction],
    law: str,
    counts: Sequence[Floats] | None = None,
) -> NoiseLaw:
    """The law of Σ coefficient · noise, from the coefficients of each block of answers.

    With `counts`, so many answers of the block have each coefficient.

    Coefficients of a scale are put together as their root mean square: the variance stays what it
    is. What a class changes is the fourth moment, by its width squared, and the part of a noise in
    that goes as the fourth power of coefficient · scale. So where these differ by less than a
    percent of the largest of all, the tails move by less than a part in ten thousand: classes may
    be the wider, the smaller what is in them. Noise that is mostly 0 adds up to few values, and an
    interval may end just past one of them: there classes are narrower, and intervals wider by as
    much.
    """
    largest = max((float(np.abs(block).max(initial=0.0)) for block in coefficients), default=0.0)
    strongest = max(
        (
            float(np.abs(block).max(initial=0.0)) * _width(scale, law)
            for block, scale in zip(coefficients, scales, strict=True)
        ),
        default=0.0,
    )
    limits = class_limits(scales, law)
    atoms = limits is None
    width, _, least, _ = limits or (_NARROW, 0.0, _DUST, _DUST)
    found = []
    every = [np.ones(len(block)) for block in coefficients] if counts is None else counts
    for block, scale, often in zip(coefficients, scales, every, strict=True):
        size = np.abs(block)
        often = often[size > _DUST * largest]
        size = size[size > _DUST * largest]
        if atoms:
            kind = np.floor(np.log(np.maximum(size / largest, least)) / width)
        else:
            kind = np.floor(
                _class_numbers(np.maximum(size * _width(scale, law) / strongest, least))
            )
        at = (kind - kind.min(initial=0.0)).astype(np.int64)
        number = np.bincount(at, often)
        squares = np.bincount(at, often * size * size)
        some = number > 0
        root = np.sqrt(squares[some] / number[some])
        found.append((root, np.full(len(root), float(scale)), number[some]))
    roots, each, numbers = (np.concatenate(part) for part in zip(*found, strict=True))
    return NoiseLaw(roots, each, numbers, law, widened=width if atoms else 0.0)
