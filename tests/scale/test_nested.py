"""A hierarchy in slabs, against dense least squares over all answers."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.facts import Facts
from trueup.noise import noise_variance
from trueup.scale.nested import NestedSlabs
from trueup.scale.slabbed import asked_levels

CODES = [101, 102, 103, 104, 105, 106, 107, 201, 301, 302, 410, 411, 412, 511, 521, 522, 533]
AXIS = tu.Axis.codes("place", CODES, {"state": 1, "county": 2, "place": 3})
TREES = [
    tu.TreeCounts(AXIS),
    tu.TreeCounts(AXIS, shares=("1/8", 0, "3/8", "1/2")),
    tu.TreeCounts(AXIS, levels=("state", "county"), shares=("1/3", "1/3", "1/3")),
]


@pytest.mark.parametrize("most", [1, 2, 5, 8, 100])
@pytest.mark.parametrize("tree", TREES)
def test_slabs_give_dense_least_squares(tree: tu.TreeCounts, most: int) -> None:
    noise = Facts.of(tree, 1).noise
    slabs = NestedSlabs.of(noise, asked_levels(noise), most, threads=2)
    rng = np.random.default_rng(most)
    counts = rng.integers(0, 9, tree.size)
    noisy = tree.answers(counts) + rng.integers(-20, 20, tree.length)
    starts = dict(zip(tree.asked, np.cumsum([0, *noise.lengths]), strict=False))

    def given(values, runs, span):  # type: ignore[no-untyped-def]
        for run in runs:
            first = starts[run.level] + run.first
            values[run.begin : run.end] = noisy[first : first + run.end - run.begin]

    each = range(slabs.number)
    drawn = [slabs.draw(k, counts[slice(*slabs.counted(k))], given) for k in each]
    for k in each:
        assert np.array_equal(slabs.totals(k, counts[slice(*slabs.counted(k))]), drawn[k][1])
        assert slabs.cells(k)[1] - slabs.cells(k)[0] <= max(most, 1)
    above = slabs.draw_above(np.concatenate([totals for _, totals in drawn]), given)
    up = [slabs.rise(k, drawn[k][0]) for k in each]
    steps = slabs.final_steps(above, *(np.concatenate(part) for part in zip(*up, strict=True)))
    found = np.empty(slabs.size)
    for k in each:
        slabs.fall(k, drawn[k][0], steps[slabs.blocks(k)], found[slice(*slabs.cells(k))])
    rows = [
        np.add.reduceat(np.eye(slabs.size), tree.shape.starts(level), axis=0)
        for level in tree.asked
    ]
    variances = np.repeat([noise_variance(b, noise.law) for b in noise.scales], noise.lengths)
    weighed = np.concatenate(rows) / np.sqrt(variances)[:, None]
    dense = np.linalg.lstsq(weighed, noisy / np.sqrt(variances), rcond=None)[0]
    assert np.allclose(found, dense, rtol=0, atol=1e-8)
