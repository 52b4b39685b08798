"""Rows out of an engine are read as those of a file; the engines themselves: test_people.py."""

from __future__ import annotations

import pyarrow as pa

from trueup.owner.columns import Wanted
from trueup.owner.engines.plainly import plain_batch
from trueup.owner.plain import plain

WANTED = [
    Wanted("a", "integer", "integer", "x"),
    Wanted("b", "float", "number", "y"),
    Wanted("c", "text", "text", "z"),
    Wanted("d", "time", "time", "t"),
    Wanted("e", "boolean", "boolean", "b"),
]
FOUND = {
    "x": (2**63 - 1, None), "y": (-0.0, None), "z": (b"\xff", None), "t": (-1, None),
    "b": (True, None),
}  # fmt: skip


def test_tuples_and_columns_of_arrow_become_the_same_plain_values() -> None:
    kinds = [pa.int64(), pa.float64(), pa.binary(), pa.int64(), pa.bool_()]
    arrays = {n: pa.array(v, kind) for (n, v), kind in zip(FOUND.items(), kinds, strict=True)}
    for found in (FOUND, arrays):
        batch = plain_batch(found, 2, WANTED)
        for one, first in zip(WANTED, (2**63 - 1, 0.0, b"\xff", -1, 1), strict=True):
            column = plain(batch.columns[one.name], 2, one)
            assert column.known.tolist() == [True, False]
            value = column.values[0]
            assert (value.as_py() if one.kind == "text" else value) == first
