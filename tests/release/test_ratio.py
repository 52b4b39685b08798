"""Ratios: exact intervals by inversion, unbounded ones said to be, and what ratios can do."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import trueup as tu
from trueup.law import added
from trueup.paper.noise import measure_for_experiment
from trueup.release.ratio import Ratio


def cells(noisy, epsilon=1):
    return tu.infer(tu.Measurement(tu.CellCounts(len(noisy)), noisy, epsilon))


def coverage(truth: tuple[int, int], epsilon: float, part: bool) -> tuple[float, float]:
    """How often the law accepts the true ratio and how often the interval holds it, by summing
    over all noise; far from the edge of acceptance the two are the same."""
    a, b = truth
    k = np.arange(-int(8 / epsilon), int(8 / epsilon) + 1)
    chance = np.exp(-epsilon * abs(k)) / np.exp(-epsilon * abs(k)).sum()
    ratio, own, held = a / b, 0.0, 0.0
    reach = None
    for x, p in zip(k.tolist(), chance.tolist(), strict=True):
        for y, q in zip(k.tolist(), chance.tolist(), strict=True):
            release = cells([a + x, b - a * part + y], str(epsilon))
            one = release.range(0, 1)
            found = one / (release.total() if part else release.range(1, 2))
            reach = reach or added(found._law.laws(1.0, ratio)).half_width(0.95)
            off = abs(found.numerator.value - ratio * found.denominator.value)
            accepted = off <= reach + 1e-9
            own += p * q * accepted
            if p * q > 1e-5 and abs(off - reach) < 0.1 * reach + 1.01:
                accepted = any(low <= ratio <= high for low, high in found.accepted(0.95))
            held += p * q * accepted
    return own, held


@pytest.mark.parametrize(("truth", "part"), [((10, 20), False), ((20, 20), False), ((5, 20), True)])
def test_intervals_hold_the_true_ratio_as_often_as_the_law_does(truth, part):
    own, held = coverage(truth, 1, part)
    assert held >= 0.948
    assert abs(held - own) <= 0.005


def test_intervals_of_trees_and_of_two_releases_hold_as_often_as_they_say():
    rng = np.random.default_rng(0)
    counts = np.array([8, 2, 14, 6, 3, 9, 1, 7])
    held = np.zeros(2)
    for seed in range(120):
        tree = measure_for_experiment(counts, tu.TreeCounts(8, 2), 2, seed)
        mixed = counts[rng.permutation(8)]
        flat = measure_for_experiment(mixed, tu.CellCounts(8), 2, 1000 + seed)
        one, other = (tu.infer(replace(m, id=32 * name)) for name, m in (("a", tree), ("b", flat)))
        for i, (ratio, true) in enumerate(
            ((one.range(0, 2) / one.total(), 10 / 50), (other.total() / one.total(), 1.0))
        ):
            low, high = ratio.interval()
            held[i] += low <= true <= high
    # Of 120 at 95 % fewer than 105 come about once in 10,000 times; and the seeds are always these.
    assert (held >= 105).all()


def test_no_interval_is_wider_than_the_law_of_a_ratio_makes_it():
    release = tu.infer(tu.measure(np.full(64, 500), tu.TreeCounts(64), epsilon=1))
    a, b = release.range(0, 16), release.total()
    low, high = (a / b).interval()
    for ratio in (low + 0.002 * (high - low), high - 0.002 * (high - low)):
        assert (a - ratio * b).interval()[0] <= 0 <= (a - ratio * b).interval()[1]
    for ratio in (low - 0.02 * (high - low), high + 0.02 * (high - low)):
        least, most = (a - ratio * b).interval()
        assert least > 0 or most < 0


def test_a_denominator_that_may_be_zero_leaves_the_ratio_unbounded_and_says_so():
    release = cells([30, 1])
    ratio = release.range(0, 1) / release.range(1, 2)
    assert ratio.interval() == (-math.inf, math.inf)
    (low, first), (last, high) = ratio.accepted()
    assert (low, high) == (-math.inf, math.inf)
    assert first < 0 < 5 < last < 30
    for inside in (1.01 * first, 1.01 * last, 30.0, -1e6, 1e9):
        off = release.range(0, 1) - inside * release.range(1, 2)
        assert off.interval()[0] <= 0 <= off.interval()[1]
    for outside in (0.0, 0.9 * last, 0.9 * first):
        off = release.range(0, 1) - outside * release.range(1, 2)
        assert not off.interval()[0] <= 0 <= off.interval()[1]
    assert "unbounded: at most" in str(ratio)
    assert "Nothing bounds the ratio, as at this level the denominator may be 0" in ratio.describe()
    every = cells([1, 0])
    assert math.isnan((every.range(0, 1) / every.range(1, 2)).value)
    assert str(every.range(0, 1) / every.range(1, 2)) == (
        "no ratio, as the denominator is 0 (95 %: unbounded: any number)"
    )


def test_shares_rates_and_changes_are_ratios_in_their_own_units():
    release = cells([40, 160, 20])
    a, b = release.range(0, 1), release.range(1, 2)
    low, high = (a / b).interval()
    assert a.share(b).value == (a / b).value == 0.25
    rate = a.rate(b, per=100_000)
    assert rate.value == 25_000
    assert rate.interval() == pytest.approx((low * 1e5, high * 1e5))
    assert "per 100,000" in str(rate)
    change = a.percentage_change(b)
    assert change.value == -75
    assert change.interval() == pytest.approx((100 * low - 100, 100 * high - 100))
    assert str(change).startswith("-75 % (95 %: -")


def test_ratios_go_with_numbers_and_are_refused_with_estimates():
    release = cells([40, 160])
    ratio = release.range(0, 1) / release.range(1, 2)
    low, high = ratio.interval()
    for found, value, ends in (
        (1 - ratio, 0.75, (1 - high, 1 - low)),
        (100 * ratio, 25, (100 * low, 100 * high)),
        (ratio / 2 + 1, 1.125, (low / 2 + 1, high / 2 + 1)),
        (-ratio, -0.25, (-high, -low)),
        (ratio - 1, -0.75, (low - 1, high - 1)),
    ):
        assert isinstance(found, Ratio)
        assert found.value == pytest.approx(value)
        assert found.interval() == pytest.approx(ends)
    for refused in (
        lambda: ratio + ratio, lambda: ratio * release.total(), lambda: ratio / ratio,
        lambda: ratio - release.total(),
    ):  # fmt: skip
        with pytest.raises(tu.InputError, match="over one denominator"):
            refused()
    for wrong in (lambda: ratio > 0.2, lambda: ratio <= ratio):
        with pytest.raises(tu.InputError, match="cannot be compared"):
            wrong()
    with pytest.raises(tu.InputError, match="no standard error"):
        _ = ratio.std_error
    with pytest.raises(tu.InputError, match="A ratio needs two estimates"):
        release.total().share(5)
    assert float(ratio) == 0.25
    assert round(ratio, 1) == 0.2
    assert f"{ratio:.1%}".startswith("25.0% (95 %: ")


def test_a_number_over_an_estimate_is_the_inverse():
    total = cells([40, 160]).total()
    low, high = total.interval()
    found = 1000 / total
    assert found.value == 5
    assert found.interval() == pytest.approx((1000 / high, 1000 / low), rel=1e-3)


def test_ratios_of_shown_counts_take_the_value_shown_and_the_interval_of_the_unbiased():
    made = tu.Measurement(tu.CellCounts(3), [-4, 60, 20], 1)
    shown, own = tu.infer(made, nonnegative=True, integers=True), tu.infer(made)
    ratio, plain = (r.range(0, 1) / r.range(1, 2) for r in (shown, own))
    assert ratio.value == 0
    assert plain.value < 0
    assert ratio.interval() == (0, max(plain.interval()[1], 0))
    assert ratio.unbiased.value == plain.value
    ratio, plain = (r.range(2, 3) / r.range(1, 2) for r in (shown, own))
    low, high = plain.interval()
    assert ratio.interval() == (min(low, ratio.value), max(high, ratio.value))
    assert "or more" in ratio.describe()


def test_a_ratio_is_cut_at_nothing_only_where_neither_number_can_be_below():
    """A difference of counts may be negative, above or below the line; a count may not."""
    made = tu.Measurement(tu.CellCounts(3), [5, 9, 90], "1/3")
    shown, own = tu.infer(made, nonnegative=True, integers=True), tu.infer(made)

    def ratios(release):
        first, second, third = (release.between(k, k + 1) for k in range(3))
        return (first - second) / third, third / (third - first), first / third

    for number, (ratio, plain) in enumerate(zip(ratios(shown), ratios(own), strict=True)):
        low, high = plain.interval()
        if number == 2:
            low = max(low, 0)
        assert ratio.interval() == (min(low, ratio.value), max(high, ratio.value))
    assert ratios(shown)[0].interval()[0] < 0
    mixed = (shown.between(0, 1) - shown.between(1, 2)) / shown.between(2, 3)
    assert mixed.interval()[0] < -0.1


def test_a_ratio_times_nothing_and_by_nothing_is_refused_and_two_releases_add_up():
    release = cells([40, 160])
    ratio = release.range(0, 1) / release.range(1, 2)
    for wrong in (lambda: ratio * 0, lambda: 0 * ratio):
        with pytest.raises(tu.InputError, match="times 0 is 0"):
            wrong()
    with pytest.raises(tu.InputError, match="cannot be divided by 0"):
        ratio / 0
    one, other = (tu.infer(tu.measure([40, 160], tu.CellCounts(2), epsilon)) for epsilon in (1, 2))
    both = one.range(0, 1) / other.total()
    assert set(both.facts.measured) == {one.facts.id, other.facts.id}
    assert both.facts.epsilon == 3
    assert (one.range(0, 1) / one.total()).facts == one.facts


def test_of_counts_the_rays_below_nothing_are_ruled_out_and_said_to_be():
    """One interval, one ray, two rays, or any number: in words, and by the set that is accepted."""
    shown = tu.infer(tu.Measurement(tu.CellCounts(2), [30, 1], 1), nonnegative=True, integers=True)
    ratio = shown.range(0, 1) / shown.range(1, 2)
    (first, last) = ratio.unbiased.accepted()
    assert first[1] < 0 < last[0]
    assert ratio.accepted() == (last,)
    assert "unbounded: at least" in str(ratio)
    assert "Nothing bounds the ratio" in ratio.describe()
    turned = -ratio
    assert turned.accepted() == ((-math.inf, -last[0]),)
    assert "unbounded: at most" in str(turned)
    both = 1 - ratio.unbiased
    assert both.accepted() == ((-math.inf, 1 - last[0]), (1 - first[1], math.inf))
    seen = set()
    for noisy in ([9, -8], [1, -12]):
        none = tu.infer(tu.Measurement(tu.CellCounts(2), noisy, 1), nonnegative=True, integers=True)
        ratio = none.range(0, 1) / none.range(1, 2)
        assert math.isnan(ratio.value)
        low, high = ratio.unbiased.interval()
        seen.add(high >= 0)
        wanted = (max(low, 0.0), high) if high >= 0 else (-math.inf, math.inf)
        assert ratio.interval() == wanted
    assert seen == {True, False}


def test_a_ratio_that_is_shown_is_held_though_nothing_else_is_accepted():
    """Unbiased counts far below 0 leave no ratio of counts: the one shown is given alone."""
    made = tu.Measurement(tu.CellCounts(2), [-400, 900], 1)
    shown = tu.infer(made, nonnegative=True, integers=True)
    ratio = shown.range(0, 1) / shown.range(1, 2)
    assert ratio.unbiased.interval()[1] < 0
    assert ratio.accepted() == ((0.0, 0.0),)


def test_a_number_below_nothing_over_an_estimate_is_the_inverse_turned_round():
    total = cells([40, 160]).total()
    for number in (1000, 0.5):
        low, high = (number / total).interval()
        turned = -number / total
        assert turned.value == -number / total.value
        assert turned.interval() == pytest.approx((-high, -low), rel=1e-3)
