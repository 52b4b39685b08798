"""Privacy of a stream, by recorded noise: one record more, and noise of one node a level less."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from trueup.stream.schedule import Schedule
from trueup.stream.secret import Secret

SCHEDULES = [
    Schedule((), (Fraction(1),)),
    Schedule((3,), (Fraction(1, 3), Fraction(2, 3))),
    Schedule((2, 3), tuple(Fraction(n, 10) for n in (5, 2, 3))),
    Schedule((3, 2, 4), tuple(Fraction(n, 10) for n in (4, 1, 3, 2))),
    Schedule.endless(),
]
STEPS = 40


def published(schedule: Schedule, adds: int | None, tapes: list[np.ndarray], adaptive: bool):
    """The answers of a stream whose noise is on tapes, one a level, with a record more or without.

    A level's noise is drawn in the order of its nodes: number n on the tape is that of node n.
    With the record at step `adds`, the noise of every node that holds the step is 1 less.
    """
    scales = schedule.noise(Fraction(1), "add-remove", 1)
    drawn: Counter[int] = Counter()

    def draw(size: int, scale: Fraction) -> np.ndarray:
        level = scales.index(scale)
        nodes = np.arange(drawn[level], drawn[level] + size)
        drawn[level] += size
        held = -1 if adds is None else adds // schedule.widths[level]
        return tapes[level][nodes] - (nodes == held)

    secret, said = Secret.start(schedule, scales, 1), []
    for step in range(STEPS):
        count = 5 + step % 3
        if adaptive and said:  # what comes depends on what was said
            count += int(abs(said[-1]).sum()) % 4
        secret = secret.after(np.array([count + (step == adds)]), draw)
        said.append(secret.answers())
    return np.array(said), secret.last_answers(), drawn


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("adds", [0, 1, 5, 6, 11, 23, 24, STEPS - 1])
def test_one_record_is_hidden_by_the_noise_of_one_node_a_level(
    schedule: Schedule, adaptive: bool, adds: int
) -> None:
    random = np.random.default_rng(adds)
    tapes = [random.integers(-50, 51, 400) for _ in range(schedule.levels)]
    without = published(schedule, None, tapes, adaptive)
    with_one = published(schedule, adds, tapes, adaptive)
    assert (without[0] == with_one[0]).all()
    assert (without[1] == with_one[1]).all()
    # It is not hidden by noise that is not there: with the same noise the answers differ.
    same = [
        tape + (np.arange(400) == adds // w) for tape, w in zip(tapes, schedule.widths, strict=True)
    ]
    assert (
        published(schedule, adds, same, False)[0] != published(schedule, None, tapes, False)[0]
    ).any()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_node_has_noise_of_its_own(schedule: Schedule) -> None:
    """Each node's noise is drawn once, before its node's first step, and never again."""
    tapes = [np.arange(400) * 1009 * (level + 1) for level in range(schedule.levels)]
    _, last, drawn = published(schedule, None, tapes, False)
    for level, width in enumerate(schedule.widths):
        begun = -(-STEPS // width)
        above = schedule.radices[level] if level < len(schedule.radices) else 1
        assert drawn[level] == -(-begun // above) * above
        node = (STEPS - 1) // width
        counts = sum(5 + step % 3 for step in range(node * width, STEPS))
        assert last[level, 0] == counts + tapes[level][node]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_node_and_cell_has_noise_of_its_own(schedule: Schedule) -> None:
    """Noise that tells which draw it came from: no draw is in two nodes, in two cells, or lost."""
    cells, handed = 3, [0]

    def draw(size: int, scale: Fraction) -> np.ndarray:
        handed[0] += size
        return np.arange(handed[0] - size, handed[0]) + 1

    secret = Secret.start(schedule, schedule.noise(Fraction(1), "add-remove", 1), cells)
    used: dict[tuple[int, int, int], int] = {}
    for step in range(STEPS):
        secret = secret.after(np.zeros(cells, np.int64), draw)
        for level, width in enumerate(schedule.widths):
            for cell in range(cells):
                noise = int(secret.noise[level, cell])
                assert used.setdefault((level, step // width, cell), noise) == noise > 0
    waiting = [int(n) for later in secret.later for n in later.ravel()]
    assert sorted([*used.values(), *waiting]) == list(range(1, handed[0] + 1))
    kept = secret.arrays()
    assert [kept[f"later{level}"].tolist() for level in range(schedule.levels - 1)] == [
        later.tolist() for later in secret.later
    ]
