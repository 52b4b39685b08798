"""The walk over a Young diagram: what it counts, and how near its fit comes to the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from trueup._kernels.sorted import transcript, young, young_fit

from .rising_counts import FAMILIES, drawing


@pytest.mark.parametrize("scale", [0.05, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_walk_counts_disjoint_sets_up_to_the_last_row(name, scale):
    rising = FAMILIES[name]
    found = young.walk(rising, scale, drawing(3, scale))
    taken = np.zeros(len(rising), np.int64)  # columns of each row that are counted, from the left
    closed = np.zeros(len(rising), bool)  # rows that are counted to their end
    for number, part in enumerate(found.stretches):
        if part.edges is None:
            assert number % 2 == 0
            assert part.start <= part.turn <= part.stop
            assert not closed[part.start : part.stop].any()
            assert (taken[part.start : part.stop] <= part.base).all()
            closed[part.start : part.stop] = True
        else:
            assert number % 2 == 1
            assert (np.diff(part.edges) > 0).all()
            assert not closed[part.start :].any()
            assert (taken[part.start :] <= part.edges[0]).all()
            taken[part.start :] = part.edges[-1]
    assert closed[-1]
    assert len(found.noisy) <= transcript.most_answers(len(rising))


@pytest.mark.parametrize("groups", [300, 2_000])
def test_columns_end_for_good_once_there_was_a_strip_for_every_group(groups):
    """Noise that makes columns seem to fall without end: all rows that are left are read instead.

    No more strips than that, and those of the noise that was drawn ahead.
    """
    drawn, falling = [], 60_000

    def draw(size):
        number = sum(drawn) + np.arange(size)
        drawn.append(size)
        return np.where(number < falling, 10**9 - 10**4 * number, 0)

    found = young.walk(np.zeros(groups, np.int64), 1.0, draw)
    strips = [len(part.edges) - 1 for part in found.stretches if part.edges is not None]
    assert groups <= sum(strips) < groups + max(drawn)
    assert sum(strips[:-1]) < groups
    assert found.stretches[-1].stop == groups
    assert len(found.noisy) <= transcript.most_answers(groups)


@pytest.mark.parametrize("name", FAMILIES)
def test_hardly_any_noise_gives_the_counts_back(name):
    rising = FAMILIES[name]
    found = young.walk(rising, 0.02, lambda size: np.zeros(size, np.int64))
    fitted = young_fit.fit(found, len(rising), 0.02)
    assert np.array_equal(young_fit.whole_numbers(fitted), rising)


# ---- never much worse than isotonic counts


def designed():
    """Counts that columns are bad at: gaps, steps and giants, with lengths in noise scales."""
    rng = np.random.default_rng(3)
    for few, many in ((72, 427), (30, 470), (1000, 30)):
        for gap in (3, 7, 10):
            yield f"{few} | {many}, {gap} apart", np.repeat([5.0, 5.0 + gap], [few, many])
    yield "steps of 4", np.repeat(np.arange(12) * 4.0, 30)
    yield "steps of 15", np.repeat(np.arange(12) * 15.0, 72)
    for giants in (3, 40):
        yield f"{giants} giants", np.append(np.zeros(800), 1e4 * (1 + rng.random(giants)))
    yield "even", np.arange(500) * 2.0
    yield "uneven", np.cumsum(rng.exponential(3.0, 500))
    yield "a cloud behind a gap", np.append(rng.exponential(3, 900), rng.uniform(50, 70, 100))


DESIGNED = dict(designed())


@pytest.mark.parametrize("scale", [1.0, 10.0])
@pytest.mark.parametrize("name", DESIGNED)
def test_means_are_not_much_further_off_than_isotonic_counts(name, scale):
    rising = np.sort(np.rint(DESIGNED[name] * scale)).astype(np.int64)
    ours, theirs = 0.0, 0.0
    for seed in range(20):
        found = young.walk(rising, scale, drawing(seed, scale))
        shown = young_fit.whole_numbers(young_fit.fit(found, len(rising), scale, likely=True))
        ours += ((shown - rising) ** 2.0).sum()
        isotonic = isotonic_regression(rising + drawing(seed, scale)(len(rising))).x
        theirs += ((isotonic - rising) ** 2).sum()
    assert ours <= 1.1 * theirs
