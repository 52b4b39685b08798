"""The command that measures, and pays for it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueup.ask import Neighbours, Question, check_neighbours
from trueup.budget import Balance, Budget
from trueup.cli import remote
from trueup.cli.asking import Counted, Epsilon, Rho, expected_errors, missing, question_of
from trueup.cli.axes import AxisOptions
from trueup.cli.options import spelled_out
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
from trueup.cli.people import AtMost, RowsPerUnit, features, rows_typed
from trueup.config import Dataset, read_config
from trueup.cost import Cost
from trueup.errors import FileError, InputError, shown
from trueup.facts import counted_rows, rows_for

if TYPE_CHECKING:
    from trueup.owner import Ledger, Owner


@dataclass(frozen=True)
class TableOptions:
    """The options about the table, whom it protects, and its account."""

    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            envvar="TRUEUP_LEDGER",
            help="The ledger to charge: a file, or postgresql://…#NAME.",
        ),
    ] = None
    limit: Annotated[
        str | None, typer.Option("--limit", help="The limit, if the ledger is new.")
    ] = None
    limit_rho: Annotated[
        str | None,
        typer.Option("--limit-rho", help="The limit in rho, if the ledger is new and counts rho."),
    ] = None
    anchor: Annotated[
        str | None,
        typer.Option("--anchor", help="The anchor's file or address, if not beside the ledger."),
    ] = None
    table: Annotated[
        str | None, typer.Option("--table", help="The table, in a database file or server.")
    ] = None
    unit: Annotated[
        str | None, typer.Option("--unit", help="The column that tells apart those to protect.")
    ] = None
    rows_per_unit: RowsPerUnit = None
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type", help="The type of a column that a filter or unit uses: borough=text. Repeat."
        ),
    ] = None
    neighbours: Annotated[str, typer.Option("--neighbours", help="add-remove or replace.")] = (
        "add-remove"
    )
    person: Annotated[
        list[str] | None,
        typer.Option(
            "--person",
            help="With --unit: count people by what they did: visits=count:* or top=max:fare. "
            "Repeat.",
        ),
    ] = None
    at_most: AtMost = None

    def of(self, dataset: Dataset | None) -> TableOptions:
        """The same, with what trueup.toml says of a dataset."""
        if dataset is None:
            return self
        own = (self.unit, self.rows_per_unit, self.limit, self.limit_rho, self.table, self.types)
        if any(own) or self.at_most is not None or (self.person and dataset.people):
            raise InputError(
                f"'{dataset.name}' is declared in trueup.toml with its unit, limit, table and "
                f"columns; change them there."
            )
        return TableOptions(
            self.ledger or dataset.ledger,
            None,
            None,
            self.anchor or dataset.anchor,
            dataset.table,
            dataset.unit,
            "auto" if dataset.at_most is not None else str(dataset.rows_per_unit),
            None,
            dataset.neighbours,
            self.person,
        )

    @property
    def rows(self) -> int:
        """How many rows of each unit count; a person is one record, whatever their rows."""
        typed = rows_typed(self.rows_per_unit)
        return 1 if self.person or typed == "auto" else rows_for(self.unit, typed)

    @property
    def chosen(self) -> bool:
        """Whether it is chosen privately how many rows of each unit count."""
        return not self.person and rows_typed(self.rows_per_unit) == "auto"

    @property
    def columns(self) -> dict[str, Any]:
        """The types of columns that were given."""
        found: dict[str, Any] = {}
        for given in self.types or ():
            column, _, kind = given.rpartition("=")
            if not column:
                raise InputError(
                    f"--type names a column and its type, such as borough=text, got {shown(given)}."
                )
            found[column] = kind
        return found

    def open(self, source: str, dataset: Dataset | None, counted: Counted) -> Owner:
        """The owner of the table, on its ledger, with what trueup.toml says of a dataset."""
        from trueup.owner import Ledger
        from trueup.owner.of_dataset import owner_of

        said = Budget.said(self.limit, self.limit_rho)
        options = said.options if said is not None else {}
        if dataset is not None:
            options = dataset.ledger_options

        if dataset is not None and counted.ends not in (None, dataset.edges):
            raise InputError(
                f"'{dataset.name}' is declared in trueup.toml: name the ends of its edges there."
            )
        if self.ledger is None:
            raise InputError(
                "A measurement needs --ledger, the account of what was spent; "
                "with --limit it is made if it is not there."
            )
        # The source first: a mistyped path should not leave a new ledger behind.
        if "://" not in source and not _some_file(source):
            raise FileError(f"There is no file {source}.")
        ledger = Ledger(self.ledger, anchor=self.anchor, **options)
        owner = (
            self._plain(source, ledger, counted) if dataset is None else owner_of(dataset, ledger)
        )
        return owner.people(**features(self.person)) if self.person else owner

    def _plain(self, source: str, ledger: Ledger, counted: Counted) -> Owner:
        """The owner of a table that trueup.toml says nothing of."""
        from trueup.owner import Owner

        return Owner(
            source,
            ledger,
            unit=self.unit,
            rows_per_unit="auto" if self.chosen else self.rows,
            at_most=self.at_most,
            columns=self.columns or None,
            table=self.table,
            edges=counted.ends,
            graph=counted.graph,
        )


def _some_file(source: str) -> bool:
    import glob

    return Path(source).exists() or bool(glob.glob(source, recursive=True))


Periods = Annotated[
    list[str] | None,
    typer.Option("--period", help="With a ledger that has a limit for each day: the day. Repeat."),
]


@dataclass(frozen=True)
class SpendOptions:
    """The options about the payment."""

    epsilon: Epsilon = None
    rho: Rho = None
    key: Annotated[
        str | None,
        typer.Option(
            "--key", help="Ask again with the same key to get the same answer, paid once."
        ),
    ] = None
    period: Periods = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking.")] = False
    token: Annotated[
        str | None, typer.Option("--token", envvar="TRUEUP_TOKEN", help="The token for a server.")
    ] = None
    config: Annotated[
        Path | None,
        typer.Option("--config", envvar="TRUEUP_CONFIG", help="Instead of ./trueup.toml."),
    ] = None

    @property
    def cost(self) -> Cost:
        """What is paid, refused if it was not said."""
        if self.epsilon is None and self.rho is None:
            missing("--epsilon, or --rho")
        return Cost.of(self.epsilon, self.rho)


@spelled_out
def measure_command(
    source: Annotated[
        str,
        typer.Argument(
            help="A file, a glob, postgresql://…, http://…/DATASET, or a dataset of trueup.toml."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to save the measurement in.")
    ],
    spend: SpendOptions,
    table: TableOptions,
    declared: AxisOptions,
    counted: Counted,
    as_json: AsJson = False,
) -> None:
    """Measure a table: exact noise, charged to a ledger before it is drawn.

    Shows what it costs, what remains and what error to expect, and asks before it spends.
    """
    if source.startswith(("http://", "https://")):
        part = _part(spend, table, declared, counted)
        remote.measure(source, spend.token, part, output, spend.key, spend.yes, as_json)
        return
    dataset = read_config(spend.config).datasets.get(source)
    cost, periods = spend.cost, spend.period or []
    table = table.of(dataset)
    neighbours = check_neighbours(table.neighbours)
    question = question_of(declared, dataset, counted, cost, neighbours, table.rows, table.chosen)
    check_output(output)
    key = secrets.token_hex(16) if spend.key is None else spend.key
    owner = table.open(source if dataset is None else dataset.source, dataset, counted)
    now = least(owner.ledger, periods)
    charged = cost.counted_in(now.limit.notion)
    asked: Any = {"where": counted.where, "neighbours": neighbours, "period": periods or None}
    if spend.key is None:  # what a key has paid for is answered, whatever became of the table
        owner.check(question, cost, **asked)
    expected = _expected(owner, question, cost, neighbours)
    paid = spend.key is not None and owner.ledger.find(spend.key) is not None
    if not as_json:
        price = "nothing more: this key has paid" if paid else _words(cost, charged, now)
        say(f"cost      {price}; {now.remaining.amount} is left in {owner.ledger.name}")
        _say_terms(owner, question, neighbours, periods, expected)
    if charged.amount <= now.remaining.amount and not spend.yes and not paid:
        confirm(as_json)
    with waiting("counting, and drawing noise"):
        measured = owner.measure(question, cost, key, **asked)
        save_paid(measured, output, key)
    left = least(owner.ledger, periods).remaining.amount
    said: dict[str, Any] = {
        "saved": str(output),
        **{each.notion: each.amount for each in (cost, charged)},
        "remaining": left,
        "answers": len(measured.noisy),
        "expected": [{"of": what, "within": error} for what, error in expected],
    }
    counts = {} if owner.at_most is None else {"counted": measured.facts.capped}
    shown = [f"saved     {output}; {left} is left", *(f"counted   {c}" for c in counts.values())]
    emit(as_json, said | counts, lambda: say("\n".join(shown)))


def _expected(
    owner: Owner, question: Question, cost: Cost, neighbours: Neighbours
) -> list[tuple[str, float]]:
    """What error to expect; nothing where the noise follows from a bound not chosen yet."""
    if owner.at_most is not None:
        return []
    return expected_errors(question, cost, neighbours, owner.rows_per_unit)


def least(ledger: Ledger, periods: list[str]) -> Balance:
    """How much is left: of the ledger, or of the period that has the least."""
    if ledger.calendar is None:
        return ledger.balance
    if not periods:
        raise InputError(
            f"This ledger has a limit for each {ledger.calendar.per}: say which is asked about, "
            f"--period {ledger.calendar.example}."
        )
    each = [ledger.balance_in(period) for period in periods]
    return min(each, key=lambda balance: balance.remaining.amount)


def _part(
    spend: SpendOptions, table: TableOptions, declared: AxisOptions, counted: Counted
) -> remote.RemotePart:
    """What is asked of somebody else's server, refused where only its owner decides."""
    if len(counted.column or ()) > 1:
        raise InputError("A server counts one column at a time: give --column once.")
    table_s = (table.ledger, table.limit, table.limit_rho, table.anchor, table.table, table.unit)
    sorted_s = (counted.branching, counted.by, counted.groups, counted.degrees, counted.nodes)
    if any(given is not None for given in (*table_s, *sorted_s, *declared.of_the_owner)):
        raise InputError(
            "A server's owner declares its tables: give --column, --range and --bins, or "
            "--integers, within a declared axis; --strategy, --where, --key and --token."
        )
    whole = declared.integers and (declared.integers[0], declared.integers[1] + 1)
    column = counted.column[0] if counted.column else None
    strategy = counted.strategy or "best"
    ends = declared.range or whole
    return remote.RemotePart(column, ends, declared.bins, spend.cost, strategy, counted.where)


def _words(cost: Cost, charged: Cost, now: Balance) -> str:
    """What it costs, in what was asked in and in what the ledger counts; ρ as (ε, δ), too."""
    said = f"{cost.notion} {cost.amount}"
    if charged != cost:
        said += f", which is {charged.notion} {charged.amount}"
    meant = now.shown(charged)
    return f"{said} ({meant})" if meant else said


def _say_terms(
    owner: Owner,
    question: Question,
    neighbours: Neighbours,
    periods: list[str],
    expected: Sequence[tuple[str, float]],
) -> None:
    """Whom it protects, which rows count, and what error to expect."""
    say_protects(owner, neighbours, periods)
    _say_counted(owner)
    for what, error in expected:
        say(f"expect    ±{number(error)} on {what}, 95 times in 100")
    if expected and question.space.kind == "cells" and not question.settled:
        say("          small counts are counted together: their intervals may be wider")


def say_protects(owner: Owner, neighbours: str, periods: list[str], width: int = 8) -> None:
    """Whom the noise protects; where each period has a limit, what is charged and lost."""
    if owner.calendar is None:
        say(f"{'protects':<{width}}  one {owner.protects}, {neighbours}")
        return
    say(f"{'charged':<{width}}  to {', '.join(periods)}, each the whole cost")
    rows = "" if owner.unit is None else "'s rows"
    of = f"{owner.protects}{rows} of one {owner.calendar.per}"
    say(f"{'protects':<{width}}  one {of}, {neighbours}")
    say(f"{'loses':<{width}}  {owner.ledger.loses}")


def _say_counted(owner: Owner) -> None:
    """That rows of a unit may be left out."""
    capped = "" if "people" in owner.source else counted_rows(owner.protects, owner.rows_per_unit)
    if owner.at_most is not None:
        say(
            f"counts    at most so many rows of each {owner.protects} as are chosen privately, for "
            f"a share of epsilon; the noise grows with their number"
        )
    elif capped:
        say(f"counts    {capped}")
