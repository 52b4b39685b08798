"""The command line: thin, no logic of its own."""

from __future__ import annotations

import json
import sys

import typer

from trueup.cli import (
    answers,
    auditing,
    checks,
    configuring,
    keys,
    ledgers,
    planning,
    publishing,
    recording,
    serving,
    spending,
    streaming,
)
from trueup.cli.output import spell_out, visible
from trueup.errors import BudgetError, FileError, LedgerError, TrueupError

CODES = {BudgetError: 3, LedgerError: 4, FileError: 5}
"""Exit codes: 0 done, 1 refused, 2 wrong usage, 3 budget, 4 ledger, 5 file."""

app = typer.Typer(
    name="trueup",
    help="Differentially private counts that add up.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command("infer")(answers.infer_command)
app.command("query")(answers.query_command)
app.command("quantile")(answers.quantile_command)
app.command("equidepth")(answers.equidepth_command)
app.command("show")(answers.show_command)
app.command("plot")(answers.plot_command)
app.command("plan")(planning.plan_command)
app.command("measure")(spending.measure_command)
app.command("publish")(publishing.publish_command)
app.command("export")(answers.export_command)
app.command("rows")(answers.rows_command)
app.command("combine")(answers.combine_command)
app.command("record")(recording.record_command)
app.command("audit")(auditing.audit_command)
app.command("paper")(checks.paper_command)
app.command("demo")(checks.demo_command)
app.command("warm")(checks.warm_command)
app.command("init")(configuring.init_command)
app.command("check")(configuring.check_command)
app.command("serve")(serving.serve_command)
app.add_typer(ledgers.app, name="ledger")
app.add_typer(streaming.app, name="stream")
app.add_typer(keys.app, name="keys")
app.add_typer(serving.app, name="token")


def _version(wanted: bool) -> None:
    if wanted:
        from trueup import __version__

        print(f"trueup {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
) -> None:
    """Differentially private counts that add up, and are more accurate because they do."""


def main() -> None:
    """Runs a command; our errors become one line and an exit code, never a traceback."""
    spell_out()
    try:
        app()
    except TrueupError as error:
        code = next((code for kind, code in CODES.items() if isinstance(error, kind)), 1)
        if "--json" in sys.argv:
            facts = {"error": {"kind": type(error).__name__, "message": str(error)}}
            print(json.dumps(facts), file=sys.stderr)
        else:
            print(f"trueup: {visible(str(error))}", file=sys.stderr)
        sys.exit(code)
    except BrokenPipeError:
        sys.exit(0)
