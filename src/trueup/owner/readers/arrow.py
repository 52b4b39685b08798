"""Arrow: tables and datasets in memory, files as they are mapped into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from trueup.errors import InputError
from trueup.owner.columns import Storage
from trueup.owner.counting import BATCH, Batch, Piece, arrow_batches
from trueup.owner.lazily import pa
from trueup.owner.readers.reader import Parts, Reader, arrow_schema, of_files, spans

_BY_PATH = ("csv", "json")  # formats that a dataset guesses types of


def opened(found: Sequence[str]) -> Reader:
    """A reader of Arrow (Feather, IPC) files."""
    return of_files(found, Parts(_schema, _read))


def _schema(path: str) -> tuple[Any, int]:
    with pa.memory_map(path) as file, pa.ipc.open_file(file) as reader:
        return reader.schema, reader.num_record_batches


def _read(path: str, batches: range, columns: list[str]) -> Iterator[Batch]:
    with pa.memory_map(path) as file:
        with pa.ipc.open_file(file) as reader:
            places = [reader.schema.get_field_index(name) for name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=places)
        with pa.ipc.open_file(file, options=options) as reader:
            yield from arrow_batches(reader.get_batch(number) for number in batches)


def of_table(table: Any) -> Reader:
    """A reader of a table or record batch in memory."""
    whole = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table

    def pieces(columns: Sequence[str]) -> list[Piece]:
        batches = whole.select(list(columns)).to_batches(max_chunksize=BATCH)
        return [
            partial(arrow_batches, batches[run.start : run.stop]) for run in spans(len(batches))
        ]

    return Reader(arrow_schema(whole.schema), pieces)


def of_dataset(dataset: Any) -> Reader:
    """A reader of a dataset, whose parts must store a column as the whole does.

    Where they do not, each value would be cast, and some values cannot be.
    """
    _check_format(dataset)
    schema = dataset.schema
    storages: dict[str, Storage] = arrow_schema(schema)
    for fragment in _fragments(dataset):
        for field in fragment.physical_schema:
            place = schema.get_field_index(field.name)
            if place >= 0 and schema.field(place).type != field.type:
                storages[field.name] = "something else"

    def pieces(columns: Sequence[str]) -> list[Piece]:
        for fragment in _fragments(dataset):
            for name in set(columns) & set(fragment.physical_schema.names):
                if fragment.physical_schema.field(name).type != schema.field(name).type:
                    raise ValueError(name)
        return [lambda: arrow_batches(dataset.to_batches(columns=list(columns), batch_size=BATCH))]

    return Reader(storages, pieces)


def _fragments(dataset: Any) -> list[Any]:
    try:
        return list(dataset.get_fragments())
    except ValueError:  # a filter of Arrow's goes by statistics, which leave NaN out
        pass
    raise InputError("Give the dataset without its filter; where= filters rows.")


def _check_format(dataset: Any) -> None:
    for child in getattr(dataset, "children", None) or ():
        _check_format(child)
    if getattr(getattr(dataset, "format", None), "default_extname", "") in _BY_PATH:
        raise InputError("Give CSV and JSON files by their path: a dataset guesses their types.")
