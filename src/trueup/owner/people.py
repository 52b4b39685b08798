"""People: a table of one row a person, made from all rows of theirs, to be counted as any other.

Rows come in plain form, as for every count. What a feature keeps of a person's rows can be put
together in any order and in any parts: sums of whole numbers, smallest and largest by a total
order, sets. So no feature depends on the order of rows, on threads, or on other people.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trueup.arrays import Bools, Ints
from trueup.errors import InputError, kind
from trueup.owner import counting, keyed
from trueup.owner import where as filters
from trueup.owner.columns import Columns, Kind, Storage, Wanted
from trueup.owner.counting import Batch, Piece, each_batch, in_periods
from trueup.owner.dated import Dated
from trueup.owner.lazily import pa, pc
from trueup.owner.person import Person
from trueup.owner.plain import Plain, names, one_array, plain
from trueup.owner.readers import arrow
from trueup.owner.request import Count, Request
from trueup.owner.source import Source
from trueup.owner.tally import Gathered, coded
from trueup.owner.truth import kept

_AT_ONCE = 1 << 20  # rows put together at once
_STORAGE: dict[Kind, Storage] = {
    "integer": "integer",
    "number": "float",
    "time": "time",
    "text": "text",
    "boolean": "integer",
}
_COMPARED = ("integer", "number", "time")


@dataclass(frozen=True)
class Feature:
    """A feature with its columns: what it is made from, its time, and those of its filter."""

    name: str
    person: Person
    value: Wanted | None
    time: Wanted | None
    where: filters.Part | None
    compared: tuple[Wanted, ...]

    @property
    def storage(self) -> Storage:
        """How the feature is stored in the table of people."""
        if self.person.way == "sum":
            return "decimal" if self.person.digits else "integer"
        if self.person.way in ("count", "any", "distinct") or self.value is None:
            return "integer"
        return _STORAGE[self.value.kind]

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """All columns it is made from."""
        return tuple(one for one in (self.value, self.time) if one is not None) + self.compared


def people_source(
    source: Source,
    columns: Columns,
    unit: Wanted,
    made: Mapping[str, Person],
    date: Wanted | None = None,
) -> Source:
    """A source of one row a person: the unit, and a column for each feature.

    With `date`, the column that dates a row, a person is another one in each period: one row for
    each period that a request is about, made from the rows of that period alone.
    """
    if not made:
        raise InputError('Name at least one feature: owner.people(visits=Person(count="*")).')
    reads: dict[tuple[str, Kind], Wanted] = {}
    features = [_feature(name, one, columns, unit.column, reads) for name, one in made.items()]
    asked = [unit, *reads.values()]
    schema: dict[str, Storage] = {unit.column: "text"}
    schema |= {feature.name: feature.storage for feature in features}
    if date is not None:
        if date.column in schema:
            raise InputError(f"{date.column!r} dates the rows: give the feature another name.")
        schema[date.column] = date.storage

    def prepare(request: Request) -> Count:
        dated, request = request.dated, replace(request, dated=None)
        own = list(dict.fromkeys(one.column for one in request.wanted))
        if date is not None and date.column in own:
            raise InputError(f"{date.column!r} is no feature of people: it dates their rows.")
        prepared = counting.prepared if request.universe is None else keyed.prepared
        prepared([], request)  # refuses what has no room
        pieces = source.pieces(asked if dated is None else [*asked, dated.wanted])

        def count() -> Any:
            table = people_table(pieces, unit, features, dated)
            return prepared(arrow.of_table(table).pieces(own), request)()

        return count

    def no_rows(wanted: Sequence[Wanted]) -> list[Piece]:
        raise InputError("Features of people cannot be made from features of people.")

    told = {feature.name: feature.person.to_json() for feature in features}
    about = {**source.about, "people": json.dumps(told, ensure_ascii=False, sort_keys=True)}
    words = tuple((name, repr(person)) for name, person in made.items())
    return Source(schema, prepare, about, no_rows, source.shared, words)


def _feature(
    name: str, person: object, columns: Columns, unit: str, reads: dict[tuple[str, Kind], Wanted]
) -> Feature:
    """A feature with its columns checked; columns go into `reads` once each."""
    if not isinstance(person, Person):
        raise InputError(f"{name} must be a Person, such as Person(count='*'), got {kind(person)}.")
    if name == unit:
        raise InputError(f"{name!r} is the unit: give the feature another name.")

    def once(one: Wanted) -> Wanted:
        key = (one.column, one.kind)
        return reads.setdefault(key, Wanted(*key_of(one), f"column{len(reads)}"))

    value = None if person.every_row else once(columns.compared(person.column, "value"))
    way = person.way
    taken = {"min": _COMPARED, "max": _COMPARED, "sum": _COMPARED[:2]}.get(way)
    if value is not None and taken is not None and value.kind not in taken:
        needs = "numbers" if way == "sum" else "numbers or times"
        raise InputError(f"Person({way}={person.column!r}) needs {needs}; it is {value.kind}.")
    time = None
    if person.by is not None:
        time = once(columns.wanted(person.by, "time", "time"))
    part, compared = filters.read_from(
        person.part, lambda column, new: once(columns.compared(column, new))
    )
    return Feature(name, person, value, time, part, compared)


def key_of(one: Wanted) -> tuple[str, Storage, Kind]:
    """A wanted column without its new name."""
    return one.column, one.storage, one.kind


# From rows to people.


def people_table(
    pieces: Sequence[Piece],
    unit: Wanted,
    features: Sequence[Feature],
    dated: Dated | None = None,
) -> Any:
    """One row for each unit that has a row: its bytes, and its features; null where it has none.

    With periods, one row for each unit and period.
    """
    everybody = Gathered(_known, _AT_ONCE)
    gathered = [Gathered(_FOLDS[feature.person.way], _AT_ONCE) for feature in features]
    turn = threading.Lock()

    def add(batch: Batch) -> None:
        units = names(batch.columns.get(unit.name), batch.rows, unit)
        if dated is not None:
            units = _in_turn(units, batch, unit, dated)
        found = [_rows_of(batch, units, feature) for feature in features]
        here = {"unit": units.values.filter(pa.array(units.known))}
        with turn:
            for one, rows in zip([everybody, *gathered], [here, *found], strict=True):
                if len(rows["unit"]):
                    one.add(pa.table(rows))

    each_batch(pieces, add)
    people = everybody.table
    everyone = pa.array([], pa.large_binary()) if people is None else one_array(people["unit"])
    made = {
        feature.name: _column(feature, everyone, one.table)
        for feature, one in zip(features, gathered, strict=True)
    }
    return pa.table({unit.column: everyone, **made})


def _in_turn(units: Plain, batch: Batch, unit: Wanted, dated: Dated) -> Plain:
    """The units of rows of some periods; where there are several, another one in each."""
    places = dated.places(batch.columns.get(dated.wanted.name), batch.rows)
    known = units.known & (places >= 0)
    if dated.share is not None:
        turns = dated.share.turns(units.values, unit.kind != "text")
        known &= dated.share.counts(turns, dated.numbers[places])
    several = len(dated.periods) > 1
    return Plain(in_periods(units.values, places) if several else units.values, known)


def _rows_of(batch: Batch, units: Plain, feature: Feature) -> dict[str, Any]:
    """What a feature takes of the rows that its filter keeps and whose values are known."""
    columns = {
        one.name: plain(batch.columns.get(one.name), batch.rows, one) for one in feature.wanted
    }
    keep: Bools = units.known
    if feature.where is not None:
        among = {one.column: (one, columns[one.name]) for one in feature.compared}
        keep = keep & kept(feature.where, among)
    value = None
    if feature.value is not None:
        value, known = _value(columns[feature.value.name], feature)
        keep = keep & known
    if feature.time is not None:
        time = columns[feature.time.name]
        keep = keep & time.known
    chosen = pa.array(keep)
    rows = {"unit": units.values.filter(chosen)}
    if feature.person.way in ("count", "any"):
        rows["value"] = pa.array(np.ones(len(rows["unit"]), np.int64))
    elif value is not None:
        rows["value"] = value.filter(chosen)
    if feature.time is not None:
        rows["time"] = pa.array(time.values[keep])
    return rows


def _value(column: Plain, feature: Feature) -> tuple[Any, Bools]:
    """A column's values as an Arrow array in which equal ones are equal, and which are known."""
    assert feature.value is not None
    values, known = column.values, column.known
    if feature.value.kind == "text":
        return values, known
    if feature.value.kind == "number":
        known = known & ~np.isnan(values)
        values = np.where(known, values, 0.0) + 0.0  # one zero
    if feature.person.way == "sum":
        values = _steps(values, feature.person)
    return pa.array(values), known


def _steps(values: npt.NDArray[Any], person: Person) -> Ints:
    """Each value cut to the ends of its grid, as a whole number of steps: the nearest.

    Of two that are as near the even one, whatever type the value has.
    """
    assert person.low is not None
    assert person.high is not None
    low, high = (int(end / person.step) for end in (person.low, person.high))
    if values.dtype.kind == "i" and person.step.denominator == 1:
        step = int(person.step)
        inside = np.clip(values, int(person.low), int(person.high))
        whole, left = np.divmod(inside, step)
        return whole + (2 * left + (whole & 1) > step)  # half way, to the even one, as rint does
    near = np.clip(values.astype(np.float64), float(person.low), float(person.high))
    return np.clip(np.rint(near / float(person.step)), low, high).astype(np.int64)


def _known(table: Any) -> Any:
    """Each unit once."""
    return pa.table({"unit": coded(table["unit"])[1]})


def _added(table: Any) -> Any:
    """The sum of each unit's whole numbers."""
    codes, units = coded(table["unit"])
    total = np.zeros(len(units), np.int64)
    np.add.at(total, codes, one_array(table["value"]).to_numpy())
    return pa.table({"unit": units, "value": pa.array(total)})


def _different(table: Any) -> Any:
    """Each value of each unit once."""
    return table.group_by(["unit", "value"], use_threads=False).aggregate([])


def _smallest(table: Any) -> Any:
    """The first row of each unit by time and value."""
    return _picked(table, last=False)


def _largest(table: Any) -> Any:
    """The last row of each unit by time and value."""
    return _picked(table, last=True)


def _picked(table: Any, last: bool) -> Any:
    table = table.combine_chunks()
    codes, _ = coded(table["unit"])
    keys = [_ranked(one_array(table["value"]))]
    if "time" in table.column_names:
        keys.append(one_array(table["time"]).to_numpy())
    order = np.lexsort((*keys, codes))
    new = np.diff(codes[order], prepend=-1, append=-1) != 0
    return table.take(pa.array(order[new[1:] if last else new[:-1]]))


def _ranked(values: Any) -> npt.NDArray[Any]:
    """Numbers by which values are ordered; text by its bytes."""
    if not pa.types.is_large_binary(values.type):
        return values.to_numpy()
    codes, texts = coded(values)
    rank = np.empty(len(texts), np.int64)
    rank[pc.sort_indices(texts).to_numpy()] = np.arange(len(texts))
    return rank[codes]


_FOLDS: dict[str, Callable[[Any], Any]] = {
    "count": _added,
    "any": _added,
    "sum": _added,
    "distinct": _different,
    "min": _smallest,
    "max": _largest,
    "first": _smallest,
    "last": _largest,
}


def _column(feature: Feature, everyone: Any, table: Any) -> Any:
    """The feature of everyone, in order; null for those who have none."""
    way = feature.person.way
    if way in ("min", "max", "first", "last"):
        if table is None:
            return pa.nulls(len(everyone), _type(feature))
        found = pc.index_in(everyone, value_set=one_array(table["unit"]))
        return one_array(table["value"]).take(found).cast(_type(feature))
    numbers = np.zeros(len(everyone), np.int64)
    if table is not None:
        at = pc.index_in(one_array(table["unit"]), value_set=everyone).to_numpy()
        if way == "distinct":
            np.add.at(numbers, at, 1)
        else:
            numbers[at] = one_array(table["value"]).to_numpy()
    if way == "any":
        numbers = np.minimum(numbers, 1)
    return _decimal(numbers, feature.person) if way == "sum" else pa.array(numbers)


def _type(feature: Feature) -> Any:
    return {
        "integer": pa.int64(),
        "float": pa.float64(),
        "time": pa.timestamp("us"),
        "text": pa.large_binary(),
    }[feature.storage]


def _decimal(steps: Ints, person: Person) -> Any:
    """Whole numbers of steps as the sums that they are, exact."""
    values = steps * int(person.step * 10**person.digits)
    if not person.digits:
        return pa.array(values)
    halves = np.ascontiguousarray(np.stack([values, values >> 63], axis=1))
    return pa.Array.from_buffers(
        pa.decimal128(38, person.digits), len(values), [None, pa.py_buffer(halves)]
    )
