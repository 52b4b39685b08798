"""Releases that are larger than memory, through the ledger: slab by slab into a folder."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueup.ask import Question
from trueup.cost import Cost
from trueup.errors import BudgetError, InputError, KeyConflictError, SourceError, TrueupError
from trueup.facts import Facts
from trueup.files.dataset import MANIFEST, check_new_folder, open_dataset
from trueup.owner.order import AskedTerms, Order
from trueup.owner.rehearsal import check_noise
from trueup.owner.request import Request, Spread
from trueup.owner.source import CLOSED, Source, quietly
from trueup.saved import load
from trueup.scale import WINDOW, FolderJob, Job, checked_question, open_job

if TYPE_CHECKING:
    from trueup.owner.owner import Owner
    from trueup.release import Release


Read = Callable[[Callable[[], Any]], Any]
"""Runs a count: tried again where the world failed it, and none of an engine's words pass."""


@dataclass(frozen=True)
class Route:
    """How a release goes to its folder: in this process, or on the cluster that has the table."""

    draw: Callable[[], bytes]
    finish: Callable[[bytes], Any]

    @staticmethod
    def of(source: Source, request: Request, job: Job, read: Read) -> Route:
        """The route of a source; what is wrong with it is found here, before any charge."""
        request = replace(request, key=job.sampling)
        spread = source.spread
        if spread is not None and isinstance(job, FolderJob) and job.spreads:
            return Route._spread(quietly(lambda: spread(request), CLOSED), job, read)
        window = WINDOW if source.windows else request.size
        cells = job.windows(window)
        each = [replace(request, window=own if source.windows else None) for own in cells]
        passes = quietly(lambda: source.prepare_passes(each), CLOSED)
        counts = dict(zip(cells, passes.counts, strict=True))
        stamp = source.stamp
        begun = None if stamp is None else quietly(stamp, CLOSED)

        def count(start: int, stop: int) -> Any:
            found = read(counts[start, stop])
            # A row that moved between two passes would count in both: no noise is drawn for that.
            if stamp is not None and quietly(stamp, CLOSED) != begun:
                raise SourceError(
                    "The files changed while they were counted. Put them back as they were, and "
                    "ask the same again."
                )
            return found

        def draw() -> bytes:
            with passes.held:
                return job.draw(count, window)

        return Route(draw, job.finish)

    @staticmethod
    def _spread(run: Spread, job: FolderJob, read: Read) -> Route:
        from trueup.scale.spark import SparkStages

        def stages(frame: Any) -> SparkStages:
            return SparkStages(job, frame.sparkSession)

        quietly(
            lambda: run(lambda frame: stages(frame).rehearse()),
            f"The cluster cannot run trueup; nothing was charged. Install trueup for the Python "
            f"of its workers, and name that Python in PYSPARK_PYTHON before the session is made; "
            f"here it is {sys.executable}.",
        )

        def draw() -> bytes:
            found: bytes = read(lambda: run(lambda frame: stages(frame).draw(frame)))
            return found

        def finish(answered: bytes) -> Any:
            return quietly(
                lambda: run(lambda frame: stages(frame).finish(answered)),
                "The cluster failed. What was drawn is stored: ask the same again, at no cost.",
            )

        return Route(draw, finish)


@dataclass(frozen=True)
class FolderDoor:
    """The door through which a release goes to a folder: charged, then drawn and stored.

    The answers are files in the folder; the ledger stores their hashes. The same folder and the
    same request go on with what was charged: what was stored is never drawn again.
    """

    owner: Owner
    source: Source
    turn: AbstractContextManager[Any]

    def publish(
        self,
        over: object,
        cost: Cost,
        to: str | os.PathLike[str],
        key: str | None,
        nonnegative: bool,
        integers: bool | None,
        asked: AskedTerms,
    ) -> Release:
        """The release in a folder, charged once, whatever crashes."""
        owner = self.owner
        question = checked_question(over, nonnegative, integers, owner.at_most)
        order = Order.of(owner, cost, key, asked)
        place = check_new_folder(to)
        facts = self._facts(question, order)
        check_noise(question, cost, order.neighbours, owner.rows_per_unit, in_memory=False)
        # A key pays for one folder alone.
        rows = owner.rows_per_unit
        request = order.request(owner, question.to_json(), rows_per_unit=rows, to=str(place))
        done = None if key is None else self._done(request, order, place)
        if done is not None:
            if (done.unbiased is not done) != nonnegative:
                raise InputError(
                    f"{place} is there already, with {done.facts.inferred}. Ask for these: "
                    f"nonnegative={done.unbiased is not done}."
                )
            return done
        job = open_job(place, facts, key, owner.ledger.name, nonnegative)
        try:
            counted = owner.table.request_for(question, order.part, False, order.periods)
            with self.turn:
                route = Route.of(self.source, counted, job, lambda c: owner.read(c, job.key))
        except TrueupError:
            job.forget()
            raise
        try:
            answered = owner.ledger.spend(request, cost, draw=route.draw, key=job.key, by=order.by)
        except BudgetError:  # nothing was charged
            job.give_up()
            raise
        except KeyConflictError:  # the key has paid for something else, perhaps for what lies here
            job.forget()
            raise
        found: Release = route.finish(answered)
        return found

    def _done(self, request: dict[str, object], order: Order, place: Path) -> Release | None:
        """The release that this key has paid for, if it is finished."""
        if not (place / MANIFEST).exists():
            return None
        stored = self.owner.ledger.recall(request, order.cost, key=order.key, by=order.by)
        if stored is None or json.loads(stored)["id"] != open_dataset(place).facts.id:
            return None
        found: Release = load(place)
        return found

    def _facts(self, question: Question, order: Order) -> Facts:
        owner = self.owner
        if owner.graph is not None:
            raise InputError("A graph answers SortedCounts(nodes, …), its degree sequence.")
        return Facts.of(
            question,
            order.cost,
            order.neighbours,
            owner.protects,
            owner.rows_per_unit,
            features=self.source.features_in(question.space),
            period=owner.covered(order.periods),
        )
