"""SortedCounts: one record moves the answers by one, whatever was asked; and what is refused."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.ask import SortedCounts, question_from_json
from trueup.ask.diagram import CountedColumns, CountedRows
from trueup.audit import audit, forced, replay
from trueup.errors import InputError
from trueup.paper.noise import measure_for_experiment

GROUPS = 150  # so many that columns are asked at scale 1


def noises(number, scale=1.0, size=1 << 13):
    rng = np.random.default_rng(5)
    p = -np.expm1(-1 / scale)
    return [rng.geometric(p, size) - rng.geometric(p, size) for _ in range(number)]


def histograms(groups, most):
    return itertools.combinations_with_replacement(range(most + 1), groups)


def with_one_more(histogram):
    for i in range(len(histogram)):
        if i + 1 == len(histogram) or histogram[i] != histogram[i + 1]:
            yield [*histogram[:i], histogram[i] + 1, *histogram[i + 1 :]]


def cells(question, counts):
    """The answers by counting the cells of the diagram one by one."""
    rising = sorted([0] * (question.groups - len(counts)) + list(counts))
    found = []
    for part in question.asked:
        if isinstance(part, CountedRows):
            for row in range(part.start, part.stop):
                found.append(sum(1 for column in range(rising[row]) if column >= part.base))
        else:
            for left, right in itertools.pairwise(part.edges):
                found.append(
                    sum(
                        left <= column < right
                        for row in range(part.start, question.groups)
                        for column in range(rising[row])
                    )
                )
    return found


# ---- one record moves the answers by one


@pytest.mark.parametrize("groups", [5, GROUPS])
def test_forced_transcripts_move_by_one_on_all_small_histograms(groups):
    # Up to 5 groups with counts up to 4, alone or among empty groups; every record added.
    question, tried = SortedCounts(groups), 0
    tapes = noises(4)
    for size in range(1, 6):
        for histogram in histograms(size, 4):
            for more in with_one_more(histogram):
                found = forced(question, histogram, more, 1, tapes[tried % 4])
                assert found.passed, (histogram, more, str(found))
                assert found.move <= 1
                tried += 1
    assert tried > 600


def small_transcripts(groups, most):
    """All that could be asked of few groups: rows, columns from any edge to any other, rows."""
    edges = [e for n in range(2, most + 3) for e in itertools.combinations(range(most + 2), n)]
    for stop, parts in itertools.product(range(groups + 1), edges):
        for start in range(stop, groups + 1):
            yield (
                CountedRows(0, 0, stop, 0),
                CountedColumns(stop, parts),
                CountedRows(start, start, groups, parts[-1]),
            )


def test_whatever_was_asked_moves_by_one_on_all_small_histograms():
    # Every set of questions that is accepted, not only those that a walk would choose.
    asked = list(small_transcripts(5, 4))
    for parts in asked[:: len(asked) // 97]:
        question = SortedCounts(5, asked=parts)
        for histogram in histograms(5, 4):
            before = question.answers(histogram)
            for more in with_one_more(histogram):
                assert np.abs(question.answers(more) - before).sum() <= 1


def test_a_question_that_was_asked_is_replayed_with_frozen_noise():
    counts = np.minimum(np.random.default_rng(8).zipf(1.8, 300), 1000)
    asked = tu.measure(counts, SortedCounts(300), epsilon=1).question
    more = counts.copy()
    more[7] += 1
    found = replay(lambda c: tu.measure(c, asked, epsilon=2), counts, more)
    assert found.passed, str(found)
    assert found.allowed == 2


def test_forced_transcripts_move_by_two_for_undirected_edges():
    question = SortedCounts(GROUPS, ends=2)
    tapes = noises(3, scale=2.0)
    moves = set()
    for n, histogram in enumerate(histograms(5, 4)):
        for i, j in itertools.combinations(range(5), 2):
            more = list(histogram)
            more[i] += 1
            more[j] += 1
            found = forced(question, histogram, more, 2, tapes[n % 3])
            assert found.passed, (histogram, more, str(found))
            moves.add(found.move)
    assert max(moves) == 2


def test_a_replaced_record_moves_the_answers_by_two_at_most():
    counts = [1, 1, 2, 4, 4]
    for seed in range(20):
        m = measure_for_experiment(counts, SortedCounts(GROUPS), 1, seed=seed)
        for away, to in itertools.permutations(range(5), 2):
            moved = list(counts)
            moved[away] -= 1
            moved[to] += 1
            change = np.abs(m.question.answers(moved) - m.question.answers(counts)).sum()
            assert change <= 2
    assert SortedCounts(GROUPS).sensitivity("replace") == 2
    assert SortedCounts(GROUPS, ends=2).sensitivity("replace") == 4
    assert SortedCounts(1).sensitivity("replace") == 1


@pytest.mark.parametrize("epsilon", [1, "1/10"])
def test_forced_transcripts_pass_on_large_histograms(epsilon):
    rng = np.random.default_rng(3)
    scale = 1 / Fraction(epsilon)
    made = [
        np.minimum(rng.zipf(1.8, 3000), 10**6),
        np.rint(np.abs(rng.normal(9000, 200, 3000))).astype(np.int64),
        np.repeat([0, 500, 40_000], 1000),
    ]
    for counts in made:
        for noise in noises(3, float(scale)):
            more = counts.copy()
            more[rng.integers(len(more))] += 1
            found = forced(SortedCounts(3000), counts, more, scale, noise)
            assert found.passed, str(found)
            assert found.move <= 1


def test_an_owner_asks_adaptively_charges_once_and_keeps_the_transcript(tmp_path):
    rng = np.random.default_rng(4)
    rows = pa.table({"customer": np.minimum(rng.zipf(1.5, 3000), 400)})
    ledger = tu.Ledger(tmp_path / "ledger", limit=1)
    owner = tu.Owner(rows, ledger)
    question = SortedCounts(400, by="customer")
    m = owner.measure(question, "1/2", key="list")
    assert m.question.asked
    assert owner.measure(question, "1/2", key="list") == m
    assert ledger.spent == Fraction(1, 2)
    assert tu.infer(m).how_many(at_least=0).value == 400
    with pytest.raises(tu.InputError, match="more"):
        tu.measure([1] * 401, question, 1)
    kept = owner.measure(SortedCounts(3, by="customer"), "1/2")  # the largest, and no error
    assert kept.question.length == 3


# ---- planted bugs are caught by the same checker


def test_sets_that_share_a_cell_are_refused():
    ok = (CountedRows(0, 0, 2, 0), CountedColumns(2, (0, 3, 5)), CountedRows(2, 4, 8, 5))
    assert SortedCounts(8, asked=ok).length == 2 + 2 + 6
    for wrong in (
        (
            CountedRows(0, 0, 3, 0),
            CountedColumns(2, (0, 3)),
            CountedRows(2, 2, 8, 3),
        ),  # a row twice
        (
            CountedRows(0, 0, 2, 0),
            CountedColumns(2, (0, 3)),
            CountedRows(2, 2, 8, 2),
        ),  # a column twice
        (CountedRows(0, 0, 2, 0), CountedColumns(2, (0, 3)), CountedRows(1, 2, 8, 3)),
        (*ok[:2], CountedRows(2, 2, 4, 5), CountedColumns(4, (4, 9)), CountedRows(4, 4, 8, 9)),
        (*ok[:2], CountedRows(2, 2, 7, 5)),  # the last group is left out
        (CountedRows(0, 0, 2, 0), CountedColumns(3, (0, 3)), CountedRows(3, 3, 8, 3)),
        (CountedRows(0, 0, 9, 0),),
        (CountedColumns(0, (0, 3)),),
        ok[:2],
        (ok[0], ok[0], ok[0]),
    ):
        with pytest.raises(tu.InputError):
            SortedCounts(8, asked=wrong)


@pytest.mark.parametrize(("claimed", "spent"), [(1, 1), ("1/10", 1)])
def test_an_audit_proves_no_more_than_is_claimed(claimed, spent):
    def outputs(counts):
        m = tu.measure(counts, SortedCounts(GROUPS), epsilon=spent)
        rows = m.noisy[:4].astype(float)
        return [*rows, float(m.noisy.sum()), float(len(m.noisy)), float(m.noisy[-1])]

    found = audit(outputs, [1] * 50 + [4], [1] * 50 + [5], epsilon=claimed, draws=2000)
    assert found.passed == (spent == claimed), str(found)


# ---- the question knows what it asked


def test_answers_are_counts_of_cells():
    rng = np.random.default_rng(7)
    for seed in range(20):
        counts = np.minimum(rng.zipf(1.7, 100), 60)
        m = measure_for_experiment(counts, SortedCounts(GROUPS), 1, seed=seed)
        assert m.question.answers(counts).tolist() == cells(m.question, counts.tolist())


def test_what_was_asked_can_be_asked_again():
    counts = np.random.default_rng(1).geometric(0.1, 500)
    m = tu.measure(counts, SortedCounts(500), epsilon=1)
    again = tu.measure(counts, m.question, epsilon=1)
    assert again.question == m.question
    assert not np.array_equal(again.noisy, m.noisy)


def test_a_question_survives_a_file(tmp_path):
    counts = np.random.default_rng(1).zipf(1.6, 2000)
    m = measure_for_experiment(counts, SortedCounts(2000, by="word"), "1/10", seed=2)
    assert question_from_json(m.question.to_json()) == m.question
    for name in ("m.json", "m.parquet"):
        m.save(tmp_path / name)
        assert tu.load(tmp_path / name) == m
    table = m.columns()
    assert (table["first_rank"] >= 1).all()
    assert (table["last_rank"] <= 2000).all()
    largest = table["noisy"][table["first_rank"] == 1]
    assert largest[-1] + table["above"][-1] > np.median(counts)  # rank 1 is the largest count


def test_a_file_that_asks_for_endless_strips_is_refused():
    part = {"from": 1, "first": 0, "widths": [[1, 1 << 40]]}
    last = {"rows": [1, 1, 5], "base": 0}
    spec = {"kind": "young", "groups": 5, "by": None, "ends": 1}
    with pytest.raises(tu.FileError):
        question_from_json({**spec, "asked": [{"rows": [0, 0, 1], "base": 0}, part, last]})


@pytest.mark.parametrize(
    ("arguments", "counts", "told"),
    [
        ({"groups": 0}, [1], "groups must be at least 1, got 0"),
        ({"groups": 2.5}, [1], "groups must be a whole number"),
        ({"groups": 3, "ends": 3}, [1], "ends must be 1, or 2"),
        ({"groups": 3}, [1, 2, 3, 4, 5], "more groups than the 3 that the question declares"),
        ({"groups": 3}, [1, -2], "must not be negative"),
        ({"groups": 3}, [1.5], "whole numbers"),
    ],
)
def test_bad_input_is_refused_and_the_datas_own_number_of_groups_is_not_said(
    arguments, counts, told
):
    with pytest.raises(tu.InputError, match=told) as refused:
        tu.measure(counts, SortedCounts(**arguments), epsilon=1)
    assert "5" not in str(refused.value).replace("1.5", "").replace("2.5", "")


def test_what_was_not_asked_cannot_be_inferred_from():
    with pytest.raises(tu.InputError, match="measure it first"):
        tu.infer(tu.Measurement(SortedCounts(3), np.zeros(0, np.int64), epsilon=1))
    with pytest.raises(tu.InputError, match="no linear function"):
        SortedCounts(3).matrix()
    with pytest.raises(tu.InputError, match="discrete"):
        measure_for_experiment([1, 2], SortedCounts(3), 1, seed=1, law="continuous")


def test_no_set_lies_where_no_count_can() -> None:
    # At 2^63 the answers would not fit, which used to be found after the charge.
    for far in (2**62 + 1, 2**63 - 1, 2**63, 2**64):
        with pytest.raises(InputError, match=r"past 2\^62"):
            CountedColumns(0, (0, far))
        with pytest.raises(InputError, match=r"past 2\^62"):
            CountedRows(0, 0, 2, far)
    asked = (CountedRows(0, 0, 0, 0), CountedColumns(0, (0, 2**62)), CountedRows(0, 0, 2, 2**62))
    assert SortedCounts(2, asked=asked).answers([3, 5]).tolist() == [8, 0, 0]
