"""Releases of the ledgers: found by name alone, kept open, described by their question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import trueup as tu
from trueup.config import read_config
from trueup.server import releases
from trueup.server.errors import NotFoundError
from trueup.server.service import Service, open_service

AGE = tu.Axis.integers("age", 0, 99)


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
    assert again.measurement == first.measurement


def test_a_file_of_text_is_bounded_and_others_are_not(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    axis = tu.Axis.integers("age", 0, 99)
    service.tables["trips"].owner.measure(tu.CellCounts(axis), "1/10")
    ((table, charge),) = service.releases.all()
    opened = service.releases.open(releases.release_id(table, charge))
    monkeypatch.setattr(releases, "_MOST_WRITTEN", 99)
    for kind in ("csv", "json"):
        with pytest.raises(tu.InputError, match="Take parquet or arrow"):
            releases.release_file(opened, "unbiased", kind)  # type: ignore[arg-type]
        with pytest.raises(tu.InputError, match="Take parquet or arrow"):
            releases.measurement_file(opened, kind)  # type: ignore[arg-type]
    for kind in ("parquet", "arrow"):
        assert releases.release_file(opened, "whole", kind)  # type: ignore[arg-type]
    monkeypatch.setattr(releases, "_MOST_WRITTEN", 100)
    assert releases.release_file(opened, "unbiased", "csv")
