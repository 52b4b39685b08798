"""Measure: true answers plus exact noise. The only step that sees data and costs privacy."""

from __future__ import annotations

import numpy.typing as npt

from trueup.ask import Neighbours, Question, check_neighbours, check_question
from trueup.epsilon import positive
from trueup.measurement import Measurement


def measure(
    counts: npt.ArrayLike,
    question: Question,
    epsilon: object,
    neighbours: Neighbours = "add-remove",
    *,
    unit: str = "row",
    rows_per_unit: int = 1,
) -> Measurement:
    """The question's true answers with discrete Laplace noise of scale sensitivity/ε.

    `counts` are the unit counts in the order of the axis (for sorted counts, in any order). Every
    call draws fresh noise, and costs ε: several calls on the same data add up.

    >>> from trueup.ask import TreeCounts
    >>> m = measure([2, 0, 10, 2], TreeCounts(4, branching=2), epsilon=1)
    >>> len(m.noisy), float(m.scales[0])
    (7, 3.0)
    """
    from trueup._kernels.laplace import add_noise_blocks

    epsilon = positive(epsilon)
    answers = check_question(question).answers(counts)
    # Built before the noise is drawn: whatever is wrong with the request is said by now.
    blank = Measurement(
        question, answers, epsilon, check_neighbours(neighbours), unit, rows_per_unit
    )
    lengths = [length for length, _ in question.blocks]
    add_noise_blocks(answers, lengths, blank.block_scales)
    return Measurement(question, answers, epsilon, neighbours, unit, rows_per_unit)
