"""The command that measures, and pays for it."""

from __future__ import annotations

import glob
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

import trueup as tu
from trueup.ask import Neighbours, Question, check_neighbours
from trueup.budget import Balance, Budget
from trueup.cli import remote
from trueup.cli.asking import Counted, Epsilon, Rho, expected_errors, missing, question_of
from trueup.cli.axes import AxisOptions
from trueup.cli.options import (
    Anchor,
    ConfigFile,
    Key,
    MeasurementFile,
    Relation,
    Unit,
    Yes,
    spelled_out,
)
from trueup.cli.output import (
    AsJson,
    Savable,
    check_output,
    confirm,
    emit,
    number,
    save_paid,
    say,
    stoppable,
    waiting,
)
from trueup.cli.people import AtMost, RowsPerUnit, features, rows_typed
from trueup.config import Dataset, read_config
from trueup.cost import Cost
from trueup.errors import FileError, InputError, shown
from trueup.facts import counted_rows, rows_for

S = TypeVar("S", bound=Savable)


@dataclass(frozen=True)
class TableOptions:
    """The options about the table, whom it protects, and its account."""

    ledger: Annotated[
        str | None,
        typer.Option(
            envvar="TRUEUP_LEDGER", help="The ledger to charge: a file, or postgresql://…#NAME."
        ),
    ] = None
    limit: Annotated[str | None, typer.Option(help="The limit, if the ledger is new.")] = None
    limit_rho: Annotated[
        str | None, typer.Option(help="The limit in rho, if the ledger is new and counts rho.")
    ] = None
    anchor: Anchor = None
    table: Annotated[str | None, typer.Option(help="The table, in a database file or server.")] = (
        None
    )
    unit: Unit = None
    rows_per_unit: RowsPerUnit = None
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type", help="The type of a column that a filter or unit uses: borough=text. Repeat."
        ),
    ] = None
    neighbours: Relation = "add-remove"
    person: Annotated[
        list[str] | None,
        typer.Option(
            help="With --unit: count people by what they did: visits=count:* or top=max:fare. "
            "Repeat."
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

    def open(self, source: str, dataset: Dataset | None, counted: Counted) -> tu.Owner:
        """The owner of the table, on its ledger, with what trueup.toml says of a dataset."""
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
        ledger = tu.Ledger(self.ledger, anchor=self.anchor, **options)
        owner = (
            self._plain(source, ledger, counted) if dataset is None else owner_of(dataset, ledger)
        )
        return owner.people(**features(self.person)) if self.person else owner

    def _plain(self, source: str, ledger: tu.Ledger, counted: Counted) -> tu.Owner:
        """The owner of a table that trueup.toml says nothing of."""
        return tu.Owner(
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
    key: Key = None
    period: Periods = None
    yes: Yes = False
    token: Annotated[
        str | None, typer.Option(envvar="TRUEUP_TOKEN", help="The token for a server.")
    ] = None
    config: ConfigFile = None

    @property
    def cost(self) -> Cost:
        """What is paid, refused if it was not said."""
        if self.epsilon is None and self.rho is None:
            missing("--epsilon, or --rho")
        return Cost.of(self.epsilon, self.rho)


@dataclass(frozen=True)
class Purchase:
    """What is about to be paid for, from a ledger at one moment."""

    ledger: tu.Ledger
    cost: Cost
    periods: list[str]
    key: str | None
    yes: bool
    as_json: bool

    @cached_property
    def now(self) -> Balance:
        """How much was left before: of the ledger, or of the period that has the least."""
        return least(self.ledger, self.periods)

    @cached_property
    def charged(self) -> Cost:
        """What it costs in what the ledger counts."""
        return self.cost.counted_in(self.now.limit.notion)

    @cached_property
    def paid(self) -> bool:
        """Whether its key has paid for it already."""
        return self.key is not None and self.ledger.find(self.key) is not None

    def price(self, words: str) -> str:
        """What it costs, in these words; nothing more if its key has paid."""
        return "nothing more: this key has paid" if self.paid else words

    def made(self, measure: Callable[[str], S], output: Path) -> tuple[S, Fraction]:
        """What was measured under its key and saved, and what is left; asks before it spends."""
        if self.charged.amount <= self.now.remaining.amount and not self.yes and not self.paid:
            confirm(self.as_json)
        key = secrets.token_hex(16) if self.key is None else self.key
        with waiting("counting, and drawing noise"), stoppable(key):
            measured = measure(key)
            save_paid(measured, output, key)
        return measured, least(self.ledger, self.periods).remaining.amount


@spelled_out
def measure_command(
    source: Annotated[
        str,
        typer.Argument(
            help="A file, a glob, postgresql://…, http://…/DATASET, or a dataset of trueup.toml."
        ),
    ],
    output: MeasurementFile,
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
    owner = table.open(source if dataset is None else dataset.source, dataset, counted)
    purchase = Purchase(owner.ledger, cost, periods, spend.key, spend.yes, as_json)
    now, charged = purchase.now, purchase.charged
    asked: Any = {"where": counted.where, "neighbours": neighbours, "period": periods or None}
    if spend.key is None:  # what a key has paid for is answered, whatever became of the table
        owner.check(question, cost, **asked)
    expected = _expected(owner, question, cost, neighbours)
    if not as_json:
        price = purchase.price(_words(cost, charged, now))
        say(f"cost      {price}; {now.remaining.amount} is left in {owner.ledger.name}")
        _say_terms(owner, question, neighbours, periods, expected)
    measured, left = purchase.made(lambda key: owner.measure(question, cost, key, **asked), output)
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
    owner: tu.Owner, question: Question, cost: Cost, neighbours: Neighbours
) -> list[tuple[str, float]]:
    """What error to expect; nothing where the noise follows from a bound not chosen yet."""
    if owner.at_most is not None:
        return []
    return expected_errors(question, cost, neighbours, owner.rows_per_unit)


def least(ledger: tu.Ledger, periods: list[str]) -> Balance:
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
    owner: tu.Owner,
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


def say_protects(owner: tu.Owner, neighbours: str, periods: list[str], width: int = 8) -> None:
    """Whom the noise protects; where each period has a limit, what is charged and lost."""
    if owner.calendar is None:
        say(f"{'protects':<{width}}  one {owner.protects}, {neighbours}")
        return
    say(f"{'charged':<{width}}  to {', '.join(periods)}, each the whole cost")
    rows = "" if owner.unit is None else "'s rows"
    of = f"{owner.protects}{rows} of one {owner.calendar.per}"
    say(f"{'protects':<{width}}  one {of}, {neighbours}")
    say(f"{'loses':<{width}}  {owner.ledger.loses}")


def _say_counted(owner: tu.Owner) -> None:
    """That rows of a unit may be left out."""
    capped = "" if "people" in owner.source else counted_rows(owner.protects, owner.rows_per_unit)
    if owner.at_most is not None:
        say(
            f"counts    at most so many rows of each {owner.protects} as are chosen privately, for "
            f"a share of epsilon; the noise grows with their number"
        )
    elif capped:
        say(f"counts    {capped}")
