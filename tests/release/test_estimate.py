"""An estimate: how it prints, adds and subtracts."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment
from trueup.release.wording import written


def release(epsilon=1):
    return tu.infer(tu.Measurement(tu.TreeCounts(4, 2), [13, 3, 11, 4, 1, 12, 1], epsilon))


def test_an_estimate_prints_as_value_and_error():
    total = release().total()
    assert str(total) == f"14 ± {written(total.std_error)}"
    assert float(total) == total.value == 14


def test_estimates_of_one_release_add_and_subtract():
    r = release()
    left, right = r.range(0, 2), r.range(2, 4)
    assert (left + right).value == r.total().value
    assert (left + right).std_error == pytest.approx(r.total().std_error, rel=1e-12)
    assert (r.total() - left).value == right.value
    assert (r.total() - left).std_error == pytest.approx(right.std_error, rel=1e-12)
    assert (left - left).value == 0
    cells = sum(r.range(i, i + 1) for i in range(4))
    assert cells.value == r.total().value
    assert cells.std_error == pytest.approx(r.total().std_error, rel=1e-12)


def test_what_is_no_number_does_not_mix_with_estimates():
    total = release().total()
    for wrong in ("5", None, True, [5]):
        for mixed in (
            lambda w: total + w, lambda w: w + total, lambda w: total - w, lambda w: w - total,
            lambda w: total * w, lambda w: w * total, lambda w: total / w, lambda w: w / total,
        ):  # fmt: skip
            with pytest.raises(TypeError):
                mixed(wrong)
    for wrong in (float("nan"), float("inf"), Decimal("-inf")):
        with pytest.raises(tu.InputError, match="finite numbers only"):
            total + wrong
    with pytest.raises(tu.InputError, match="cannot be divided by 0"):
        total / 0


NUMBERS = [3, -2.5, Fraction(1, 4), Decimal("0.5"), np.int64(7), np.float32(1.5)]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_move_and_stretch_value_and_interval_as_they_do_a_number(number):
    one = release().range(0, 2)
    plain, (low, high) = float(number), one.interval()
    for found, value, ends in (
        (one + number, one.value + plain, (low + plain, high + plain)),
        (number + one, one.value + plain, (low + plain, high + plain)),
        (one - number, one.value - plain, (low - plain, high - plain)),
        (number - one, plain - one.value, (plain - high, plain - low)),
        (one * number, one.value * plain, sorted((low * plain, high * plain))),
        (number * one, one.value * plain, sorted((low * plain, high * plain))),
        (one / number, one.value / plain, sorted((low / plain, high / plain))),
    ):
        assert isinstance(found, tu.Estimate)
        assert found.value == pytest.approx(value)
        assert found.interval() == pytest.approx(ends, rel=0.011)  # laws are found to 1 %
    assert (2 * one).std_error == pytest.approx(2 * one.std_error)
    assert (-one).value == -one.value
    assert (0 * one).interval() == (0, 0)


def test_a_sum_of_what_cancels_has_no_error():
    r = release()
    nothing = r.range(0, 2) + r.range(2, 4) - r.range(0, 2) - r.range(2, 4)
    assert (nothing.value, nothing.std_error, nothing.interval()) == (0, 0, (0, 0))


def test_estimates_are_not_compared_as_if_they_were_certain():
    one, other = release().range(0, 2), release().range(2, 4)
    for compared in (
        lambda: one > other, lambda: one < other, lambda: one >= 5, lambda: one >= 5,
        lambda: sorted([one, other]), lambda: max(one, other),
    ):  # fmt: skip
        with pytest.raises(tu.InputError, match=r"\(a - b\)\.interval\(\)"):
            compared()
    assert sorted([one, other], key=float) == sorted([one, other], key=lambda e: e.value)


def test_estimates_round_and_format_like_numbers():
    one = release().range(0, 2) / 7
    assert round(one) == round(one.value)
    assert round(one, 2) == round(one.value, 2)
    assert f"{one:.3f}" == f"{one.value:.3f} ± {one.std_error:.3f}"
    assert f"{one:>40}" == str(one).rjust(40)
    assert f"{one}" == str(one)
    assert f"{release().total():,d}" == f"14 ± {round(release().total().std_error)}"
    assert repr(one) == f"<Estimate: {one}>"


def shown_and_own(noisy, epsilon=1):
    made = tu.Measurement(tu.CellCounts(len(noisy)), noisy, epsilon)
    return tu.infer(made, nonnegative=True, integers=True), tu.infer(made)


def test_a_shown_count_has_the_unbiased_interval_cut_to_counts_and_stretched_to_hold_it():
    made = tu.Measurement(tu.TreeCounts(8, 2), [9, 5, 4, 7, -2, 3, 1, 5, 2, -6, 4, 0, 3, 1, 0], 1)
    shown, own = tu.infer(made, nonnegative=True, integers=True), tu.infer(made)
    for start in range(8):
        for stop in range(start + 1, 9):
            count, exact = shown.between(start, stop), own.between(start, stop)
            for level in (0.5, 0.95):
                low, high = exact.interval(level)
                whole = [k for k in range(200) if low <= k <= high] + [count.value]
                whole += [0] * (high < 0)  # the nearest that a count can be
                assert count.interval(level) == (min(whole), max(whole))
    low, high = shown.intervals(range(8), range(1, 9), simultaneous=False)
    assert list(zip(low, high, strict=True)) == [
        shown.between(i, i + 1).interval() for i in range(8)
    ]
    with pytest.raises(tu.InputError, match=r"\.unbiased\.std_error"):
        _ = shown.total().std_error


def test_an_interval_all_below_zero_shrinks_to_the_shown_zero():
    shown, own = shown_and_own([-40, 3])
    assert own.range(0, 1).interval()[1] < 0
    assert shown.range(0, 1).interval() == (0, 0)


def test_arithmetic_of_shown_counts_takes_values_from_them_and_intervals_from_the_unbiased():
    shown, own = shown_and_own([40, -3, 12])
    for calculate in (
        lambda r: r.range(0, 1) + r.range(1, 2),
        lambda r: r.range(1, 2) - r.range(0, 1),
        lambda r: 2 * r.range(1, 2) - r.range(2, 3) + 5,
        lambda r: r.range(1, 2) + 0.5,
    ):
        found, plain = calculate(shown), calculate(own)
        assert found.value == calculate(
            type("Truth", (), {"range": lambda _, a, b: shown.range(a, b).value})()
        )
        low, high = plain.interval()
        assert low - 1e-9 <= found.interval()[0] or found.interval()[0] == found.value
        assert found.interval()[1] <= high + 1e-9 or found.interval()[1] == found.value
        assert found.interval()[0] <= found.value <= found.interval()[1]
        assert str(found.unbiased) == str(plain)
    # Nobody knows the sign of a difference, but a sum of counts is not below 0.
    close, exact = (r.range(0, 1) - r.range(1, 2) for r in shown_and_own([40, 38]))
    assert close.interval()[0] == math.ceil(exact.interval()[0]) < 0
    assert (shown.range(1, 2) - shown.range(0, 1)).interval()[0] < 0
    assert (shown.range(1, 2) + 5).interval()[0] == 5
    assert (5 - shown.range(1, 2)).interval()[1] == 5
    assert (shown.range(1, 2) / 2).interval()[0] == 0


COMBINATIONS = {  # of two shown counts and a number: x, y and what is added, in all
    "x": (lambda x, y: x, 1, 0, 0),
    "more": (lambda x, y: x + 5, 1, 0, 5),
    "less": (lambda x, y: x - 5, 1, 0, -5),
    "what is left": (lambda x, y: 5 - x, -1, 0, 5),
    "below nothing": (lambda x, y: -x - 2, -1, 0, -2),
    "twice": (lambda x, y: 2 * (x + 5), 2, 0, 10),
    "half": (lambda x, y: x / 2, 0.5, 0, 0),
    "and a half": (lambda x, y: x + 0.5, 1, 0, 0.5),
    "sum": (lambda x, y: (x + 3) + (y + 4), 1, 1, 7),
    "difference": (lambda x, y: (x + 3) - (y + 4), 1, -1, -1),
    "both taken away": (lambda x, y: (5 - x) - (4 + y), -1, -1, 1),
    "mean": (lambda x, y: (x + y + 1) / 2, 0.5, 0.5, 0.5),
}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_intervals_of_shown_counts_are_cut_to_what_the_true_number_can_be(name):
    """Counts are whole and not below 0; from these follows what a combination of them can be."""
    make, x, y, plus = COMBINATIONS[name]
    cut = 0
    for noisy in ([-9, 2, 3], [40, 1, -7], [2, -1, 0], [-30, -30, 80]):
        measured = tu.Measurement(tu.CellCounts(3), noisy, "1/3")
        shown = tu.infer(measured, nonnegative=True, integers=True)
        made = make(shown.between(0, 1), shown.between(1, 2))
        for level in (0.5, 0.95):
            low, high = made.unbiased.interval(level)
            before = low, high
            if all(float(part).is_integer() for part in (x, y, plus)):
                low, high = math.ceil(low), math.floor(high)
            if min(x, y) >= 0:
                low = max(low, plus)
            if max(x, y) <= 0:
                high = min(high, plus)
            expected = min(low, made.value), max(high, made.value)
            assert made.interval(level) == pytest.approx(expected, abs=1e-9)
            cut += expected != before
    assert cut or name in ("difference", "half")


def test_numbers_that_nobody_counted_are_cut_only_to_what_they_were_said_to_be():
    """Typed in, they may be below 0, or no whole numbers: unless they were asked to be neither."""
    typed = {"a": (-30.0, 9.0), "b": (4.3, 9.0), "c": (-20.2, 4.0)}
    whole = tu.reconcile(typed, "a = b + c", integers=True)
    for name in "abc":
        low, high = whole[name].unbiased.interval()
        value = whole[name].value
        assert whole[name].interval() == (
            min(math.ceil(low), value),
            max(math.floor(high), value),
        )
        low, high = whole[name].interval()
        assert (-whole[name]).interval() == (-high, -low)
    assert whole["a"].interval()[1] < 0
    real = tu.reconcile({"a": (3.2, 9.0), "b": (4.0, 9.0)}, nonnegative=True)
    for name in "ab":
        low, high = real[name].unbiased.interval()
        assert low < 0
        assert real[name].interval() == (0, high)


def test_intervals_of_shown_counts_hold_the_truth_at_least_as_often():
    truth = np.array([0, 1, 0, 30, 2])
    held = {"shown": 0, "own": 0}
    for seed in range(300):
        made = measure_for_experiment(truth, tu.CellCounts(5), 1, seed=seed)
        for name, r in (
            ("own", tu.infer(made)),
            ("shown", tu.infer(made, nonnegative=True, integers=True)),
        ):
            low, high = r.intervals(range(5), range(1, 6), simultaneous=False)
            held[name] += int(((low <= truth) & (truth <= high)).sum())
    assert held["shown"] >= held["own"] >= 0.93 * 1500


@pytest.mark.parametrize("level", [0, 1, -0.5, 1.5, float("nan"), "0.95", True, None])
def test_a_level_outside_zero_to_one_is_refused(level):
    with pytest.raises(tu.InputError, match=r"between 0 and 1, such as 0\.95, got"):
        release().total().interval(level)


def test_an_interval_says_in_words_what_it_is():
    import trueup as tu

    counts = tu.Measurement(tu.CellCounts(3), [1004, -12, 7], epsilon="0.1")
    alone = tu.infer(counts).range(0, 2)
    low, high = alone.interval(0.9)
    assert alone.describe(0.9) == (
        f"992, between {low:,.0f} and {high:,.0f} with probability 90 %: exact, from the law of "
        f"the noise. This interval covers one count; for several at once use intervals() of the "
        f"release."
    )
    shown = tu.infer(counts, nonnegative=True, integers=True).range(1, 2)
    assert shown.describe().startswith(
        f"0, between 0 and {shown.interval()[1]:.0f} with probability 95 % or more: made to be "
        f"shown, so the interval is that of the unbiased count {shown.unbiased} (exact, from the "
        f"law of the noise), stretched to hold the number shown and cut to what a count can be."
    )
    typed = tu.reconcile({"a": (10, 2.0), "b": (5, 1.0), "t": (17, 1.0)}, ["t == a + b"])["t"]
    assert "normal curve, as only standard errors are known" in typed.describe()


def lone_spike(nonnegative=False):
    """A spike that an adaptive tree takes for nothing, and its release: no ± knows of it."""
    counts = np.zeros(4096, np.int64)
    counts[2000] = 60
    asked = measure_for_experiment(counts, tu.TreeCounts(4096, adaptive=True), 0.1, seed=1)
    return counts, tu.infer(asked, nonnegative=nonnegative)


def test_a_count_from_pooled_cells_prints_with_an_interval_that_reaches_as_far_as_it_may_be_off():
    counts, release = lone_spike()
    spike = release.between(2000, 2001)
    assert spike.std_error < 5  # of noise alone: some sixty counts away
    low, high = spike.interval()
    assert low <= counts[2000] <= high
    for written_out in (str(spike), f"{spike:,.0f}", str(spike - 3), repr(spike)):
        assert "±" not in written_out
        assert "95 %" in written_out
    described = lone_spike(nonnegative=True)[1].between(2000, 2001).describe()
    assert "±" not in described
    assert "that of the count as inferred, " in described
    assert "unbiased" not in described  # what was asked depended on the noise
    assert "±" not in repr(release)  # all errors of the release are intervals
    assert "±" in str(release.total())  # no pooled cell is cut


def test_a_table_calls_the_error_of_pooled_cells_that_of_their_noise():
    _, release = lone_spike()
    assert release.to_frame().column_names[-2:] == ["count", "noise_std_error"]
    _, shown = lone_spike(nonnegative=True)
    assert shown.to_frame().column_names[-3:] == ["count", "unbiased", "noise_std_error"]
    assert release.variances() is None  # a histogram's error bars would be those of noise alone
    at_once = tu.infer(tu.measure(np.zeros(8, int), tu.TreeCounts(8), epsilon=1))
    assert at_once.to_frame().column_names[-1] == "std_error"


def test_a_count_whose_paths_are_clear_has_the_standard_error_of_its_noise():
    counts = np.full(4096, 10_000)
    asked = measure_for_experiment(counts, tu.TreeCounts(4096, adaptive=True), 1, seed=1)
    some = tu.infer(asked).between(5, 3000)
    assert str(some) == f"{written(some.value)} ± {written(some.std_error)}"
    assert "an upper bound" in some.describe()
