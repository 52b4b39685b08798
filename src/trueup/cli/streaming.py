"""Commands about streams: counts published step after step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import trueup as tu
from trueup.cli.options import spelled_out
from trueup.cli.output import AsJson, check_output, emit, say, table
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.release.wording import between, check_level

app = typer.Typer(
    help="Counts published step after step: open, step, show, close.",
    no_args_is_help=True,
)

Place = Annotated[Path, typer.Argument(help="The file of the stream's state.", show_default=False)]
Account = Annotated[
    str | None,
    typer.Option("--ledger", help="The ledger that pays: its file, or postgresql://…#NAME."),
]
Level = Annotated[float, typer.Option("--level", help="The level of the interval.")]
_ROWS = 20


def _cost(cost: Cost) -> dict[str, object]:
    return {cost.notion: cost.amount}


def _ledger(place: str | None) -> tu.Ledger | None:
    return None if place is None else tu.Ledger(place)


def _resumed(path: Path, ledger: str | None) -> tu.Stream:
    return tu.Stream.resume(path, _ledger(ledger))


@dataclass(frozen=True)
class Opening:
    """What a stream is opened with."""

    epsilon: Annotated[
        str | None, typer.Option(help="What it costs, once.", show_default=False)
    ] = None
    rho: Annotated[
        str | None, typer.Option(help="The same in rho, for Gaussian noise.", show_default=False)
    ] = None
    steps: Annotated[int | None, typer.Option(help="How many steps there will be, if known.")] = (
        None
    )
    unit: Annotated[str, typer.Option(help="What is protected.")] = "row"
    rows_per_unit: Annotated[
        int | None, typer.Option(help="The most rows of a unit in a step.")
    ] = None
    steps_per_unit: Annotated[int, typer.Option(help="In how many steps a unit may be.")] = 1


@app.command("open")
@spelled_out
def open_command(
    path: Place, opening: Opening, ledger: Account = None, as_json: AsJson = False
) -> None:
    """Open a new stream. It is paid for once, now, for its whole life."""
    stream = tu.Stream.open(path, ledger=_ledger(ledger), **vars(opening))
    stream.leave()
    terms, known = stream.terms, opening.steps or 365
    error = stream.mean_error(known) ** 0.5
    facts = {"path": str(path), **_cost(terms.cost), "typical_error": error}
    emit(
        as_json,
        facts,
        lambda: say(
            f"Opened {path} for {terms.cost.notion} {terms.cost.amount}. Totals over {known} steps "
            f"will be off by about {error:.3g}. The file is secret: never publish it."
        ),
    )


@app.command("step")
def step_command(
    path: Place,
    count: Annotated[int, typer.Argument(help="The count of the next step.", show_default=False)],
    level: Level = 0.95,
    ledger: Account = None,
    as_json: AsJson = False,
) -> None:
    """Take the next step and publish the total so far."""
    check_level(level)  # a step that is taken is not taken back
    with _resumed(path, ledger) as stream:
        total = stream.step(count)
        _tell(stream, total, level, as_json)


@app.command("show")
def show_command(
    path: Place,
    start: Annotated[int | None, typer.Option(help="The first step of a window, from 0.")] = None,
    stop: Annotated[int | None, typer.Option(help="One after its last step.")] = None,
    level: Level = 0.95,
    ledger: Account = None,
    as_json: AsJson = False,
) -> None:
    """Show the total so far, or a window; without a window also the last totals."""
    with _resumed(path, ledger) as stream:
        if not stream.steps:
            raise InputError(f"The stream {path} has taken no step yet: trueup stream step does.")
        window = start is not None or stop is not None
        asked = stream.window(start or 0, stream.steps if stop is None else stop)
        if not window and not as_json:
            last = stream.totals()
            rows = [
                [f"{step:,}", f"{total:,.1f}", f"{error:,.1f}"]
                for step, total, error in zip(*last.values(), strict=True)
            ]
            table(["steps", "total", "±"], rows[-_ROWS:])
        _tell(stream, asked, level, as_json)


@app.command("close")
def close_command(
    path: Place,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Save the measurement: .parquet or .json."),
    ] = None,
    ledger: Account = None,
    as_json: AsJson = False,
) -> None:
    """Close a stream for good, and true up its history: trueup infer reads the measurement."""
    if output is not None:
        check_output(output)
    with _resumed(path, ledger) as stream:
        stream.close()
        measured = stream.measurement()
        paid = Cost.of(measured.epsilon, measured.rho)
        told: dict[str, Any] = {"steps": stream.steps, **_cost(paid)}
        if output is not None:
            measured.save(output)
            told["saved"] = str(output)
        where = f" The measurement is in {output}." if output else ""
        emit(as_json, told, lambda: say(f"Closed after {_steps(stream)}.{where}"))


def _steps(stream: tu.Stream) -> str:
    return "1 step" if stream.steps == 1 else f"{stream.steps:,} steps"


def _tell(stream: tu.Stream, asked: Any, level: float, as_json: bool) -> None:
    low, high = asked.interval(level)
    facts = {
        "steps": stream.steps,
        "value": asked.value,
        "std_error": asked.std_error,
        "interval": [low, high],
        "level": level,
    }
    emit(
        as_json,
        facts,
        lambda: say(
            f"{asked} after {_steps(stream)}; {100 * level:.6g} %: {between(low, high, ' to ')}"
        ),
    )
