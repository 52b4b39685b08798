"""Commands about keys that nobody can list: what they would cost, measured, shown."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueup.ask import check_neighbours
from trueup.cli.asking import Counted
from trueup.cli.options import spelled_out
from trueup.cli.output import (
    AsJson,
    check_output,
    confirm,
    emit,
    number,
    save_paid,
    say,
    table,
    waiting,
)
from trueup.cli.spending import Periods, TableOptions, least, say_protects
from trueup.config import read_config
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.facts import rows_for

if TYPE_CHECKING:
    from trueup.keys import KeyCounts, KeyRelease, KeyTerms, PrefixCounts, PrefixRelease

app = typer.Typer(
    help="Keys nobody can list: quote, measure, tree, show.",
    no_args_is_help=True,
)
_SHOWN = 20


@dataclass(frozen=True)
class KeyOptions:
    """The options about which keys are counted."""

    universe: Annotated[
        str,
        typer.Option(
            "--universe",
            help="All keys there could be: text:a-z0-9:12 (alphabet, longest), bytes:8, "
            "pattern:[A-Z]{2}-[0-9]{4}, integers, integers:1:1000, ipv4, ipv6, places:1/100.",
        ),
    ]
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column", help="The column that has the key; for places two, latitude first."
        ),
    ] = None
    keys_per_unit: Annotated[
        int | None,
        typer.Option("--keys-per-unit", help="With --unit: how many keys of each unit count."),
    ] = None
    duplicates: Annotated[
        str,
        typer.Option(
            "--duplicates", help="once: a unit counts once in a key; many: as often as it has rows."
        ),
    ] = "once"
    false_keys: Annotated[
        str,
        typer.Option("--false-keys", help="How many keys that nobody has may be shown on average."),
    ] = "1"
    total: Annotated[str, typer.Option("--total", help="The share of the cost for the total.")] = (
        "1/10"
    )
    number: Annotated[
        str,
        typer.Option("--number", help="The share of the cost for the number of different keys."),
    ] = "0"

    @property
    def question(self) -> KeyCounts:
        """What is asked, checked."""
        from trueup.keys import KeyCounts, Universe

        by = tuple(self.column or ()) or None
        universe = Universe.typed(self.universe)
        return KeyCounts(
            universe,
            by,
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
        str,
        typer.Option("--universe", help="ipv4, ipv6, integers, text:a-z:8, places:45/1024, …"),
    ]
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column", help="The column that has the key; for places two, latitude first."
        ),
    ] = None
    step: Annotated[
        int | None, typer.Option("--step", help="How many bits a level takes, such as 8.")
    ] = None
    levels: Annotated[int | None, typer.Option("--levels", help="How deep the tree goes.")] = None
    duplicates: Annotated[
        str,
        typer.Option(
            "--duplicates", help="once: a unit counts once in a key; many: as often as it has rows."
        ),
    ] = "once"
    where: Annotated[
        str | None, typer.Option("--where", help="A filter, such as \"age >= 18 and sex = 'F'\".")
    ] = None

    @property
    def question(self) -> PrefixCounts:
        """What is asked, checked."""
        from trueup.keys import PrefixCounts, Universe

        by = tuple(self.column or ()) or None
        universe = Universe.typed(self.universe)
        duplicates: Any = self.duplicates
        return PrefixCounts(universe, by, self.step, self.levels, duplicates=duplicates)


@dataclass(frozen=True)
class KeyPayment:
    """The options about the payment."""

    epsilon: Annotated[
        str | None, typer.Option("--epsilon", envvar="TRUEUP_EPSILON", help="What it costs.")
    ] = None
    rho: Annotated[
        str | None, typer.Option("--rho", help="What it costs in rho, with --delta.")
    ] = None
    delta: Annotated[
        str,
        typer.Option("--delta", help="Show keys by this delta, whatever the universe; 0 for none."),
    ] = "0"
    key: Annotated[
        str | None,
        typer.Option(
            "--key", help="Ask again with the same key to get the same answer, paid once."
        ),
    ] = None
    period: Periods = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking.")] = False
    config: Annotated[
        Path | None,
        typer.Option("--config", envvar="TRUEUP_CONFIG", help="Instead of ./trueup.toml."),
    ] = None

    @property
    def cost(self) -> Cost:
        """What is paid, refused if it was not said."""
        if self.epsilon is None and self.rho is None:
            raise InputError("Give --epsilon, or --rho with --delta: what it costs.")
        return Cost.of(self.epsilon, self.rho, self.delta)


def _facts(terms: KeyTerms) -> dict[str, Any]:
    return {"threshold": terms.threshold, "terms": terms.lines()}


def _say_terms(terms: KeyTerms) -> None:
    for name, words in terms.lines().items():
        say(f"{name:<10}  {words}")
    if terms.counted:
        say(f"{'counts':<10}  {terms.counted}")


@app.command("quote")
@spelled_out
def quote_command(
    keys: KeyOptions,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="What it would cost.")] = None,
    rho: Annotated[str | None, typer.Option("--rho", help="The same in rho.")] = None,
    delta: Annotated[str, typer.Option("--delta", help="Show keys by this delta.")] = "0",
    unit: Annotated[str, typer.Option("--unit", help="What would be protected.")] = "row",
    neighbours: Annotated[str, typer.Option("--neighbours", help="add-remove or replace.")] = (
        "add-remove"
    ),
    as_json: AsJson = False,
) -> None:
    """Say from which count on keys would be shown. Nothing is read or spent."""
    from trueup.keys import KeyTerms

    rows = rows_for(unit, keys.keys_per_unit)
    cost = Cost.of(epsilon, rho, delta)
    terms = KeyTerms.of(keys.question, cost, check_neighbours(neighbours), unit, rows)
    emit(as_json, _facts(terms), lambda: _say_terms(terms))


@app.command("measure")
@spelled_out
def measure_command(
    source: Annotated[
        str, typer.Argument(help="A file, a glob, postgresql://…, or a dataset of trueup.toml.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to save the measurement in.")
    ],
    keys: KeyOptions,
    pay: KeyPayment,
    options: TableOptions,
    where: Annotated[
        str | None, typer.Option("--where", help="A filter, such as \"age >= 18 and sex = 'F'\".")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the keys of a column: exact noise, charged to a ledger before it is drawn.

    Shows the threshold, what it costs and what remains, and asks before it spends.
    """
    dataset = read_config(pay.config).datasets.get(source)
    cost, question = pay.cost, keys.question
    options = options.of(dataset)
    neighbours = check_neighbours(options.neighbours)
    check_output(output)
    key = secrets.token_hex(16) if pay.key is None else pay.key
    owner = options.open(source if dataset is None else dataset.source, dataset, Counted())
    asked: Any = {"where": where, "neighbours": neighbours, "period": pay.period or None}
    now = least(owner.ledger, pay.period or [])
    terms = owner.keys.check(question, cost, **asked)
    charged = cost.counted_in(now.limit.notion)
    if not as_json:
        _say_terms(terms)
        say(f"{'cost':<10}  {cost}; {now.remaining.amount} is left in {owner.ledger.name}")
        say_protects(owner, neighbours, pay.period or [], 10)
    if charged.amount <= now.remaining.amount and not pay.yes:
        confirm(as_json)
    with waiting("counting, and drawing noise"):
        measured = owner.keys.measure(question, cost, key, **asked)
        save_paid(measured, output, key)
    left = least(owner.ledger, pay.period or []).remaining.amount
    said = {
        "saved": str(output),
        cost.notion: cost.amount,
        "delta": cost.delta,
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
    source: Annotated[
        str, typer.Argument(help="A file, a glob, postgresql://…, or a dataset of trueup.toml.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to save the measurement in.")
    ],
    tree: TreeOptions,
    pay: KeyPayment,
    options: TableOptions,
    as_json: AsJson = False,
) -> None:
    """Measure a tree of prefixes, split where counts are: networks, beginnings of words, places.

    Shows the threshold, what it costs and what remains, and asks before it spends.
    """
    dataset = read_config(pay.config).datasets.get(source)
    cost, question = pay.cost, tree.question
    options = options.of(dataset)
    neighbours = check_neighbours(options.neighbours)
    check_output(output)
    key = secrets.token_hex(16) if pay.key is None else pay.key
    owner = options.open(source if dataset is None else dataset.source, dataset, Counted())
    asked: Any = {"where": tree.where, "neighbours": neighbours, "period": pay.period or None}
    now = least(owner.ledger, pay.period or [])
    terms = owner.keys.check_prefixes(question, cost, **asked)
    charged = cost.counted_in(now.limit.notion)
    if not as_json:
        for name, words in terms.lines().items():
            say(f"{name:<10}  {words}")
        say(f"{'cost':<10}  {cost}; {now.remaining.amount} is left in {owner.ledger.name}")
        say_protects(owner, neighbours, pay.period or [], 10)
    if charged.amount <= now.remaining.amount and not pay.yes:
        confirm(as_json)
    with waiting("counting, and drawing noise"):
        measured = owner.keys.measure_prefixes(question, cost, key, **asked)
        save_paid(measured, output, key)
    left = least(owner.ledger, pay.period or []).remaining.amount
    said = {"saved": str(output), cost.notion: cost.amount, "remaining": left}
    said |= {"nodes": len(measured.noisy), "terms": terms.lines()}
    emit(as_json, said, lambda: say(f"{'saved':<10}  {output}; {left} is left"))


@app.command("show")
def show_command(
    path: Annotated[Path, typer.Argument(help="A file of measured keys, or of their release.")],
    keys: Annotated[list[str] | None, typer.Argument(help="Keys to look up.")] = None,
    top: Annotated[int, typer.Option("--top", help="How many of the highest counts.")] = _SHOWN,
    level: Annotated[float, typer.Option("--level", help="The level of the intervals.")] = 0.95,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Save the release: .parquet, .json or .csv."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the highest counts, all other keys and the total; or the counts of some keys. Free."""
    from trueup.keys import KeyMeasurement, KeyRelease, PrefixMeasurement
    from trueup.saved import load

    found = load(path)
    if isinstance(found, PrefixMeasurement):
        _show_tree(found.infer(), keys or ["all"], top, output, as_json)
        return
    if isinstance(found, KeyMeasurement):
        found = found.infer()
    if not isinstance(found, KeyRelease):
        raise InputError(f"{path.name} holds no keys. trueup show shows other files.")
    if output is not None:
        found.save(output)
    if keys:
        _look_up(found, keys, level, as_json)
        return
    best = found.top(top, level)
    rest: dict[str, Any] = {}
    if found.whole is not None:
        rest = {"others": found.others(), "total": found.whole}
    if found.noisy_number is not None:
        rest["number of keys"] = found.noisy_number
    facts = {"shown": len(found.keys), "statement": found.statement(level), **rest}
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
            rows.append([{"others": "all other keys"}.get(name, name), number(value), "", "", ""])
        table(["key", "count", "low", "high", "place"], rows)
        say(found.statement(level))
        say("Intervals and places in this table hold together.")

    emit(as_json, facts, show)


def _show_tree(
    tree: PrefixRelease, prefixes: list[str], top: int, output: Path | None, as_json: bool
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


def _look_up(release: KeyRelease, keys: list[str], level: float, as_json: bool) -> None:
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
