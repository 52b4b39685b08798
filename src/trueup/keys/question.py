"""KeyCounts: how often each key occurs, where nobody can list the keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from trueup.axis.labels import text
from trueup.axis.numbers import whole_number
from trueup.epsilon import exact, positive
from trueup.errors import InputError, shown
from trueup.keys.universe import Universe

Duplicates = Literal["once", "many"]
MOST_FALSE_KEYS = 10_000
_MOST_KEYS = 1_000_000  # of one unit


@dataclass(frozen=True)
class KeyCounts:
    """The counts of all keys of a universe that reach a threshold, and of all others together.

    `by` names the column that holds the key (for places two: latitude and longitude; of cells, the
    columns of the axes if you name none). Every key of the universe gets noise, also those that
    nobody has; keys whose noisy count reaches the threshold are shown. The threshold follows from
    the universe and `false_keys`, how many keys that nobody has may be shown on average. Of one
    unit at most `keys_per_unit` keys count (None: the owner's `rows_per_unit`), each `"once"`, or
    with `duplicates="many"` as many rows in all. `total` and `number` are the shares of the cost
    that go to the total, and to how many different keys there are; with a share of 0 it is not
    asked.

    >>> asked = KeyCounts(Universe.ipv4(), by="host", keys_per_unit=2)
    >>> asked.total, asked.number, asked.counts
    (Fraction(1, 10), Fraction(0, 1), Fraction(9, 10))
    """

    universe: Universe
    by: str | tuple[str, ...] | None = None
    keys_per_unit: int | None = None
    duplicates: Duplicates = "once"
    false_keys: Any = Fraction(1)
    total: Any = Fraction(1, 10)
    number: Any = Fraction(0)

    def __post_init__(self) -> None:
        put = object.__setattr__
        if not isinstance(self.universe, Universe):
            raise InputError(
                f"KeyCounts needs a universe such as Universe.ipv4(), got {shown(self.universe)}."
            )
        put(self, "by", checked_columns(self.by, self.universe))
        if self.keys_per_unit is not None:
            put(self, "keys_per_unit", check_keys_per_unit(self.keys_per_unit))
        if self.duplicates not in ("once", "many"):
            raise InputError(f'duplicates are "once" or "many", got {shown(self.duplicates)}.')
        put(self, "false_keys", positive(self.false_keys, "false_keys"))
        if self.false_keys > MOST_FALSE_KEYS:
            raise InputError(
                f"false_keys is at most {MOST_FALSE_KEYS:,}, got {shown(self.false_keys)}."
            )
        for name in ("total", "number"):
            share = exact(getattr(self, name), name)
            if not 0 <= share < 1:
                raise InputError(f"The share of {name} must be at least 0 and below 1.")
            put(self, name, share)
        if self.counts <= 0:
            raise InputError("The shares of total and number must leave something for the counts.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the key."""
        return named_columns(self.by)

    @property
    def counts(self) -> Fraction:
        """The share of the cost that goes to the counts."""
        return Fraction(1) - self.total - self.number

    def to_json(self) -> dict[str, Any]:
        """As plain values, for files and ledgers."""
        return {
            "kind": "keys",
            "universe": self.universe.to_json(),
            "by": list(self.by) if isinstance(self.by, tuple) else self.by,
            "keys_per_unit": self.keys_per_unit,
            "duplicates": self.duplicates,
            "false_keys": str(self.false_keys),
            "total": str(self.total),
            "number": str(self.number),
        }

    @staticmethod
    def from_json(said: Mapping[str, Any]) -> KeyCounts:
        """The question that was written, checked."""
        if said["kind"] != "keys":
            raise InputError("The file's question does not ask for keys.")
        by = said["by"]
        return KeyCounts(
            Universe.from_json(said["universe"]),
            tuple(by) if isinstance(by, list) else by,
            said["keys_per_unit"],
            said["duplicates"],
            said["false_keys"],
            said["total"],
            said["number"],
        )


def checked_columns(by: Any, universe: Universe) -> str | tuple[str, ...] | None:
    """The column that has the key, or the two that do, refused if they are not as many."""
    needs = len(universe.reads)
    by = universe.columns or None if by is None else by
    if by is None:
        return None
    given = by if isinstance(by, (tuple, list)) else (by,)
    names = tuple(text(name, "The name of a column") for name in given)
    if len(names) != needs:
        columns = "one column" if needs == 1 else "two columns, latitude and longitude"
        if universe.columns:
            columns = f"a column for each axis, {needs} in all"
        raise InputError(f"This universe reads {columns}, got {len(names)}.")
    return names[0] if needs == 1 else names


def named_columns(by: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns that hold the key, refused if none was named."""
    if by is None:
        raise InputError('Name the column that has the keys: by="…".')
    return (by,) if isinstance(by, str) else by


def check_keys_per_unit(number: object) -> int:
    """How many keys of a unit count, refused unless it is at least 1."""
    found = whole_number(number, "keys_per_unit")
    if not 1 <= found <= _MOST_KEYS:
        raise InputError(f"keys_per_unit lies between 1 and {_MOST_KEYS:,}, got {found:,}.")
    return found
