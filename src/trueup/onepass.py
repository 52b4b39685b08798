"""One pass: truth, noise and inference together, for domains too large for keeping it all."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask import Question, cell_counts
from trueup.axis.numbers import whole_number
from trueup.errors import InputError
from trueup.facts import LEAST_SQUARES, Facts
from trueup.infer import errors_of, model_of
from trueup.measure import new_id
from trueup.noise import Noise
from trueup.release import Release

if TYPE_CHECKING:
    from trueup._kernels.tree.fused import Noise as Drawn
    from trueup._kernels.tree.regular import RegularTree


def can_be_released(question: Question) -> bool:
    """Whether a question can be answered in one pass: cells, and trees of equal fan-outs."""
    levels = model_of(Noise.of_unit(question)).levels()
    return levels is not None and bool(levels.radices)


def release_in_one_pass(counts: npt.ArrayLike, facts: Facts, threads: int = 1) -> Release:
    """The release of `infer(measure(…))`, by the same law, in less time and memory.

    Cells and trees of equal fan-outs are counted, noised and fitted block by block in the cache; no
    noisy answer is kept, so there is no measurement to infer from again. `facts` say what is asked,
    at which cost. Every call draws fresh noise.

    >>> from trueup.ask import TreeCounts
    >>> found = release_in_one_pass([2, 0, 10, 2], Facts.of(TreeCounts(4, branching=2), 1))
    >>> found.range(0, 2).value + found.range(2, 4).value == found.total().value
    True
    """
    threads = whole_number(threads, "threads")
    if threads < 1:
        raise InputError(f"threads must be at least 1, got {threads}.")
    levels = model_of(facts.noise).levels()
    if levels is None or not levels.radices:
        raise InputError("Only cells and trees of equal fan-outs are released in one pass.")
    prefix = _prefix(counts, facts.noise, levels.radices, levels.asked, threads)
    facts = replace(facts, id=new_id(), inferred=LEAST_SQUARES)
    axes = facts.noise.question.space.answer_axes
    return Release(axes, prefix, errors_of(facts.noise), facts)


def _prefix(
    counts: npt.ArrayLike,
    noise: Noise,
    radices: Sequence[int],
    asked: Sequence[int],
    threads: int,
) -> Floats:
    """The prefix sums of the fitted cells of a tree of these radices, whose `asked` levels are."""
    from trueup._kernels.tree.fused import release_prefix

    cells = np.ascontiguousarray(cell_counts(counts, noise.question.size, threads=threads))
    tree, drawn = noised_tree(noise, radices, asked)
    return release_prefix(tree, cells, drawn, threads)


def noised_tree(
    noise: Noise, radices: Sequence[int], asked: Sequence[int], narrow: bool = True
) -> tuple[RegularTree, Drawn]:
    """The tree of these radices, whose `asked` levels are, and what adds noise to its nodes.

    With `narrow`, levels that are not asked are put in where one is too wide for the cache.
    """
    from trueup._kernels.tree.fused import refined
    from trueup._kernels.tree.regular import RegularTree

    weighed = dict(zip(asked, noise.relative_weights, strict=True))
    finer, origin = tuple(radices), tuple[int | None, ...](range(len(radices) + 1))
    if narrow:
        finer, origin = refined(radices)
    weights = tuple(0.0 if level is None else weighed.get(level, 0.0) for level in origin)
    tree = RegularTree(noise.question.size, finer, weights)
    return tree, noised_runs(noise, asked, origin)


def noised_runs(
    noise: Noise, asked: Sequence[int], origin: Sequence[int | None] | None = None
) -> Drawn:
    """What adds noise to runs of answers: `asked` are the levels of the noise's scales.

    `origin` says which of them the level of a run is, where that is not its own number.
    """
    from trueup._kernels.noise import gauss, laplace
    from trueup._kernels.noise.bits import keystream
    from trueup._kernels.noise.gauss_tables import checked_variance, gauss_tables
    from trueup._kernels.noise.laplace_tables import checked_scale, tables
    from trueup._kernels.tree.fused import Run

    # Tables first: a scale that is refused is refused before any noise is drawn.
    def table(scale: Fraction) -> Any:
        return gauss_tables(checked_variance(scale)) if gaussian else tables(checked_scale(scale))

    gaussian = noise.gaussian
    sample_into: Any = gauss.sample_into if gaussian else laplace.sample_into
    laws: dict[int | None, Any] = {
        level: table(scale) for level, scale in zip(asked, noise.scales, strict=True)
    }
    own = threading.local()

    def drawn(values: Ints, runs: Sequence[Run], span: int) -> None:
        met: list[tuple[int, int, Any]] = []  # runs that meet and share a law: one draw
        for run in runs:
            law = laws[run.level if origin is None else origin[run.level]]
            if met and met[-1][1] == run.begin and met[-1][2] is law:
                met[-1] = (met[-1][0], run.end, law)
            else:
                met.append((run.begin, run.end, law))
        for begin, end, law in met:
            if not hasattr(own, "stream"):  # for this release and this thread, and no longer
                own.stream = keystream()
            sample_into(values[begin:end], law, own.stream.fill)

    return drawn
