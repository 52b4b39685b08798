"""The command that publishes: a table once, or all that stands in trueup.toml and is due."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trueup as tu
from trueup.ask import check_neighbours
from trueup.cli.asking import Counted, Epsilon, Rho, missing, question_of
from trueup.cli.axes import AxisOptions
from trueup.cli.options import ConfigFile, Relation, Unit, spelled_out
from trueup.cli.output import AsJson, check_output, emit, say, table, waiting
from trueup.cli.people import AtMost, RowsPerUnit, rows_typed
from trueup.config import read_config
from trueup.cost import Cost
from trueup.errors import FileError, InputError
from trueup.facts import rows_for

if TYPE_CHECKING:
    from trueup.standing import Series, SeriesStatus

DUE, GAP = 7, 8
"""Exit codes of the status: something is due, or a period is missing between others."""
_NAMED = 2  # periods that a line of the table names


@dataclass(frozen=True)
class DueOptions:
    """The options about standing publications."""

    due: Annotated[
        bool, typer.Option("--due", help="Publish the series that are due, each period once.")
    ] = False
    status: Annotated[
        bool,
        typer.Option("--status", help="Say what is published, what is due, and what is missing."),
    ] = False
    through: Annotated[str | None, typer.Option(help="The last period to publish: 2026-03-31.")] = (
        None
    )
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --due: say what would be published. Free.")
    ] = False
    series: Annotated[
        list[str] | None, typer.Option(help="Only this series. Repeat for several.")
    ] = None
    config: ConfigFile = None

    def chosen(self) -> list[Series]:
        """The series that are meant; refused where there are none."""
        from trueup.standing import read_series

        config = read_config(self.config)
        every = {each.name: each for each in read_series(config)}
        if not every:
            raise FileError("trueup.toml declares no series: [publish.NAME].")
        for name in self.series or ():
            if name not in every:
                raise InputError(f"There is no series '{name}'. Series: {', '.join(every)}.")
        return [each for name, each in every.items() if not self.series or name in self.series]


@dataclass(frozen=True)
class OnceOptions:
    """The options about a table that is published once, without a ledger."""

    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to save the release in.")
    ] = None
    to: Annotated[
        Path | None,
        typer.Option(help="Instead of -o: a new folder, for releases larger than memory."),
    ] = None
    epsilon: Epsilon = None
    rho: Rho = None
    unit: Unit = None
    rows_per_unit: RowsPerUnit = None
    at_most: AtMost = None
    neighbours: Relation = "add-remove"


@spelled_out
def publish_command(
    source: Annotated[
        str | None, typer.Argument(help="A file to publish once; or the word status.")
    ] = None,
    *,
    standing: DueOptions,
    once: OnceOptions,
    declared: AxisOptions,
    counted: Counted,
    as_json: AsJson = False,
) -> None:
    """Publish a table once, or with --due the series of trueup.toml that are due."""
    if standing.status or (source == "status" and not Path(source).exists()):
        _status(standing, as_json)
    elif standing.due:
        if source is not None:
            raise InputError("--due publishes the series of trueup.toml: leave the table out.")
        _dry_run(standing, as_json) if standing.dry_run else _due(standing, as_json)
    elif source is None:
        raise InputError("Name a table to publish once, or say --due or --status.")
    else:
        _once(source, once, declared, counted, as_json)


def _once(
    source: str, once: OnceOptions, declared: AxisOptions, counted: Counted, as_json: bool
) -> None:
    """As `tu.publish`: no ledger adds up what such calls cost."""
    if once.epsilon is None and once.rho is None:
        missing("--epsilon, or --rho")
    if (once.output is None) == (once.to is None):
        missing("--output, or --to: one of the two")
    if counted.where is not None or counted.degrees is not None:
        raise InputError("A table that is published once has no --where and no --degrees: measure.")
    if once.output is not None:
        check_output(once.output)
    if not Path(source).exists():
        raise FileError(f"There is no file {source}.")
    cost, neighbours = Cost.of(once.epsilon, once.rho), check_neighbours(once.neighbours)
    typed = rows_typed(once.rows_per_unit)
    rows = 1 if typed == "auto" else rows_for(once.unit, typed)
    if once.to is not None and counted.branching is None and counted.strategy is None:
        counted = replace(counted, strategy="tree")  # the best for all ranges
    question = question_of(declared, None, counted, cost, neighbours, rows, typed == "auto")
    bound: Any = {"rows_per_unit": typed or rows, "at_most": once.at_most}
    bound["unit"] = once.unit or "row"
    if once.to is not None:
        terms = {"to": once.to, **bound}
        release: Any = tu.publish(Path(source), question, cost, neighbours, **terms)
    else:
        with waiting("counting, and drawing noise"):
            release = tu.publish(Path(source), question, cost, neighbours, **bound)
            release.save(once.output)
    place = once.output or once.to
    said: dict[str, Any] = {"saved": str(place), cost.notion: cost.amount}
    if typed == "auto":
        said["counted"] = release.facts.capped

    def show() -> None:
        say(f"saved     {place}; no ledger knows of its {cost}")
        if typed == "auto":
            say(f"counted   {release.facts.capped}")

    emit(as_json, said, show)


def _due(standing: DueOptions, as_json: bool) -> None:
    from trueup.standing import publish_due

    with waiting("publishing what is due"):
        done = publish_due(standing.chosen(), dt.datetime.now(dt.UTC), standing.through)
    said = {
        "published": [list(each) for each in done.published],
        "completed": [list(each) for each in done.completed],
        "written": [str(path) for path in done.written],
        "refused": [[*each, words] for each, words in done.refused.items()],
    }

    def show() -> None:
        for name, periods in _by_series(done.published).items():
            say(f"published {name}: {_some(periods)}")
        for name, periods in _by_series(done.completed).items():
            say(f"completed {name}: {_some(periods)}")
        for (name, period), words in done.refused.items():
            say(f"refused   {name} {period}: {words}")
        if not said["published"] and not said["completed"] and not said["refused"]:
            say(f"nothing is due; {len(done.written)} files were missing and are written")

    emit(as_json, said, show)
    if done.refused:
        raise typer.Exit(3)


def _dry_run(standing: DueOptions, as_json: bool) -> None:
    found = _found(standing)
    said = {"due": [[each.series.name, list(each.missing), each.price] for each in found]}

    def show() -> None:
        for each in found:
            if each.missing:
                say(f"due       {each.series.name}: {_some(each.missing)}; {each.price}")
        if not any(each.missing for each in found):
            say("nothing is due")

    emit(as_json, said, show)


def _status(standing: DueOptions, as_json: bool) -> None:
    found = _found(standing)

    def show() -> None:
        rows = [
            [
                each.series.name,
                each.word,
                f"{len(each.published):,}",
                each.published[-1] if each.published else "",
                f"{len(each.missing):,}",
                _some(each.gaps or each.missing),
            ]
            for each in found
        ]
        table(["series", "is", "published", "last", "missing", "which"], rows)
        for each in found:
            for words, periods in (
                ("charged, without an answer yet", each.unanswered),
                ("published, its files not written", each.unwritten),
            ):
                if periods:
                    say(f"{each.series.name}: {words}: {_some(periods)}")

    emit(as_json, {"series": [each.to_json() for each in found]}, show)
    words = {each.word for each in found}
    if words != {"published"}:
        raise typer.Exit(GAP if "gap" in words else DUE)


def _found(standing: DueOptions) -> list[SeriesStatus]:
    from trueup.standing import statuses

    return statuses(standing.chosen(), dt.datetime.now(dt.UTC), standing.through)


def _by_series(done: list[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, period in done:
        found.setdefault(name, []).append(period)
    return found


def _some(periods: Any) -> str:
    """A few periods by name, or of many the first and the last."""
    if len(periods) <= _NAMED:
        return ", ".join(periods)
    return f"{periods[0]} … {periods[-1]} ({len(periods):,})"
