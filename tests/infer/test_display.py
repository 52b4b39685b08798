"""Non-negative and whole releases through `infer`: laws of what a person is shown."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import nnls

import trueup as tu
from trueup.infer.display import shown_margins
from trueup.paper.noise import measure_for_experiment as measured

GRADES = {
    "total": slice(None),
    "passing": ["A", "B", "C", "D"],
    **{grade: [grade] for grade in "ABCDF"},
}


def sparse_counts(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(3, n) * (rng.random(n) < 0.2)


def questions(n):
    return [
        tu.CellCounts(n),
        tu.TreeCounts(n, branching=2),
        tu.TreeCounts(n, branching=16, root=False),
        tu.TreeCounts(n, radices=(100, 10), shares=("0.1", "0.5", "0.4")),
    ]


WAYS = [
    {"nonnegative": True},
    {"nonnegative": True, "method": "exact"},
    {"nonnegative": True, "method": "top-down"},
    {"nonnegative": True, "integers": True},
    {"nonnegative": True, "integers": True, "method": "exact"},
    {"integers": True},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("question", questions(700), ids=lambda q: str(q.blocks)[:40])
def test_shown_counts_add_up_exactly(question, way):
    m = measured(sparse_counts(700), question, 0.2, seed=1)
    release = tu.infer(m, **way)
    counts = release.counts()
    if "nonnegative" in way:
        assert counts.min() >= 0
    if "integers" in way:
        assert counts.dtype == np.int64
        assert isinstance(release.total().value, int)
    rng = np.random.default_rng(2)
    for low, middle, high in np.sort(rng.integers(0, 701, (200, 3)), axis=1):
        prefix = release.prefix
        left, right = prefix[middle] - prefix[low], prefix[high] - prefix[middle]
        assert left + right == prefix[high] - prefix[low]
        assert left + right == counts[low:high].sum()


@pytest.mark.parametrize("question", questions(700), ids=lambda q: str(q.blocks)[:40])
def test_top_down_keeps_the_total_and_exact_fits_best(question):
    m = measured(sparse_counts(700), question, 0.2, seed=3)
    plain = tu.infer(m)
    top_down = tu.infer(m, nonnegative=True, method="top-down")
    large_first = tu.infer(m, nonnegative=True)
    exact = tu.infer(m, nonnegative=True, method="exact")
    assert top_down.total().value == pytest.approx(max(plain.total().value, 0), rel=1e-9)
    assert large_first.total().value >= top_down.total().value * (1 - 1e-9)
    matrix, weights = question.matrix(), 1 / m.variances

    def misfit(release):
        return (weights * (matrix @ release.counts() - m.noisy) ** 2).sum()

    assert misfit(plain) <= misfit(exact) <= min(misfit(top_down), misfit(large_first))
    assert large_first.facts.inferred == "non-negative counts, large-first"


def test_exact_is_nnls():
    question = tu.TreeCounts(60, radices=(4, 4, 4), shares=("0.1", "0.2", "0.3", "0.4"))
    m = measured(sparse_counts(60), question, 0.5, seed=4)
    root = 1 / np.sqrt(m.variances)
    expected, _ = nnls(root[:, None] * question.matrix().toarray(), root * m.noisy)
    release = tu.infer(m, nonnegative=True, method="exact")
    np.testing.assert_allclose(release.counts(), expected, atol=1e-6)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_unbiased_answers_are_kept_beside_the_shown_ones(way, tmp_path):
    axis = tu.Axis.integers("age", 0, 699)
    m = measured(sparse_counts(700), tu.TreeCounts(axis), 0.2, seed=5)
    plain, release = tu.infer(m), tu.infer(m, **way)
    assert np.array_equal(release.unbiased.counts(), plain.counts())
    assert plain.unbiased is plain
    assert release.facts.inferred != plain.facts.inferred == "least squares"
    assert release.facts.inferred in repr(release)
    answer, own = release.range(18, 65), plain.range(18, 65)
    assert answer.unbiased.value == own.value
    assert answer.unbiased.interval(0.9) == own.interval(0.9)
    low, high = answer.interval(0.9)
    reach = own.interval(0.9)
    assert low <= answer.value <= high
    assert high >= math.floor(reach[1])
    assert low <= max(math.ceil(reach[0]), 0) or "nonnegative" not in way
    for name in ("release.parquet", "release.json"):
        release.save(tmp_path / name)
        again = tu.load(tmp_path / name)
        assert np.array_equal(again.counts(), release.counts())
        assert again.counts().dtype == release.counts().dtype
        assert np.array_equal(again.unbiased.counts(), plain.counts())
        assert again.facts == release.facts


def test_shown_counts_refuse_the_error_of_least_squares():
    release = tu.infer(measured(sparse_counts(700), tu.TreeCounts(700), 1, 6), nonnegative=True)
    answer = release.range(10, 20)
    with pytest.raises(tu.InputError, match="unbiased"):
        _ = answer.std_error
    with pytest.raises(tu.InputError, match="unbiased"):
        release.std_errors()
    with pytest.raises(tu.InputError, match="unbiased"):
        release.range_errors([0], [5])
    assert set(release.columns()) >= {"count", "unbiased", "unbiased_std_error"}
    both = release.range(0, 10) + answer
    assert both.value == release.range(0, 20).value
    assert both.unbiased.std_error == pytest.approx(release.unbiased.range(0, 20).std_error)
    assert "unbiased" in release._repr_html_()


def test_consistent_whole_answers_are_left_alone():
    counts = sparse_counts(700)
    for question in questions(700):
        m = tu.Measurement(question, question.answers(counts), epsilon=1)
        for way in WAYS:
            assert np.array_equal(tu.infer(m, **way).counts().round(9), counts)
            if "integers" in way:
                assert np.array_equal(tu.infer(m, **way).counts(), counts)


def test_shown_again_from_what_is_shown_is_the_same():
    question = tu.TreeCounts(700, branching=4)
    m = measured(sparse_counts(700), question, 0.3, seed=7)
    for way in WAYS[3:5]:
        once = tu.infer(m, **way)
        again = tu.Measurement(question, question.answers(once.counts()), epsilon=1)
        assert np.array_equal(tu.infer(again, **way).counts(), once.counts())


@pytest.mark.parametrize("method", ["large-first", "top-down"])
def test_sparse_truth_is_nearer_than_by_least_squares(method):
    counts = sparse_counts(4096)
    for question in (tu.TreeCounts(4096, branching=2), tu.TreeCounts(4096)):
        gained = lost = 0.0
        for seed in range(5):
            m = measured(counts, question, 0.1, seed=seed)
            shown = tu.infer(m, nonnegative=True, method=method)
            gained += ((shown.prefix[1:] - counts.cumsum()) ** 2).mean()
            lost += ((tu.infer(m).prefix[1:] - counts.cumsum()) ** 2).mean()
        assert gained < lost


def test_sorted_counts_become_whole_and_never_leave_the_band():
    counts = np.sort(sparse_counts(500))
    m = measured(counts, tu.SortedCounts(500, adaptive=False), 0.5, seed=8)
    plain = tu.infer(m)
    shown = tu.infer(m, nonnegative=True, integers=True)
    assert shown.counts().dtype == np.int64
    assert shown.counts().min() >= 0
    assert (np.diff(shown.counts()) >= 0).all()
    np.testing.assert_allclose(shown.counts(), np.clip(plain.counts(), 0, None), atol=0.5)
    assert np.array_equal(shown.band(0.9), plain.band(0.9))
    assert shown.total().unbiased.value == plain.total().value
    assert np.array_equal(shown.unbiased.counts(), plain.counts())


def test_graphical_degrees_belong_to_a_graph(tmp_path):
    graph = nx.barabasi_albert_graph(300, 2, seed=1)
    release = tu.degree_sequence(list(graph.edges), nodes=300, epsilon=1, graphical=True)
    degrees = release.counts().tolist()
    assert nx.is_graphical(degrees)
    assert sorted(d for _, d in nx.havel_hakimi_graph(degrees).degree()) == degrees
    release.save(tmp_path / "degrees.json")
    again = tu.load(tmp_path / "degrees.json")
    assert np.array_equal(again.counts(), release.counts())
    assert np.array_equal(again.band(), release.band())
    with pytest.raises(tu.InputError, match="undirected"):
        tu.degree_sequence([(0, 1)], nodes=3, epsilon=1, kind="directed", graphical=True)


def test_named_counts_are_shown_whole_and_agree(tmp_path):
    grade = tu.Axis.categories("grade", list("ABCDF"))
    question = tu.NamedCounts(grade, GRADES)
    for seed in range(20):
        m = measured([0, 3, 0, 1, 2], question, 0.3, seed=seed)
        for way in ({"nonnegative": True}, {"nonnegative": True, "integers": True}):
            release = tu.infer(m, **way)
            value = {name: release[name].value for name in release.names}
            assert min(value.values()) >= 0
            assert value["total"] == value["passing"] + value["F"]
            assert value["passing"] == sum(value[grade] for grade in "ABCD")
            assert release["F"].unbiased.interval() == tu.infer(m)["F"].interval()
            release.save(tmp_path / "grades.parquet")
            again = tu.load(tmp_path / "grades.parquet")
            assert again["F"].unbiased.value == release["F"].unbiased.value


@pytest.mark.parametrize(("far", "moved"), [(1.45, False), (1.55, True)])
def test_margins_that_are_near_stay_and_others_are_brought_nearer(far, moved):
    """The first margin is off by `far` both ways; records could be moved in either case."""
    table = np.full((2, 4), 5)
    cells = table + far / 4 * np.array([[1.0], [-1.0]])
    found = shown_margins(table, cells, [(0,), (1,)])
    assert (found is table) != moved
    off = np.abs((found - cells).sum(axis=1))
    assert off.max() == pytest.approx(2 - far if moved else far)
    assert found.sum() == table.sum()
    assert (found.sum(axis=0) == table.sum(axis=0)).all()


def test_senseless_wishes_are_refused():
    m = measured(sparse_counts(9), tu.TreeCounts(9), 1, seed=1)
    with pytest.raises(tu.InputError, match="large-first, top-down, exact"):
        tu.infer(m, nonnegative=True, method="clip")
    with pytest.raises(tu.InputError, match="nonnegative=True"):
        tu.infer(m, method="exact")
    with pytest.raises(tu.InputError, match="undirected"):
        tu.infer(m, graphical=True)
    with pytest.raises(tu.InputError, match="SortedCounts"):
        tu.infer(
            measured([1], tu.SortedCounts(1, adaptive=False), 1, 1),
            nonnegative=True,
            method="top-down",
        )
