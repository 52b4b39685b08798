"""One registration makes a question of a new type first-class, with no other file changed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.ask import kinds
from trueup.infer import model
from trueup.noise import Noise
from trueup.plan.offers import offers, ways
from trueup.workload import Workload

AXIS = tu.Axis.integers("age", 0, 59)
COUNTS = np.arange(60) % 7
EPSILON = Fraction(1, 2)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The toy's file, imported: what it registers is forgotten after the test."""
    monkeypatch.setattr(model, "_MODELS", dict(model._MODELS))
    monkeypatch.setattr(kinds, "_KINDS", dict(kinds._KINDS))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    yield importlib.import_module("toy_question")
    del sys.modules["toy_question"]


def measured(question: Any) -> Any:
    return tu.measure(COUNTS, question, EPSILON)


def by_dense_algebra(measurement: Any) -> tuple[Any, Any]:
    """The least-squares cells and their covariance, by the normal equations."""
    matrix = measurement.question.matrix().toarray()
    weighed = matrix / measurement.variances[:, None]
    covariance = np.linalg.inv(matrix.T @ weighed)
    return covariance @ weighed.T @ measurement.noisy, covariance


def test_the_toy_has_one_file_of_70_lines() -> None:
    assert len(Path(__file__).with_name("toy_question.py").read_text().splitlines()) <= 70


def test_it_is_measured_and_inferred_by_least_squares(toy: ModuleType) -> None:
    m = measured(toy.PairCounts(AXIS))
    assert m.noise.scales == (Fraction(4), Fraction(8))  # price 1, weights 1/2 and 1/4
    cells, covariance = by_dense_algebra(m)
    release = tu.infer(m)
    np.testing.assert_allclose(release.counts(), cells, atol=1e-6)
    np.testing.assert_allclose(release.std_errors(), np.sqrt(np.diag(covariance)))


def test_its_prices_are_the_most_that_a_record_moves(toy: ModuleType) -> None:
    question = toy.PairCounts(9)
    assert question.heaviest == 1
    columns = question.matrix().toarray().astype(int).T
    weights = np.repeat([Fraction(1, 2), Fraction(1, 4)], [9, 7])
    moves = {"add-remove": columns, "replace": [a - b for a in columns for b in columns]}
    for neighbours, each in moves.items():
        assert question.sensitivity(neighbours) == max(abs(move).sum() for move in each)
        assert question.price(neighbours) == max((abs(move) * weights).sum() for move in each)
        squares = max((move**2 * weights**2).sum() for move in each)
        assert question.square_price(neighbours) == squares


def test_its_intervals_are_those_of_the_noise(toy: ModuleType) -> None:
    noise = Noise(toy.PairCounts(AXIS), EPSILON)
    generator = np.random.default_rng(1)
    scales = noise.each_answer([float(scale) for scale in noise.scales])
    success = -np.expm1(-1 / scales)
    drawn = generator.geometric(success, (40_000, len(scales)))
    drawn = drawn - generator.geometric(success, drawn.shape)
    matrix = noise.question.matrix().toarray()
    weighed = matrix / noise.each_answer(noise.variances)[:, None]
    off = drawn @ np.linalg.solve(matrix.T @ weighed, weighed.T)[10:30].sum(axis=0)
    reach = model.axis_model(noise).errors.half_widths(np.array([10]), np.array([30]), 0.95)
    assert np.mean(np.abs(off) <= reach[0]) == pytest.approx(0.95, abs=0.005)


def test_its_counts_can_be_shown(toy: ModuleType) -> None:
    shown = tu.infer(measured(toy.PairCounts(AXIS)), nonnegative=True, integers=True)
    assert shown.counts().dtype == np.int64
    assert shown.counts().min() >= 0
    assert shown.counts().sum() == shown.total().value
    with pytest.raises(tu.InputError, match="PairCounts can be shown top-down, not exact"):
        tu.infer(measured(toy.PairCounts(AXIS)), nonnegative=True, method="exact")


def test_it_is_planned_with_the_errors_of_dense_algebra(toy: ModuleType) -> None:
    found = tu.plan(AXIS, EPSILON)
    _, covariance = by_dense_algebra(measured(toy.PairCounts(AXIS)))
    sums = np.zeros((61, 61))
    sums[1:, 1:] = covariance.cumsum(0).cumsum(1)
    a, b = np.triu_indices(61, 1)
    each = sums[a, a] + sums[b, b] - 2 * sums[a, b]
    strategy = found["cells and pairs"]
    assert strategy.mean == pytest.approx(each.mean())
    assert strategy.worst == pytest.approx(each.max())
    lengths = found.by_length()["cells and pairs"]
    wanted = [each[b - a == length].mean() for length in found.lengths()]
    np.testing.assert_allclose(lengths, wanted)
    prefixes = tu.plan(AXIS, EPSILON, "prefixes")["cells and pairs"]
    assert prefixes.mean == pytest.approx(each[a == 0].mean())


def test_it_is_offered_by_its_word(toy: ModuleType) -> None:
    assert "pairs" in ways(AXIS)
    found = {offer.way: offer for offer in offers(AXIS, tu.Cost.of(EPSILON), Workload.all_ranges())}
    assert found["pairs"].question == toy.PairCounts(AXIS)
    assert found["pairs"].mean == pytest.approx(tu.plan(AXIS, EPSILON)["cells and pairs"].mean)


def test_it_is_saved_and_loaded(toy: ModuleType, tmp_path: Path) -> None:
    m = measured(toy.PairCounts(AXIS))
    m.save(tmp_path / "m.parquet")
    assert tu.load(tmp_path / "m.parquet") == m
    for name, release in (
        ("own", tu.infer(m)),
        ("shown", tu.infer(m, nonnegative=True, integers=True)),
    ):
        release.save(tmp_path / f"{name}.parquet")
        again: Any = tu.load(tmp_path / f"{name}.parquet")
        np.testing.assert_array_equal(again.counts(), release.counts())
        own, wanted = again.unbiased.range(5, 50), release.unbiased.range(5, 50)
        assert own.interval(0.9) == wanted.interval(0.9)


def test_it_is_reconciled_with_a_tree(toy: ModuleType) -> None:
    parts = [measured(toy.PairCounts(AXIS)), measured(tu.TreeCounts(AXIS, branching=4))]
    both = tu.reconcile(parts)
    matrix = np.vstack([part.question.matrix().toarray() for part in parts])
    variances = np.concatenate([part.variances for part in parts])
    noisy = np.concatenate([part.noisy for part in parts])
    weighed = matrix / variances[:, None]
    wanted = np.linalg.solve(matrix.T @ weighed, weighed.T @ noisy)
    np.testing.assert_allclose(both.counts(), wanted, atol=1e-6)
    assert both.total().std_error < tu.infer(parts[0]).total().std_error


def test_an_owner_answers_it(toy: ModuleType, tmp_path: Path) -> None:
    ages = np.repeat(np.arange(60), COUNTS)
    import pandas as pd

    owner = tu.Owner(pd.DataFrame({"age": ages}), tu.Ledger(tmp_path / "ledger", limit=1))
    m = owner.measure(toy.PairCounts(AXIS), epsilon=EPSILON, key="toy")
    assert owner.ledger.remaining == 1 - EPSILON
    again = owner.measure(toy.PairCounts(AXIS), epsilon=EPSILON, key="toy")
    assert again == m
    assert abs(tu.infer(m).total().value - COUNTS.sum()) < 40 * tu.infer(m).total().std_error


def test_published_counts_may_be_asked_by_it(toy: ModuleType) -> None:
    release = tu.publish(COUNTS, toy.PairCounts(AXIS), EPSILON)
    assert release.counts().min() >= 0


def test_one_kind_is_one_question(toy: ModuleType) -> None:
    class Other(toy.PairModel):  # type: ignore[misc,name-defined]
        pass

    with pytest.raises(ValueError, match="another model"):
        model.register(Other)
