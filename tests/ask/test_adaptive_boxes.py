"""Adaptive quadtrees ask what an adaptive tree over the cells in nested order asks."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.ask import AdaptiveBoxCounts, question_from_json
from trueup.ask.adaptive_boxes import CROWDED, SMALL
from trueup.ask.pooled import Rule
from trueup.paper.noise import measure_for_experiment


def grid(rows: int, columns: int, seed: int = 1) -> np.ndarray:
    g = np.random.default_rng(seed)
    found = g.poisson(300, (rows, columns)) * (g.random((rows, columns)) < 0.05)
    found[: rows // 2, : columns // 2] += 500
    return found


@pytest.mark.parametrize("sizes", [(16, 16), (16, 64), (12, 18), (4, 64, 16)], ids=str)
def test_every_answer_is_the_count_of_a_box_or_of_boxes_beside_each_other(
    sizes: tuple[int, ...],
) -> None:
    question = tu.BoxCounts.quadtree(*sizes, adaptive=True)
    g = np.random.default_rng(2)
    counts = np.zeros(sizes, np.int64)
    counts[-3:, 5:9] = g.integers(300, 900, counts[-3:, 5:9].shape)
    settled = measure_for_experiment(counts.ravel(), question, 1, 3).question
    matrix = settled.matrix().toarray()
    assert (matrix @ counts.ravel()).tolist() == settled.answers(counts.ravel()).tolist()
    lengths, pooled = [n for n, _ in settled.blocks], settled.labels()["pooled"]
    assert sum(lengths) == len(matrix) == len(pooled)
    assert pooled.any()
    assert not pooled.all()
    for row in matrix[~pooled]:  # a box: as many cells as its sides say
        cells = np.argwhere(row.reshape(sizes))
        assert len(cells) == np.prod(cells.max(0) - cells.min(0) + 1)


def test_the_shares_of_the_answers_that_count_a_cell_add_up_to_one() -> None:
    for seed in range(20):
        counts = grid(32, 32, seed)
        settled = measure_for_experiment(
            counts.ravel(), tu.BoxCounts.quadtree(32, 32, adaptive=True), "1/10", seed
        ).question
        shares = np.repeat([float(s) for _, s in settled.blocks], [n for n, _ in settled.blocks])
        np.testing.assert_allclose(shares @ settled.matrix().toarray(), 1.0)


def test_what_was_asked_is_written_and_read_back() -> None:
    counts = grid(16, 16)
    m = tu.measure(counts.ravel(), tu.BoxCounts.quadtree(16, 16, adaptive=True), 1)
    again = question_from_json(m.question.to_json())
    assert again == m.question
    assert again.pooled.rule == Rule(SMALL, CROWDED)
    again.check_answers(m.noisy, m.noise.unit)
    with pytest.raises(tu.InputError, match="was asked already"):
        tu.measure(counts.ravel(), m.question, 1)
    wrong = m.noisy.copy()
    wrong[: m.question.blocks[0][0]] += 10**6  # nothing of that would have been pooled
    with pytest.raises(tu.InputError, match="pooled into other runs"):
        again.check_answers(wrong, m.noise.unit)


def test_only_boxes_in_boxes_can_be_pooled() -> None:
    with pytest.raises(tu.InputError, match="made from BoxCounts"):
        AdaptiveBoxCounts(tu.TreeCounts(16))  # type: ignore[arg-type]
    lattice = tu.BoxCounts(4, 4, radices=[(2, 2), (2, 2)], shares={(2, 2): 1})
    with pytest.raises(tu.InputError, match="level by level down to the cells"):
        AdaptiveBoxCounts(lattice)
    with pytest.raises(tu.InputError, match="adaptive must be True or False"):
        tu.BoxCounts.quadtree(4, 4, adaptive="yes")  # type: ignore[call-overload]
