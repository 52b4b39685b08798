"""Offers agree with the plan, and with sampled ranges where the plan has no such strategy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.cost import Cost
from trueup.infer.model import LARGE
from trueup.noise import Noise
from trueup.plan.offers import grid_offers, offers, sorted_error, ways
from trueup.workload import as_workload

AXIS = tu.Axis.integers("age", 0, 99)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
@pytest.mark.parametrize("workload", ["all ranges", "prefixes"])
def test_means_are_the_plan_s(epsilon: Fraction, workload: str) -> None:
    chosen = getattr(tu.Workload, workload.replace(" ", "_"))()
    found = {offer.way: offer for offer in offers(AXIS, Cost.of(epsilon), chosen)}
    plan = tu.plan(AXIS, epsilon, workload)
    assert found["flat"].mean == pytest.approx(plan["cells alone (L̃)"].mean)
    assert found["tree"].mean == pytest.approx(plan["best tree"].mean)
    assert found["binary"].mean == pytest.approx(plan["the paper's tree, inferred (H̄)"].mean)


def test_hats_are_the_mean_of_every_range() -> None:
    found = {
        offer.way: offer for offer in offers(AXIS, Cost.of(Fraction(1)), tu.Workload.all_ranges())
    }
    question = found["hats"].question
    matrix = question.matrix().toarray()
    scales = [float(b) for b in Noise(question, Fraction(1)).scales]
    p = np.exp(-1 / np.repeat(scales, [n for n, _ in question.blocks]))
    variances = 2 * p / (1 - p) ** 2
    covariance = np.linalg.inv(matrix.T @ (matrix / variances[:, None]))
    sums = np.zeros((101, 101))
    sums[1:, 1:] = covariance.cumsum(0).cumsum(1)
    a, b = np.triu_indices(101, 1)
    mean = (sums[b, b] + sums[a, a] - 2 * sums[a, b]).mean()
    assert found["hats"].mean == pytest.approx(mean, rel=1e-6)


def test_the_best_comes_first_and_a_larger_price_buys_less_error() -> None:
    cheap = offers(AXIS, Cost.of(Fraction(1, 10)), tu.Workload.all_ranges())
    dear = offers(AXIS, Cost.of(Fraction(1)), tu.Workload.all_ranges())
    assert cheap[0].question == tu.plan(AXIS, "1/10", nonnegative=True).best
    assert [o.mean for o in cheap[1:]] == sorted(o.mean for o in cheap[1:])
    for one, other in zip(cheap, dear, strict=True):
        assert one.typical > 5 * other.typical


@pytest.mark.parametrize("size", [10, 100, 4096, LARGE])
@pytest.mark.parametrize("cost", [Cost.of(1), Cost.of(rho=1)])
@pytest.mark.parametrize("named", ["all ranges", "prefixes", "cell counts"])
def test_the_first_offer_is_what_the_plan_asks(size: int, cost: Cost, named: str) -> None:
    axis, workload = tu.Axis.integers("x", 0, size - 1), as_workload(named)
    first, *others = offers(axis, cost, workload)
    assert first.question == tu.plan(axis, cost, workload, nonnegative=True).best
    assert first.question not in [offer.question for offer in others]


def test_where_questions_must_be_fixed_the_best_of_these_comes_first() -> None:
    workload = tu.Workload.all_ranges()
    assert offers(AXIS, Cost.of(1), workload)[0].way == "adaptive"
    fixed = offers(AXIS, Cost.of(1), workload, at_once=True)
    assert [offer.way for offer in fixed] == ["shown", "hats", "tree", "flat", "binary"]
    axes = AXIS, tu.Axis.integers("hour", 0, 23)
    found = grid_offers(axes, Cost.of(1), (workload,) * 2, at_once=True)
    assert found[0].way == "shown"
    assert "adaptive" not in [offer.way for offer in found]


def test_a_typical_error_holds_a_typical_range() -> None:
    # 95 of 100 ranges of many releases lie within it: a fixed seed, noise that is not private.
    from trueup.paper.noise import measure_for_experiment

    (flat,) = [
        o for o in offers(AXIS, Cost.of(Fraction(1)), tu.Workload.all_ranges()) if o.way == "flat"
    ]
    cells = round(flat.mean / 1.84)  # a range of so many cells has the mean error
    off = [
        tu.infer(measure_for_experiment([0] * 100, flat.question, 1, seed=seed))
        .range(0, cells)
        .value
        for seed in range(400)
    ]
    held = np.mean(np.abs(off) <= flat.typical)
    assert 0.91 <= held <= 0.99


def test_what_noise_cannot_pay_is_not_offered() -> None:
    some = offers(AXIS, Cost.of(Fraction(1, 10**8)), tu.Workload.all_ranges())
    assert {offer.way for offer in some} < set(ways(AXIS))
    with pytest.raises(tu.InputError, match="noise scale"):
        offers(AXIS, Cost.of(Fraction(1, 10**12)), tu.Workload.all_ranges())


def test_labels_have_no_windows() -> None:
    place = tu.Axis.hierarchy("place", {"CA": ["Kern", "Napa"], "NV": ["Clark"]})
    assert "hats" not in ways(place)
    assert ways(tu.Axis.integers("x", 1, 1)) == ("flat", "shown")
    found = offers(place, Cost.of(1), tu.plan(place).workload)
    assert all(offer.mean > 0 for offer in found)


def test_errors_of_sorted_counts_are_those_of_the_noise() -> None:
    mean, typical = sorted_error(Noise(tu.SortedCounts(10, adaptive=False), Fraction(1, 10)))
    m = tu.Measurement(tu.SortedCounts(10, adaptive=False), [0] * 10, epsilon="1/10")
    assert mean == pytest.approx(m.variances[0])
    assert typical == pytest.approx(10 * np.log(20))


def test_an_offer_expects_the_noise_of_its_relation_and_unit() -> None:
    """Cells alone: replacing costs twice as much, and three rows thrice: as at a sixth of ε."""
    axis = tu.Axis.integers("age", 0, 9)
    workload = tu.Workload.all_ranges()
    dear = offers(axis, Cost.of(1), workload, neighbours="replace", rows_per_unit=3)
    plain = offers(axis, Cost.of("1/6"), workload)
    flat = [next(offer for offer in some if offer.way == "flat") for some in (dear, plain)]
    assert flat[0].mean == pytest.approx(flat[1].mean)
    assert flat[0].typical == pytest.approx(flat[1].typical)
