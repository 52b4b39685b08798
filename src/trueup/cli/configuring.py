"""Commands about trueup.toml: write a first one, and check one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from trueup.cli.output import AsJson, emit, say
from trueup.config import FILE, read_config
from trueup.draft import draft
from trueup.errors import FileError, InputError


def check_command(
    config: Annotated[
        Path | None,
        typer.Argument(
            envvar="TRUEUP_CONFIG", help="Instead of ./trueup.toml.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check trueup.toml as a server does when it starts: files, columns, ledgers, settings."""
    from trueup.cli.serving import check_installed

    check_installed()
    from trueup.server.checking import check

    found = read_config(config)
    notes = check(found)

    def show() -> None:
        for note in notes:
            say(f"note      {note}")
        say(f"good      {found.path}: {', '.join(found.datasets)}")

    emit(as_json, {"good": True, "datasets": list(found.datasets), "notes": notes}, show)


def init_command(
    table: Annotated[str, typer.Argument(help="A Parquet, CSV or other file of rows.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path(FILE),
    as_json: AsJson = False,
) -> None:
    """Write a first trueup.toml for a table, from the names and types of its columns alone."""
    from trueup.owner.source import open_source

    if output.exists():
        raise FileError(f"{output} is there already. Choose another with --output.")
    schema = open_source(table).schema
    if schema is None:
        raise InputError(f"{table} has no list of columns: name them in {output} yourself.")
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(table).name.partition(".")[0]).strip("-") or "table"
    source = Path(table).absolute()
    folder = output.absolute().parent
    written = source.relative_to(folder) if source.is_relative_to(folder) else source
    try:
        output.write_text(draft(name, str(written), schema), encoding="utf-8")
    except OSError:
        raise FileError(f"{output} cannot be written.") from None
    say_next = f'wrote     {output}: fill in every "?", then run trueup check {output}'
    emit(as_json, {"wrote": str(output), "columns": list(schema)}, lambda: say(say_next))
