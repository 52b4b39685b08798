"""Hats, strategies and wavelets together with whatever else was asked of the same axis.

Their answers are weighted sums of cells, no differences of prefix sums, so there are no springs:
all rows of all questions make one matrix, and least squares is that of a strategy.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from trueup.arrays import Floats
from trueup.ask import Question
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.facts import Facts
from trueup.infer.least_squares import MatrixErrors
from trueup.measurement import Measurement
from trueup.noise import common_law
from trueup.release import Release

MOST_CELLS = 4_096


def stacked_errors(
    questions: Sequence[Question], parts: Sequence[Facts]
) -> tuple[Axis, MatrixErrors]:
    """The axis that all questions share, and the errors of least squares on all their answers."""
    from scipy.sparse import csr_array, vstack

    (axis,) = questions[0].space.axes
    if axis.size > MOST_CELLS:
        raise InputError(
            f"Hats, strategies and wavelets are combined with others up to {MOST_CELLS:,} cells; "
            f"'{axis.name}' has {axis.size:,}. Trees and cells can be combined at any size."
        )
    lengths: list[int] = []
    scales: list[Fraction] = []
    for facts in parts:
        lengths += facts.noise.lengths
        scales += facts.noise.scales
    law = common_law([facts.law for facts in parts])
    matrix = csr_array(vstack([question.matrix() for question in questions]))
    return axis, MatrixErrors(matrix, tuple(lengths), tuple(scales), law)


def stacked_cells(
    errors: MatrixErrors, questions: Sequence[Question], parts: Sequence[Release | Measurement]
) -> Floats:
    """The least-squares cells of all parts together.

    A release's own answers stand for the noisy ones: they fit their question, so with the same
    weights they say the same.
    """
    answers = []
    for question, part in zip(questions, parts, strict=True):
        if isinstance(part, Measurement):
            answers.append(part.noisy.astype(np.float64))
        elif part.axis.size != question.size:
            raise InputError("A release of coarser cells cannot be combined: give its measurement.")
        else:
            answers.append(question.matrix() @ part.unbiased.counts())
    return errors.fit(np.concatenate(answers))
