from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import pytest

import trueup as tu
from trueup.about import About, RegionsFile
from trueup.budget import Budget
from trueup.config import read_config
from trueup.errors import FileError
from trueup.keys import KeyCounts, Universe
from trueup.period import Calendar

GOOD = """
[datasets.trips]
source = "trips.parquet"
ledger = "trips.ledger"
limit = "1/2"
unit = "user"
rows_per_unit = 3
[datasets.trips.axes.fare]
kind = "regular"
low = 0
high = 128
bins = 1024
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "trueup.toml"
    path.write_text(text)
    return path


def test_a_dataset_is_read_as_declared(tmp_path: Path) -> None:
    trips = read_config(written(tmp_path, GOOD)).datasets["trips"]
    assert trips.limit == Fraction(1, 2)
    assert trips.source == str(tmp_path / "trips.parquet")
    assert trips.axis("fare") == trips.axis(None) == tu.Axis.regular("fare", 0, 128, 1024)
    assert (trips.unit, trips.rows_per_unit, trips.neighbours) == ("user", 3, "add-remove")


def test_a_budget_may_be_in_rho(tmp_path: Path) -> None:
    said = 'rho = "1/2"\ndelta_limit = "1e-9"\nshown_at_delta = "1e-10"'
    file = written(tmp_path, GOOD.replace('limit = "1/2"', said))
    trips = read_config(file).datasets["trips"]
    assert trips.budget == Budget("rho", Fraction(1, 2), Fraction(1, 10**9), Fraction(1, 10**10))
    assert trips.limit == Fraction(1, 2)


def test_no_file_is_no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRUEUP_CONFIG", raising=False)
    assert read_config().datasets == {}


def test_the_environment_may_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEUP_CONFIG", str(written(tmp_path, GOOD)))
    assert "trips" in read_config().datasets


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('limit = "1/2"', "limit = 0"), "limit must be positive"),
        (('limit = "1/2"\n', ""), "limit is missing"),
        (('limit = "1/2"', 'limit = 1\nrho = "1/2"'), "counts epsilon or rho"),
        (('limit = "1/2"', "rho = 0"), "rho must be positive"),
        (('limit = "1/2"', "limit = 1\nshown_at_delta = 0.1"), "goes with rho"),
        (('kind = "regular"', 'kind = "spiral"'), "spiral"),
        (("bins = 1024\n", ""), "bins"),
        (('unit = "user"', "epsilon = 1"), "epsilon is not known"),
        (("rows_per_unit = 3", "rows_per_unit = 1.5"), "whole number"),
        (("[datasets.trips]", "[datasets.trips"), "not TOML"),
        (('unit = "user"', 'unt = "user"'), "unt is not known. Did you mean unit?"),
        (("bins = 1024", "bins = 1024\nbin = 4"), "bin is not known. Did you mean bins?"),
        (("bins = 1024", "bins = 1024\nunits = 4"), "units must be text"),
        (("bins = 1024", "bins = 1024\nregions = 4"), "regions must be such as"),
        (("bins = 1024", 'bins = 1024\nregions = {file = "x"}'), "regions needs key"),
        (("bins = 1024", 'bins = 1024\nregions = {keys = "x"}'), "Did you mean key?"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    with pytest.raises(tu.FileError, match=says):
        read_config(written(tmp_path, GOOD.replace(*change)))


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(tu.FileError, match="There is no file"):
        read_config(tmp_path / "gone.toml")


def test_an_undeclared_axis_is_refused_with_those_there_are(tmp_path: Path) -> None:
    trips = read_config(written(tmp_path, GOOD)).datasets["trips"]
    with pytest.raises(tu.InputError, match="Declared axes: fare"):
        trips.axis("age")


GRAPH = """
[datasets.friends]
title = "Friends"
source = "edges.parquet"
ledger = "friends.ledger"
limit = 1
edges = ["src", "dst"]
nodes = 100
"""


def test_a_graph_is_read_as_declared(tmp_path: Path) -> None:
    friends = read_config(written(tmp_path, GRAPH)).datasets["friends"]
    assert (friends.edges, friends.nodes, friends.graph) == (("src", "dst"), 100, "undirected")
    assert (friends.title, friends.description) == ("Friends", "")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("nodes = 100\n", ""), "edges goes with nodes"),
        (('["src", "dst"]', '"src"'), "edges must name two columns"),
        (("nodes = 100", 'nodes = 100\nunit = "user"'), "no axes, no keys and no unit"),
        (('title = "Friends"', "title = 3"), "title must be text"),
    ],
)
def test_what_is_wrong_with_a_graph_is_named(
    tmp_path: Path, change: tuple[str, str], says: str
) -> None:
    with pytest.raises(tu.FileError, match=says):
        read_config(written(tmp_path, GRAPH.replace(*change)))


def test_every_word_of_a_declaration_reaches_its_dataset(tmp_path: Path) -> None:
    """Each field set to something else than its usual value, in a table and in a graph."""
    text = """
[datasets.trips]
source = "trips.duckdb"
table = "made"
ledger = "one.ledger"
anchor = "far/anchor"
limit = "1/3"
unit = "user"
rows_per_unit = 4
neighbours = "replace"
title = "Trips"
description = "all of them"
columns = {user = "integer"}
per = "week"
date = "picked_up"
zone = "Europe/Berlin"
periods_per_unit = [2, 8]
[datasets.trips.axes.age]
title = "Age"
description = "On the day of the trip."
units = "years"
regions = {file = "map.geojson", key = "name"}
kind = "integers"
first = 0
last = 9
[datasets.friends]
source = "edges.parquet"
ledger = "two.ledger"
limit = 2
edges = ["src", "dst"]
graph = "directed"
nodes = 30
"""
    found = read_config(written(tmp_path, text)).datasets
    trips, friends = found["trips"], found["friends"]
    declared = {field.name: getattr(trips, field.name) for field in fields(trips)}
    map_file = RegionsFile(tmp_path / "map.geojson", "name")
    age = About("Age", "On the day of the trip.", "years", map_file)
    assert declared | {"axes": sorted(trips.axes)} == {
        "name": "trips",
        "source": str(tmp_path / "trips.duckdb"),
        "table": "made",
        "ledger": str(tmp_path / "one.ledger"),
        "anchor": str(tmp_path / "far/anchor"),
        "budget": Budget("epsilon", Fraction(1, 3)),
        "unit": "user",
        "rows_per_unit": 4,
        "neighbours": "replace",
        "columns": {"user": "integer"},
        "axes": ["age"],
        "about": {"age": age},
        "title": "Trips",
        "description": "all of them",
        "edges": None,
        "graph": "undirected",
        "nodes": None,
        "folder": tmp_path,
        "calendar": Calendar("week", "picked_up", "Europe/Berlin", (2, 8)),
        "keys": {},
        "people": {},
        "at_most": None,
    }
    assert (friends.edges, friends.graph, friends.nodes) == (("src", "dst"), "directed", 30)
    assert (trips.protects, friends.protects) == ("user", "edge")


def test_keys_are_declared_beside_axes(tmp_path: Path) -> None:
    text = """
[datasets.words]
source = "words.parquet"
ledger = "words.ledger"
limit = 1
keys.word = {universe = "text:a-z:8", title = "Search terms"}
axes.age = {kind = "integers", first = 0, last = 9}
"""
    words = read_config(written(tmp_path, text)).datasets["words"]
    assert words.keys == {"word": KeyCounts(Universe.text("a-z", 8), "word")}
    assert words.about["word"].title == "Search terms"
    for wrong, says in (
        (text.replace("keys.word", "keys.age"), "name of an axis"),
        (text.replace("text:a-z:8", "text:a-z"), "whole number"),
        (text.replace("keys.word = {", "keys.word = 3 #"), "must be tables"),
    ):
        with pytest.raises(tu.FileError, match=says):
            read_config(written(tmp_path, wrong))


def test_people_are_declared_by_their_features(tmp_path: Path) -> None:
    text = """
[datasets.riders]
source = "trips.parquet"
ledger = "trips.ledger"
limit = 1
unit = "user"
people.trips = {count = "*"}
axes.trips = {kind = "integers", first = 0, last = 9}
"""
    riders = read_config(written(tmp_path, text)).datasets["riders"]
    assert (riders.people, riders.rows_per_unit) == ({"trips": {"count": "*"}}, 1)
    for wrong, says in (
        (text.replace('unit = "user"', ""), "go with unit"),
        (text.replace('unit = "user"', 'unit = "user"\nrows_per_unit = 2'), "leave rows_per_unit"),
        (text.replace('{count = "*"}', '"*"'), "must be tables"),
    ):
        with pytest.raises(tu.FileError, match=says):
            read_config(written(tmp_path, wrong))


def test_an_address_is_no_path_and_its_password_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "trueup.toml"
    address = "postgresql://ana:hunter2@db.example/ledgers"
    file.write_text(
        f'[datasets.trips]\nsource = "{address}"\ntable = "trips"\nlimit = 1\n'
        f'ledger = "{address}#trips"\nanchor = "{address}#anchor"\n'
    )
    found = read_config(file)
    dataset = found.datasets["trips"]
    assert (dataset.ledger, dataset.anchor) == (f"{address}#trips", f"{address}#anchor")
    assert dataset.runs == tmp_path / "trips.runs"
    assert "hunter2" not in repr(found) + repr(dataset) + str(dataset)


@pytest.mark.parametrize(
    "line",
    [
        'columns = "text"', 'columns = ["a"]', "columns = 3", "table = 5",
        "unit = 5\nrows_per_unit = 1", 'per = "day"\ndate = "a"\nzone = ["UTC"]',
        'keys.word = {universe = {kind = ["ipv4"]}}',
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused_with_its_dataset(tmp_path: Path, line: str) -> None:
    (tmp_path / "trueup.toml").write_text(
        f'[datasets.trips]\nsource = "a.csv"\nledger = "l"\nlimit = 1\n{line}\n'
    )
    with pytest.raises(FileError, match="dataset 'trips': "):
        read_config(tmp_path / "trueup.toml")
