"""The parts of a dataset folder that is being made, and the manifest that names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats
from trueup.facts import Facts
from trueup.files.dataset import (
    BLOCKS,
    UNBIASED_BLOCKS,
    FolderPart,
    WrittenPart,
    write_manifest,
)
from trueup.files.parts import UNBIASED, block_sums, number_places, part_bytes
from trueup.scale.store import AnswerStore


def write_sums(
    store: AnswerStore,
    number: int,
    first: int,
    upto: npt.NDArray[Any],
    before: float,
    unbiased: tuple[Floats, float] | None = None,
) -> WrittenPart:
    """Writes a part from the sums up to its cells and the one before; unbiased ones beside."""
    data = part_bytes(first, upto, before, unbiased)
    made = store.write(f"part-{number:06d}.parquet", data)
    made = replace(made, first=first, stop=first + len(upto), begins=number_places(data))
    if unbiased is None:
        return WrittenPart(made, block_sums(upto, before))
    made = replace(made, unbiased=number_places(data, UNBIASED))
    return WrittenPart(made, block_sums(upto, before), block_sums(*unbiased))


def described(
    store: AnswerStore, facts: Facts, wrote: Sequence[WrittenPart], answers: Sequence[FolderPart]
) -> list[FolderPart]:
    """Writes what is kept of every block, and the manifest; the files of blocks."""
    files = [_blocks(store, BLOCKS, [each.blocks for each in wrote])]
    beside = [each.unbiased for each in wrote if each.unbiased is not None]
    if beside:
        files.append(_blocks(store, UNBIASED_BLOCKS, beside))
    write_manifest(store.public, facts, wrote, answers, *files)
    return files


def _blocks(store: AnswerStore, name: str, sums: Sequence[Floats]) -> FolderPart:
    return store.write(name, np.concatenate(sums).tobytes())
