"""Commands that check us: the paper's experiments, the demo."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from trueup.cli.output import AsJson, emit, say


def paper_command(
    only: Annotated[
        list[str] | None, typer.Argument(help="Experiments, such as figure5; all if none.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="A folder of count vectors of your own.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for the pictures.")] = Path("out/paper"),
    quick: Annotated[bool, typer.Option("--quick", help="Use fewer draws; takes seconds.")] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same figures.")] = 1,
    law: Annotated[
        str, typer.Option(help="continuous, as in the paper, or discrete, as here.")
    ] = "continuous",
    workers: Annotated[int, typer.Option(help="Threads that share the draws.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments: tables, pictures, claims held or not held. NOT PRIVATE."""
    from trueup.paper.run import run

    words = contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()
    with words:
        figures = run(only or (), data, out, quick, seed, law, workers)
    claims = [
        {"experiment": f.name, "claim": c.paper, "measured": c.measured, "held": bool(c.held)}
        for f in figures
        for c in f.claims
    ]
    emit(as_json, {"pictures": str(out), "claims": claims}, lambda: None)


def demo_command(
    out: Annotated[
        Path | None, typer.Option(help="The folder for the report; a new one if you give none.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Publish flight delays from a real table, twice, and be refused the third time."""
    from trueup.demo import run

    facts = run(out, quiet=as_json)
    emit(as_json, facts, lambda: say(""))


def warm_command(
    only: Annotated[
        list[str] | None, typer.Argument(help="Families, such as trees or noise; all if none.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile every kernel now, so that nothing has to be compiled later.

    Small releases need no compiled code. Larger ones compile what they use, once: this does it
    all at one time, in half a minute, for instance when a container is built. The code is kept
    beside the package, in your cache folder, or where NUMBA_CACHE_DIR says.
    """
    import time

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from trueup.warming import families, warm

    begun = time.perf_counter()
    columns = (TextColumn("compiling: {task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=len(only or list(families())))
        bar.start_task(task)
        warm(lambda name: bar.update(task, description=name, advance=1), only)
    seconds = round(time.perf_counter() - begun, 1)
    which = f"The kernels for {', '.join(only)}" if only else "All kernels"
    emit(as_json, {"seconds": seconds}, lambda: say(f"{which} are compiled: {seconds} s."))
