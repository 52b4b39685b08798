"""The numbers kept of a part are those of its blocks together; what was edited is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueup.errors import FileError
from trueup.files import parts
from trueup.files.parts import block_sums
from trueup.files.stored_blocks import PartBlocks, StoredBlocks, block_lengths


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Any, StoredBlocks]:
    """Prefix sums in three parts with blocks of 8 cells, the file of these, and what is stored."""
    monkeypatch.setattr(parts, "BLOCK", 8)
    upto = np.cumsum(np.random.default_rng(1).integers(-5, 9, 100) / 4)
    plain, said, every = np.append(0.0, upto), [], []
    for first, stop in ((0, 40), (40, 41), (41, 100)):
        sums = block_sums(upto[first:stop], float(plain[first]))
        said.append(PartBlocks.of(sums, block_lengths(stop - first, 8)))
        every.append(sums)
    file = tmp_path / "blocks"
    file.write_bytes(np.concatenate(every).tobytes())
    return file, plain, StoredBlocks(file, np.array([40, 41, 100]), said, 8)


def test_numbers_of_parts_and_of_their_blocks_are_those_of_their_cells(made: Any) -> None:
    _, plain, stored = made
    each = [stored.inside(part) for part in range(3)]
    assert [len(one.starts) for one in each] == [5, 1, 8]
    for blocks in (stored.parts, *each):
        for k, (start, length) in enumerate(zip(blocks.starts, blocks.lengths, strict=True)):
            own = plain[start + 1 : start + length + 1]
            assert blocks.before[k] == plain[start]
            assert blocks.above[k] == (own - plain[start]).sum()  # quarters: sums are exact
            assert (blocks.least[k], blocks.most[k]) == (own.min(), own.max())
    assert np.concatenate([one.lengths for one in each]).sum() == 100


def test_only_the_blocks_of_one_part_are_read_and_every_bit_of_them_is_checked(made: Any) -> None:
    file, _, stored = made
    data = file.read_bytes()
    for byte in range(len(data)):
        part = 0 if byte < 5 * 32 else 1 if byte < 6 * 32 else 2
        wrong = bytearray(data)
        wrong[byte] ^= 1
        file.write_bytes(bytes(wrong))
        fresh = StoredBlocks(file, stored.stops, stored.said, 8)
        for other in {0, 1, 2} - {part}:
            fresh.inside(other)
        with pytest.raises(FileError, match="damaged"):
            fresh.inside(part)
    file.unlink()
    with pytest.raises(FileError, match="damaged"):
        StoredBlocks(file, stored.stops, stored.said, 8).inside(0)


def test_a_manifest_that_says_another_sum_of_a_part_is_refused(made: Any) -> None:
    file, _, stored = made
    for place in range(4):
        sums = list(stored.said[2].sums)
        sums[place] += 0.25
        said = [*stored.said[:2], PartBlocks(tuple(sums), stored.said[2].sha256)]
        with pytest.raises(FileError, match="damaged"):
            StoredBlocks(file, stored.stops, said, 8).inside(2)


@pytest.mark.parametrize("lacking", [1, 32, 8 * 32])
def test_a_file_cut_short_is_refused_though_a_manifest_agrees_with_it(
    made: Any, lacking: int
) -> None:
    file, _, stored = made
    data = file.read_bytes()[:-lacking]
    file.write_bytes(data)
    sha256 = hashlib.sha256(data[6 * 32 :]).hexdigest()
    said = [*stored.said[:2], PartBlocks(stored.said[2].sums, sha256)]
    with pytest.raises(FileError, match="damaged"):
        StoredBlocks(file, stored.stops, said, 8).inside(2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sums": [0.0, 1.0, 2.0], "sha256": ""},
        {"sums": [0.0, 1.0, 2.0, 3], "sha256": ""},
        {"sums": [0.0, 1.0, 2.0, float("nan")], "sha256": ""},
        {"sums": [0.0, 1.0, 2.0, 3.0], "sha256": 1},
        {"sums": [0.0, 1.0, 2.0, 3.0], "sha256": "", "more": 1},
    ],
)
def test_what_cannot_be_four_numbers_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        PartBlocks.from_json(wrong)
