"""Streams at a ρ: what a record moves, what is said, and how wrong it may be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup._kernels.windows.past import LONGEST_BLOCK, LONGEST_COLUMN
from trueup.errors import InputError
from trueup.stream import past
from trueup.stream.past import (
    PastSchedule,
    PastSecret,
    PastStreamErrors,
    PastTotals,
    all_past_totals,
)

SCHEDULES = [PastSchedule(50, 1000), PastSchedule(7, 20), PastSchedule(1, 1)]
STEPS = 45


def said(schedule, adds, noise, adaptive):
    """The answers of a stream with noise from a tape, and a record more at step `adds`."""
    tape = iter(noise)
    secret = PastSecret.start(schedule, Fraction(1), 1)
    answers = []
    for step in range(STEPS):
        count = 5 + step % 3
        if adaptive and answers:  # what comes depends on what was said
            count += int(answers[-1]) % 4
        counts = np.array([count + (step == adds)])
        secret = secret.after(counts, lambda size, _: np.array([next(tape) for _ in range(size)]))
        answers.append(int(secret.answers()[0, 0]))
    assert next(tape, None) is None  # every noise is used, and used once
    return np.array(answers)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("adds", [0, 1, 6, 7, 26, STEPS - 1])
def test_a_record_is_hidden_by_noise_moved_by_a_column_of_bounded_length(schedule, adds):
    """Whatever comes after depends on answers alone: moved noise gives the same answers."""
    noise = np.random.default_rng(adds).integers(-(10**9), 10**9, STEPS)
    without = said(schedule, None, noise, False)
    moved = said(schedule, adds, noise, False) - without
    assert moved[adds] > 0
    assert not moved[:adds].any()
    assert sum(int(m) ** 2 for m in moved) <= LONGEST_COLUMN**2
    for adaptive in (False, True):
        hidden = said(schedule, adds, noise - moved, adaptive)
        assert (hidden == said(schedule, None, noise, adaptive)).all()


def test_the_noise_is_that_of_the_longest_column():
    schedule = PastSchedule.best(100, 1)
    plain = schedule.variance(Fraction(1, 2), "add-remove", 1)
    assert plain == LONGEST_COLUMN**2
    assert schedule.variance(Fraction(1, 8), "add-remove", 1) == 4 * plain
    assert schedule.variance(Fraction(1, 2), "replace", 1) == 2 * plain
    assert schedule.variance(Fraction(1, 2), "add-remove", 3) == 9 * plain


def test_blocks_follow_from_what_is_declared():
    assert PastSchedule.best(365, 1) == PastSchedule(365, LONGEST_BLOCK)
    assert PastSchedule.best(None, 1) == PastSchedule(past.ENDLESS, LONGEST_BLOCK)
    assert PastSchedule.best(10**7, 1).first == LONGEST_BLOCK
    assert PastSchedule.best(365, past.MOST_KEPT // 100) == PastSchedule(100, 100)
    with pytest.raises(InputError, match="steps must lie between 1 and"):
        PastSchedule.best(0, 1)
    with pytest.raises(InputError, match="Use a coarser axis"):
        PastSchedule.best(9, past.MOST_KEPT + 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_totals_step_by_step_are_those_of_all_answers(schedule):
    random = np.random.default_rng(3)
    secret, running = PastSecret.start(schedule, Fraction(1), 2), PastTotals.start(schedule, 2)
    assert PastTotals.of(schedule, np.zeros((0, 1, 2), np.int64)).steps == 0
    every, counts, totals = [], [], []
    for _ in range(STEPS):
        counts.append(random.integers(0, 1000, 2))
        secret = secret.after(counts[-1], lambda size, _: np.zeros(size, np.int64))
        every.append(secret.answers())
        running, total = running.after(every[-1])
        totals.append(total)
    assert np.array(totals) == pytest.approx(np.cumsum(counts, axis=0), abs=1e-6)
    assert all_past_totals(schedule, np.array(every)) == pytest.approx(np.array(totals))
    again = PastTotals.of(schedule, np.array(every))
    assert (again.answers == running.answers).all()
    assert again.total == pytest.approx(running.total)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_errors_are_those_of_dense_algebra(schedule):
    question = schedule.question(STEPS)
    totals = np.tril(np.ones((STEPS, STEPS))) @ np.linalg.inv(question.matrix().toarray())
    errors = PastStreamErrors(schedule, Fraction(10**16))
    covariance = totals @ totals.T * 1e16
    steps = np.arange(1, STEPS + 1)
    assert errors.variances(steps) == pytest.approx(np.diag(covariance))
    assert errors.variances([]).tolist() == []
    assert errors.mean_error(STEPS) == pytest.approx(np.diag(covariance).mean())
    window = (((0, 40), 1.0), ((0, 12), -1.0))
    expected = covariance[39, 39] + covariance[11, 11] - 2 * covariance[39, 11]
    assert errors.variance(window) == pytest.approx(expected)
    both = (*window, ((1, 40), 1.0), ((1, 12), -1.0), ((2, 3), 2.0))
    assert errors.variance(both) == pytest.approx(2 * expected + 4 * covariance[2, 2])


def test_the_mean_of_some_is_near_the_mean_of_all(monkeypatch):
    errors = PastStreamErrors(PastSchedule(900, 900), Fraction(10**16))
    some = errors.mean_error(900)
    monkeypatch.setattr(past, "_SAMPLED", 900)
    assert some == pytest.approx(errors.mean_error(900), rel=0.02)


def test_a_stream_of_any_length_is_not_much_worse():
    """At every length from 100 to 65,536, beside Toeplitz roots of that length."""
    errors = PastStreamErrors(PastSchedule.best(None, 1), Fraction(LONGEST_COLUMN**2))
    roots = {100: 5.62, 365: 7.74, 1024: 9.67, 4096: 12.61, 16384: 15.94, 65536: 19.66}
    for steps, root in roots.items():
        assert errors.mean_error(steps) <= 1.5 * root
