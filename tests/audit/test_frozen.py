"""The same noise on neighbours: answers move by their claim, and nothing else moves."""

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

import trueup as tu
from trueup.ask import Question
from trueup.audit import replay
from trueup.errors import InputError

from .questions_asked import GRID, MARGINALS, STRATEGY, STUDENTS


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
