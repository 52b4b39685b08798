"""What counts that are shown non-negative are off by: that depends on the data, so by simulation.

On three shapes of counts that are made up, and declared here: nothing of anybody's data is looked
at. Noise is drawn as for a release, and costs nothing, because the counts are nobody's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from trueup._kernels.display.boxes import box_prefix, box_sums
from trueup.arrays import Floats, Ints
from trueup.ask import Question
from trueup.axis import Axis
from trueup.errors import InputError
from trueup.infer import infer
from trueup.measure import measure
from trueup.release.boxes import Spans, stacked
from trueup.workload import Workload

_SAMPLED = 400  # ranges or boxes looked at
_MOST_CELLS = 1 << 20
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


def shapes(sizes: Sequence[int], epsilon: Fraction) -> dict[str, Ints]:
    """Counts of so many cells an axis: dense, sparse, clustered; as large as matters at this ε.

    >>> {name: counts.tolist() for name, counts in shapes([6], Fraction(1)).items()}["dense"]
    [100, 143, 135, 128, 121, 114]
    """
    unit, place = float(1 / epsilon), np.arange(math.prod(sizes))
    rough = 0.6180339887498949 * place % 1  # spread evenly, and never in step with a tree
    part = 0.01 ** (1 / len(sizes))  # of each axis, so that clusters are one hundredth of all
    inside = np.ones(len(place), np.bool_)
    for size, own in zip(sizes, np.unravel_index(place, tuple(sizes)), strict=True):
        inside &= own % max(size // 3, 1) < max(int(size * part), 1)
    made = {
        "dense": (100 + 50 * (rough * 3 % 1)) * unit,
        "sparse": np.where(rough < 0.02, 200 * unit, 0.0),
        "clustered": np.where(inside, 50 * unit, 0.0),
    }
    return {name: np.rint(counts).astype(np.int64) for name, counts in made.items()}


def shown_errors(
    axes: Sequence[Axis],
    questions: Mapping[str, Question],
    epsilon: Fraction,
    workloads: Sequence[Workload],
    draws: int,
) -> dict[str, dict[str, float]]:
    """The mean squared error of each question's shown counts over the workload, by shape."""
    sizes = [axis.size for axis in axes]
    if math.prod(sizes) > _MOST_CELLS:
        raise InputError(
            f"Simulations are for at most {_MOST_CELLS:,} cells, not {math.prod(sizes):,}."
        )
    spans, likely = _boxes(axes, workloads)
    boxes = stacked(spans)
    found: dict[str, dict[str, float]] = {}
    for shape, counts in shapes(sizes, epsilon).items():
        found[shape] = {}
        for name, question in questions.items():
            total = 0.0
            for _ in range(draws):
                shown = infer(measure(counts, question, epsilon), nonnegative=True, integers=True)
                wrong = shown.counts().reshape(sizes) - counts.reshape(sizes)
                total += float(box_sums(box_prefix(wrong), *boxes) ** 2 @ likely)
            found[shape][name] = total / draws
    return found


def _boxes(axes: Sequence[Axis], workloads: Sequence[Workload]) -> tuple[Spans, Floats]:
    """Starts and stops on each axis of some boxes of the workload, and how likely each is."""
    each = [workload.sample(axis, _SAMPLED) for axis, workload in zip(axes, workloads, strict=True)]
    if len(each) == 1:
        starts, stops, likely = each[0]
        return [(starts, stops)], likely
    boxes = []
    for number, (starts, stops, likely) in enumerate(each):
        # Ranges as often as they are likely, put together by multiples of roots, which are never
        # in step with each other.
        spread = np.arange(1, _SAMPLED + 1) * math.sqrt(_PRIMES[number % len(_PRIMES)]) % 1
        chosen = np.searchsorted(np.cumsum(likely / likely.sum()), spread).clip(0, len(starts) - 1)
        boxes.append((starts[chosen], stops[chosen]))
    return boxes, np.full(_SAMPLED, 1 / _SAMPLED)
