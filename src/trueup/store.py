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
from trueup.ask import (
    BoxCounts,
    GridCounts,
    Histogram,
    NamedCounts,
    Question,
    SortedCounts,
    YoungCounts,
    question_from_json,
)
from trueup.axis import Axis
from trueup.errors import FileError
from trueup.files import read
from trueup.grid_errors import SliceErrors
from trueup.infer import AnyRelease, errors_of, grid_errors_of
from trueup.measurement import Measurement, read_facts
from trueup.reconcile.combined import errors_from, facts_together
from trueup.release import GridRelease, MarginalRelease, QueryRelease, Release, SortedRelease
from trueup.uncertainty import QueryErrors

Columns = dict[str, Any]
About = dict[str, Any]


def load(path: str | Path) -> Measurement | AnyRelease:
    """What was saved under this path, verified: a Measurement or a release.

    A damaged file, one of a newer format, or one that is not ours is refused.
    """
    kind, columns, about = read(path)
    readers: dict[str, Callable[[Columns, About], Measurement | AnyRelease]] = {
        "measurement": Measurement.from_file,
        "release": _release,
        "sorted release": _sorted_release,
        "query release": _query_release,
        "grid release": _grid_release,
        "marginal release": _marginal_release,
    }
    if kind not in readers:
        raise FileError(f"{Path(path).name} holds a {kind!r}, which this version does not know.")
    if kind != "measurement" and not isinstance(about.get("inferred"), str):
        raise FileError(f"{Path(path).name} does not say how its answers were inferred.")
    try:
        return readers[kind](columns, about)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as wrong:
        raise FileError(f"{Path(path).name} cannot be read: {wrong}") from None


def _asked(about: About) -> tuple[Question, tuple[Fraction, ...], str]:
    """What was measured, with which noise; a release keeps no answers that could be checked."""
    question = question_from_json(about["question"])
    facts, scales = read_facts(question, about)
    return question, scales, str(facts["law"])


def _release(columns: Columns, about: About) -> Release:
    if "combined" in about:
        axis, errors = errors_from(about)
    elif "slice" in about:
        (axis,), errors = _grid_errors(about)
    else:
        question, scales, law = _asked(about)
        if not isinstance(question, Histogram):
            raise FileError("The file's question has no cells.")
        axis = question.answer_axis
        _numbers(columns["count"], axis.size)  # before anything is made for so many cells
        errors = errors_of(question, scales, law)
    prefix = _running_sums(_numbers(columns["count"], axis.size))
    unbiased = columns.get("unbiased")
    kept = None if unbiased is None else _running_sums(_numbers(unbiased, axis.size))
    return Release(axis, prefix, errors, about, kept)


def _sorted_release(columns: Columns, about: About) -> SortedRelease:
    question, scales, _ = _asked(about)
    if not isinstance(question, (SortedCounts, YoungCounts)):
        raise FileError("The file's question is not about sorted counts.")
    transcript = None
    if isinstance(question, YoungCounts):
        answers = np.array(about["answers"], np.int64)
        transcript = question.transcript(_numbers(answers, question.length))
        about = {key: value for key, value in about.items() if key != "answers"}
    fit = columns.get("isotonic")
    kept = None if fit is None else _numbers(fit, question.groups)
    counts = _numbers(columns["count"], question.groups)
    return SortedRelease(counts, scales[0], about, kept, transcript)


def _query_release(columns: Columns, about: About) -> QueryRelease:
    names = tuple(columns["query"])
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise FileError("The file's queries need names, each its own.")
    # What was typed in with its errors, and reconciled, has no question: its law is not known.
    scale: Fraction | None = None
    law = "discrete"
    if "question" in about:
        question, scales, law = _asked(about)
        if not isinstance(question, NamedCounts) or question.names != names:
            raise FileError("The file's question does not ask its queries.")
        scale = scales[0]
    covariance = np.array(about["covariance"], np.float64)
    if covariance.shape != (len(names), len(names)) or not np.isfinite(covariance).all():
        raise FileError("The file's covariance does not fit its queries.")
    facts = {key: value for key, value in about.items() if key != "covariance"}
    if "sources" in about:  # files of before have no stamp of their own
        private = bool(facts_together(about["sources"])["private"])
        if facts.setdefault("private", private) != private:
            raise FileError("The file's stamp does not follow from what it was made of.")
    unbiased = columns.get("unbiased")
    kept = None if unbiased is None else _numbers(unbiased, len(names))
    answers = _numbers(columns["count"], len(names))
    return QueryRelease(answers, QueryErrors(names, covariance, scale, law), facts, kept)


def _grid_errors(about: About) -> tuple[tuple[Axis, ...], Any]:
    """The axes that are left of a grid, and the errors of what is counted over them."""
    question, scales, law = _asked(about)
    if not isinstance(question, (GridCounts, BoxCounts)):
        raise FileError("The file's question is no grid.")
    errors = grid_errors_of(question, scales, law)
    if "slice" not in about:
        return question.axes, errors
    ends = tuple(None if span is None else (int(span[0]), int(span[1])) for span in about["slice"])
    for axis, span in zip(question.axes, ends, strict=True):
        if span is not None and not 0 <= span[0] <= span[1] <= axis.size:
            raise FileError(f"The file's slice goes past the ends of '{axis.name}'.")
    left = tuple(axis for axis, span in zip(question.axes, ends, strict=True) if span is None)
    return left, SliceErrors(errors, ends)


def _grid_release(columns: Columns, about: About) -> GridRelease:
    axes, errors = _grid_errors(about)
    sizes = [axis.size for axis in axes]
    cells = math.prod(sizes)
    shown = box_prefix(_numbers(columns["count"], cells).reshape(sizes))
    unbiased = columns.get("unbiased")
    kept = None if unbiased is None else box_prefix(_numbers(unbiased, cells).reshape(sizes))
    return GridRelease(axes, shown, errors, about, kept)


def _marginal_release(columns: Columns, about: About) -> MarginalRelease:
    question, _, _ = _asked(about)
    if not isinstance(question, BoxCounts):
        raise FileError("The file's question has no marginals.")
    return MarginalRelease(_grid_release(columns, about), question.marginal_names)


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
