"""The commands about keys, as a person types them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu

Run = Callable[..., Any]
ASK = ("--column", "word", "--universe", "text:a-z:8")
PAY = ("--epsilon", 1, "--ledger", "w.ledger", "--limit", 2, "--yes", "-o", "k.parquet")


@pytest.fixture
def words(tmp_path: Path) -> Path:
    table = {"word": ["fig"] * 700 + ["pear"] * 300, "user": [n % 150 for n in range(1000)]}
    pq.write_table(pa.table(table), tmp_path / "words.parquet")
    return tmp_path / "words.parquet"


def test_a_quote_says_the_threshold_and_spends_nothing(run: Run) -> None:
    ran = run("keys", "quote", "--universe", "integers", "--epsilon", 1, "--total", 0)
    assert ran.code == 0
    assert "noisy count is at least 45" in ran.out
    people = ("--unit", "user", "--keys-per-unit", 3)
    said = run("keys", "quote", "--universe", "ipv4", "--epsilon", 1, *people, "--json").json
    terms = tu.keys.KeyTerms.of(tu.KeyCounts(tu.Universe.ipv4(), keys_per_unit=3), 1, unit="user")
    assert said["threshold"] == terms.threshold
    wrong = run("keys", "quote", "--universe", "words", "--epsilon", 1)
    assert (wrong.code, "text:a-z0-9:12" in wrong.err) == (1, True)


def test_keys_are_measured_shown_and_looked_up(run: Run, words: Path, tmp_path: Path) -> None:
    ran = run("keys", "measure", words, *ASK, *PAY)
    assert ran.code == 0, ran.err
    assert "threshold" in ran.out
    assert "1 is left" in ran.out
    assert tu.Ledger(tmp_path / "w.ledger").remaining == Fraction(1)
    measured = tu.load(tmp_path / "k.parquet", tu.KeyMeasurement)
    assert {"fig", "pear"} <= set(measured.labels)
    shown = run("keys", "show", "k.parquet", "-o", "r.json")
    assert "all other keys" in shown.out
    assert measured.infer().statement() in shown.out
    said = run("keys", "show", "r.json", "--top", 1, "--json").json
    assert said["top"][0]["key"] == "fig"
    counts = measured.infer().counts().sum()
    assert counts + said["others"] == said["total"]
    assert said["intervals"] == {"total": list(measured.infer().total().interval())}
    low, high = map(int, said["intervals"]["total"])
    total = next(line.split() for line in shown.out.splitlines() if line.startswith("total"))
    assert total[1:] == [f"{end:,}" for end in (said["total"], low, high)]
    assert "The interval of the total holds by itself." in " ".join(shown.out.split())
    looked = run("keys", "show", "k.parquet", "fig", "zzz", "--json").json["keys"]
    assert [each["shown"] for each in looked] == [True, False]
    assert "not shown" in run("keys", "show", "k.parquet", "zzz").out


def test_nothing_is_asked_about_a_key_that_has_paid(run: Run, words: Path, tmp_path: Path) -> None:
    first = run("keys", "measure", words, *ASK, *PAY, "--key", "once")
    assert "cost        ε = 1; 2 is left" in first.out
    pay = [given for given in PAY if given != "--yes"]
    again = run("keys", "measure", words, *ASK, *pay, "--key", "once")
    assert "cost        nothing more: this key has paid; 1 is left" in again.out, again.err
    assert tu.Ledger(tmp_path / "w.ledger").remaining == Fraction(1)
    assert "give --yes" in run("keys", "measure", words, *ASK, *pay, "--key", "two").err


def test_keys_of_a_day_are_paid_for_that_day(run: Run, tmp_path: Path) -> None:
    days = [dt.datetime(2026, 3, 1 + n % 2) for n in range(1000)]
    table = {"word": ["fig", "pear"] * 500, "host": ["10.0.0.1", "10.9.9.9"] * 500, "at": days}
    pq.write_table(pa.table(table), tmp_path / "words.parquet")
    (tmp_path / "trueup.toml").write_text(
        "[datasets.words]\nsource = 'words.parquet'\nledger = 'w.ledger'\nlimit = 2\n"
        "per = 'day'\ndate = 'at'\n"
    )
    pay = ("--epsilon", 1, "--yes", "-o", "k.parquet")
    assert "--period 2026-03-01" in run("keys", "measure", "words", *ASK, *pay).err
    ran = run("keys", "measure", "words", *ASK, *pay, "--period", "2026-03-01")
    assert "charged     to 2026-03-01, each the whole cost" in ran.out
    assert "loses" in ran.out
    assert "1 is left" in ran.out
    assert "pear" not in tu.load(tmp_path / "k.parquet", tu.KeyMeasurement).labels
    tree = ("--column", "host", "--universe", "ipv4", "--step", 8, "--period", "2026-03-02")
    said = run("keys", "tree", "words", *tree, *pay, "--json").json
    assert said["remaining"] == "1"
    measured = tu.load(tmp_path / "k.parquet", tu.PrefixMeasurement)
    assert str(measured.period) == "2026-03-02"
    ledger = tu.Ledger(tmp_path / "w.ledger")
    assert [ledger.remaining_in(f"2026-03-0{day}") for day in (1, 2, 3)] == [1, 1, 2]


def test_what_is_refused_costs_nothing(run: Run, words: Path, tmp_path: Path) -> None:
    tu.Ledger(tmp_path / "w.ledger", limit=2)
    for wrong in (
        ("--column", "user", "--universe", "text:a-z:8"),
        ("--column", "word", "--universe", "text:a-z"),
        ("--universe", "text:a-z:8"),
        (*ASK, "--keys-per-unit", 2),
        (*ASK, "--where", "gone = 1"),
    ):
        assert run("keys", "measure", words, *wrong, *PAY).code == 1
    no_epsilon = run("keys", "measure", words, *ASK, *PAY[2:])
    assert (no_epsilon.code, "--epsilon" in no_epsilon.err) == (1, True)
    asked = run("keys", "measure", words, *ASK, *PAY[:-3], "-o", "k.parquet")
    assert (asked.code, "--yes" in asked.err) == (1, True)
    assert tu.Ledger(tmp_path / "w.ledger").remaining == 2


def test_other_commands_send_files_of_keys_where_they_belong(run: Run, tmp_path: Path) -> None:
    tu.measure_keys({"fig": 500}, tu.KeyCounts(tu.Universe.text("a-z", 4)), 1).save(
        tmp_path / "k.parquet"
    )
    for command in (("show",), ("query", "0:1"), ("infer", "-o", "x.parquet"), ("plot",)):
        ran = run(command[0], "k.parquet", *command[1:])
        assert ran.code in (1, 2)
        assert ran.code == 2 or "trueup keys show" in ran.err
    tu.publish([1, 2], tu.Axis.integers("a", 0, 3), epsilon=1).save(tmp_path / "r.parquet")
    other = run("keys", "show", "r.parquet")
    assert (other.code, "holds no keys" in other.err) == (1, True)


def test_a_tree_of_prefixes_is_measured_and_shown(run: Run, tmp_path: Path) -> None:
    hosts = ["10.0.0.1"] * 500 + ["10.0.9.9"] * 300 + ["8.8.8.8"] * 2
    pq.write_table(pa.table({"host": hosts}), tmp_path / "hosts.parquet")
    ask = ("--column", "host", "--universe", "ipv4", "--step", 8)
    ran = run("keys", "tree", "hosts.parquet", *ask, *PAY)
    assert ran.code == 0, ran.err
    assert "a prefix is shown from" in ran.out
    shown = run("keys", "show", "k.parquet", "all", "10.0.0.0/16", "-o", "t.csv")
    assert "10.0.0.0/24" in shown.out
    said = run("keys", "show", "k.parquet", "--json").json
    assert sum(said["children"]["all"].values()) == said["total"]
    assert "10.0.0.0/8" in (tmp_path / "t.csv").read_text()
    missing = run("keys", "show", "k.parquet", "99.0.0.0/8")
    assert (missing.code, "not shown" in missing.err) == (1, True)
    wrong = run("keys", "tree", "hosts.parquet", *ask[:-1], 3, *PAY)
    assert (wrong.code, tu.Ledger(tmp_path / "w.ledger").remaining) == (1, 1)
