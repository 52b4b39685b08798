"""Intervals of adaptive quadtrees hold at the worst; variances are those of dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.infer import errors_of, table_model
from trueup.law import NoiseLaw, added, times
from trueup.paper.noise import measure_for_experiment

SIDE = 16
QUESTION = tu.BoxCounts.quadtree(SIDE, SIDE, branching=2, adaptive=True)
BOXES = [
    ((3, 11), (0, 7)),
    ((0, 16), (5, 6)),
    ((4, 8), (8, 12)),
    ((1, 2), (1, 2)),
    ((7, 15), (9, 16)),
]


def weights(box: tuple[tuple[int, int], ...]) -> np.ndarray:
    found = np.zeros((SIDE, SIDE))
    found[tuple(slice(*side) for side in box)] = 1.0
    return found.ravel()


def test_where_everything_is_asked_the_law_is_that_of_the_fit() -> None:
    m = measure_for_experiment(np.full(SIDE * SIDE, 10**6), QUESTION, 1, 1)
    model = table_model(m.noise)
    fit = np.array([model.fit(row).ravel() for row in np.eye(len(m.noisy), dtype=np.int64)]).T
    errors = errors_of(m.noise)
    for box in BOXES:
        exact = float((weights(box) @ fit) ** 2 @ m.variances)
        law = errors.noise_law(((box, 1.0),))
        assert law.variance == pytest.approx(exact, rel=1e-4)
        assert errors.variance(((box, 1.0),)) == pytest.approx(exact)
        assert errors.variance(((box, -3.0),)) == pytest.approx(9 * exact)
        assert (law.left_open, law.open_noise) == (0.0, None)
        assert law.among == pytest.approx(8 / 3)
    pair = ((BOXES[0], 1.0), (BOXES[1], -2.0))
    mixed = weights(BOXES[0]) - 2 * weights(BOXES[1])
    assert errors.variance(pair) == pytest.approx(float((mixed @ fit) ** 2 @ m.variances))


def test_a_box_of_the_first_level_has_the_exact_law_of_its_answer() -> None:
    m = measure_for_experiment(np.zeros(SIDE * SIDE, np.int64), QUESTION, 1, 1)
    law = errors_of(m.noise).noise_law(((((0, 8), (8, 16)), 1.0),))
    assert (law.among, law.left_open, law.open_noise) == (1.0, 0.0, None)
    assert law.variance == pytest.approx(m.variances[0])
    assert law.words == "exact, from the law of the noise"


def test_variances_of_many_boxes_are_those_of_one() -> None:
    m = measure_for_experiment(np.zeros(SIDE * SIDE, np.int64), QUESTION, 1, 1)
    errors = errors_of(m.noise)
    low, high = (np.array([[side[end] for side in box] for box in BOXES]) for end in (0, 1))
    one = [errors.variance(((box, 1.0),)) for box in BOXES]
    np.testing.assert_allclose(errors.box_variances(low, high), one)
    cuts = np.array([0, 3, 4, 11]), np.array([2, 7, 16])
    every = errors.product_variances(cuts)
    for i, j in np.ndindex(every.shape):
        box = (tuple(cuts[0][i : i + 2].tolist()), tuple(cuts[1][j : j + 2].tolist()))
        assert every[i, j] == pytest.approx(errors.variance(((box, 1.0),)))


def heaps() -> dict[str, np.ndarray]:
    """Counts that lie as unevenly inside boxes as can be, small enough to be pooled."""
    x, y = np.mgrid[:SIDE, :SIDE]
    return {
        "nothing": np.zeros((SIDE, SIDE)),
        "corners": 30 * ((x % 8 == 7) & (y % 8 == 6)),
        "one heap": 45 * ((x == 10) & (y == 6)),
        "stripes": 4 * (x % 2 == 0),
        "dense": np.full((SIDE, SIDE), 40),
    }


@pytest.mark.parametrize("name", heaps())
def test_intervals_cover_whatever_lies_inside_boxes(name: str) -> None:
    counts, level, draws = heaps()[name].astype(np.int64), 0.8, 250
    true = [int(weights(box) @ counts.ravel()) for box in BOXES]
    held = np.zeros(len(BOXES))
    opened = 0
    for seed in range(draws):
        m = measure_for_experiment(counts.ravel(), QUESTION, "1/2", seed)
        release = tu.infer(m)
        for number, (box, truth) in enumerate(zip(BOXES, true, strict=True)):
            law = release.errors.noise_law(((box, 1.0),))
            shown = weights(box) @ release.counts().ravel()
            held[number] += abs(shown - truth) <= law.half_width(level) + 1e-6
            opened += law.left_open > 0
    fewest = level * draws - 3 * np.sqrt(draws * level * (1 - level))
    assert held.min() >= fewest, held / draws
    assert opened or name == "dense"


def test_what_is_open_is_bounded_by_the_totals_of_runs() -> None:
    """One pooled run of all: a single cell may hold it all, or nothing of its even part."""
    m = measure_for_experiment(np.zeros(SIDE * SIDE, np.int64), QUESTION, 1, 3)
    pooled = m.question.pooled
    runs = [
        (level, a, b) for level, (s, e) in enumerate(pooled.runs) for a, b in zip(s, e, strict=True)
    ]
    level, first, _ = runs[0]
    total = max(int(pooled.totals[level][0]), 0)
    cell = divmod(int(m.question.order[first * 64]), SIDE)
    box = ((cell[0], cell[0] + 1), (cell[1], cell[1] + 1))
    law = errors_of(m.noise).noise_law(((box, 1.0),))
    assert level == 1
    assert law.left_open == pytest.approx(total * (1 - 1 / 64))
    assert law.open_noise.coefficients.tolist() == pytest.approx([1 - 1 / 64])
    assert law.half_width(0.9) > law.left_open


def test_every_run_is_open_by_its_own_total_and_its_own_noise() -> None:
    """A cell of the last box of each run: whatever the run has may be there, or elsewhere.

    A total below 0 leaves nothing open, and takes nothing from others. Its noise has the scale of
    all the shares below its level, and a quarter of the chance to fail.
    """
    counts = np.zeros(SIDE * SIDE, np.int64)
    counts[0] = 10**6
    shares, below_zero = [float(share) for share in QUESTION.boxes.shares], 0
    for seed in range(12):
        m = measure_for_experiment(counts, QUESTION, 1, seed)
        pooled, boxes, wanted, open_ = m.question.pooled, [], [], 0.0
        for level, ((starts, ends), totals) in enumerate(
            zip(pooled.runs, pooled.totals, strict=True)
        ):
            cells = 4 ** (4 - level)
            for start, end, total in zip(starts, ends, totals, strict=True):
                assert start < end
                x, y = divmod(int(m.question.order[(end - 1) * cells]), SIDE)
                boxes.append((((x, x + 1), (y, y + 1)), 1.0))
                open_ += max(int(total), 0) * (1 - 1 / cells)
                below_zero += total < 0
                wanted.append((1 - 1 / cells, 1 / sum(shares[level:])))
        law = errors_of(m.noise).noise_law(tuple(boxes))
        assert law.left_open == pytest.approx(open_)
        own = law.open_noise
        each = np.repeat(np.stack([own.coefficients, own.scales]), own.counts.astype(int), axis=1)
        np.testing.assert_allclose(sorted(map(tuple, each.T)), sorted(wanted))
        assert (own.among, law.among) == (4.0, pytest.approx(8 / 3))
    assert below_zero > 3


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_is_open_is_the_most_that_cells_of_a_box_can_differ_from_their_mean(
    sign: float,
) -> None:
    """For any boxes, added and taken off: by a loop over all runs, their boxes and their cells."""
    chance, opened = np.random.default_rng(5), 0
    for seed in range(6):
        counts = chance.poisson(0.1, SIDE * SIDE)
        m = measure_for_experiment(counts, QUESTION, 1, seed)
        pooled, asked = m.question.pooled, m.question.nested.shape
        boxes = []
        for low, high in np.sort(chance.integers(0, SIDE + 1, (3, 2, 2)), axis=1).tolist():
            box = tuple(
                zip(low, [max(a + 1, b) for a, b in zip(low, high, strict=True)], strict=True)
            )
            boxes.append((box, sign * float(chance.integers(1, 4))))
        boxes.append((((0, SIDE), (0, SIDE)), sign * 2.0))
        values = sum(by * weights(box) for box, by in boxes)[m.question.order]
        wanted = 0.0
        for level, (starts, stops) in enumerate(pooled.runs):
            cells = values.reshape(asked.length(level), -1)
            for start, stop, total in zip(starts, stops, pooled.totals[level], strict=True):
                far = max(abs(each - each.mean()).max() for each in cells[start:stop])
                wanted += far * max(total, 0)
        found = errors_of(m.noise).noise_law(tuple(boxes)).left_open
        assert found == pytest.approx(wanted)
        opened += wanted > 0
    assert opened > 3


def test_open_noise_is_multiplied_and_added() -> None:
    noise = NoiseLaw(np.ones(1), np.array([2.0]), np.ones(1), among=4.0)
    law = NoiseLaw(
        np.ones(1), np.array([5.0]), np.ones(1), among=2.0, left_open=7.0, open_noise=noise
    )
    alone = NoiseLaw(np.ones(1), np.array([5.0]), np.ones(1), among=2.0)
    assert law.half_width(0.9) == alone.half_width(0.9) + 7.0 + noise.half_width(0.9)
    assert times(law, -3).half_width(0.9) == pytest.approx(3 * law.half_width(0.9))
    both = added([law, law])
    assert both.left_open == 14.0
    assert both.open_noise.counts.sum() == 2
    assert both.open_noise.among == 4.0
    assert both.half_width(0.9) < 2 * law.half_width(0.9) * 1.5


@pytest.mark.parametrize("name", heaps())
def test_intervals_of_the_boxes_of_a_map_are_those_of_each_box(name: str) -> None:
    """Of all the table, of a part of it, and along its sides."""
    counts, level = heaps()[name].astype(np.int64), 0.9
    release = tu.infer(measure_for_experiment(counts.ravel(), QUESTION, "1/2", seed=3))
    whole, fours, twos = np.array([0, SIDE]), np.arange(0, SIDE + 1, 4), np.arange(0, SIDE + 1, 2)
    part = [np.array([4, 6, 8]), np.array([8, 10, 12])]
    for cuts in ([fours, fours], [twos, twos], part, [fours, whole], [whole, fours]):
        found = release.errors.half_widths_between(cuts, level)
        assert found.shape == tuple(len(own) - 1 for own in cuts)
        for i, j in np.ndindex(found.shape):
            box = (tuple(cuts[0][i : i + 2].tolist()), tuple(cuts[1][j : j + 2].tolist()))
            exact = release.errors.noise_law(((box, 1.0),)).half_width(level)
            assert found[i, j] >= 0.99 * exact
            if cuts is part:  # where only what lies inside tells the boxes apart
                assert found[i, j] <= 1.02 * exact
