"""What counts that are shown non-negative are off by: that depends on the data, so by simulation.

On three shapes of counts that are made up, and declared here: nothing of anybody's data is looked
at. Noise is drawn as for a release, and costs nothing, because the counts are nobody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from trueup.ask import Question
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.infer import infer
from trueup.measure import measure
from trueup.workload import Workload

Ints = npt.NDArray[np.int64]

_SAMPLED = 400  # ranges looked at
_MOST_CELLS = 1 << 20


def shapes(size: int, epsilon: Fraction) -> dict[str, Ints]:
    """Counts of so many cells: dense, sparse, and clustered; as large as matters at this ε.

    >>> {name: counts.tolist() for name, counts in shapes(6, Fraction(1)).items()}["dense"]
    [100, 143, 135, 128, 121, 114]
    """
    unit, place = float(1 / epsilon), np.arange(size)
    rough = 0.6180339887498949 * place % 1  # spread evenly, and never in step with a tree
    third = place % max(size // 3, 1)
    made = {
        "dense": (100 + 50 * (rough * 3 % 1)) * unit,
        "sparse": np.where(rough < 0.02, 200 * unit, 0.0),
        "clustered": np.where(third < max(size // 100, 1), 50 * unit, 0.0),
    }
    return {name: np.rint(counts).astype(np.int64) for name, counts in made.items()}


def shown_errors(
    axis: Axis, questions: Mapping[str, Question], epsilon: Fraction, workload: Workload, draws: int
) -> dict[str, dict[str, float]]:
    """The mean squared error of each question's shown counts over the workload, by shape."""
    if axis.size > _MOST_CELLS:
        raise InputError(f"Simulations are for at most {_MOST_CELLS:,} cells, not {axis.size:,}.")
    starts, stops, likely = workload.sample(axis, _SAMPLED)
    found: dict[str, dict[str, float]] = {}
    for shape, counts in shapes(axis.size, epsilon).items():
        truth = np.concatenate([[0], np.cumsum(counts)])
        found[shape] = {}
        for name, question in questions.items():
            total = 0.0
            for _ in range(draws):
                shown = infer(measure(counts, question, epsilon), nonnegative=True, integers=True)
                wrong = shown.prefix - truth
                total += float((wrong[stops] - wrong[starts]) ** 2 @ likely)
            found[shape][name] = total / draws
    return found
