"""Totals step by step are those from all answers at once; without noise they are the counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup.stream.schedule import Schedule, Spread
from trueup.stream.secret import Secret
from trueup.stream.totals import Totals, all_totals

SCHEDULES = [
    Schedule((), (Fraction(1),)),
    Schedule((2,), (Fraction(1, 3), Fraction(2, 3))),
    Schedule((3, 2, 4), tuple(Fraction(n, 10) for n in (4, 1, 3, 2))),
    Schedule.best(365),
    Schedule.endless(),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("noisy", [True, False])
def test_both_ways_agree(schedule: Schedule, noisy: bool) -> None:
    random = np.random.default_rng(3)
    scales = schedule.noise(Fraction(1), "add-remove", 1)
    spread = Spread.of(schedule, scales)
    secret, totals = Secret.start(schedule, scales, 2), Totals.start(spread, 2)
    answers, one_by_one, counted = [], [], []

    def draw(size: int, scale: Fraction) -> np.ndarray:
        return random.integers(-9, 10, size) * noisy

    for _ in range(150):
        counts = random.integers(0, 1000, 2)
        secret = secret.after(counts, draw)
        totals, total = totals.after(secret.answers())
        answers.append(secret.answers())
        one_by_one.append(total)
        counted.append(counts)
    found = all_totals(spread, np.array(answers))
    assert found == pytest.approx(np.array(one_by_one), rel=1e-12)
    if not noisy:
        assert found == pytest.approx(np.cumsum(counted, axis=0), rel=1e-12)
