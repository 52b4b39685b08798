"""Infer: the nearest consistent answers. Free, by anyone, as often as they like.

Reads the noisy answers and the constraints of the question, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup._kernels.prefix import prefix_on_grid
from trueup.ask import CountQueries, Question, SortedCounts, TreeCounts, UnitCounts
from trueup.errors import InputError
from trueup.measurement import Measurement, relative_weights
from trueup.release import QueryRelease, Release, SortedRelease
from trueup.uncertainty import QueryErrors, TreeErrors, tree_errors

Floats = npt.NDArray[np.float64]
AnyRelease = Release | SortedRelease | QueryRelease

_MOST_QUERIES = 4_000


def infer(measurement: Measurement) -> Any:
    """The release whose answers obey the question's constraints and are nearest in L2.

    Trees: weighted least squares in two passes (H̄). Sorted counts: isotonic regression (S̄).
    Named counts: least squares. Unit counts obey no constraints and stay as they are.

    >>> from trueup.ask import SortedCounts
    >>> infer(Measurement(SortedCounts(4), [1, 2, 0, 11], epsilon=1)).counts().tolist()
    [1.0, 1.0, 1.0, 11.0]
    """
    if not isinstance(measurement, Measurement):
        raise InputError(f"infer needs a Measurement, got {type(measurement).__name__}.")
    question = measurement.question
    about = {**measurement.about(), "inferred": "least squares"}
    if isinstance(question, (UnitCounts, TreeCounts)):
        errors = errors_of(question, measurement.block_scales, measurement.law)
        return Release.of(question.answer_axis, _cells(measurement), errors, about)
    if isinstance(question, SortedCounts):
        from trueup._kernels.isotonic import isotonic

        return SortedRelease(isotonic(measurement.noisy), measurement.block_scales[0], about)
    if isinstance(question, CountQueries):
        return _queries(measurement, question, about)
    raise InputError(f"infer does not know questions of type {type(question).__name__}.")


def errors_of(
    question: UnitCounts | TreeCounts, scales: Sequence[Fraction], law: str
) -> TreeErrors:
    """The errors of a release of this question, measured with noise of these scales."""
    if isinstance(question, UnitCounts):
        return tree_errors(question.shape, (Fraction(0), Fraction(1)), scales, law)
    return tree_errors(question.shape, question.shares, scales, law)


def _cells(measurement: Measurement) -> Floats:
    """The least-squares count of every cell."""
    question = measurement.question
    if not isinstance(question, TreeCounts):
        return np.asarray(measurement.noisy, np.float64)
    from trueup._kernels.tree import fit

    noisy, weights = node_values(measurement)
    fitted = fit(question.shape.first, noisy, weights)
    return fitted[len(fitted) - question.shape.size :]


def node_values(measurement: Measurement) -> tuple[Floats, Floats]:
    """The noisy answer and weight of every node of the tree, breadth first; 0 where not asked."""
    question = measurement.question
    assert isinstance(question, TreeCounts)
    starts = question.shape.level_starts
    noisy, weights = np.zeros(starts[-1]), np.zeros(starts[-1])
    each = relative_weights(measurement.block_scales, measurement.law)
    taken = 0
    for level, weight in zip(question.asked, each, strict=True):
        length = question.shape.length(level)
        noisy[starts[level] : starts[level + 1]] = measurement.noisy[taken : taken + length]
        weights[starts[level] : starts[level + 1]] = weight
        taken += length
    return noisy, weights


def _queries(
    measurement: Measurement, question: CountQueries, about: dict[str, Any]
) -> QueryRelease:
    if question.length > _MOST_QUERIES:
        raise InputError(
            f"Inference handles up to {_MOST_QUERIES:,} named queries, got {question.length:,}. "
            f"Ask a tree over the axis instead."
        )
    # Cells that enter the same queries cannot be told apart: one unknown stands for them all.
    matrix = np.unique(question.matrix().toarray(), axis=1)
    matrix = matrix[:, matrix.any(axis=0)]
    values, *_ = np.linalg.lstsq(matrix, measurement.noisy.astype(np.float64), rcond=None)
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    basis = left[:, sizes > sizes[0] * 1e-10]
    covariance = measurement.variances[0] * (basis @ basis.T)
    # The unknowns are put on the grid and the answers added up from them, so that they agree.
    answers = matrix @ np.diff(prefix_on_grid(values))
    return QueryRelease(answers, QueryErrors(question.names, covariance), about)


def release_errors(question: Question, scales: Sequence[Fraction], law: str) -> TreeErrors:
    """As `errors_of`, refused for questions whose release has no ranges."""
    if isinstance(question, (UnitCounts, TreeCounts)):
        return errors_of(question, scales, law)
    raise InputError(f"{type(question).__name__} has no ranges.")
