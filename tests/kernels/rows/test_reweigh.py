"""Multiplicative weights: as written out cell by cell, and towards the answers."""

from __future__ import annotations

import itertools
import math

import numpy as np

from trueup._kernels.rows.reweigh import level, moved, replayed


def written_out(sizes, total, boxes, answers):
    """The same by the book, one cell after the other."""
    cells = list(itertools.product(*map(range, sizes)))
    table = {cell: max(float(total), 1.0) / len(cells) for cell in cells}
    whole = sum(table.values())
    mean = dict.fromkeys(cells, 0.0)
    for number in range(1, len(answers) + 1):
        for _ in range(20):
            for (start, stop), answer in zip(boxes[:number], answers[:number], strict=True):
                inside = [
                    cell
                    for cell in cells
                    if all(a <= c < b for c, a, b in zip(cell, start, stop, strict=True))
                ]
                step = (answer - sum(table[cell] for cell in inside)) / (2 * whole)
                for cell in inside:
                    table[cell] *= math.exp(min(max(step, -50), 50))
                now = sum(table.values())
                for cell in cells:
                    table[cell] *= whole / now
        for cell in cells:
            mean[cell] += table[cell] / len(answers)
    return np.array([mean[cell] for cell in cells]).reshape(sizes)


def test_rounds_lead_where_they_do_when_written_out():
    rng = np.random.default_rng(1)
    for sizes in ((7,), (3, 4)):
        starts = rng.integers(0, 2, (5, len(sizes)))
        stops = starts + rng.integers(1, 3, starts.shape)
        answers = rng.integers(-5, 90, 5)
        boxes = list(zip(starts.tolist(), stops.tolist(), strict=True))
        found = replayed(sizes, 100, starts, stops, answers)
        assert np.allclose(found, written_out(sizes, 100, boxes, answers.tolist()), rtol=1e-9)
        assert (found >= 0).all()
        assert found.sum() == np.float64(100) or abs(found.sum() - 100) < 1e-9


def test_a_box_comes_to_its_answer_and_a_total_of_nothing_is_one_record():
    table = moved(level([10], 1_000), np.array([[2]]), np.array([[4]]), [600])
    assert abs(table[2:4].sum() - 600) < 40  # from 200, in 20 passes
    assert level([4], -3).sum() == 1
