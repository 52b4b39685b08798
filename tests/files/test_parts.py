"""A part is plain Parquet: any reader has its counts, and numbers lie where the places say."""

from __future__ import annotations

import io

import numpy as np
import pyarrow.parquet as pq
import pytest

from trueup.files import parts
from trueup.files.parts import UNBIASED, block_sums, number_places, part_bytes


def test_a_part_holds_both_versions_and_every_number_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "ROWS", 100)
    rng = np.random.default_rng(4)
    counts, unbiased = rng.integers(0, 9, 950), rng.normal(0, 3, 950)
    upto, sums = 70 + np.cumsum(counts), 4.5 + np.cumsum(unbiased)
    data = bytes(part_bytes(30, upto, 70, (sums, 4.5)))
    table = pq.read_table(io.BytesIO(data))
    assert table.column_names == ["cell", "count", "upto", "unbiased", "unbiased_upto"]
    assert [str(kind) for kind in table.schema.types] == ["int64"] * 3 + ["double"] * 2
    assert table["cell"].to_pylist() == list(range(30, 980))
    assert np.array_equal(table["count"], counts)
    assert np.array_equal(table["upto"], upto)
    assert np.array_equal(table["unbiased_upto"], sums)
    assert np.abs(np.asarray(table["unbiased"]) - unbiased).max() < 1e-9
    first = pq.read_metadata(io.BytesIO(data)).row_group(0)
    about = [first.column(place) for place in range(first.num_columns)]
    assert [each.path_in_schema for each in about if each.is_stats_set] == ["cell", "upto"]
    for column, numbers in (("upto", upto), (UNBIASED, sums)):
        places = number_places(data, column)
        assert len(places) == 10
        for group, place in enumerate(places):
            own = numbers[100 * group : 100 * group + 100]
            assert data[place : place + own.nbytes] == own.tobytes()


def test_the_blocks_of_whole_counts_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "BLOCK", 10)
    upto = 5 + np.cumsum(np.random.default_rng(6).integers(0, 9, 95))
    found = block_sums(upto, 5)
    for k, row in enumerate(found):
        own = upto[10 * k : 10 * k + 10]
        before = 5 if k == 0 else int(upto[10 * k - 1])
        assert row.tolist() == [before, (own - before).sum(), own.min(), own.max()]
