"""The owner: a source and a ledger, the one door to the data."""

from __future__ import annotations

import contextlib
import copy
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar, Unpack, cast, overload

from trueup.ask import (
    CellCounts,
    NamedCounts,
    Neighbours,
    Question,
    QuestionOfCells,
    SortedCounts,
)
from trueup.axis import Axis
from trueup.cost import Cost
from trueup.errors import InputError, KeyConflictError, kind, shown
from trueup.facts import rows_for
from trueup.infer import infer
from trueup.measure import measure_all
from trueup.measurement import Measurement
from trueup.owner import where as filters
from trueup.owner.bounding import Choice, measure_bounded
from trueup.owner.columns import Columns, Kind
from trueup.owner.dated import Share, dating
from trueup.owner.declared import Declared
from trueup.owner.folder import FolderDoor
from trueup.owner.graph import Graph, two_columns
from trueup.owner.keys import KeyDoor
from trueup.owner.ledger import Ledger
from trueup.owner.order import AskedTerms, Order, check_private
from trueup.owner.people import people_source
from trueup.owner.person import Person, no_people
from trueup.owner.rehearsal import check_noise
from trueup.owner.request import Count, Counts, Request
from trueup.owner.source import CLOSED, open_source, quietly, retried
from trueup.period import Covered, Period, periods_named
from trueup.plan.default import Over, question_for
from trueup.release import NamedRelease, Release, SortedRelease
from trueup.rows_bound import BoundTerms, most_rows

Asked = TypeVar("Asked", bound=Question)
T = TypeVar("T")


class Owner:
    """The one door to a sensitive table: what goes through it is noisy, and paid for.

    `source` is a path or glob of files, a postgresql:// address, or a table of DuckDB, pandas,
    Polars, Arrow or Spark. What is protected is one row; or, with `unit="user_id"` and
    `rows_per_unit=c`, all rows of a user, of which at most c are counted; or, for an edge table
    with `edges=("src", "dst")`, one edge. With `rows_per_unit="auto"` c is chosen privately for
    each question, for a share of its ε; `at_most` is the most rows that anybody has. `columns`
    declares the types of columns that filters and units use, where the source does not: {"borough":
    "text"}. Where the ledger has a limit for each day (or another period), each question names its
    days: `period=`.

    >>> import pyarrow as pa
    >>> from tempfile import mkdtemp
    >>> from trueup.ask import CellCounts
    >>> trips = pa.table({"hour": [0, 0, 23, 99, None]})
    >>> owner = Owner(trips, Ledger(mkdtemp() + "/trips.ledger", limit=1))
    >>> m = owner.measure(CellCounts(Axis.integers("hour", 0, 23)), epsilon="1/10")
    >>> len(m.noisy), owner.ledger.remaining
    (24, Fraction(9, 10))
    """

    def __init__(
        self,
        source: object,
        ledger: Ledger,
        *,
        unit: str | None = None,
        rows_per_unit: int | Literal["auto"] | None = None,
        columns: Mapping[str, Kind] | None = None,
        table: str | None = None,
        edges: tuple[str, str] | None = None,
        graph: str = "undirected",
        **bound: Unpack[BoundTerms],
    ) -> None:
        if not isinstance(ledger, Ledger):
            raise InputError(f"An owner needs a Ledger, got {kind(ledger)}.")
        self.ledger = ledger
        if unit in ("row", "edge"):
            raise InputError(
                f"In a ledger the word {unit!r} means one {unit} of the table, so a column of that "
                f"name cannot be the unit: rename the column."
            )
        self.graph = None if edges is None else Graph(*two_columns(edges), graph)
        if self.graph is not None and unit is not None:
            raise InputError(
                "A graph protects an edge. Protecting a node, with all its edges, is another "
                "mechanism, which trueup does not have: leave unit= out."
            )
        self.unit, self.at_most = unit, most_rows(rows_per_unit, bound, unit)
        self.rows_per_unit = 1 if rows_per_unit == "auto" else rows_for(unit, rows_per_unit)
        if unit is None and self.rows_per_unit != 1:
            raise InputError('rows_per_unit goes with a unit, such as unit="user_id".')
        self._source = open_source(source, table)
        self.columns = Columns(self._source.schema, columns)
        self._turn = threading.Lock() if self._source.shared else contextlib.nullcontext()
        self.calendar = ledger.calendar
        date = share = None
        if self.calendar is not None:
            date = dating(self.columns, self.calendar)
            if self.calendar.periods_per_unit is not None:
                share = Share(*self.calendar.periods_per_unit, ledger.sampling_key())
        self.table = Declared(self.columns, unit, self.rows_per_unit, self.graph, date, share)

    def __repr__(self) -> str:
        about = self._source.about
        source = " ".join(about[name] for name in ("kind", "name", "table") if name in about)
        of = "" if self.calendar is None else f" {self.calendar.one}"
        return f"<Owner of {source}: protects one {self.protects}{of}, {self.ledger!r}>"

    @property
    def source(self) -> dict[str, str]:
        """What is recorded of the table with every charge: its kind and name."""
        return dict(self._source.about)

    @property
    def protects(self) -> str:
        """What the noise hides: "row", "edge", or the column that names the unit."""
        return "edge" if self.graph is not None else self.unit or "row"

    def measure(
        self,
        question: Asked,
        epsilon: object = None,
        key: str | None = None,
        *,
        rho: object = None,
        where: str | None = None,
        neighbours: Neighbours = "add-remove",
        by: str | None = None,
        period: object = None,
    ) -> Measurement[Asked]:
        """The noisy answers to a question, charged to the ledger before they are drawn.

        Without a key each call is a new charge; the same key returns the same stored bytes and
        charges once. `where` is a filter (see trueup.owner.where). `by` is written into the ledger:
        on whose behalf. Every measurement costs its full ε, whatever its filter; with `rho` instead
        of `epsilon` its noise is Gaussian and it costs ρ, in a ledger that counts ρ.

        Where the ledger has a limit for each day, `period` names a day, "2026-03-01", or a list of
        them: only their rows are counted, and each of them is charged the whole cost.
        """
        if not isinstance(question, Question):
            keys = " Keys are measured by owner.keys." if hasattr(question, "universe") else ""
            raise InputError(
                f"measure needs a question such as TreeCounts(axis), got {shown(question)}.{keys}"
            )
        asked = AskedTerms(where=where, neighbours=neighbours, by=by, period=period)
        order = Order.of(self, Cost.of(epsilon, rho), key, asked)
        if self.at_most is not None:
            choice = Choice.of(question, self.at_most, None, neighbours, order.cost.notion)
            measured = measure_bounded(self, question, order, choice)
        else:
            measured = self._measured(question, order, self.rows_per_unit)
        return cast("Measurement[Asked]", measured)

    @overload
    def publish(
        self,
        over: Axis | Sequence[Axis] | QuestionOfCells,
        epsilon: object = ...,
        key: str | None = ...,
        *,
        rho: object = ...,
        nonnegative: bool = ...,
        integers: bool | None = ...,
        adaptive: bool | None = ...,
        to: str | os.PathLike[str] | None = ...,
        **asked: Unpack[AskedTerms],
    ) -> Release: ...

    @overload
    def publish(
        self,
        over: SortedCounts,
        epsilon: object = ...,
        key: str | None = ...,
        *,
        rho: object = ...,
        nonnegative: bool = ...,
        integers: bool | None = ...,
        **asked: Unpack[AskedTerms],
    ) -> SortedRelease: ...

    @overload
    def publish(
        self,
        over: NamedCounts,
        epsilon: object = ...,
        key: str | None = ...,
        *,
        rho: object = ...,
        nonnegative: bool = ...,
        integers: bool | None = ...,
        **asked: Unpack[AskedTerms],
    ) -> NamedRelease: ...

    @overload
    def publish(
        self,
        over: Question,
        epsilon: object = ...,
        key: str | None = ...,
        *,
        rho: object = ...,
        nonnegative: bool = ...,
        integers: bool | None = ...,
        adaptive: bool | None = ...,
        to: str | os.PathLike[str] | None = ...,
        **asked: Unpack[AskedTerms],
    ) -> Any: ...

    def publish(
        self,
        over: Over,
        epsilon: object = None,
        key: str | None = None,
        *,
        rho: object = None,
        nonnegative: bool = True,
        integers: bool | None = None,
        adaptive: bool | None = None,
        to: str | os.PathLike[str] | None = None,
        **asked: Unpack[AskedTerms],
    ) -> Any:
        """The release of the table over an axis, several, or a question: measured and inferred.

        As `tu.publish`, through the ledger: an axis is asked by the plan's best question, with
        `adaptive=False` at once; counts are non-negative and whole unless told otherwise. The rest
        (`where`, `neighbours`, `by`, `period`) is as for `measure`. A key that paid for a default
        that was asked at once still has its answer. With `to` it is made slab by slab into a
        folder, as by `tu.publish`; one that a crash ended goes on if the same is asked again, at no
        further cost.
        """
        if to is not None:
            if adaptive:
                raise InputError(
                    "An adaptive tree is made in memory: leave out to=, or adaptive=True."
                )
            door = FolderDoor(self, self._source, self._turn)
            return door.publish(over, Cost.of(epsilon, rho), to, key, nonnegative, integers, asked)
        whole = nonnegative if integers is None else integers
        shown = nonnegative or whole
        cost = Cost.of(epsilon, rho)
        neighbours = asked.get("neighbours", "add-remove")
        terms = cost, shown, neighbours, self.rows_per_unit
        question = question_for(over, *terms, adaptive, bounded=self.at_most is not None)
        try:
            measured = self.measure(question, cost, key, **asked)
        except KeyConflictError:
            former = question_for(over, *terms, adaptive=False)
            if adaptive is not None or former == question:
                raise
            measured = self.measure(former, cost, key, **asked)  # the key is known: no new charge
        return infer(measured, nonnegative=nonnegative, integers=whole)

    def check(
        self,
        question: Question,
        epsilon: object = None,
        *,
        rho: object = None,
        **asked: Unpack[AskedTerms],
    ) -> None:
        """Refuses what `measure` would refuse, the ledger's limit apart. Free: no row is read.

        `where`, `neighbours` and `period` are as for `measure`.
        """
        order = Order.of(self, Cost.of(epsilon, rho), None, asked)
        self.prepared(question, order.part, False, order.periods)
        if self.at_most is not None:
            choice = Choice.of(question, self.at_most, None, order.neighbours, order.cost.notion)
            choice.check(question, order.cost, order.neighbours)
            return
        check_noise(question, order.cost, order.neighbours, self.rows_per_unit)

    def people(self, **features: Person) -> Owner:
        """An owner of the table of people: one row a unit, a column for each feature.

        Each person is one record, whatever the number of their rows: no row is left out, and the
        noise is that of a single record. Axes go by the names of the features. It spends from the
        same ledger, which must protect this unit. Where each period has a limit, a person is one
        record in each period, made from the rows of that period alone.
        """
        if self.unit is None:
            raise no_people()
        unit = self.columns.naming(self.unit, "unit")
        made = people_source(self._source, self.columns, unit, features, self.table.date)
        found = Owner(made, self.ledger, unit=self.unit, rows_per_unit=1)
        found._turn = self._turn
        return found

    def count_groups(
        self,
        group: str | None,
        epsilon: object = None,
        key: str | None = None,
        *,
        rho: object = None,
        **asked: Unpack[AskedTerms],
    ) -> Measurement:
        """How many different values a column has, or nodes with an edge a graph: one noisy count.

        A row adds at most one group (an undirected edge at most two). Use it where the number of
        groups is not public, before asking `SortedCounts`; it costs its own ε, or ρ. The rest
        (`where`, `neighbours`, `by`, `period`) is as for `measure`.
        """
        if (group is None) != (self.graph is not None):
            raise InputError("count_groups counts a column's values, or with None a graph's nodes.")
        self.check_number("Groups")
        question = CellCounts(Axis.categories(group or "node", ["groups"]))
        rows = self.rows_per_unit
        if self.graph is not None:
            rows = self.graph.ends  # an edge may bring two nodes
        order = Order.of(self, Cost.of(epsilon, rho), key, asked)
        return self._measured(question, order, rows, groups=group)

    @property
    def keys(self) -> KeyDoor:
        """Keys that nobody can list: `keys.check` says their terms, `keys.measure` spends."""
        self.check_number("Keys")
        return KeyDoor(self)

    def check_number(self, what: str) -> None:
        """Refuses what needs a number of rows that was declared."""
        if self.at_most is not None:
            raise InputError(
                f"{what} need rows_per_unit as a number: it is chosen for counts over axes only."
            )

    def bounded_by(self, rows: int) -> Owner:
        """The same owner with so many rows of each unit counted."""
        found = copy.copy(self)
        found.rows_per_unit, found.at_most = rows, None
        found.table = replace(self.table, rows_per_unit=rows)
        return found

    def _measured(
        self, question: Question, order: Order, rows: int, **special: object
    ) -> Measurement:
        """The noisy answers: what the key has paid for, or charged and drawn now."""
        request = order.request(self, question.to_json(), rows_per_unit=rows, **special)

        def ready() -> Callable[[], bytes]:
            count = self.prepared(question, order.part, bool(special), order.periods)
            check_noise(question, order.cost, order.neighbours, rows)
            return lambda: self._drawn(question, order, rows, count)

        answer = Measurement.from_bytes(order.paid(self, request, ready))
        check_private(answer.private)
        return answer

    def _drawn(self, question: Question, order: Order, rows: int, count: Count) -> bytes:
        """Fresh noisy answers."""
        noisy = measure_all(
            self.read(count, order.key),
            question,
            order.cost.epsilon,
            order.neighbours,
            rho=order.cost.rho,
            unit=self.protects,
            rows_per_unit=rows,
        )
        return self.covering(noisy, order.periods).to_bytes()

    def covering(self, noisy: Measurement, periods: tuple[Period, ...]) -> Measurement:
        """The measurement, which says of which periods and of which features of people it is."""
        features = self._source.features_in(noisy.question.space)
        return replace(noisy, features=features, period=self.covered(periods))

    def covered(self, periods: tuple[Period, ...]) -> Covered | None:
        """The periods that were named, as published answers say them."""
        return None if self.calendar is None else Covered.of(self.calendar, periods)

    # From a question to a count that is ready to run.

    def periods(self, period: object) -> tuple[Period, ...]:
        """The periods that were named, where the ledger has some."""
        return periods_named(self.calendar, period)

    def prepared(
        self,
        question: Question,
        part: filters.Part | None,
        number: bool = False,
        periods: tuple[Period, ...] = (),
    ) -> Count:
        """A count that is ready to run: its columns checked, its source open, no row read."""
        return self.prepare(self.table.request_for(question, part, number, periods))

    def prepare(self, request: Request) -> Count:
        """The count of a request, ready to run."""
        with self._turn:
            return quietly(lambda: self._source.prepare(request), CLOSED)

    def prepare_all(self, requests: Sequence[Request]) -> Counts:
        """Several counts that are ready to run, in one pass over the table where that can be."""
        with self._turn:
            return quietly(lambda: self._source.prepare_all(requests), CLOSED)

    def read(self, count: Callable[[], T], key: str) -> T:
        """What a count finds that was paid for under a key."""
        with self._turn:
            return quietly(
                lambda: retried(count),
                f"The source could not be read. The charge stands: ask again under the key "
                f"{key!r}, at no further cost.",
            )
