"""Several releases of one question, each in a dataset folder, made into one: block by block.

Where the noise of all levels is in one proportion, so are the precisions of the fitted counts, and
least squares over all noisy answers is the mean of the fitted releases, by their precisions. It is
taken from their prefix sums, some million cells at a time.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup._kernels.tree.binary_grid import grid_for
from trueup.arrays import Floats
from trueup.axis import Axis
from trueup.errors import FileError, InputError
from trueup.facts import LEAST_SQUARES, Facts
from trueup.files.atomic import sync_folder, write_whole
from trueup.files.dataset import (
    BLOCKS,
    FolderPart,
    StoredPrefix,
    WrittenPart,
    check_new_folder,
    open_dataset,
    write_manifest,
)
from trueup.files.parts import BYTES_A_CELL, block_sums, number_places, part_bytes
from trueup.infer.model import AskedLevels, axis_model
from trueup.infer.tree import TreeErrors
from trueup.noise import common_law, noise_variance
from trueup.reconcile.combined import check_apart, facts_of, questions_of
from trueup.reconcile.contradiction import Compared, check_agree
from trueup.release import Release

RUN = 1 << 20  # cells that are in memory together
_SAME = 1e-9  # by which two proportions of variances may differ, relative


def combine_in_folder(parts: Sequence[Any], to: object) -> Release:
    """The least-squares release of all parts together, in a folder of its own."""
    place = check_new_folder(to)
    if place.exists():
        raise InputError(f"{place} is there already. Give the path of a new folder.")
    for part in parts:
        if not isinstance(part, Release) or not isinstance(_prefix(part), StoredPrefix):
            raise InputError(
                "to= goes with releases in folders: give what trueup.load opened, each a release "
                "over one axis. Others are reconciled in memory, without to=."
            )
    facts = [facts_of(part) for part in parts]
    check_apart(parts, facts)
    axis, errors = errors_in_folder(facts)
    check_agree(axis, [Compared(part, None) for part in parts], None)
    about = Facts.together(facts, combined=tuple(facts), inferred=LEAST_SQUARES)
    _written(place, about, [_prefix(part) for part in parts], _precisions(facts))
    prefix: Any = open_dataset(place).prefix()
    return Release((axis,), prefix, errors, about)


def _prefix(part: Release) -> Any:
    return part.unbiased.prefix


def errors_in_folder(facts: Sequence[Facts]) -> tuple[Axis, TreeErrors]:
    """The axis and the errors of releases put together; refused unless all asked one tree."""
    axis = questions_of(facts)[0].space.axes[0]
    asked = [_levels(each) for each in facts]
    if not all(_same_tree(each, asked[0]) for each in asked):
        raise InputError(
            "Releases in folders are put together where they asked the same tree; these did not."
        )
    _precisions(facts)
    each = [dict(zip(asked[0].asked, about.noise.scales, strict=True)) for about in facts]
    scales = tuple(
        tuple(own[level] for own in each if level in own) for level in range(asked[0].tree.height)
    )
    law = common_law([about.law for about in facts])
    return axis, TreeErrors(asked[0].tree, scales, law)


def _levels(about: Facts) -> AskedLevels:
    found = axis_model(about.noise).levels()
    if found is None or found.first_cells is not None:
        raise InputError("Releases in folders are put together where they asked cells or a tree.")
    return found


def _same_tree(one: AskedLevels, other: AskedLevels) -> bool:
    """Whether two questions asked the same nodes; of a hierarchy, those that begin alike."""
    if one.asked != other.asked or one.tree.height != other.tree.height:
        return False
    levels = range(one.tree.height)
    if one.tree.widths and other.tree.widths:
        return one.tree.widths == other.tree.widths
    return all(np.array_equal(one.tree.starts(k), other.tree.starts(k)) for k in levels)


def _precisions(facts: Sequence[Facts]) -> Floats:
    """The part that each release has in the mean: they add up to one."""
    variances = np.array(
        [[noise_variance(b, about.law) for b in about.noise.scales] for about in facts]
    )
    relative = variances / variances[0]
    if (np.abs(relative / relative[:, :1] - 1) > _SAME).any():
        raise InputError(
            "The noise of these releases is not in one proportion on all levels, so that their "
            "mean is not least squares. Give releases whose levels have equal shares, or the same "
            "shares and the same epsilon."
        )
    weights = 1 / relative[:, 0]
    return np.asarray(weights / weights.sum(), np.float64)


def _written(place: Path, about: Facts, prefixes: Sequence[Any], weights: Floats) -> None:
    """Writes the folder: whole, or not at all."""
    size = prefixes[0].size - 1
    need, free = BYTES_A_CELL * size, shutil.disk_usage(place.parent).free
    if need > free:
        raise InputError(
            f"This release needs {need / 1e9:,.1f} GB of disk in {place.parent}; "
            f"{free / 1e9:,.1f} GB is free."
        )
    every = [prefix.blocks.parts for prefix in prefixes]
    largest = max(float(np.abs([each.least, each.most]).max()) for each in every)
    grid = grid_for(4 * largest)
    draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    draft.mkdir(mode=0o700)
    try:
        wrote, before = list[WrittenPart](), 0.0
        for number, first in enumerate(range(0, size, RUN)):
            stop = min(first + RUN, size)
            mean = sum(
                weight * prefix[first + 1 : stop + 1]
                for prefix, weight in zip(prefixes, weights.tolist(), strict=True)
            )
            upto = np.rint(np.asarray(mean) * grid) / grid
            data = part_bytes(first, upto, before)
            part = _file(draft, f"part-{number:06d}.parquet", data)
            part = replace(part, first=first, stop=stop, begins=number_places(data))
            wrote.append(WrittenPart(part, block_sums(upto, before)))
            before = float(upto[-1])
        sums = np.concatenate([each.blocks for each in wrote])
        blocks = _file(draft, BLOCKS, sums.tobytes())
        write_manifest(draft, about, wrote, [], blocks)
        os.rename(draft, place)
    except OSError as wrong:
        raise FileError(f"Cannot make {place}: {wrong.strerror}.") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    sync_folder(place.parent)


def _file(folder: Path, name: str, data: Any) -> FolderPart:
    write_whole(folder / name, data, 0o666)
    return FolderPart(name, 0, 0, len(data), hashlib.sha256(data).hexdigest())
