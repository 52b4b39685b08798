"""Releases of the ledgers: found by name alone, kept open, described by their question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import trueup as tu
from trueup.config import read_config
from trueup.server.errors import NotFoundError
from trueup.server.opened import OpenedMeasurement
from trueup.server.service import Service, open_service

AGE = tu.Axis.integers("age", 0, 99)
BOROUGH = tu.Axis.categories("borough", ["Bronx", "Queens"])


@pytest.fixture
def service(config_of: Callable[..., Path], tmp_path: Path) -> Iterator[Service]:
    found = open_service(read_config(config_of(tmp_path, server="open_releases = 1")))
    yield found
    found.jobs.close()


@pytest.mark.parametrize(
    ("question", "kind", "strategy"),
    [
        (tu.CellCounts(AGE), "histogram", "flat"),
        (tu.TreeCounts(AGE), "histogram", "tree"),
        (tu.TreeCounts(AGE, branching=2), "histogram", "binary"),
        (tu.HatCounts(AGE), "histogram", "hats"),
        (tu.SortedCounts(100, by="age"), "sorted", "sorted"),
        (tu.SortedCounts(100, by="age", adaptive=False), "sorted", "sorted"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_line_says_what_the_question_is(
    service: Service, question: tu.ask.Question, kind: str, strategy: str
) -> None:
    service.tables["trips"].owner.measure(question, "1/10")
    line = service.releases.entry(*service.releases.all()[0])
    assert (line["kind"], line["strategy"], line["column"]) == (kind, strategy, "age")
    assert (line["cells"], line["epsilon"]) == (100, "1/10")


def test_no_other_name_finds_a_release(service: Service) -> None:
    owner = service.tables["trips"].owner
    measured = owner.measure(tu.CellCounts(AGE), "1/10")
    entry = owner.ledger.history()[-1].entry
    opened = service.releases.open(f"trips.{entry}")
    assert isinstance(opened, OpenedMeasurement)
    assert opened.measurement == measured
    for name in ("", "trips", f"trips.0{entry}", f"trips.{entry}.", f"friends.{entry}",
                 "trips.²", "trips.-1", f" trips.{entry}", "trips." + "9" * 30):  # fmt: skip
        with pytest.raises(NotFoundError):
            service.releases.open(name)


def test_only_so_many_are_kept_open(service: Service) -> None:
    owner = service.tables["trips"].owner
    names = []
    for _ in range(3):
        owner.measure(tu.CellCounts(AGE), "1/10")
        names.append(f"trips.{owner.ledger.history()[-1].entry}")
    first = service.releases.open(names[0])
    assert service.releases.open(names[0]) is first
    for name in names[1:]:
        service.releases.open(name)
    again = service.releases.open(names[0])
    assert again is not first
    assert isinstance(first, OpenedMeasurement)
    assert isinstance(again, OpenedMeasurement)
    assert again.measurement == first.measurement


def test_a_table_in_a_folder_is_left_out_and_refused_with_its_reason(
    service: Service, tmp_path: Path
) -> None:
    owner = service.tables["trips"].owner
    young = tu.Axis.integers("age", 0, 49)
    owner.measure(tu.CellCounts(AGE), "1/10")
    question = tu.GridCounts(tu.CellCounts(BOROUGH), tu.TreeCounts(young))
    owner.publish(question, "1/10", to=tmp_path / "table")
    owner.publish(young, "1/10", nonnegative=False, to=tmp_path / "line")
    first, table, line = (f"trips.{charge.entry}" for charge in owner.ledger.history())
    seen = [service.releases.entry(*each)["id"] for each in service.releases.all()]
    assert seen == [first, line]
    with pytest.raises(tu.InputError, match="a table in a folder, which is not served"):
        service.releases.open(table)
    service.releases.open(line)


def test_what_a_ledger_paid_for_and_a_server_does_not_serve_is_no_release(
    service: Service, tmp_path: Path
) -> None:
    """Owners charge their ledgers for streams and weights, too: the others are listed as before."""
    table = service.tables["trips"]
    tu.Stream.open(tmp_path / "one.stream", epsilon=1, ledger=table.ledger, key="stream").leave()
    tu.adaptive(table.owner, AGE, 1, rounds=2)
    table.owner.measure(tu.CellCounts(AGE), 1)
    paid = [charge for charge in table.ledger.history() if charge.answer is not None]
    assert len(paid) == 3
    assert [service.releases.entry(*each)["kind"] for each in service.releases.all()] == [
        "histogram"
    ]
    assert service.releases.count(table) == 1
    for charge in paid[:2]:
        with pytest.raises(NotFoundError):
            service.releases.opened(f"trips.{charge.entry}")
