"""Measuring: the noise that is added, and the requests for which none is drawn."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import trueup as tu
from trueup._kernels.noise import laplace
from trueup.measure import measure_all


@pytest.fixture
def draws(monkeypatch):
    """Every run of noise that is drawn."""
    drawn = []
    real = laplace.sample_into

    def spy(values, *rest):
        drawn.append(len(values))
        real(values, *rest)

    monkeypatch.setattr(laplace, "sample_into", spy)
    return drawn


COUNTS = [2, 0, 10, 2]
TREE = tu.TreeCounts(4, branching=2)


def test_every_answer_gets_noise_of_its_own(draws):
    m = tu.measure(COUNTS, TREE, epsilon="1/100")
    assert sum(draws) == TREE.length == len(m.noisy)
    assert m.private
    assert m.noisy.dtype == np.int64
    assert not np.array_equal(m.noisy, TREE.answers(COUNTS))  # all zero: chance (1/600)^7


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"epsilon": 0}, "epsilon must be positive, got 0"),
        ({"epsilon": -0.5}, "epsilon must be positive, got -0.5"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number, got nan"),
        ({"epsilon": float("inf")}, "epsilon must be a finite number, got inf"),
        ({"epsilon": True}, "epsilon must be a number, got True"),
        ({"epsilon": "lots"}, "epsilon must be a number such as 0.1"),
        ({"epsilon": None}, "Give the cost as epsilon or as rho, one of the two; got neither"),
        ({"epsilon": 0.1 + 0.2}, "Give it as text or a Fraction"),
        ({"epsilon": 10**6}, "The noise scale must lie between 1/1000 and"),
        ({"epsilon": "1e-12"}, "choose an epsilon between"),
        ({"counts": [2, 0, 10]}, "has 4 cells, but 3 counts were given"),
        ({"counts": [2, 0, 10, -2]}, "Counts must not be negative"),
        ({"counts": [2, 0, 10, 2.5]}, "Counts must be whole numbers"),
        ({"counts": [2, 0, 10, 2**62]}, "The counts add up to more than 2^62"),
        ({"counts": [2, 0, 10, 2**64]}, "Counts must be whole numbers"),
        ({"counts": None}, "Counts must be a flat array"),
        ({"question": "tree"}, "A question such as TreeCounts(axis) is needed, got 'tree'"),
        ({"question": tu.TreeCounts}, "A question such as TreeCounts(axis) is needed"),
        ({"neighbours": "both"}, 'neighbours must be "add-remove" or "replace", got \'both\''),
        ({"unit": ""}, "must be text"),
        ({"rows_per_unit": 0}, "rows_per_unit must lie between 1 and"),
        ({"rows_per_unit": True}, "rows_per_unit must be a whole number, got True"),
        ({"rows_per_unit": 10**9}, "The noise scale must lie between"),
    ],
)
def test_bad_requests_are_refused_and_nothing_is_drawn(draws, arguments, told):
    request = {"counts": COUNTS, "question": TREE, "epsilon": 1, **arguments}
    with pytest.raises(tu.InputError) as refusal:
        tu.measure(**request)
    assert told in str(refusal.value)
    assert draws == []


def test_a_level_whose_scale_is_out_of_reach_stops_all_levels(draws):
    question = tu.TreeCounts(4, 2, shares=["1e-9", "0.5", "0.499999999"])
    with pytest.raises(tu.InputError, match="The noise scale must lie between"):
        tu.measure(COUNTS, question, epsilon="1/10")
    assert draws == []


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_noise_of_every_block_has_the_variance_it_claims(neighbours):
    # A mean of 20,000 squares is off by more than a fifth less than once in 10^9 runs.
    question = tu.TreeCounts(60_000, radices=[20_000, 3], shares=[0, "1/4", "3/4"])
    counts = np.arange(60_000)
    m = tu.measure(counts, question, "1/10", neighbours, unit="person", rows_per_unit=2)
    noise = m.noisy - question.answers(counts)
    scales = [Fraction(80), Fraction(80, 3)]
    twice = 2 if neighbours == "replace" else 1
    assert m.noise.scales == tuple(2 * twice * scale / 2 for scale in scales)
    for block in (slice(0, 20_000), slice(20_000, None)):
        assert np.mean(noise[block].astype(float) ** 2) == pytest.approx(
            m.variances[block][0], rel=0.2
        )
        assert abs(noise[block].mean()) < 10 * np.sqrt(m.variances[block][0] / 20_000)


def test_the_caller_s_counts_are_left_alone():
    counts = np.array(COUNTS)
    for question in (tu.CellCounts(4), tu.SortedCounts(4, adaptive=False), TREE):
        tu.measure(counts, question, "1/100")
        assert counts.tolist() == COUNTS
    counts.setflags(write=False)
    tu.measure(counts, tu.CellCounts(4), 1)


def test_two_measurements_of_the_same_counts_differ():
    first, second = (tu.measure(np.zeros(100, int), tu.CellCounts(100), "1/10") for _ in range(2))
    assert not np.array_equal(first.noisy, second.noisy)  # chance below (1/20)^100


def test_answers_past_64_bits_are_the_exact_ones_modulo_2_to_the_64():
    # What an owner's measurement rests on, which must not fail for having too many records.
    counts, question = [2**39, 5], tu.WeightedCounts(2, [[2**24, 1], [2**24 - 1, 1], [0, 1]])
    m = measure_all(counts, question, 2**24, "add-remove", unit="row", rows_per_unit=1)
    exact = [2**24 * 2**39 + 5, (2**24 - 1) * 2**39 + 5, 5]
    off = [(int(a) - b + 2**63) % 2**64 - 2**63 for a, b in zip(m.noisy, exact, strict=True)]
    assert max(map(abs, off)) < 200  # noise of scale 2 passes that with chance e^-100
    with pytest.raises(tu.InputError, match="at most 274,877,906,944 records can be counted"):
        tu.measure(counts, question, 2**24)


def test_value_counts_are_put_in_the_order_of_the_axis_by_their_index() -> None:
    grade = tu.Axis.categories("grade", ["A", "B", "C", "F"])
    column = pd.Series(["F", "A", "F", "F", "B", "Z"])
    m = tu.measure(column.value_counts(), tu.CellCounts(grade), epsilon=1000)
    assert m.noisy.tolist() == grade.count(column).tolist() == [1, 1, 0, 3]
    ages = tu.Axis.integers("age", 18, 21)
    numbers = pd.Series([20, 20, 19, 99]).value_counts()
    assert tu.measure(numbers, tu.CellCounts(ages), epsilon=1000).noisy.tolist() == [0, 1, 2, 0]
    twice = pd.Series([3, 4, 1, 9], index=[20, 20, 18, 99])  # as two tables put together have it
    assert tu.measure(twice, tu.CellCounts(ages), epsilon=1000).noisy.tolist() == [1, 0, 7, 0]
    plain = pd.Series([5, 6, 7, 8])  # numbered by pandas, not by a person
    assert tu.measure(plain, tu.CellCounts(ages), epsilon=1000).noisy.tolist() == [5, 6, 7, 8]
    few = tu.CellCounts(tu.Axis.integers("age", 0, 3))
    for index, wanted in ((range(0, 8, 2), [5, 0, 6, 0]), (range(1, 5), [0, 5, 6, 7])):
        numbered = pd.Series([5, 6, 7, 8], index=pd.RangeIndex(index.start, index.stop, index.step))
        assert tu.measure(numbered, few, epsilon=1000).noisy.tolist() == wanted
    sizes = tu.SortedCounts(4, adaptive=False)  # of groups, whatever they are called
    named = pd.Series(["x", "y", "x", "z"]).value_counts()
    assert tu.measure(named, sizes, epsilon=1000).noisy.tolist() == [0, 1, 1, 2]


def test_an_index_that_says_nothing_of_the_axis_is_refused() -> None:
    ages = tu.CellCounts(tu.Axis.integers("age", 0, 2))
    with pytest.raises(tu.InputError, match=r"index of the counts .* holds text .*counts.to_numpy"):
        tu.measure(pd.Series([1, 2, 3], index=["a", "b", "c"]), ages, epsilon=1)
    both = pd.MultiIndex.from_tuples([(0, 0), (0, 1), (0, 2)])
    with pytest.raises(tu.InputError, match="in the order of the axes"):
        tu.measure(pd.Series([1, 2, 3], index=both), ages, epsilon=1)


def test_values_in_the_place_of_counts_are_sent_to_axis_count() -> None:
    with pytest.raises(tu.InputError, match=r"100 cells, but 50,000 counts .*axis.count\(values\)"):
        tu.measure(np.zeros(50_000, int), tu.CellCounts(tu.Axis.integers("age", 0, 99)), epsilon=1)


SECRET = 73_911  # a true count, which no message may repeat


@pytest.mark.parametrize(
    "swapped",
    [
        lambda counts, asked: tu.measure(asked, counts, 1),
        lambda counts, asked: tu.measure(asked, 1, counts),
        lambda counts, asked: tu.measure(counts, asked, counts),
        lambda counts, asked: tu.measure(counts, asked, 1, counts),
        lambda counts, asked: tu.measure(counts, asked, 1, unit=counts, rows_per_unit=1),
        lambda counts, asked: tu.measure(counts, asked, 1, unit="u", rows_per_unit=counts),
        lambda counts, asked: tu.publish(asked, counts, 1),
        lambda counts, asked: tu.publish(counts, counts, 1),
        lambda counts, asked: tu.histogram(counts, counts, epsilon=1),
        lambda counts, asked: tu.histogram(counts, 5, counts, epsilon=1),
        lambda counts, asked: tu.plan(counts, 1),
        lambda counts, asked: tu.infer(counts),
        lambda counts, asked: tu.CellCounts(counts),
        lambda counts, asked: tu.Axis.integers("x", counts, 5),
        lambda counts, asked: tu.Axis.regular("x", 0, counts, 5),
        lambda counts, asked: tu.Axis.categories("x", counts),
        lambda counts, asked: tu.Axis.integers(counts, 0, 5),
    ],
)
@pytest.mark.parametrize("form", [np.array, list, tuple, pd.Series], ids=lambda form: form.__name__)
def test_no_error_repeats_the_counts(swapped: Any, form: Any) -> None:
    counts = form([SECRET, 5, SECRET - 1.5])
    with pytest.raises((tu.InputError, TypeError)) as refused:
        swapped(counts, tu.CellCounts(tu.Axis.integers("age", 0, 2)))
    assert isinstance(refused.value, tu.InputError)
    assert str(SECRET) not in str(refused.value)
    assert str(SECRET - 1.5) not in str(refused.value)


def test_noise_at_a_rho_is_as_wide_as_it_says() -> None:
    cells = tu.CellCounts(80_000)
    m = tu.measure(np.zeros(80_000, np.int64), cells, rho="1/200")
    assert m.std_errors[0] == pytest.approx(10)
    spread = float(np.mean(np.square(m.noisy.astype(float))))
    assert abs(spread - 100) < 7 * 100 * np.sqrt(2 / 80_000)
    tail = float(np.mean(np.abs(m.noisy) > 30))  # 0.0023 of a normal curve; of Laplace noise 0.014
    assert 0.001 < tail < 0.005


def test_adaptive_answers_have_the_variances_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    from trueup._kernels.noise import gauss

    drawn: list[Fraction] = []
    sample = gauss.draw

    def note(size: int, variance: Fraction) -> Any:
        drawn.extend([variance] * size)
        return sample(size, variance)

    monkeypatch.setattr(gauss, "draw", note)
    counts = np.repeat([0, 50, 0], 20)
    shares = ("0", "1/2", "1/3", "1/6")
    tree = tu.TreeCounts(60, radices=(3, 4, 5), shares=shares, adaptive=True)
    m = tu.measure(counts, tree, rho="1/8")
    assert drawn == [
        v for v, n in zip(m.noise.scales, m.noise.lengths, strict=True) for _ in range(n)
    ]
    assert len(set(drawn)) > 2
    drawn.clear()
    m = tu.measure(counts, tu.SortedCounts(60, ends=2), rho="1/8", neighbours="replace")
    assert set(drawn) == set(m.noise.scales) == {Fraction(32)}


@pytest.mark.parametrize("epsilon", ["1e-9", 10**6])
def test_an_epsilon_whose_noise_is_not_drawn_is_refused_with_those_that_are(
    epsilon: object,
) -> None:
    question = tu.TreeCounts(100, branching=10)
    with pytest.raises(tu.InputError, match="choose an epsilon between") as refused:
        tu.measure(np.zeros(100, int), question, epsilon)
    least, most = re.findall(r"between (\S+) and (\S+)\.", str(refused.value))[-1]
    for one in (least, most):
        tu.measure(np.zeros(100, int), question, one)
