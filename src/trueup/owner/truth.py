"""The filter over plain columns: which rows it is true of.

A comparison with an unknown value is neither true nor false, and NaN is unknown. Both are kept, the
rows where a part is true and those where it is false, so that `not` brings nothing unknown back.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from trueup.arrays import Bools
from trueup.owner.columns import Wanted
from trueup.owner.lazily import pa, pc
from trueup.owner.plain import Plain, known_bits
from trueup.owner.where import Comparison, Part

_SIGNS = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def kept(part: Part, columns: Mapping[str, tuple[Wanted, Plain]]) -> Bools:
    """The rows that a filter keeps; columns go by their names in the filter."""
    return _both(part, columns)[0]


def _both(part: Part, columns: Mapping[str, tuple[Wanted, Plain]]) -> tuple[Bools, Bools]:
    """Where a part is true, and where it is false."""
    if isinstance(part, Comparison):
        wanted, column = columns[part.column]
        known = ~np.isnan(column.values) if wanted.kind == "number" else column.known
        holds = _compared(part, wanted, column)
        return holds & known, ~holds & known
    inner = [_both(one, columns) for one in part.parts]
    if part.word == "not":
        return inner[0][1], inner[0][0]
    true, false = zip(*inner, strict=True)
    if part.word == "and":
        return reduce(np.logical_and, true), reduce(np.logical_or, false)
    return reduce(np.logical_or, true), reduce(np.logical_and, false)


def _compared(part: Comparison, wanted: Wanted, column: Plain) -> Bools:
    """Whether a comparison holds; where the value is unknown, anything."""
    if wanted.kind == "text":
        found = _among(column.values, part.values)
        return ~found if part.sign == "!=" else found
    x = column.values
    if part.sign == "in":
        return reduce(np.logical_or, (x == value for value in part.values))
    if part.sign == "between":
        low, high = part.values
        return (x >= low) & (x <= high)
    return _SIGNS[part.sign](x, part.values[0])


def _among(column: Any, texts: tuple[Any, ...]) -> Bools:
    """Which values of a column of bytes are one of these texts, byte for byte."""
    values = pa.array([text.encode() for text in texts], pa.large_binary())
    return known_bits(pc.index_in(column, value_set=values))
