from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup._kernels.noise import bits
from trueup._kernels.tree.any_tree import fit
from trueup._kernels.tree.fused import Run
from trueup.ask import Question
from trueup.audit import audit, replay
from trueup.errors import InputError
from trueup.facts import Facts
from trueup.infer import axis_model
from trueup.noise import Noise
from trueup.onepass import can_be_released, noised_runs, release_in_one_pass
from trueup.paper.noise import measure_for_experiment


def one_pass(
    counts: Any, question: Question, epsilon: object, *others: Any, threads: int = 1, **named: Any
) -> tu.Release:
    """The release in one pass of what `measure` would measure."""
    return release_in_one_pass(counts, Facts.of(question, epsilon, *others, **named), threads)


QUESTIONS: list[Question] = [
    tu.CellCounts(300),
    tu.TreeCounts(300, branching=2),
    tu.TreeCounts(256, branching=4, root=False),
    tu.TreeCounts(300, radices=(5, 7, 10), shares=("1/10", 0, "2/5", "1/2")),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_release_has_the_moments_of_measure_then_infer(question: Question) -> None:
    """Mean and variance of some ranges, against the exact variance of least squares."""
    counts = np.arange(question.size) % 7
    low, high = np.array([0, 3, 17, 100]), np.array([question.size, 4, 99, 217])
    drawn = [one_pass(counts, question, 1) for _ in range(1500)]
    values = np.array([release.ranges(low, high) for release in drawn])
    truth = np.array([counts[a:b].sum() for a, b in zip(low, high, strict=True)])
    exact = tu.infer(tu.measure(counts, question, 1)).range_errors(low, high)
    assert np.allclose(drawn[0].range_errors(low, high), exact, rtol=1e-12)
    assert (np.abs(values.mean(axis=0) - truth) < 7 * exact / np.sqrt(len(drawn))).all()
    # The spread of a sample variance, for a kurtosis of at most 6: seven of those.
    assert (np.abs(values.var(axis=0) / exact**2 - 1) < 7 * np.sqrt(5 / len(drawn))).all()


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_release_says_what_infer_says(question: Question) -> None:
    counts = np.ones(question.size, int)
    one = one_pass(counts, question, "1/2", "replace", unit="person", rows_per_unit=3)
    measured = tu.measure(counts, question, "1/2", "replace", unit="person", rows_per_unit=3)
    assert one.facts == replace(tu.infer(measured).facts, id=one.facts.id)
    assert one.axis == question.space.answer_axes[0]


@pytest.mark.parametrize("shares", [None, ("1/2", 0, "1/4", "1/4")])
def test_large_trees_are_inferred_as_small_ones_are(shares: tuple[object, ...] | None) -> None:
    question = tu.TreeCounts(70_000, radices=(7, 100, 100), shares=shares)
    measured = measure_for_experiment(np.arange(70_000) % 9, question, 1, seed=3)
    expected = fit(question.shape.first, *axis_model(measured.noise).nodes(measured.noisy))[
        -70_000:
    ]
    assert np.allclose(tu.infer(measured).counts(), expected, atol=1e-6)


def test_without_noise_the_counts_come_back() -> None:
    """At scale 1/1000 noise is zero, but for a chance of e^-1000."""
    counts = np.random.default_rng(1).integers(0, 1000, 40_000)
    for question in (tu.CellCounts(40_000), tu.TreeCounts(40_000, radices=(40, 1000))):
        found = one_pass(counts, question, 1000 * question.price(), threads=2)
        assert np.abs(found.counts() - counts).max() < 1e-6


def test_a_negative_count_is_found_by_any_thread() -> None:
    for at in (0, 4_999, 5_000, 9_999):
        counts = np.ones(10_000, np.int64)
        counts[at] = -1
        with pytest.raises(InputError, match="negative"):
            one_pass(counts, tu.CellCounts(10_000), 1, threads=2)


@pytest.mark.parametrize(
    "question",
    [tu.SortedCounts(4, adaptive=False), tu.NamedCounts(4, {"all": slice(None), "last": [3]})],
)
def test_other_questions_cannot_be_released_in_one_pass(question: Question) -> None:
    assert not can_be_released(question)


def test_a_hierarchy_cannot_be_released_in_one_pass() -> None:
    axis = tu.Axis.hierarchy("place", {"north": ["a", "b"], "south": ["c", "d", "e"]})
    assert not can_be_released(tu.TreeCounts(axis))


def test_neighbours_move_the_release_by_what_is_claimed() -> None:
    """With frozen noise every fitted count is linear in the counts: all else stays as it is."""
    question = tu.TreeCounts(1000, branching=2)
    a = np.arange(1000) % 5
    b = a + (np.arange(1000) == 417)
    found = replay(lambda x: one_pass(x, question, 1).prefix, a, b, sensitivity=1000)
    assert found.passed
    assert abs(found.move - (1000 - 417)) < Fraction(1, 10**6)


def test_an_audit_finds_no_more_than_is_claimed() -> None:
    question = tu.TreeCounts(4, branching=2)
    a, b = [2, 0, 10, 2], [2, 0, 11, 2]
    found = audit(lambda x: one_pass(x, question, 1).counts(), a, b, 1, 400, 1 - 1e-9)
    assert found.passed


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": "1e-9"},
        {"counts": [1, 2]},
        {"counts": [1, 2, 3, -4]},
        {"counts": [1.5, 2, 3, 4]},
        {"neighbours": "both"},
        {"rows_per_unit": 0},
        {"threads": 0},
    ],
)
def test_a_bad_request_is_refused(wrong: dict[str, object]) -> None:
    given = {"counts": [1, 2, 3, 4], "question": tu.TreeCounts(4, branching=2), "epsilon": 1}
    with pytest.raises(InputError):
        one_pass(**{**given, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 1}])
def test_each_thread_of_a_release_draws_from_one_keystream_that_no_other_has(
    cost: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[int, Any]] = []

    class Noted(bits.Keystream):
        def fill(self, buffer: Any) -> None:
            drawn.append((threading.get_ident(), self))
            super().fill(buffer)

    monkeypatch.setattr(bits, "Keystream", Noted)
    noise = Noise(tu.TreeCounts(8, branching=2, root=False), **cost)
    both = threading.Barrier(3)
    for add in (noised_runs(noise, (1, 2, 3)), noised_runs(noise, (1, 2, 3))):

        def work(add: Any = add) -> None:
            both.wait()
            for _ in range(2):
                add(np.zeros(14, np.int64), [Run(1, 0, 2), Run(2, 2, 6), Run(3, 6, 14)], 0)
            both.wait()

        others = [threading.Thread(target=work) for _ in range(2)]
        for thread in others:
            thread.start()
        work()
        for thread in others:
            thread.join()
    # Two releases by three threads each: six keystreams, each of one thread.
    assert len({id(stream) for _, stream in drawn}) == 6
    assert len({(thread, id(stream)) for thread, stream in drawn}) == 6


MEMORY = """
import numpy as np
import trueup as tu
from trueup.facts import Facts
from trueup.onepass import release_in_one_pass
from trueup.warming import machine_code_only

def asked(size):
    return Facts.of(tu.TreeCounts(size, branching=2), 1)

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

size = 1 << 22
counts = np.ones(size, np.int64)
machine_code_only()
release_in_one_pass(counts[: 1 << 16], asked(1 << 16))  # code, tables, work space
before = peak()
found = release_in_one_pass(counts, asked(size))
print((peak() - before) / found.prefix.nbytes)
"""


def test_memory_is_little_more_than_the_output() -> None:
    path = {**os.environ, "PYTHONPATH": str(Path(tu.__file__).parents[1])}
    command = [sys.executable, "-c", MEMORY]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=path)
    assert 1 <= float(run.stdout) < 1.5


def test_gaussian_noise_in_one_pass_has_the_variance_of_its_rho() -> None:
    question = tu.TreeCounts(4096, radices=(64, 64), shares=("0", "1/3", "2/3"))
    found = one_pass(np.zeros(4096, np.int64), question, None, rho="1/50")
    assert found.facts.rho == Fraction(1, 50)
    fitted = found.counts()
    expected = found.errors.range_variances(np.arange(4096), np.arange(1, 4097))
    ratio = float(np.mean(fitted**2 / expected))
    assert abs(ratio - 1) < 6 * np.sqrt(2 / 4096)
