"""Reading back what was saved: a measurement, or a release of any kind."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.ask import (
    CountQueries,
    HaarCounts,
    SortedCounts,
    TreeCounts,
    UnitCounts,
    question_from_json,
)
from trueup.errors import FileError
from trueup.files import read
from trueup.infer import AnyRelease, errors_of
from trueup.measurement import Measurement
from trueup.reconcile.combined import errors_from
from trueup.release import QueryRelease, Release, SortedRelease
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
    }
    if kind not in readers:
        raise FileError(f"{Path(path).name} holds a {kind!r}, which this version does not know.")
    try:
        return readers[kind](columns, about)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as wrong:
        raise FileError(f"{Path(path).name} cannot be read: {wrong}") from None


def _asked(about: About) -> Measurement:
    """What was measured, its facts checked; its answers, which a release does not keep, are 0."""
    question = question_from_json(about["question"])
    return Measurement.from_facts(question, np.zeros(question.length, np.int64), about)


def _release(columns: Columns, about: About) -> Release:
    if "combined" in about:
        axis, errors = errors_from(about)
    else:
        asked = _asked(about)
        if not isinstance(asked.question, (UnitCounts, TreeCounts, HaarCounts)):
            raise FileError("The file's question has no cells.")
        axis = asked.question.answer_axis
        errors = errors_of(asked.question, asked.block_scales, asked.law)
    prefix = _running_sums(_numbers(columns["count"], axis.size))
    unbiased = columns.get("unbiased")
    kept = None if unbiased is None else _running_sums(_numbers(unbiased, axis.size))
    return Release(axis, prefix, errors, about, kept)


def _sorted_release(columns: Columns, about: About) -> SortedRelease:
    asked = _asked(about)
    if not isinstance(asked.question, SortedCounts):
        raise FileError("The file's question is not about sorted counts.")
    length = asked.question.length
    fit = columns.get("isotonic")
    kept = None if fit is None else _numbers(fit, length)
    return SortedRelease(_numbers(columns["count"], length), asked.block_scales[0], about, kept)


def _query_release(columns: Columns, about: About) -> QueryRelease:
    names = tuple(columns["query"])
    # What was typed in with its errors, and reconciled, has no question: its law is not known.
    scale: Fraction | None = None
    law = "discrete"
    if "question" in about:
        asked = _asked(about)
        if not isinstance(asked.question, CountQueries) or asked.question.names != names:
            raise FileError("The file's question does not ask its queries.")
        scale, law = asked.block_scales[0], str(asked.law)
    covariance = np.array(about["covariance"], np.float64)
    if covariance.shape != (len(names), len(names)) or not np.isfinite(covariance).all():
        raise FileError("The file's covariance does not fit its queries.")
    facts = {key: value for key, value in about.items() if key != "covariance"}
    unbiased = columns.get("unbiased")
    kept = None if unbiased is None else _numbers(unbiased, len(names))
    answers = _numbers(columns["count"], len(names))
    return QueryRelease(answers, QueryErrors(names, covariance, scale, law), facts, kept)


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
