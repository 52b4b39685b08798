"""Noise: its scales are the privacy formula, held against the matrix of every kind of question."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import trueup as tu
from trueup.noise import Noise, common_law, log_noise_variance, noise_variance

AXIS = tu.Axis.integers("a", 0, 11)
QUESTIONS = [
    tu.CellCounts(AXIS),
    tu.TreeCounts(AXIS, branching=3),
    tu.TreeCounts(AXIS, branching=2, root=False),
    tu.HatCounts(AXIS, [3]),
    tu.WaveletCounts(tu.Axis.integers("a", 0, 15)),
    tu.NamedCounts(AXIS, {"low": [0, 1, 2], "even": [0, 2, 4]}),
    tu.GridCounts(tu.TreeCounts(AXIS, branching=3), tu.CellCounts(tu.Axis.integers("b", 0, 2))),
]


def loss(noise: Noise, change: np.ndarray) -> float:
    """The privacy loss when the answers change so: Σ |change| / scale."""
    return float((np.abs(change) / noise.each_answer(np.array(noise.scales, float))).sum())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
@pytest.mark.parametrize(("epsilon", "rows"), [("0.001", 1), ("1/3", 3), (50, 2)])
def test_one_unit_loses_the_whole_epsilon_and_never_more(question, epsilon, rows):
    one = np.asarray(question.matrix().todense(), float).T  # what a record in each cell adds
    added = Noise(question, Fraction(epsilon), "add-remove", rows)
    assert max(rows * loss(added, each) for each in one) == pytest.approx(float(added.epsilon))
    replaced = Noise(question, Fraction(epsilon), "replace", rows)
    pairs = itertools.combinations(one, 2)
    worst = max(rows * loss(replaced, before - after) for before, after in pairs)
    assert worst == pytest.approx(float(replaced.epsilon))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
def test_scales_are_exact_in_each_of_their_four_factors(question):
    one = Noise(question, Fraction(1)).scales
    assert all(isinstance(scale, Fraction) for scale in one)
    assert Noise(question, Fraction(1, 7)).scales == tuple(7 * scale for scale in one)
    assert Noise(question, Fraction(1), rows_per_unit=5).scales == tuple(5 * s for s in one)
    price = question.price("add-remove")
    assert one == tuple(price / weight for _, weight in question.blocks)
    ratio = question.price("replace") / price
    assert Noise(question, Fraction(1), "replace").scales == tuple(ratio * s for s in one)


def square_loss(noise: Noise, change: np.ndarray) -> float:
    """The ρ that such a change of the answers costs: Σ change² / (2σ²)."""
    return float((change**2 / (2 * noise.each_answer(np.array(noise.scales, float)))).sum())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
@pytest.mark.parametrize(("rho", "rows"), [("0.001", 1), ("1/3", 3), (50, 2)])
def test_one_unit_loses_the_whole_rho_and_never_more(question, rho, rows):
    one = np.asarray(question.matrix().todense(), float).T
    added = Noise(question, rho=Fraction(rho), rows_per_unit=rows)
    assert max(square_loss(added, rows * each) for each in one) == pytest.approx(float(added.rho))
    replaced = Noise(question, neighbours="replace", rows_per_unit=rows, rho=Fraction(rho))
    pairs = itertools.combinations(one, 2)
    worst = max(square_loss(replaced, rows * (before - after)) for before, after in pairs)
    assert worst == pytest.approx(float(replaced.rho))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
def test_variances_are_exact_in_each_of_their_four_factors(question):
    one = Noise(question, rho=Fraction(1)).scales
    assert all(isinstance(variance, Fraction) for variance in one)
    assert Noise(question, rho=Fraction(1, 7)).scales == tuple(7 * v for v in one)
    assert Noise(question, rho=Fraction(1), rows_per_unit=5).scales == tuple(25 * v for v in one)
    price = question.square_price("add-remove")
    assert one == tuple(price / weight**2 / 2 for _, weight in question.blocks)
    ratio = question.square_price("replace") / price
    assert Noise(question, None, "replace", rho=Fraction(1)).scales == tuple(ratio * v for v in one)


def test_a_rho_of_many_digits_is_not_rounded():
    exact = Fraction("0.123456789012345")
    assert Noise(tu.CellCounts(3), rho=exact).scales == (1 / exact / 2,)


def test_a_cost_is_epsilon_or_rho_and_says_which_noise_it_is():
    noise = Noise(tu.CellCounts(3), rho=Fraction(1, 200))
    assert (noise.epsilon, noise.rho, noise.law, noise.gaussian) == (
        None,
        Fraction(1, 200),
        "gaussian",
        True,
    )
    assert Noise(tu.CellCounts(3), rho=Fraction(1), law="continuous").law == "normal"
    assert Noise(tu.CellCounts(3), Fraction(1)).law == "discrete"
    with pytest.raises(tu.InputError, match="one of the two; got both"):
        Noise(tu.CellCounts(3), Fraction(1), rho=Fraction(1))
    with pytest.raises(tu.InputError, match="one of the two; got neither"):
        Noise(tu.CellCounts(3))
    with pytest.raises(tu.InputError, match="goes with rho=, not with epsilon="):
        Noise(tu.CellCounts(3), Fraction(1), law="gaussian")
    with pytest.raises(tu.InputError, match="Noise spends no delta"):
        Noise(tu.CellCounts(3), tu.Cost.of(rho=1, delta="1e-9"))
    with pytest.raises(tu.InputError, match="rho must be positive"):
        Noise(tu.CellCounts(3), rho=Fraction(-1))


@pytest.mark.parametrize("variance", ["1e-6", "1/100", "0.49", "1.3", "1.7", "2.49", "2.51", "1e6"])
def test_variance_on_whole_numbers_is_that_of_the_law(variance):
    mp.dps = 60
    v = mpf(Fraction(variance).numerator) / Fraction(variance).denominator
    reach = int(12 * float(v) ** 0.5) + 4
    if reach < 1000:
        each = [(x, mp.exp(-x * x / (2 * v))) for x in range(-reach, reach + 1)]
        expected = mp.log(sum(x * x * w for x, w in each) / sum(w for _, w in each))
    else:
        expected = mp.log(v)
    assert log_noise_variance(Fraction(variance), "gaussian") == pytest.approx(
        float(expected), rel=1e-12
    )
    assert noise_variance(Fraction(variance), "normal") == pytest.approx(float(v))


def test_of_unit_has_the_law_that_is_asked_for():
    for law in ("discrete", "continuous", "gaussian", "normal"):
        noise = Noise.of_unit(tu.CellCounts(3), law)
        assert noise.law == law
        assert law in noise.laws
    assert Noise.of_unit(tu.CellCounts(3)).law == "continuous"


def test_of_unit_gives_variance_one_over_the_squares():
    question = tu.TreeCounts(AXIS, branching=3)
    assert Noise.of_unit(question, "gaussian").scales == tuple(1 / s for s in question.squares)
    assert Noise.of_unit(question, "normal").variances == pytest.approx(
        Noise.of_unit(question, "gaussian").variances
    )


def test_noise_of_two_families_is_not_taken_for_one():
    assert common_law(["discrete", "continuous"]) == "continuous"
    assert common_law(["gaussian"]) == "gaussian"
    assert common_law(["gaussian", "normal"]) == "normal"
    with pytest.raises(tu.InputError, match="Laplace noise and some have Gaussian"):
        common_law(["discrete", "gaussian"])


def test_an_epsilon_of_many_digits_is_not_rounded():
    exact = Fraction("0.123456789012345")
    assert Noise(tu.CellCounts(3), exact).scales == (1 / exact,)
    huge = 10**9
    assert Noise(tu.CellCounts(3), Fraction(1), rows_per_unit=huge).scales == (Fraction(huge),)
    with pytest.raises(tu.InputError, match="between 1 and 1,000,000,000, got 1000000001"):
        Noise(tu.CellCounts(3), Fraction(1), rows_per_unit=huge + 1)


@pytest.mark.parametrize("scale", [Fraction(1, 700), Fraction(1, 40), Fraction(1), Fraction(10**6)])
def test_variance_is_that_of_the_law(scale):
    mp.dps = 60
    p = mp.exp(-mpf(scale.denominator) / scale.numerator)
    expected = mp.log(2 * p / (1 - p) ** 2)
    assert log_noise_variance(scale) == pytest.approx(float(expected), rel=1e-12)
    assert noise_variance(scale, "continuous") == pytest.approx(2 * float(scale) ** 2)


def test_relative_weights_keep_the_order_of_variances_that_underflow():
    question = tu.HatCounts(AXIS, [3], shares=["1/3", "2/3"])
    noise = Noise(question, Fraction(2500))
    assert len(set(noise.scales)) == 2
    assert min(noise.variances) == 0
    largest, least = sorted(noise.scales, reverse=True)
    weights = dict(zip(noise.scales, noise.relative_weights, strict=True))
    assert weights[least] == 1 > weights[largest] > 0


@pytest.mark.parametrize("share", ["1/3", "1e-3", "1e-12", "1e-60"])
@pytest.mark.parametrize("cost", [{"epsilon": Fraction(1)}, {"rho": Fraction(1, 2)}])
def test_relative_weights_are_the_variances_over_each_other(share, cost):
    """However uneven the shares: 1/variance of each block, over the largest, in 200 digits."""
    mp.dps = 200
    question = tu.HatCounts(AXIS, [3], shares=[share, 1 - Fraction(share)])
    noise = Noise(question, **cost)
    assert len(set(noise.scales)) == 2
    variances = [
        mpf(s.numerator) / s.denominator
        if noise.gaussian
        else 1 / (mp.cosh(mpf(s.denominator) / s.numerator) - 1)
        for s in noise.scales
    ]
    least = min(variances)
    for weight, variance in zip(noise.relative_weights, variances, strict=True):
        assert weight == pytest.approx(float(least / variance), rel=1e-9, abs=0)


def test_noise_is_for_a_question_a_relation_and_a_law_that_exist():
    with pytest.raises(tu.InputError, match="question"):
        Noise("cells", Fraction(1))
    with pytest.raises(tu.InputError, match="neighbours"):
        Noise(tu.CellCounts(3), Fraction(1), "edge")
    with pytest.raises(tu.InputError, match="noise law must be one of discrete, continuous"):
        Noise(tu.CellCounts(3), Fraction(1), law="gauss")
    with pytest.raises(tu.InputError):
        Noise(tu.CellCounts(3), Fraction(0))


def test_only_scales_that_can_be_drawn_are_drawable():
    Noise(tu.CellCounts(3), Fraction(1)).check_drawable()
    with pytest.raises(tu.InputError):
        Noise(tu.CellCounts(3), Fraction(1, 10**40)).check_drawable()
    Noise(tu.CellCounts(3), rho=Fraction(1, 10**20)).check_drawable()
    for far in (Fraction(1, 10**30), Fraction(10**9)):
        with pytest.raises(tu.InputError, match="noise variance must lie between"):
            Noise(tu.CellCounts(3), rho=far).check_drawable()


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(
    ("share", "cost"),
    [("1e-7", {"epsilon": "1/1000"}), ("9/10", {"epsilon": 1500}), ("1e-9", {"rho": "1e-12"})],
)
def test_one_scale_that_cannot_be_drawn_is_enough(place, share, cost):
    """Whichever block it is of, and whether it is too large or too small."""
    own = Fraction(share)
    shares = [own if level == place else (1 - own) / 2 for level in range(3)]
    cost = {name: Fraction(amount) for name, amount in cost.items()}
    alike = tu.TreeCounts(8, radices=(2, 2, 2), shares=(0, "1/3", "1/3", "1/3"))
    Noise(alike, **cost).check_drawable()
    tree = tu.TreeCounts(8, radices=(2, 2, 2), shares=(0, *shares))
    with pytest.raises(tu.InputError, match=r"noise (scale|variance) must lie between"):
        Noise(tree, **cost).check_drawable()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_choices_are_made_by_the_deviation_of_the_noise(neighbours):
    """√2 times the scale to choose by is a deviation, of Laplace noise and of Gaussian noise."""
    for question, cost in itertools.product(QUESTIONS, ({"epsilon": "1/3"}, {"rho": "1/18"})):
        cost = {name: Fraction(amount) for name, amount in cost.items()}
        noise = Noise(question, neighbours=neighbours, rows_per_unit=3, **cost)
        deviation = np.sqrt(2) * float(noise.scale_to_choose_by)
        assert deviation == pytest.approx(np.sqrt(noise.variance_on_the_line))
