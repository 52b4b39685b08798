"""Hats in slabs, against dense least squares over all answers."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.facts import Facts
from trueup.infer.hat_errors import HatErrors
from trueup.noise import noise_variance
from trueup.scale.hats import HatSlabs


@pytest.mark.parametrize("most", [1, 12, 40, 1_000])
@pytest.mark.parametrize("hats", [tu.HatCounts(101, strides=(4, 12)), tu.HatCounts(67, (3, 6, 12))])
def test_slabs_give_dense_least_squares(hats: tu.HatCounts, most: int) -> None:
    noise = Facts.of(hats, 1).noise
    slabs = HatSlabs(HatErrors.of(noise), most, threads=2)
    rng = np.random.default_rng(most)
    counts = rng.integers(0, 9, hats.size)
    noisy = hats.answers(counts) + rng.integers(-20, 20, hats.length)

    def given(values, runs, span):  # type: ignore[no-untyped-def]
        for run in runs:
            values[run.begin : run.end] = noisy[run.numbers]

    each = range(slabs.number)
    drawn = [slabs.draw(k, counts[slice(*slabs.cells(k))], given) for k in each]
    for k in each:
        assert np.array_equal(slabs.totals(k, counts[slice(*slabs.cells(k))]), drawn[k][1])
    above = slabs.draw_above(np.concatenate([edges for _, edges in drawn]), given)
    roots = np.concatenate([slabs.rise(k, drawn[k][0])[0] for k in each])
    steps = slabs.final_steps(above, roots, np.empty(0)).reshape(slabs.roots, -1)
    found = np.empty(hats.size)
    for k in each:
        slabs.fall(k, drawn[k][0], steps[slabs.blocks(k)].ravel(), found[slice(*slabs.cells(k))])
    variances = np.repeat([noise_variance(b, noise.law) for b in noise.scales], noise.lengths)
    weighed = hats.matrix().toarray() / np.sqrt(variances)[:, None]
    dense = np.linalg.lstsq(weighed, noisy / np.sqrt(variances), rcond=None)[0]
    assert np.allclose(found, dense, rtol=0, atol=1e-8)
