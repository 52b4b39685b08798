"""Law: what an adaptive question asks next follows from noisy answers and public numbers alone.

Any data at all can be made to give any transcript, by noise that makes up the difference. So: one
input is asked with some noise; another, however different, with the noise that gives the same noisy
answers. It must be asked the very same. This is done at every size at which a rule changes, for
data that differ in whatever a rule could peek at: which groups are empty, the largest, where counts
end.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from trueup import SortedCounts
from trueup._kernels.sorted.young import FEWEST, FEWEST_SHARP
from trueup.audit import forced

HUGE = 1 << 20  # groups
SIZES = [1, 2, 16, FEWEST_SHARP - 1, FEWEST_SHARP, FEWEST - 1, FEWEST, FEWEST + 1, 1500, 20_000]
SCALES = [Fraction(1, 10), Fraction(2), Fraction(201, 100), Fraction(40)]


def inputs(groups: int, scale: Fraction) -> dict[str, np.ndarray]:
    """Counts that differ in all that a rule might look at; lengths in noise scales."""
    rng = np.random.default_rng(groups)
    b = max(float(scale), 1.0)
    few = max(groups // 50, 1)
    made = {
        "empty": np.zeros(groups),
        "equal": np.full(groups, 30 * b),
        "zipf": np.minimum(rng.zipf(1.6, groups), 10**6) * b,
        "few": np.append(np.zeros(groups - few), rng.integers(1, 1000, few) * b),
        "giant": np.append(np.zeros(groups - 1), 1e6 * b),
        "even": np.arange(groups) * b,
        "plateau": np.repeat([0, 3000 * b], [groups // 4, groups - groups // 4]),
        "steps": np.arange(groups) // 400 * 60 * b,
    }
    return {name: np.rint(counts).astype(np.int64) for name, counts in made.items()}


def tape(seed: int, scale: Fraction, size: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    p = -np.expm1(-1 / float(scale))
    return rng.geometric(p, size) - rng.geometric(p, size)


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("groups", SIZES)
def test_whatever_the_data_the_same_noisy_answers_lead_to_the_same_questions(
    groups: int, scale: Fraction
) -> None:
    made = inputs(groups, scale)
    noise = tape(groups, scale, 3 * groups + 4000)
    pairs = list(permutations(made, 2))
    for one, other in pairs if groups < 5000 else pairs[::7]:
        found = forced(SortedCounts(groups), made[one], made[other], scale, noise)
        assert not found.differences, (one, other, str(found))


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(30)], ids=str)
@pytest.mark.parametrize("groups", [HUGE - 1, HUGE + 1])
def test_more_than_a_million_groups_are_asked_alike(groups: int, scale: Fraction) -> None:
    made = inputs(groups, scale)
    noise = tape(1, scale, 3 * groups)
    for one, other in (("zipf", "empty"), ("empty", "giant"), ("few", "empty")):
        found = forced(SortedCounts(groups), made[one], made[other], scale, noise)
        assert not found.differences, (one, other, str(found))


@pytest.mark.parametrize("relation", ["add", "remove"])
@pytest.mark.parametrize("groups", [FEWEST_SHARP, FEWEST, 1500])
def test_one_record_moves_one_transcript_by_one(groups: int, relation: str) -> None:
    """On all kinds of data, and for a record wherever it is."""
    scale = Fraction(3)
    noise = tape(7, scale, 3 * groups + 4000)
    for counts in inputs(groups, scale).values():
        for place in {0, 1, groups // 2, groups - 2, groups - 1}:
            other = counts.copy()
            other[place] += 1 if relation == "add" else -min(1, int(counts[place]))
            found = forced(SortedCounts(groups), counts, other, scale, noise)
            assert found.passed, str(found)
