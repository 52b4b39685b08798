"""Publish: from records, or counts, to a release in one call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Literal, cast, overload

import numpy as np

from trueup._kernels.beside import compiled_at_once
from trueup.arrays import Ints
from trueup.ask import (
    CellCounts,
    NamedCounts,
    Neighbours,
    Question,
    QuestionOfCells,
    SortedCounts,
    cell_counts,
)
from trueup.axis import Axis
from trueup.axis.column import column_of
from trueup.axis.reading import group_sizes
from trueup.cost import Cost
from trueup.errors import InputError, TrueupError
from trueup.facts import Facts, check_unit, rows_for
from trueup.infer import infer
from trueup.infer.model import LARGE
from trueup.measure import measure
from trueup.measurement import Measurement
from trueup.onepass import can_be_released, release_in_one_pass
from trueup.owner.columns import Columns
from trueup.owner.declared import Declared
from trueup.owner.folder import Route
from trueup.owner.request import Request
from trueup.owner.source import Source, open_source, quietly
from trueup.plan.default import Over, question_for
from trueup.reconcile.agreeing import show
from trueup.release import NamedRelease, Release, SortedRelease
from trueup.rows_bound import most_rows
from trueup.scale import Job, checked_question, flat_counts, open_job

LARGER = 1 << 22
"""Beyond so many cells kernels are compiled at once: numpy would take longer than that."""

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
    rows_per_unit: int | Literal["auto"] | None = ...,
    at_most: int | None = ...,
    nonnegative: bool = ...,
    integers: bool | None = ...,
    adaptive: bool | None = ...,
    to: str | os.PathLike[str] | None = ...,
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
    rows_per_unit: int | Literal["auto"] | None = ...,
    at_most: int | None = ...,
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
    rows_per_unit: int | Literal["auto"] | None = ...,
    at_most: int | None = ...,
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
    rows_per_unit: int | Literal["auto"] | None = ...,
    at_most: int | None = ...,
    nonnegative: bool = ...,
    integers: bool | None = ...,
    adaptive: bool | None = ...,
    to: str | os.PathLike[str] | None = ...,
) -> Any: ...


def publish(
    data: Any,
    over: Over,
    epsilon: object = None,
    neighbours: Neighbours = "add-remove",
    *,
    rho: object = None,
    unit: str = "row",
    rows_per_unit: int | Literal["auto"] | None = None,
    at_most: int | None = None,
    nonnegative: bool = True,
    integers: bool | None = None,
    adaptive: bool | None = None,
    to: str | os.PathLike[str] | None = None,
) -> Any:
    """The release of some data, in one call: counts it, adds noise and makes the counts agree.

    `over` is an axis, a list of axes, or a question. For an axis the plan's best question is asked.
    `data` is a table of pandas, Polars, Arrow or DuckDB, or the path of a file, whose columns have
    the names of the axes.
    With one axis it may also be a column or an array of values. With a question, a plain array
    holds counts, as for `measure`. The counts of the release are whole and never negative, unless
    you say `nonnegative=False`. At an ε an axis is asked by an adaptive tree, which pools small
    neighbours: where most cells are empty, squared errors are about half. `adaptive=False` asks a
    tree at once, for narrower intervals; `adaptive=True` pools at a ρ and over several axes, too
    (docs/adaptive.md).

    The noise protects one row. With `unit="user_id"`, a column of the table, it protects all rows
    of a user, and at most `rows_per_unit` rows of each user count; with "auto" that number is
    chosen privately, for a share of the cost, and `at_most` is the most rows that anybody has.
    Every call draws fresh noise and costs ε; with `rho` instead of `epsilon` the noise is Gaussian
    and the cost is ρ (docs/zcdp.md). Nothing adds up the costs; use `Owner.publish` for that.

    With `to`, the path of a new folder, the release is made there slab by slab, in little memory,
    for as many cells as the disk has room for (docs/scale.md).

    >>> from trueup.axis import Axis
    >>> age = Axis.integers("age", 0, 9)
    >>> release = publish([3, 3, 4, 8, 99], age, epsilon=1000)
    >>> release.counts().tolist(), release.range(0, 5).value
    ([0, 0, 0, 2, 1, 0, 0, 0, 1, 0], 3)
    """
    cost = Cost.of(epsilon, rho)
    most = most_rows(rows_per_unit, {"at_most": at_most}, check_unit(unit))
    rows = 1 if rows_per_unit == "auto" else rows_for(unit, rows_per_unit)
    if to is not None:
        if adaptive:
            raise InputError("An adaptive tree is made in memory: leave out to=, or adaptive=True.")
        question = checked_question(over, nonnegative, integers, most)
        facts = Facts.of(question, cost, neighbours, unit, rows)
        return _to_folder(data, facts, isinstance(over, Question), to, nonnegative)
    whole = nonnegative if integers is None else integers
    terms = cost, nonnegative or whole, neighbours, rows, adaptive
    question = question_for(over, *terms, bounded=most is not None)
    if most is not None:
        chosen = _bounded(data, question, cost, neighbours, unit, most)
        return infer(chosen, nonnegative=nonnegative, integers=whole)
    facts = Facts.of(question, cost, neighbours, unit, rows)
    facts.noise.check_drawable()
    return _in_memory(data, facts, isinstance(over, Question), nonnegative, whole)


def _in_memory(data: Any, facts: Facts, asked: bool, nonnegative: bool, whole: bool) -> Any:
    """The release, from a table or from counts: in one pass where that can be and is worth it."""
    noise, unit, rows = facts.noise, str(facts.unit), facts.rows
    question, cost = noise.question, Cost.of(noise.epsilon, noise.rho)
    if can_be_released(question) and question.size >= LARGE:
        with compiled_at_once() if question.size > LARGER else nullcontext():
            counts = _counts(data, question, asked, unit, rows)
            found = release_in_one_pass(counts, facts, threads=os.cpu_count() or 1)
        return show(found, nonnegative, whole)
    counts = _counts(data, question, asked, unit, rows)
    measured = measure(counts, question, cost, noise.neighbours, unit=unit, rows_per_unit=rows)
    return infer(measured, nonnegative=nonnegative, integers=whole)


def _to_folder(
    data: Any, facts: Facts, asked: bool, to: str | os.PathLike[str], shown: bool
) -> Release:
    """The release in a folder, from a table or from counts."""
    if not _is_table(data):
        _check_values(data, facts.noise.question, asked, facts.rows)
    job = open_job(to, facts, shown=shown)
    try:
        route = _route(data, facts, asked, job)
    except TrueupError:
        job.forget()
        raise
    return cast("Release", route.finish(route.draw()))


def _route(data: Any, facts: Facts, asked: bool, job: Job) -> Route:
    """How a release goes to its folder; what is wrong with the data is found here."""
    question = facts.noise.question
    if _is_table(data):
        source = open_source(data)
        request = _request(source, question, str(facts.unit), facts.rows)
        return Route.of(
            source, request, job, lambda count: quietly(count, "The table could not be read.")
        )
    if asked and not _is_column(data):
        data = flat_counts(data, question)
        return Route(lambda: job.draw(lambda a, b: cell_counts(data[a:b], b - a), 1), job.finish)
    cells = question.space.axes[0].locate(data)
    cells.sort()

    def within(start: int, stop: int) -> Ints:
        own = cells[slice(*np.searchsorted(cells, [start, stop]))]
        return np.bincount(own - start, minlength=stop - start)

    return Route(lambda: job.draw(within, 1), job.finish)


def _counts(data: Any, question: Question, asked: bool, unit: str, rows_per_unit: int) -> Any:
    """The counts of the question: of a table, of an array of values, or as they were given."""
    if _is_table(data):
        return _count_table(data, question, unit, rows_per_unit)
    _check_values(data, question, asked, rows_per_unit)
    space = question.space
    if asked and not _is_column(data):
        return data
    if space.kind == "ranks":
        sizes = np.sort(group_sizes(column_of(data, "publish")))
        return sizes[-space.groups :]  # more groups than declared: as an owner, the largest
    return space.axes[0].count(data)


def _check_values(data: Any, question: Question, asked: bool, rows_per_unit: int) -> None:
    """Refuses values, not counts, of which nobody knows whose they are, or on which of the axes."""
    if asked and not _is_column(data):
        return
    if rows_per_unit != 1:
        raise InputError("rows_per_unit goes with a table that has a column for the unit.")
    space = question.space
    if space.kind != "ranks" and len(space.axes) != 1:
        names = ", ".join(axis.name for axis in space.axes)
        raise InputError(f"Counts over {names} need a table with these columns.")


def _bounded(
    data: Any, question: Question, cost: Cost, neighbours: Neighbours, unit: str, most: int
) -> Measurement:
    """The noisy answers with a bound on each unit's rows that is chosen privately."""
    from trueup.owner.bounding import Choice
    from trueup.owner.people import people_source
    from trueup.owner.person import Person

    if not _is_table(data):
        raise InputError("rows_per_unit='auto' goes with a table that has a column for the unit.")
    choice = Choice.of(question, most, None, neighbours, cost.notion)
    choice.check(question, cost, neighbours)

    def people(axis: Axis) -> Ints:
        source = open_source(data)
        columns = Columns(source.schema, None)
        named = columns.naming(unit, "unit")
        made = people_source(source, columns, named, {axis.name: Person(count="*")})
        return _counted(made, CellCounts(axis), unit, 1)

    return choice.drawn(
        question,
        cost,
        neighbours,
        unit,
        people,
        lambda bound: _count_table(data, question, unit, bound),
    )


def _is_table(data: object) -> bool:
    if isinstance(data, (str, os.PathLike)):  # a file
        return True
    kind = type(data).__module__.partition(".")[0].lstrip("_")
    return kind in _FRAMES and not _is_column(data)


def _is_column(data: object) -> bool:
    """Whether it is one column of a library of tables."""
    own = type(data)  # to ask a lazy table itself for its columns would plan its query
    kind = own.__module__.partition(".")[0].lstrip("_")
    return kind in _FRAMES and not hasattr(own, "columns") and not hasattr(own, "schema")


def _count_table(data: object, question: Question, unit: str, rows_per_unit: int) -> Ints:
    """The counts of a table, its values placed as an owner's are."""
    return _counted(open_source(data), question, unit, rows_per_unit)


def _counted(source: Source, question: Question, unit: str, rows_per_unit: int) -> Ints:
    request = _request(source, question, unit, rows_per_unit)
    return quietly(lambda: source.prepare(request)(), "The table could not be read.")


def _request(source: Source, question: Question, unit: str, rows_per_unit: int) -> Request:
    """What is counted of a table, as an owner counts it."""
    if unit == "row" and rows_per_unit != 1:
        raise InputError('rows_per_unit goes with a unit, such as unit="user_id".')
    protected = None if unit == "row" else unit
    table = Declared(Columns(source.schema, None), protected, rows_per_unit, None, None)
    return table.request_for(question, None, False)
