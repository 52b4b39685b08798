"""A bound chosen privately: near the best, charged once, and its statement holds as it says."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import trueup as tu
from trueup.facts import Facts
from trueup.measure import measure_all
from trueup.owner import bounding
from trueup.owner.bounding import BoundedCounts, Choice, each_cell, left_out, share_for
from trueup.paper.noise import measure_for_experiment
from trueup.record import total_cost
from trueup.rows_bound import rows_axis

HOUR = tu.Axis.integers("hour", 0, 99)
MOST = 1_000
RHO = 1_250  # the same in ρ
SURE = 50  # an ε at which a histogram of a part of it is off by ten people once in 10^16 draws


def table(rows: np.ndarray, rng: np.random.Generator) -> pa.Table:
    """So many rows of each person, in random order, each in some hour."""
    users = rng.permutation(np.repeat(np.arange(len(rows)), rows))
    return pa.table({"user": users, "hour": rng.integers(0, 100, len(users))})


@pytest.fixture
def ledger(tmp_path: Path) -> tu.Ledger:
    return tu.Ledger(tmp_path / "x.ledger", limit=1_000)


def test_the_noise_of_all_cells_is_that_of_their_laws() -> None:
    cells = each_cell(tu.CellCounts(HOUR), tu.Cost.of("1/10"), "add-remove")
    assert cells == pytest.approx(100 * 10, rel=0.01)  # E|Laplace| is its scale
    grid = tu.GridCounts(
        tu.CellCounts(tu.Axis.integers("x", 0, 9)), tu.CellCounts(tu.Axis.integers("y", 0, 6))
    )
    assert each_cell(grid, tu.Cost.of("1/10"), "add-remove") == pytest.approx(700, rel=0.01)
    replaced = each_cell(tu.CellCounts(HOUR), tu.Cost.of("1/10"), "replace")
    assert replaced == pytest.approx(2 * cells, rel=0.01)
    normal = each_cell(tu.CellCounts(HOUR), tu.Cost.of(rho="1/200"), "add-remove")
    assert normal == pytest.approx(100 * 10 * math.sqrt(2 / math.pi), rel=0.01)


def test_both_parts_are_one_charge_and_say_what_they_are(ledger: tu.Ledger) -> None:
    rng = np.random.default_rng(2)
    rows = np.where(rng.random(3_000) < 0.1, 40, 2)
    frame = table(rows, rng)
    owner = tu.Owner(frame, ledger, unit="user", rows_per_unit="auto", at_most=MOST)
    measured = owner.measure(tu.CellCounts(HOUR), SURE, "one")
    assert ledger.spent == SURE
    assert len(ledger.charges) == 1
    assert owner.measure(tu.CellCounts(HOUR), SURE, "one") == measured
    again = tu.bounded(owner, tu.CellCounts(HOUR), SURE, at_most=MOST, key="one")
    assert again.measurement == measured
    assert ledger.spent == SURE
    found = left_out(measured)
    assert 36 <= found.bound <= 50
    assert measured.rows_per_unit == found.bound
    assert found.sizes.epsilon == SURE * share_for(tu.CellCounts(HOUR), "add-remove")
    assert found.sizes.epsilon + measured.epsilon == SURE == measured.facts.whole_epsilon
    # So many rows as the bound lets through were counted, and so noisy.
    kept, scale = np.minimum(rows, found.bound).sum(), found.bound / measured.epsilon
    assert measured.noise.scales == (scale,)
    assert found.capped().value == pytest.approx(kept, abs=100 * float(scale))
    assert found.capped().std_error == pytest.approx(10 * float(scale) * math.sqrt(2), rel=0.1)
    assert found.sizes.facts.features[0][0] == "rows per user"
    assert found.rows_per_person.range(2, 3).value == pytest.approx(2_700, abs=300)
    said = found.statement()
    assert f"At most {found.bound} rows of each user count" in said
    assert "If nobody has more than 1,000 rows, about" in said
    assert "chosen for ε = " in repr(found)
    # `tu.bounded` asks the same, whatever number the owner has.
    one = tu.Owner(frame, ledger, unit="user", rows_per_unit=1)
    other = tu.bounded(one, tu.CellCounts(HOUR), SURE, at_most=MOST, share="1/2")
    assert other.sizes.epsilon == SURE / 2
    assert other.capped().value > 2 * len(rows)
    assert ledger.spent == 2 * SURE


def test_releases_keep_the_histogram_and_the_two_parts(tmp_path: Path, ledger: tu.Ledger) -> None:
    rng = np.random.default_rng(4)
    rows = np.where(rng.random(3_000) < 0.1, 40, 2)
    owner = tu.Owner(table(rows, rng), ledger, unit="user", rows_per_unit="auto", at_most=MOST)
    release = owner.publish(HOUR, SURE)
    auto: Any = {"unit": "user", "rows_per_unit": "auto", "at_most": MOST}
    once = tu.publish(table(rows, rng), HOUR, SURE, **auto)
    for each in (release, once):
        assert each.total().value == pytest.approx(rows.sum(), rel=0.2)
        for ending in ("parquet", "json"):
            each.save(tmp_path / f"x.{ending}")
            loaded = tu.load(tmp_path / f"x.{ending}")
            assert loaded.facts == each.facts
            assert left_out(loaded).statement() == left_out(each).statement()
        assert "of rows are left out if nobody has more than 1,000" in each.facts.capped
        assert " for the bound" in each.facts.cost
        assert each.facts.whole_epsilon == SURE
    both = tu.infer(tu.measure(np.zeros(100, int), tu.CellCounts(HOUR), 1))
    with pytest.raises(tu.InputError, match="chosen privately"):
        left_out(both)


def of_people(rows: np.ndarray, question: Any, rng: np.random.Generator) -> BoundedCounts:
    """As an owner does it, of counts in memory: without a table, to be done often."""

    def people(axis: tu.Axis) -> np.ndarray:
        return np.histogram(rows, axis.positions(np.arange(axis.size + 1)))[0]

    def counted(bound: int) -> np.ndarray:
        return rng.multinomial(np.minimum(rows, bound).sum(), np.full(100, 0.01))

    choice = Choice.of(question, MOST, None, "add-remove")
    return left_out(choice.drawn(question, tu.Cost.of(1), "add-remove", "user", people, counted))


def test_the_bound_is_right_where_there_is_hardly_any_noise() -> None:
    """Noise on whole numbers all but vanishes for one row; for the rows that count it does not."""
    rows = np.where(np.arange(3_000) < 300, 40, 2)
    axis = rows_axis("x", MOST)
    counts = np.histogram(rows, axis.positions(np.arange(axis.size + 1)))[0]
    assert counts.sum() == 3_000
    for epsilon in (20, 50, 200):
        choice = Choice.of(tu.CellCounts(HOUR), MOST, None, "add-remove")
        drawn = choice.drawn(
            tu.CellCounts(HOUR),
            tu.Cost.of(epsilon),
            "add-remove",
            "user",
            lambda axis: counts,
            lambda bound: np.zeros(100, np.int64),
        )
        assert 36 <= drawn.rows_per_unit <= 50


def test_the_bound_sees_people_through_noise_alone() -> None:
    rng = np.random.default_rng(5)
    rows = np.ceil(rng.lognormal(1, 1.2, 4_000)).clip(1, MOST)
    assert len({of_people(rows, tu.CellCounts(HOUR), rng).bound for _ in range(30)}) > 1


def test_the_statement_holds_as_often_as_it_says_but_for_one_person_of_more_rows() -> None:
    rng = np.random.default_rng(3)
    question = tu.CellCounts(HOUR)
    held = draws = 0
    for rows in (
        np.minimum(np.ceil(rng.pareto(1.5, 4_000) + 0.01), MOST),
        np.where(rng.random(4_000) < 0.01, 300, 2),
    ):
        for _ in range(20):
            found = of_people(rows, question, rng)
            low, high = found.total_interval()
            held += low <= rows.sum() <= high
            draws += 1
    assert held >= binom.ppf(1e-7, draws, 0.95)
    # One person of more rows than were declared: nobody can tell, and the statement says so.
    alone = np.append(np.full(500, 2.0), 10**7)
    found = of_people(alone, question, rng)
    assert found.total_interval()[1] < alone.sum()
    assert "If nobody has more than 1,000 rows" in found.statement()


def test_rows_and_noise_share_the_chance_that_the_interval_of_all_rows_fails() -> None:
    """Low: what is counted. High: that, and who is past the bound with the most of their cell."""
    rng = np.random.default_rng(6)
    rows = np.minimum(np.ceil(rng.pareto(1.1, 4_000) + 0.01), MOST)
    for level in (0.5, 0.95):
        found = of_people(rows, tu.CellCounts(HOUR), rng)
        each = 1 - (1 - level) / 2
        low, high = found.release.total().interval(each)
        edges = rows_axis("rows", MOST).positions(np.arange(len(found.chosen.people) + 1))
        past = np.maximum(edges[1:] - 1 - found.bound, 0)
        assert past.max() > 0
        middle = float(past @ np.array(found.chosen.people))
        scale = 1 / float(found.chosen.epsilon)
        widths = rng.laplace(0, scale, (200_000, len(past))) @ past  # near enough to its law
        reach = np.quantile(np.abs(widths), each)
        told = found.total_interval(level)
        assert told[0] == low
        # In parts of the reach: the middle may be of either sign, and all but take it away.
        assert told[1] - high == pytest.approx(max(middle + reach, 0), abs=0.03 * reach)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_all_that_is_drawn_is_what_was_paid_for(
    ledger: tu.Ledger, neighbours: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every draw of one charge is recorded: their ε add up to it, and each has the relation."""
    drawn: list[tu.Measurement] = []

    def recording(*given: Any, **options: Any) -> tu.Measurement:
        drawn.append(measure_all(*given, **options))
        return drawn[-1]

    monkeypatch.setattr(bounding, "measure_all", recording)
    rows = table(np.full(200, 4), np.random.default_rng(1))
    owner = tu.Owner(rows, ledger, unit="user", rows_per_unit="auto", at_most=30)
    told = owner.measure(tu.CellCounts(HOUR), "1/3", neighbours=neighbours, by="ana")
    people, counts = drawn
    assert people.epsilon + counts.epsilon == Fraction(1, 3) == ledger.spent
    assert {each.neighbours for each in drawn} == {neighbours}
    assert (people.rows_per_unit, counts.rows_per_unit) == (1, told.rows_per_unit)
    assert told.facts.bound is not None
    assert told.facts.bound.people == tuple(people.noisy.tolist())
    assert told.facts.bound.epsilon == people.epsilon
    assert told.noisy.tolist() == counts.noisy.tolist()
    assert left_out(told).sizes.noise == people.noise
    assert ledger.history()[-1].by == "ana"


def test_the_bound_is_of_the_rows_that_the_filter_keeps(tmp_path: Path) -> None:
    """Without noise to speak of: the histogram is that of kept rows, and so are the counts."""
    users = np.repeat(np.arange(300), 12)
    rows = pa.table({"user": users, "hour": users % 100, "kept": np.arange(len(users)) % 4 == 0})
    ledger = tu.Ledger(tmp_path / "l", limit=10**6)
    owner = tu.Owner(
        rows.set_column(2, "kept", rows["kept"].cast(pa.int8())),
        ledger, unit="user", rows_per_unit="auto", at_most=20,
    )  # fmt: skip
    found = left_out(owner.measure(tu.CellCounts(HOUR), 1_000, "k", where="kept = 1"))
    assert found.chosen.people[2] == 300 == sum(found.chosen.people)
    assert found.capped().value == 900
    other = tu.bounded(owner, tu.CellCounts(HOUR), 1_000, at_most=20, key="k", where="kept = 1")
    assert other.measurement == found.measurement
    for changed in (
        {"where": None}, {"where": "kept = 0"}, {"where": "kept = 1", "share": "1/7"},
        {"where": "kept = 1", "at_most": 21}, {"where": "kept = 1", "neighbours": "replace"},
    ):  # fmt: skip
        how: Any = {"at_most": 20, "key": "k", **changed}
        with pytest.raises(tu.InputError, match="different request"):
            tu.bounded(owner, tu.CellCounts(HOUR), 1_000, **how)
    assert len(ledger.charges) == 1


@pytest.mark.parametrize(
    ("epsilon", "at_most", "share"),
    [
        ("1e-6", 10**9, None),  # too much noise with the largest bound
        ("1400", 20, None),  # too little with a bound of one row, though not with the largest
        ("1", 20, "1e-10"),  # too much in the histogram
        ("1100", 20, "99/100"),  # too little in the histogram, though not in the counts
    ],
)
def test_noise_of_the_histogram_and_of_any_bound_is_tried_before_the_charge(
    tmp_path: Path, epsilon: str, at_most: int, share: str | None
) -> None:
    """What can be drawn does not depend on the bound that the data lead to."""
    ledger = tu.Ledger(tmp_path / "x.ledger", limit=10**6)
    rows = table(np.full(20, 4), np.random.default_rng(1))
    cells = tu.CellCounts(tu.Axis.integers("hour", 0, 3))
    auto = tu.Owner(rows, ledger, unit="user", rows_per_unit="auto", at_most=at_most)
    asked = [lambda: tu.bounded(auto, cells, epsilon, at_most=at_most, share=share)]
    if share is None:
        asked += [
            lambda: auto.measure(cells, epsilon),
            lambda: auto.check(cells, epsilon),
            lambda: tu.publish(
                rows, cells, epsilon, unit="user", rows_per_unit="auto", at_most=at_most
            ),
        ]
    for each in asked:
        with pytest.raises(tu.InputError, match="noise scale must lie between"):
            each()
    assert ledger.spent == 0
    auto.check(cells, 1) if at_most == 20 else None
    tu.bounded(auto, cells, "1e-6" if at_most > 20 else 1, at_most=20)
    assert ledger.spent > 0


@pytest.mark.parametrize("bound", range(1, 9))
def test_no_bound_makes_a_scale_that_is_refused(
    ledger: tu.Ledger, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long its digits are: with an even bound those of this cost cancel."""
    monkeypatch.setattr(bounding, "chosen_bound", lambda *_: bound)
    rows = table(np.full(20, 4), np.random.default_rng(1))
    cells = tu.CellCounts(tu.Axis.integers("hour", 0, 3))
    auto = tu.Owner(rows, ledger, unit="user", rows_per_unit="auto", at_most=8)
    long = 2 * 10**99 + 7
    found = auto.measure(cells, Fraction(4 * (long + 1), 3 * long))
    assert found.noise.scales == (Fraction(bound * long, long + 1),)


@pytest.mark.parametrize("bound", [1, 3, 20])
def test_counts_are_those_of_kept_rows_up_to_the_bound(
    tmp_path: Path, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By going through people, without noise to speak of: each is in an hour of their own."""
    monkeypatch.setattr(bounding, "chosen_bound", lambda *_: bound)
    rng = np.random.default_rng(bound)
    users = rng.permutation(np.repeat(np.arange(100), np.minimum(rng.geometric(0.15, 100), 20)))
    kept = rng.random(len(users)) < 0.6
    rows = pa.table({"user": users, "hour": users, "kept": kept.astype(np.int8)})
    ledger = tu.Ledger(tmp_path / "l", limit=10**6)
    owner = tu.Owner(rows, ledger, unit="user", rows_per_unit="auto", at_most=20)
    for where, among in (("kept = 1", kept), (None, np.ones(len(users), bool))):
        found = owner.measure(tu.CellCounts(HOUR), 900, where=where)
        each = np.bincount(users[among], minlength=100)
        assert found.noisy.tolist() == np.minimum(each, bound).tolist()
        assert found.rows_per_unit == bound
        histogram = np.histogram(each, ends_of(20))[0]
        assert found.facts.bound is not None
        assert found.facts.bound.people == tuple(histogram.tolist())
    told = tu.publish(rows, tu.CellCounts(HOUR), 900, unit="user", rows_per_unit="auto", at_most=20)
    assert told.counts().tolist() == np.minimum(np.bincount(users), bound).tolist()


def ends_of(at_most: int) -> np.ndarray:
    """Where the cells of the histogram begin, and where the last one ends."""
    axis = rows_axis("rows", at_most)
    return axis.positions(np.arange(axis.size + 1))


def test_the_ledger_is_told_all_that_was_asked(ledger: tu.Ledger) -> None:
    rows = table(np.full(20, 4), np.random.default_rng(1))
    owner = tu.Owner(rows, ledger, unit="user", rows_per_unit="auto", at_most=20)
    cells: Any = tu.CellCounts(HOUR)
    owner.measure(cells, 1, where="hour < 50", neighbours="replace")
    assert json.loads(ledger.history()[-1].request) == {
        "question": cells.to_json(),
        "neighbours": "replace",
        "unit": "user",
        "rows_per_unit": "auto",
        "at_most": 20,
        "share": str(share_for(cells, "replace")),
        "where": "hour < 50",
        "source": owner.source,
    }
    with pytest.raises(tu.LedgerError, match="replace neighbours"):
        owner.measure(cells, 1, neighbours="add-remove")


def test_more_is_spent_on_the_choice_the_fewer_cells_there_are() -> None:
    """0.7 over the root of the noise of all cells at ε = 1, and 0.3 at ρ = 1/2; 1/50 to 1/4."""
    for cells, relation, epsilon, rho in (
        (4, "add-remove", "1/4", "0.17"),
        (25, "add-remove", "7/50", "0.07"),
        (25, "replace", "0.1", "0.0565"),
        (100, "add-remove", "7/100", "1/30"),
        (5_000, "add-remove", "1/50", "1/50"),
    ):
        question = tu.CellCounts(tu.Axis.integers("x", 1, cells))
        for notion, wanted in (("epsilon", epsilon), ("rho", rho)):
            found = share_for(question, cast(Any, relation), cast(Any, notion))
            assert float(found) == pytest.approx(float(Fraction(wanted)), rel=0.1)
            assert Fraction(1, 50) <= found <= Fraction(1, 4)


def test_rows_left_out_are_those_of_people_in_the_middle_of_their_cells() -> None:
    """As of a noisy histogram that is known: each person of a cell has the mean of its rows."""
    rng = np.random.default_rng(8)
    rows = np.minimum(np.ceil(rng.pareto(1.1, 4_000) + 0.01), MOST)
    found = of_people(rows, tu.CellCounts(HOUR), rng)
    edges = ends_of(MOST)
    past = np.maximum((edges[:-1] + edges[1:] - 1) / 2 - found.bound, 0)
    told = found.not_counted()
    assert told.value == pytest.approx(past @ np.array(found.chosen.people))
    assert told.std_error == pytest.approx(
        np.sqrt((past**2).sum() * found.sizes.noise.variances[0])
    )


def test_noise_below_0_past_the_bound_takes_nothing_off_what_is_counted() -> None:
    """No number of people is negative: there are at least as many rows as count."""
    made = of_people(np.full(500, 3.0), tu.CellCounts(HOUR), np.random.default_rng(9)).measurement
    assert made is not None
    assert made.bound is not None
    noisy = tuple(-(10**6) for _ in made.bound.people)
    found = left_out(replace(made, bound=replace(made.bound, people=noisy)))
    assert found.not_counted().value < -(10**6)
    assert found.total_interval() == found.capped().interval(0.975)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_statement_is_no_narrower_than_the_intervals_behind_it(level: float) -> None:
    rng, tree = np.random.default_rng(10), tu.TreeCounts(HOUR, branching=10)
    for _ in range(5):
        found = of_people(np.ceil(rng.lognormal(1, 1, 300)).clip(1, MOST), tree, rng)
        said = re.findall(r"(-?[\d,]+) to (-?[\d,]+) rows in all", found.statement(level))
        ends = [tuple(int(end.replace(",", "")) for end in each) for each in said]
        for (low, high), exact in zip(
            ends, (found.capped().interval(level), found.total_interval(level)), strict=True
        ):
            assert low <= exact[0] < low + 1
            assert high - 1 < exact[1] <= high


def test_a_histogram_of_an_experiment_is_not_private() -> None:
    rng = np.random.default_rng(9)
    made = of_people(np.full(500, 3.0), tu.CellCounts(HOUR), rng).measurement
    assert made is not None
    for private in (True, False):
        assert left_out(replace(made, private=private)).sizes.private is private


def test_a_stored_answer_that_is_not_private_is_not_handed_out(
    ledger: tu.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = measure_for_experiment(np.zeros(100, int), tu.CellCounts(HOUR), 1, 1).to_bytes()
    monkeypatch.setattr(tu.Ledger, "recall", lambda *_, **__: stored)
    rows = table(np.full(20, 4), np.random.default_rng(1))
    owner = tu.Owner(rows, ledger, unit="user", rows_per_unit=1)
    with pytest.raises(tu.TrueupError, match="NOT PRIVATE"):
        tu.bounded(owner, tu.CellCounts(HOUR), 1, at_most=20)


def test_what_has_no_bound_is_refused_before_anything_is_spent(
    tmp_path: Path, ledger: tu.Ledger
) -> None:
    rows = pa.table({"user": [1, 1, 2], "hour": [3, 4, 5]})
    owner = tu.Owner(rows, ledger, unit="user", rows_per_unit=1)
    cells = tu.CellCounts(HOUR)
    wrong: list[tuple[Any, ...]] = [
        (tu.Owner(rows, ledger), cells, 1, {"at_most": 9}, "unit names people"),
        (owner, cells, 1, {"at_most": 1}, "between 2 and"),
        (owner, cells, 1, {"at_most": 9, "share": 1}, "below 1"),
        (owner, cells, 0, {"at_most": 9}, "must be positive"),
        (owner, tu.SortedCounts(5, by="hour"), 1, {"at_most": 9}, "counts over axes"),
        (owner, tu.TreeCounts(HOUR, adaptive=True), 1, {"at_most": 9}, "leave out"),
        (owner, cells, 1_001, {"at_most": 9}, "is left"),
        (owner, tu.CellCounts(tu.Axis.integers("age", 0, 9)), 1, {"at_most": 9}, "no column"),
    ]
    auto = tu.Owner(rows, ledger, unit="user", rows_per_unit="auto", at_most=9)
    for asked in (
        lambda: auto.measure(tu.SortedCounts(5, by="hour"), 1),
        lambda: auto.measure(cells, rho=1),  # in a ledger that counts epsilon
        lambda: auto.check(tu.TreeCounts(HOUR, adaptive=True), 1),
        lambda: auto.count_groups("hour", 1),
        lambda: auto.keys,
        lambda: tu.publish([1, 2], HOUR, 1, unit="user", rows_per_unit="auto", at_most=9),
    ):
        with pytest.raises(tu.InputError):
            asked()
    for door, question, epsilon, options, words in wrong:
        with pytest.raises(tu.TrueupError, match=words):
            tu.bounded(door, question, epsilon, **options)
    assert ledger.spent == 0


def test_a_bound_is_chosen_for_a_part_of_rho(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    rows = np.where(rng.random(3_000) < 0.1, 40, 2)
    frame, ledger = table(rows, rng), tu.Ledger(tmp_path / "rho.ledger", rho=10 * RHO)
    owner = tu.Owner(frame, ledger, unit="user", rows_per_unit="auto", at_most=MOST)
    release = owner.publish(HOUR, rho=RHO)
    once = tu.publish(frame, HOUR, rho=RHO, unit="user", rows_per_unit="auto", at_most=MOST)
    assert ledger.spent == RHO
    for each in (release, once):
        found = left_out(each)
        assert 36 <= found.bound <= 50
        assert each.facts.whole_rho == RHO == each.facts.rho + found.chosen.rho
        # The variance is that of as many rows as count, by what is left of rho.
        (scale,) = each.facts.noise.scales[:1]
        share = each.facts.question.square_price()
        assert scale == share * found.bound**2 / 2 / each.facts.rho / each.facts.question.squares[0]
        assert found.sizes.noise.scales == (1 / (2 * found.chosen.rho),)
        assert "chosen for ρ = " in repr(found)
        low, high = found.total_interval(0.999999999)
        assert low <= rows.sum() <= high
        each.save(tmp_path / "x.parquet")
        assert tu.load(tmp_path / "x.parquet").facts == each.facts
    facts = release.facts
    with pytest.raises(tu.InputError, match="in the same notion"):
        replace(facts, bound=replace(facts.bound, rho=None, epsilon=Fraction(1)))
    assert total_cost(facts).rho == RHO
    twice = Facts.together([facts, facts])
    assert twice.rho == 2 * RHO


def test_a_bound_is_chosen_for_the_rows_of_each_period(tmp_path: Path) -> None:
    """Of each day so many rows of a person: a day's histogram, and a day's charge."""
    rng = np.random.default_rng(7)
    parts = []
    for day, most in ((1, 40), (2, 3)):
        part = table(np.where(rng.random(3_000) < 0.1, most, 2), rng)
        dates = pa.array([dt.date(2026, 3, day)] * len(part))
        parts.append(part.append_column("day", dates))
    ledger = tu.Ledger(tmp_path / "days.ledger", limit=5 * SURE, per="day", date="day")
    owner = tu.Owner(
        pa.concat_tables(parts), ledger, unit="user", rows_per_unit="auto", at_most=MOST
    )
    found = {}
    for days in (["2026-03-01"], ["2026-03-02"], ["2026-03-01", "2026-03-02"]):
        release = owner.publish(HOUR, SURE, period=days)
        found[len(found)] = left_out(release)
        assert release.facts.period.names == tuple(days)
        assert found[len(found) - 1].sizes.facts.period == release.facts.period
    assert 36 <= found[0].bound <= 50
    assert found[1].bound == 3
    # Over both days a person is counted in each: as many people as there are pairs.
    people = [each.rows_per_person.total().value for each in found.values()]
    assert people[2] == pytest.approx(people[0] + people[1], abs=20)
    assert people[2] == pytest.approx(6_000, abs=20)
    assert [ledger.spent_in(f"2026-03-0{day}") for day in (1, 2)] == [2 * SURE, 2 * SURE]
    with pytest.raises(tu.InputError, match="say which is asked about"):
        owner.publish(HOUR, 1)
    # A key pays once for its period.
    again = [owner.measure(tu.CellCounts(HOUR), 1, "k", period="2026-03-01") for _ in range(2)]
    assert again[0] == again[1]
    assert ledger.spent_in("2026-03-01") == 2 * SURE + 1
