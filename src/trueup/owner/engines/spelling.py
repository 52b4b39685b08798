"""How statements are written: what rows inside an engine can do, and what each engine spells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from trueup.owner.columns import Kind, Wanted

_OCTET = "(0|[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5])"
ADDRESS = "[.]".join([_OCTET] * 4)  # no backslash: what one means is a setting of an engine


class EngineRows(Protocol):
    """Rows inside an engine: a statement, or a frame. Building them reads nothing."""

    def select(self, columns: Mapping[str, str]) -> EngineRows:
        """These expressions of each row, and nothing else."""

    def adding(self, name: str, expression: str) -> EngineRows:
        """One more column."""

    def where(self, condition: str) -> EngineRows:
        """The rows for which a condition is true."""

    def sizes(self, by: Sequence[str]) -> EngineRows:
        """The groups of rows that agree in some columns, and as `rows` how many rows each has."""

    def located(self, column: str, edges: Sequence[float], name: str) -> EngineRows:
        """One more column: the cell [edge, next edge) of a number, null if it is in none."""


class Spelling(Protocol):
    """How an engine writes what SQL leaves to it."""

    @property
    def number(self) -> str:
        """The name of float64."""

    @property
    def searched(self) -> int:
        """Up to how many bins a search among their edges is faster than arithmetic."""

    def plain(self, wanted: Wanted) -> str:
        """A column of the table in the plain form of its kind; NaN is null, as is what misfits."""

    def text(self, value: str) -> str:
        """A constant text, as it is compared."""

    def digest(self, value: str) -> str:
        """The SHA-256 of a text, as 32 bytes."""

    def raw(self, value: str, longest: int) -> str:
        """The bytes of a text, null where there are more of them than that."""

    def mixed(self, key: str, wholes: Sequence[str], digests: Sequence[str]) -> str:
        """The SHA-256 of a key, some whole numbers of 8 bytes and some digests, end to end."""

    def remainder(self, digest: str, size: int, by: int) -> str:
        """The whole number that the first bytes of a digest are, modulo another."""

    def quotient(self, whole: str, width: int) -> str:
        """A whole number of at least 0 divided by another, rounded down."""

    def both(self, first: str, second: str) -> str:
        """Two rows for one: the first value and the second."""


def whole(value: int) -> str:
    """A constant of 64 bits; the least one has no literal."""
    return f"CAST('{value}' AS bigint)"


def real(value: float, spelling: Spelling) -> str:
    return f"CAST('{float(value)!r}' AS {spelling.number})"


def constant(value: Any, kind: Kind, spelling: Spelling) -> str:
    """A value of a request, in the plain form of its kind."""
    if kind == "text":
        return spelling.text(value)
    if kind == "boolean":
        return "true" if value else "false"
    return real(value, spelling) if kind == "number" else whole(value)
