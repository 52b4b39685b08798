"""The tables of hats against dense algebra of one interval: its cells, and the hats inside it."""

from __future__ import annotations

import numpy as np
import pytest

from trueup._kernels.hats.hat_tables import (
    FIRST,
    INNER,
    LAST,
    cell_variances,
    hat_tables,
    kind_of,
    slot_of,
    state_starts,
)

from .hats_written_out import random_hats

SEEDS = range(40)


def interval(hats, level, number):
    """The covariance of an interval's cells by the hats whose knots lie inside it, and its lines.

    The lines are the parts inside of the hats around its left end, finest first, and its right.
    """
    k = hats.strides[level]
    start, stop = number * k, (number + 1) * k
    middle = np.arange(start, stop) + 0.5
    rows, noise, first = [], [], 0
    for finer in hats.strides[:level]:
        for knot in range(-(-hats.size // finer) + 1):
            if start < knot * finer < stop:
                rows.append(np.maximum(1 - np.abs(middle - knot * finer) / finer, 0))
                noise.append(hats.noise[first + knot])
        first += -(-hats.size // finer) + 1
    told = np.array(rows).reshape(len(rows), len(middle))
    information = np.diag(1 / hats.cells[start:stop]) + told.T @ (told / np.array(noise)[:, None])
    lines = [
        np.maximum(1 - np.abs(middle - end) / stride, 0)
        for end in (start, stop)
        for stride in hats.strides[: level + 1]
    ]
    return np.linalg.inv(information), np.array(lines)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_total_of_an_interval_has_the_variance_of_dense_least_squares(seed):
    hats = random_hats(seed, most=90)
    tables = hats.tables()
    for level, count in enumerate(tables.counts.tolist()):
        for kind, number in ((FIRST, 0), (INNER, 1), (LAST, count - 1)):
            full = (number + 1) * hats.strides[level] <= hats.size
            if kind_of(number, count) != kind or number >= count or not full:
                continue
            covariance, lines = interval(hats, level, number)
            total = covariance.sum(axis=0)
            found = tables.child_q[level, kind]
            assert found == pytest.approx(total.sum(), rel=1e-8)
            state = tables.child_c[level, kind, : len(lines)]
            np.testing.assert_allclose(state, lines @ total, rtol=1e-7, atol=1e-10 * found)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_hats_at_both_ends_have_the_covariance_of_dense_least_squares(seed):
    hats = random_hats(seed, most=90)
    rows = hats.rows()
    ends = np.cumsum([0] + [-(-hats.size // k) + 1 for k in hats.strides])
    outer = np.concatenate([ends[:-1], ends[1:] - 1])
    inner = np.setdiff1d(np.arange(len(rows)), outer)
    told = rows[inner]
    information = np.diag(1 / hats.cells) + told.T @ (told / hats.noise[inner, None])
    covariance = rows[outer] @ np.linalg.inv(information) @ rows[outer].T
    wanted = np.linalg.inv(covariance + np.diag(hats.noise[outer]))
    found = hats.tables().root
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_cells_have_the_variances_they_were_given(seed):
    hats = random_hats(seed, most=90)
    assert (cell_variances(hats.tables()) == hats.cells).all()


def test_joints_of_unlike_intervals_have_slots_of_their_own_and_states_their_places():
    tables = hat_tables(100, (2, 6, 24), [1.0, 2.0, 3.0])
    assert tables.counts.tolist() == [50, 17, 5]
    seen = {}
    for m, count in enumerate(tables.counts.tolist(), start=1):
        ratio = int(tables.ratios[m - 1])
        for child in range(count):
            last = m == len(tables.strides)
            alike = kind_of(child // ratio, int(tables.counts[m])) if not last else INNER
            seen.setdefault(slot_of(tables, m, child), set()).add((m, child % ratio, alike))
    assert all(len(each) == 1 for each in seen.values())
    assert len(seen) == len(set().union(*seen.values()))
    assert max(seen) < len(tables.whole_q)
    assert state_starts(tables).tolist() == [0, 100, 168, 198]
