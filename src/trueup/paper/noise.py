"""Reproducible noise for experiments. NOT PRIVATE: anyone who knows the seed knows the data."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from trueup.arrays import Floats, Ints
from trueup.ask import AdaptiveQuestion, Neighbours, Question, check_question, check_records
from trueup.errors import InputError
from trueup.measure import noisy_answers
from trueup.measurement import Measurement
from trueup.noise import Law, Noise


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
    check_records(check_question(question), counts)
    noise = Noise(question, epsilon, neighbours, law=law)  # type: ignore[arg-type]
    if law != "discrete" and isinstance(question, AdaptiveQuestion) and not question.settled:
        raise InputError("Adaptive questions are asked with discrete noise.")
    generator = np.random.default_rng(seed)

    def add(answers: Ints, noise: Noise) -> Ints | Floats:
        pairs = zip(noise.scales, noise.lengths, strict=True)
        each = [draw_for_experiment(generator, float(b), length, law) for b, length in pairs]
        return answers + np.concatenate(each)

    def draw(size: int, scale: Fraction) -> Ints:
        return draw_for_experiment(generator, float(scale), size).astype(np.int64)

    asked, noisy = noisy_answers(counts, noise, add, draw)
    return Measurement(asked, noisy, noise.epsilon, noise.neighbours, private=False, law=law)


def draw_for_experiment(
    generator: np.random.Generator, scale: float, size: int | tuple[int, ...], law: Law = "discrete"
) -> Floats | Ints:
    """Reproducible noise: the difference of two geometrics, or continuous Laplace."""
    if law == "continuous":
        return generator.laplace(0.0, scale, size)
    success = -np.expm1(-1.0 / scale)
    return generator.geometric(success, size) - generator.geometric(success, size)
