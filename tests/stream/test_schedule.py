"""Schedules: their errors by dense least squares, and beside those of published mechanisms."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trueup.errors import InputError
from trueup.stream.schedule import Schedule, Spread, evenly, mean_error

SMALL = Schedule((3, 4), (Fraction(1, 2), Fraction(1, 6), Fraction(1, 3)))


def dense_variance(schedule: Schedule, own: tuple[float, ...], steps: int) -> float:
    """The variance of the total by generalised least squares over every count of every step.

    Looked at are the complete nodes, the open ones, and the later nodes right under the open ones.
    """
    last = schedule.widths[-1] * (-(-steps // schedule.widths[-1]))
    rows, variances = [], []
    for level, width in enumerate(schedule.widths):
        above = schedule.widths[level + 1] if level + 1 < schedule.levels else last
        for start in range(0, last, width):
            begun = start < steps
            later = start // above == (steps - 1) // above and steps % above
            if begun or later:
                row = np.zeros(last)
                row[start : start + width] = 1
                rows.append(row)
                variances.append(own[level])
    matrix, weights = np.array(rows), 1 / np.array(variances)
    wanted = (np.arange(last) < steps).astype(float)
    information = matrix.T @ (weights[:, None] * matrix)
    return float(wanted @ np.linalg.pinv(information, rcond=1e-12) @ wanted)


@pytest.mark.parametrize("steps", range(1, 27))
def test_totals_are_least_squares(steps: int) -> None:
    own = (1.0, 2.5, 0.7)
    found = float(Spread(SMALL, own).variances([steps])[0])
    assert found == pytest.approx(dense_variance(SMALL, own, steps), rel=1e-9)


def test_noise_that_never_moves_leaves_every_total_exact() -> None:
    """At so large an epsilon the variance is less than any float above 0."""
    spread = Spread.of(SMALL, (Fraction(1, 2_000),) * 3)
    assert spread.complete == spread.own == (0.0, 0.0, 0.0)
    assert (spread.variances(np.arange(1, 40)) == 0).all()


def subtraction(steps: int, radix: int, levels: int) -> float:
    """The mean squared error at ε = 1 of a k-ary tree with subtraction (Andersson, Pagh et al.).

    A prefix has balanced digits, and the sum of their sizes is the number of noises in it.
    """
    number, noises = np.arange(1, steps + 1), np.zeros(steps)
    for _ in range(levels - 1):
        digit = number % radix
        digit = np.where(digit > radix // 2, digit - radix, digit)
        noises, number = noises + np.abs(digit), (number - digit) // radix
    return float(2 * levels**2 * (noises + number).mean())


def published(steps: int) -> float:
    """The best of these."""
    radices, levels = range(4, 46), range(2, 6)
    return min(subtraction(steps, radix, level) for radix in radices for level in levels)


def test_the_published_figures_are_those_of_the_literature() -> None:
    assert [published(steps) for steps in (365, 1024, 4096)] == pytest.approx(
        [109, 171, 271], rel=0.02
    )


@pytest.mark.parametrize(("steps", "most"), [(365, 83), (1024, 121), (4096, 197)])
def test_totals_are_better_than_anything_published(steps: int, most: float) -> None:
    found = mean_error(Schedule.best(steps), 1, steps)
    assert found <= most
    assert found <= 0.77 * published(steps)


@pytest.mark.parametrize("steps", [100, 200, 365, 700, 1024, 2100, 4096, 9000, 24000, 65536])
def test_a_stream_of_unknown_length_costs_little(steps: int) -> None:
    assert mean_error(Schedule.endless(), 1, steps) <= 1.75 * published(steps)


@pytest.mark.parametrize("steps", [1, 2, 3, 10, 47])
def test_short_streams_have_few_levels(steps: int) -> None:
    found = Schedule.best(steps)
    assert found.widths[-1] <= steps
    one = Schedule((), (Fraction(1),))
    assert mean_error(found, 1, steps) <= mean_error(one, 1, steps)


def test_the_price_is_that_of_one_node_a_level() -> None:
    for relation, moved in (("add-remove", 1), ("replace", 2)):
        scales = SMALL.noise(Fraction(2, 3), relation, 5)  # type: ignore[arg-type]
        assert sum(moved * 5 / scale for scale in scales) == Fraction(2, 3)
        assert scales[0] / scales[1] == Fraction(1, 3)  # a share three times as large


@pytest.mark.parametrize(
    ("radices", "shares", "words"),
    [
        ((3,), ("1",), "needs as many shares"),
        ((1,), ("1/2", "1/2"), "at least 2 nodes"),
        ((3,), ("1/2", "1/3"), "add up to 1"),
        ((3,), ("3/2", "-1/2"), "positive"),
    ],
)
def test_a_wrong_schedule_is_refused(
    radices: tuple[int, ...], shares: tuple[str, ...], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        Schedule(radices, tuple(map(Fraction, shares)))


@pytest.mark.parametrize("steps", [0, -1, 1 << 41, 2.5, "many", True])
def test_a_wrong_number_of_steps_is_refused(steps: object) -> None:
    with pytest.raises(InputError, match="steps"):
        Schedule.best(steps)  # type: ignore[arg-type]


def test_of_a_long_stream_the_mean_error_is_that_of_an_even_sample() -> None:
    """A thousand million totals have no room; of 200,000 all and some are within a hundredth."""
    numbers = evenly(200_000, 3_000)
    assert (numbers[0], numbers[-1], len(numbers)) == (67, 200_000, 3_000)
    assert set(np.diff(numbers)) == {66, 67}
    assert evenly(3_000, 3_000).tolist() == list(range(1, 3_001))
    assert evenly(1).tolist() == [1]
    for schedule in (Schedule.best(200_000), Schedule.endless()):
        scales = schedule.noise(Fraction(1), "add-remove", 1)
        every = Spread.of(schedule, scales).variances(np.arange(1, 200_001)).mean()
        assert mean_error(schedule, 1, 200_000) == pytest.approx(every, rel=0.01)
        assert mean_error(schedule, 1, 1 << 40) > every


@pytest.mark.parametrize("steps", [0, -1, (1 << 40) + 1, 2.5, "many", True])
def test_no_steps_have_no_mean_error(steps: object) -> None:
    with pytest.raises(InputError, match="steps"):
        mean_error(SMALL, 1, steps)  # type: ignore[arg-type]
