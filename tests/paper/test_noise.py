"""Reproducible noise: the law it has, and the stamp it always wears."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, laplace

import trueup as tu
from trueup.paper.noise import draw_for_experiment, measure_for_experiment

COUNTS = [2, 0, 10, 2]
QUESTION = tu.TreeCounts(4, 2)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 40.0])
def test_discrete_noise_has_the_discrete_law(scale):
    drawn = draw_for_experiment(np.random.default_rng(1), scale, 100_000)
    p = np.exp(-1 / scale)
    reach = max(1, int(4 * scale))
    middle = np.arange(-reach, reach + 1)
    probabilities = (1 - p) / (1 + p) * p ** np.abs(middle)
    seen = np.array([(drawn == x).sum() for x in middle])
    tails = 1 - probabilities.sum()
    observed = np.append(seen, len(drawn) - seen.sum())
    expected = np.append(probabilities, tails) * len(drawn)
    assert chisquare(observed, expected).pvalue > 1e-4


def test_continuous_noise_has_the_law_of_the_paper():
    drawn = draw_for_experiment(np.random.default_rng(2), 3.0, 50_000, "continuous")
    assert kstest(drawn, laplace(scale=3.0).cdf).pvalue > 1e-4


@pytest.mark.parametrize("law", ["discrete", "continuous"])
def test_the_same_seed_gives_the_same_noise_and_another_gives_another(law):
    one, same, other = (
        measure_for_experiment(COUNTS, QUESTION, "1/10", seed, law) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.noisy, same.noisy)
    assert not np.array_equal(one.noisy, other.noisy)
    assert one.noisy.dtype == (np.int64 if law == "discrete" else np.float64)


@pytest.mark.parametrize("law", ["discrete", "continuous"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_its_scales_are_those_of_a_private_measurement_and_it_is_stamped(law, neighbours):
    m = measure_for_experiment(COUNTS, QUESTION, "1/10", 1, law, neighbours)
    assert not m.private
    assert "NOT PRIVATE" in repr(m)
    assert m.noise.scales == tu.measure(COUNTS, QUESTION, "1/10", neighbours).noise.scales


def test_the_error_of_noisy_cell_counts_is_n_times_the_variance():
    rng = np.random.default_rng(3)
    question = tu.CellCounts(1000)
    for law in ("discrete", "continuous"):
        for epsilon in (1, "1/10"):
            runs = [
                measure_for_experiment(np.zeros(1000, int), question, epsilon, rng, law)
                for _ in range(30)
            ]
            error = np.mean([(m.noisy.astype(float) ** 2).sum() for m in runs])
            assert error == pytest.approx(runs[0].variances.sum(), rel=0.1)
            if law == "continuous":
                assert runs[0].variances.sum() == pytest.approx(2000 / float(runs[0].epsilon) ** 2)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"law": "gaussian"}, "The noise law gaussian goes with rho=, not with epsilon="),
        ({"law": "uniform"}, "must be one of .*, got 'uniform'"),
        ({"epsilon": 0}, "epsilon must be positive, got 0"),
        ({"counts": [1]}, "has 4 cells, but 1 counts were given"),
        ({"question": "tree"}, "A question such as TreeCounts"),
        ({"neighbours": "swap"}, "neighbours must be"),
    ],
)
def test_experiments_that_make_no_sense_are_refused(arguments, told):
    request = {"counts": COUNTS, "question": QUESTION, "epsilon": 1, "seed": 1, **arguments}
    with pytest.raises(tu.InputError, match=told):
        measure_for_experiment(**request)
