"""A sorted release: its table, its total and its band's two sides."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import laplace, norm

import trueup as tu
from trueup.ask.diagram import CountedRows


def release_of(noisy, epsilon=1):
    return tu.infer(tu.Measurement(tu.SortedCounts(len(noisy), adaptive=False), noisy, epsilon))


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=40))
def test_counts_rise_and_keep_the_measured_total(noisy):
    release = release_of(noisy)
    assert (np.diff(release.counts()) >= 0).all()
    assert release.total().value == pytest.approx(sum(noisy), rel=1e-12, abs=1e-3)


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=40))
def test_the_band_rises_lies_around_the_fit_and_widens_with_its_level(noisy):
    release = release_of(noisy)
    low, high = release.band(0.9)
    assert (low >= 0).all()
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    fit = np.maximum(release.counts(), 0)
    assert (low <= fit + 1e-9).all()
    assert (fit <= high + 1e-9).all()
    wider_low, wider_high = release.band(0.999)
    assert (wider_low <= low).all()
    assert (high <= wider_high).all()


def test_the_total_has_the_error_of_a_sum():
    release = release_of([5, 1, 9, 2], "1/10")
    m = tu.Measurement(tu.SortedCounts(4, adaptive=False), [0] * 4, "1/10")
    assert release.total().std_error ** 2 == pytest.approx(m.variances.sum(), rel=1e-12)


def test_totals_of_one_release_can_be_compared_and_of_two_cannot():
    release = release_of([1, 2, 3])
    assert (release.total() - release.total()).value == 0
    assert (release.total() - release.total()).std_error == 0
    with pytest.raises(tu.InputError, match="come from different releases"):
        release.total() - release_of([1, 2, 3]).total()


def test_the_table_is_ranks_counts_and_band():
    release = release_of([1, 2, 0, 11])
    table = release.to_frame()
    assert table.column_names == ["rank", "count", "low", "high"]
    assert table["rank"].to_pylist() == [4, 3, 2, 1]  # 1 is the largest, as in pictures
    assert table["count"].to_pylist() == [1, 1, 1, 11]
    assert pa.table(release).equals(table)
    assert release.to_frame("polars")["count"].to_list() == [1, 1, 1, 11]
    assert release.to_frame("pandas")["count"].tolist() == [1, 1, 1, 11]


def test_counts_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="read-only"):
        release_of([1, 2]).counts()[0] = 5


@pytest.mark.parametrize("level", [0, 1, 2, "high", True])
def test_a_band_needs_a_level_between_zero_and_one(level):
    with pytest.raises(tu.InputError, match="A level must lie between 0 and 1"):
        release_of([1, 2]).band(level)


def test_a_row_is_off_by_as_much_as_the_further_side_of_the_band() -> None:
    """A count below zero is off by something, though the band, cut at zero, is one number there."""
    release = tu.infer(tu.Measurement(tu.SortedCounts(4, adaptive=False), [-1, 7, 14, 21], 3))
    low, high = release.band(0.95)
    assert (low[0], high[0]) == (0, 0)
    assert [row[2] for row in release.lines(9)] == [1, 1, 1, 1]
    wide = tu.infer(tu.Measurement(tu.SortedCounts(2, adaptive=False), [1, 9], "1/2"))
    (low, high), (first, last) = wide.band(0.95), wide.lines(2)
    assert first[2] == high[0] - 1 > 1 - low[0] == 1
    assert last[2] == high[1] - 9


APART = np.array([0, 10**5, 2 * 10**5, 3 * 10**5])  # nothing is pooled: each has its own noise
POINTS = np.arange(-40_000, 40_001)


def beyond(reach: float, law: str, scale: float) -> float:
    """The chance that one noise is further off than this, point by point or by scipy."""
    if law == "continuous":
        return 2 * float(laplace.sf(reach, scale=scale))
    if law == "normal":
        return 2 * float(norm.sf(reach, scale=np.sqrt(scale)))
    weights = np.exp(-(POINTS**2) / (2 * scale) if law == "gaussian" else -np.abs(POINTS) / scale)
    return float(weights[np.abs(POINTS) > reach + 1e-9].sum() / weights.sum())


@pytest.mark.parametrize("scale", ["1/16", "1/3", 8, 900])
@pytest.mark.parametrize("law", ["discrete", "continuous", "gaussian", "normal"])
def test_a_band_reaches_as_far_as_the_law_of_the_noise_says(law: str, scale: object) -> None:
    """Half of what the level leaves is for the four single noises, and is used up."""
    question = tu.SortedCounts(4, adaptive=False)
    gaussian, private = law in ("gaussian", "normal"), law in ("discrete", "gaussian")
    cost = {"rho": 1 / (2 * Fraction(scale))} if gaussian else {"epsilon": 1 / Fraction(scale)}
    release = tu.infer(tu.Measurement(question, APART, private=private, law=law, **cost))
    for level in (0.5, 0.95):
        low, high = release.band(level)
        reach = float(high[1] - APART[1])
        assert low[1] == APART[1] - reach
        step = 0 if private else 1 / 1024  # on the real line noise is taken for a fine lattice's
        spent = 4 * beyond(reach + step, law, float(Fraction(scale)))
        assert spent <= (1 - level) / 2 * (1 + 1e-9)
        if law == "gaussian":  # no further than a subgaussian tail of that chance
            widest = np.sqrt(-2 * float(Fraction(scale)) * np.log((1 - level) / 16))
            assert reach <= widest * (1 + 1e-9)
        less = reach - 2 if law in ("discrete", "gaussian") else 0.98 * reach
        assert less < 0 or 4 * beyond(less, law, float(Fraction(scale))) > (1 - level) / 2


def adaptively(noisy: list[int], turn: int = 0, **cost: object) -> tu.SortedRelease:
    """Counts that were asked adaptively, one by one: up from the turn, and before that down."""
    groups = len(noisy)
    question = tu.SortedCounts(groups, asked=(CountedRows(0, turn, groups, 0),))
    return tu.infer(tu.Measurement(question, noisy, **cost))


@pytest.mark.parametrize("cost", [{"epsilon": "1/9"}, {"rho": "1/90"}, {"rho": 2}])
def test_an_adaptive_band_reaches_as_far_as_the_law_of_the_noise_says(cost: dict) -> None:
    """All powers of two share what the level leaves, for noise decides how many answers are."""
    law, scale = ("gaussian", 1 / (2 * Fraction(cost["rho"]))) if "rho" in cost else ("discrete", 9)
    release = adaptively(APART.tolist(), **cost)
    reach = float(release.band(0.9)[1][1] - APART[1])
    powers = (2 * 4 + 2**17).bit_length()  # no walk over four groups has more answers than that
    left = 0.1 / powers / 2
    assert 4 * beyond(reach, law, float(scale)) <= left
    assert 4 * beyond(reach - 2, law, float(scale)) > left


def test_a_band_of_five_adaptive_answers_is_as_wide_as_of_eight() -> None:
    """Both are held together with all numbers of answers up to the next power of two."""
    for cost in ({"epsilon": "1/50"}, {"rho": "1/5000"}):
        wide = [
            adaptively([10**5 * k for k in range(1, n + 1)], **cost).band(0.95)[1][0]
            for n in (4, 5, 8, 9)
        ]
        assert wide[0] < wide[1] == wide[2] < wide[3]


def test_counts_on_two_sides_of_a_turn_are_not_averaged() -> None:
    """Their noise was not drawn in a row: no window of it holds both, and not all before."""
    together, apart = (
        adaptively([500, 500], turn=turn, epsilon="1/10").band(0.95) for turn in (0, 1)
    )
    alone = adaptively([500, 10**6], epsilon="1/10").band(0.95)
    assert apart[1][0] == alone[1][0]
    assert apart[0][1] == 1000 - alone[1][0]
    assert together[1][0] < apart[1][0]
    assert together[0][1] > apart[0][1]


@pytest.mark.parametrize("noisy", [[0, 1, 3, 4], [2, 2, 2, 2], [0, 0, 5, 9]])
def test_what_is_read_from_a_band_is_what_rising_counts_within_it_can_have(
    noisy: list[int],
) -> None:
    """All rising whole counts between the two ends, written out."""
    release = adaptively(noisy, epsilon=4)
    low, high = release.band(0.5)
    sides = [range(int(a), int(b) + 1) for a, b in zip(low, high, strict=True)]
    possible = [each for each in itertools.product(*sides) if list(each) == sorted(each)]
    assert 1 < len(possible) < 10**5
    for count in range(12):
        found = [each.count(count) for each in possible]
        assert release.how_many(count).interval(0.5) == (min(found), max(found))
        at_least = [sum(one >= count for one in each) for each in possible]
        told = release.how_many(at_least=count).interval(0.5)
        assert told == (min(at_least), max(at_least))
    largest = [each[-1] for each in possible]
    assert release.largest().interval(0.5) == (min(largest), max(largest))


def test_answers_that_contradict_each_other_have_a_band_all_the_same() -> None:
    """Answers of a file may be any: rows that fall by more than noise does, and back."""
    for noisy in ([1000, -1000, 500], [0, 900, -900], [7, 7, -(10**6)]):
        release = adaptively(noisy, epsilon=2)
        low, high = release.band(0.9)
        assert (low <= high).all()
        for count in (0, 7, 500):
            least, most = release.how_many(count).interval(0.9)
            assert 0 <= least <= most <= 3
