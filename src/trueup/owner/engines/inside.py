"""Counting inside an engine, where the rows cannot come to us: PostgreSQL and Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.axis.numbers import Ints
from trueup.owner.columns import Engine, Wanted
from trueup.owner.engines.bins import Counting, counting, fold
from trueup.owner.graph import Graph
from trueup.owner.request import Count, Request
from trueup.owner.where import Combined, Part

if TYPE_CHECKING:
    import narwhals as nw


def prepared(engine: Engine, frame: Any, request: Request) -> Count:
    """The count of a request, as a query of the engine over its own frame."""
    import narwhals as nw

    rows = nw.from_native(engine.typed(frame, request.wanted))
    if request.where is not None:
        rows = rows.filter(expression(request.where, request.by_column))
    if request.graph is not None:
        rows = nw.from_native(_neighbours(request.graph, rows.to_native()))
    plans = {
        one.name: counting(axis, one.kind, engine.divides)
        for axis, one in zip(request.axes, request.values, strict=bool(request.axes))
    }
    if not plans:
        rows = rows.filter(~nw.col("value").is_null())
    for name, plan in plans.items():
        rows = rows.filter(plan.keep(nw.col(name)))
    if request.unit is not None:
        values = list(plans) or ["value"]
        rows = nw.from_native(_bounded(rows.to_native(), engine, request, values))
    if plans:
        return _cells(engine, rows, plans)
    sizes = rows.group_by("value").agg(nw.len().alias("rows"))
    if request.number:
        counted = sizes.select(nw.len().alias("rows"))
        return lambda: _whole(engine.run(counted.to_native())["rows"])
    shape = sizes.group_by("rows").agg(nw.len().alias("groups"))
    return lambda: _largest(engine.run(shape.to_native()), request.size)


def _cells(engine: Engine, rows: Any, plans: dict[str, Counting]) -> Count:
    import narwhals as nw

    names = [f"cell{name.removeprefix('value')}" for name in plans]
    (*_, plan) = plans.values()
    if len(plans) == 1 and plan.edges is not None:
        native = engine.between(rows.to_native(), "value", list(plan.edges))
    else:
        cells = []
        for (value, plan), name in zip(plans.items(), names, strict=True):
            if plan.edges is not None:
                placed = engine.placed(rows.to_native(), value, list(plan.edges), name)
                rows = nw.from_native(placed)
                cells.append(nw.col(name))
            else:
                cells.append(plan.cell(nw.col(value)).alias(name))
        native = rows.select(*cells).group_by(*names).agg(nw.len().alias("rows")).to_native()

    def run() -> Ints:
        table = engine.run(native)
        keys = [table[name].to_pylist() for name in names]
        return fold(list(plans.values()), keys, _whole(table["rows"]))

    return run


def _whole(column: Any) -> Ints:
    """An Arrow column of whole numbers as an array; by way of numpy it would load pandas."""
    return np.array(column.to_pylist(), np.int64)


def _largest(table: Any, most: int) -> Ints:
    """The sizes of the groups, the largest ones only if there are more than were declared.

    A record moves one size by one, and so at most one of the largest by one.
    """
    sizes = _whole(table["rows"])
    order = np.argsort(-sizes)
    times = _whole(table["groups"])[order]
    before = np.concatenate([[0], np.cumsum(times)[:-1]]) if len(times) else times
    return np.repeat(sizes[order], np.clip(most - before, 0, times))


def _bounded(native: Any, engine: Engine, request: Request, values: list[str]) -> Any:
    """A native frame of the values, with at most so many rows of each `unit`; a null unit has none.

    A row is known by its unit, its value and its number among equal ones. The rows of a unit are
    put in the order of the engine's own hash of these three and the request's random key, and the
    first few are kept: every row of a unit has the same chance, whatever its value, and another
    unit's rows have no part in it.
    """
    import narwhals as nw

    rows = nw.from_native(native).filter(~nw.col("unit").is_null())
    # A constant has no order: equal rows are numbered as they come.
    numbered = rows.with_columns(nw.lit(0).alias("equal")).with_columns(
        nw.col("equal").rank("ordinal").over("unit", *values).alias("number")
    )
    hashed = engine.hashed(numbered.to_native(), ["unit", *values, "number"], request.key)
    placed = nw.from_native(hashed).with_columns(
        nw.col("hash").rank("ordinal").over("unit").alias("place")
    )
    return placed.filter(nw.col("place") <= request.rows_per_unit).select(*values).to_native()


def _neighbours(graph: Graph, native: Any) -> Any:
    """A native frame of `value`: a node's name, once for each of its neighbours."""
    import narwhals as nw

    source, target = nw.col("source"), nw.col("target")
    edges = nw.from_native(native).filter(~source.is_null(), ~target.is_null())
    if graph.kind != "bipartite":
        edges = edges.filter(source != target)
    edges = edges.select(source.alias("value"), target.alias("other"))
    if graph.kind == "undirected":
        back = edges.select(nw.col("other").alias("value"), nw.col("value").alias("other"))
        edges = nw.concat([edges, back])
    return edges.unique().select("value").to_native()


def expression(part: Part, compared: Mapping[str, Wanted]) -> nw.Expr:
    """The filter for narwhals, over columns in the plain form of their kinds."""
    import narwhals as nw

    if isinstance(part, Combined):
        inner = [expression(one, compared) for one in part.parts]
        if part.word == "not":
            return ~inner[0]
        whole = inner[0]
        for one in inner[1:]:
            whole = whole & one if part.word == "and" else whole | one
        return whole
    column = compared[part.column]
    x = nw.col(column.name)
    if column.kind == "number":
        x = nw.when(~x.is_nan()).then(x)  # engines disagree where NaN lies; nowhere, for us
    first: Any = part.values[0]
    match part.sign:
        case "=":
            return x == first
        case "!=":
            return x != first
        case "<":
            return x < first
        case "<=":
            return x <= first
        case ">":
            return x > first
        case ">=":
            return x >= first
        case "in":
            return x.is_in(list(part.values))
        case _:
            return (x >= first) & (x <= part.values[1])
