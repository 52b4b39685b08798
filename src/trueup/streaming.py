"""Release: truth, noise and inference in one pass, for domains too large for keeping it all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.ask import (
    CellCounts,
    Neighbours,
    Question,
    TreeCounts,
    cell_counts,
    check_question,
)
from trueup.axis.numbers import whole_number
from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES, Facts
from trueup.infer import errors_of, infer
from trueup.measure import measure, new_id
from trueup.noise import Noise
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
    facts = Facts.of(
        question, epsilon, neighbours, unit, rows_per_unit, id=new_id(), inferred=LEAST_SQUARES
    )
    asked = question.asked if isinstance(question, TreeCounts) else (1,)
    prefix = _prefix(counts, facts.noise, radices, asked, threads)
    return Release(question.answer_axis, prefix, errors_of(facts.noise), facts)


def _prefix(
    counts: npt.ArrayLike,
    noise: Noise,
    radices: Sequence[int],
    asked: Sequence[int],
    threads: int,
) -> npt.NDArray[np.float64]:
    """The prefix sums of the fitted cells of a tree of these radices, whose `asked` levels are."""
    from trueup._kernels.noise.bits import keystream
    from trueup._kernels.noise.laplace import sample_into
    from trueup._kernels.noise.laplace_tables import Tables, checked_scale, tables
    from trueup._kernels.tree.blocks import Blocks
    from trueup._kernels.tree.fused import Run, refined, release_prefix

    size = noise.question.size
    cells = np.ascontiguousarray(cell_counts(counts, size, threads=threads))
    # Tables first: a scale that is refused is refused before any noise is drawn.
    laws: dict[int | None, Tables] = {
        level: tables(checked_scale(scale))
        for level, scale in zip(asked, noise.scales, strict=True)
    }
    weighed = dict(zip(asked, noise.relative_weights, strict=True))
    finer, origin = refined(radices)
    weights = tuple(0.0 if level is None else weighed.get(level, 0.0) for level in origin)

    def drawn(values: npt.NDArray[np.int64], runs: Sequence[Run], span: int) -> None:
        met: list[tuple[int, int, Tables]] = []  # runs that meet and share a law: one draw
        for run in runs:
            law = laws[origin[run.level]]
            if met and met[-1][1] == run.begin and met[-1][2] is law:
                met[-1] = (met[-1][0], run.end, law)
            else:
                met.append((run.begin, run.end, law))
        for begin, end, law in met:
            sample_into(values[begin:end], law, keystream().fill)

    return release_prefix(Blocks(size, finer, weights), cells, drawn, threads)
