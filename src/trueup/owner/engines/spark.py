"""Spark: a PySpark DataFrame, counted on its own cluster."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.owner.columns import Storage, Wanted
from trueup.owner.counting import BATCH, Batch, Piece
from trueup.owner.engines.plainly import plain_batch, plain_rows
from trueup.owner.engines.spelling import ADDRESS, EngineRows, Spelling, whole
from trueup.owner.engines.statements import answer, counted, numbered
from trueup.owner.lazily import pa
from trueup.owner.request import Count, Request, Spread

# Settings of the session while it counts; afterwards they are what they were.
_PINNED = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    # Statistics leave NaN out: what they say of a file must not decide which rows are read.
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    "spark.sql.parquet.recordLevelFilter.enabled": "false",
    "spark.sql.orc.filterPushdown": "false",
    "spark.sql.orc.aggregatePushdown": "false",
    "spark.sql.csv.filterPushdown.enabled": "false",
    "spark.sql.json.filterPushdown.enabled": "false",
    "spark.sql.avro.filterPushdown.enabled": "false",
    # A value that a reader fails on must not take the rest of its file with it.
    "spark.sql.files.ignoreCorruptFiles": "false",
    # An old date is a date, and no reason to stop.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
}
_FARTHEST = 100_000_000  # days whose microseconds fit 64 bits
_STORAGE: dict[str, Storage] = {
    "tinyint": "integer",
    "smallint": "integer",
    "int": "integer",
    "bigint": "integer",
    "float": "float",
    "double": "float",
    "string": "text",
    "date": "date",
    "timestamp": "zoned",
    "timestamp_ntz": "time",
    "boolean": "boolean",
}


def schema(frame: Any) -> dict[str, Storage]:
    """The columns of a DataFrame and how they are stored."""
    return {name: _storage(kind) for name, kind in _types(frame).items()}


def _storage(kind: str) -> Storage:
    if kind.startswith("decimal") and "-" not in kind:
        return "decimal"
    text = kind.startswith(("varchar(", "char(", "string collate"))
    return "text" if text else _STORAGE.get(kind, "something else")


def _types(frame: Any) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in frame.schema.fields}


def prepare(frame: Any, request: Request) -> Count:
    """The count of a request: built and analysed now, and run when it is called."""
    native = _built(frame, lambda rows, spelling: counted(rows, request, spelling))
    return lambda: _answered(frame.sparkSession, native, request)


def _built(frame: Any, make: Callable[[EngineRows, Spelling], EngineRows]) -> Any:
    """A frame that gives some rows of another, analysed on a cluster that is there."""
    session = frame.sparkSession
    with _pinned(session):
        rows = make(Frame(frame), Spark(_types(frame)))
        assert isinstance(rows, Frame)
        session.range(1).collect()
    return rows.native


def pieces(frame: Any, wanted: Sequence[Wanted]) -> list[Piece]:
    """All rows as one piece: built and analysed now, and collected when it is gone through."""
    native = _built(frame, lambda rows, spelling: plain_rows(rows, wanted, spelling))

    def batches() -> Iterator[Batch]:
        with _pinned(frame.sparkSession):
            table = native.select("*").toArrow()
        for some in table.to_batches(max_chunksize=BATCH):
            by_name = dict(zip(some.schema.names, some.columns, strict=True))
            yield plain_batch(by_name, some.num_rows, wanted)

    return [batches]


def spread(frame: Any, request: Request) -> Spread:
    """The cells that rows are in and how many, left on the cluster: a frame of `cell` and `rows`.

    Built and analysed now; what it gives to work with is run under our settings.
    """
    native = _built(frame, lambda rows, spelling: counted(rows, request, spelling))

    def run(work: Callable[[Any], Any]) -> Any:
        with _pinned(frame.sparkSession), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of a pandas that we do not use
            found = native.select("*").mapInArrow(
                lambda batches: _numbered(request, batches), "cell long, rows long"
            )
            return work(found)

    return run


def _numbered(request: Request, batches: Iterator[Any]) -> Iterator[Any]:
    """On an executor: groups as `counted` makes them, with their cells by number."""
    for batch in batches:
        found = {name: batch[name].to_pylist() for name in batch.schema.names}
        cells = numbered(request, found)
        table = {"cell": cells, "rows": np.array(found["rows"], np.int64)}
        inside = {name: pa.array(each[cells >= 0]) for name, each in table.items()}
        yield pa.RecordBatch.from_pydict(inside)


def _answered(session: Any, native: Any, request: Request) -> Any:
    """The counts. A frame that failed remembers it: tried again, they are those of a new one."""
    with _pinned(session):
        table = native.select("*").toArrow()
    return answer(request, {name: table[name].to_pylist() for name in table.column_names})


_lock = threading.Lock()
_saved: dict[Any, tuple[int, dict[str, str | None]]] = {}  # by session: how many count, its own


@contextlib.contextmanager
def _pinned(session: Any) -> Iterator[None]:
    """The session with our settings, for as long as somebody counts on it."""
    same = getattr(session, "_jsparkSession", session)  # which several objects may stand for
    with _lock:
        counting, own = _saved.get(same, (0, {}))
        if not counting:
            own = {name: session.conf.get(name, None) for name in _PINNED}
            for name, value in _PINNED.items():
                session.conf.set(name, value)
        _saved[same] = counting + 1, own
    try:
        yield
    finally:
        with _lock:
            counting, own = _saved.pop(same)
            if counting > 1:
                _saved[same] = counting - 1, own
            else:
                for name, before in own.items():
                    if before is None:
                        session.conf.unset(name)
                    else:
                        session.conf.set(name, before)


@dataclass(frozen=True)
class Frame:
    """Rows as the DataFrame that gives them."""

    native: Any

    def select(self, columns: Mapping[str, str]) -> Frame:
        return Frame(self.native.selectExpr(*(f"{e} AS {name}" for name, e in columns.items())))

    def adding(self, name: str, expression: str) -> Frame:
        return Frame(self.native.selectExpr("*", f"{expression} AS {name}"))

    def where(self, condition: str) -> Frame:
        return Frame(self.native.where(condition))

    def sizes(self, by: Sequence[str]) -> Frame:
        return Frame(self.native.groupBy(*by).agg({"*": "count"}).toDF(*by, "rows"))

    def located(self, column: str, edges: Sequence[float], name: str) -> Frame:
        from pyspark.ml.feature import Bucketizer

        low, high = (f"CAST('{edge!r}' AS double)" for edge in (edges[0], edges[-1]))
        # Its binary search tells -0.0 from 0.0, and must meet no value that it has no place for.
        inside = (
            f"CASE WHEN {column} >= {low} AND {column} < {high} THEN "
            f"CASE WHEN {column} = 0D THEN 0D ELSE {column} END END"
        )
        found = Bucketizer(
            splits=[-float("inf"), *(edge + 0.0 for edge in edges), float("inf")],
            inputCol=f"{name}_inside",
            outputCol=f"{name}_place",
            handleInvalid="keep",
        ).transform(self.adding(f"{name}_inside", inside).native)
        return Frame(found).adding(name, f"try_cast({name}_place AS bigint) - 1L")


@dataclass(frozen=True)
class Spark:
    """How Spark writes what SQL leaves to it."""

    types: Mapping[str, str]
    number: str = "double"
    searched: int = 0

    def plain(self, wanted: Wanted) -> str:
        column = "`" + wanted.column.replace("`", "``") + "`"
        return _PLAIN[wanted.kind](column, wanted.storage, self.types[wanted.column])

    def text(self, value: str) -> str:
        return f"X'{value.encode().hex()}'"

    def digest(self, value: str) -> str:
        return f"unhex(sha2({value}, 256))"

    def raw(self, value: str, longest: int) -> str:
        return f"CASE WHEN octet_length({value}) <= {longest} THEN {value} END"

    def mixed(self, key: str, wholes: Sequence[str], digests: Sequence[str]) -> str:
        bytes_ = (f"unhex(lpad(hex(CAST({one} AS bigint)), 16, '0'))" for one in wholes)
        return self.digest(f"concat({', '.join([f'''X'{key}' ''', *bytes_, *digests])})")

    def remainder(self, digest: str, size: int, by: int) -> str:
        return f"CAST(conv(hex(substring({digest}, 1, {size})), 16, 10) AS bigint) % {by}L"

    def quotient(self, whole: str, width: int) -> str:
        return f"{whole} div {width}L"

    def both(self, first: str, second: str) -> str:
        return f"explode(array({first}, {second}))"


def _text(column: str, storage: Storage, kind: str) -> str:
    return f"CAST({column} AS binary)"  # bytes, whatever the column's own collation


def _number(column: str, storage: Storage, kind: str) -> str:
    real = f"try_cast({column} AS double)"
    return f"CASE WHEN NOT isnan({real}) THEN {real} END"


def _integer(column: str, storage: Storage, kind: str) -> str:
    if storage == "integer":
        return f"CAST({column} AS bigint)"
    if storage == "decimal":
        # Compared in its own type: of two types, Spark may round to find a third.
        same = f"try_cast(floor({column}) AS {kind}) = {column}"
        return f"CASE WHEN {same} THEN try_cast(floor({column}) AS bigint) END"
    real = f"try_cast({column} AS double)"
    inside = f"{real} >= {-(2.0**63)!r}D AND {real} < {2.0**63!r}D AND {real} = rint({real})"
    return f"CASE WHEN {inside} THEN try_cast({real} AS bigint) END"


def _time(column: str, storage: Storage, kind: str) -> str:
    """Microseconds since 1970."""
    if kind == "date":
        days = f"unix_date({column})"
        inside = f"{days} >= -{_FARTHEST} AND {days} <= {_FARTHEST}"
        return f"CASE WHEN {inside} THEN CAST({days} AS bigint) * {whole(86_400_000_000)} END"
    if kind == "timestamp":
        return f"unix_micros({column})"
    return f"timestampdiff(MICROSECOND, timestamp_ntz'1970-01-01 00:00:00', {column})"


def _address(column: str, storage: Storage, kind: str) -> str:
    if storage == "integer":
        return f"CAST({column} AS bigint)"
    text = f"CAST(CAST({column} AS binary) AS string)"
    # Java's $ would let a last line break pass: nothing at all may follow.
    octets = " + ".join(
        f"try_cast(regexp_extract({text}, '(?s)^{ADDRESS}(?!.)', {place + 1}) AS bigint) "
        f"* {1 << (24 - 8 * place)}L"
        for place in range(4)
    )
    return f"CASE WHEN octet_length({column}) <= 15 THEN {octets} END"


_PLAIN: dict[str, Callable[[str, Storage, str], str]] = {
    "integer": _integer,
    "number": _number,
    "text": _text,
    "time": _time,
    "address": _address,
    "boolean": lambda column, storage, kind: column,
}
