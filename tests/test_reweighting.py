"""Multiplicative weights: exact choice and noise, equal to the rounds written out."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup._kernels.rows.reweigh import replayed
from trueup.reweighting import Weighing, boxes, rounds_of

X, Y = tu.Axis.integers("x", 0, 7), tu.Axis.categories("y", ["a", "b", "c"])
EPSILON = Fraction(7, 2)


class Tape:
    """Noise that was drawn before, handed out in order; and the scales it was asked for."""

    def __init__(self, number: int) -> None:
        self.rng = np.random.default_rng(number)
        self.asked: list[tuple[int, Fraction]] = []

    def draw(self, size: int, scale: Fraction) -> np.ndarray:
        self.asked.append((size, scale))
        return np.rint(self.rng.laplace(0, float(scale), size)).astype(np.int64)


@pytest.mark.parametrize("axes", [(X,), (X, Y)])
@pytest.mark.parametrize("crowd", [0.3, 20, 400])
def test_rounds_are_those_written_out_for_the_same_noise(
    axes: tuple[tu.Axis, ...], crowd: float
) -> None:
    """Part by part, box by box: much noise and little, of crowded tables and nearly empty ones."""
    for seed, part in itertools.product(range(6), (Fraction(1, 2), Fraction(1, 20))):
        rng = np.random.default_rng(seed)
        counts = rng.poisson(crowd * rng.pareto(1.2, tuple(axis.size for axis in axes)))
        starts, stops = boxes(axes, None)
        found = rounds_of(counts, starts, stops, part, 4, Tape(seed).draw)
        total, picked, answers = written_out(counts, starts, stops, part, 4, Tape(seed))
        assert found[0] == total
        assert found[1].tolist() == picked
        assert found[2].tolist() == answers


def written_out(
    counts: np.ndarray,
    starts: np.ndarray,
    stops: np.ndarray,
    part: Fraction,
    rounds: int,
    tape: Tape,
) -> tuple[int, list[int], list[int]]:
    """The rounds by hand: scores are whole, and the table knows of noisy counts alone."""
    total = int(counts.sum() + tape.draw(1, 1 / part)[0])
    insides = [
        tuple(slice(a, b) for a, b in zip(start, stop, strict=True))
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    chosen: list[int] = []
    heard: list[int] = []
    table = np.full(counts.shape, max(total, 1) / counts.size)
    for _ in range(rounds):
        noise = tape.draw(len(insides), 2 / part)
        scores = [
            abs(int(counts[box].sum()) - round(float(table[box].sum()))) + int(extra)
            for box, extra in zip(insides, noise, strict=True)
        ]
        chosen.append(scores.index(max(scores)))
        heard.append(int(counts[insides[chosen[-1]]].sum()) + int(tape.draw(1, 1 / part)[0]))
        for _ in range(20):
            for at, answer in zip(chosen, heard, strict=True):
                step = (answer - table[insides[at]].sum()) / (2 * table.sum())
                table[insides[at]] *= math.exp(min(max(step, -50), 50))
                table *= max(total, 1) / table.sum()
    return total, chosen, heard


def test_parts_of_epsilon_add_up_to_it() -> None:
    for rows in (1, 3):
        tape, asked = Tape(1), Weighing.of(X, EPSILON, 4, None, "add-remove")
        terms = asked.starts, asked.stops, asked.part, asked.rounds
        rounds_of(np.full(8, 5), *terms, tape.draw, rows)
        # A count costs rows/scale; the choice among many 2·rows/scale, for every score may move.
        spent = sum(rows / scale if size == 1 else 2 * rows / scale for size, scale in tape.asked)
        assert spent == EPSILON
        assert len(tape.asked) == 1 + 2 * 4


def law_of_choice(scores: tuple[int, ...], scale: float) -> np.ndarray:
    """The exact law of the place of the largest noisy score, the first of equal ones."""
    a = math.exp(-1 / scale)
    reach = np.arange(-400, 401)
    mass = (1 - a) / (1 + a) * a ** np.abs(reach)
    below = np.concatenate([[0.0], np.cumsum(mass)])  # P(noise < m)

    def under(limit: np.ndarray) -> np.ndarray:
        return below[np.clip(limit + 400, 0, 801)]

    found = []
    for i, own in enumerate(scores):
        wins = mass.copy()
        for j, other in enumerate(scores):
            if j != i:  # an earlier one wins a tie
                wins *= under(reach + own - other + (j > i))
        found.append(wins.sum())
    return np.array(found)


def test_the_choice_has_the_privacy_of_its_part() -> None:
    # All scores may move by one, each in its own way: every pair of small scores, exactly.
    part, scale = 1.0, 2.0
    largest = 0.0
    for scores in itertools.product(range(3), repeat=3):
        law = law_of_choice(scores, scale)
        assert law.sum() == pytest.approx(1)
        for step in itertools.product((-1, 0, 1), repeat=3):
            other = law_of_choice(tuple(np.add(scores, step)), scale)
            largest = max(largest, float(np.log(law / other).max()))
    assert largest <= part + 1e-9
    assert largest > 0.9 * part  # and no less noise would do
    assert float(np.log(law_of_choice((1, 0, 0), 1.0) / law_of_choice((0, 1, 1), 1.0))[0]) > part


def test_a_record_moves_every_score_by_one_at_most() -> None:
    rng = np.random.default_rng(3)
    starts, stops = boxes((X, Y), ["prefixes", None])
    for _ in range(20):
        counts, more = rng.poisson(3, (8, 3)), np.zeros((8, 3), np.int64)
        more[tuple(rng.integers(0, (8, 3)))] += 1
        moved = [
            abs(int(more[a:b, c:d].sum()))
            for (a, c), (b, d) in zip(starts.tolist(), stops.tolist(), strict=True)
        ]
        assert max(moved) == 1
        assert counts.min() >= 0


def test_counts_come_near_where_few_boxes_tell_most() -> None:
    counts = np.zeros(256, np.int64)
    counts[64:128] = 500
    axis = tu.Axis.integers("x", 0, 255)
    found = tu.adaptive(counts, axis, epsilon=1, rounds=8)
    assert found.range(64, 128) == pytest.approx(32_000, rel=0.1)
    assert found.facts.epsilon == 1
    assert found.facts.private
    assert len(found.facts.id or "") == 32
    same = replayed([256], found.measured_total, found.starts, found.stops, found.answers)
    assert (same == found.counts()).all()


def test_frames_are_counted_and_boxes_come_from_the_workload_alone() -> None:
    import pyarrow as pa

    frame = pa.table({"x": [1, 1, 2, 99], "y": ["a", "a", "c", "a"]})
    found = tu.adaptive(frame, [X, Y], epsilon=900, rounds=4)
    assert found.measured_total == 3
    given = tu.Workload.given([(0, 4), (4, 8)])
    starts, stops = boxes((X,), given)
    assert (starts.tolist(), stops.tolist()) == ([[0], [4]], [[4], [8]])


def test_boxes_to_choose_from_are_some_thousand_each_once() -> None:
    wide = [tu.Axis.integers(name, 0, 199) for name in "abc"]
    for axes in (wide[:1], wide[:2], wide):
        starts, stops = boxes(axes, None)
        assert 500 <= len(starts) <= 4_096
        assert len(np.unique(np.hstack([starts, stops]), axis=0)) == len(starts)
        assert ((starts >= 0) & (starts < stops) & (stops <= 200)).all()


def test_what_cannot_be_asked_is_refused() -> None:
    counts = np.ones(8, np.int64)
    for given, words in (
        ({"axes": "x"}, "an axis or several"),
        ({"axes": []}, "an axis or several"),
        ({"axes": [X, "y"]}, "an axis or several"),
        ({"axes": [X, X]}, "a name of its own"),
        ({"rounds": 0}, "1 to 200 rounds"),
        ({"rounds": 201}, "1 to 200 rounds"),
        ({"epsilon": 0}, "must be positive"),
        ({"workload": "everything"}, "A workload is one of"),
        ({"workload": [None, None]}, "one for each of the 1 axes"),
        ({"neighbours": "some"}, "neighbours"),
        ({"axes": tu.Axis.integers("x", 0, 1 << 20)}, "again and again"),
    ):
        with pytest.raises(tu.InputError, match=words):
            tu.adaptive(**{"table": counts, "axes": X, "epsilon": 1, **given})
