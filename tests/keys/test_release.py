"""Releases of keys: they add up exactly, and say how sure they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.errors import FileError, InputError
from trueup.files.codec import encode
from trueup.keys.measurement import KeyMeasurement
from trueup.keys.release import KeyRelease
from trueup.keys.terms import KeyTerms

WORDS = tu.Universe.text("a-z", 4)
TERMS = KeyTerms.of(tu.KeyCounts(WORDS, "word", number="1/10"), 1)


def made(noisy: list[int], total: int, nonnegative: bool = True) -> KeyRelease:
    keys = tuple(WORDS.unrank(5 * place + 1) for place in range(len(noisy)))
    order = sorted(keys)
    measured = KeyMeasurement(TERMS, tuple(order), np.array(noisy, np.int64), total, 7, "a" * 32)
    return measured.infer(nonnegative)


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize(
    ("noisy", "total"), [([100, 50], 200), ([100, 50], 120), ([60, 60, 61], -40), ([], -3), ([], 5)]
)
def test_keys_shown_and_all_others_are_the_total(
    noisy: list[int], total: int, nonnegative: bool
) -> None:
    release = made(noisy, total, nonnegative)
    assert int(release.counts().sum()) + release.others() == release.total().value
    if nonnegative:
        assert release.others() >= 0
        assert (release.counts() >= 0).all()
    else:
        assert release.counts().tolist() == noisy
        assert release.total().value == total


def test_what_does_not_fit_is_shared_by_variance() -> None:
    """Against least squares with the sum as a constraint, before rounding."""
    release = made([300, 200, 100], 540)
    each = TERMS.law.std_error**2
    whole = release.total().unbiased.std_error ** 2
    off = 60 * each / (3 * each + whole)
    assert np.abs(release.counts() - (np.array([300, 200, 100]) - off)).max() <= 1
    assert release.total().value == release.counts().sum()


def test_the_interval_of_the_total_is_that_of_its_own_noise() -> None:
    low, high = made([100], 5000).total().interval(0.95)
    assert (low, high) == (4970, 5030)  # ±30: 1 − 0.905^31 ≈ 0.95 on each side of 10
    assert made([100], 50).total().interval()[1] >= made([100], 50).total().value


def test_a_key_that_is_not_shown_has_an_upper_end() -> None:
    release = made([100], 5000)
    missing = release.count("zzzz")
    assert (missing.value, missing.interval()[0]) == (0, 0)
    assert missing.interval()[1] == TERMS.law.surely_shown(0.95) - 1
    assert "not shown" in str(missing)
    assert release.count(release.keys[0]).noisy == 100
    assert "100 (95 %" in str(release.count(release.keys[0]))
    for wrong in ("Zzzz", 7, None):
        with pytest.raises(InputError, match="no key"):
            release.count(wrong)


def test_places_among_the_highest_hold_together() -> None:
    release = made([500, 30, 499, 200], 5000)
    best = release.top(3)
    assert [each.count for each in best] == [500, 499, 200]
    assert [each.places for each in best] == [(1, 2), (1, 2), (3, 3)]
    low, high = release.intervals(0.95, together=True)
    alone, _ = release.intervals(0.95)
    assert (low <= alone).all()
    assert best[0].interval == (low[0], high[0])
    assert str(TERMS.threshold) in release.statement()


def test_keys_shown_are_an_axis_for_further_questions() -> None:
    axis = made([500, 300], 800).axis()
    assert (axis.name, axis.size) == ("word", 2)
    numbers = KeyTerms.of(tu.KeyCounts(tu.Universe.integers()), 1)
    found = KeyMeasurement(numbers, (5, 7), np.array([100, 200]), 300, None)
    assert found.infer().axis("code").locate([7, 5, 6]).tolist() == [1, 0, -1]
    with pytest.raises(InputError):
        made([], 5).axis()


def test_the_number_of_keys_is_told_only_if_it_was_asked() -> None:
    assert made([], 5).number().value == 7
    terms = KeyTerms.of(tu.KeyCounts(WORDS, total=0), 1)
    release = KeyMeasurement(terms, (), np.zeros(0, np.int64)).infer()
    for asked in (release.number, release.total, release.others):
        with pytest.raises(InputError, match="was not asked"):
            asked()


def test_releases_are_saved_and_loaded(tmp_path: Path) -> None:
    release = made([500, 300], 700)
    for ending in (".parquet", ".json"):
        release.save(tmp_path / f"keys{ending}")
        again = tu.load(tmp_path / f"keys{ending}", KeyRelease)
        assert again.columns()["key"] == release.columns()["key"]
        assert (again.counts() == release.counts()).all()
        assert (again.others(), again.facts) == (release.others(), release.facts)
    release.save(tmp_path / "keys.csv")
    assert "key" in (tmp_path / "keys.csv").read_text()


def test_a_release_whose_counts_were_changed_is_refused(tmp_path: Path) -> None:
    release = made([500, 300], 900)
    columns = {**release.columns(), "count": release.counts() + 1}
    said = json.loads(json.dumps(release.to_json()))
    (tmp_path / "keys.parquet").write_bytes(encode("key release", columns, said))
    with pytest.raises(FileError):
        tu.load(tmp_path / "keys.parquet")
