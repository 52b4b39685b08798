"""Publish: from records, or counts, to a release in one call."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, overload

import numpy as np

from trueup._kernels.beside import shown_compiled_beside
from trueup.ask import NamedCounts, Neighbours, Question, QuestionOfCells, SortedCounts
from trueup.axis import Axis
from trueup.axis.column import column_of
from trueup.axis.numbers import Ints
from trueup.axis.reading import group_sizes
from trueup.cost import Cost
from trueup.errors import InputError
from trueup.facts import Facts, check_unit, rows_for
from trueup.infer import infer
from trueup.measure import measure
from trueup.onepass import can_be_released, release_in_one_pass
from trueup.owner.columns import Columns
from trueup.owner.paths import ReadColumns, counted
from trueup.owner.request import Request
from trueup.owner.source import open_source, quietly
from trueup.plan.default import Over, question_for
from trueup.reconcile.agreeing import show
from trueup.release import NamedRelease, Release, SortedRelease

LARGE = 1 << 20
"""From so many cells on a tree is counted, noised and fitted in one pass, on all cores."""

_FRAMES = ("pandas", "polars", "pyarrow", "duckdb", "narwhals", "pyspark", "ibis")


@overload
def publish(
    data: Any,
    over: Axis | Sequence[Axis] | QuestionOfCells,
    epsilon: object = ...,
    neighbours: Neighbours = ...,
    *,
    rho: object = ...,
    unit: str = ...,
    rows_per_unit: int | None = ...,
    nonnegative: bool = ...,
    integers: bool | None = ...,
) -> Release: ...


@overload
def publish(
    data: Any,
    over: SortedCounts,
    epsilon: object = ...,
    neighbours: Neighbours = ...,
    *,
    rho: object = ...,
    unit: str = ...,
    rows_per_unit: int | None = ...,
    nonnegative: bool = ...,
    integers: bool | None = ...,
) -> SortedRelease: ...


@overload
def publish(
    data: Any,
    over: NamedCounts,
    epsilon: object = ...,
    neighbours: Neighbours = ...,
    *,
    rho: object = ...,
    unit: str = ...,
    rows_per_unit: int | None = ...,
    nonnegative: bool = ...,
    integers: bool | None = ...,
) -> NamedRelease: ...


@overload
def publish(
    data: Any,
    over: Question,
    epsilon: object = ...,
    neighbours: Neighbours = ...,
    *,
    rho: object = ...,
    unit: str = ...,
    rows_per_unit: int | None = ...,
    nonnegative: bool = ...,
    integers: bool | None = ...,
) -> Any: ...


def publish(
    data: Any,
    over: Over,
    epsilon: object = None,
    neighbours: Neighbours = "add-remove",
    *,
    rho: object = None,
    unit: str = "row",
    rows_per_unit: int | None = None,
    nonnegative: bool = True,
    integers: bool | None = None,
) -> Any:
    """The release of some data, in one call: counts it, adds noise and makes the counts agree.

    `over` is an axis, a list of axes, or a question. For an axis the plan's best question is asked.
    `data` is a table of pandas, Polars, Arrow or DuckDB, or the path of a file, whose columns have
    the names of the axes.
    With one axis it may also be a column or an array of values. With a question, a plain array
    holds counts, as for `measure`. The counts of the release are whole and never negative, unless
    you say `nonnegative=False`.

    The noise protects one row. With `unit="user_id"`, a column of the table, it protects all rows
    of a user, and at most `rows_per_unit` rows of each user count. Every call draws fresh noise and
    costs ε; with `rho` instead of `epsilon` the noise is Gaussian and the cost is ρ (docs/zcdp.md).
    Nothing adds up the costs; use `Owner.publish` for that.

    >>> from trueup.axis import Axis
    >>> age = Axis.integers("age", 0, 9)
    >>> release = publish([3, 3, 4, 8, 99], age, epsilon=1000)
    >>> release.counts().tolist(), release.range(0, 5).value
    ([0, 0, 0, 2, 1, 0, 0, 0, 1, 0], 3)
    """
    cost = Cost.of(epsilon, rho)
    rows = rows_for(check_unit(unit), rows_per_unit)
    whole = nonnegative if integers is None else integers
    question = question_for(over, cost, nonnegative or whole, neighbours, rows)
    facts = Facts.of(question, cost, neighbours, unit, rows)
    facts.noise.check_drawable()
    if can_be_released(question) and question.size >= LARGE:
        with shown_compiled_beside() if nonnegative or whole else nullcontext():
            counts = _counts(data, question, isinstance(over, Question), unit, rows)
            found = release_in_one_pass(counts, facts, threads=os.cpu_count() or 1)
        return show(found, nonnegative, whole)
    counts = _counts(data, question, isinstance(over, Question), unit, rows)
    measured = measure(counts, question, cost, neighbours, unit=unit, rows_per_unit=rows)
    return infer(measured, nonnegative=nonnegative, integers=whole)


def _counts(data: Any, question: Question, asked: bool, unit: str, rows_per_unit: int) -> Any:
    """The counts of the question: of a table, of an array of values, or as they were given."""
    if _is_table(data):
        return _count_table(data, question, unit, rows_per_unit)
    if rows_per_unit != 1 and not asked:
        raise InputError("rows_per_unit goes with a table that has a column for the unit.")
    space = question.space
    if asked and not _is_column(data):
        return data
    if space.kind == "ranks":
        sizes = np.sort(group_sizes(column_of(data, "publish")))
        return sizes[-space.groups :]  # more groups than declared: as an owner, the largest
    if len(space.axes) != 1:
        names = ", ".join(axis.name for axis in space.axes)
        raise InputError(f"Counts over {names} need a table with these columns.")
    return space.axes[0].count(data)


def _is_table(data: object) -> bool:
    if isinstance(data, (str, os.PathLike)):  # a file
        return True
    kind = type(data).__module__.partition(".")[0].lstrip("_")
    return kind in _FRAMES and not _is_column(data)


def _is_column(data: object) -> bool:
    """Whether it is one column of a library of tables."""
    kind = type(data).__module__.partition(".")[0].lstrip("_")
    return kind in _FRAMES and not hasattr(data, "columns") and not hasattr(data, "schema")


def _count_table(data: object, question: Question, unit: str, rows_per_unit: int) -> Ints:
    """The counts of a table, its values placed as an owner's are."""
    source = open_source(data)
    columns = Columns(source.schema, None)
    space = question.space
    if space.kind == "ranks" and space.by is None:
        raise InputError('Name the column that has the groups: SortedCounts(n, by="…").')
    if space.kind == "ranks":
        read = ReadColumns((columns.naming(str(space.by), "value"),), (), ())
    else:
        read = counted(columns, space.axes)
    protected = None if unit == "row" else columns.naming(unit, "unit")
    if protected is None and rows_per_unit != 1:
        raise InputError('rows_per_unit goes with a unit, such as unit="user_id".')
    request = Request(
        question.size,
        read.values,
        read.axes,
        groups=read.groups,
        unit=protected,
        rows_per_unit=rows_per_unit,
        key=secrets.token_hex(32),
    )
    return quietly(lambda: source.prepare(request)(), "The table could not be read.")
