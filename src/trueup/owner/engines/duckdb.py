"""DuckDB: files, databases and relations, and whatever is in memory as Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueup.owner.columns import Storage, Wanted

_INTEGERS = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")}
_INTEGERS |= {"INTEGER", "UINTEGER"}
_NANOSECONDS = {"TIMESTAMP_NS": "TIMESTAMP", "TIMESTAMPTZ_NS": "TIMESTAMP WITH TIME ZONE"}
_TIMES = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE", *_NANOSECONDS}
_OCTET = "(0|[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5])"
ADDRESS = rf"{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}"


def storage_of(kind: str) -> Storage:
    """How a type of DuckDB is stored, in our words."""
    if kind in _INTEGERS:
        return "integer"
    if kind in ("FLOAT", "DOUBLE"):
        return "float"
    if kind.startswith("DECIMAL"):
        return "decimal"
    if kind in ("VARCHAR", "UUID") or kind.startswith("ENUM"):
        return "text"
    if kind in _TIMES:
        return "time"
    return {"DATE": "date", "BOOLEAN": "boolean"}.get(kind, "something else")  # type: ignore[return-value]


def schema(relation: Any) -> dict[str, Storage]:
    """The columns of a relation and how they are stored."""
    kinds = [str(kind) for kind in relation.types]
    return dict(zip(relation.columns, map(storage_of, kinds), strict=True))


def quoted(name: str) -> str:
    """A column's name, safe inside a statement."""
    return '"' + name.replace('"', '""') + '"'


def _whole(number: str) -> str:
    # Compared before it is cast: a cast out of range would stop the query, and say the value.
    return (
        f"CASE WHEN {number} BETWEEN -4611686018427387904 AND 4611686018427387904 "
        f"AND {number} = floor({number}) THEN TRY_CAST({number} AS BIGINT) END"
    )


def _plain(wanted: Wanted, kind: str) -> str:
    """The statement that puts one column into the plain form of its kind, without ever failing."""
    column, storage = quoted(wanted.column), wanted.storage
    double = f"TRY_CAST({column} AS DOUBLE)"
    if wanted.kind == "number":
        return double
    if wanted.kind == "text":
        return f"CAST({column} AS VARCHAR)"
    if wanted.kind == "boolean":
        return f"TRY_CAST({column} AS BOOLEAN)"
    if wanted.kind == "integer":
        if storage == "integer":
            return f"TRY_CAST({column} AS BIGINT)"
        if storage == "raw":
            digits = f"regexp_full_match(trim({column}), '[+-]?[0-9]{{1,19}}')"
            return f"CASE WHEN {digits} THEN TRY_CAST({column} AS BIGINT) ELSE {_whole(double)} END"
        return _whole(double)
    if wanted.kind == "address":
        if storage == "integer":
            return f"TRY_CAST({column} AS BIGINT)"
        octets = [
            f"TRY_CAST(regexp_extract({column}, '^{ADDRESS}$', {place + 1}) AS BIGINT) "
            f"* {1 << (24 - 8 * place)}"
            for place in range(4)
        ]
        if storage == "text":
            return " + ".join(octets)
        digits = f"regexp_full_match({column}, '[0-9]{{1,10}}')"
        number = f"TRY_CAST({column} AS BIGINT)"
        return f"CASE WHEN {digits} THEN {number} ELSE {' + '.join(octets)} END"
    if kind in _NANOSECONDS:  # rounded down, also before 1970, where // rounds up
        steps = f"epoch_ns({column})"
        finite = f"isfinite(TRY_CAST({column} AS {_NANOSECONDS[kind]}))"
        return f"CASE WHEN {finite} THEN {steps} // 1000 - ({steps} % 1000 < 0)::BIGINT END"
    if kind == "TIMESTAMP WITH TIME ZONE":
        moment = column
    elif storage == "raw":  # a time without a zone is taken as UTC
        moment = f"TRY_CAST({column} AS TIMESTAMP WITH TIME ZONE)"
    else:
        moment = f"TRY_CAST({column} AS TIMESTAMP)"
    return f"CASE WHEN isfinite({moment}) THEN epoch_us({moment}) END"


def _search(column: str, edges: list[float], first: int = 0) -> str:
    """A binary search, written out: the number of the last edge that is no larger."""
    if len(edges) <= 2:
        return str(first)
    middle = len(edges) // 2
    below, above = (
        _search(column, edges[: middle + 1], first),
        _search(column, edges[middle:], first + middle),
    )
    at = f"CAST('{edges[middle]!r}' AS DOUBLE)"
    return f"CASE WHEN {column} < {at} THEN {below} ELSE {above} END"


class DuckDb:
    """The native lines for DuckDB."""

    divides = True

    def typed(self, native: Any, wanted: list[Wanted]) -> Any:
        kinds = dict(zip(native.columns, (str(kind) for kind in native.types), strict=True))
        return native.project(
            ", ".join(f"{_plain(one, kinds[one.column])} AS {quoted(one.name)}" for one in wanted)
        )

    def hashed(self, native: Any, columns: list[str], key: str) -> Any:
        return native.project(f"*, hash('{key}', {', '.join(map(quoted, columns))}) AS hash")

    def between(self, native: Any, column: str, edges: list[float]) -> Any:
        # DuckDB's bins include their upper ends: end each one just below the next edge.
        ends = np.nextafter(edges, -np.inf).tolist()
        bins = ", ".join(repr(end) for end in ends)
        counted = native.aggregate(f"histogram({quoted(column)}, [{bins}]::DOUBLE[]) AS bins")
        return counted.project(
            "unnest(generate_series(0, len(map_values(bins)) - 1)) - 1 AS cell, "
            "unnest(map_values(bins)) AS rows"
        )

    def placed(self, native: Any, column: str, edges: list[float], name: str) -> Any:
        return native.project(f"*, {_search(quoted(column), edges)} AS {quoted(name)}")

    def run(self, native: Any) -> Any:
        return native.to_arrow_table()
