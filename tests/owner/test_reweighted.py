"""Multiplicative weights through an owner: charged first, once, for all rows of a unit."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.reweighting import Weighing

X, Y = tu.Axis.integers("x", 0, 15), tu.Axis.categories("y", ["a", "b"])


@pytest.fixture
def table() -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "user": rng.integers(0, 900, 4_000),
            "x": rng.integers(0, 8, 4_000),
            "y": rng.choice(["a", "b"], 4_000),
        }
    )


def test_weights_are_charged_once_stored_and_read_back(tmp_path: Path, table: pa.Table) -> None:
    ledger = tu.Ledger(tmp_path / "x.ledger", limit=50)
    owner = tu.Owner(table, ledger)
    found = tu.adaptive(owner, [X, Y], 20, rounds=6, key="one", where="x < 4")
    again = tu.adaptive(owner, [X, Y], 20, rounds=6, key="one", where="x < 4")
    assert ledger.spent == 20
    assert again.facts == found.facts
    assert (again.counts() == found.counts()).all()
    true = tu.GridCounts(X, Y).count(table).reshape(16, 2)
    true[4:] = 0
    for start, stop, answer in zip(found.starts, found.stops, found.answers, strict=True):
        inside = true[start[0] : stop[0], start[1] : stop[1]].sum()
        assert abs(answer - inside) < 40 * float(found.scale)
    found.save(tmp_path / "x.parquet")
    assert repr(tu.load(tmp_path / "x.parquet")) == repr(found)
    with pytest.raises(tu.TrueupError, match="different request"):
        tu.adaptive(owner, [X, Y], 20, rounds=7, key="one", where="x < 4")


def test_a_key_pays_for_one_request_alone(tmp_path: Path, table: pa.Table) -> None:
    ledger = tu.Ledger(tmp_path / "x.ledger", limit=50)
    ledger.allow("ana", 20)
    owner = tu.Owner(table, ledger, unit="user", rows_per_unit=2)
    asked: Any = {"rounds": 3, "key": "one", "where": "x < 4", "by": "ana"}
    first = tu.adaptive(owner, X, 2, **asked)
    assert (ledger.history()[-1].by, ledger.allowed("ana")) == ("ana", (20, 2))
    for changed in (
        {"where": None}, {"where": "x < 5"}, {"neighbours": "replace"}, {"rounds": 4},
        {"workload": tu.Workload.prefixes()},
    ):  # fmt: skip
        with pytest.raises(tu.InputError, match="different request"):
            tu.adaptive(owner, X, 2, **{**asked, **changed})
    for other in (X, tu.Axis.integers("x", 0, 14)):
        with pytest.raises(tu.InputError, match="different request"):
            tu.adaptive(owner, other, 2 if other is not X else 3, **asked)
    three = tu.Owner(table, ledger, unit="user", rows_per_unit=3)
    with pytest.raises(tu.InputError, match="different request"):
        tu.adaptive(three, X, 2, **asked)
    assert (tu.adaptive(owner, X, 2, **asked).answers == first.answers).all()
    assert ledger.spent == 2


def test_noise_that_cannot_be_drawn_and_periods_are_refused_before_the_charge(
    tmp_path: Path, table: pa.Table
) -> None:
    """The noise of a choice is twice that of a count: both are found just outside the limits."""
    ledger = tu.Ledger(tmp_path / "x.ledger", limit=10**6)
    owner = tu.Owner(table, ledger, unit="user", rows_per_unit=10)
    for rounds, too_small in ((1, Fraction(3 * 11, 10**9)), (2, Fraction(5 * 11, 10**9))):
        with pytest.raises(tu.InputError, match="noise scale"):
            tu.adaptive(owner, X, too_small, rounds=rounds)
    with pytest.raises(tu.InputError, match="noise scale"):
        tu.adaptive(owner, X, 40_000, rounds=1)
    days = tu.Ledger(tmp_path / "days", limit=1, per="day", date="day")
    dated = table.append_column("day", pa.array([dt.date(2026, 1, 1)] * len(table)))
    with pytest.raises(tu.InputError, match="not charged by period"):
        tu.adaptive(tu.Owner(dated, days), X, 1)
    assert not ledger.history()
    assert not days.history()


def test_a_stored_answer_that_is_not_private_is_not_handed_out(
    tmp_path: Path, table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tu.adaptive(table, X, 1, rounds=1)
    stored = replace(found, facts=replace(found.facts, private=False)).to_bytes()
    monkeypatch.setattr(tu.Ledger, "recall", lambda *_, **__: stored)
    owner = tu.Owner(table, tu.Ledger(tmp_path / "x.ledger", limit=50))
    with pytest.raises(tu.TrueupError, match="NOT PRIVATE"):
        tu.adaptive(owner, X, 1, rounds=1)


def test_units_have_so_many_rows_and_so_much_noise(tmp_path: Path, table: pa.Table) -> None:
    ledger = tu.Ledger(tmp_path / "x.ledger", limit=5_000)
    owner = tu.Owner(table, ledger, unit="user", rows_per_unit=2)
    found = tu.adaptive(owner, X, 1_000, rounds=2)
    assert found.scale == Fraction(2 * 5, 1_000)
    kept = np.minimum(np.bincount(table["user"].to_numpy(), minlength=900), 2).sum()
    assert found.measured_total == pytest.approx(kept, abs=2)
    assert found.facts.unit == "user"
    assert "at most 2 rows of each user" in found.facts.capped


def test_one_unit_moves_no_box_by_more_than_its_rows() -> None:
    rng, asked = np.random.default_rng(2), Weighing.of([X, Y], 1, 2, None, "add-remove")
    for _ in range(50):
        counts = rng.integers(0, 5, (16, 2))
        other = counts.copy()
        for _ in range(3):  # three rows of one person move elsewhere, come or go
            here, there = (tuple(rng.integers(0, size) for size in (16, 2)) for _ in range(2))
            other[there] += rng.integers(0, 2)
            other[here] -= min(int(rng.integers(0, 2)), int(other[here]))
        sums = [
            np.array([
                each[a[0] : b[0], a[1] : b[1]].sum()
                for a, b in zip(asked.starts, asked.stops, strict=True)
            ])
            for each in (counts, other)
        ]  # fmt: skip
        assert np.abs(sums[0] - sums[1]).max() <= 3


def test_what_cannot_be_is_refused_and_costs_nothing(tmp_path: Path, table: pa.Table) -> None:
    ledger = tu.Ledger(tmp_path / "x.ledger", limit=1)
    owner = tu.Owner(table, ledger)
    auto = tu.Owner(
        table, tu.Ledger(tmp_path / "u.ledger", limit=1), unit="user", rows_per_unit="auto",
        at_most=9,
    )  # fmt: skip
    asks = [
        (lambda: tu.adaptive(owner, X, 2), tu.BudgetError, "is left"),
        (lambda: tu.adaptive(owner, X, 1, rounds=0), tu.InputError, "1 to 200 rounds"),
        (lambda: tu.adaptive(owner, X, 1, where="z = 1"), tu.SourceError, "no column"),
        (lambda: tu.adaptive(owner, tu.Axis.integers("z", 0, 3), 1), tu.SourceError, "no column"),
        (lambda: tu.adaptive(auto, X, 1), tu.InputError, "as a number"),
        (lambda: tu.adaptive(table, X, 1, key="k"), tu.InputError, "goes with an Owner"),
        (lambda: tu.adaptive(owner, X, 1, kee="k"), TypeError, "kee"),
    ]
    for ask, kind, words in asks:
        with pytest.raises(kind, match=words):
            ask()
    assert ledger.spent == 0
