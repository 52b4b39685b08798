"""A band that holds all true counts at once, from what a walk over the Young diagram counted.

Rows rise: so does what they have right of a base, which for row i is at most the mean over rows
i … j, and for row j at least that. Columns hold ever fewer rows: the first column of a run of
strips at least their mean, the last at most. The mean of L noises is small: window_reach gives the
bound that all windows of a sequence of noises keep together.

The walk decides how many answers there are, from its own noise. So the band holds for each power
of two as the length of the noise that was drawn, together, and the one that fits is used.
"""

from __future__ import annotations

import numpy as np

from trueup._kernels.sorted.sorted_band import inexact, window_reach
from trueup._kernels.sorted.transcript import Stretch, Transcript, most_answers
from trueup.arrays import Floats, Ints


def young_band(
    transcript: Transcript, groups: int, b: float, level: float, gaussian: bool = False
) -> tuple[Ints, Ints]:
    """The two ends of the band, whole numbers that rise; of Gaussian noise b is σ²."""
    sizes = most_answers(groups).bit_length()
    size = 1 << max(len(transcript.noisy) - 1, 0).bit_length()
    longest = max(_length(part) for part in transcript.stretches)
    lengths = 1 << np.arange(longest.bit_length())
    reach = window_reach(b, size, 1 - (1 - level) / sizes, lengths, gaussian)
    low = np.zeros(groups, np.int64)
    high = np.full(groups, np.iinfo(np.int64).max)
    taken = 0
    for part in transcript.stretches:
        noisy = transcript.noisy[taken : taken + _length(part)]
        taken += len(noisy)
        if part.edges is None:
            _rows(part, noisy, reach, low, high)
        else:
            _strips(part, part.edges, noisy, reach, low, high)
    # Rising truths: what bounds one bounds those before it, or after it.
    np.maximum.accumulate(low, out=low)
    high = np.minimum.accumulate(high[::-1])[::-1]
    return low, np.maximum(high, low)


def _length(part: Stretch) -> int:
    return part.stop - part.start if part.edges is None else len(part.edges) - 1


def _rows(part: Stretch, noisy: Ints, reach: Floats, low: Ints, high: Ints) -> None:
    # Noise that was drawn in a row: downwards to the first, then from the turn up.
    for begin, end in ((part.start, part.turn), (part.turn, part.stop)):
        own = noisy[begin - part.start : end - part.start]
        sums = np.concatenate([[0], np.cumsum(own)])
        most, least = np.full(len(own), np.inf), np.zeros(len(own))
        for power, far in enumerate(reach):
            length = 1 << power
            if length > len(own):
                break
            means = (sums[length:] - sums[:-length]) / length
            far = far + inexact(means)
            np.minimum(most[: len(means)], means + far, out=most[: len(means)])
            np.maximum(least[length - 1 :], means - far, out=least[length - 1 :])
        beyond = np.floor(np.maximum(most, 0.0)).astype(np.int64)
        np.minimum(high[begin:end], part.base + beyond, out=high[begin:end])
        some = np.flatnonzero(least > 0)
        reached = part.base + np.ceil(least[some]).astype(np.int64)
        low[begin + some] = np.maximum(low[begin + some], reached)


def _strips(part: Stretch, edges: Ints, noisy: Ints, reach: Floats, low: Ints, high: Ints) -> None:
    rows = part.stop - part.start
    sums = np.concatenate([[0], np.cumsum(noisy)])
    for power, far in enumerate(reach):
        length = 1 << power
        if length > len(noisy):
            break
        wide = (edges[length:] - edges[:-length]).astype(np.float64)
        cells = sums[length:] - sums[:-length]
        far = far + inexact(cells.astype(np.float64))
        # At least so many groups reach beyond the first edge; at most so many to the last.
        least = np.clip(np.ceil((cells - length * far) / wide), 0, rows).astype(np.int64)
        most = np.clip(np.floor((cells + length * far) / wide), 0, rows).astype(np.int64)
        reached = least > 0
        np.maximum.at(low, part.stop - least[reached], edges[:-length][reached] + 1)
        ended = most < rows
        np.minimum.at(high, part.stop - most[ended] - 1, edges[length:][ended] - 1)
