"""Trees of prefixes: every path costs one, whatever was chosen; forced transcripts show it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from trueup._kernels.tree import prefixes as kernel
from trueup._kernels.tree.prefixes import REST, asked_nodes, first_children

FANS = (2, 3, 4)
SHARES = (Fraction(1, 10), Fraction(3, 10), Fraction(6, 10))
RULE = [(least, np.arange(9) * 3) for least in (9, 7, 3)]


class Played:
    """Noise, or answers that are played whatever is true; notes the noise that it takes."""

    __array_ufunc__ = None  # numpy leaves the addition to us

    def __init__(self, noise: np.ndarray | None, answers: np.ndarray | None) -> None:
        self.noise, self.answers = noise, answers

    def __radd__(self, true: np.ndarray) -> np.ndarray:
        if self.answers is None:
            self.answers = true + self.noise
        self.noise = self.answers - true
        return self.answers


class Tape:
    """Plays noise; or, given another tape, the noise that makes all answers those of the other."""

    def __init__(self, noise: np.ndarray, other: Tape | None = None) -> None:
        self.left, self.other = noise, other
        self.drawn: list[tuple[Fraction, Played]] = []

    def __call__(self, size: int, share: Fraction) -> Any:
        if self.other is None:
            piece, self.left = self.left[:size], self.left[size:]
            played = Played(piece, None)
        else:
            same, before = self.other.drawn[len(self.drawn)]
            assert same == share
            assert len(before.answers) == size
            played = Played(None, before.answers)
        self.drawn.append((share, played))
        return played


def digits_of(keys: np.ndarray) -> np.ndarray:
    return np.stack(np.unravel_index(keys, FANS), axis=1).astype(np.int64)


@pytest.mark.parametrize("ends", [False, True])
def test_the_tree_is_the_one_that_its_answers_lead_to(ends: bool) -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        counts = rng.integers(0, 6, 24)
        present = np.flatnonzero(counts)
        noise = rng.integers(-4, 5, 500)
        parents, digits, noisy = asked_nodes(
            digits_of(present), counts[present], FANS, SHARES, RULE, ends, Tape(noise)
        )
        first = first_children(parents)
        assert (np.diff(parents) >= 0).all()
        level, own = [0], [-2, *digits.tolist()]
        for node, parent in enumerate(parents.tolist(), start=1):
            pooled = own[parent] == REST
            level.append(level[parent] + (not pooled))
            assert first[parent] <= node < first[parent + 1]
            kept = own[node] != REST and not pooled
            splits = kept and level[node] < 3 and not (ends and own[node] == 0)
            below = own[first[node] : first[node + 1]]
            if not splits:
                assert own[node] == REST or not below
                continue
            assert noisy[node - 1] >= 0
            rest = first[node + 1] - 1
            if level[node] < 2:
                assert below[-1] == REST
                below = [*below[:-1], *own[first[rest] : first[rest + 1]]]
            assert sorted(below) == list(range(FANS[level[node]]))  # every child is asked, once


def test_a_node_of_many_children_tells_those_that_are_large_and_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Above and below the number at which those that are pooled keep their answers."""
    keys, counts = np.array([0, 1, 7, 23]), np.array([90, 80, 1, 2])
    for most in (3, 4):
        monkeypatch.setattr(kernel, "DETAILED", most)
        parents, digits, noisy = asked_nodes(
            digits_of(keys), counts, FANS, SHARES, RULE, False, Tape(np.zeros(99, np.int64))
        )
        below = parents == int(np.flatnonzero(noisy == 170)[0]) + 1
        found = dict(zip(digits[below].tolist(), noisy[below].tolist(), strict=True))
        assert found == ({0: 90, 1: 80, REST: 0} if most == 3 else {0: 90, 1: 80, 2: 0, 3: 0})


@pytest.mark.parametrize("most", [1, 2, 3, 64])
def test_forced_transcripts_move_by_one_whatever_was_chosen(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One record more, and the noise that gives the same answers: the shares of it add up to 1.

    The laws of the two inputs then differ by a factor of at most e^ε at every transcript. Families
    of more than `most` children tell the others as one, also on the last level, where these are
    added up: from their noisy answers, for all that is told must be the same.
    """
    monkeypatch.setattr(kernel, "DETAILED", most)
    rng = np.random.default_rng(9)
    for _ in range(60):
        counts = rng.integers(0, 7, 24)
        more = counts.copy()
        more[rng.integers(24)] += 1
        present, also = np.flatnonzero(counts), np.flatnonzero(more)
        tape = Tape(rng.integers(-4, 5, 500))
        asked = asked_nodes(digits_of(present), counts[present], FANS, SHARES, RULE, False, tape)

        forced = Tape(np.zeros(0), tape)
        again = asked_nodes(digits_of(also), more[also], FANS, SHARES, RULE, False, forced)
        for first, second in zip(asked, again, strict=True):
            assert np.array_equal(first, second)
        assert len(tape.drawn) == len(forced.drawn)
        moved = sum(
            share * int(np.abs(used.noise - needed.noise).sum())
            for (share, used), (_, needed) in zip(tape.drawn, forced.drawn, strict=True)
        )
        assert moved == 1


def test_a_child_at_the_threshold_is_large_and_a_sum_at_the_bound_is_no_crowd() -> None:
    answers, crowds = np.array([[9, 8, -3, 0]]), np.array([0, 1, 2, 5, 6])
    assert kernel._large(answers, 9, crowds).tolist() == [[True, False, False, False]]
    assert kernel._large(answers, 10, np.full(5, 14)).tolist() == [[False] * 4]
    assert kernel._large(answers, 10, np.full(5, 13)).tolist() == [[True, True, False, True]]


@pytest.mark.parametrize("most", [1, 64])
@pytest.mark.parametrize("key", range(24))
def test_the_only_key_is_found_from_the_root_down(
    key: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root has one family; whichever child is split, what is below it comes after, in order."""
    monkeypatch.setattr(kernel, "DETAILED", most)
    keys = np.array([key])
    parents, digits, noisy = asked_nodes(
        digits_of(keys), np.array([90]), FANS, SHARES, RULE, False, Tape(np.zeros(99, np.int64))
    )
    assert (np.diff(parents) >= 0).all()
    first, node = first_children(parents), 0
    for level, digit in enumerate(digits_of(keys)[0].tolist()):
        below = np.arange(first[node], first[node + 1])
        own = digits[below - 1].tolist()
        if most == 64 and level == 2:
            assert own == list(range(FANS[level]))
        else:
            assert own == [digit, REST]
        assert noisy[below - 1].sum() == 90
        node = int(below[own.index(digit)])
        assert noisy[node - 1] == 90
    # Beside the path there are rests; those of few children have them all but the one that is kept.
    beside = sum(fan - 1 for fan in FANS[:2]) if most == 64 else 0
    assert len(parents) == beside + (2 + 2 + 4 if most == 64 else 2 + 2 + 2)
