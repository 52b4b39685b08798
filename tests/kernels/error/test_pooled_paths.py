"""What the answers of a tree count for in a range, from the paths to its ends."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trueup._kernels.error.pooled_paths import (
    NOT_REACHED,
    OPEN,
    RUN,
    SLACK,
    SPLIT,
    STOPPED,
    UNCLEAR,
    WAYS,
    classes_of,
    range_variances,
)

# 12 cells; three nodes of four, of which the second is pooled as run 0; six of two, two of them
# not reached.
BEGINS = np.array([0, 4, 8, 12, 0, 2, 4, 6, 8, 10, 12])
OFFSETS = np.array([0, 4, 11])
RUNS = np.array([SPLIT, 0, SPLIT, -2, SPLIT, SPLIT, -2, -2, SPLIT, SPLIT, -2])
TREE = BEGINS, OFFSETS, RUNS
TOTALS = np.array([7.0])
NONE = np.zeros(2)


def known(totals: np.ndarray, prefix: np.ndarray | None = None, clear=NONE, better=NONE) -> tuple:
    return totals, np.zeros(0) if prefix is None else prefix, clear, better


def ways_by_hand(cuts: list[int], own: bool) -> int:
    """Every outcome of the paths to these cuts, written out: for each, where it ends and by what.

    An end in a node is one of its run, or of what the fit says of it. Two neighbours of a family
    that end by their runs have one run or two.
    """
    by = ("run", "fit") if own else ("run",)
    paths = [[(2 - k, cut // k) for k in (4, 2) if cut % k] for cut in cuts]
    outcomes = [[*itertools.product(path, by), None] for path in paths]
    found = set()
    for outcome in itertools.product(*outcomes):
        first, last = outcome[0], outcome[-1]
        shared = set(paths[0]) & set(paths[-1])
        if first != last and any(end and end[0] in shared for end in outcome):
            continue  # the node they share is pooled for both or for none
        found.add(outcome)
        if first and last and first != last and first[1] == last[1] == "run":
            (depth, node), (other_depth, other) = first[0], last[0]
            siblings = depth == -2 or node // 2 == other // 2
            if depth == other_depth and siblings:
                found.add((*outcome, "one run"))
    return len(found)


def ways_that_can_be(cuts: list[int], own: bool) -> int:
    """Every set of nodes that may be pooled on four nodes of four cells, two in each of two, and
    for each cut by what its end is told: so many different laws come of it."""
    by = ("run", "fit") if own else ("run",)
    found = set()
    for tops in itertools.product((True, False), repeat=4):
        open_pairs = [pair for pair in range(8) if not tops[pair // 2]]
        for some in itertools.product((True, False), repeat=len(open_pairs)):
            pooled = {(1, top) for top in range(4) if tops[top]}
            pooled |= {(2, pair) for pair, own_end in zip(open_pairs, some, strict=True) if own_end}
            ends = []
            for cut in cuts:
                path = [(level, cut // width) for level, width in ((1, 4), (2, 2)) if cut % width]
                ends.append(next((node for node in path if node in pooled), None))
            stopped = sorted({end for end in ends if end})
            for choice in itertools.product(by, repeat=len(stopped)):
                told = dict(zip(stopped, choice, strict=True))
                runs = []
                for level, node in (end for end in stopped if told[end] == "run"):
                    first = node
                    while (level, first - 1) in pooled and (level == 1 or first % 2):
                        first -= 1
                    runs.append((level, first))
                same = tuple(runs.index(run) for run in runs)
                found.add((tuple(ends), choice, same))
    return len(found)


@pytest.mark.parametrize("own", [False, True])
def test_no_way_in_which_paths_can_end_is_left_out(own: bool) -> None:
    """Of any few cuts, some of them between two nodes: as many laws as can come of them, or a few
    more. Two ends may have one run if a path between them ends by its count, or is no path."""
    begins = np.array([0, 4, 8, 12, 16, *range(0, 17, 2)])
    tree = begins, np.array([0, 5, 14]), np.full(14, SPLIT)
    prefix = np.arange(17.0) if own else None
    for cuts in [(1, 8, 13), (1, 5, 13), (1, 4, 9), (2, 9, 14), (1, 3, 5, 13), (3, 4, 8, 15)]:
        ends = np.array([0, *cuts, 16])
        _, told = classes_of(tree, ends, np.arange(len(cuts) + 1.0), known(TOTALS, prefix))
        least = ways_that_can_be(list(cuts), own)
        assert least <= told[WAYS] <= 1.3 * least


@pytest.mark.parametrize("own", [False, True])
def test_of_nodes_that_lie_apart_every_law_is_counted_once(own: bool) -> None:
    """Seven nodes of four cells: some are pooled, runs are as long as they can be, and for the ends
    in pooled nodes it is told by what. Of laws that differ there are as many as are counted."""
    tree = np.arange(0, 29, 4), np.array([0, 8]), np.full(8, SPLIT)
    prefix = np.arange(29.0) if own else None
    for cuts in [(1, 9), (1, 9, 17), (2, 12, 25), (1, 9, 17, 25), (3, 11, 16, 21), (1, 8, 16, 27)]:
        found, nodes = set(), [cut // 4 if cut % 4 else None for cut in cuts]
        for pooled in itertools.product((True, False), repeat=7):
            run = np.cumsum([not one for one in pooled])  # alike in a run, and for what ends it
            by = [
                ("run", "fit")[: 1 + own] if n is not None and pooled[n] else ("",) for n in nodes
            ]
            for told in itertools.product(*by):
                each = (int(run[n]) for n, how in zip(nodes, told, strict=True) if how == "run")
                first = {}
                found.add((told, tuple(first.setdefault(one, len(first)) for one in each)))
        ends = np.array([0, *cuts, 28])
        _, said = classes_of(tree, ends, np.arange(len(cuts) + 1.0), known(TOTALS, prefix))
        assert said[WAYS] == len(found)


def by_hand(values: np.ndarray) -> dict[int, list[float]]:
    """What each answer counts for: means of children go up, what is left of them stays."""
    found: dict[int, list[float]] = {0: [], 1: [], 2: []}
    tops = []
    for top in range(3):
        cells = values[4 * top : 4 * top + 4]
        if top == 1:
            tops.append(cells.mean())
            continue
        pairs = cells.reshape(2, 2)
        found[2] += (pairs - pairs.mean(axis=1, keepdims=True)).ravel().tolist()
        found[1] += (pairs.mean(axis=1) - pairs.mean()).tolist()
        tops.append(pairs.mean())
    found[0] = tops
    return found


@pytest.mark.parametrize("start", range(12))
def test_coefficients_are_those_of_counts_that_go_down_the_tree(start: int) -> None:
    assert NOT_REACHED == -2
    for stop in range(start + 1, 13):
        values = np.zeros(12)
        values[start:stop] = 1.0
        ends = np.array([0, start, stop, 12])
        rows, told = classes_of(TREE, ends, np.array([0.0, 1.0, 0.0]), known(TOTALS))
        for level, expected in by_hand(values).items():
            own = rows[rows[:, 1] == level]
            each = np.repeat(own[:, 0], own[:, 2].astype(int))
            each, other = np.sort(each[each != 0]), np.sort([c for c in expected if c != 0])
            np.testing.assert_allclose(each, other)
        pooled = values[4:8]
        most = max(1 - pooled.mean(), pooled.mean()) if 0 < pooled.mean() < 1 else 0.0
        assert told[OPEN] == pytest.approx(7 * most)
        assert told[STOPPED] == (most > 0)
        assert rows[rows[:, 1] > 2, 0].sum() == pytest.approx(most)
        assert (rows[:, SLACK] == 0).all()
        cuts = [end for end in (start, stop) if 0 < end < 12]
        assert told[WAYS] == (ways_by_hand(cuts, own=False) if cuts else 1)
        assert told[UNCLEAR] == any(end % 4 and end // 4 != 1 for end in cuts)
        prefix = np.arange(13.0)
        _, told = classes_of(TREE, ends, np.array([0.0, 1.0, 0.0]), known(TOTALS, prefix))
        assert told[WAYS] == (ways_by_hand(cuts, own=True) if cuts else 1)
        assert told[UNCLEAR] == 0


def test_variances_add_up_the_squares() -> None:
    starts, stops = np.array([0, 1, 5, 3, 4]), np.array([12, 2, 6, 3, 9])
    variances = np.array([2.0, 3.0, 5.0])
    found = range_variances(TREE, starts, stops, known(TOTALS), variances)
    for k, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        values = np.zeros(12)
        values[start:stop] = 1.0
        squares = [np.sum(np.square(each)) for each in by_hand(values).values()]
        assert found[k] == pytest.approx(variances @ squares)


def test_two_nodes_of_one_run_are_no_larger_than_the_run() -> None:
    runs = np.array([0, 0, SPLIT, -2, -2, -2, -2, -2, SPLIT, SPLIT, -2])
    tree = BEGINS, OFFSETS, runs
    rows, told = classes_of(tree, np.array([0, 1, 7, 12]), np.array([0.0, 1.0, 0.0]), known(TOTALS))
    assert told[OPEN] == pytest.approx(7 * 0.75)
    assert rows[rows[:, 1] > 2, 0].tolist() == [0.75]


def test_two_runs_have_a_noise_each() -> None:
    runs = np.array([0, SPLIT, 1, -2, -2, -2, SPLIT, SPLIT, -2, -2, -2])
    tree = BEGINS, OFFSETS, runs
    totals = np.array([7.0, 10.0])
    rows, told = classes_of(
        tree, np.array([0, 1, 10, 12]), np.array([0.0, 1.0, 0.0]), known(totals)
    )
    assert told[OPEN] == pytest.approx(7 * 0.75 + 10 * 0.5)
    assert sorted(rows[rows[:, 1] > 2, 0]) == [0.5, 0.75]
    # A total below zero leaves nothing open, and takes nothing from what another does.
    _, told = classes_of(
        tree, np.array([0, 1, 10, 12]), np.array([0.0, 1.0, 0.0]), known(np.array([7.0, -10.0]))
    )
    assert told[OPEN] == pytest.approx(7 * 0.75)


@pytest.mark.parametrize(
    ("count", "better", "by_fit"),
    [(6.5, 0.0, True), (6.5, 1.0, False), (7.0, 0.0, False), (-3.0, 0.0, True)],
)
def test_what_is_inside_a_pooled_node_is_told_by_its_count_or_by_its_run(
    count: float, better: float, by_fit: bool
) -> None:
    """The one that says less is left open; by the fit, coefficients may be off by as much, whatever
    part of the node's count lies in the range."""
    prefix = np.cumsum([0.0, *[9.0] * 4, *[count / 4] * 4, *[9.0] * 4])
    ends, values = np.array([0, 5, 12]), np.array([1.0, 0.0])
    rows, told = classes_of(
        TREE, ends, values, known(TOTALS, prefix, better=np.array([better, 0.0]))
    )
    assert told[OPEN] == pytest.approx(0.75 * (max(count, 0) if by_fit else 7))
    assert (rows[:, RUN] >= 0).any() != by_fit
    top = rows[rows[:, 1] == 0]
    assert sorted(top[:, 0]) == [0.0, 0.25, 1.0]
    assert top[top[:, 0] == 0.25, SLACK] == (0.75 if by_fit else 0.0)
    assert (top[top[:, 0] != 0.25, SLACK] == 0).all()


def test_slack_goes_up_to_parents_and_is_taken_from_siblings() -> None:
    """A pooled node of the second level: its own coefficient may be off by all of it and the part
    that its parent has, its siblings' and its parent's by that part."""
    runs = np.array([SPLIT, SPLIT, SPLIT, -2, 0, SPLIT, SPLIT, SPLIT, SPLIT, SPLIT, -2])
    prefix = np.cumsum([0.0, 0.5, 0.5, *[9.0] * 10])
    ends, values = np.array([0, 1, 12]), np.array([1.0, 0.0])
    rows, told = classes_of((BEGINS, OFFSETS, runs), ends, values, known(TOTALS, prefix))
    assert told[OPEN] == pytest.approx(0.5 * 1.0)
    found = {(level, coefficient): slack for coefficient, level, _, _, slack in rows}
    assert found == {(1, 0.25): 0.75, (1, -0.25): 0.25, (0, 0.25): 0.25, (0, 0.0): 0.0}


def test_a_path_is_clear_if_the_fit_of_every_node_is() -> None:
    prefix = np.cumsum([0.0, *[5.0] * 12])  # 20 in a node of the first level, 10 in one below
    ends, values = np.array([0, 1, 12]), np.array([1.0, 0.0])
    for clear, expected in (([20.0, 10.0], 0), ([20.5, 10.0], 1), ([20.0, 10.5], 1)):
        _, told = classes_of(TREE, ends, values, known(TOTALS, prefix, np.array(clear)))
        assert told[UNCLEAR] == expected
