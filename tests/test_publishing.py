"""Publishing in one call: what is counted, what is asked, and what comes back."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trueup as tu
from trueup import publishing

AGE = tu.Axis.integers("age", 0, 99)
SEX = tu.Axis.categories("sex", ["f", "m"])
HARDLY_NOISY = 500  # noise is 0, but for a chance of e^-25
VALUES = np.random.default_rng(3).integers(-5, 110, 3_000)
TRUTH = np.bincount(VALUES[(VALUES >= 0) & (VALUES < 100)], minlength=100)


@pytest.mark.parametrize(
    "data",
    [
        VALUES,
        VALUES.tolist(),
        pd.Series(VALUES),
        pl.Series(VALUES),
        pd.DataFrame({"x": 0, "age": VALUES}),
        pl.DataFrame({"age": VALUES}),
        pa.table({"age": VALUES}),
    ],
    ids=lambda data: type(data).__module__.partition(".")[0] + " " + type(data).__name__,
)
def test_values_are_counted_wherever_they_are(data):
    release = tu.publish(data, AGE, epsilon=HARDLY_NOISY)
    assert release.counts().dtype == np.int64
    assert release.counts().tolist() == TRUTH.tolist()


def test_beside_a_question_an_array_is_the_counts():
    release = tu.publish(TRUTH, tu.CellCounts(AGE), epsilon=HARDLY_NOISY)
    assert release.counts().tolist() == TRUTH.tolist()
    frame = pd.DataFrame({"age": VALUES})
    assert tu.publish(frame, tu.TreeCounts(AGE), HARDLY_NOISY).counts().tolist() == TRUTH.tolist()


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 3])
def test_the_question_is_the_best_of_the_plan(epsilon):
    shown = tu.publish(VALUES, AGE, epsilon=epsilon)
    assert shown.facts.question.anew == tu.plan(AGE, epsilon, nonnegative=True).best
    assert shown.facts.inferred.startswith("non-negative whole numbers")
    plain = tu.publish(VALUES, AGE, epsilon=epsilon, nonnegative=False)
    assert plain.facts.question == tu.plan(AGE, epsilon).best
    assert plain.facts.inferred == "least squares"
    assert plain.counts().dtype == np.float64


def test_false_asks_at_once_and_so_do_a_rho_a_chosen_bound_and_a_folder(tmp_path):
    at_once = tu.plan(AGE, 1, nonnegative=True)["for non-negative counts"].question
    assert tu.publish(VALUES, AGE, 1, adaptive=False).facts.question == at_once
    assert tu.publish(VALUES, AGE, rho=1).facts.question == at_once
    rows = pa.table({"user": [1, 1, 2, 3], "age": [3, 5, 8, 9]})
    bound = {"unit": "user", "rows_per_unit": "auto", "at_most": 5}
    assert tu.publish(rows, AGE, 1, **bound).facts.question == at_once
    with pytest.raises(tu.InputError, match="leave out adaptive=True"):
        tu.publish(rows, AGE, 1, adaptive=True, **bound)
    many = tu.Axis.integers("age", 0, 9_999)
    for number, adaptive in enumerate((None, False)):
        found = tu.publish(VALUES, many, 1, adaptive=adaptive, to=tmp_path / str(number))
        assert found.facts.question == tu.TreeCounts(many)


def test_several_axes_make_a_grid():
    sex = np.where(VALUES % 3 == 0, "f", "m")
    frame = pd.DataFrame({"age": VALUES, "sex": sex})
    release = tu.publish(frame, [AGE, SEX], epsilon=HARDLY_NOISY)
    women = VALUES[(sex == "f") & (VALUES >= 0) & (VALUES < 100)]
    assert release.counts()[:, 0].tolist() == np.bincount(women, minlength=100).tolist()


def test_sorted_counts_of_a_column():
    frame = pd.DataFrame({"user": ["a", "b", "a", "c", "a"]})
    release = tu.publish(frame, tu.SortedCounts(4, by="user"), epsilon=HARDLY_NOISY)
    assert release.counts().tolist() == [0, 1, 1, 3]


def test_one_group_more_than_declared_raises_nothing():
    """An error would tell that there are more: the largest are kept, in a table and in a column."""
    frame = pd.DataFrame({"user": ["a", "b", "a", "c", "a", "b"]})
    question = tu.SortedCounts(2, by="user")
    for data in (frame, frame["user"]):
        assert tu.publish(data, question, epsilon=HARDLY_NOISY).counts().tolist() == [2, 3]


def test_a_units_rows_are_bounded():
    frame = pd.DataFrame({"user": ["a"] * 1_000 + ["b"], "age": [3] * 1_000 + [4]})
    release = tu.publish(frame, AGE, HARDLY_NOISY, unit="user", rows_per_unit=2)
    assert release.counts()[[3, 4]].tolist() == [2, 1]
    assert release.facts.unit == "user"
    assert (
        release.facts.noise.scales == tu.publish(VALUES, AGE, HARDLY_NOISY / 2).facts.noise.scales
    )


@pytest.mark.parametrize("large", [1, publishing.LARGE])
def test_a_units_rows_are_bounded_in_one_pass_too(large, monkeypatch):
    monkeypatch.setattr(publishing, "LARGE", large)
    users = np.random.default_rng(4).integers(0, 100, 1_500)
    frame = pd.DataFrame({"user": users, "age": users})
    few = {"unit": "user", "rows_per_unit": 3}
    release = tu.publish(frame, tu.CellCounts(AGE), 3 * HARDLY_NOISY, **few)
    assert release.counts().tolist() == np.minimum(np.bincount(users, minlength=100), 3).tolist()
    assert release.facts.noise.scales == (Fraction(1, HARDLY_NOISY),)
    with pytest.raises(tu.InputError, match="a column for the unit"):
        tu.publish(users, AGE, 1, **few)


def test_every_release_has_an_id_of_its_own(monkeypatch):
    """By which noise that two numbers share is told from noise that they do not."""
    ids = []
    for large in (1, publishing.LARGE):
        monkeypatch.setattr(publishing, "LARGE", large)
        ids += [tu.publish(TRUTH, tu.CellCounts(AGE), 1).facts.id for _ in range(3)]
    assert len(set(ids)) == 6
    assert all(len(bytes.fromhex(each)) == 16 for each in ids)


def test_both_sides_of_the_large_threshold_obey_one_law(monkeypatch):
    """The same counts by the ordinary way and in one pass: no noise to speak of, same answers."""
    counts = np.random.default_rng(1).integers(0, 9, 4_096)
    question = tu.TreeCounts(4_096)
    for nonnegative in (True, False):
        found = []
        for large in (4_096, 4_097):
            monkeypatch.setattr(publishing, "LARGE", large)
            found.append(tu.publish(counts, question, HARDLY_NOISY, nonnegative=nonnegative))
        one, other = found
        assert one.facts.inferred == other.facts.inferred
        assert one.facts.noise == other.facts.noise
        np.testing.assert_allclose(one.counts(), other.counts(), atol=1e-6)


@pytest.mark.parametrize(
    ("data", "over", "told"),
    [
        (VALUES, "age", "needs an Axis"),
        (VALUES, [], "needs an Axis"),
        (VALUES, [AGE, SEX], "need a table with these columns"),
        (pd.DataFrame({"Age": [1]}), AGE, "no column 'age'"),
        (pd.DataFrame({"a": [1]}), tu.SortedCounts(4), "Name the column that has the groups"),
    ],
)
def test_a_bad_request_is_refused(data, over, told):
    with pytest.raises(tu.TrueupError, match=told):
        tu.publish(data, over, epsilon=1)


@pytest.mark.parametrize("to", [None, "out"])
def test_values_alone_say_neither_whose_they_are_nor_where_on_a_second_axis(to, tmp_path):
    """Nobody bounds the rows of a unit that no column names: the noise would not hide her."""
    place = {} if to is None else {"to": tmp_path / to}
    table = tu.GridCounts(tu.CellCounts(SEX), tu.TreeCounts(AGE))
    for data, over in ((VALUES, AGE), (pd.Series(VALUES), tu.TreeCounts(AGE))):
        with pytest.raises(tu.InputError, match="a column for the unit"):
            tu.publish(data, over, 1, unit="user", rows_per_unit=3, **place)
    with pytest.raises(tu.InputError, match="need a table with these columns"):
        tu.publish(pd.Series(["f", "m"]), table, 1, **place)
    assert not list(tmp_path.iterdir())
    given = tu.publish(TRUTH, tu.TreeCounts(AGE), 1, unit="user", rows_per_unit=3, **place)
    assert given.facts.rows_per_unit == 3  # of counts, who counted answers for the bound


def test_publish_stays_a_function_once_it_was_used():
    assert callable(tu.publish)
    tu.publish([1], AGE, epsilon=1)
    assert callable(tu.publish)


def test_an_owner_publishes_through_the_ledger(tmp_path):
    ledger = tu.Ledger(tmp_path / "ages.ledger", limit=1000)
    owner = tu.Owner(pd.DataFrame({"age": VALUES}), ledger)
    release = owner.publish(AGE, HARDLY_NOISY, key="ages")
    assert release.counts().tolist() == TRUTH.tolist()
    assert release.facts.question.anew == tu.plan(AGE, HARDLY_NOISY, nonnegative=True).best
    assert owner.publish(AGE, HARDLY_NOISY, key="ages").facts.id == release.facts.id
    assert ledger.spent == HARDLY_NOISY
    young = owner.publish(AGE, 100, where="age < 20", nonnegative=False)
    assert young.facts.inferred == "least squares"
    assert abs(young.total().value - TRUTH[:20].sum()) < 5


def test_a_key_that_paid_when_trees_were_asked_at_once_still_has_its_answer(tmp_path):
    ledger = tu.Ledger(tmp_path / "ages.ledger", limit=3)
    owner = tu.Owner(pd.DataFrame({"age": VALUES}), ledger)
    before = owner.publish(AGE, 1, key="ages", adaptive=False)
    again = owner.publish(AGE, 1, key="ages")
    assert again.facts == before.facts
    assert again.counts().tolist() == before.counts().tolist()
    assert ledger.spent == 1
    for other in ({"adaptive": True}, {"where": "age > 3"}, {"nonnegative": False}):
        with pytest.raises(tu.errors.KeyConflictError):
            owner.publish(AGE, 1, key="ages", **other)
    with pytest.raises(tu.errors.KeyConflictError):
        owner.publish(AGE, 2, key="ages")
    owner.publish(AGE, 1, key="new")
    with pytest.raises(tu.errors.KeyConflictError):  # nor the other way round
        owner.publish(AGE, 1, key="new", adaptive=False)
    assert ledger.spent == 2


def test_adaptive_is_one_word_away(tmp_path):
    axis = tu.Axis.integers("x", 0, 999)
    values = np.repeat([100, 101, 900], [3000, 5000, 2000])
    release = tu.publish(values, axis, epsilon=1, adaptive=True)
    assert release.facts.question.anew == tu.TreeCounts(axis, adaptive=True)
    assert release.facts.question.settled
    assert release.counts().dtype == np.int64
    assert release.counts().min() >= 0
    assert abs(release.range(100, 102).value - 8000) < 500
    ledger = tu.Ledger(tmp_path / "x.ledger", limit=1)
    owner = tu.Owner(pd.DataFrame({"x": values}), ledger)
    folder = tmp_path / "folder"
    with pytest.raises(tu.InputError, match="made in memory: leave out to="):
        tu.publish(values, axis, epsilon=1, adaptive=True, to=folder)
    with pytest.raises(tu.InputError, match="made in memory: leave out to="):
        owner.publish(axis, epsilon=1, adaptive=True, to=folder)
    with pytest.raises(tu.InputError, match="goes with an axis"):
        owner.publish(tu.CellCounts(axis), epsilon=1, adaptive=True)
    assert ledger.remaining == 1  # what is refused costs nothing
    own = owner.publish(axis, epsilon=1, adaptive=True, key="once")
    assert own.facts.question.anew == tu.TreeCounts(axis, adaptive=True)
    assert ledger.remaining == 0
    again = owner.publish(axis, epsilon=1, adaptive=True, key="once")
    assert again.counts().tolist() == own.counts().tolist()


def test_which_rows_of_a_unit_count_is_drawn_anew_for_each_release():
    """And never by what others could know: a hash of the rows under a key of this release."""
    rows = pa.table({"user": [1] * 4, "age": [3, 5, 8, 9]})
    asked = {"unit": "user", "rows_per_unit": 1}
    chosen = [
        int(tu.publish(rows, tu.CellCounts(AGE), HARDLY_NOISY, **asked).counts().argmax())
        for _ in range(40)
    ]
    # One value alone comes with a chance of 4^-39, and one of the four never with 4 · (3/4)^40.
    assert set(chosen) <= {3, 5, 8, 9}
    assert len(set(chosen)) > 1


def test_a_bound_that_is_chosen_does_not_go_to_a_folder(tmp_path):
    rows = pa.table({"user": [1] * 4, "age": [3, 5, 8, 9]})
    with pytest.raises(tu.InputError, match="rows_per_unit=3"):
        tu.publish(
            rows, AGE, 1, unit="user", rows_per_unit="auto", at_most=5, to=tmp_path / "release"
        )
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        pa.table({"other": [1, 2]}),
        pa.table({"age": ["a", "b"]}),
        np.array([1, 2, 3]),
    ],
    ids=["no such column", "text", "too few counts"],
)
def test_a_refused_release_leaves_no_folder(tmp_path, wrong):
    """What is wrong with the data is found before anything is drawn: the place stays free."""
    with pytest.raises(tu.TrueupError):
        tu.publish(wrong, tu.CellCounts(AGE), 1, to=tmp_path / "release")
    assert not list(tmp_path.iterdir())
    other = tu.CellCounts(tu.Axis.integers("age", 0, 1))
    tu.publish(pa.table({"age": [0, 1]}), other, 1, to=tmp_path / "release")
    assert [place.name for place in tmp_path.iterdir()] == ["release"]


def test_a_lazy_table_is_published_without_planning_it_twice() -> None:
    table = pl.LazyFrame({"age": [1, 2, 2]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = tu.publish(table, tu.Axis.integers("age", 0, 9), epsilon=1000)
    assert release.counts().tolist() == [0, 1, 2, 0, 0, 0, 0, 0, 0, 0]
