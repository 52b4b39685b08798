"""The audit catches what lies, passes what does not, and is used on every question we ask."""

from __future__ import annotations

import ast
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import trueup as tu
from trueup.ask import Question
from trueup.audit import Audit, audit, audit_in_bulk, replay
from trueup.audit.bound import _limits
from trueup.errors import InputError

SURE = 1 - 1e-9  # a false alarm at this level has chance 1e-9
GRADES = tu.Axis.categories("grade", ["A", "B", "C", "D", "F"])
STUDENTS = tu.NamedCounts(
    GRADES,
    {
        "total": slice(None),
        "passing": ["A", "B", "C", "D"],
        **{grade: [grade] for grade in ["A", "B", "C", "D", "F"]},
    },
)
EPSILONS = [Fraction(1), Fraction(1, 10)]


STRATEGY = tu.WeightedCounts(3, [[1, 0, 0], [0, "1/2", 0], [0, 0, 1], ["1/3", "1/3", 0]])
GRID = tu.GridCounts(tu.TreeCounts(tu.Axis.integers("a", 0, 1), branching=2), 3)
MARGINALS = tu.BoxCounts.marginals(2, 3, marginals=[("axis 0",), ("axis 1",), ()])


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


def neighbouring(counts: np.ndarray, generator: np.random.Generator, neighbours: str) -> np.ndarray:
    """The counts with one record added, taken away or, for "replace", moved."""
    other = counts.copy()
    filled = np.flatnonzero(counts)
    if neighbours == "replace" and filled.size:
        other[generator.choice(filled)] -= 1
        other[generator.integers(counts.size)] += 1
    elif filled.size and generator.integers(2):
        other[generator.choice(filled)] -= 1
    else:
        other[generator.integers(counts.size)] += 1
    return other


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    "question",
    [
        tu.CellCounts(7),
        tu.TreeCounts(7, branching=2),
        tu.TreeCounts(11, radices=(3, 2, 2), shares=("1/2", 0, "1/3", "1/6")),
        tu.SortedCounts(7, adaptive=False),
        STUDENTS,
        tu.HatCounts(7, [2]),
        tu.HatCounts(12, [1, 2], ["1/2", "1/8", "3/8"]),  # the hats on the ends left out
        STRATEGY,
        GRID,
        tu.GridCounts(tu.HatCounts(tu.Axis.integers("a", 0, 3), [2]), 3),
        MARGINALS,
        tu.BoxCounts.quadtree(4, 4, branching=2),
    ],
)
def test_frozen_noise_lets_answers_move_by_their_claim_and_no_more(
    question: Question, neighbours: str
) -> None:
    generator = np.random.default_rng(4)
    most = Fraction(0)
    for _ in range(150):
        a = generator.integers(0, 3, question.size)
        b = neighbouring(a, generator, neighbours)
        found = replay(lambda x: tu.measure(x, question, "1/2", neighbours), a, b)
        assert found.passed, str(found)
        most = max(most, found.move)
    assert most == Fraction(1, 2)  # the claim is reached: no noise is wasted


def test_too_small_a_sensitivity_is_caught() -> None:
    question = tu.TreeCounts(8, branching=2)
    found = replay(question.answers, np.zeros(8, int), np.eye(1, 8, 3, dtype=int)[0], 3)
    assert found.move == 4
    assert not found.passed


def test_weights_are_weighed() -> None:
    assert replay(lambda x: [x, 2 * x], 0, 1, sensitivity=2, weights=["1", "1/2"]).passed
    assert not replay(lambda x: [x, 2 * x], 0, 1, sensitivity=2).passed


def leaks_by_error(x: int) -> int:
    if x == 1:
        raise ValueError("there is a 1")
    return 0


def leaks_by_log(x: int) -> int:
    logging.getLogger("a.b").debug("counted %s", x)
    return 0


def leaks_by_warning(x: int) -> int:
    if x:
        warnings.warn("not zero", UserWarning, stacklevel=1)
    return 0


def leaks_by_print(x: int) -> int:
    print("x" * x)
    return 0


def leaks_by_shape(x: int) -> np.ndarray:
    return np.zeros(3 + x)


def leaks_by_type(x: int) -> np.ndarray:
    return np.zeros(3, np.int64 if x else np.int32)


def leaks_by_name(x: int) -> dict[str, int]:
    return {"counts": 0, "note" + "s" * x: 0}


def leaks_by_text(x: int) -> tuple[int, str]:
    return 0, f"seen {x}"


def leaks_by_noise(x: int) -> int:
    tu.measure(np.zeros(1 + 100 * x, int), tu.CellCounts(1 + 100 * x), 1)
    return 0


LEAKS = [
    leaks_by_error,
    leaks_by_log,
    leaks_by_warning,
    leaks_by_print,
    leaks_by_shape,
    leaks_by_type,
    leaks_by_name,
    leaks_by_text,
    leaks_by_noise,
]


@pytest.mark.parametrize("mechanism", LEAKS)
def test_anything_else_that_moves_is_caught(mechanism: Callable[[int], object]) -> None:
    found = replay(mechanism, 0, 1, sensitivity=1)
    assert found.differences
    assert not found.passed
    assert replay(mechanism, 0, 0, sensitivity=1).passed


def test_an_error_that_both_inputs_give_is_no_difference() -> None:
    assert replay(lambda x: tu.measure(x, tu.CellCounts(2), -1), [0, 0], [0, 1]).passed


def test_errors_of_measure_do_not_depend_on_the_counts() -> None:
    for a, b in [([1, 2, 3], [1, 2, 4]), ([-1, 0], [-2, 0]), ([2**62, 2**62], [2**62, 2**62 + 1])]:
        found = replay(lambda x: tu.measure(x, tu.TreeCounts(2, branching=2), 1), a, b)
        assert found.passed, str(found)


def test_another_source_of_noise_can_be_frozen() -> None:
    generator = np.random.default_rng(5)

    @contextmanager
    def frozen() -> Iterator[None]:
        state = generator.bit_generator.state
        yield
        generator.bit_generator.state = state

    def mechanism(count: int) -> float:
        return count + generator.laplace()

    assert replay(mechanism, 3, 4, sensitivity=1, frozen=frozen).passed
    assert not replay(mechanism, 3, 4, sensitivity=1).passed


def test_after_a_replay_noise_is_fresh_again() -> None:
    kept = []
    replay(lambda x: kept.append(tu.measure([x] * 99, tu.CellCounts(99), 1).noisy), 0, 0)
    kept += [tu.measure([0] * 99, tu.CellCounts(99), 1).noisy for _ in range(2)]
    assert np.array_equal(kept[0], kept[1])
    assert len({noisy.tobytes() for noisy in kept}) == 3


def test_a_sensitivity_is_never_assumed() -> None:
    with pytest.raises(InputError, match="declared sensitivity"):
        replay(lambda x: x, 0, 1)


def test_bits_are_lent_to_the_audit_alone() -> None:
    """A measurement lends itself a fresh key stream, and nothing else."""
    source = Path(tu.__file__).parent
    own = ast.walk(ast.parse((source / "_kernels/noise/bits.py").read_text()))
    calls = [ast.unparse(node) for node in own if isinstance(node, ast.Call)]
    assert [call for call in calls if call.startswith("lent(")] == ["lent(Keystream())"]
    users = []
    for path in source.rglob("*.py"):
        if path.name == "bits.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [getattr(node, "id", ""), getattr(node, "attr", "")]
            if isinstance(node, ast.ImportFrom):
                names += [alias.name for alias in node.names]
            if "lent" in names:
                users.append(path.relative_to(source).as_posix())
    assert set(users) == {"audit/frozen.py"}
