"""Features of people as they are typed: visits=count:*, dear=any:*,where:fare > 50."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

import trueup as tu
from trueup.errors import InputError, shown

RowsPerUnit = Annotated[
    str | None,
    typer.Option(
        "--rows-per-unit",
        help="With --unit: how many rows of each unit count, at most; auto to have the number "
        "chosen privately, for a share of epsilon.",
    ),
]
AtMost = Annotated[
    int | None,
    typer.Option(
        "--at-most",
        help="With --rows-per-unit auto: the most rows that anybody can have; it must be public.",
    ),
]


def rows_typed(given: str | int | None) -> int | Literal["auto"] | None:
    """How many rows of a unit count, as it was typed.

    >>> rows_typed("12"), rows_typed("auto"), rows_typed(None)
    (12, 'auto', None)
    """
    if given is None or isinstance(given, int):
        return given
    if given.strip() == "auto":
        return "auto"
    try:
        return int(given)
    except ValueError:
        raise InputError(
            f"--rows-per-unit is a whole number or auto, got {shown(given)}."
        ) from None


def features(typed: Sequence[str]) -> dict[str, tu.Person]:
    """The features by their names. A filter comes last: it may hold commas itself.

    >>> features(["spent=sum:fare,low:0,high:100,where:shop in ('a', 'b')"])
    {'spent': Person(sum='fare', where="shop in ('a', 'b')", low='0', high='100', step='1')}
    """
    found: dict[str, tu.Person] = {}
    for one in typed:
        name, _, said = one.partition("=")
        made: dict[str, Any] = {}
        while said:
            word, colon, rest = said.partition(":")
            value, _, said = (rest, "", "") if word == "where" else rest.partition(",")
            if not colon or not value or word in made:
                raise _unreadable(one)
            made[word.strip()] = value.strip()
        if not name.strip() or not made or name.strip() in found:
            raise _unreadable(one)
        found[name.strip()] = tu.Person(**made)
    return found


def _unreadable(typed: str) -> InputError:
    return InputError(
        f"--person names a feature once and says how it is made, such as visits=count:* or "
        f"spent=sum:fare,low:0,high:100,step:0.01; got {shown(typed)}."
    )
