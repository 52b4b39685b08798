"""Measure: true answers plus exact noise. The only step that sees data and costs privacy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask import AdaptiveQuestion, Neighbours, Question, check_question, check_records
from trueup.ask.question import cell_counts
from trueup.errors import InputError
from trueup.facts import check_unit, rows_for
from trueup.measurement import Measurement
from trueup.noise import Noise

Asked = TypeVar("Asked", bound=Question)
AddNoise = Callable[[Ints, Noise], Ints | Floats]
Draw = Callable[[int, Fraction], Ints]
_ONE = Fraction(1)


def measure(
    counts: npt.ArrayLike,
    question: Asked,
    epsilon: object = None,
    neighbours: Neighbours = "add-remove",
    *,
    rho: object = None,
    unit: str = "row",
    rows_per_unit: int | None = None,
) -> Measurement[Asked]:
    """The question's true answers with discrete Laplace noise of scale sensitivity/ε.

    With `rho` instead of `epsilon`, they have discrete Gaussian noise of variance
    sensitivity²/(2ρ), sensitivity in L2, and are ρ-zCDP (docs/zcdp.md).

    `counts` are the counts of the cells, in the order of the axis (for sorted counts, in any
    order). Every call draws fresh noise and costs ε, or ρ; the costs of several calls on the same
    data add up. The noise protects one row; if the counts hold at most `rows_per_unit` rows of each
    `unit`, it protects all rows of a unit.
    A pandas Series that has an index, as `value_counts()` has, is put in the order of the axis by
    its index; an entry whose label is not on the axis is not counted.

    >>> from trueup.ask import TreeCounts
    >>> m = measure([2, 0, 10, 2], TreeCounts(4, branching=2), epsilon=1)
    >>> len(m.noisy), float(m.scales[0])
    (7, 3.0)
    """
    check_question(question)
    counts = in_axis_order(counts, question)
    check_records(question, counts)
    measured = measure_all(
        counts,
        question,
        epsilon,
        neighbours,
        rho=rho,
        unit=unit,
        rows_per_unit=rows_for(check_unit(unit), rows_per_unit),
    )
    return cast("Measurement[Asked]", measured)


def in_axis_order(counts: npt.ArrayLike, question: Question) -> npt.ArrayLike:
    """The counts, in the order of the axis if they have an index of their own that says it."""
    index: Any = getattr(counts, "index", None)
    if type(counts).__name__ != "Series" or index is None or question.space.kind == "ranks":
        return counts
    if type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1):
        return counts  # numbered from 0, as pandas does when nobody says more
    if len(question.space.axes) != 1 or type(index).__name__ == "MultiIndex":
        raise InputError(
            "Counts over several axes are an array in the order of the axes, the last running "
            "fastest. Give counts.to_numpy() if they are."
        )
    (axis,) = question.space.axes
    try:
        cells = axis.locate(index)
    except InputError as wrong:
        raise InputError(
            f"The index of the counts does not say where they belong. {wrong} If the counts are "
            f"in the order of the axis, give counts.to_numpy()."
        ) from None
    given = cell_counts(np.asarray(counts), len(index))
    placed = np.zeros(axis.size, np.int64)
    np.add.at(placed, cells[cells >= 0], given[cells >= 0])
    return placed


def measure_all(
    counts: npt.ArrayLike,
    question: Question,
    epsilon: object,
    neighbours: Neighbours,
    *,
    rho: object = None,
    unit: str,
    rows_per_unit: int,
) -> Measurement:
    """As `measure`, of however many records: answers past 64 bits wrap around.

    For the owner, who must not tell even whether there are more records than that. Modulo 2^64
    the answers are a function of the exact ones, and so as private.
    """
    from trueup._kernels.noise.bits import one_measurement

    # Whatever is wrong with the request is said before the noise is drawn.
    noise = Noise(question, epsilon, neighbours, rows_per_unit, rho=rho)  # type: ignore[arg-type]
    check_unit(unit)
    noise.check_scales()
    sampler = sampler_of(noise)

    def add(answers: Ints, noise: Noise) -> Ints:
        sampler.add_noise_blocks(answers, list(noise.lengths), noise.scales)
        return answers

    with one_measurement():
        asked, noisy = noisy_answers(
            counts, noise, add, lambda size, scale: sampler.draw(size, scale)
        )
        name = new_id()
    return Measurement(
        asked,
        noisy,
        noise.epsilon,
        noise.neighbours,
        unit,
        noise.rows_per_unit,
        law=noise.law,
        id=name,
        rho=noise.rho,
    )


def sampler_of(noise: Noise) -> Any:
    """The kernel that draws this noise; the other one is not loaded."""
    if noise.gaussian:
        from trueup._kernels.noise import gauss

        return gauss
    from trueup._kernels.noise import laplace

    return laplace


def noisy_answers(
    counts: npt.ArrayLike, noise: Noise, add: AddNoise, draw: Draw
) -> tuple[Question, Ints | Floats]:
    """What was asked, and the noisy answers: the one place where true answers meet noise.

    An adaptive question chooses what it asks from the noisy answers so far, and the measurement's
    question is what was asked. `add` puts noise into an array of answers, `draw` makes noise.
    """
    question = noise.question
    question.check_new()
    if isinstance(question, AdaptiveQuestion) and not question.settled:

        def weighed(size: int, weight: Fraction = _ONE, square: Fraction = _ONE, /) -> Ints:
            return draw(size, noise.scale_of(weight, square))

        return question.measure_adaptively(counts, noise.scale_to_choose_by, weighed)
    return question, add(question.answers(counts), noise)


def new_id() -> str:
    """A name for a new measurement, of the same random bits as its noise."""
    from trueup._kernels.noise.bits import keystream

    name = np.empty(16, np.uint8)
    keystream().fill(name)
    return name.tobytes().hex()
