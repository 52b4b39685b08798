"""Reading back what was saved: a measurement, or a release of any kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.display.boxes import box_prefix
from trueup.ask import BoxCounts, NamedCounts, SortedCounts
from trueup.axis import Axis
from trueup.errors import FileError
from trueup.facts import Facts
from trueup.files import read
from trueup.grid_errors import SliceErrors
from trueup.infer import AnyRelease, errors_of, grid_errors_of
from trueup.measurement import Measurement
from trueup.reconcile.combined import errors_from
from trueup.release import GridRelease, MarginalRelease, QueryRelease, Release, SortedRelease
from trueup.uncertainty import QueryErrors

Columns = dict[str, Any]
Extra = dict[str, Any]
"""What the metadata of a file holds beside the facts: a covariance, answers."""


def load(path: str | Path) -> Measurement | AnyRelease:
    """What was saved under this path, verified: a Measurement or a release.

    A damaged file, one of a newer format, or one that is not ours is refused.
    """
    kind, columns, about = read(path)
    name = Path(path).name
    readers: dict[str, Callable[[Columns, Facts, Extra], AnyRelease]] = {
        "release": _release,
        "sorted release": _sorted_release,
        "query release": _query_release,
        "grid release": _grid_release,
        "marginal release": _marginal_release,
    }
    if kind != "measurement" and kind not in readers:
        raise FileError(f"{name} holds a {kind!r}, which this version does not know.")
    try:
        facts = Facts.from_json(about)
        if kind == "measurement":
            return Measurement.from_facts(facts, columns.get("noisy"))
        if facts.inferred is None:
            raise FileError("it does not say how its answers were inferred.")
        return readers[kind](columns, facts, about)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as wrong:
        raise FileError(f"{name} cannot be read: {wrong}") from None


def _release(columns: Columns, facts: Facts, extra: Extra) -> Release:
    if facts.combined:
        axis, errors = errors_from(facts)
    elif facts.slice is not None:
        (axis,), errors = _grid_errors(facts)
    else:
        axis = facts.noise.question.space.check_one_axis()
        _numbers(columns["count"], axis.size)  # before anything is made for so many cells
        errors = errors_of(facts.noise)
    prefix = _running_sums(_numbers(columns["count"], axis.size))
    unbiased = columns.get("unbiased")
    kept = None if unbiased is None else _running_sums(_numbers(unbiased, axis.size))
    return Release(axis, prefix, errors, facts, kept)


def _sorted_release(columns: Columns, facts: Facts, extra: Extra) -> SortedRelease:
    question = facts.question
    if not isinstance(question, SortedCounts):
        raise FileError("The file's question is not about sorted counts.")
    transcript = None
    if question.adaptive:
        answers = np.array(extra["answers"], np.int64)
        transcript = question.transcript(_numbers(answers, question.length))
    fit = columns.get("isotonic")
    kept = None if fit is None else _numbers(fit, question.groups)
    counts = _numbers(columns["count"], question.groups)
    return SortedRelease(counts, facts.noise.scales[0], facts, kept, transcript)


def _query_release(columns: Columns, facts: Facts, extra: Extra) -> QueryRelease:
    names = tuple(columns["query"])
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise FileError("The file's queries need names, each its own.")
    # What was typed in with its errors, and reconciled, has no question: its law is not known.
    scale: Fraction | None = None
    if facts.question is not None:
        if not isinstance(facts.question, NamedCounts) or facts.question.names != names:
            raise FileError("The file's question does not ask its queries.")
        scale = facts.noise.scales[0]
    covariance = np.array(extra["covariance"], np.float64)
    if covariance.shape != (len(names), len(names)) or not np.isfinite(covariance).all():
        raise FileError("The file's covariance does not fit its queries.")
    unbiased = columns.get("unbiased")
    kept = None if unbiased is None else _numbers(unbiased, len(names))
    answers = _numbers(columns["count"], len(names))
    return QueryRelease(answers, QueryErrors(names, covariance, scale, facts.law), facts, kept)


def _grid_errors(facts: Facts) -> tuple[tuple[Axis, ...], Any]:
    """The axes that are left of a grid, and the errors of what is counted over them."""
    axes = facts.noise.question.space.axes
    if len(axes) < 2:
        raise FileError("The file's question is no grid.")
    errors = grid_errors_of(facts.noise)
    if facts.slice is None:
        return axes, errors
    for axis, span in zip(axes, facts.slice, strict=True):
        if span is not None and not 0 <= span[0] <= span[1] <= axis.size:
            raise FileError(f"The file's slice goes past the ends of '{axis.name}'.")
    left = tuple(axis for axis, span in zip(axes, facts.slice, strict=True) if span is None)
    return left, SliceErrors(errors, facts.slice)


def _grid_release(columns: Columns, facts: Facts, extra: Extra) -> GridRelease:
    axes, errors = _grid_errors(facts)
    sizes = [axis.size for axis in axes]
    cells = math.prod(sizes)
    shown = box_prefix(_numbers(columns["count"], cells).reshape(sizes))
    unbiased = columns.get("unbiased")
    kept = None if unbiased is None else box_prefix(_numbers(unbiased, cells).reshape(sizes))
    return GridRelease(axes, shown, errors, facts, kept)


def _marginal_release(columns: Columns, facts: Facts, extra: Extra) -> MarginalRelease:
    question = facts.question
    if not isinstance(question, BoxCounts):
        raise FileError("The file's question has no marginals.")
    return MarginalRelease(_grid_release(columns, facts, extra), question.marginal_names)


def _numbers(column: Any, length: int) -> npt.NDArray[Any]:
    """A column of finite numbers, one a cell."""
    numbers = np.asarray(column)
    if numbers.dtype.kind not in "if" or numbers.shape != (length,):
        raise FileError(f"The file needs {length:,} numbers in a column.")
    if not np.isfinite(numbers).all():
        raise FileError("The file holds counts that are not finite.")
    return numbers


def _running_sums(counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # Saved counts lie on the grid already: their running sums are exact.
    return np.concatenate([np.zeros(1, counts.dtype), np.cumsum(counts)])
