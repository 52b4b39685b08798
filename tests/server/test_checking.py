"""Checking a configuration: as a server does when it starts, and without making anything."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import trueup as tu
from trueup.config import read_config
from trueup.cost import Cost
from trueup.errors import KeyConflictError
from trueup.server.app import create_app
from trueup.server.checking import check
from trueup.server.datasets import open_tables
from trueup.server.errors import NotFoundError
from trueup.server.jobs import Job, Jobs
from trueup.server.releases import Releases


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_nothing_is_made_and_a_ledger_that_is_missing_is_said_to_be(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    path = config_of(tmp_path)
    before = files(tmp_path)
    notes = check(read_config(path))
    assert files(tmp_path) == before
    assert [note.partition(":")[0] for note in notes] == [
        "Dataset 'trips' has no ledger yet",
        "Dataset 'friends' has no ledger yet",
    ]
    create_app(read_config(path))
    assert check(read_config(path)) == []


@pytest.mark.parametrize(
    ("old", "new", "says", "kind"),
    [
        ('"trips.parquet"', '"gone.parquet"', "There is no file", tu.FileError),
        ("axes.fare]", "axes.fair]", "Did you mean 'fare'", tu.FileError),
        ('borough = "text"', 'burough = "text"', "Did you mean 'borough'", tu.FileError),
        ('borough = "text"', 'borough = "integer"', "holds text", tu.FileError),
        ('"boroughs.geojson"', '"gone.geojson"', "there is no file", tu.FileError),
        ("warm = false", "worm = false", "Did you mean warm", tu.FileError),
        ("[server]", "[sever]", "Did you mean server", tu.FileError),
        ("bins = 256", "bin = 256", "Did you mean bins", tu.FileError),
        ('limit = "100"', 'limit = "?"', "limit is still blank", tu.FileError),
        ('edges = ["src", "dst"]', 'edges = ["src", "dest"]', "Did you mean 'dst'", tu.FileError),
        ('"trips.ledger"', '"none/trips.ledger"', "cannot be made", tu.FileError),
    ],
)
def test_what_stops_a_server_is_found(
    config_of: Callable[..., Path], tmp_path: Path, old: str, new: str, says: str, kind: Any
) -> None:
    path = config_of(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(kind, match=says):
        check(read_config(path))
    with pytest.raises(tu.TrueupError):
        create_app(read_config(path))


def test_a_ledger_of_another_limit_or_unit_is_found(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    path = config_of(tmp_path)
    create_app(read_config(path))
    text = path.read_text()
    path.write_text(text.replace('limit = "100"', 'limit = "200"', 1))
    with pytest.raises(tu.LedgerError, match="limit 100"):
        check(read_config(path))
    (tmp_path / "trips.ledger").unlink()
    path.write_text(text)
    with pytest.raises(tu.LedgerError, match="the ledger is lost"):
        check(read_config(path))


def test_datasets_over_the_same_table_are_told_to_share_a_ledger(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    path = config_of(tmp_path)
    second = """
[datasets.again]
source = "./trips.parquet"
ledger = "again.ledger"
limit = "7"
[datasets.again.axes.age]
kind = "integers"
first = 0
last = 9
"""
    path.write_text(path.read_text() + second)
    assert any("'trips' and 'again' read the same table" in n for n in check(read_config(path)))
    path.write_text(
        path.read_text().replace("again.ledger", "trips.ledger").replace('"7"', '"100"')
    )
    assert not any("same table" in note for note in check(read_config(path)))


@pytest.mark.parametrize(
    "spelling", ["trips.ledger", "later/../trips.ledger", "linked/trips.ledger"]
)
def test_datasets_that_share_a_ledger_show_what_was_paid_for_each(
    config_of: Callable[..., Path], tmp_path: Path, spelling: str
) -> None:
    import pyarrow.parquet as pq

    (tmp_path / "later").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path, target_is_directory=True)

    path = config_of(tmp_path)
    pq.write_table(pq.read_table(tmp_path / "trips.parquet"), tmp_path / "later.parquet")
    later = f"""
[datasets.later]
source = "later.parquet"
ledger = "{spelling}"
limit = "100"
[datasets.later.axes.age]
kind = "integers"
first = 0
last = 99
"""
    path.write_text(path.read_text() + later)
    tables = open_tables(read_config(path))
    axis = tu.Axis.integers("age", 0, 99)
    for name, times in (("trips", 2), ("later", 1)):
        for _ in range(times):
            tables[name].owner.measure(tu.CellCounts(axis), "1/10")
    paid = {
        name: [charge.entry for charge in table.ledger.history() if table.paid_for(charge)]
        for name, table in tables.items()
        if name != "friends"
    }
    assert [len(found) for found in paid.values()] == [2, 1]
    assert not set(paid["trips"]) & set(paid["later"])
    assert tables["later"].ledger.spent == tables["trips"].ledger.spent
    # Nor is one found, or its key's answer given, under the name of the other.
    releases = Releases(tables, Jobs(1.0, 1), 4)
    for name, other in (("trips", "later"), ("later", "trips")):
        for entry in paid[name]:
            assert releases.opened(f"{name}.{entry}").facts.epsilon == Fraction(1, 10)
            with pytest.raises(NotFoundError):
                releases.find(f"{other}.{entry}")
    charge = next(one for one in tables["trips"].ledger.history() if one.entry == paid["trips"][0])
    asked = (tu.CellCounts(axis), Cost.of("1/10"), charge.key, None, "ana")
    Job(tables["trips"], *asked).check(charge)
    with pytest.raises(KeyConflictError):
        Job(tables["later"], *asked).check(charge)


PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")


def test_every_kind_of_axis_is_in_the_docs_and_can_be_declared_so(tmp_path: Path) -> None:
    from trueup.axis.declared import _KINDS

    blocks = re.findall(r"```toml\n(\[datasets\.trips\.axes\]\n.*?)```", PAGE, re.DOTALL)
    (block,) = blocks
    head = '[datasets.trips]\nsource = "t.parquet"\nledger = "t.ledger"\nlimit = 1\n'
    (tmp_path / "trueup.toml").write_text(head + block)
    axes = read_config(tmp_path / "trueup.toml").datasets["trips"].axes
    assert {axis.traits.kind for axis in axes.values()} == set(_KINDS)


def test_a_dataset_with_periods_is_served_and_its_series_are_checked(
    config_of: Callable[..., Path], tmp_path: Path
) -> None:
    import datetime as dt

    import pyarrow as pa
    import pyarrow.parquet as pq

    path = config_of(tmp_path)
    pq.write_table(pa.table({"n": [1], "at": [dt.date(2026, 3, 1)]}), tmp_path / "days.parquet")
    daily = '\n[datasets.days]\nsource = "days.parquet"\nledger = "days.ledger"\nlimit = 1\n'
    daily += 'per = "day"\ndate = "at"\n[datasets.days.axes.n]\nkind = "integers"\nfirst = 0\n'
    daily += 'last = 9\n[publish.daily]\ndataset = "days"\ncolumn = "n"\nepsilon = "1/10"\n'
    path.write_text(path.read_text() + daily + 'first = "2026-03-01"\n')
    assert not any("questions" in note for note in check(read_config(path)))
    assert open_tables(read_config(path))["days"].per == "day"
    path.write_text(path.read_text().replace('column = "n"', 'column = "m"'))
    with pytest.raises(tu.FileError, match="no axis for 'm'"):
        check(read_config(path))
