"""pandas and Polars: frames in memory, converted column by column, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from trueup.axis.reading import as_text
from trueup.errors import InputError
from trueup.owner.columns import Storage
from trueup.owner.counting import BATCH, Batch, Piece
from trueup.owner.lazily import pa, pd, pl
from trueup.owner.plain import one_array, storage_of
from trueup.owner.readers.reader import Reader, check_unchanged, spans


def of_pandas(frame: Any) -> Reader:
    """A reader of a pandas frame; a column of Python objects is read value by value, as text."""
    names = [name for name in frame.columns if isinstance(name, str)]
    if len(set(names)) < len(names):
        raise InputError("Two columns of the DataFrame have one name: rename one.")

    def schema() -> dict[str, Storage]:
        return {name: _storage(frame[name]) for name in names}

    then = schema()

    def read(rows: range, columns: Sequence[str]) -> Iterator[Batch]:
        for begin in range(rows.start, rows.stop, BATCH):
            stop = min(begin + BATCH, rows.stop)
            some = {name: _converted(frame[name].iloc[begin:stop]) for name in columns}
            yield Batch(stop - begin, some)

    def pieces(columns: Sequence[str]) -> list[Piece]:
        check_unchanged(schema(), then, columns)
        # Objects are read under Python's lock: threads would only wait for each other.
        most = 1 if any(then[name] == "raw" for name in columns) else None
        return [partial(read, rows, columns) for rows in spans(len(frame), most)]

    return Reader(then, pieces)


def _storage(column: Any) -> Storage:
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return _storage(_categories(kind))
    if kind == np.dtype(object):
        return "raw"
    if isinstance(kind, pd.StringDtype):
        return "text"
    try:
        return storage_of(pa.array(column.iloc[:0], from_pandas=True).type)
    except (pa.ArrowException, TypeError, ValueError):
        return "something else"


def _categories(kind: Any) -> Any:
    """The values of a categorical column, each once; pandas is not to infer their type again."""
    values = kind.categories
    if values.dtype == np.dtype(object):
        return pd.Series(values.to_numpy(), dtype=object)
    return values.to_series()


def _converted(column: Any) -> Any:
    """Some rows of a column as an Arrow array. No value makes it fail."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        named = _converted(_categories(kind))
        return named.take(pa.array(codes, pa.int64(), mask=codes < 0))
    # Text that pandas keeps as Arrow stays as it is: it may be no UTF-8, which Python cannot hold.
    if kind == np.dtype(object) or getattr(kind, "storage", "") == "python":
        missing = column.isna().to_numpy(dtype=np.bool_)
        texts = map(_text, column.to_numpy(dtype=object), missing)
        return pa.array(texts, pa.large_binary())
    return one_array(pa.array(column, from_pandas=True))


def _text(value: object, missing: bool) -> bytes | None:
    return None if missing else as_text(value)


def of_polars(frame: Any) -> Reader:
    """A reader of a Polars frame; a lazy one is collected some rows at a time."""
    lazy = isinstance(frame, pl.LazyFrame)

    def schema() -> dict[str, Storage]:
        kinds = frame.collect_schema() if lazy else frame.schema
        return {name: _polars_storage(kind) for name, kind in kinds.items()}

    then = schema()

    def sliced(whole: Any) -> Iterator[Batch]:
        for rows in whole.iter_slices(BATCH):
            columns = {name: one_array(rows[name].to_arrow()) for name in rows.columns}
            yield Batch(rows.height, columns)

    def collected(columns: Sequence[str]) -> Iterator[Batch]:
        batches = frame.select(list(columns)).collect_batches(
            chunk_size=BATCH, maintain_order=False, engine="streaming"
        )
        for batch in batches:
            yield from sliced(batch)

    def pieces(columns: Sequence[str]) -> list[Piece]:
        check_unchanged(schema(), then, columns)
        if lazy:
            return [lambda: collected(columns)]
        chosen = frame.select(list(columns))
        parts = [chosen.slice(rows.start, len(rows)) for rows in spans(chosen.height)]
        return [partial(sliced, part) for part in parts]

    return Reader(then, pieces)


def _polars_storage(kind: Any) -> Storage:
    if kind == pl.Object:  # which Arrow would take for bytes
        return "something else"
    try:
        return storage_of(pl.Series("x", [], dtype=kind).to_arrow().type)
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError):
        return "something else"
