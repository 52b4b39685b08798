"""The command that measures, and pays for it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueup.ask import Neighbours, check_neighbours
from trueup.cli import axes, remote
from trueup.cli.asking import Asked, Epsilon, expected_errors, missing, question_of
from trueup.cli.output import (
    AsJson,
    check_output,
    confirm,
    emit,
    number,
    save_paid,
    say,
    waiting,
)
from trueup.config import Dataset, read_config
from trueup.epsilon import positive
from trueup.errors import InputError

if TYPE_CHECKING:
    from trueup.owner import Owner

Config = Annotated[
    Path | None,
    typer.Option("--config", envvar="TRUEUP_CONFIG", help="Instead of ./trueup.toml."),
]


@dataclass(frozen=True)
class Door:
    """What was said about the table and its account, on the command line or in trueup.toml."""

    source: str
    ledger: Path | None
    limit: str | None
    anchor: Path | None
    table: str | None
    unit: str | None
    rows_per_unit: int
    neighbours: Neighbours
    columns: dict[str, Any]

    def open(self, edges: tuple[str, str] | None, graph: str) -> Owner:
        """The owner of the table."""
        from trueup.owner import Ledger, Owner

        if self.ledger is None:
            raise InputError(
                "A measurement needs --ledger, the account of what was spent; "
                "with --limit it is made if it is not there."
            )
        # The source first: a mistyped path should not leave a new ledger behind.
        if "://" not in self.source and not _some_file(self.source):
            raise InputError(f"There is no file {self.source}.")
        return Owner(
            self.source,
            Ledger(self.ledger, self.limit, anchor=self.anchor),
            unit=self.unit,
            rows_per_unit=self.rows_per_unit,
            columns=self.columns or None,
            table=self.table,
            edges=edges,
            graph=graph,
        )


def _some_file(source: str) -> bool:
    import glob

    return Path(source).exists() or bool(glob.glob(source, recursive=True))


def _door(source: str, dataset: Dataset | None, given: dict[str, Any]) -> Door:
    if dataset is None:
        return Door(source=source, columns={}, **given)
    said = {name for name in ("unit", "limit", "table") if given[name] is not None}
    if given["rows_per_unit"] != 1 or said:
        raise InputError(
            f"'{dataset.name}' is declared in trueup.toml with its unit, limit and table; "
            f"change them there."
        )
    return Door(
        source=dataset.source,
        ledger=given["ledger"] or dataset.ledger,
        limit=str(dataset.limit),
        anchor=given["anchor"] or dataset.anchor,
        table=dataset.table,
        unit=dataset.unit,
        rows_per_unit=dataset.rows_per_unit,
        neighbours=dataset.neighbours,
        columns=dict(dataset.columns),
    )


@axes.spelled_out
def measure_command(
    source: Annotated[
        str,
        typer.Argument(
            help="A file, a glob, postgresql://…, http://…/DATASET, or a dataset of trueup.toml."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the measurement goes.")],
    epsilon: Epsilon = None,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", envvar="TRUEUP_LEDGER", help="The account that is charged."),
    ] = None,
    limit: Annotated[
        str | None, typer.Option("--limit", help="The limit of a ledger made now.")
    ] = None,
    anchor: Annotated[
        Path | None, typer.Option("--anchor", help="Where the ledger's anchor lives.")
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", help="The table, in a database file or server.")
    ] = None,
    columns: axes.Columns = None,
    declared: axes.AxisOptions = axes.NOTHING,
    branching: Annotated[
        int | None, typer.Option("--branching", help="The paper's tree of this fan-out.")
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option("--strategy", help="tree, hats, flat, binary or best; of a server, sorted."),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", help="Sorted counts of a column's values, with --groups.")
    ] = None,
    groups: Annotated[
        int | None, typer.Option("--groups", help="How many groups there are: public.")
    ] = None,
    degrees: Annotated[
        str | None, typer.Option("--degrees", help="Degree sequence of edges: src,dst.")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", help="With --degrees: how many nodes: public.")
    ] = None,
    graph: Annotated[
        str, typer.Option("--graph", help="undirected, directed or bipartite.")
    ] = "undirected",
    where: Annotated[
        str | None, typer.Option("--where", help="A filter, such as \"age >= 18 and sex = 'F'\".")
    ] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", help="The column that names whom to protect.")
    ] = None,
    rows_per_unit: Annotated[
        int, typer.Option("--rows-per-unit", help="With --unit: how many rows of each count.")
    ] = 1,
    neighbours: Annotated[
        str, typer.Option("--neighbours", help="add-remove or replace.")
    ] = "add-remove",
    key: Annotated[
        str | None, typer.Option("--key", help="The same key gives the same answer, paid once.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking.")] = False,
    token: Annotated[
        str | None, typer.Option("--token", envvar="TRUEUP_TOKEN", help="For a server.")
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Measure a table: exact noise, charged to a ledger before it is drawn.

    Shows what it costs, what remains and what error to expect, and asks before it spends.
    """
    column = columns[0] if columns and len(columns) == 1 else None
    if source.startswith(("http://", "https://")):
        if columns and column is None:
            raise InputError("A server counts one column at a time: give --column once.")
        at_home = (ledger, limit, anchor, table, unit, branching, by, groups, degrees, nodes)
        if any(given is not None for given in (*at_home, *declared.of_the_owner)):
            raise InputError(
                "A server's owner declares its tables: give --column, --range and --bins, or "
                "--integers, within a declared axis; --strategy, --where, --key and --token."
            )
        whole = declared.integers and (declared.integers[0], declared.integers[1] + 1)
        price = epsilon if epsilon is not None else missing("--epsilon")
        span = declared.range or whole
        part = remote.Part(column, span, declared.bins, price, strategy or "best", where)
        remote.measure(source, token, part, output, key, yes, as_json)
        return
    dataset = read_config(config).datasets.get(source)
    cost = positive(epsilon if epsilon is not None else missing("--epsilon"))
    door = _door(
        source,
        dataset,
        {
            "ledger": ledger,
            "limit": limit,
            "anchor": anchor,
            "table": table,
            "unit": unit,
            "rows_per_unit": rows_per_unit,
            "neighbours": check_neighbours(neighbours),
        },
    )
    options = replace(declared, column=column)
    asked = Asked(branching, strategy, cost)
    if columns and column is None:
        question = asked.grid(columns, options, dataset)
    else:
        question = question_of(options, dataset, asked, (by, groups), (degrees, nodes, graph))
    check_output(output)
    key = secrets.token_hex(16) if key is None else key
    owner = door.open(_ends(degrees), graph)
    before = owner.ledger.remaining
    expected = expected_errors(question, cost, door.neighbours, owner.rows_per_unit)
    if not as_json:
        say(f"cost      epsilon {cost}, of which {before} is left in {owner.ledger.path}")
        say(f"protects  one {owner.protects}{_rows(owner.rows_per_unit)}, {door.neighbours}")
        for what, error in expected:
            say(f"expect    ±{number(error)} on {what}, 95 times in 100")
    if cost <= before and not yes:
        confirm(as_json)
    with waiting("counting, and drawing noise (the first run compiles for a while)"):
        measured = owner.measure(question, cost, key, where=where, neighbours=door.neighbours)
        save_paid(measured, output, key)
    left = owner.ledger.remaining
    facts = {
        "saved": str(output),
        "epsilon": cost,
        "remaining": left,
        "answers": len(measured.noisy),
        "expected": [{"of": what, "within": error} for what, error in expected],
    }
    emit(as_json, facts, lambda: say(f"saved     {output}; {left} is left"))


def _rows(rows: int) -> str:
    return "" if rows == 1 else f" (at most {rows} rows of it count)"


def _ends(degrees: str | None) -> tuple[str, str] | None:
    if degrees is None:
        return None
    parts = [part.strip() for part in degrees.split(",")]
    if len(parts) != 2 or not all(parts):
        raise InputError(f"--degrees names two columns, such as src,dst, got {degrees!r}.")
    return parts[0], parts[1]
