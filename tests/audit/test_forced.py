"""The same noisy answers on neighbours: questions that peek, overlap or add no noise are caught."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from trueup.ask import SortedCounts
from trueup.ask.diagram import CountedColumns, CountedRows
from trueup.audit import forced


def noises(number, scale=1.0, size=1 << 13):
    rng = np.random.default_rng(5)
    p = -np.expm1(-1 / scale)
    return [rng.geometric(p, size) - rng.geometric(p, size) for _ in range(number)]


@dataclass(frozen=True)
class Overlapping:
    """Asks the rows beyond the columns from the start again."""

    asked: tuple = ()
    blocks = ((4, Fraction(1)),)

    def price(self, neighbours="add-remove"):
        return Fraction(1)

    def answers(self, counts):
        rising = np.sort(counts)
        return np.array([np.minimum(rising, 2).sum(), *rising])

    def in_order(self, answers):
        return answers

    def measure_adaptively(self, counts, scale, draw):
        return self, self.answers(counts) + draw(len(counts) + 1)


def test_planted_bugs_are_caught():
    noise = noises(1)[0]
    found = forced(Overlapping(), [1, 2, 3], [2, 2, 3], 1, noise)
    assert not found.passed
    assert found.move == 2

    class Peeks(SortedCounts):
        """Reads one row more if the largest true count is large."""

        def measure_adaptively(self, counts, scale, draw):
            stop = 2 + (max(counts) > 3)
            asked = SortedCounts(
                3,
                asked=(
                    CountedRows(0, 0, stop, 0),
                    CountedColumns(stop, (0, 9)),
                    CountedRows(3, 3, 3, 9),
                ),
            )
            return asked, asked.answers(counts) + draw(asked.length)

    found = forced(Peeks(3), [1, 2, 3], [1, 2, 4], 1, noise)
    assert not found.passed
    assert "another question was asked" in str(found)


def test_noise_that_is_not_added_is_caught():
    class Silent(SortedCounts):
        def measure_adaptively(self, counts, scale, draw):
            asked, _noisy = super().measure_adaptively(counts, scale, draw)
            return asked, asked.answers(counts)

    found = forced(Silent(5), [1, 2, 3], [1, 2, 4], 1, noises(1)[0])
    assert not found.passed


@pytest.mark.parametrize("groups", [1, 5, 400])
def test_the_move_is_how_far_the_true_answers_lie_apart(groups):
    rng = np.random.default_rng(groups)
    counts = rng.integers(0, 30, groups)
    noise = rng.integers(-3, 4, 3 * groups + 4_000)
    same = forced(SortedCounts(groups), counts, counts, 1, noise)
    assert (same.move, same.differences) == (0, ())
    one = counts.copy()
    one[rng.integers(groups)] += 1
    found = forced(SortedCounts(groups), counts, one, 1, noise)
    assert found.passed
    assert found.move == found.allowed == 1
    two = one.copy()
    two[rng.integers(groups)] += 1
    assert not forced(SortedCounts(groups), counts, two, 1, noise).passed
