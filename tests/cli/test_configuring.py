"""trueup init and trueup check."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

Run = Callable[..., Any]
SECRET = "a value that nobody may see"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    table = pa.table({"age": [31], "fare": [2.5], "town": [SECRET], "paid": [True]})
    pq.write_table(table, tmp_path / "people.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    return tmp_path / "people.parquet"


def fill(path: Path, **blanks: str) -> None:
    text = path.read_text()
    for name, value in blanks.items():
        assert f'{name} = "?"' in text or f'{name} = ["?"]' in text, name
        text = text.replace(f'{name} = "?"', f"{name} = {value}")
        text = text.replace(f'{name} = ["?"]', f"{name} = {value}")
    path.write_text(text)


def test_a_draft_is_refused_until_its_blanks_are_filled(
    run: Run, people: Path, tmp_path: Path
) -> None:
    made = run("init", people.name)
    assert made.code == 0
    config = tmp_path / "trueup.toml"
    assert SECRET not in config.read_text()
    assert "31" not in config.read_text()
    refused = run("check")
    assert refused.code == 5
    assert "limit is still blank" in refused.err
    fill(config, limit='"1"', first="0", last="99", low="0", high="128", bins="64")
    assert "labels is still blank" in run("check").err
    fill(config, labels='["Kern", "Napa"]')
    good = run("check", "--json")
    assert good.code == 0, good.err
    assert good.json["datasets"] == ["people"]
    assert "has no ledger yet" in good.json["notes"][0]
    assert not (tmp_path / "people.ledger").exists()
    again = run("init", people.name)
    assert (again.code, "is there already" in again.err) == (5, True)


def test_a_file_of_text_has_columns_whose_kind_is_to_be_said(
    run: Run, people: Path, tmp_path: Path
) -> None:
    assert run("init", "people.csv", "-o", "other.toml").code == 0
    config = tmp_path / "other.toml"
    text = config.read_text()
    assert SECRET not in text
    assert text.count('kind = "?"') == 4
    assert "kind is still blank" in run("check", "other.toml").err or "limit" in text
    head, _, _ = text.partition("\n[datasets.people.axes.age]")
    axis = '[datasets.people.axes.age]\nkind = "integers"\nfirst = 0\nlast = 99\n'
    config.write_text(head.replace('limit = "?"', 'limit = "1"') + "\n" + axis)
    assert run("check", "other.toml").code == 0


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", 5, "declares no dataset"),
        ("[datasets.x]\nsource = 'x.parquet'\nledger = 'x.ledger'\nlimit = 1", 5, "no file"),
        ("[datsets.x]", 5, "Did you mean datasets?"),
        ("[", 5, "is not TOML"),
    ],
)
def test_exit_codes_say_what_is_wrong(
    run: Run, tmp_path: Path, text: str, code: int, says: str
) -> None:
    (tmp_path / "trueup.toml").write_text(text)
    ran = run("check")
    assert (ran.code, says in ran.err) == (code, True), ran.err


def test_a_ledger_that_is_not_one_has_its_exit_code(run: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "people.ledger").write_text("not a ledger")
    (tmp_path / "trueup.toml").write_text(
        "[datasets.x]\nsource = 'people.parquet'\nledger = 'people.ledger'\nlimit = 1"
    )
    assert run("check").code == 4


def test_what_cannot_be_drafted_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text('{"age": 3}\n')
    assert "name them" in run("init", "lines.jsonl").err
    assert run("init", "gone.parquet").code != 0
