"""The command that writes the public record of a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from trueup.cli.output import AsJson, emit, say
from trueup.errors import FileError, InputError, shown
from trueup.facts import Facts
from trueup.files.atomic import write_whole
from trueup.files.codec import read


def record_command(
    file: Annotated[
        Path, typer.Argument(help="A saved measurement or release.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A .yaml or .json file; printed if none is given."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the public record of a release: what a registry of deployments asks for.

    Mechanism, unit, epsilon, neighbours, bounds and version come from the file. What needs your
    judgement is left blank and marked. Fill it in, then publish it with the release.
    """
    from trueup import record
    from trueup.keys.recorded import facts_in, keys_record, keys_risk, terms_in

    about = read(file)[2]
    terms = terms_in(about)
    facts = Facts.from_json(about) if terms is None else facts_in(about, terms)
    fields = record.record(facts) if terms is None else keys_record(terms, facts)
    risk = record.risk(facts)
    if terms is not None and terms.cost.delta:
        risk = keys_risk(terms.cost, facts)
    answer = {
        "record": record.plain(fields),
        "to_fill_in": dict(record.to_fill_in(fields)),
        "risk": risk,
        "citation": record.citation(),
    }
    if output is None:
        emit(as_json, answer, lambda: say(record.to_yaml(facts, fields, risk).rstrip("\n")))
        return
    if output.suffix not in (".yaml", ".yml", ".json"):
        raise InputError(f"A record must end in .yaml or .json, got {shown(output.name)}.")
    text = json.dumps(answer, ensure_ascii=False, indent=2) + "\n"
    if output.suffix != ".json":
        text = record.to_yaml(facts, fields, risk)
    try:
        write_whole(output, text.encode(), 0o666)
    except OSError as wrong:
        raise FileError(f"Cannot write {output}: {wrong.strerror}.") from None
    fill = len(answer["to_fill_in"])
    emit(
        as_json,
        {"saved": str(output), "to_fill_in": answer["to_fill_in"]},
        lambda: say(f"{answer['risk']}\nsaved to {output}; {fill} fields need your judgement"),
    )
