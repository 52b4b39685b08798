"""Counting inside an engine that keeps its rows: PostgreSQL and Spark, in SQL that cannot fail.

Every expression here is a total function of a row: each value has a result, perhaps null, whatever
the other rows are and whatever order the engine evaluates in. So nothing is cast that was not
compared first in an enclosing CASE, no text is compared but byte by byte, and names of units and
groups are their SHA-256. What leaves the engine is a table of cells and counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueup.arrays import Ints
from trueup.owner.columns import Kind, Wanted
from trueup.owner.dated import TURN_BYTES, runs
from trueup.owner.engines.cells import labels_of, near_window, numbers_of, placed
from trueup.owner.engines.spelling import EngineRows, Spelling, constant, whole
from trueup.owner.keyed import answered
from trueup.owner.placing import combined, inside
from trueup.owner.request import Request
from trueup.owner.where import Combined, Part


def counted(rows: EngineRows, request: Request, spelling: Spelling) -> EngineRows:
    """The groups of a request's rows with their sizes, as `answer` reads them."""
    if request.universe is not None:
        return _keyed(rows, request, spelling)
    columns = {one.name: spelling.plain(one) for one in request.wanted}
    named = [*(() if request.axes else request.values), *([request.unit] if request.unit else [])]
    for one in named:
        if one.kind == "text":
            columns[one.name] = spelling.digest(columns[one.name])
    rows = rows.select(columns)
    if request.dated is not None:
        rows = _of_periods(rows, request, spelling)
    if request.where is not None:
        rows = rows.where(_condition(request.where, request.by_column, spelling))
    if request.graph is not None:
        rows = _neighbours(rows, request.graph.kind, spelling)
    if request.axes:
        names = []
        for axis, one in zip(request.axes, request.values, strict=True):
            names.append("cell" + one.name.removeprefix("value"))
            rows = placed(rows, axis, one, names[-1], spelling)
    else:
        names = ["value"]
    for name in names:
        rows = rows.where(f"{name} IS NOT NULL")
    for condition in _on_paths(request, names, spelling):
        rows = rows.where(condition)
    if request.unit is not None:
        rows = _bounded(rows, request, names, spelling)
    for condition in near_window(request, names, spelling):
        rows = rows.where(condition)
    sizes = rows.sizes(names)
    if request.axes:
        return sizes
    if request.number:
        return sizes.sizes([])
    return sizes.select({"size": "rows"}).sizes(["size"])


def _keyed(rows: EngineRows, request: Request, spelling: Spelling) -> EngineRows:
    """The different values of the columns that say a key, and of the unit, with their rows.

    Values leave the engine as they are: they become keys, and a unit's are chosen, out here. Only a
    text that is longer than any key stays inside.
    """
    columns = {one.name: spelling.plain(one) for one in request.wanted}
    for one in request.values:
        if one.kind == "text":
            longest = request.universe.longest if request.universe else 0
            columns[one.name] = spelling.raw(columns[one.name], longest)
    names = [one.name for one in request.values]
    if request.unit is not None:
        names.append(request.unit.name)
        if request.unit.kind == "text":
            columns["unit"] = spelling.digest(columns["unit"])
    rows = rows.select(columns)
    if request.dated is not None:
        rows = _of_periods(rows, request, spelling)
    conditions = [f"{name} IS NOT NULL" for name in names]
    if request.where is not None:
        conditions.append(_condition(request.where, request.by_column, spelling))
    for condition in conditions:
        rows = rows.where(condition)
    if request.unit is not None and request.several is not None:
        names.append("period_number")
    return rows.sizes(names)


def answer(request: Request, found: Mapping[str, Sequence[Any]]) -> Any:
    """The counts, from the groups and their sizes. What is no cell of its axis is left out."""
    if request.universe is not None:
        return answered(request, found)
    rows = np.array(found["rows"], np.int64)
    if request.number:
        return rows
    if not request.axes:
        return _largest(np.array(found["size"], np.int64), rows, request.size)
    first, stop = request.window or (0, math.prod(request.sizes))
    counts = np.zeros(stop - first, np.int64)
    add_groups(counts, request, found)
    return counts


def add_groups(counts: Ints, request: Request, found: Mapping[str, Sequence[Any]]) -> None:
    """Adds the sizes of more groups to the counts of a request's cells, or of its window's."""
    cells, rows = numbered(request, found), np.array(found["rows"], np.int64)
    if request.window is not None:
        cells = inside(cells, *request.window)
    np.add.at(counts, cells[cells >= 0], rows[cells >= 0])


def numbered(request: Request, found: Mapping[str, Sequence[Any]]) -> Ints:
    """The cells that groups are in, by number; -1 for what is no cell of its axis."""
    each = [
        numbers_of(axis, found["cell" + one.name.removeprefix("value")])
        for axis, one in zip(request.axes, request.values, strict=True)
    ]
    return combined(request.cells_of(each), request.sizes, None)


def _on_paths(request: Request, names: Sequence[str], spelling: Spelling) -> Iterator[str]:
    """Conditions that the labels of several columns are a path of their hierarchy.

    Asked inside the engine, for of each unit only rows that are on the axes may be chosen.
    """
    first = 0
    for group in request.groups:
        here = slice(first, first + len(group.axes))
        first = here.stop
        if group.codes is None:
            continue
        known = [
            {cell: constant(label, one.kind, spelling) for label, cell in labels.items()}
            for one, labels in (
                (one, labels_of(axis, one.kind))
                for one, axis in zip(request.values[here], group.axes, strict=True)
            )
        ]
        cells = np.unravel_index(group.codes, [axis.size for axis in group.axes])
        under: dict[tuple[str, ...], list[str]] = {}
        for path in zip(*(each.tolist() for each in cells), strict=True):
            if all(cell in labels for cell, labels in zip(path, known, strict=True)):
                *above, last = (labels[cell] for cell, labels in zip(path, known, strict=True))
                under.setdefault(tuple(above), []).append(last)
        *outer, inner = names[here]
        either = [
            " AND ".join(f"{name} = {label}" for name, label in zip(outer, above, strict=True))
            + f" AND {inner} IN ({', '.join(children)})"
            for above, children in under.items()
        ]
        yield " OR ".join(f"({each})" for each in either) or "1 = 0"


def _largest(sizes: Ints, times: Ints, most: int) -> Ints:
    """The sizes of the groups, the largest ones only if there are more than were declared.

    A record moves one size by one, and so at most one of the largest by one.
    """
    order = np.argsort(-sizes)
    times = times[order]
    before = np.concatenate([[0], np.cumsum(times)[:-1]]) if len(times) else times
    return np.repeat(sizes[order], np.clip(most - before, 0, times))


# Periods, filters, graphs, and the rows of a unit.


def _of_periods(rows: EngineRows, request: Request, spelling: Spelling) -> EngineRows:
    """The rows of some periods; with units and several periods, which of them each is in."""
    assert request.dated is not None
    ends, share, unit = request.dated.ends, request.dated.share, request.unit
    either = [f"(dated >= {whole(a)} AND dated < {whole(b)})" for a, b in runs(ends)]
    if share is not None and unit is not None:
        text = unit.kind == "text"
        hashed = spelling.mixed(share.key, [] if text else ["unit"], ["unit"] if text else [])
        rows = rows.adding("turn", spelling.remainder(hashed, TURN_BYTES, share.of))
        either = [
            f"(dated >= {whole(a)} AND dated < {whole(b)} AND "
            f"({number % share.of + share.of} - turn) % {share.of} < {share.few})"
            for (a, b), number in zip(ends, request.dated.numbers.tolist(), strict=True)
        ]
    rows = rows.where(" OR ".join(either))
    if request.several is None or request.unit is None:
        return rows
    # The last start that is not after it: the rows of no period are gone.
    later = " ".join(
        f"WHEN dated >= {whole(start)} THEN {whole(place)}"
        for place, (start, _) in reversed(list(enumerate(ends)))
    )
    return rows.adding("period_number", f"CASE {later} END")


def _condition(part: Part, compared: Mapping[str, Wanted], spelling: Spelling) -> str:
    """A filter over columns in their plain forms: true, false, or null as SQL has it."""
    if isinstance(part, Combined):
        inner = [_condition(one, compared, spelling) for one in part.parts]
        return f"(NOT {inner[0]})" if part.word == "not" else f"({f' {part.word} '.join(inner)})"
    column = compared[part.column]
    x, values = column.name, [constant(one, column.kind, spelling) for one in part.values]
    if part.sign == "in":
        return f"({x} IN ({', '.join(values)}))"
    if part.sign == "between":
        return f"({x} >= {values[0]} AND {x} <= {values[1]})"
    return f"({x} {'<>' if part.sign == '!=' else part.sign} {values[0]})"


def _neighbours(rows: EngineRows, kind: str, spelling: Spelling) -> EngineRows:
    """The rows of `value`: a node's name, once for each of its neighbours."""
    rows = rows.where("source IS NOT NULL AND target IS NOT NULL")
    if kind != "bipartite":
        rows = rows.where("source <> target")
    if kind != "undirected":
        return rows.sizes(["source", "target"]).select({"value": "source"})
    ends = {"one": "least(source, target)", "other": "greatest(source, target)"}
    edges = rows.select(ends).sizes(["one", "other"])
    return edges.select({"value": spelling.both("one", "other")})


def _bounded(
    rows: EngineRows, request: Request, names: Sequence[str], spelling: Spelling
) -> EngineRows:
    """At most so many rows of each unit; a null unit has none.

    A row is known by its unit, its cells and its number among equal ones. The rows of a unit are
    put in the order of a hash of these three under the request's random key, and the first few are
    kept: every row of a unit has the same chance, and another unit's rows have no part in it.
    """
    unit = request.unit
    assert unit is not None
    wholes, digests = ["number"], []
    for name, kind in [("unit", unit.kind), *_kinds(request, names)]:
        if kind != "text":
            wholes.append(name)
        else:
            digests.append(name if name in ("unit", "value") else spelling.digest(name))
    owned = "unit" if request.several is None else "unit, period_number"
    if request.several is not None:
        wholes.append("period_number")
    equal = ", ".join((owned, *names))
    rows = rows.where("unit IS NOT NULL")
    rows = rows.adding("number", f"row_number() OVER (PARTITION BY {equal} ORDER BY unit)")
    rows = rows.adding("chance", spelling.mixed(request.key, wholes, digests))
    rows = rows.adding("place", f"row_number() OVER (PARTITION BY {owned} ORDER BY chance)")
    return rows.where(f"place <= {request.rows_per_unit}")


def _kinds(request: Request, names: Sequence[str]) -> list[tuple[str, Kind]]:
    """What each of the grouping columns holds: a text where a cell is told by its label."""
    kinds: list[Kind] = []
    for place, one in enumerate(request.values[: len(names)]):
        by_label = not request.axes or request.axes[place].traits.labelled
        kinds.append(one.kind if by_label else "integer")
    return list(zip(names, kinds, strict=True))
