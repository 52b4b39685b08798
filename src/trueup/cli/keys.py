"""Commands about keys that nobody can list: what they would cost, measured, shown."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

import trueup as tu
from trueup.ask import check_neighbours
from trueup.cli.asking import Counted
from trueup.cli.options import (
    ConfigFile,
    Filter,
    Key,
    Level,
    MeasurementFile,
    Relation,
    Source,
    Yes,
    spelled_out,
)
from trueup.cli.output import AsJson, check_output, emit, number, say, table
from trueup.cli.spending import Periods, Purchase, TableOptions, say_protects
from trueup.config import read_config
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.facts import rows_for
from trueup.keys import (
    KeyTerms,
    PrefixTerms,
)

app = typer.Typer(
    help="Keys nobody can list: quote, measure, tree, show.",
    no_args_is_help=True,
)
_SHOWN = 20
Column = Annotated[
    list[str] | None,
    typer.Option("--column", help="The column that has the key; for places two, latitude first."),
]
Duplicates = Annotated[
    str,
    typer.Option(
        "--duplicates", help="once: a unit counts once in a key; many: as often as it has rows."
    ),
]


@dataclass(frozen=True)
class KeyOptions:
    """The options about which keys are counted."""

    universe: Annotated[
        str,
        typer.Option(
            help="All keys there could be: text:a-z0-9:12 (alphabet, longest), bytes:8, "
            "pattern:[A-Z]{2}-[0-9]{4}, integers, integers:1:1000, ipv4, ipv6, places:1/100."
        ),
    ]
    column: Column = None
    keys_per_unit: Annotated[
        int | None, typer.Option(help="With --unit: how many keys of each unit count.")
    ] = None
    duplicates: Duplicates = "once"
    false_keys: Annotated[
        str, typer.Option(help="How many keys that nobody has may be shown on average.")
    ] = "1"
    total: Annotated[str, typer.Option(help="The share of the cost for the total.")] = "1/10"
    number: Annotated[
        str, typer.Option(help="The share of the cost for the number of different keys.")
    ] = "0"

    @property
    def question(self) -> tu.KeyCounts:
        """What is asked, checked."""
        return tu.KeyCounts(
            tu.Universe.typed(self.universe),
            tuple(self.column or ()) or None,
            self.keys_per_unit,
            self.duplicates,  # type: ignore[arg-type]
            self.false_keys,
            self.total,
            self.number,
        )


@dataclass(frozen=True)
class TreeOptions:
    """The options about a tree of prefixes."""

    universe: Annotated[
        str, typer.Option(help="ipv4, ipv6, integers, text:a-z:8, places:45/1024, …")
    ]
    column: Column = None
    step: Annotated[int | None, typer.Option(help="How many bits a level takes, such as 8.")] = None
    levels: Annotated[int | None, typer.Option(help="How deep the tree goes.")] = None
    duplicates: Duplicates = "once"
    where: Filter = None

    @property
    def question(self) -> tu.PrefixCounts:
        """What is asked, checked."""
        return tu.PrefixCounts(
            tu.Universe.typed(self.universe),
            tuple(self.column or ()) or None,
            self.step,
            self.levels,
            duplicates=self.duplicates,  # type: ignore[arg-type]
        )


@dataclass(frozen=True)
class KeyPayment:
    """The options about the payment."""

    epsilon: Annotated[str | None, typer.Option(envvar="TRUEUP_EPSILON", help="What it costs.")] = (
        None
    )
    rho: Annotated[str | None, typer.Option(help="What it costs in rho, with --delta.")] = None
    delta: Annotated[
        str, typer.Option(help="Show keys by this delta, whatever the universe; 0 for none.")
    ] = "0"
    key: Key = None
    period: Periods = None
    yes: Yes = False
    config: ConfigFile = None

    @property
    def cost(self) -> Cost:
        """What is paid, refused if it was not said."""
        if self.epsilon is None and self.rho is None:
            raise InputError("Give --epsilon, or --rho with --delta: what it costs.")
        return Cost.of(self.epsilon, self.rho, self.delta)


def _facts(terms: KeyTerms) -> dict[str, Any]:
    return {"threshold": terms.threshold, "terms": terms.lines()}


def _say_terms(terms: KeyTerms | PrefixTerms) -> None:
    counted = getattr(terms, "counted", "")
    for name, words in (terms.lines() | ({"counts": counted} if counted else {})).items():
        say(f"{name:<10}  {words}")


def _bought(
    source: str,
    output: Path,
    question: tu.KeyCounts | tu.PrefixCounts,
    pay: KeyPayment,
    options: TableOptions,
    where: str | None,
    as_json: bool,
) -> tuple[Any, Any, Fraction]:
    """What is shown, what was measured and saved, and what is left; asks before it spends."""
    dataset = read_config(pay.config).datasets.get(source)
    cost, periods, options = pay.cost, pay.period or [], options.of(dataset)
    check_output(output)
    owner = options.open(source if dataset is None else dataset.source, dataset, Counted())
    purchase = Purchase(owner.ledger, cost, periods, pay.key, pay.yes, as_json)
    neighbours = check_neighbours(options.neighbours)
    asked: Any = {"where": where, "neighbours": neighbours, "period": pay.period or None}
    check: Any = owner.keys.check
    measure: Any = owner.keys.measure
    if isinstance(question, tu.PrefixCounts):
        check, measure = owner.keys.check_prefixes, owner.keys.measure_prefixes
    left = purchase.now.remaining.amount
    terms = check(question, cost, **asked)
    if not as_json:
        _say_terms(terms)
        price = purchase.price(str(cost))
        say(f"{'cost':<10}  {price}; {left} is left in {owner.ledger.name}")
        say_protects(owner, neighbours, periods, 10)
    measured, left = purchase.made(lambda key: measure(question, cost, key, **asked), output)
    return terms, measured, left


@app.command("quote")
@spelled_out
def quote_command(
    keys: KeyOptions,
    epsilon: Annotated[str | None, typer.Option(help="What it would cost.")] = None,
    rho: Annotated[str | None, typer.Option(help="The same in rho.")] = None,
    delta: Annotated[str, typer.Option(help="Show keys by this delta.")] = "0",
    unit: Annotated[str, typer.Option(help="What would be protected.")] = "row",
    neighbours: Relation = "add-remove",
    as_json: AsJson = False,
) -> None:
    """Say from which count on keys would be shown. Nothing is read or spent."""
    rows = rows_for(unit, keys.keys_per_unit)
    cost = Cost.of(epsilon, rho, delta)
    terms = KeyTerms.of(keys.question, cost, check_neighbours(neighbours), unit, rows)
    emit(as_json, _facts(terms), lambda: _say_terms(terms))


@app.command("measure")
@spelled_out
def measure_command(
    source: Source,
    output: MeasurementFile,
    keys: KeyOptions,
    pay: KeyPayment,
    options: TableOptions,
    where: Filter = None,
    as_json: AsJson = False,
) -> None:
    """Measure the keys of a column: exact noise, charged to a ledger before it is drawn.

    Shows the threshold, what it costs and what remains, and asks before it spends.
    """
    given = (source, output, keys.question, pay, options, where, as_json)
    terms, measured, left = _bought(*given)
    said = {
        "saved": str(output),
        terms.cost.notion: terms.cost.amount,
        "delta": terms.cost.delta,
        "remaining": left,
        "keys": len(measured.keys),
        **_facts(terms),
    }
    emit(
        as_json,
        said,
        lambda: say(f"{'saved':<10}  {output}: {len(measured.keys):,} keys; {left} is left"),
    )


@app.command("tree")
@spelled_out
def tree_command(
    source: Source,
    output: MeasurementFile,
    tree: TreeOptions,
    pay: KeyPayment,
    options: TableOptions,
    as_json: AsJson = False,
) -> None:
    """Measure a tree of prefixes, split where counts are: networks, beginnings of words, places.

    Shows the threshold, what it costs and what remains, and asks before it spends.
    """
    given = (source, output, tree.question, pay, options, tree.where, as_json)
    terms, measured, left = _bought(*given)
    said = {"saved": str(output), terms.cost.notion: terms.cost.amount, "remaining": left}
    said |= {"nodes": len(measured.noisy), "terms": terms.lines()}
    emit(as_json, said, lambda: say(f"{'saved':<10}  {output}; {left} is left"))


@app.command("show")
def show_command(
    path: Annotated[Path, typer.Argument(help="A file of measured keys, or of their release.")],
    keys: Annotated[list[str] | None, typer.Argument(help="Keys to look up.")] = None,
    top: Annotated[int, typer.Option(help="How many of the highest counts.")] = _SHOWN,
    level: Level = 0.95,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Save the release: .parquet, .json or .csv."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the highest counts, all other keys and the total; or the counts of some keys. Free."""
    found = tu.load(path)
    if isinstance(found, tu.PrefixMeasurement):
        _show_tree(found.infer(), keys or ["all"], top, output, as_json)
        return
    if isinstance(found, tu.KeyMeasurement):
        found = found.infer()
    if not isinstance(found, tu.KeyRelease):
        raise InputError(f"{path.name} holds no keys. trueup show shows other files.")
    if output is not None:
        found.save(output)
    if keys:
        _look_up(found, keys, level, as_json)
        return
    best = found.top(top, level)
    rest: dict[str, Any] = {}
    alone: dict[str, tuple[float, float]] = {}  # intervals that hold each by itself
    if found.whole is not None:
        rest = {"others": found.others(), "total": found.whole}
        alone["total"] = found.total().interval(level)
    if found.noisy_number is not None:
        rest["number of keys"] = found.noisy_number
        alone["number of keys"] = found.number().interval(level)
    facts = {"shown": len(found.keys), "statement": found.statement(level), **rest}
    facts["intervals"] = alone
    facts["top"] = [
        {"key": one.key, "count": one.count, "interval": one.interval, "places": one.places}
        for one in best
    ]

    def show() -> None:
        rows = [
            [one.key, number(one.count), *map(number, one.interval), _places(one.places)]
            for one in best
        ]
        more = len(found.keys) - len(best)
        if more:
            rows.append([f"({more:,} more keys shown)", "", "", "", ""])
        for name, value in rest.items():
            ends = map(number, alone.get(name, ()))
            low, high = [*ends] or ["", ""]
            named = {"others": "all other keys"}.get(name, name)
            rows.append([named, number(value), low, high, ""])
        table(["key", "count", "low", "high", "place"], rows)
        say(found.statement(level))
        besides = f" The interval of the {' and that of the '.join(alone)} holds by itself."
        say(f"Intervals and places of keys in this table hold together.{besides if alone else ''}")

    emit(as_json, facts, show)


def _show_tree(
    tree: tu.PrefixRelease, prefixes: list[str], top: int, output: Path | None, as_json: bool
) -> None:
    """The largest children of some prefixes, each with how many there are of all others."""
    if output is not None:
        tree.save(output)
    found = {prefix: tree.children(prefix) for prefix in prefixes}
    facts = {"total": tree.total(), "children": found}

    def show() -> None:
        for prefix, children in found.items():
            best = sorted(children.items(), key=lambda one: -one[1])[:top]
            rest = tree.count(prefix) - sum(count for _, count in best)
            rows = [[label, number(count)] for label, count in best if count]
            if rest:
                rows.append(["the rest", number(rest)])
            table([prefix, number(tree.count(prefix))], rows)

    emit(as_json, facts, show)


def _places(places: tuple[int, int]) -> str:
    first, last = places
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def _look_up(release: tu.KeyRelease, keys: list[str], level: float, as_json: bool) -> None:
    counts = [release.count(key) for key in keys]
    rows = [(one, one.interval(level)) for one in counts]
    facts = [
        {"key": one.key, "count": one.value, "shown": one.noisy is not None, "interval": ends}
        for one, ends in rows
    ]

    def show() -> None:
        table(
            ["key", "count", "low", "high"],
            [
                [one.key, "not shown" if one.noisy is None else number(one.value), *map(number, e)]
                for one, e in rows
            ],
        )

    emit(as_json, {"keys": facts, "level": level}, show)
