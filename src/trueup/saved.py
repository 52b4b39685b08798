"""Releases, read back from files: the counts as they were saved, and their errors made again."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from trueup.axis import Axis
from trueup.errors import FileError, InputError, shown
from trueup.facts import LEAST_SQUARES, Facts
from trueup.files import load as files
from trueup.files.dataset import ReleaseFolder, open_dataset
from trueup.files.load import Saved, finite, reads
from trueup.files.stored_table import StoredTable
from trueup.infer import errors_of
from trueup.infer.unions import UnionErrors, tree_of_lines
from trueup.keys import KeyMeasurement, KeyRelease, PrefixMeasurement, PrefixRelease
from trueup.law import QueryErrors
from trueup.release import NamedRelease, Release, SortedRelease, reweighted
from trueup.release.boxes import prefix_of
from trueup.release.slices import SliceErrors

__all__ = ["load"]

Expected = TypeVar("Expected")


@overload
def load(path: str | Path) -> Any: ...


@overload
def load(path: str | Path, expected: type[Expected]) -> Expected: ...


def load(path: str | Path, expected: type[Any] | None = None) -> Any:
    """What was saved under this path, verified: a `Measurement`, or a release.

    A dataset folder, as `publish(…, to="folder/")` makes it, gives a `Release` whose counts stay on
    the disk: a range reads two pages of it.

    `expected` says which, such as `tu.Release`: a file of anything else is then refused, and type
    checkers know what comes back. A damaged file, one of a newer format, or one that trueup did
    not write is refused.
    """
    if expected is not None and not isinstance(expected, type):
        raise InputError(
            f"expected is a type such as Release or Measurement, got {shown(expected)}."
        )
    folder = isinstance(path, (str, os.PathLike)) and os.path.isdir(path)
    found = _folder(path) if folder else files.load(path)
    if expected is not None and not isinstance(found, expected):
        raise FileError(
            f"{Path(path).name} holds a {type(found).__name__}, not a {expected.__name__}."
        )
    return found


def _folder(path: str | Path) -> Release:
    """The release in a dataset folder: its prefix sums stay on the disk."""
    dataset = open_dataset(path)
    facts = dataset.facts
    if facts.combined:
        return _combined(dataset, facts)
    axes = facts.noise.question.space.answer_axes
    if math.prod(axis.size for axis in axes) != dataset.size:
        raise FileError(f"The counts in {path} are not those of its question.")
    if (facts.inferred == LEAST_SQUARES) != (dataset.unbiased_blocks is None):
        raise FileError(f"The counts in {path} are not made as its facts say.")
    if tree_of_lines(facts.noise.question) is not None:
        return _table(dataset, facts)
    if len(axes) != 1:
        raise FileError(f"The counts in {path} are not those of its question.")
    prefix: Any = dataset.prefix()
    unbiased: Any = dataset.unbiased_prefix()
    return Release(axes, prefix, errors_of(facts.noise), facts, unbiased)


def _combined(dataset: ReleaseFolder, facts: Facts) -> Release:
    """The release of several put together in a folder."""
    from trueup.reconcile.folders import errors_in_folder

    axis, errors = errors_in_folder(facts.combined)
    if axis.size != dataset.size:
        raise FileError(f"The counts in {dataset.folder} are not those of its question.")
    prefix: Any = dataset.prefix()
    return Release((axis,), prefix, errors, facts)


def _table(dataset: ReleaseFolder, facts: Facts) -> Release:
    """The release of a table in a folder; counts made to be shown have the unbiased ones beside."""
    axes = facts.noise.question.space.axes
    sizes = axes[0].size, axes[1].size
    own: Any = StoredTable(dataset.prefix(), sizes)
    beside = dataset.unbiased_prefix()
    unbiased: Any = None if beside is None else StoredTable(beside, sizes)
    return Release(axes, own, UnionErrors.of(facts.noise), facts, unbiased)


def _inferred(saved: Saved) -> Facts:
    if saved.facts.inferred is None:
        raise FileError("it does not say how its answers were inferred.")
    return saved.facts


def _release(saved: Saved) -> Release:
    facts = _inferred(saved)
    if facts.combined:
        from trueup.reconcile.combined import errors_from

        axis, found = errors_from(facts)
        axes: tuple[Axis, ...] = (axis,)
        errors: Any = found
    else:
        axes = _left(facts)
        # Checked before anything is made for so many cells.
        saved.numbers("count", math.prod(axis.size for axis in axes))
        errors = errors_of(facts.noise)
        if facts.slice is not None:
            errors = SliceErrors(errors, facts.slice)
    sizes = [axis.size for axis in axes]
    shown = saved.numbers("count", math.prod(sizes))
    unbiased = saved.kept("unbiased", math.prod(sizes))
    own = None if unbiased is None else _sums(unbiased, sizes)
    if len(axes) == 1 and facts.slice is None:
        errors = errors.given(_sums(shown, sizes) if own is None else own)
    margins = () if facts.question is None or facts.slice else facts.question.space.margins
    return Release(axes, _sums(shown, sizes), errors, facts, own, margins)


def _left(facts: Facts) -> tuple[Axis, ...]:
    """The axes that are left of those asked."""
    space = facts.noise.question.space
    if facts.slice is None:
        return space.answer_axes
    for axis, span in zip(space.axes, facts.slice, strict=True):
        if span is not None and not 0 <= span[0] <= span[1] <= axis.size:
            raise FileError(f"The file's slice goes past the ends of '{axis.name}'.")
    return tuple(a for a, span in zip(space.axes, facts.slice, strict=True) if span is None)


def _sums(counts: npt.NDArray[Any], sizes: list[int]) -> npt.NDArray[Any]:
    if len(sizes) > 1:
        return prefix_of(counts.reshape(sizes))
    # Saved counts lie on the grid already: their running sums are exact.
    return np.concatenate([np.zeros(1, counts.dtype), np.cumsum(counts)])


def _sorted_release(saved: Saved) -> SortedRelease:
    facts = _inferred(saved)
    question: Any = facts.noise.question
    if question.space.kind != "ranks":
        raise FileError("The file's question is not about sorted counts.")
    transcript = None
    if "answers" in saved.beside:
        answers = np.array(saved.beside["answers"], np.int64)
        transcript = question.transcript(finite(answers, question.length))
    groups = question.space.groups
    counts, fit = saved.numbers("count", groups), saved.kept("isotonic", groups)
    return SortedRelease(counts, facts.noise.scales[0], facts, fit, transcript)


def _named_release(saved: Saved) -> NamedRelease:
    facts, names = _inferred(saved), tuple(saved.columns["query"])
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise FileError("The file's queries need names, each its own.")
    # What was typed in with its errors, and reconciled, has no question: its law is not known.
    scale = None
    if facts.question is not None:
        if facts.question.space.names != names:
            raise FileError("The file's question does not ask its queries.")
        scale = facts.noise.scales[0]
    covariance = np.array(saved.beside["covariance"], np.float64)
    if covariance.shape != (len(names), len(names)) or not np.isfinite(covariance).all():
        raise FileError("The file's covariance does not fit its queries.")
    answers, own = saved.numbers("count", len(names)), saved.kept("unbiased", len(names))
    return NamedRelease(answers, QueryErrors(names, covariance, scale, facts.law), facts, own)


for _kind in ("release", "grid release", "marginal release"):
    reads(_kind, _release)
reads("sorted release", _sorted_release)
reads(reweighted.KIND, lambda saved: reweighted.read(saved.columns, saved.beside))
reads("query release", _named_release)
reads("key measurement", KeyMeasurement.from_saved)
reads("key release", KeyRelease.from_saved)
reads("prefix measurement", PrefixMeasurement.from_saved)
reads("prefix release", PrefixRelease.from_saved)
