"""PostgreSQL, through Ibis."""

from __future__ import annotations

import weakref
from functools import cache
from inspect import Parameter, Signature
from types import SimpleNamespace
from typing import Any

from trueup.owner.columns import Storage, Wanted
from trueup.owner.engines.duckdb import ADDRESS


def connect(address: str, table: str) -> Any:
    """The Ibis table of that name, perhaps with its schema in front: "public.trips"."""
    import ibis

    database, _, name = table.rpartition(".")
    connection = ibis.connect(address)
    weakref.finalize(connection, connection.con.close)  # with the last table that came from it
    return connection.table(name, database=database or None)


def schema(table: Any) -> dict[str, Storage]:
    """The columns of a table and how they are stored."""
    return {name: _storage(kind) for name, kind in table.schema().items()}


def _storage(kind: Any) -> Storage:
    if kind.is_integer():
        return "integer"
    if kind.is_floating():
        return "float"
    if kind.is_decimal():
        return "decimal"
    if kind.is_string() or kind.is_uuid():
        return "text"
    if kind.is_timestamp():
        return "time"
    if kind.is_date():
        return "date"
    return "boolean" if kind.is_boolean() else "something else"


@cache
def _functions() -> SimpleNamespace:
    """PostgreSQL's own functions, as Ibis is told of them."""
    import ibis

    moment, instant = ibis.dtype("timestamp"), ibis.dtype("timestamp('UTC')")
    numbers = ibis.dtype("array<float64>")
    known: dict[str, tuple[tuple[Any, ...], Any]] = {
        "date_part": ((str, moment), float),
        "date_trunc": ((str, moment), moment),
        "isfinite": ((moment,), bool),
        "timezone": ((str, instant), moment),
        "hashtextextended": ((str, int), int),
        "width_bucket": ((float, numbers), int),
    }
    made = {}
    for name, (takes, gives) in known.items():

        def stub() -> None: ...

        stub.__name__ = name
        stub.__signature__ = Signature(  # type: ignore[attr-defined]
            [Parameter(f"a{i}", Parameter.POSITIONAL_ONLY) for i in range(len(takes))]
        )
        made[name] = ibis.udf.scalar.builtin(stub, signature=(takes, gives))
    return SimpleNamespace(**made)


def _plain(wanted: Wanted, table: Any) -> Any:
    import ibis

    column, storage = table[wanted.column], wanted.storage
    if wanted.kind == "number":
        return _float(column, storage)
    if wanted.kind == "text":
        return column.cast("string")
    if wanted.kind == "boolean":
        return column
    if wanted.kind == "integer":
        if storage == "integer":
            return column.cast("int64")
        number = _float(column, storage)
        # PostgreSQL reads a CASE in order: nothing is cast that was not compared before.
        whole = number.between(-(2.0**62), 2.0**62) & (number == number.floor())
        return ibis.ifelse(whole, number, None).cast("int64")
    if wanted.kind == "address":
        if storage == "integer":
            return column.cast("int64")
        octets = [
            column.cast("string").re_extract(f"^{ADDRESS}$", place + 1).cast("int64")
            * (1 << (24 - 8 * place))
            for place in range(4)
        ]
        return octets[0] + octets[1] + octets[2] + octets[3]
    call = _functions()
    if storage == "date":
        # A date may lie beyond any timestamp; compared before it is cast, as ever.
        moment = ibis.ifelse(column <= ibis.date(9999, 12, 31), column, None).cast("timestamp")
    else:
        zoned = column.type().timezone is not None
        moment = call.timezone("UTC", column) if zoned else column
        # The last ones do not fit into microseconds since 1970.
        moment = ibis.ifelse(moment <= ibis.timestamp("9999-12-31 23:59:59"), moment, None)
    # Both parts are whole numbers that a float holds exactly; the sum is taken in whole numbers.
    minutes = call.date_part("epoch", call.date_trunc("minute", moment)).cast("int64")
    rest = call.date_part("microseconds", moment).cast("int64")
    return ibis.ifelse(call.isfinite(moment), minutes * 1_000_000 + rest, None)


def _float(column: Any, storage: Storage) -> Any:
    """A number as float64. A numeric too large or too small for one would stop the query."""
    import ibis

    if storage != "decimal":
        return column.cast("float64")
    return ibis.cases(
        (column > 1e300, ibis.literal(float("inf"))),
        (column < -1e300, ibis.literal(float("-inf"))),
        (column.between(-1e-300, 1e-300), ibis.literal(0.0)),
        else_=column.cast("float64"),
    )


class Postgres:
    """The native lines for PostgreSQL."""

    divides = True

    def typed(self, native: Any, wanted: list[Wanted]) -> Any:
        return native.select(**{one.name: _plain(one, native) for one in wanted})

    def hashed(self, native: Any, columns: list[str], key: str) -> Any:
        import ibis

        seed = int(key[:15], 16)
        parts = [native[column].cast("string") for column in columns]
        whole = ibis.literal(key)
        for part in parts:
            whole = whole.concat("/", part.length().cast("string"), ":", part)
        return native.mutate(hash=_functions().hashtextextended(whole, seed))

    def between(self, native: Any, column: str, edges: list[float]) -> Any:
        cells = self.placed(native, column, edges, "cell")
        return cells.group_by("cell").agg(rows=cells.count())

    def placed(self, native: Any, column: str, edges: list[float], name: str) -> Any:
        import ibis

        place = _functions().width_bucket(native[column], ibis.array(edges))
        return native.mutate(**{name: place - 1})

    def run(self, native: Any) -> Any:
        return native.to_pyarrow()
