"""Commands that check us: the audit of our own noise, the paper's experiments, the demo."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from trueup.cli.output import AsJson, emit, say, table, waiting


def audit_command(
    epsilon: Annotated[str, typer.Option("--epsilon", help="The claimed epsilon to test.")] = "1",
    draws: Annotated[
        int,
        typer.Option(
            "--draws", help="Draws on each side; more draws find smaller errors.", min=1000
        ),
    ] = 1_000_000,
    as_json: AsJson = False,
) -> None:
    """Try to catch our own noise giving away more than it claims.

    For each question a lower bound on its true epsilon is certified from its outputs on two
    neighbouring made-up tables. A bound above the claim would be a proof that we lie.
    """
    import numpy as np

    import trueup as tu
    from trueup.audit import audit_in_bulk

    def one_count(count: Any, times: int) -> Any:
        return tu.measure(
            np.full(times, count), tu.CellCounts(tu.Axis.integers("run", 1, times)), epsilon
        ).noisy

    def a_tree(counts: Any, times: int) -> Any:
        tree = tu.TreeCounts(4, branching=2)
        return np.array([tu.measure(counts, tree, epsilon).noisy for _ in range(times)])

    def in_order(counts: Any, times: int) -> Any:
        question = tu.SortedCounts(4, adaptive=False)
        return np.array([tu.measure(counts, question, epsilon).noisy for _ in range(times)])

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


def paper_command(
    only: Annotated[
        list[str] | None, typer.Argument(help="Experiments, such as figure5; all if none.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="A folder of count vectors of your own.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder for the pictures.")] = Path(
        "out/paper"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Use fewer draws; takes seconds.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same figures.")] = 1,
    law: Annotated[
        str, typer.Option("--law", help="continuous, as in the paper, or discrete, as here.")
    ] = "continuous",
    workers: Annotated[int, typer.Option("--workers", help="Threads that share the draws.")] = 2,
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
        Path | None,
        typer.Option("--out", help="The folder for the report; a new one if you give none."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Publish flight delays from a real table, twice, and be refused the third time."""
    from trueup.demo import run

    facts = run(out, quiet=as_json)
    emit(as_json, facts, lambda: say(""))
