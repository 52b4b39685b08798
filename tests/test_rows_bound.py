"""The bound from a noisy histogram: near the best, and never led astray by noise."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import trueup as tu
from trueup import rows_bound
from trueup.noise import Noise
from trueup.rows_bound import (
    ChosenBound,
    chosen_bound,
    likely_people,
    most_rows,
    rows_axis,
)

MOST = 1_000
FOUR = tu.CellCounts(tu.Axis.integers("x", 0, 3))


def noise_of(epsilon: object = None, rho: object = None) -> Noise:
    """Noise of one record's cost."""
    cost = tu.Cost.of(epsilon, rho)
    return Noise(FOUR, cost.epsilon, rho=cost.rho)


def error(rows: np.ndarray, bound: int, each: float) -> float:
    """Rows left out, and noise."""
    return float(np.maximum(rows - bound, 0).sum() + each * bound)


def test_cells_of_rows_are_one_number_each_while_small_and_end_at_the_most() -> None:
    for most in (2, 7, 8, 9, 1_000, 10**6):
        axis = rows_axis("rows", most)
        edges = axis.positions(np.arange(axis.size + 1)).tolist()
        assert edges[0] == 1
        assert edges[-1] == most + 1
        assert edges[: min(most, 8)] == list(range(1, min(most, 8) + 1))
        assert all(b - a <= max(1, 0.6 * a) for a, b in itertools.pairwise(edges))


def test_the_bound_is_the_best_of_all_where_there_is_no_noise() -> None:
    rng = np.random.default_rng(1)
    axis = rows_axis("rows", MOST)
    edges = axis.positions(np.arange(axis.size + 1))
    for each in (5.0, 100.0, 3_000.0):
        rows = np.minimum(np.ceil(rng.lognormal(1, 1.2, 5_000)), MOST)
        found = chosen_bound(axis, np.histogram(rows, edges)[0], noise_of(10**9), each)
        best = min(error(rows, bound, each) for bound in range(1, MOST + 1))
        assert error(rows, found, each) <= 1.1 * best


@pytest.mark.parametrize("most", [2, 9, 1_000])
def test_the_bound_is_the_best_of_the_ends_and_middles_of_cells(most: int) -> None:
    """By counting, where people are taken at their word: rows left out, and noise for each row."""
    axis, rng = rows_axis("rows", most), np.random.default_rng(3)
    edges = axis.positions(np.arange(axis.size + 1)).astype(int)
    cells = [np.arange(a, b) for a, b in itertools.pairwise(edges)]
    tried = sorted({int(b) for c in cells for b in (c[0], (c[0] + c[-1]) // 2, c[-1])})
    found = set()
    for each in np.geomspace(1e3, 1e8, 40):
        people = rng.integers(10_000, 90_000, axis.size)
        errors = [
            sum(n * np.maximum(c - b, 0).mean() for n, c in zip(people, cells, strict=True))
            + each * b
            for b in tried
        ]
        found.add(chosen_bound(axis, people, noise_of(1), each))
        assert chosen_bound(axis, people, noise_of(1), each) == tried[int(np.argmin(errors))]
    assert len(found) > min(len(tried), 5) / 2


def test_people_follow_people_or_nobody_with_certainty() -> None:
    people, after = rows_bound._steps()
    some, dies = people[rows_bound._SOME :], 0.5 * people[rows_bound._SOME :] ** -0.3
    np.testing.assert_allclose(after[rows_bound._SOME :, rows_bound._SOME :].sum(axis=1), 1 - dies)
    for empty in (rows_bound._ENDED, rows_bound._GAP):
        np.testing.assert_allclose(after[rows_bound._SOME :, empty], dies)
        assert after[empty, empty] == 1
    new = after[rows_bound._GAP, rows_bound._SOME :]
    np.testing.assert_allclose(new, 0.03 * some**-0.5 / (some**-0.5).sum())
    assert (after[rows_bound._ENDED, rows_bound._SOME :] == 0).all()


@pytest.mark.parametrize("most", [9, 50, 1_000])
def test_the_share_left_out_is_that_of_people_spread_over_their_cells(most: int) -> None:
    """By counting: of a cell of numbers of rows each is had by as many people."""
    axis = rows_axis("rows", most)
    edges = axis.positions(np.arange(axis.size + 1)).astype(int)
    people = 10_000 + 10 * np.arange(axis.size)
    kept = ChosenBound(tuple(people.tolist()), most, tu.Cost.of(1).amount)
    cells = [np.arange(a, b) for a, b in itertools.pairwise(edges)]
    every = sum(n * cell.mean() for n, cell in zip(people, cells, strict=True))
    for bound in {1, 2, 8, most // 2, most - 1, most}:
        past = [
            n * np.maximum(cell - bound, 0).mean() for n, cell in zip(people, cells, strict=True)
        ]
        assert kept.share_left_out(bound, "add-remove") == pytest.approx(
            sum(past) / every, rel=1e-9
        )


def test_where_people_are_replaced_the_noise_of_a_histogram_is_twice_as_large() -> None:
    """A hundred people far up, seen with that noise, are less sure to be there."""
    axis = rows_axis("rows", MOST)
    people = np.zeros(axis.size, np.int64)
    people[0], people[-1] = 20_000, 100
    once, twice = (
        ChosenBound(tuple(people.tolist()), MOST, tu.Cost.of(e).amount) for e in ("1/10", "1/5")
    )
    for chosen in (once, twice):
        assert chosen.share_left_out(1, "replace") < 0.9 * chosen.share_left_out(1, "add-remove")
    assert twice.share_left_out(1, "replace") == once.share_left_out(1, "add-remove")


def test_noise_in_empty_cells_hardly_ever_moves_the_bound() -> None:
    rng, axis = np.random.default_rng(2), rows_axis("rows", 10_000)
    counts = np.zeros(axis.size, np.int64)
    counts[2] = 50_000  # everybody has three rows
    each, laplace, gauss = 28.0, noise_of("1/6"), noise_of(rho="1/72")
    assert laplace.scales[0] == 6
    assert gauss.scales[0] == 36
    for noise, draw in ((laplace, rng.laplace), (gauss, rng.normal)):
        far = 0
        for _ in range(400):
            noisy = counts + np.rint(draw(0, 6.0, axis.size)).astype(np.int64)
            far += chosen_bound(axis, noisy, noise, each) > 12
        assert far <= 4


def test_people_are_taken_at_their_word_where_noise_could_not_have_made_them() -> None:
    four = rows_axis("rows", 4)
    for noise in (noise_of("1/10"), noise_of(rho="1/200")):  # of scale, and deviation, 10
        for count, exact in ((599, False), (601, True)):
            likely = likely_people(four, np.array([50_000, count, 0, 0]), noise)
            assert bool(likely[1] == count) is exact
            assert likely[1] == pytest.approx(count, rel=0.2)
        assert (likely_people(four, np.array([-30, 3, -4, 9]), noise) >= 0).all()
        assert likely_people(four, np.array([500, 2, -4, 9]), noise)[3] < 3  # noise gives 9 easily


def test_the_chain_is_the_sum_over_all_ways_through_it() -> None:
    people, after = rows_bound._steps()
    axis, scale = tu.Axis.edges("rows", [1.0, 8.0, 80.0, 800.0]), 10
    for noisy in ([900, 3, 40], [0, 0, 0], [-5, 70, 70], [30, -20, 90]):
        fits = [np.exp(-np.abs(count - people) / scale) for count in noisy]
        fits[0] = fits[0] * (np.arange(len(people)) != rows_bound._ENDED)
        far = np.where(np.arange(len(people)) == rows_bound._GAP, 1 / np.array([[8], [10]]), 1)
        steps = [after * each[:, None] for each in far]
        ways = np.einsum("i,j,k,ij,jk->ijk", *fits, *steps, optimize=True)
        wanted = [
            ways.sum(axis=tuple({0, 1, 2} - {cell})) @ people / ways.sum() for cell in range(3)
        ]
        found = likely_people(axis, np.array(noisy), noise_of(f"1/{scale}"))
        taken = np.array(noisy) > 60 * scale
        assert found[~taken] == pytest.approx(np.array(wanted)[~taken], rel=1e-9)


def test_people_far_up_count_for_less_the_wider_the_gap_before_them() -> None:
    noise, seen = noise_of("1/10"), np.array([20_000, 0, 0, 80])
    near, far = (
        likely_people(tu.Axis.edges("rows", [1.0, 2.0, 3.0, top, 10.0 * top]), seen, noise)[3]
        for top in (4.0, 4_000.0)
    )
    assert 0 < far < near / 2 < 80


def test_what_is_kept_of_a_choice_survives_a_file_and_is_checked() -> None:
    axis = rows_axis("rows", 50)
    tenth, half = tu.Cost.of("1/10").amount, tu.Cost.of("1/2").amount
    kept = ChosenBound(tuple(range(axis.size)), 50, tenth)
    for each in (kept, ChosenBound(tuple(range(axis.size)), 50, rho=half)):
        assert ChosenBound.from_json(json.loads(json.dumps(each.to_json()))) == each
    with pytest.raises(tu.InputError, match="one of the two"):
        ChosenBound(tuple(range(axis.size)), 50)
    for wrong in ({"people": [1, 2]}, {"at_most": 1}, {"at_most": 51 * 51}, {"at_most": 50.0},
                  {"at_most": 10**9 + 1}, {"people": [1.5] * axis.size}):  # fmt: skip
        with pytest.raises(tu.FileError):
            ChosenBound.from_json(kept.to_json() | wrong)
    for given, words in (
        ((3, 9, "user"), "goes with rows_per_unit='auto'"),
        (("some", 9, "user"), "whole number or 'auto'"),
        (("auto", None, "user"), "needs at_most"),
        (("auto", 1, "user"), "between 2 and 1,000,000,000"),  # as many as rows_per_unit may be
        (("auto", 10**9 + 1, "user"), "at_most must be between 2 and 1,000,000,000"),
        (("auto", 9, None), "goes with a unit"),
        (("auto", 9, "row"), "goes with a unit"),
        (("auto", 9, "edge"), "goes with a unit"),
    ):
        with pytest.raises(tu.InputError, match=words):
            most_rows(given[0], {"at_most": given[1]}, given[2])
    for most in (2, 9, 10**9):
        assert most_rows("auto", {"at_most": most}, "user") == most
    with pytest.raises(TypeError, match="unexpected keyword argument 'most'"):
        most_rows(3, {"most": 9}, "user")
    assert most_rows(3, {}, "user") is None
