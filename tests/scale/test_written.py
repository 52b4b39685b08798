"""Parts and their manifest say what the sums were, to every tool and block by block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueup as tu
from trueup.facts import LEAST_SQUARES, Facts
from trueup.files.dataset import open_dataset
from trueup.scale.store import AnswerStore
from trueup.scale.written import described, write_sums

SIZE, CUT = 40_000, 17_001  # neither a whole number of blocks of 2^14


@pytest.mark.parametrize("shown", [True, False])
def test_a_folder_tells_the_sums_it_was_made_of(shown: bool, tmp_path: Path) -> None:
    rng, store = np.random.default_rng(5), AnswerStore(tmp_path / "out.partial")
    whole, real = rng.integers(0, 9, SIZE), rng.integers(-400, 900, SIZE) / 128
    sums = {name: np.append(0, np.cumsum(each)) for name, each in (("w", whole), ("r", real))}
    store.begin({})
    wrote = []
    for number, (first, stop) in enumerate(((0, CUT), (CUT, SIZE))):
        upto = {name: (each[first + 1 : stop + 1], each[first]) for name, each in sums.items()}
        beside = upto["r"] if shown else None
        own = upto["w"] if shown else upto["r"]
        wrote.append(write_sums(store, number, first, *own, beside))
    facts = Facts.of(tu.TreeCounts(SIZE), 1).made("shown" if shown else LEAST_SQUARES)
    files = described(store, facts, wrote, [])
    assert [each.file for each in files] == ["blocks.float64", "unbiased-blocks.float64"][
        : 1 + shown
    ]
    table = pl.read_parquet(store.public / "part-*.parquet")
    assert (table["cell"].to_numpy() == np.arange(SIZE)).all()
    assert (table["count"].to_numpy() == (whole if shown else real)).all()
    if shown:
        assert (table["unbiased"].to_numpy() == real).all()
    found = open_dataset(store.public)
    found.verify()
    both: list[tuple[Any, Any]] = [(found.prefix(), sums["w"] if shown else sums["r"])]
    both += [(found.unbiased_prefix(), sums["r"])] if shown else []
    for prefix, expected in both:
        assert (prefix[:] == expected).all()
        every = [prefix.blocks.inside(part) for part in range(len(wrote))]
        assert sum(blocks.lengths.sum() for blocks in every) == SIZE
        for blocks in (prefix.blocks.parts, *every):  # parts as a whole, and the blocks of each
            for k, (start, length) in enumerate(zip(blocks.starts, blocks.lengths, strict=True)):
                block = expected[start + 1 : start + length + 1]
                assert blocks.before[k] == expected[start]
                assert blocks.above[k] == pytest.approx((block - expected[start]).sum())
                assert (blocks.least[k], blocks.most[k]) == (block.min(), block.max())
