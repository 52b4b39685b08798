"""The certified bound: it catches what lies, and passes every question we ask."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

import trueup as tu
from trueup.ask import Question
from trueup.audit import (
    Audit,
    audit,
    audit_in_bulk,
)
from trueup.audit.bound import _limits
from trueup.errors import InputError

from .questions_asked import GRID, MARGINALS, STRATEGY, STUDENTS

SURE = 1 - 1e-9  # a false alarm at this level has chance 1e-9


EPSILONS = [Fraction(1), Fraction(1, 10)]


def cell_counts(epsilon: Fraction) -> Callable[[int, int], np.ndarray]:
    """One count, asked in very many cells at once: as many draws in one call of measure."""
    return lambda count, n: tu.measure(np.full(n, count), tu.CellCounts(n), epsilon).noisy


def sorted_counts(epsilon: Fraction) -> Callable[[int, int], np.ndarray]:
    return lambda count, n: (
        tu.measure(np.full(n, count), tu.SortedCounts(n, adaptive=False), epsilon).noisy
    )


def forest(epsilon: Fraction) -> Callable[[np.ndarray, int], np.ndarray]:
    """Binary trees of eight leaves, side by side under a root that is not asked: a row each."""

    def draw(counts: np.ndarray, n: int) -> np.ndarray:
        shares = (0, *[Fraction(1, 4)] * 4)
        question = tu.TreeCounts(8 * n, radices=(n, 2, 2, 2), shares=shares)
        noisy = tu.measure(np.tile(counts, n), question, epsilon).noisy
        levels = np.split(noisy, np.cumsum([n, 2 * n, 4 * n]))
        return np.concatenate([level.reshape(n, -1) for level in levels], axis=1)

    return draw


@pytest.mark.parametrize("scalar", [cell_counts, sorted_counts])
@pytest.mark.parametrize(("epsilon", "draws"), [("1", 1 << 20), ("1/10", 48 << 20)])
def test_a_single_count_is_audited_to_within_three_percent(
    scalar: Callable[[Fraction], Callable[[int, int], np.ndarray]], epsilon: str, draws: int
) -> None:
    claim = Fraction(epsilon)
    found = audit_in_bulk(scalar(claim), 10, 11, claim, draws, SURE)
    assert found.passed
    assert found.bound >= 0.97 * claim


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_tree_is_audited_node_by_node(epsilon: Fraction) -> None:
    a = np.array([0, 3, 1, 5, 2, 2, 0, 7])
    b = a + (np.arange(8) == 5)
    found = audit_in_bulk(forest(epsilon), a, b, epsilon, 1 << 19, SURE, independent=True)
    assert found.passed
    assert found.bound >= (0.9 if epsilon == 1 else 0.0) * epsilon
    path = np.zeros(15, bool)
    path[[0, 2, 5, 12]] = True  # the nodes above leaf 5
    assert not found.bounds[~path].any()


ONE_BY_ONE: list[tuple[Question, list[int], list[int], str]] = [
    (tu.CellCounts(4), [2, 0, 10, 2], [2, 0, 11, 2], "add-remove"),
    (tu.CellCounts(4), [2, 0, 10, 2], [2, 1, 9, 2], "replace"),
    (tu.TreeCounts(4, branching=2), [2, 0, 10, 2], [2, 0, 11, 2], "add-remove"),
    (tu.TreeCounts(5, branching=2, root=False), [1, 1, 1, 1, 1], [1, 1, 1, 1, 2], "add-remove"),
    (tu.TreeCounts(4, branching=2), [2, 0, 10, 2], [1, 0, 10, 3], "replace"),
    (tu.TreeCounts(6, radices=(3, 2)), [2, 0, 10, 2, 1, 1], [2, 0, 10, 2, 1, 2], "add-remove"),
    (tu.SortedCounts(4, adaptive=False), [2, 0, 10, 2], [2, 0, 10, 3], "add-remove"),
    (tu.SortedCounts(4, adaptive=False), [2, 0, 10, 2], [2, 1, 9, 2], "replace"),
    (STUDENTS, [1, 2, 3, 4, 5], [1, 2, 4, 4, 5], "add-remove"),
    (STUDENTS, [1, 2, 3, 4, 5], [1, 2, 4, 4, 4], "replace"),
    (tu.HatCounts(5, [2]), [1, 2, 3, 4, 5], [1, 2, 4, 4, 5], "add-remove"),
    (tu.HatCounts(5, [2]), [1, 2, 3, 4, 5], [0, 2, 3, 4, 6], "replace"),
    (STRATEGY, [1, 2, 3], [1, 3, 3], "add-remove"),
    (STRATEGY, [1, 2, 3], [0, 2, 4], "replace"),
    (GRID, [1, 2, 3, 4, 5, 6], [1, 2, 3, 5, 5, 6], "add-remove"),
    (GRID, [1, 2, 3, 4, 5, 6], [0, 2, 3, 4, 5, 7], "replace"),
    (MARGINALS, [1, 2, 3, 4, 5, 6], [1, 2, 3, 5, 5, 6], "add-remove"),
    (MARGINALS, [1, 2, 3, 4, 5, 6], [0, 2, 3, 4, 5, 7], "replace"),
]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("question", "a", "b", "neighbours"), ONE_BY_ONE)
def test_no_question_shows_more_than_it_claims(
    question: Question, a: list[int], b: list[int], neighbours: str, epsilon: Fraction
) -> None:
    def mechanism(counts: list[int]) -> np.ndarray:
        return tu.measure(counts, question, epsilon, neighbours).noisy

    assert audit(mechanism, a, b, epsilon, 400, SURE, independent=True).passed


def test_inference_shows_no_more_than_the_measurement() -> None:
    question = tu.TreeCounts(4, branching=2)

    def mechanism(counts: list[int]) -> np.ndarray:
        return tu.infer(tu.measure(counts, question, 1)).counts()

    assert audit(mechanism, [2, 0, 10, 2], [2, 0, 11, 2], 1, 400, SURE).passed


def laplace(scale: float, seed: int = 1) -> Callable[[int, int], np.ndarray]:
    generator = np.random.default_rng(seed)
    success = -np.expm1(-1 / scale)

    def draw(count: int, n: int) -> np.ndarray:
        return count + generator.geometric(success, n) - generator.geometric(success, n)

    return draw


def test_noise_one_percent_short_is_caught_by_four_million_draws() -> None:
    assert audit_in_bulk(laplace(1.0), 0, 1, 1, 4_000_000).passed
    short = audit_in_bulk(laplace(0.99), 0, 1, 1, 4_000_000)
    assert not short.passed
    assert "FALSE" in str(short)


def test_a_tree_noised_for_sensitivity_one_is_caught_by_a_hundred_draws() -> None:
    generator = np.random.default_rng(2)
    question = tu.TreeCounts(1 << 11, branching=2)

    def mechanism(counts: np.ndarray) -> np.ndarray:
        return question.answers(counts) + generator.laplace(0, 1, question.length).round()

    a = np.zeros(1 << 11, np.int64)
    b = a + (np.arange(1 << 11) == 700)
    found = audit(mechanism, a, b, 1, 100, independent=True)
    assert question.sensitivity() == 12
    assert not found.passed


@pytest.mark.parametrize("direction", [1, -1])
def test_outputs_seen_on_one_side_only_are_caught(direction: int) -> None:
    generator = np.random.default_rng(3)

    def bounded(count: int, n: int) -> np.ndarray:
        return direction * (count + generator.integers(-3, 4, n))

    found = audit_in_bulk(bounded, 0, 1, 1, 20_000)
    assert found.bound > 5


def test_one_value_too_common_is_caught() -> None:
    """No threshold sees much of it; the value itself does."""
    smooth = laplace(20.0)

    def mechanism(count: int, n: int) -> np.ndarray:
        drawn = smooth(0, n)
        return np.where((drawn == 60) & (count == 1), 61, drawn)

    found = audit_in_bulk(mechanism, 0, 1, Fraction(1, 20), 500_000)
    assert found.bound > 2


def test_nan_on_one_side_is_caught() -> None:
    def mechanism(count: int, n: int) -> np.ndarray:
        return np.full(n, np.nan) if count else np.zeros(n)

    assert audit_in_bulk(mechanism, 0, 1, 1, 1000).bound > 3


def test_equal_outputs_prove_nothing() -> None:
    found = audit(lambda count: 7, 0, 1, 1, 100)
    assert found == Audit(1.0, 0.0, 0.999, 100, found.bounds)
    assert not found.bounds.any()


@pytest.mark.parametrize(("likely", "unlikely"), [(10, 3), (100, 0), (57, 57), (99, 20), (0, 5)])
def test_the_bound_is_clopper_and_pearsons(likely: int, unlikely: int) -> None:
    least = binomtest(likely, 100, alternative="greater").proportion_ci(0.99, "exact").low
    most = binomtest(unlikely, 100, alternative="less").proportion_ci(0.99, "exact").high
    assert _limits(likely, unlikely, 100, 0.01) == pytest.approx((least, most))


@pytest.mark.parametrize("wrong", [{"draws": 5}, {"level": 0.2}, {"level": 1.0}, {"epsilon": 0}])
def test_an_audit_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    given: dict[str, object] = {"epsilon": 1, "draws": 100, "level": 0.99, **wrong}
    with pytest.raises(InputError):
        audit(lambda x: x, 0, 1, **given)  # type: ignore[arg-type]


def test_outputs_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(InputError, match="rows"):
        audit_in_bulk(lambda x, n: np.zeros(n - 1), 0, 1, 1)
    with pytest.raises(InputError, match="shape"):
        audit(lambda x: np.zeros(x), 1, 2, 1)


def test_rho_is_bounded_as_gauss_has_it() -> None:
    """Noise of deviation σ on a move of d costs d²/(2σ²): the bound is never above.

    The noise is rounded, which is free where the answers are whole: floats would be caught by
    their last bits, and rightly.
    """
    rng = np.random.default_rng(2)
    found = audit_in_bulk(
        lambda x, n: x + np.rint(rng.normal(0, 8, n)), 0, 8, rho="1/2", draws=400_000
    )
    assert found.passed
    assert found.bound > 0.25
    lies = audit_in_bulk(
        lambda x, n: x + np.rint(rng.normal(0, 4, n)), 0, 8, rho="1/2", draws=100_000
    )
    assert not lies.passed
    assert "rho" in str(lies)


def test_delta_is_granted_and_no_more() -> None:
    """Told outright in one of a hundred runs: fine for δ = 1/50, not for δ = 1/1000."""
    rng = np.random.default_rng(3)

    def mechanism(x: int, n: int) -> np.ndarray:
        return np.where(rng.random(n) < 0.01, 100.0 + x, 0.0)

    assert audit_in_bulk(mechanism, 0, 1, 1, 50_000, delta="0.02").passed
    assert not audit_in_bulk(mechanism, 0, 1, 1, 50_000, delta="0.001").passed


def test_independent_outputs_add_up_on_one_side_only() -> None:
    """One output is likelier on the first input, the other on the second: ε is that of one.

    Each tells yes with chance 1/2 or 1/2 · e^-1, and no with the rest: in all 1 + ln 1.63.
    """
    rng = np.random.default_rng(4)
    few = 0.5 * np.exp(-1)

    def mechanism(x: int, n: int) -> np.ndarray:
        first, second = (0.5, few) if x == 0 else (few, 0.5)
        return np.stack([rng.random(n) < first, rng.random(n) < second], axis=1).astype(float)

    found = audit_in_bulk(mechanism, 0, 1, 2, 200_000, independent=True)
    true = 1 + np.log((1 - few) / 0.5)
    assert 1.3 < found.bound <= true
