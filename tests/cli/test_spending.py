from __future__ import annotations

import shlex
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.cli import app
from trueup.owner import Ledger

Run = Callable[..., Any]

AXIS = ("--column", "age", "--integers", 0, 99)
PAY = ("--epsilon", "1/4", "--ledger", "a.ledger", "--limit", "1", "--yes")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    draw = np.random.default_rng(5)
    table = {
        "age": draw.integers(0, 100, 2000),
        "user": draw.integers(0, 300, 2000),
        "sex": draw.choice(["F", "M"], 2000),
        "a": draw.integers(0, 50, 2000),
        "b": draw.integers(0, 50, 2000),
    }
    pq.write_table(pa.table(table), tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def left(tmp_path: Path) -> Fraction:
    return Ledger(tmp_path / "a.ledger").remaining


def test_measure_charges_the_ledger_and_saves(run: Run, people: Path, tmp_path: Path) -> None:
    ran = run("measure", people, *AXIS, *PAY, "-o", "m.parquet", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["remaining"] == "3/4"
    assert left(tmp_path) == Fraction(3, 4)
    measured = tu.load(tmp_path / "m.parquet")
    assert isinstance(measured, tu.Measurement)
    assert measured.epsilon == Fraction(1, 4)
    assert tu.infer(measured).total().value == pytest.approx(2000, abs=500)


def test_rho_is_charged_to_a_ledger_that_counts_it(run: Run, people: Path, tmp_path: Path) -> None:
    pay = ("--ledger", "r.ledger", "--limit-rho", "1/2", "--yes")
    ran = run("measure", people, *AXIS, "--rho", "1/200", *pay, "-o", "m.parquet")
    assert ran.code == 0, ran.err
    shown = tu.Cost.of(rho="1/200").shown_at("1e-6").rounded
    assert f"cost      rho 1/200 (as (ε, δ): {shown}); 1/2 is left" in ran.out
    measured = tu.load(tmp_path / "m.parquet")
    assert isinstance(measured, tu.Measurement)
    assert (measured.rho, measured.epsilon) == (Fraction(1, 200), None)
    assert tu.infer(measured).total().value == pytest.approx(2000, abs=500)
    ran = run("measure", people, *AXIS, "--epsilon", "1/10", *pay, "-o", "n.parquet", "--json")
    assert (ran.json["epsilon"], ran.json["rho"]) == ("1/10", "1/200")
    assert ran.json["remaining"] == "49/100"
    words = run("measure", people, *AXIS, "--epsilon", "1/10", *pay, "-o", "o.parquet").out
    assert "cost      epsilon 1/10, which is rho 1/200 (" in words
    refused = run("measure", people, *AXIS, "--rho", "1/200", *PAY[2:], "-o", "p.parquet")
    assert (refused.code, "the ledger counts epsilon" in refused.err) == (1, True)
    both = run("measure", people, *AXIS, "--rho", "1", "--epsilon", "1", *pay, "-o", "p.parquet")
    assert (both.code, "one of the two" in both.err) == (1, True)
    assert not (tmp_path / "p.parquet").exists()


def test_a_dataset_whose_ledger_counts_rho_goes_by_its_name(
    run: Run, people: Path, tmp_path: Path
) -> None:
    (tmp_path / "trueup.toml").write_text(
        '[datasets.people]\nsource = "people.parquet"\nledger = "p.ledger"\nrho = "1/2"\n'
        'delta_limit = "1e-9"\n[datasets.people.axes.age]\nkind = "integers"\nfirst = 0\n'
        "last = 99\n"
    )
    ran = run("measure", "people", "--rho", "1/200", "--yes", "-o", "m.parquet", "--json")
    assert ran.json["remaining"] == "99/200", ran.err
    assert Ledger(tmp_path / "p.ledger").balance.limit.delta == Fraction(1, 10**9)


def test_cost_remainder_and_expected_error_come_first(run: Run, people: Path) -> None:
    words = run("measure", people, *AXIS, *PAY, "-o", "m.parquet").out.splitlines()
    assert "epsilon 1/4; 1 is left" in words[0]
    assert any("on one cell, 95 times in 100" in line for line in words)
    assert words[-1].endswith("3/4 is left")


def test_expected_error_is_what_the_release_reports(run: Run, people: Path, tmp_path: Path) -> None:
    expected = run("measure", people, *AXIS, *PAY, "-o", "m.parquet", "--json").json["expected"]
    total = tu.infer(tu.load(tmp_path / "m.parquet")).total()
    low, high = total.interval(0.95)
    assert expected[-1]["within"] == pytest.approx((high - low) / 2)


def test_nothing_is_spent_on_what_cannot_be_saved(run: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.parquet").mkdir()
    run("ledger", "limit", "a.ledger", "1")
    for place in ("nowhere/m.parquet", "folder.parquet", "m.csv"):
        ran = run("measure", people, *AXIS, *PAY, "-o", place)
        assert ran.code == 1
        assert "Cannot write" in ran.err or "must end in .parquet or .json" in ran.err
    assert left(tmp_path) == 1


def test_who_stops_a_measurement_is_told_how_to_have_it(
    run: Run, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The charge is on disk before noise is drawn, so that Ctrl-C may come after it."""

    def stopped(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(tu.Measurement, "save", stopped)
        ran = run("measure", people, *AXIS, *PAY, "-o", "m.parquet")
    assert ran.code == 130
    assert left(tmp_path) == Fraction(3, 4)
    assert not (tmp_path / "m.parquet").exists()
    key = ran.err.split("--key ")[1].split(".")[0]
    again = run("measure", people, *AXIS, *PAY, "-o", "m.parquet", "--key", key)
    assert (again.code, left(tmp_path)) == (0, Fraction(3, 4))
    assert (tmp_path / "m.parquet").exists()


def test_nothing_is_spent_without_a_yes(run: Run, people: Path, tmp_path: Path) -> None:
    ran = run("measure", people, *AXIS, *PAY[:-1], "-o", "m.parquet")
    assert ran.code == 1
    assert "--yes" in ran.err
    assert left(tmp_path) == 1
    assert not (tmp_path / "m.parquet").exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--column", "agee", "--integers", 0, 99), "no column 'agee'"),
        (("--column", "sex", "--integers", 0, 99), "holds text"),
        ((*AXIS, "--where", "agee > 3"), "agee"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anybody_is_asked_to_spend(
    run: Run, people: Path, tmp_path: Path, wrong: tuple[object, ...], said: str
) -> None:
    ran = run("measure", people, *wrong, *PAY[:-1], "-o", "m.parquet")
    assert ran.code == 1
    assert said in ran.err
    assert "cost" not in ran.out
    assert "Nobody is there to be asked" not in ran.err
    assert left(tmp_path) == 1


def test_what_a_key_paid_for_is_answered_whatever_became_of_the_table(
    run: Run, people: Path, tmp_path: Path
) -> None:
    first = run("measure", people, *AXIS, *PAY, "--key", "k", "-o", "m.parquet")
    assert first.code == 0, first.err
    paid = (tmp_path / "m.parquet").read_bytes()
    (tmp_path / "m.parquet").unlink()
    pq.write_table(pa.table({"years": [1, 2]}), people)
    again = run("measure", people, *AXIS, *PAY, "--key", "k", "-o", "m.parquet")
    assert again.code == 0, again.err
    assert (tmp_path / "m.parquet").read_bytes() == paid
    assert left(tmp_path) == Fraction(3, 4)


def test_the_budget_is_kept(run: Run, people: Path, tmp_path: Path) -> None:
    dear = ("--epsilon", "2", "--ledger", "a.ledger", "--limit", "1", "--yes")
    ran = run("measure", people, *AXIS, *dear, "-o", "m.parquet")
    assert ran.code == 3
    assert "This costs 2" in ran.err
    assert left(tmp_path) == 1


def test_the_same_key_pays_once(run: Run, people: Path, tmp_path: Path) -> None:
    for name in ("m.parquet", "again.parquet"):
        assert run("measure", people, *AXIS, *PAY, "--key", "k", "-o", name).code == 0
    assert left(tmp_path) == Fraction(3, 4)
    assert tu.load(tmp_path / "m.parquet") == tu.load(tmp_path / "again.parquet")


def test_units_filters_sorted_counts_and_degrees(run: Run, people: Path, tmp_path: Path) -> None:
    unit = ("--unit", "user", "--rows-per-unit", 2)
    where = ("--where", "sex = 'F'")
    assert run("measure", people, *AXIS, *PAY, *unit, *where, "-o", "u.parquet").code == 0
    measured = tu.load(tmp_path / "u.parquet")
    assert (measured.unit, measured.rows_per_unit) == ("user", 2)
    by = ("--by", "user", "--groups", 300)
    refused = run("measure", people, *by, *PAY, "-o", "s.parquet")
    assert refused.code == 4
    assert "open another ledger" in refused.err
    rows = ("--ledger", "rows.ledger")
    assert run("measure", people, *by, *PAY, *rows, "-o", "s.parquet").code == 0
    degrees = ("--degrees", "a,b", "--nodes", 50, "--ledger", "edges.ledger")
    assert run("measure", people, *degrees, *PAY, *degrees, "-o", "d.parquet").code == 0
    assert tu.load(tmp_path / "d.parquet").question.ends == 2
    assert left(tmp_path) == Fraction(3, 4)


def test_a_declared_dataset_goes_by_its_name(run: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "trueup.toml").write_text(
        "[datasets.town]\nsource = 'people.parquet'\nledger = 'a.ledger'\nlimit = '1'\n"
        "unit = 'user'\nrows_per_unit = 3\n"
        "[datasets.town.axes.age]\nkind = 'integers'\nfirst = 0\nlast = 99\n"
    )
    ran = run("measure", "town", "--epsilon", "0.5", "--yes", "-o", "m.parquet", "--json")
    assert ran.json["remaining"] == "1/2"
    assert tu.load(tmp_path / "m.parquet").rows_per_unit == 3
    again = run("measure", "town", "--unit", "sex", "--epsilon", 1, "--yes", "-o", "m.parquet")
    assert again.code == 1
    assert "trueup.toml" in again.err


def test_a_declared_dataset_has_its_bound_chosen(run: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "trueup.toml").write_text(
        "[datasets.town]\nsource = 'people.parquet'\nledger = 'a.ledger'\nlimit = '1'\n"
        "unit = 'user'\nrows_per_unit = 'auto'\nat_most = 50\n"
        "[datasets.town.axes.age]\nkind = 'integers'\nfirst = 0\nlast = 99\n"
    )
    ran = run("measure", "town", "--epsilon", "0.5", "--yes", "-o", "m.parquet")
    assert "chosen privately" in ran.out
    assert tu.load(tmp_path / "m.parquet").bound.at_most == 50
    ends = ("--degrees", "a,b", "--nodes", 50)
    again = run("measure", "town", *ends, "--epsilon", "0.5", "--yes", "-o", "n.parquet")
    assert (again.code, "name the ends of its edges there" in again.err) == (1, True)
    assert left(tmp_path) == Fraction(1, 2)


def test_epsilon_and_ledger_may_come_from_the_environment(
    run: Run, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUEUP_EPSILON", "1/8")
    monkeypatch.setenv("TRUEUP_LEDGER", "a.ledger")
    assert run("measure", people, *AXIS, "--limit", "1", "-y", "-o", "m.parquet").code == 0
    assert left(tmp_path) == Fraction(7, 8)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (
            ["people.parquet", *AXIS, "-o", "m.parquet", "--ledger", "a.ledger", "-y"],
            1,
            "--epsilon",
        ),
        (["people.parquet", *AXIS, "-o", "m.parquet", "--epsilon", "1", "-y"], 1, "--ledger"),
        (["people.parquet", *AXIS, *PAY, "-o", "m.csv"], 1, ".parquet or .json"),
        (["people.parquet", *PAY, "-o", "m.parquet"], 1, "Declare the axis"),
        (["people.parquet", "--column", "age", "--bins", 5, *PAY, "-o", "m.parquet"], 1, "--range"),
        (["people.parquet", *AXIS, "--by", "user", *PAY, "-o", "m.parquet"], 1, "one thing"),
        (["people.parquet", "--by", "user", *PAY, "-o", "m.parquet"], 1, "--groups"),
        (["people.parquet", "--degrees", "a", "--nodes", 5, *PAY, "-o", "m.parquet"], 1, "src,dst"),
        (["gone.parquet", *AXIS, *PAY, "-o", "m.parquet"], 5, "There is no file"),
        (["people.parquet", *AXIS, *PAY, "--where", "f(age)", "-o", "m.parquet"], 1, "filter"),
        (["people.parquet", *AXIS, *PAY, "--epsilon", "-1", "-o", "m.parquet"], 1, "positive"),
        (["people.parquet", "--column", "x", "--integers", 0, 9, *PAY, "-o", "m.json"], 1, "'x'"),
    ],
)
def test_bad_input_costs_nothing(
    run: Run, people: Path, tmp_path: Path, words: list[object], code: int, says: str
) -> None:
    ran = run("measure", *words)
    assert ran.code == code, ran.err
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "a.ledger").exists() or left(tmp_path) == 1


@pytest.mark.parametrize(
    ("strategy", "question"),
    [
        ("tree", tu.TreeCounts),
        ("hats", tu.HatCounts),
        ("flat", tu.CellCounts),
    ],
)
def test_a_strategy_is_asked_by_name(
    run: Run, people: Path, tmp_path: Path, strategy: str, question: type
) -> None:
    ran = run("measure", people, *AXIS, *PAY, "--strategy", strategy, "-o", "m.parquet")
    assert (ran.code, ran.err) == (0, "")
    assert tu.load(tmp_path / "m.parquet").question == question(tu.Axis.integers("age", 0, 99))


def test_an_adaptive_tree_is_asked_by_name_and_inferred_again(
    run: Run, people: Path, tmp_path: Path
) -> None:
    ran = run("measure", people, *AXIS, *PAY, "--strategy", "adaptive", "-o", "m.parquet")
    assert (ran.code, ran.err) == (0, "")
    measured = tu.load(tmp_path / "m.parquet")
    assert measured.question.tree == tu.AdaptiveTreeCounts(tu.Axis.integers("age", 0, 99)).tree
    assert measured.question.settled
    ran = run("infer", "m.parquet", "--nonnegative", "-o", "r.parquet")
    assert ran.code == 0, ran.err
    assert tu.load(tmp_path / "r.parquet").counts().min() >= 0


@pytest.mark.parametrize("strategy", [(), ("--strategy", "best")])
def test_without_a_strategy_it_asks_what_everybody_publishes(
    run: Run, people: Path, tmp_path: Path, strategy: tuple[str, ...]
) -> None:
    ran = run("measure", people, *AXIS, *PAY, *strategy, "-o", "m.parquet")
    assert (ran.code, ran.err) == (0, "")
    measured = tu.load(tmp_path / "m.parquet")
    best = tu.plan(tu.Axis.integers("age", 0, 99), measured.epsilon, nonnegative=True).best
    assert measured.question.anew == best


def test_shown_asks_at_once(run: Run, people: Path, tmp_path: Path) -> None:
    ran = run("measure", people, *AXIS, *PAY, "--strategy", "shown", "-o", "m.parquet")
    assert (ran.code, ran.err) == (0, "")
    planned = tu.plan(tu.Axis.integers("age", 0, 99), 1, nonnegative=True)
    assert tu.load(tmp_path / "m.parquet").question == planned["for non-negative counts"].question


def test_unknown_strategies_cost_nothing(run: Run, people: Path, tmp_path: Path) -> None:
    for words in (["--strategy", "wavelet"], ["--strategy", "tree", "--branching", 2]):
        ran = run("measure", people, *AXIS, *PAY, *words, "-o", "m.parquet")
        assert ran.code == 1
        assert "--strategy" in ran.err
    assert not (tmp_path / "a.ledger").exists()


def test_the_type_of_a_column_of_a_csv_can_be_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age,town\n34,Rome\n35,Oslo\n")
    base = "measure people.csv --column age --integers 0 99 --epsilon 1/10 --ledger l --limit 1"
    base += " -y --where \"town = 'Rome'\" -o m.parquet"
    with pytest.raises(tu.SourceError, match="--type town=text"):
        app(shlex.split(base), standalone_mode=False)
    assert tu.Ledger("l").spent == 0
    app(shlex.split(f"{base} --type town=text"), standalone_mode=False)
    assert tu.Ledger("l").spent == Fraction(1, 10)
    for wrong in ("town", "=text", "town=string"):
        with pytest.raises(tu.InputError, match=r"--type names a column|must be one of"):
            app(shlex.split(f"{base} --type {wrong}"), standalone_mode=False)


def test_unit_rows_relation_and_filter_reach_the_measurement(
    run: Run, people: Path, tmp_path: Path
) -> None:
    ran = run(
        "measure", people, *AXIS, *PAY, "-o", "m.parquet", "--strategy", "flat",
        "--neighbours", "replace", "--unit", "user", "--rows-per-unit", 3, "--where", "sex = 'F'",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    measured = tu.load(tmp_path / "m.parquet")
    assert (measured.neighbours, measured.unit, measured.rows_per_unit) == ("replace", "user", 3)
    assert measured.noise.scales == (Fraction(24),)
    (charge,) = Ledger(tmp_path / "a.ledger").history()
    assert '"where":"sex = \'F\'"' in charge.request


def test_a_key_that_has_paid_is_said_to_cost_nothing_more_and_asks_nobody(
    run: Run, people: Path, tmp_path: Path
) -> None:
    ask = ["measure", people, *AXIS, "--epsilon", "1/2", "--ledger", "a.ledger", "--limit", "1"]
    assert "cost      epsilon 1/2" in run(*ask, "--key", "k", "-y", "-o", "m.parquet").out
    again = run(*ask, "--key", "k", "-o", "n.parquet")  # nobody is there to be asked
    assert again.code == 0
    assert "nothing more: this key has paid; 1/2 is left" in again.out
    assert (tmp_path / "n.parquet").read_bytes() == (tmp_path / "m.parquet").read_bytes()
    assert left(tmp_path) == Fraction(1, 2)
