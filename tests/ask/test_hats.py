"""Hats: their weights, the strides chosen for n, and strides that make no sense."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from trueup import HatCounts, InputError, measure
from trueup.ask.hats import strides_for
from trueup.infer import errors_of
from trueup.noise import Noise


def test_a_hat_weighs_the_cells_beside_its_knot_by_odd_numbers():
    hats = HatCounts(10, strides=[3]).matrix().toarray()[10:]  # four stretches: ends are asked
    assert hats.astype(int).tolist() == [
        [5, 3, 1, 0, 0, 0, 0, 0, 0, 0],
        [1, 3, 5, 5, 3, 1, 0, 0, 0, 0],
        [0, 0, 0, 1, 3, 5, 5, 3, 1, 0],
        [0, 0, 0, 0, 0, 0, 1, 3, 5, 5],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    ]


SIZES = pytest.mark.parametrize("size", [1, 2, 7, 60, 61, 1000])
STRIDES = pytest.mark.parametrize("strides", [[1], [4], [2, 6], [5, 10, 60], [7, 2100]])


@SIZES
@STRIDES
def test_every_cell_weighs_twice_the_stride_on_every_level(size, strides):
    question = HatCounts(size, strides, ends=True)
    matrix = question.matrix().toarray()
    begin = size
    for (length, weight), k in zip(question.blocks[1:], strides, strict=True):
        assert (matrix[begin : begin + length].sum(axis=0) == 2 * k).all()
        assert weight == Fraction(1, (len(strides) + 1) * 2 * k)
        begin += length
    assert question.price() == 1
    assert question.sensitivity() == 1 + 2 * sum(strides)


def paid(question):
    """What each cell weighs in all."""
    weights = np.concatenate([[float(w)] * length for length, w in question.blocks])
    return weights @ question.matrix().toarray()


@pytest.mark.parametrize("size", [60, 61, 77, 300])
@pytest.mark.parametrize("strides", [[1], [4], [9], [2, 6], [3, 12], [2, 4, 12]])
def test_the_share_of_the_hats_left_out_goes_to_those_below_them(size, strides):
    parts = range(1, len(strides) + 2)
    shares = [Fraction(part, sum(parts)) for part in parts]
    whole, spared = HatCounts(size, strides, shares, True), HatCounts(size, strides, shares)
    assert whole.ends
    assert not spared.ends
    assert spared.length == whole.length - 2
    assert spared.price() == spared.price("replace") / 2 == 1
    # No cell pays more than before, and those under the hats left out an eighth less at most.
    np.testing.assert_allclose(paid(whole), 1)
    assert paid(spared).max() <= 1 + 1e-12
    assert paid(spared).min() >= 1 - float(shares[-1]) / 8 - 1e-12
    inner = slice(strides[-1], size - strides[-1])
    np.testing.assert_allclose(paid(spared)[inner], 1)


@pytest.mark.parametrize("size", [37, 100, 400, 1_024])
def test_leaving_out_the_hats_at_the_ends_lowers_the_error(size):
    assert not HatCounts(size).ends
    assert mean_error(HatCounts(size)) < 0.995 * mean_error(HatCounts(size, ends=True))


@pytest.mark.parametrize("size", [30, 31, 59, 60, 61, 119, 121, 400])
def test_replacing_a_record_costs_the_largest_distance_of_two_columns(size):
    question = HatCounts(size, [3, 15, 60], ["1/10", "2/5", "1/4", "1/4"])
    assert question.ends == (size < 241)
    columns = question.matrix().toarray().T
    weights = np.concatenate([[float(w)] * length for length, w in question.blocks])
    columns = np.vstack([columns, np.zeros(columns.shape[1])])
    for weigh, found in ((1.0, question.sensitivity), (weights, question.price)):
        apart = np.abs((columns[:, None] - columns[None]) * weigh).sum(axis=2).max()
        assert float(found("replace")) == pytest.approx(apart, rel=1e-12)


def test_answers_on_many_cells_are_the_matrix_times_the_counts():
    counts = np.random.default_rng(1).integers(0, 1000, 20_011)
    question = HatCounts(len(counts))
    assert len(question.strides) == 3
    assert question.answers(counts).tolist() == (question.matrix() @ counts).tolist()


def mean_error(question, law="continuous"):
    """The mean squared error over all ranges at ε = 1."""
    return errors_of(Noise(question, 1, law=law)).mean_variances()[0]


@pytest.mark.parametrize("size", [20, 45, 100, 365, 700, 1_500, 6_000, 86_400, 400_000])
def test_no_other_choice_of_strides_is_much_better(size):
    def equal(ratios):
        return mean_error(HatCounts(size, np.cumprod(ratios).astype(int).tolist()))

    chosen = strides_for(size)
    ratios = [b // a for a, b in pairwise((1, *chosen))]
    others = [[max(2, round(size ** (1 / (more + 0.8))))] * more for more in range(5)]
    for level in range(len(ratios)):
        for factor in (0.7, 0.85, 1.15, 1.3):
            changed = list(ratios)
            changed[level] = max(2, round(changed[level] * factor))
            others.append(changed)
    assert min(equal(other) for other in others) > 0.985 * equal(ratios)


@pytest.mark.parametrize(
    ("size", "goal"), [(1_024, 131), (4_096, 212), (65_536, 490), (1 << 20, 940)]
)
def test_mean_error_over_all_ranges_beats_the_best_tree_by_a_fifth(size, goal):
    question = HatCounts(size)
    assert mean_error(question, "discrete") < mean_error(question) <= goal


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"strides": [4, 10]}, "4 does not divide 10. Try 8 instead of 10"),
        ({"strides": [10, 5]}, "Strides must rise"),
        ({"strides": [5, 5]}, "Strides must rise"),
        ({"strides": [0]}, "Strides must be at least 1, got [0]"),
        ({"strides": [2.0]}, "A stride must be a whole number, got 2.0"),
        ({"strides": 16}, "strides must be a list"),
        ({"strides": [1 << 41]}, "Strides over 10 cells may go up to 1,048,576, got"),
        ({"strides": [4], "shares": ["1/2"]}, "so 2 shares are needed, the cells' first; 1 were"),
        ({"strides": [4], "shares": ["1/2", "1/3"]}, "add up to 1, not 5/6"),
        ({"strides": [4], "shares": [0, 1]}, "must be positive"),
        ({"strides": [4], "shares": ["3/2", "-1/2"]}, "must be positive"),
        ({"strides": [4], "shares": [0.5, float("nan")]}, "A share of epsilon must be a finite"),
        ({"strides": [4], "shares": 1}, "shares must be a list"),
        ({"shares": ["1/2", "1/2"]}, "There are 0 strides"),
        ({"strides": [4], "ends": "no"}, "ends must be True or False, got 'no'"),
        ({"strides": [4], "ends": False}, "only if the largest stride fits 4 times"),
    ],
)
def test_hats_that_make_no_sense_are_refused(arguments, told):
    with pytest.raises(InputError) as refusal:
        HatCounts(10, **arguments)
    assert told in str(refusal.value)


def test_more_records_than_the_largest_hat_can_count_are_refused():
    question = HatCounts(8, strides=[4])
    assert question.answers([2**58] + [0] * 7)[8] == 7 * 2**58
    with pytest.raises(InputError, match=r"at most 576,460,752,303,423,488 records"):
        measure([2**59 + 2**40] + [0] * 7, question, 10)
