"""An estimate: how it prints, adds and subtracts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueup as tu
from trueup.release.estimate import written


def release(epsilon=1):
    return tu.infer(tu.Measurement(tu.TreeCounts(4, 2), [13, 3, 11, 4, 1, 12, 1], epsilon))


def test_an_estimate_prints_as_value_and_error():
    total = release().total()
    assert str(total) == f"14 ± {written(total.std_error)}"
    assert float(total) == total.value == 14


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (-0.0, "0"), (1234, "1,234"), (1234.56, "1,235"), (99.96, "100"), (5.0, "5"),
        (12.345, "12.3"), (0.012345, "0.0123"), (-3.14159, "-3.14"), (1e9, "1,000,000,000"),
        (-1234.5, "-1,234"), (9.999, "10.0"), (1e-9, "0.00000000100"),
        (2**60 + 1, "1,152,921,504,606,846,977"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_people_write_them(number, text):
    assert written(number) == text


@given(st.floats(-1e12, 1e12))
def test_what_is_written_is_within_half_a_percent_or_a_half(number):
    shown = float(written(number).replace(",", ""))
    assert abs(shown - number) <= max(0.0051 * abs(number), 0) or abs(shown - number) <= 0.5


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


def test_estimates_of_different_releases_do_not_mix():
    with pytest.raises(tu.InputError, match="come from different releases"):
        release().total() + release(2).total()
    for wrong in (5, 0.0, "5", None):
        with pytest.raises(TypeError):
            release().total() + wrong
        with pytest.raises(TypeError):
            wrong + release().total()


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
        f"the noise. It is about this one number alone."
    )
    shown = tu.infer(counts, nonnegative=True, integers=True).range(1, 2)
    assert shown.describe().startswith("0, made non-negative or whole to be shown. The unbiased")
    typed = tu.reconcile({"a": (10, 2.0), "b": (5, 1.0), "t": (17, 1.0)}, ["t == a + b"])["t"]
    assert "normal curve, as only standard errors are known" in typed.describe()
