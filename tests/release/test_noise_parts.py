"""Estimates know whose noise they hold: common noise cancels, independent noise adds up."""

from __future__ import annotations

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment
from trueup.release.noise_parts import facts_of, law_between

COUNTS = np.arange(24) * 3


def measured(question=None, epsilon="1/2", scale=1):
    return tu.measure(COUNTS * scale, question or tu.TreeCounts(24), epsilon=epsilon)


def test_the_difference_of_two_years_is_their_difference_with_both_errors():
    before, after = tu.infer(measured()), tu.infer(measured(tu.CellCounts(24), 1, scale=2))
    change = after.total() - before.total()
    assert change.value == after.total().value - before.total().value
    assert change.std_error == pytest.approx(
        np.hypot(before.total().std_error, after.total().std_error)
    )
    assert set(change.facts.measured) == {before.facts.id, after.facts.id}
    assert change.facts.epsilon == before.facts.epsilon + after.facts.epsilon


def test_the_interval_of_independent_releases_is_that_of_the_convolution():
    # Two single noises of scales 2 and 3: all values of their difference, by brute force.
    one, other = (tu.infer(tu.measure([50], tu.CellCounts(1), e)) for e in ("1/2", "1/3"))
    k = np.arange(-400, 401)
    laws = [np.exp(-abs(k) * rate) / np.exp(-abs(k) * rate).sum() for rate in (1 / 2, 1 / 3)]
    both = np.convolve(*laws)
    middle = len(both) // 2
    for level in (0.5, 0.9, 0.95, 0.999):
        held = [both[middle - q : middle + q + 1].sum() for q in range(200)]
        exact = int(np.argmax(np.array(held) >= level))
        low, high = (one.total() - other.total()).interval(level)
        assert exact <= (high - low) / 2 <= 1.01 * exact


def test_releases_of_one_measurement_share_its_noise_however_they_were_made(tmp_path):
    m = measured()
    m.save(tmp_path / "m.parquet")
    tu.infer(m).save(tmp_path / "r.parquet")
    ways = [tu.infer(m), tu.infer(tu.load(tmp_path / "m.parquet")), tu.load(tmp_path / "r.parquet")]
    for one in ways:
        for other in ways:
            assert (one.total() - other.total()).std_error == 0
            left = one.range(0, 9) - other.range(0, 12)
            assert left.std_error == pytest.approx(ways[0].range(9, 12).std_error)


def test_margins_and_slices_of_a_grid_share_its_noise():
    axes = tu.Axis.integers("a", 0, 3), tu.Axis.integers("b", 0, 4)
    question = tu.GridCounts(*map(tu.CellCounts, axes))
    grid = tu.infer(tu.measure(np.arange(20).reshape(4, 5), question, epsilon=1))
    assert (grid.margin("a").total() - grid.total()).std_error == pytest.approx(0, abs=1e-9)
    part = grid.slice(b=(1, 3)).range(0, 2) / grid.total()
    same = grid.range(a=(0, 2), b=(1, 3)) / grid.total()
    assert part.interval() == pytest.approx(same.interval(), rel=1e-9)


def test_noise_that_nobody_named_is_not_taken_to_be_independent():
    one, other = (tu.infer(tu.Measurement(tu.CellCounts(1), [50], 1)) for _ in range(2))
    for mixed in (lambda: one.total() - other.total(), lambda: one.total() / other.total()):
        with pytest.raises(tu.InputError, match="come from different releases, and nothing says"):
            mixed()
    named = [tu.infer(tu.Measurement(tu.CellCounts(1), [50], 1, id=c * 32)) for c in "ab"]
    assert (named[0].total() - named[1].total()).std_error > 0


def test_releases_that_share_some_of_their_noise_do_not_mix():
    first, second = measured(), measured(epsilon=2)
    both, alone = tu.reconcile([first, second]), tu.infer(first)
    with pytest.raises(tu.InputError, match="share a measurement"):
        both.total() - alone.total()
    assert (both.total() - tu.reconcile([first, second]).total()).std_error == 0
    third = tu.infer(measured(epsilon=3))
    assert (both.total() - third.total()).std_error == pytest.approx(
        np.hypot(both.total().std_error, third.total().std_error)
    )


def test_estimates_of_several_releases_can_be_reconciled():
    one, other = tu.infer(measured()), tu.infer(measured())
    agreed = tu.reconcile(
        {"a": one.total(), "b": other.total(), "both": one.total() + other.total()},
        "both = a + b",
    )
    assert agreed["both"].value == agreed["a"].value + agreed["b"].value
    assert agreed["both"].std_error == pytest.approx(
        (one.total() + other.total()).std_error, rel=1e-3
    )


def test_noise_of_which_nothing_is_known_is_not_taken_for_independent():
    """A measurement that was typed in may be one that was measured here, without its id."""
    here = tu.infer(tu.measure(COUNTS, tu.CellCounts(24), 1)).total()
    typed = tu.infer(tu.Measurement(tu.CellCounts(24), COUNTS, 1)).total()
    for one, other in ((here, typed), (typed, here)):
        for mixed in (lambda a, b: a - b, lambda a, b: a / b, lambda a, b: a + b):
            with pytest.raises(tu.InputError, match="nothing says whether their noise is the same"):
                mixed(one, other)


def test_an_answer_that_comes_twice_counts_twice_and_one_that_cancels_is_gone():
    release = tu.infer(measured())
    one, other = release.range(2, 9), release.range(5, 20)
    assert (one + one).std_error == pytest.approx(2 * one.std_error)
    assert (one + other - one).std_error == pytest.approx(other.std_error)
    assert (one + other - one).parts[0].combination == other.parts[0].combination
    assert (one - one).parts == ()
    assert (one + other).std_error == pytest.approx((other + one).std_error)


def rows(estimate, releases):
    """The cells of an estimate as dense rows, one for each release."""
    found = np.zeros((len(releases), 24))
    for part in estimate.parts:
        place = [release.facts.id for release in releases].index(part.facts.id)
        for (start, stop), coefficient in part.combination:
            found[place, start:stop] += coefficient
    return found


@pytest.mark.parametrize(
    ("x", "y"), [(1.0, 1.0), (0.0, 2.0), (3.0, 0.0), (-0.5, 0.75), (2.0, -1.0)]
)
def test_the_law_between_two_estimates_is_that_of_dense_algebra(x, y):
    """What is common is taken together, with both its signs; what is not adds up."""
    releases = [tu.infer(measured(tu.TreeCounts(24, branching=2))) for _ in range(3)]
    matrix = tu.TreeCounts(24, branching=2).matrix().toarray()
    covariance = np.linalg.inv(matrix.T @ matrix)
    unit = releases[0].total().std_error ** 2 / covariance.sum()
    r, s, t = (release.range(n, n + 9) for n, release in enumerate(releases))
    u, v = releases[0].range(4, 20), releases[1].range(0, 24)
    for a, b in (
        (r, u),
        (r, s),
        (r + s, u - t),
        (r + s, v),
        (r + s + t, u + v),
        (t, r),
        (2.5 * r - t, 3 * u),
    ):
        between = law_between(a.parts, b.parts)
        law = between.laws(x, y)
        mixed = x * rows(a, releases) - y * rows(b, releases)
        wanted = unit * sum(row @ covariance @ row for row in mixed)
        assert sum(each.variance for each in law) == pytest.approx(wanted, rel=1e-9)
        assert len(law) == sum(bool(row.any()) for row in mixed)
    assert law_between(r.parts, r.parts).laws(2.0, 2.0) == []


def test_the_law_between_two_estimates_is_refused_where_noise_is_shared_in_a_way_unknown():
    first, second = measured(), measured(epsilon=2)
    both, alone = tu.reconcile([first, second]).total(), tu.infer(first).total()
    with pytest.raises(tu.InputError, match="share a measurement"):
        law_between(both.parts, alone.parts)


def test_a_number_of_one_release_has_its_facts_and_one_of_several_has_all():
    one, other = tu.infer(measured()), tu.infer(measured(epsilon=2))
    assert facts_of(one.total().parts) is one.facts
    together = facts_of((one.total() + other.total()).parts)
    assert set(together.measured) == {one.facts.id, other.facts.id}
    axes = tu.Axis.integers("a", 0, 3), tu.Axis.integers("b", 0, 4)
    question = tu.GridCounts(*map(tu.CellCounts, axes))
    grid = tu.infer(tu.measure(np.arange(20).reshape(4, 5), question, epsilon=1))
    part = grid.slice(b=(1, 3)).total()
    assert part.parts[0].combination == ((((0, 4), (1, 3)), 1.0),)
    assert part.parts[0].facts.slice is None
    assert grid.total().parts[0].facts is grid.facts


def test_two_numbers_of_one_release_that_has_no_id_share_its_noise():
    release = tu.infer(tu.Measurement(tu.CellCounts(4), [5, 6, 7, 8], 1))
    assert (release.total() - release.total()).std_error == 0
    left = release.range(0, 3) - release.range(1, 4)
    assert left.std_error == pytest.approx(2**0.5 * release.range(0, 1).std_error)


@pytest.mark.parametrize("counts", [np.zeros(64, int), np.full(64, 10**6)])
def test_noise_alone_separates_what_was_not_pooled_from_the_truth(counts):
    asked = tu.AdaptiveTreeCounts(64), tu.TreeCounts(64)
    pooled, plain = (tu.infer(measure_for_experiment(counts, each, 1, 1)) for each in asked)
    for start in range(0, 63, 5):
        (part,) = pooled.range(start, start + 1).parts
        assert part.noise_alone == part.noise_law.noise_alone == bool(counts.any())
        assert plain.range(start, start + 1).parts[0].noise_alone
