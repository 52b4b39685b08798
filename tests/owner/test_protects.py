"""One ledger, one kind of unit, one neighbour relation: otherwise its sum bounds nothing."""

from __future__ import annotations

import json
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup as tu
from trueup.config import read_config
from trueup.errors import InputError, LedgerError
from trueup.server.datasets import open_tables

OLD = Path(__file__).parent / "version_0_1"  # written by version 0.1, with its own source
HOUR = tu.Axis.integers("hour", 0, 3)
USER = {"unit": "user", "rows_per_unit": 1, "columns": {"user": "integer"}}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the ledgers of version 0.1, which is read and written."""
    shutil.copytree(OLD, tmp_path / "old")
    return tmp_path / "old"


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"user": [1, 1, 2], "hour": [0, 1, 3]}), tmp_path / "trips.parquet")
    return tmp_path / "trips.parquet"


def first_entry(path: Path) -> dict[str, object]:
    with sqlite3.connect(path) as database:
        return json.loads(
            database.execute("SELECT body FROM entries WHERE number = 0").fetchone()[0]
        )


def test_the_first_charge_fixes_whom_a_ledger_protects(trips: Path, tmp_path: Path) -> None:
    ledger = tu.Ledger(tmp_path / "l", limit=1)
    assert ledger.protects is None
    tu.Owner(trips, ledger).measure(tu.CellCounts(HOUR), 0.1)
    with pytest.raises(LedgerError, match="protects one row under add-remove neighbours") as said:
        tu.Owner(trips, ledger, **USER).measure(tu.CellCounts(HOUR), 0.1)
    assert "open another ledger for it, at another path" in str(said.value)
    with pytest.raises(LedgerError, match="this protects one row under replace neighbours"):
        tu.Owner(trips, ledger).measure(tu.CellCounts(HOUR), 0.1, neighbours="replace")
    with pytest.raises(LedgerError, match="this protects one edge"):
        tu.Owner(trips, ledger, edges=("user", "hour")).measure(tu.SortedCounts(9, ends=2), 0.1)
    assert ledger.spent == Fraction(1, 10)  # what is refused is not charged
    again = tu.Ledger(tmp_path / "l")  # another process finds the same
    with pytest.raises(LedgerError, match="open another ledger"):
        tu.Owner(trips, again, **USER).measure(tu.CellCounts(HOUR), 0.1)
    tu.Owner(trips, again).count_groups("user", 0.1)
    assert again.spent == Fraction(1, 5)


def test_whom_it_protects_may_stand_in_the_first_entry(trips: Path, tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = tu.Ledger(path, limit=1, unit="user", neighbours="replace")
    assert first_entry(path)["protects"] == {
        "unit": "user",
        "neighbours": "replace",
        "privacy": "epsilon",
    }
    with pytest.raises(LedgerError, match="protects one unit 'user' under replace neighbours"):
        tu.Owner(trips, ledger).measure(tu.CellCounts(HOUR), 0.1)
    tu.Owner(trips, ledger, **USER).measure(tu.CellCounts(HOUR), 0.1, neighbours="replace")
    with pytest.raises(LedgerError, match="open another ledger"):
        tu.Ledger(path, unit="row", neighbours="replace")
    assert tu.Ledger(path, unit="user", neighbours="replace").spent == Fraction(1, 10)
    assert tu.Ledger(path).verify() == 3
    with pytest.raises(InputError, match="together"):
        tu.Ledger(path, unit="user")
    with pytest.raises(InputError, match="neighbours must be"):
        tu.Ledger(path, unit="user", neighbours="bounded")


def test_an_entry_that_protects_another_unit_is_an_edit(tmp_path: Path) -> None:
    from trueup.budget import Budget
    from trueup.owner.account import Account, Entry, Protects, canonical, link, opening

    now = Account()
    now.follow(opening("l", Budget("epsilon", Fraction(1)), "now", Protects("row", "add-remove")))
    request = canonical({"unit": "user", "neighbours": "add-remove"})
    forged = {
        "by": None, "entry": 1, "epsilon": "1/2", "key": "k", "kind": "charge",
        "request": json.loads(request), "spent": "1/2", "time": "now",
    }  # fmt: skip
    body = canonical(forged)
    with pytest.raises(LedgerError, match="Entry 1 of the ledger has been edited"):
        now.follow(Entry(1, body, link(now.hash, body)))


@pytest.mark.parametrize("name", ["row", "edge"])
def test_a_unit_cannot_pass_for_a_row_or_an_edge(name: str, tmp_path: Path) -> None:
    table = pa.table({name: [1, 1, 2], "hour": [0, 1, 3]})
    with pytest.raises(InputError, match="rename the column"):
        tu.Owner(table, tu.Ledger(tmp_path / "l", limit=1), unit=name)


# Ledgers of version 0.1.


def test_a_ledger_of_version_0_1_gives_its_stored_bytes(old: Path) -> None:
    ledger = tu.Ledger(old / "plain.ledger", limit=1)
    assert ledger.verify() == 5
    assert ledger.spent == Fraction(3, 8)
    stored = {
        file.name.partition("-")[0]: file for file in (old / "plain.ledger.answers").iterdir()
    }
    owner = tu.Owner(old / "trips.csv", ledger)
    found = owner.measure(tu.TreeCounts(HOUR, branching=2), 0.25, key="first")
    kept = tu.Measurement.from_bytes(stored["1"].read_bytes())
    assert found.noisy.tolist() == kept.noisy.tolist()
    assert found.id == kept.id
    filtered = tu.Owner(old / "trips.csv", ledger, columns={"user": "integer"})
    again = filtered.measure(tu.CellCounts(HOUR), "1/8", key="second", where="user <= 2", by="ana")
    assert again.id == tu.Measurement.from_bytes(stored["3"].read_bytes()).id
    assert ledger.spent == Fraction(3, 8)
    assert {file.name for file in (old / "plain.ledger.answers").iterdir()} == {
        file.name for file in stored.values()
    }


def test_a_ledger_of_version_0_1_protects_what_its_first_charge_did(old: Path) -> None:
    ledger = tu.Ledger(old / "plain.ledger")
    with pytest.raises(LedgerError, match="open another ledger"):
        tu.Owner(old / "trips.csv", ledger, **USER).measure(tu.CellCounts(HOUR), 0.1)
    tu.Owner(old / "trips.csv", ledger).measure(tu.CellCounts(HOUR), 0.125)
    assert tu.Ledger(old / "plain.ledger").spent == Fraction(1, 2)
    empty = tu.Ledger(old / "empty.ledger")  # nothing spent: the first charge will say
    tu.Owner(old / "trips.csv", empty, **USER).measure(tu.CellCounts(HOUR), 0.1)
    with pytest.raises(LedgerError, match="open another ledger"):
        tu.Owner(old / "trips.csv", empty).measure(tu.CellCounts(HOUR), 0.1)


@pytest.mark.parametrize("name", ["mixed.ledger", "relations.ledger"])
def test_a_ledger_that_mixes_is_read_and_never_charged(name: str, old: Path) -> None:
    ledger = tu.Ledger(old / name)
    assert ledger.verify() == 5
    assert ledger.spent == Fraction(1, 2)
    owner = tu.Owner(old / "trips.csv", ledger)
    kept = [file for file in (old / f"{name}.answers").iterdir() if file.name.startswith("1-")]
    found = owner.measure(tu.CellCounts(HOUR), 0.25, key="first")
    assert found.id == tu.Measurement.from_bytes(kept[0].read_bytes()).id
    for asked in (owner, tu.Owner(old / "trips.csv", ledger, **USER)):
        with pytest.raises(LedgerError, match="Open another ledger, at another path"):
            asked.measure(tu.CellCounts(HOUR), 0.1)
    assert ledger.spent == Fraction(1, 2)


# The server.


def config(folder: Path, more: str = "") -> Path:
    path = folder / "trueup.toml"
    path.write_text(
        f'[datasets.trips]\nsource = "trips.parquet"\nledger = "l"\nlimit = 1\n{more}\n'
        'columns = {user = "integer"}\n'
        '[datasets.trips.axes.hour]\nkind = "integers"\nfirst = 0\nlast = 3\n'
    )
    return path


def test_a_server_refuses_to_start_once_its_unit_or_relation_was_changed(
    trips: Path, tmp_path: Path
) -> None:
    tables = open_tables(read_config(config(tmp_path)))
    tables["trips"].owner.measure(tu.CellCounts(HOUR), 0.1)
    for changed in ('unit = "user"\nrows_per_unit = 1', 'neighbours = "replace"'):
        with pytest.raises(LedgerError, match="protects one row under add-remove neighbours"):
            open_tables(read_config(config(tmp_path, changed)))
    assert open_tables(read_config(config(tmp_path)))["trips"].owner.ledger.spent == Fraction(1, 10)
