"""The command that tries to catch a mechanism: anybody's, or our own noise."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import trueup as tu
from trueup.ask import check_neighbours
from trueup.cli.options import Relation, spelled_out
from trueup.cli.output import AsJson, emit, say, table, waiting
from trueup.errors import InputError

if TYPE_CHECKING:
    from trueup.audit import Claim, Examination, Pair, Target


@dataclass(frozen=True)
class ClaimOptions:
    """What the mechanism says of itself."""

    epsilon: Annotated[
        str | None, typer.Option(help="The claim to be tested; 1 for our own noise.")
    ] = None
    delta: Annotated[str, typer.Option(help="With --epsilon: the claim's δ.")] = "0"
    rho: Annotated[str | None, typer.Option(help="The claim of a zero-concentrated mechanism.")] = (
        None
    )
    scale: Annotated[
        str | None, typer.Option(help="The scale, if outputs have discrete Laplace noise.")
    ] = None
    sensitivity: Annotated[
        str | None, typer.Option(help="How far one record may move all outputs.")
    ] = None
    independent: Annotated[
        bool, typer.Option("--independent", help="The noise of different outputs is independent.")
    ] = False

    def claim(self) -> Claim:
        """The claim, refused unless it is one."""
        from trueup.audit import Claim

        return Claim.of(self.epsilon, self.delta, self.rho)


@dataclass(frozen=True)
class InputOptions:
    """The made-up inputs that one record sets apart."""

    counts: Annotated[
        str | None, typer.Option(help="Counts, such as 2,0,10; their neighbours are found.")
    ] = None
    records: Annotated[
        Path | None, typer.Option(help="A JSON list of records; their neighbours are found.")
    ] = None
    inputs: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Two JSON files that are neighbours.")
    ] = None
    neighbours: Relation = "add-remove"
    against: Annotated[
        str | None, typer.Option(help="Of a server: the dataset that differs in one record.")
    ] = None
    column: Annotated[str | None, typer.Option(help="Of a server: the column that is asked.")] = (
        None
    )
    token: Annotated[str | None, typer.Option(envvar="TRUEUP_TOKEN", help="For a server.")] = None

    def pairs(self) -> list[Pair]:
        """The pairs of neighbours that were given, or that are to be looked at."""
        from trueup.audit import Pair, neighbours_of_counts, neighbours_of_records

        relation = check_neighbours(self.neighbours)
        given = [one for one in (self.counts, self.records, self.inputs) if one is not None]
        if len(given) != 1:
            raise InputError("Give the inputs as one of --counts, --records and --inputs.")
        if self.counts is not None:
            try:
                counts = [int(count) for count in self.counts.split(",")]
            except ValueError:
                raise InputError(f"--counts are such as 2,0,10, got {self.counts!r}.") from None
            return neighbours_of_counts(counts, relation)
        if self.records is not None:
            return neighbours_of_records(_read(self.records), relation)
        assert self.inputs is not None
        first, second = map(_read, self.inputs)
        return [Pair(first, second, f"{self.inputs[0].name} and {self.inputs[1].name}")]


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{path} cannot be read as JSON.") from None


@spelled_out
def audit_command(
    claimed: ClaimOptions,
    given: InputOptions,
    mechanism: Annotated[
        str | None,
        typer.Argument(help="module:function, 'command: …' or http://…/DATASET; our own if none."),
    ] = None,
    draws: Annotated[
        int, typer.Option(help="Draws from each input; more draws find smaller lies.", min=20)
    ] = 1_000_000,
    level: Annotated[float, typer.Option(help="How sure a bound is.")] = 1 - 1e-6,
    bulk: Annotated[
        bool, typer.Option("--bulk", help="function(input, times) gives a row of numbers a run.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the report goes, an HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try to catch a mechanism giving away more than it claims: anybody's, or our own noise.

    A lower bound on its true cost is certified from its outputs on two neighbouring made-up
    inputs. A bound above the claim is a proof that the claim is false.
    """
    if mechanism is None:
        _our_own(claimed.epsilon or "1", draws, as_json)
        return
    from trueup.audit import Effort, examine, target, write_page

    claim = claimed.claim()
    wanted = Effort(draws, level, claimed.independent, claimed.scale, claimed.sensitivity)
    if mechanism.startswith(("http://", "https://")):
        chosen, pairs = _served(mechanism, given, claimed.epsilon)
    else:
        chosen, pairs = target(mechanism, bulk=bulk), given.pairs()
    with waiting(f"examining {mechanism}"):
        found = examine(chosen, pairs, claim, wanted)
    if output is not None:
        write_page(found, output)
    _show(found, output, as_json)


def _served(address: str, given: InputOptions, epsilon: str | None) -> tuple[Target, list[Pair]]:
    """A server of ours: two datasets of made-up tables that one record sets apart."""
    from trueup.audit import Pair, Target

    if given.against is None or given.token is None or epsilon is None:
        raise InputError(
            "A server is audited on two datasets that one record sets apart: give --against, "
            "--token and --epsilon. Every draw is charged: serve made-up tables for it."
        )

    def run(place: str, times: int) -> Any:
        server, _, dataset = place.rstrip("/").rpartition("/")
        client = tu.connect(server, given.token or "")
        answers = [
            client.measure(dataset, given.column, epsilon=epsilon, strategy="flat").noisy
            for _ in range(times)
        ]
        return np.array(answers, np.float64)

    pair = Pair(address, given.against, f"{address} and {given.against}")
    return Target(f"the server at {address}", run), [pair]


def _show(found: Examination, output: Path | None, as_json: bool) -> None:
    facts = {
        "mechanism": found.target,
        "claim": {"notion": found.claim.notion, "number": found.claim.number},
        "bound": found.audit.bound,
        "level": found.wanted.level,
        "draws": found.wanted.draws,
        "neighbours": found.pair.words,
        "findings": [
            {"what": one.what, "result": one.result, "passed": one.passed} for one in found.findings
        ],
        "passed": found.passed,
        "report": None if output is None else str(output),
    }

    def show() -> None:
        words = {True: "stood", False: "FAILED", None: "not tried"}
        for one in found.findings:
            say(f"{words[one.passed]:<9} {one.what}: {one.result}")
        say(f"\n{found.verdict}")
        if output is not None:
            say(f"saved     {output}")

    emit(as_json, facts, show)
    if not found.passed:
        raise typer.Exit(1)


def _our_own(epsilon: str, draws: int, as_json: bool) -> None:
    """Three questions of ours, each on two neighbouring made-up tables."""
    from trueup.audit import audit_in_bulk

    def one_count(count: Any, times: int) -> Any:
        return tu.measure(
            np.full(times, count), tu.CellCounts(tu.Axis.integers("run", 1, times)), epsilon
        ).noisy

    def asked(question: Any) -> Any:
        return lambda counts, times: np.array(
            [tu.measure(counts, question, epsilon).noisy for _ in range(times)]
        )

    a_tree = asked(tu.TreeCounts(4, branching=2))
    in_order = asked(tu.SortedCounts(4, adaptive=False))
    few = max(draws // 100, 1000)
    tried: list[tuple[str, Any, Any, Any, int]] = [
        ("one count", one_count, 10, 11, draws),
        ("a tree over 4 cells", a_tree, [2, 0, 10, 2], [2, 0, 11, 2], few),
        ("4 counts in order", in_order, [2, 0, 10, 2], [2, 0, 11, 2], few),
    ]
    rows: list[dict[str, Any]] = []
    for name, mechanism, a, b, times in tried:
        with waiting(f"drawing {times:,} times: {name}"):
            found = audit_in_bulk(mechanism, a, b, epsilon, draws=times)
        rows.append({"question": name, "claimed": found.claimed, "bound": found.bound,
                     "draws": times, "passed": found.passed})  # fmt: skip

    def show() -> None:
        shown = [
            [
                r["question"],
                f"{r['claimed']:g}",
                f"at least {r['bound']:.3f}",
                f"{r['draws']:,}",
                "not contradicted" if r["passed"] else "FALSE",
            ]
            for r in rows
        ]
        table(["question", "claimed epsilon", "proven", "draws a side", "the claim is"], shown)

    emit(as_json, {"audits": rows}, show)
    if not all(row["passed"] for row in rows):
        raise typer.Exit(1)
