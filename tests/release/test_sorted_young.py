"""What is read from sorted counts: counts of counts, quantiles, the largest; and kept in a file."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment

RNG = np.random.default_rng(4)
COUNTS = np.sort(np.minimum(RNG.zipf(1.9, 3000), 10**6))


@pytest.fixture(params=["young", "sorted"])
def release(request):
    question = (
        tu.SortedCounts(3000) if request.param == "young" else tu.SortedCounts(3000, adaptive=False)
    )
    return tu.infer(measure_for_experiment(COUNTS, question, "1/2", seed=1))


def exactly():
    return tu.infer(measure_for_experiment(COUNTS, tu.SortedCounts(3000), 40, seed=1))


def test_adaptive_counts_are_whole_unless_real_numbers_are_asked_for():
    m = measure_for_experiment(COUNTS, tu.SortedCounts(3000), "1/2", seed=1)
    whole, real = tu.infer(m), tu.infer(m, integers=False)
    assert whole.counts().dtype == np.int64
    assert (whole.counts() >= 0).all()
    assert real.counts().dtype == np.float64
    assert (real.counts() >= 0).all()
    assert np.array_equal(whole.unbiased.counts(), real.unbiased.counts())
    assert (np.diff(whole.unbiased.counts()) >= 0).all()
    assert (np.abs(whole.counts() - real.counts()) <= 0.5).all()
    assert tu.infer(m, integers=True).counts().tolist() == whole.counts().tolist()


def test_plain_sorted_counts_stay_real():
    m = measure_for_experiment(COUNTS, tu.SortedCounts(3000, adaptive=False), "1/2", seed=1)
    assert tu.infer(m).counts().dtype == np.float64


def test_without_noise_all_is_numpys():
    found = exactly()
    assert np.array_equal(found.counts(), COUNTS)
    for k in (0, 1, 2, 7, 10**6):
        assert found.how_many(k).value == (k == COUNTS).sum()
        assert found.how_many(at_least=k).value == (k <= COUNTS).sum()
    assert found.largest().value == COUNTS.max()
    assert found.mean().value == COUNTS.mean()
    assert found.total().value == COUNTS.sum()
    for share in (0, 0.1, 0.5, 0.999, 1):
        expected = np.quantile(COUNTS, share, method="inverted_cdf")
        assert found.quantile(share).value == expected
    values, groups = found.counts_of_counts()
    expected, times = np.unique(COUNTS, return_counts=True)
    assert np.array_equal(values, expected)
    assert np.array_equal(groups, times)


def test_intervals_hold_the_truth(release):
    low, high = release.band(0.99)
    assert ((low <= COUNTS) & (high >= COUNTS)).all()
    for read, truth in (
        (release.how_many(1), (COUNTS == 1).sum()),
        (release.how_many(3), (COUNTS == 3).sum()),
        (release.how_many(at_least=2), (COUNTS >= 2).sum()),
        (release.largest(), COUNTS.max()),
        (release.mean(), COUNTS.mean()),
        (release.quantile(0.9), COUNTS[2699]),
    ):
        low, high = read.interval(0.99)
        assert low <= truth <= high
        assert low <= read.value <= high or abs(read.value - truth) <= high - low
    assert str(release.how_many(at_least=2)).count("to") == 1
    assert float(release.largest()) == release.largest().value


def test_shares_add_up(release):
    at_least = [release.how_many(at_least=k).value for k in range(6)]
    for k in range(5):
        assert release.how_many(k).value == at_least[k] - at_least[k + 1]


def test_a_saved_release_keeps_its_band(release, tmp_path):
    for name in ("r.json", "r.parquet"):
        release.save(tmp_path / name)
        found = tu.load(tmp_path / name)
        assert np.array_equal(found.counts(), release.counts())
        for level in (0.5, 0.95):
            for mine, theirs in zip(release.band(level), found.band(level), strict=True):
                assert np.array_equal(mine, theirs)
        assert found.total().unbiased.value == release.total().unbiased.value
        assert repr(found) == repr(release)


def test_a_release_whose_answers_were_taken_out_is_refused(tmp_path):
    import json

    exactly().save(tmp_path / "r.json")
    damaged = json.loads((tmp_path / "r.json").read_text())
    del damaged["about"]["answers"]
    (tmp_path / "r.json").write_text(json.dumps(damaged))
    with pytest.raises(tu.FileError):
        tu.load(tmp_path / "r.json")


@pytest.mark.parametrize(
    "ask",
    [
        lambda r: r.how_many(),
        lambda r: r.how_many(1, at_least=2),
        lambda r: r.how_many(1.5),
        lambda r: r.quantile(1.5),
        lambda r: r.quantile("half"),
        lambda r: r.largest().interval(1),
    ],
)
def test_what_makes_no_sense_is_refused(ask, release):
    with pytest.raises(tu.InputError):
        ask(release)


def test_adaptive_degrees_can_be_made_graphical():
    rng = np.random.default_rng(2)
    edges = np.unique(np.sort(rng.integers(0, 300, (900, 2)), axis=1), axis=0)
    degrees = np.bincount(edges[edges[:, 0] != edges[:, 1]].ravel(), minlength=300)
    m = tu.measure(degrees, tu.SortedCounts(300, ends=2), epsilon=1)
    import networkx as nx

    assert nx.is_graphical(tu.infer(m, graphical=True).counts().tolist())
    with pytest.raises(tu.InputError, match="undirected"):
        tu.infer(tu.measure(degrees, tu.SortedCounts(300), epsilon=1), graphical=True)


def test_adaptive_counts_are_closer_than_isotonic_regression():
    # On a heavy tail, at every ε: a small sample of what bench/sorted.py measures.
    counts = np.sort(np.minimum(np.random.default_rng(9).zipf(2.0, 5000), 10**6))
    for epsilon in (1, "1/10", "1/100"):
        ours, theirs = [], []
        for seed in range(12):
            young = tu.infer(measure_for_experiment(counts, tu.SortedCounts(5000), epsilon, seed))
            plain = tu.infer(
                measure_for_experiment(counts, tu.SortedCounts(5000, adaptive=False), epsilon, seed)
            )
            ours.append(((young.counts() - counts) ** 2.0).sum())
            theirs.append(((plain.counts() - counts) ** 2).sum())
        assert np.mean(ours) < 0.75 * np.mean(theirs)
