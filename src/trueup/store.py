"""Reading back what was saved: a measurement, or a release of any kind."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from trueup.ask import TreeCounts, UnitCounts, question_from_json
from trueup.axis import Axis
from trueup.errors import FileError, InputError
from trueup.files import read
from trueup.infer import AnyRelease, errors_of
from trueup.measurement import Measurement
from trueup.reconcile.combined import errors_from
from trueup.release import QueryRelease, Release, SortedRelease
from trueup.uncertainty import QueryErrors, RangeErrors


def load(path: str | Path) -> Measurement | AnyRelease:
    """What was saved under this path, verified: a Measurement or a release.

    A damaged file, one of a newer format, or one that is not ours is refused.
    """
    kind, columns, about = read(path)
    try:
        match kind:
            case "measurement":
                return Measurement.from_file(columns, about)
            case "release":
                return _release(columns, about)
            case "sorted release":
                scale = Fraction(about["scales"][0])
                unbiased = columns.get("isotonic")
                kept = None if unbiased is None else np.asarray(unbiased)
                return SortedRelease(np.asarray(columns["count"]), scale, about, kept)
            case "query release":
                covariance = np.array(about.pop("covariance"))
                errors = QueryErrors(tuple(columns["query"]), covariance)
                unbiased = columns.get("unbiased")
                kept = None if unbiased is None else np.asarray(unbiased)
                return QueryRelease(np.asarray(columns["count"]), errors, about, kept)
    except (KeyError, TypeError, ValueError, IndexError, InputError) as wrong:
        raise FileError(f"{Path(path).name} cannot be read: {wrong}.") from None
    raise FileError(f"{Path(path).name} holds a {kind!r}, which this version does not know.")


def _release(columns: dict[str, Any], about: dict[str, Any]) -> Release:
    if "combined" in about:
        axis, errors_of_all = errors_from(about)
        return _with_errors(columns, about, axis, errors_of_all)
    question = question_from_json(about["question"])
    if not isinstance(question, (UnitCounts, TreeCounts)):
        raise FileError("The file's question has no cells.")
    scales = [Fraction(scale) for scale in about["scales"]]
    errors = errors_of(question, scales, about["law"])
    return _with_errors(columns, about, question.answer_axis, errors)


def _with_errors(
    columns: dict[str, Any], about: dict[str, Any], axis: Axis, errors: RangeErrors
) -> Release:
    prefix = _running_sums(columns["count"])
    unbiased = _running_sums(columns["unbiased"]) if "unbiased" in columns else None
    return Release(axis, prefix, errors, about, unbiased)


def _running_sums(counts: Any) -> np.ndarray[Any, np.dtype[Any]]:
    # Saved counts lie on the grid already: their running sums are exact.
    counts = np.asarray(counts)
    return np.concatenate([np.zeros(1, counts.dtype), np.cumsum(counts)])
