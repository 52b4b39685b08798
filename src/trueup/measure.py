"""Measure: true answers plus exact noise. The only step that sees data and costs privacy."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from trueup.ask import (
    Neighbours,
    Question,
    YoungCounts,
    check_neighbours,
    check_question,
    check_records,
)
from trueup.epsilon import positive
from trueup.measurement import (
    Measurement,
    block_scales,
    check_rows_per_unit,
    check_unit,
)


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

    `counts` are the cell counts in the order of the axis (for sorted counts, in any order). Every
    call draws fresh noise, and costs ε: several calls on the same data add up.

    >>> from trueup.ask import TreeCounts
    >>> m = measure([2, 0, 10, 2], TreeCounts(4, branching=2), epsilon=1)
    >>> len(m.noisy), float(m.scales[0])
    (7, 3.0)
    """
    check_records(check_question(question), counts)
    return measure_all(
        counts, question, epsilon, neighbours, unit=unit, rows_per_unit=rows_per_unit
    )


def measure_all(
    counts: npt.ArrayLike,
    question: Question,
    epsilon: object,
    neighbours: Neighbours,
    *,
    unit: str,
    rows_per_unit: int,
) -> Measurement:
    """As `measure`, of however many records: answers past 64 bits wrap around.

    For the owner, who must not tell even whether there are more records than that. Modulo 2^64
    the answers are a function of the exact ones, and so as private.
    """
    from trueup._kernels.noise.laplace import add_noise_blocks, draw

    # Whatever is wrong with the request is said before the noise is drawn.
    epsilon = positive(epsilon)
    check_question(question)
    check_neighbours(neighbours)
    check_unit(unit)
    rows_per_unit = check_rows_per_unit(rows_per_unit)
    scales = block_scales(question, epsilon, neighbours, rows_per_unit)
    if isinstance(question, YoungCounts) and not question.asked:
        # What is asked follows from the noisy answers; the measurement's question is what was.
        fresh = partial(draw, scale=scales[0])
        question, noisy = question.measure_adaptively(counts, scales[0], fresh)
        return Measurement(question, noisy, epsilon, neighbours, unit, rows_per_unit, id=new_id())
    answers = question.answers(counts)
    add_noise_blocks(answers, [length for length, _ in question.blocks], scales)
    return Measurement(question, answers, epsilon, neighbours, unit, rows_per_unit, id=new_id())


def new_id() -> str:
    """A name for a new measurement, of the same random bits as its noise."""
    from trueup._kernels.noise.bits import keystream

    name = np.empty(16, np.uint8)
    keystream().fill(name)
    return name.tobytes().hex()
