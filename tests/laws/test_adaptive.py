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

from trueup import Axis, BoxCounts, SortedCounts, TreeCounts
from trueup._kernels.sorted.young import FEWEST, FEWEST_SHARP
from trueup._kernels.tree.pooled import CROWDED, SMALL
from trueup.ask import AdaptiveTreeCounts
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


PLACE = Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": {"Clark": ["East"]}, "DC": []})
TREES = {
    "1 cell": AdaptiveTreeCounts(1),
    "2 cells": AdaptiveTreeCounts(2),
    "5 cells": AdaptiveTreeCounts(5),
    "100 cells": AdaptiveTreeCounts(100),
    "365 cells": AdaptiveTreeCounts(365),
    "4,096 cells": AdaptiveTreeCounts(4096),
    "70,000 cells": AdaptiveTreeCounts(70_000),
    "binary, root asked": AdaptiveTreeCounts(TreeCounts(300, branching=2)),
    "64 children": AdaptiveTreeCounts(TreeCounts(640, radices=(10, 64), root=False)),
    "65 children": AdaptiveTreeCounts(TreeCounts(650, radices=(10, 65), root=False)),
    "a level left out": AdaptiveTreeCounts(
        TreeCounts(500, radices=(10, 10, 5), shares=("1/2", 0, "1/2"))
    ),
    "levels of its own": AdaptiveTreeCounts(PLACE),
}


def over(question: AdaptiveTreeCounts, scale: Fraction) -> dict[str, np.ndarray]:
    """Counts that differ in all that a rule might look at, around its thresholds."""
    size = question.size
    g = np.random.default_rng(size)
    noise = 2**0.5 * float(scale) / float(question.shares[question.tree.asked[0]])
    small = round(SMALL * noise)
    place = np.arange(size)
    made = {
        "empty": np.zeros(size),
        "dense": np.full(size, 10 * small),
        "one": (place == size // 3) * (small + 1),
        "few": (g.random(size) < 0.02) * small * 3,
        "at the threshold": (place % 17 == 5) * small,
        "crowded": np.full(size, max(CROWDED * noise / 30, 1)),
        "uneven": (place % 5 == 2) * small * 0.9,
        "half": (place < size // 2) * small,
    }
    return {name: np.rint(counts).astype(np.int64) for name, counts in made.items()}


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(7), Fraction(40)], ids=str)
@pytest.mark.parametrize("name", TREES)
def test_whatever_the_data_the_same_noisy_nodes_lead_to_the_same_runs(
    name: str, scale: Fraction
) -> None:
    question = TREES[name]
    made = over(question, scale)
    length = 3 * question.tree.length + 10
    for number, (one, other) in enumerate(permutations(made, 2)):
        if question.size < 5000 or number % 9 == 0:
            # Noise of the size of the thresholds, so that every rule is met on both its sides.
            noise = tape(number, scale * 12, length)
            found = forced(question, made[one], made[other], scale, noise)
            assert not found.differences, (one, other, str(found))


@pytest.mark.parametrize("name", TREES)
def test_one_record_moves_one_transcript_of_a_tree_by_its_price(name: str) -> None:
    question, scale = TREES[name], Fraction(7)
    noise = tape(5, scale * 12, 3 * question.tree.length + 10)
    size = question.size
    for counts in over(question, scale).values():
        for place in {0, size // 3, size - 1}:
            other = counts.copy()
            other[place] += 1
            found = forced(question, counts, other, scale, noise)
            assert found.passed, str(found)
            assert found.move == found.allowed == 1
            replaced = counts.copy()
            replaced[(place + size // 2) % size] += 1
            found = forced(question, other, replaced, scale, noise, "replace")
            assert found.passed, str(found)


GRIDS = {
    "16 × 16": BoxCounts.quadtree(16, 16, adaptive=True),
    "64 × 64": BoxCounts.quadtree(64, 64, adaptive=True),
    "60 × 9": BoxCounts.quadtree(60, 9, adaptive=True),
    "2 × 2": BoxCounts.quadtree(2, 2, adaptive=True),
    "8 × 4 × 4, binary": BoxCounts.quadtree(8, 4, 4, branching=2, adaptive=True),
}


@pytest.mark.parametrize("name", GRIDS)
def test_whatever_the_data_the_same_noisy_boxes_lead_to_the_same_runs(name: str) -> None:
    question, scale = GRIDS[name], Fraction(7)
    made = over(question.nested, scale)
    length = 3 * question.nested.tree.length + 10
    for number, (one, other) in enumerate(permutations(made, 2)):
        noise = tape(number, scale * 12, length)
        found = forced(question, made[one], made[other], scale, noise)
        assert not found.differences, (one, other, str(found))
    for counts in made.values():
        for place in {0, question.size // 3, question.size - 1}:
            more, moved = counts.copy(), counts.copy()
            more[place] += 1
            moved[(place + question.size // 2) % question.size] += 1
            found = forced(question, counts, more, scale, noise)
            assert found.passed, str(found)
            assert found.move == found.allowed == 1
            found = forced(question, more, moved, scale, noise, "replace")
            assert found.passed, str(found)
