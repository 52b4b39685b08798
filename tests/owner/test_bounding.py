"""A bound chosen privately: near the best, charged once, and its statement holds as it says."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.owner.bounding import BoundedMeasurement, chosen_bound, each_cell, rows_axis

HOUR = tu.Axis.integers("hour", 0, 99)
MOST = 1_000


def table(rows: np.ndarray, rng: np.random.Generator) -> pa.Table:
    """So many rows of each person, in random order, each in some hour."""
    users = rng.permutation(np.repeat(np.arange(len(rows)), rows))
    return pa.table({"user": users, "hour": rng.integers(0, 100, len(users))})


@pytest.fixture
def ledger(tmp_path: Path) -> tu.Ledger:
    return tu.Ledger(tmp_path / "x.ledger", limit=1_000)


def test_cells_of_rows_are_one_number_each_while_small_and_end_at_the_most() -> None:
    for most in (2, 7, 8, 9, 1_000, 10**6):
        axis = rows_axis("rows", most)
        edges = axis.positions(np.arange(axis.size + 1)).tolist()
        assert edges[0] == 1
        assert edges[-1] == most + 1
        assert edges[: min(most, 8)] == list(range(1, min(most, 8) + 1))
        assert all(b - a <= max(1, 0.6 * a) for a, b in itertools.pairwise(edges))


def test_the_bound_is_the_best_of_all_where_there_is_no_noise() -> None:
    rng = np.random.default_rng(1)
    axis = rows_axis("rows", MOST)
    edges = axis.positions(np.arange(axis.size + 1))
    for each in (5.0, 100.0, 3_000.0):
        rows = np.minimum(np.ceil(rng.lognormal(1, 1.2, 5_000)), MOST)
        counts = np.histogram(rows, edges)[0]

        def error(bound: int, rows: np.ndarray = rows, each: float = each) -> float:
            return float(np.maximum(rows - bound, 0).sum() + each * bound)

        found = chosen_bound(axis, counts, 1e-9, each)
        assert error(found) <= 1.1 * min(error(bound) for bound in range(1, MOST + 1))


def test_a_cell_that_noise_could_give_is_taken_for_empty() -> None:
    axis = rows_axis("rows", MOST)
    counts = np.zeros(axis.size, np.int64)
    counts[0] = 10_000
    limit = math.log(axis.size) + 9
    for few, far in ((math.floor(limit) - 1, False), (math.ceil(limit) + 1, True)):
        counts[-1] = few
        assert (chosen_bound(axis, counts, 1.0, 1.0) > 500) is far


def test_the_noise_of_all_cells_is_that_of_their_laws() -> None:
    cells = each_cell(tu.CellCounts(HOUR), Fraction(1, 10), "add-remove")
    assert cells == pytest.approx(100 * 10, rel=0.01)  # E|Laplace| is its scale
    grid = tu.GridCounts(
        tu.CellCounts(tu.Axis.integers("x", 0, 9)), tu.CellCounts(tu.Axis.integers("y", 0, 6))
    )
    assert each_cell(grid, Fraction(1, 10), "add-remove") == pytest.approx(700, rel=0.01)
    replaced = each_cell(tu.CellCounts(HOUR), Fraction(1, 10), "replace")
    assert replaced == pytest.approx(2 * cells, rel=0.01)


def test_both_parts_are_charged_once_and_say_what_they_are(ledger: tu.Ledger) -> None:
    rng = np.random.default_rng(2)
    rows = np.where(rng.random(3_000) < 0.1, 40, 2)
    owner = tu.Owner(table(rows, rng), ledger, unit="user", rows_per_unit=1)
    found = tu.bounded(owner, tu.CellCounts(HOUR), 1, at_most=MOST, key="one")
    assert ledger.spent == 1
    again = tu.bounded(owner, tu.CellCounts(HOUR), 1, at_most=MOST, key="one")
    assert ledger.spent == 1
    assert (again.measurement, again.sizes, again.bound) == (
        found.measurement, found.sizes, found.bound,
    )  # fmt: skip
    assert found.measurement.rows_per_unit == found.bound
    assert 30 <= found.bound <= 50
    assert found.sizes.epsilon + found.measurement.epsilon == 1
    assert found.sizes.facts.features[0][0] == "rows per user"
    assert found.rows_per_person.range(2, 3).value == pytest.approx(2_700, abs=300)
    assert owner.rows_per_unit == 1
    said = found.statement()
    assert f"At most {found.bound} rows of each user count" in said
    assert "If nobody has more than 1,000 rows, about" in said
    assert "chosen for epsilon=" in repr(found)


def of_people(rows: np.ndarray, question: Any, rng: np.random.Generator) -> BoundedMeasurement:
    """As `bounded` does it, of counts in memory: without a table, to be done often."""
    axis = rows_axis("rows", MOST)
    edges = axis.positions(np.arange(axis.size + 1))
    sizes = tu.measure(np.histogram(rows, edges)[0], tu.CellCounts(axis), "1/10")
    each = each_cell(question, Fraction(9, 10), "add-remove")
    bound = chosen_bound(axis, sizes.noisy, float(sizes.noise.scales[0]), each)
    counts = rng.multinomial(np.minimum(rows, bound).sum(), np.full(100, 0.01))
    measured = tu.measure(counts, question, "9/10", unit="user", rows_per_unit=bound)
    return BoundedMeasurement(measured, sizes, bound, MOST)


def test_the_statement_holds_as_often_as_it_says_but_for_one_person_of_more_rows() -> None:
    rng = np.random.default_rng(3)
    question = tu.CellCounts(HOUR)
    held = draws = 0
    for rows in (
        np.minimum(np.ceil(rng.pareto(1.5, 4_000) + 0.01), MOST),
        np.where(rng.random(4_000) < 0.01, 300, 2),
    ):
        for _ in range(20):
            found = of_people(rows, question, rng)
            low, high = found.total_interval()
            held += low <= rows.sum() <= high
            draws += 1
    assert held / draws > 0.95 - 3 * math.sqrt(0.95 * 0.05 / draws)
    # One person of more rows than were declared: nobody can tell, and the statement says so.
    alone = np.append(np.full(500, 2.0), 10**7)
    found = of_people(alone, question, rng)
    assert found.total_interval()[1] < alone.sum()
    assert "If nobody has more than 1,000 rows" in found.statement()


def test_what_has_no_bound_is_refused_before_anything_is_spent(ledger: tu.Ledger) -> None:
    rows = pa.table({"user": [1, 1, 2], "hour": [3, 4, 5]})
    owner = tu.Owner(rows, ledger, unit="user", rows_per_unit=1)
    cells = tu.CellCounts(HOUR)
    wrong: list[tuple[Any, ...]] = [
        (tu.Owner(rows, ledger), cells, 1, {"at_most": 9}, "unit names people"),
        (owner, cells, 1, {"at_most": 1}, "between 2 and"),
        (owner, cells, 1, {"at_most": 9, "share": 1}, "below 1"),
        (owner, cells, 0, {"at_most": 9}, "must be positive"),
        (owner, tu.SortedCounts(5, by="hour"), 1, {"at_most": 9}, "counts over axes"),
        (owner, tu.TreeCounts(HOUR, adaptive=True), 1, {"at_most": 9}, "fixed"),
        (owner, cells, 1_001, {"at_most": 9}, "is left"),
        (owner, tu.CellCounts(tu.Axis.integers("age", 0, 9)), 1, {"at_most": 9}, "no column"),
    ]
    with pytest.raises(tu.InputError, match=r"ask tu\.bounded"):
        tu.Owner(rows, ledger, unit="user", rows_per_unit="auto")  # type: ignore[arg-type]
    for door, question, epsilon, options, words in wrong:
        with pytest.raises(tu.TrueupError, match=words):
            tu.bounded(door, question, epsilon, **options)
    assert ledger.spent == 0
