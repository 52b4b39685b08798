"""A first trueup.toml for a table: from the names and types of its columns, never from a value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal

BLANK = "?"
"""What stands where the owner has to decide."""
_PLAIN = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_KINDS: dict[str, tuple[str, dict[str, object], str]] = {
    "integer": ("integers", {"first": BLANK, "last": BLANK}, "both ends included"),
    "float": ("regular", {"low": BLANK, "high": BLANK, "bins": BLANK}, "equal bins [low, high)"),
    "decimal": ("regular", {"low": BLANK, "high": BLANK, "bins": BLANK}, "equal bins [low, high)"),
    "text": ("categories", {"labels": [BLANK]}, "every label that is counted"),
    "date": ("dates", {"first": BLANK, "last": BLANK, "unit": "day"}, "or week, month"),
    "time": ("dates", {"first": BLANK, "last": BLANK, "unit": "day"}, "or minute, hour, month"),
}
_KINDS["zoned"] = _KINDS["times"] = _KINDS["time"]
NATURAL: dict[str, Literal["integer", "number", "text", "time", "boolean"]] = {
    "integer": "integer",
    "float": "number",
    "decimal": "number",
    "text": "text",
    "date": "time",
    "time": "time",
    "zoned": "time",
    "times": "time",
    "boolean": "boolean",
}
"""The kind that a column is read as, by how it is stored, where nothing else is said."""
_OTHERS = "integers, regular, edges, categories, dates, ipv4, hierarchy or codes: see docs/axis.md"


def draft(name: str, source: str, schema: Mapping[str, str]) -> str:
    """The text of a trueup.toml for a source with these columns and types.

    >>> print(draft("trips", "trips.parquet", {"age": "integer"}).splitlines()[6])
    [datasets.trips]
    """
    filters = ", ".join(
        f"{_key(column)} = {json.dumps(NATURAL[kind])}"
        for column, kind in schema.items()
        if kind in NATURAL
    )
    lines = [
        "# Made by trueup init from the names and types of columns; no value was looked at.",
        f'# Fill in every "{BLANK}", delete the axes that nobody may ask about, run trueup check.',
        "# Decide without looking at the data: bins and labels that are chosen by looking at it",
        "# leak information.",
        "",
        "",
        f"[datasets.{_key(name)}]",
        f"title = {json.dumps(name)}",
        'description = ""',
        f"source = {json.dumps(source)}",
        f'ledger = "{name}.ledger"    # keeps what was spent; made at the first start',
        f'limit = "{BLANK}"    # the most epsilon that may ever be spent, such as "1"',
        '# rho = "1/2"    # instead of limit: the ledger counts rho, for many releases',
        '# unit = "user_id"    # protects a person with all rows, by this column; else one row',
        "# rows_per_unit = 1    # how many rows of a person are counted",
        f"# columns = {{{filters}}}    # what filters may use; nothing else",
    ]
    for column, kind in schema.items():
        lines += ["", *_axis(name, column, kind)]
    return "\n".join(lines) + "\n"


def _axis(name: str, column: str, kind: str) -> list[str]:
    head = f"[datasets.{_key(name)}.axes.{_key(column)}]"
    if kind == "raw":  # a file of text: its columns have names alone
        return [head, f'kind = "{BLANK}"    # {_OTHERS}']
    if kind not in _KINDS:
        return [f"# {head[1:-1]}: no axis counts a column of this type"]
    word, needs, hint = _KINDS[kind]
    return [
        head,
        f'kind = "{word}"    # {hint}',
        *(f"{each} = {json.dumps(value)}" for each, value in needs.items()),
    ]


def _key(name: str) -> str:
    """A name as TOML writes it."""
    return name if _PLAIN.fullmatch(name) else json.dumps(name)


def blank(value: object, place: str = "") -> str | None:
    """Where in a table a blank was left, None if there is none.

    >>> blank({"limit": "1", "axes": {"age": {"first": "?"}}})
    'axes.age.first'
    """
    if value in (BLANK, [BLANK]):
        return place
    for name, each in value.items() if isinstance(value, Mapping) else ():
        found = blank(each, f"{place}.{name}" if place else str(name))
        if found is not None:
            return found
    return None
