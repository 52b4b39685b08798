from __future__ import annotations

import importlib.util
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import trueup as tu
from trueup.infer.model import LARGE
from trueup.paper.noise import measure_for_experiment

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("size", "tree", "hats"),
    [
        (365, 95, 80),
        (1024, 155, 131),
        (4096, 262, 212),
        (65536, 615, 490),
        (86_400, 666, 530),
        (1 << 20, 1200, 940),
    ],
)
def test_tree_and_hats_reach_their_goals(size, tree, hats):
    found = tu.plan(size, epsilon=1)
    for name, goal, question in (
        ("best tree", tree, tu.TreeCounts(size)),
        ("hats", hats, tu.HatCounts(size)),
    ):
        assert found[name].continuous <= goal
        assert found[name].mean <= goal
        assert found[name].question == question
    assert found.best == tu.HatCounts(size)


SIZES = [1, 2, 3, 5, 7, 11, 13, 23, 41, 67, 101, 997, 7919, 123_457, 999_983]


@pytest.mark.parametrize("size", SIZES)
def test_never_above_flat(size):
    found = tu.plan(size, epsilon=1)
    flat = found["cells alone (L̃)"]
    assert flat.continuous == pytest.approx(2 * (size + 2) / 3)
    assert found.best_strategy.mean <= flat.mean
    assert found["best tree"].continuous <= flat.continuous * (1 + 1e-12)


def test_known_figures_of_the_papers_strategies():
    found = tu.plan(4096, epsilon=1)
    assert [round(s.continuous) for s in found.strategies[:4]] == [2732, 3381, 778, 685]


@pytest.mark.parametrize(
    "which", ["hats", "best tree", "Haar wavelet", "the paper's tree, inferred (H̄)"]
)
def test_the_mean_error_is_what_experiments_show(which):
    strategy = tu.plan(4096, epsilon=1)[which]
    seen = []
    for seed in range(400):
        noisy = measure_for_experiment(np.zeros(4096, int), strategy.question, 1, seed=seed)
        prefix = tu.infer(noisy).prefix
        # Σ (p_j − p_i)² over all pairs i < j, from two sums.
        pairs = 4097 * np.sum(prefix**2) - np.sum(prefix) ** 2
        seen.append(pairs / (4096 * 4097 / 2))
    spread = np.std(seen, ddof=1) / np.sqrt(len(seen))
    assert abs(np.mean(seen) - strategy.mean) <= 3 * spread


def test_errors_of_given_ranges_are_those_of_the_release():
    ranges = [(0, 18), (18, 65), (65, 100)]
    age = tu.Axis.integers("age", 0, 99)
    found = tu.plan(age, "0.3", tu.Workload.given(ranges))
    release = tu.infer(tu.measure(np.ones(100, int), found.best, epsilon="0.3"))
    squares = [release.range(*ends).std_error ** 2 for ends in ranges]
    assert found.best_strategy.mean == pytest.approx(np.mean(squares), rel=1e-9)
    assert found.best_strategy.worst == pytest.approx(max(squares), rel=1e-9)


@pytest.mark.parametrize(
    ("workload", "goal"),
    [
        ("prefixes", 160),
        ("cell counts", 2),
        ("log-uniform lengths", 125),
        (tu.Workload.lengths(range(1, 65)), 42),
        (tu.Workload.mix({"cell counts": 1, "all ranges": 1}), 112),
    ],
    ids=["prefixes", "cell counts", "log-uniform", "short", "mix"],
)
def test_other_workloads_get_their_own_best(workload, goal):
    found = tu.plan(4096, 1, workload)
    assert found.best_strategy.continuous <= goal
    assert found.best_strategy.mean <= min(s.mean for s in found.strategies) * (1 + 1e-12)


def test_a_hierarchy_is_planned_by_its_own_levels():
    place = tu.Axis.hierarchy("place", {f"s{i}": [f"c{i}{j}" for j in range(9)] for i in range(7)})
    found = tu.plan(place, 1)
    own = found["the axis's own levels, best shares"]
    assert own.mean <= found["the axis's own levels"].mean
    assert sum(own.question.shares) == 1


def test_at_a_large_epsilon_another_question_may_be_best():
    assert isinstance(tu.plan(64, 20).best, tu.CellCounts)
    assert isinstance(tu.plan(64, 1).best, tu.HatCounts)


@pytest.mark.parametrize("size", [1, 2, 20, 33, 34, 50, 101, 1000])
@pytest.mark.parametrize("workload", ["all ranges", "prefixes", "log-uniform lengths"])
def test_the_best_has_the_least_error_of_all(size, workload):
    found = tu.plan(size, 1, workload)
    assert found.best_strategy.mean <= min(s.mean for s in found.strategies) * (1 + 1e-12)
    assert found.best_strategy.question.price() == 1


@pytest.mark.parametrize("workload", ["all ranges", "prefixes", "log-uniform lengths"])
def test_counts_that_are_shown_are_asked_of_a_tree_that_knows_its_total(workload):
    found = tu.plan(4096, 1, workload, nonnegative=True)
    at_once = found["for non-negative counts"].question
    assert at_once.shares[0] == Fraction(1, 10)
    assert at_once.radices == found.best.tree.radices == tu.TreeCounts(4096).radices
    assert "before counts are made non-negative" in str(found)
    assert str(found).endswith("publish(…, adaptive=False) asks at once.")


@pytest.mark.parametrize("workload", ["all ranges", "prefixes", "log-uniform lengths"])
@pytest.mark.parametrize(
    "axis", [tu.Axis.integers("age", 0, 99), tu.Axis.ipv4("block", "10.0.0.0/16", 24)]
)
def test_the_best_for_counts_that_are_shown_is_an_adaptive_tree_at_an_epsilon(axis, workload):
    found = tu.plan(axis, 1, workload, nonnegative=True)
    assert found.best == tu.TreeCounts(axis, adaptive=True)
    assert found.best_strategy.name == "adaptive tree"
    assert "| **adaptive tree** |" in found.table()
    shown = tu.plan(axis, rho=1, workload=workload, nonnegative=True)
    assert shown.best == shown["for non-negative counts"].question
    assert "adaptive tree" in [each.name for each in shown.strategies]


def test_a_tree_that_is_made_in_one_pass_is_asked_at_once():
    below, above = (tu.plan(cells, 1, nonnegative=True) for cells in (LARGE - 1, LARGE))
    assert below.best == tu.TreeCounts(LARGE - 1, adaptive=True)
    assert above.best == above["for non-negative counts"].question
    assert above.best.shares[0] == Fraction(1, 10)
    assert above["adaptive tree"].question == tu.TreeCounts(LARGE, adaptive=True)  # is there too


def test_short_ranges_that_are_shown_are_asked_of_their_own_tree():
    short = tu.Workload.lengths(range(1, 65))
    found = tu.plan(4096, 1, short, nonnegative=True)
    assert found.best_strategy.mean <= 1.5 * found["best tree"].mean
    assert isinstance(tu.plan(4096, 1, "cell counts", nonnegative=True).best, tu.CellCounts)


def test_a_hierarchy_that_is_shown_keeps_its_levels():
    place = tu.Axis.hierarchy("place", {f"s{i}": [f"c{i}{j}" for j in range(9)] for i in range(7)})
    found = tu.plan(place, 1, nonnegative=True)
    at_once = found["for non-negative counts"].question
    assert at_once.levels == found.best.tree.levels == tuple(place.levels())
    assert at_once.shares[0] == Fraction(1, 10)


def test_errors_by_length_agree_with_single_ranges():
    found = tu.plan(100, 1)
    lengths = found.lengths().tolist()
    assert lengths == [1, 2, 4, 8, 16, 32, 64, 100]
    for name, curve in found.by_length().items():
        figures = found[name].figures
        for m, error in zip(lengths, curve, strict=True):
            starts = np.arange(100 - m + 1)
            assert error == pytest.approx(figures.range_variances(starts, starts + m).mean())


def test_the_table_names_the_best_and_the_picture_is_a_picture():
    found = tu.plan(tu.Axis.integers("age", 0, 199), 1)
    lines = found.table().splitlines()
    assert len(lines) == 2 + len(found.strategies)
    assert [line for line in lines if "**hats**" in line]
    assert str(found).startswith("Expected squared error over all ranges of 'age'")
    svg = ElementTree.fromstring(found.picture())
    words = {text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert words >= {strategy.name for strategy in found.strategies} | {"1", "200"}
    page = found._repr_html_()
    assert page.count("<tr>") == 1 + len(found.strategies)


def test_the_readme_shows_what_the_plan_draws():
    shown = (ROOT / "docs" / "images" / "consistency.svg").read_text(encoding="utf-8")
    assert tu.plan(4096, epsilon=1).picture() == shown  # else: python scripts/pictures.py


def test_the_picture_escapes_names():
    found = tu.plan(tu.Axis.integers("<b>&", 0, 19), 1)
    ElementTree.fromstring(found.picture())
    assert "<b>" not in found._repr_html_()


def test_the_page_shows_what_the_code_prints():
    spec = importlib.util.spec_from_file_location("bench_plan", ROOT / "bench" / "plan.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    page = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")
    assert bench.sizes_table() in page
    assert tu.plan(4096, epsilon=1).table() in page


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"epsilon": 0}, "positive"),
        ({"epsilon": -1}, "positive"),
        ({"epsilon": float("nan")}, "finite"),
        ({"axis": 0}, "at least 1 cell"),
        ({"axis": "age"}, "Axis or a number"),
        ({"workload": "all"}, "A workload is one of"),
        ({"workload": tu.Workload.lengths([1000])}, "do not fit"),
        ({"neighbours": "both"}, "neighbours must be"),
        ({"nonnegative": "yes"}, "True or False"),
        ({"rows_per_unit": 0}, "between 1 and"),
    ],
)
def test_plans_that_make_no_sense_are_refused(given, said):
    asked = {"axis": 100, "epsilon": 1, **given}
    with pytest.raises(tu.InputError, match=said):
        tu.plan(asked.pop("axis"), **asked)


def test_unknown_strategies_are_refused():
    with pytest.raises(tu.InputError, match="cells alone"):
        tu.plan(10)["worst tree"]


def test_levels_of_dates_are_planned_with_the_calendars_own_tree():
    day = tu.Axis.dates("day", "2024-01-01", "2024-12-31")
    found = tu.plan(day, 1, tu.Workload.level("month"))
    assert found.best_strategy.name == "the axis's own levels, best shares"
    assert found.best_strategy.mean < found["best tree"].mean / 2


@pytest.mark.parametrize(("size", "tree", "most"), [(1024, 21.7, 12.6), (4096, 29.94, 17.45)])
def test_the_plan_at_a_rho_has_the_known_figures(size, tree, most):
    """Mean variance over all ranges in units of the noise's variance: at ρ = 1/2 that is 1."""
    found = tu.plan(size, rho="1/2")
    assert found["the paper's tree, inferred (H̄)"].mean == pytest.approx(tree, rel=2e-3)
    assert found.best_strategy.name == "windows"
    assert found.best_strategy.mean <= most
    assert found["best tree"].mean <= found["the paper's tree, inferred (H̄)"].mean
    assert found["hats"].question.ends
    assert "at rho = 1/2" in found.table() or "at rho = 1/2" in str(found)
    again = tu.plan(size, rho="1/8")["hats"].mean
    assert again == pytest.approx(4 * found["hats"].mean, rel=1e-6)


def test_a_plan_has_one_cost():
    with pytest.raises(tu.InputError, match="one of the two; got both"):
        tu.plan(16, epsilon=1, rho=1)
    assert tu.plan(16).epsilon == 1
    assert (tu.plan(16, rho=2).epsilon, tu.plan(16, rho=2).rho) == (None, 2)
    with pytest.raises(tu.InputError, match="simulated at an epsilon"):
        tu.plan(16, rho=2, nonnegative=True).shown_errors()


def test_boxes_at_a_rho_have_the_errors_of_dense_algebra():
    """The mean over all boxes of a small table, against its least squares written out."""
    found = tu.plan([4, 3], rho="1/2")
    for name in ("cells alone", "binary trees"):
        question = found[name].question
        rows = question.matrix().toarray()
        weights = 1 / tu.Measurement(question, np.zeros(question.length, int), rho="1/2").variances
        covariance = np.linalg.inv(rows.T @ (weights[:, None] * rows))
        boxes = [
            np.outer(np.isin(np.arange(4), range(a, b)), np.isin(np.arange(3), range(c, d))).ravel()
            for a in range(4)
            for b in range(a + 1, 5)
            for c in range(3)
            for d in range(c + 1, 4)
        ]
        mean = np.mean([box @ covariance @ box for box in np.array(boxes, float)])
        assert found[name].mean == pytest.approx(mean, rel=0.02)
