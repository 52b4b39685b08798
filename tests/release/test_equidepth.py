"""Bins of nearly equal counts: as equal as whole cells allow, with intervals that hold."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment
from trueup.release.intervals import quantile_cells

AGE = tu.Axis.integers("age", 0, 99)


def release_of(counts: np.ndarray, axis: tu.Axis = AGE, **wish: bool) -> tu.Release:
    return tu.infer(tu.measure(counts, tu.TreeCounts(axis), epsilon=1), **wish)


def test_edges_are_the_cells_nearest_to_the_shares() -> None:
    rng = np.random.default_rng(1)
    for bins in (2, 7, 40):
        axis = tu.Axis.integers("n", 0, 40)
        counts = rng.integers(0, 30, 41)
        exact = tu.infer(tu.Measurement(tu.CellCounts(axis), counts, epsilon=1), integers=True)
        found = exact.equidepth(bins)
        below = np.concatenate([[0], np.cumsum(counts)])
        best = {
            min(range(42), key=lambda cut: (abs(below[cut] - share), cut))
            for share in (i / bins * below[-1] for i in range(1, bins))
        }
        ends = {int(below[cut]) for cut in found.cuts[1:-1]}
        assert ends == {int(below[cut]) for cut in best - {0, 41}} - {0, int(below[-1])} | (
            ends & {0, int(below[-1])}
        )
        assert found.counts.tolist() == np.diff(below[found.cuts]).tolist()
        assert found.counts.sum() == exact.total().value
        assert found.edges == [axis.edge(cut) for cut in found.cuts.tolist()]


def test_no_bin_is_further_from_its_share_than_the_largest_cell() -> None:
    counts = np.random.default_rng(2).poisson(200, 100)
    found = release_of(counts, nonnegative=True, integers=True).equidepth(10)
    cells = release_of(counts, nonnegative=True, integers=True).counts()
    assert len(found) == 10
    assert np.abs(found.counts - found.counts.sum() / 10).max() <= 1.5 * cells.max()


def test_intervals_hold_for_bins_and_edges() -> None:
    counts = np.random.default_rng(3).poisson(np.linspace(1, 90, 100))
    below = np.concatenate([[0], np.cumsum(counts)])
    true = [int(np.searchsorted(below[1:], i / 5 * below[-1])) for i in range(1, 5)]
    bins = edges = draws = 0
    for draw in range(60):
        shown = draw % 2 == 0
        # Noise that can be drawn again: three standard errors are passed once in some hundred runs.
        measured = measure_for_experiment(counts, tu.TreeCounts(AGE), 1, seed=draw)
        found = tu.infer(measured, nonnegative=shown, integers=shown).equidepth(5)
        if len(found) == 5:
            draws += 1
            inside = np.diff(below[found.cuts])
            bins += int(((found.low <= inside) & (inside <= found.high)).all())
            pairs = zip(found.around, true, strict=True)
            edges += np.mean([first <= cell <= last for (first, last), cell in pairs])
    assert draws > 50
    assert bins / draws > 0.95 - 3 * 0.0282  # all bins at once, three standard errors
    assert edges / draws > 0.95 - 3 * 0.0141


@pytest.mark.parametrize("shown", [True, False])
def test_an_edge_has_the_interval_of_its_own_quantile_and_bins_share_the_chance_to_fail(
    shown: bool,
) -> None:
    """From the unbiased counts; where shares fall on one edge, of the first; it holds the edge."""
    for seed, (heap, bins) in enumerate([(0, 9), (3_000, 4), (600, 60)]):
        counts = np.random.default_rng(seed).poisson(9, 100)
        counts[30] += heap
        measured = measure_for_experiment(counts, tu.TreeCounts(AGE), "1/2", seed=seed)
        release = tu.infer(measured, nonnegative=shown, integers=shown)
        found, own = release.equidepth(bins, level=0.9), release.unbiased
        below = np.maximum.accumulate(release.prefix)
        shares: dict[int, float] = {}
        for i in range(1, bins):
            cut = min(range(101), key=lambda c: (abs(below[c] - i / bins * below[-1]), c))
            shares.setdefault(cut, i / bins)
        for cut, around in zip(found.cuts[1:-1].tolist(), found.around, strict=True):
            if below[cut - 1] < below[cut] < below[cut + 1]:  # no other cut is as near
                first, last = quantile_cells(own.errors, own.prefix, shares[cut], 0.9)
                assert around == (min(first, cut), max(last, cut - 1))
        low, high = own.intervals(found.cuts[:-1], found.cuts[1:], 0.9, simultaneous=True)
        if shown:
            low, high = np.maximum(np.ceil(low), 0), np.floor(high)
            low, high = np.minimum(low, found.counts), np.maximum(high, found.counts)
        np.testing.assert_allclose(found.low, low)
        np.testing.assert_allclose(found.high, high)


def test_a_cell_of_more_than_a_share_makes_fewer_bins() -> None:
    counts = np.zeros(100, np.int64)
    counts[40], counts[60] = 10**6, 10**5
    found = release_of(counts, nonnegative=True, integers=True).equidepth(10)
    assert 2 <= len(found) < 10
    for (low, high), edge in itertools.zip_longest(found.edge_intervals(), found.edges[1:-1]):
        assert low <= edge <= high


def test_bins_are_tabulated_drawn_and_shown(tmp_path: Path) -> None:
    fare = tu.Axis.edges("fare", [0, 1, 2, 4, 8, 16, float("inf")])
    found = release_of(np.array([5, 90, 80, 85, 9, 30]), fare).equidepth(3)
    assert found.to_frame().num_rows == len(found) == len(found.lines())
    found.save_plot(tmp_path / "bins.svg")
    found.save_plot(tmp_path / "bins.html")
    assert "nearly equal counts" in (tmp_path / "bins.html").read_text()
    assert "bins of 'fare'" in repr(found)


def test_what_has_no_bins_is_refused() -> None:
    release = release_of(np.full(100, 9))
    for wrong in (1, 101, 2.5, True):
        with pytest.raises(tu.InputError):
            release.equidepth(wrong)  # type: ignore[arg-type]
    with pytest.raises(tu.InputError, match="level"):
        release.equidepth(4, level=1.5)
    town = tu.Axis.categories("town", ["a", "b", "c"])
    with pytest.raises(tu.InputError, match="no order"):
        release_of(np.array([1, 2, 3]), town).equidepth(2)


def test_the_table_says_where_bins_begin_and_end_and_between_which_edges_a_quantile_lies() -> None:
    fare = tu.Axis.edges("fare", [0, 1, 2, 4, 8, 16, 40])
    found = release_of(np.array([5, 90, 80, 85, 9, 30]) * 50, fare).equidepth(3)
    pairs = [(fare.edge(first), fare.edge(last + 1)) for first, last in found.around]
    assert found.edge_intervals() == pairs
    assert all(
        low <= edge <= high for (low, high), edge in zip(pairs, found.edges[1:-1], strict=True)
    )
    columns = found.columns()
    assert columns["count"].tolist() == found.counts.tolist()
    assert columns["count low"].tolist() == found.low.tolist()
    assert columns["count high"].tolist() == found.high.tolist()
    for line, (_, _, inside, end) in enumerate(found.lines()):
        assert (end == "") is (line == len(found) - 1)
        assert end in ("", " – ".join(map(str, pairs[min(line, len(pairs) - 1)])))
        assert inside.count(" – ") == 1


@pytest.mark.parametrize("heap", [0, 50, 99])
def test_every_bin_has_a_cell_wherever_the_counts_lie(heap: int) -> None:
    """Shares that are nearest to an end of the axis make no bin there."""
    counts = np.full(100, 3)
    counts[heap] = 10**6
    for wish in ({}, {"nonnegative": True, "integers": True}):
        found = release_of(counts, **wish).equidepth(10)
        assert (np.diff(found.cuts) > 0).all()
        assert (found.cuts[0], found.cuts[-1]) == (0, 100)
        assert len(found) == len(found.cuts) - 1 == len(found.around) + 1 == len(found.low)
