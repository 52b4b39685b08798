"""The law of totals: what every node's noise counts for, held against the counts themselves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup.stream.errors import StreamErrors
from trueup.stream.schedule import Schedule
from trueup.stream.secret import Secret
from trueup.stream.totals import Totals

SCHEDULE = Schedule((3, 2, 4), tuple(Fraction(n, 10) for n in (4, 1, 3, 2)))
ERRORS = StreamErrors(SCHEDULE, SCHEDULE.noise(Fraction(1), "add-remove", 1))
SPAN = 96


def spread_out(steps: int) -> np.ndarray:
    """What every node's noise counts for, added up over the steps that the node holds."""
    found = np.zeros(SPAN)
    for level, parts in enumerate(ERRORS.noises(steps)):
        width = SCHEDULE.widths[level]
        for node, part in enumerate(parts):
            found[node * width : (node + 1) * width] += part
    return found


@pytest.mark.parametrize("steps", range(1, 60))
def test_a_total_counts_every_step_once_and_none_to_come(steps: int) -> None:
    """So a record at any step moves a total by its noise alone: see `secret.py`."""
    assert spread_out(steps) == pytest.approx((np.arange(SPAN) < steps).astype(float), abs=1e-12)


@pytest.mark.parametrize("steps", [1, 5, 6, 17, 24, 25, 47, 59])
def test_the_variance_is_that_of_the_noises(steps: int) -> None:
    own = ERRORS.spread.own
    by_hand = sum(own[k] * (part**2).sum() for k, part in enumerate(ERRORS.noises(steps)))
    assert float(ERRORS.spread.variances([steps])[0]) == pytest.approx(by_hand)
    assert ERRORS.noise_law((((0, steps), 1.0),)).variance == pytest.approx(by_hand)
    assert ERRORS.variance((((3, steps), -2.0),)) == pytest.approx(4 * by_hand)


def test_totals_of_one_cell_share_noise_and_cells_do_not() -> None:
    both = (((0, 30), 1.0), ((0, 29), -1.0))
    one = ERRORS.variance(both)
    apart = ERRORS.variance((((0, 30), 1.0),)) + ERRORS.variance((((0, 29), 1.0),))
    assert one < apart / 2
    cells = both + tuple(((7, at), by) for (_, at), by in both)
    assert ERRORS.variance(cells) == pytest.approx(2 * one)
    assert ERRORS.noise_law(cells).variance == pytest.approx(2 * one)


def test_intervals_hold_as_often_as_they_say() -> None:
    """20,000 streams at once, one a cell, with noise from numpy."""
    random, cells = np.random.default_rng(5), 20_000
    secret = Secret.start(SCHEDULE, ERRORS.scales, cells)
    totals = Totals.start(ERRORS.spread, cells)

    def draw(size: int, scale: Fraction) -> np.ndarray:
        stop = -np.expm1(-1 / float(scale))
        return random.geometric(stop, size) - random.geometric(stop, size)

    every = []
    for step in range(31):
        secret = secret.after(np.full(cells, step), draw)
        totals, total = totals.after(secret.answers())
        every.append(total)
    truth = np.cumsum(np.arange(31))
    for stop, start in ((7, None), (24, None), (31, None), (31, 11)):
        asked = [((0, stop), 1.0)] + ([((0, start), -1.0)] if start else [])
        error = every[stop - 1] - truth[stop - 1]
        if start:
            error = error - (every[start - 1] - truth[start - 1])
        law = ERRORS.noise_law(tuple(asked))
        assert error.mean() == pytest.approx(0, abs=5 * np.sqrt(law.variance / cells))
        assert error.var() == pytest.approx(law.variance, rel=0.05)
        for level in (0.5, 0.95):
            held = (np.abs(error) <= law.half_width(level) + 1e-9).mean()
            assert level - 0.012 <= held <= level + 0.06
