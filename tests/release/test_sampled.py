"""Counts of a sample, scaled: the interval holds the count of all units as often as it says."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.errors import InputError
from trueup.period import Covered
from trueup.release.sampled import sample_interval

CELL = tu.CellCounts(tu.Axis.integers("n", 0, 1))


def release(noisy: list[int], rows: int = 1, epsilon: object = 1) -> tu.Release:
    covered = Covered("day", "UTC", ("2026-03-01",), (3, 30))
    made = tu.Measurement(CELL, noisy, epsilon, "add-remove", "user", rows)
    return tu.infer(replace(made, period=covered))


@pytest.mark.parametrize(("rows", "total"), [(1, 400), (4, 3000), (1, 3)])
def test_the_interval_holds_noise_and_sampling(rows: int, total: int) -> None:
    chance = np.random.default_rng(5)
    draws, chosen = 1500, 0.1
    sampled = rows * chance.binomial(total // rows, chosen, draws)
    noise = chance.geometric(1 - math.exp(-1 / rows), (2, draws))
    noisy = sampled + noise[0] - noise[1]
    total = rows * (total // rows)
    held, wide = 0, []
    for each in noisy[:400].tolist():
        found = release([each, 0], rows).range(0, 1).scaled(0.9)
        held += found.low <= total <= found.high
        wide.append(found.high - found.low)
    assert held >= 0.9 * 400 - 3 * math.sqrt(400 * 0.09)
    if total > 100:  # no wider than thrice what a normal curve would say
        spread = 10 * math.sqrt(rows * total * chosen * 0.9 + 2 * rows**2)
        assert np.median(wide) < 3 * 2 * 1.645 * spread


def test_the_ends_are_those_that_chernoff_leaves() -> None:
    low, high = sample_interval(10, 10, 0.1, 1, 0.05)
    reach = math.log(2 / 0.05)

    def ruled_out(count: float) -> bool:
        share = 10 / count
        other = (1 - share) * math.log((1 - share) / 0.9) if share < 1 else 0
        return count * (share * math.log(share / 0.1) + other) > reach

    assert [ruled_out(end) for end in (low - 1, low + 1, high - 1, high + 1)] == [
        True, False, False, True,
    ]  # fmt: skip
    # Units of four rows each are a quarter as many units of one row.
    four = sample_interval(40, 40, 0.1, 4, 0.05)
    assert max(abs(one * 4 - other) for one, other in zip((low, high), four, strict=True)) <= 4
    assert sample_interval(-5, 0, 0.1, 1, 0.05) == (0, math.ceil(reach / -math.log(0.9)))


@pytest.mark.parametrize("days", [1, 2, 5])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_noise_and_sampling_have_half_of_the_chance_each_and_every_day_has_its_rows(
    level: float, days: int
) -> None:
    """A unit brings its rows on each of the days; written out with Chernoff's bound."""
    made = release([4000, 0], rows=3)
    names = tuple(f"2026-03-{day + 1:02}" for day in range(days))
    covered = Covered("day", "UTC", names, (3, 30))
    facts = replace(made.facts, period=covered)
    found = replace(made, facts=facts).range(0, 1).scaled(level)
    spare = (1 - level) / 2
    # Noise of scale 3 is beyond ±t with the chance 2p^(t + 1)/(1 + p).
    p = math.exp(-1 / 3)
    least = next(t for t in range(99) if 2 * p ** (t + 1) / (1 + p) <= spare)
    reach = 3 * days * math.log(2 / spare)

    def ruled_out(count: float, sampled: float) -> bool:
        share = sampled / count
        other = (1 - share) * math.log((1 - share) / 0.9)
        return count * (share * math.log(share / 0.1) + other) > reach

    assert not ruled_out(found.high - 1, 4000 + least)
    assert ruled_out(found.high + 1, 4000 + least)
    assert not ruled_out(found.low + 1, 4000 - least)
    assert ruled_out(found.low - 1, 4000 - least)


def test_a_sample_says_its_scaling_and_only_counts_are_scaled(tmp_path: Path) -> None:
    one = release([40, 12])
    assert "each unit counts on 3 of 30 days, so multiply by 10" in repr(one)
    whole = one.total().scaled()
    assert (whole.value, whole.factor) == (520, Fraction(10))
    assert "scaled by 10" in str(whole)
    assert "multiply by 10" in one.total().describe()
    for wrong in (one.total() - one.range(0, 1) * 2, one.total() / 2, one.total() + 1):
        with pytest.raises(InputError, match="Only a count is scaled"):
            wrong.scaled()
    with pytest.raises(InputError, match="not of a sample"):
        tu.infer(tu.Measurement(CELL, [1, 2], 1)).total().scaled()
    one.save(tmp_path / "r.parquet")
    again = tu.load(tmp_path / "r.parquet")
    assert again.facts.period.periods_per_unit == (3, 30)
    assert again.total().scaled() == whole


def test_a_share_goes_with_a_unit_and_its_key_is_told_nowhere(tmp_path: Path) -> None:
    made = {"per": "day", "date": "at", "periods_per_unit": (3, 30)}
    ledger = tu.Ledger(tmp_path / "l", limit=1, **made)  # type: ignore[arg-type]
    table = pa.table({"user": ["a"], "n": [1], "at": pa.array([0], pa.date32())})
    with pytest.raises(InputError, match="periods_per_unit goes with a unit"):
        tu.Owner(table, ledger)
    owner = tu.Owner(table, ledger, unit="user", rows_per_unit=1)
    found = owner.measure(CELL, 1, period="1970-01-01")
    key = ledger.sampling_key()
    assert len(key) == 64
    assert key == tu.Ledger(tmp_path / "l").sampling_key()
    told = [repr(ledger), repr(owner), repr(owner.table), repr(found), str(found.facts.to_json())]
    told += [str(ledger.charges.to_pylist()), str(ledger.history()), ledger.loses]
    assert not any(key in each for each in told)
    assert ledger.loses == "a user: at most 3 × 1 in any 30 days"
    for wrong in ((0, 3), (3, 3), (1, 1001), (1.5, 3), 3, (True, 2)):
        with pytest.raises(InputError, match="periods_per_unit must be"):
            tu.Ledger(tmp_path / "m", limit=1, **made | {"periods_per_unit": wrong})
