"""Reproducible noise for experiments. NOT PRIVATE: anyone who knows the seed knows the data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueup.ask import Neighbours, Question, YoungCounts, check_question, check_records
from trueup.epsilon import positive
from trueup.errors import InputError
from trueup.measurement import LAWS, Law, Measurement, block_scales


def measure_for_experiment(
    counts: npt.ArrayLike,
    question: Question,
    epsilon: object,
    seed: int | np.random.Generator,
    law: Law = "discrete",
    neighbours: Neighbours = "add-remove",
) -> Measurement:
    """As `measure`, but reproducible by seed, and stamped NOT PRIVATE.

    `law` is "discrete", the law of `measure`, or "continuous", the paper's.

    >>> from trueup.ask import SortedCounts
    >>> measure_for_experiment([0, 2, 2, 10], SortedCounts(4), 1, seed=7).private
    False
    """
    if law not in LAWS:
        raise InputError(f"The noise law must be one of {', '.join(LAWS)}, got {law!r}.")
    generator = np.random.default_rng(seed)
    if isinstance(question, YoungCounts) and not question.asked:
        return _measure_adaptively(counts, question, epsilon, generator, law, neighbours)
    answers = check_question(question).answers(counts)
    check_records(question, counts)
    blank = Measurement(question, answers, positive(epsilon), neighbours, private=False, law=law)
    noise = [
        draw_for_experiment(generator, float(scale), length, law)
        for scale, (length, _) in zip(blank.block_scales, question.blocks, strict=True)
    ]
    noisy = answers + np.concatenate(noise)
    return Measurement(question, noisy, blank.epsilon, neighbours, private=False, law=law)


def _measure_adaptively(
    counts: npt.ArrayLike,
    question: YoungCounts,
    epsilon: object,
    generator: np.random.Generator,
    law: Law,
    neighbours: Neighbours,
) -> Measurement:
    if law != "discrete":
        raise InputError("Adaptive questions are asked with discrete noise.")
    scale = block_scales(question, positive(epsilon), neighbours, 1)[0]

    def draw(size: int) -> npt.NDArray[np.int64]:
        return draw_for_experiment(generator, float(scale), size).astype(np.int64)

    asked, noisy = question.measure_adaptively(counts, scale, draw)
    return Measurement(asked, noisy, positive(epsilon), neighbours, private=False)


def draw_for_experiment(
    generator: np.random.Generator, scale: float, size: int | tuple[int, ...], law: Law = "discrete"
) -> npt.NDArray[np.float64] | npt.NDArray[np.int64]:
    """Reproducible noise: the difference of two geometrics, or continuous Laplace."""
    if law == "continuous":
        return generator.laplace(0.0, scale, size)
    success = -np.expm1(-1.0 / scale)
    return generator.geometric(success, size) - generator.geometric(success, size)
