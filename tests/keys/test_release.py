"""Releases of keys: they add up exactly, and say how sure they are."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.errors import FileError, InputError
from trueup.files.codec import encode
from trueup.files.load import Saved
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


@pytest.mark.parametrize("total", [9000, 100])  # with room for other keys, and with none
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_interval_of_one_key_is_its_own_among_those_of_all(total: int, level: float) -> None:
    """That of the count as it was measured, stretched to hold the count that is shown."""
    noisy = [500, 30, 47, 200]
    release = made(noisy, total)
    assert (release.counts().tolist() == noisy) == (total == 9000)
    own = np.transpose(TERMS.law.intervals(noisy, level))
    shown = release.counts()
    for place, (low, high) in enumerate(own.tolist()):
        ends = release.count(release.keys[place]).interval(level)
        assert ends == (min(low, shown[place]), max(high, shown[place]))
        for many in (None, [place], np.array([3, place])):
            each = np.transpose(release.intervals(level, at=many))
            assert tuple(each[place if many is None else -1]) == ends
    below = (shown < own[:, 0]).any()
    assert below if total == 100 else (own[:, 0] <= shown).all()
    missing = release.count("zzzz").interval(level)
    assert missing == (0, TERMS.law.surely_shown(level) - 1)


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


def test_places_are_all_that_the_intervals_allow() -> None:
    """A key comes after those whose every count is higher, before those whose every one is lower.

    Against all pairs of intervals. Where it must be, and where it may, no narrower and no wider.
    """
    noisy = np.random.default_rng(5).integers(30, 110, 40).tolist()
    release = made(noisy, 9000)
    low, high = release.intervals(0.95, together=True)
    places = {each.key: each.places for each in release.top(40)}
    for key, least, most in zip(release.keys, low, high, strict=True):
        assert places[key] == (1 + int((low > most).sum()), 40 - int((high < least).sum()))
    assert len(set(places.values())) > 10


def test_intervals_together_hold_all_at_once() -> None:
    """The chance of one interval by adding up its law; noise is independent, so chances multiply.

    Twenty keys of one count: each at its own level, all would hold far too seldom.
    """
    release, count = made([100] * 20, 5000), 100
    scale = float(TERMS.count_scale)
    noisy = np.arange(TERMS.threshold, count + 400)
    chances = np.exp(-np.abs(noisy - count) / scale)
    chances /= chances.sum()

    def held(together: bool) -> float:
        sure = 0.0
        for begin in range(0, 260, 20):  # the noisy counts that one of the twenty may have
            some = slice(begin, begin + 20)
            low, high = made(noisy[some].tolist(), 9**9).intervals(0.9, together)
            sure += float(chances[some][(low <= count) & (count <= high)].sum())
        return sure

    assert held(True) ** 20 >= 0.9
    assert 0.9 <= held(False) < 0.9 + 0.1 / 2
    assert held(False) ** 20 < 0.9
    assert release.intervals(0.9)[0][0] > release.intervals(0.9, together=True)[0][0]


def test_the_total_and_the_number_have_the_error_of_their_own_answers() -> None:
    """Whatever is shown. The variance of discrete noise is added up here, point by point."""
    words = tu.KeyCounts(WORDS, "word", total="1/4", number="1/9")
    x = np.arange(-4000, 4001, dtype=float)
    for cost in (tu.Cost.of(1), tu.Cost.of(rho="1/50", delta="1e-6")):
        terms = KeyTerms.of(words, cost)
        keys = tuple(sorted(WORDS.unrank(5 * place + 1) for place in range(2)))
        noisy = np.array([400, 300], np.int64)
        for total in (5000, 600):  # more than the keys shown have, and less
            found = KeyMeasurement(terms, keys, noisy, total, 7, "a" * 32)
            for release in (found.infer(), found.infer(False)):
                for told, scale, value in (
                    (release.total(), terms.total_scale, total),
                    (release.number(), terms.number_scale, 7),
                ):
                    assert scale is not None
                    power = x**2 / (2 * float(scale)) if cost.rho else abs(x) / float(scale)
                    law = np.exp(-power) / np.exp(-power).sum()
                    own = told.unbiased
                    assert own.value == value
                    assert own.std_error == pytest.approx((law @ x**2) ** 0.5, rel=1e-6)
                    low, high = told.interval(0.95)
                    half = next(r for r in range(4000) if law[abs(x) <= r].sum() >= 0.95)
                    if told is own:
                        assert (low, high) == (value - half, value + half)
                    else:  # no count is below 0, and the one shown lies inside
                        assert (low, high) == (max(value - half, 0), max(value + half, told.value))


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
    plain = made([500, 300], 700, nonnegative=False)
    assert plain.counts().tolist() == [500, 300] != release.counts().tolist()
    for kept, ending in itertools.product((release, plain), (".parquet", ".json")):
        kept.save(tmp_path / f"keys{ending}")
        again = tu.load(tmp_path / f"keys{ending}", KeyRelease)
        assert again.columns()["key"] == kept.columns()["key"]
        assert (again.counts() == kept.counts()).all()
        assert (again.others(), again.facts) == (kept.others(), kept.facts)
        assert again.total().interval() == kept.total().interval()
    release.save(tmp_path / "keys.csv")
    assert "key" in (tmp_path / "keys.csv").read_text()


def test_a_release_whose_counts_were_changed_is_refused(tmp_path: Path) -> None:
    release = made([500, 300], 900)
    columns = {**release.columns(), "count": release.counts() + 1}
    said = json.loads(json.dumps(release.to_json()))
    more = {**said, "keys": {**said["keys"], "total": said["keys"]["total"] + 1}}
    for wrong in ((columns, said), (release.columns(), more)):
        (tmp_path / "keys.parquet").write_bytes(encode("key release", *wrong))
        with pytest.raises(FileError, match="do not follow"):
            tu.load(tmp_path / "keys.parquet")


@pytest.mark.parametrize(
    ("noisy", "total"),
    [([100, 50], 120), ([60, 61, 97], 190), ([1000, 40, 40, 40], 1000), ([70] * 9, 500)],
)
def test_counts_that_come_to_more_than_the_total_meet_it_by_least_squares(
    noisy: list[int], total: int
) -> None:
    """Against the dense solution of min Σ (x − y)²/v with Σ x = T, the total among the y."""
    release = made(noisy, total)
    error = release.total().unbiased.std_error
    variances = np.append(np.full(len(noisy), TERMS.law.std_error**2), error**2)
    given, balance = np.append(noisy, total).astype(float), np.append(np.ones(len(noisy)), -1.0)
    exact = given - variances * balance * (balance @ given) / (variances @ balance**2)
    assert np.abs(release.counts() - exact[:-1]).max() <= 1
    assert abs(release.total().value - exact[-1]) <= 0.5 + 1e-9
    assert int(release.counts().sum()) == release.total().value
    taken = np.array(noisy) - release.counts()
    order = np.argsort(-np.array(noisy), kind="stable")
    assert (np.diff(taken[order]) <= 0).all()  # what cannot be split is taken from the largest


def test_no_count_is_below_nothing_however_low_the_total_is() -> None:
    release = made([40, 40, 900], -6_000)
    assert release.counts().min() == 0
    assert int(release.counts().sum()) == release.total().value
    assert release.others() == 0


def test_a_file_with_what_is_no_key_of_its_universe_is_refused() -> None:
    release = made([100, 50], 200)
    columns = release.columns() | {"key": ["aaa", "UPPER"]}
    saved = Saved(columns, release.facts, release.to_json())
    with pytest.raises(FileError, match="no key of its universe"):
        KeyRelease.from_saved(saved)


def test_a_number_of_keys_is_no_less_than_none() -> None:
    release = made([100, 50], 200)
    assert release.top(0) == []
    assert len(release.top(9)) == 2
    for asked in (release.top, release.plot):
        with pytest.raises(InputError, match="at least 0, got -1"):
            asked(-1)
