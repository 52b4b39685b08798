"""Release: truth, noise and inference in one pass, for domains too large for keeping it all."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.ask import (
    CellCounts,
    Neighbours,
    Question,
    TreeCounts,
    cell_counts,
    check_neighbours,
    check_question,
)
from trueup.axis.numbers import whole_number
from trueup.epsilon import positive
from trueup.errors import InputError
from trueup.infer import errors_of, infer
from trueup.measure import measure, new_id
from trueup.measurement import (
    block_scales,
    check_rows_per_unit,
    check_unit,
    public_facts,
    relative_weights,
)
from trueup.release import Release


def release(
    counts: npt.ArrayLike,
    question: Question,
    epsilon: object,
    neighbours: Neighbours = "add-remove",
    *,
    unit: str = "row",
    rows_per_unit: int = 1,
    threads: int = 1,
) -> Any:
    """The release of `infer(measure(…))`, by the same law, in less time and memory.

    Trees of equal fan-outs and cell counts are counted, noised and fitted block by block in the
    cache; no noisy answer is kept, so there is no measurement to infer from again. Other
    questions are measured and inferred as usual. Every call draws fresh noise and costs ε.

    >>> from trueup.ask import TreeCounts
    >>> found = release([2, 0, 10, 2], TreeCounts(4, branching=2), epsilon=1)
    >>> found.range(0, 2).value + found.range(2, 4).value == found.total().value
    True
    """
    check_question(question)
    threads = whole_number(threads, "threads")
    if threads < 1:
        raise InputError(f"threads must be at least 1, got {threads}.")
    if isinstance(question, CellCounts):
        radices: tuple[int, ...] = (question.size,)
    elif isinstance(question, TreeCounts):
        radices = question.radices
    else:
        radices = ()
    if not radices:
        measured = measure(
            counts, question, epsilon, neighbours, unit=unit, rows_per_unit=rows_per_unit
        )
        return infer(measured)
    assert isinstance(question, (CellCounts, TreeCounts))
    epsilon = positive(epsilon)
    check_neighbours(neighbours)
    check_unit(unit)
    rows_per_unit = check_rows_per_unit(rows_per_unit)
    scales = block_scales(question, epsilon, neighbours, rows_per_unit)
    asked = question.asked if isinstance(question, TreeCounts) else (1,)
    prefix = _prefix(counts, question.size, radices, dict(zip(asked, scales, strict=True)), threads)
    about = public_facts(question, epsilon, neighbours, unit, rows_per_unit) | {"id": new_id()}
    errors = errors_of(question, scales, "discrete")
    return Release(question.answer_axis, prefix, errors, {**about, "inferred": "least squares"})


def _prefix(
    counts: npt.ArrayLike,
    size: int,
    radices: Sequence[int],
    scales: dict[int, Fraction],
    threads: int,
) -> npt.NDArray[np.float64]:
    """The prefix sums of the fitted cells; `scales` has the noise of each level asked."""
    from trueup._kernels.noise.bits import keystream
    from trueup._kernels.noise.laplace import sample_into
    from trueup._kernels.noise.laplace_tables import Tables, checked_scale, tables
    from trueup._kernels.tree.blocks import Blocks
    from trueup._kernels.tree.fused import Run, refined, release_prefix

    cells = np.ascontiguousarray(cell_counts(counts, size, threads=threads))
    # Tables first: a scale that is refused is refused before any noise is drawn.
    laws: dict[int | None, Tables] = {
        level: tables(checked_scale(scale)) for level, scale in scales.items()
    }
    weighed = dict(zip(scales, relative_weights(tuple(scales.values()), "discrete"), strict=True))
    finer, origin = refined(radices)
    weights = tuple(0.0 if level is None else weighed.get(level, 0.0) for level in origin)

    def noise(values: npt.NDArray[np.int64], runs: Sequence[Run], span: int) -> None:
        drawn: list[tuple[int, int, Tables]] = []  # runs that meet and share a law: one draw
        for run in runs:
            law = laws[origin[run.level]]
            if drawn and drawn[-1][1] == run.begin and drawn[-1][2] is law:
                drawn[-1] = (drawn[-1][0], run.end, law)
            else:
                drawn.append((run.begin, run.end, law))
        for begin, end, law in drawn:
            sample_into(values[begin:end], law, keystream().fill)

    return release_prefix(Blocks(size, finer, weights), cells, noise, threads)
