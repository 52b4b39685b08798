"""Routes of an analyst who asks: what there is, what it would cost, and the measurement itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from trueup.ask import Question
from trueup.config import Dataset
from trueup.cost import Cost
from trueup.errors import BudgetError, InputError, KeyConflictError, SourceError
from trueup.owner.charge import Charge
from trueup.period import Period
from trueup.server import errors
from trueup.server.auth import Holder
from trueup.server.datasets import KeyQuestion, Table
from trueup.server.errors import NotFoundError
from trueup.server.jobs import Job
from trueup.server.questions import Asked, AskedPart, question_asked
from trueup.server.releases import release_id
from trueup.server.routes import told
from trueup.server.routes.bodies import Ask, Page
from trueup.server.service import Service, analyst, holder, service

router = APIRouter(prefix="/api/v1", tags=["ask"])


class GeoJson(Response):
    """Outlines."""

    media_type = "application/geo+json"


Parts = Annotated[Service, Depends(service)]
Anyone = Annotated[Holder, Depends(holder)]
Analyst = Annotated[Holder, Depends(analyst)]
Name = Annotated[str, Path(max_length=64)]
Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=8,
        max_length=200,
        pattern=r"^[!-~]+$",
        description="The same key gives the same answer, paid once.",
    ),
]
Identifier = Annotated[str, Path(max_length=140, description="As in a list of releases.")]
OUTLINES: dict[int | str, dict[str, Any]] = {
    304: {"description": "The same as before: `ETag` has not changed."},
}
_LOOK = 0.05  # seconds between looks at a measurement that another process makes


@router.get("/me", response_model=told.Me)
def me(parts: Parts, who: Anyone) -> Response:
    """Who holds this token, and what they may spend, on each dataset and in all."""
    each: dict[str, dict[str, Any]] = {}
    ledgers: dict[str, dict[str, Any]] = {}  # datasets that share one share an allowance
    for name, table in parts.tables.items():
        said = table.allowance(who.name)
        if said["limit"] is not None and who.role == "analyst":
            left = None if table.per else str(table.left_for(who))
            ledgers[table.dataset.ledger_place] = each[name] = {**said, "remaining": left}
    sums: dict[str, str | None] = dict.fromkeys(("limit", "spent", "remaining"))
    # A sum of epsilon and rho means nothing, nor does one of limits of each day.
    notions = {row["notion"] for row in ledgers.values()}
    if len(notions) == 1 and not any(row["per"] for row in ledgers.values()):
        sums = {word: str(sum(Fraction(row[word]) for row in ledgers.values())) for word in sums}
    own = {"name": who.name, "role": who.role, "expires": who.expires}
    return reply({**own, **sums, "datasets": each})


@router.get("/datasets", response_model=told.DatasetList)
def datasets(parts: Parts, who: Anyone) -> Response:
    """Every dataset: what may be asked, who is protected, what is left."""
    return reply({"datasets": [_described(parts, table, who) for table in parts.tables.values()]})


@router.get("/datasets/{dataset}", response_model=told.DatasetTold)
def dataset(parts: Parts, who: Anyone, dataset: Name) -> Response:
    """One dataset."""
    return reply(_described(parts, parts.table(dataset), who))


def _described(parts: Service, table: Table, who: Holder) -> dict[str, Any]:
    unsaid = who.role == "reader" or table.per is not None
    yours = None if unsaid else str(table.left_for(who))
    return {**table.describe(parts.releases.count(table)), "yours": yours}


def check_asked(
    table: Table,
    question: Question | KeyQuestion,
    cost: Cost,
    where: str | None,
    periods: Sequence[Period | str],
) -> None:
    """Refuses what a measurement would refuse; because of its filter, if only with it."""
    with errors.field(cost.notion):
        cost.counted_in(table.ledger.notion)
    try:
        table.check(question, cost, where, periods)
    except (InputError, SourceError):
        table.check(question, cost, None, periods)
        with errors.field("where"):
            table.check(question, cost, where, periods)


@router.post(
    "/datasets/{dataset}/measure",
    response_model=told.Measured,
    responses={
        202: {"model": told.JobBegun, "description": "Still at work: a job to look at."},
        409: {"model": told.Problem, "description": "No budget, or a key that paid for other."},
    },
)
async def measure(parts: Parts, who: Analyst, dataset: Name, key: Key, body: Ask) -> Response:
    """Noisy answers, charged before they are drawn, stored before they are sent.

    The answer leaves at the deadline of its class; what has missed the first becomes a job.
    """
    table = parts.table(dataset)
    wanted = await run_in_threadpool(_wanted, parts, table, who, key, body)
    limit = time.time() + parts.settings.deadline
    charge = None
    while charge is None:
        run = asyncio.wrap_future(parts.jobs.begin(wanted))
        run.add_done_callback(_looked_at)
        await asyncio.wait([run], timeout=max(limit - time.time(), _LOOK))
        if run.done():
            try:
                run.result()  # raises what was refused before it was charged
            except (InputError, SourceError) as wrong:
                if not isinstance(wrong, KeyConflictError):  # says which field it was
                    given = (table, wanted.question, wanted.cost, wanted.where, wanted.periods)
                    await run_in_threadpool(check_asked, *given)
                raise
        charge = await run_in_threadpool(table.ledger.find, wanted.key)
        if charge is None:
            await asyncio.sleep(_LOOK)
    wanted.check(charge)
    return await _at_its_deadline(parts, table, charge, limit)


def _looked_at(run: asyncio.Future[None]) -> None:
    """A run that was not waited for to its end: asyncio would log its error as never seen."""
    if not run.cancelled():
        run.exception()


def _wanted(parts: Service, table: Table, who: Holder, key: str, body: Ask) -> Job:
    asked = body.asked()
    question = question_asked(*dataset_asked(parts, table, asked), parts.settings.most_cells)
    if not table.allows(who):
        raise BudgetError(no_allowance(table))
    return Job.of(table, question, asked, key, who)


def dataset_asked(parts: Service, table: Table, asked: Asked) -> tuple[Dataset, Asked]:
    """The dataset that is asked; with an axis of published keys, where labels are those.

    The keys were published, so that they are as public as an axis that the owner declares.
    """
    if asked.among is None:
        return table.dataset, asked
    with errors.field("among"):
        of, _ = parts.releases.find(asked.among)
        if of.name != table.name:
            raise InputError("Keys are the labels of their own dataset, not of another.")
        axis = parts.releases.open_keys(asked.among).keys.axis()
    said = replace(table.dataset, axes={**table.dataset.axes, axis.name: axis})
    return said, replace(asked, parts=(AskedPart(axis.name),))


def no_allowance(table: Table) -> str:
    """That somebody has no allowance, and what to do."""
    return f"You have no allowance on '{table.name}'. Ask its owner for one."


async def _at_its_deadline(parts: Service, table: Table, charge: Charge, limit: float) -> Response:
    """The answer if it may leave by the limit, else a job; neither before it may."""
    status = await run_in_threadpool(parts.jobs.status, table, charge)
    # A run begins a moment after its request, before it looks at any row.
    limit = max(limit, await run_in_threadpool(parts.jobs.first, table, charge))
    wait = (status.at if status.state != "running" and status.at <= limit else limit) - time.time()
    if wait > 0:
        await asyncio.sleep(wait)
    table, charge = await run_in_threadpool(parts.releases.find, release_id(table, charge))
    status = await run_in_threadpool(parts.releases.status, table, charge)
    name = release_id(table, charge)
    if status.state == "failed" and status.failure is not None:
        return errors.problem(status.failure, status.failure["status"])
    if status.state == "running":
        return reply({"job": name, "url": f"{parts.settings.root_path}/api/v1/jobs/{name}"}, 202)
    return reply(
        {
            "release": name,
            "cost": str(charge.charged.amount),
            "notion": charge.charged.notion,
            "remaining": str(await run_in_threadpool(_left_after, table, charge)),
            "measurement": f"{parts.settings.root_path}/api/v1/releases/{name}/measurement",
        }
    )


def _left_after(table: Table, charge: Charge) -> Fraction:
    """What was left just after a charge: the same whenever it is told."""
    return table.ledger.limit - charge.spent


@router.get("/jobs/{job}", response_model=told.JobTold)
def job(parts: Parts, who: Analyst, job: Identifier) -> Response:
    """How far a measurement has come, in steps that are the same for all data.

    One whose process died is taken up again, at no further cost.
    """
    table, charge = parts.releases.find(job)
    if who.role != "owner" and charge.by != who.name:
        raise NotFoundError("There is no such job.")
    status = parts.releases.status(table, charge)
    if status.state == "running":
        parts.jobs.resume(table, charge)
    words = {
        "running": "charged; rows are counted and noise is drawn",
        "done": "the answer is stored",
        "failed": "the measurement failed; the charge stands",
    }
    return reply(
        {
            "state": status.state,
            "step": 2 if status.state == "done" else 1,
            "of": 2,
            "words": words[status.state],
            "release": job if status.state == "done" else None,
            "error": status.failure,
        }
    )


@router.get("/datasets/{dataset}/history", response_model=told.History)
def history(parts: Parts, who: Analyst, dataset: Name, page: Annotated[Page, Query()]) -> Response:
    """Charges, oldest first: all of them for the owner, an analyst's own for an analyst."""
    table = parts.table(dataset)
    charges = [charge for charge in table.ledger.history() if table.paid_for(charge)]
    own = [charge for charge in charges if who.role == "owner" or charge.by == who.name]
    lines = []
    for charge in page.of(own):
        seen = parts.releases.status(table, charge).state == "done"
        line = parts.releases.entry(table, charge)
        name = line.pop("id")
        release = name if seen else None
        lines.append(
            {"entry": charge.entry, **line, "spent": str(charge.spent), "release": release}
        )
    ledger = table.ledger
    said = {"dataset": table.name, "limit": str(ledger.limit), "notion": ledger.notion}
    return reply({**said, "charges": lines, **page.places(len(own))})


@router.get("/datasets/{dataset}/regions", response_class=GeoJson, responses=OUTLINES)
def regions(
    parts: Parts,
    who: Anyone,
    request: Request,
    dataset: Name,
    column: Annotated[str, Query(max_length=200)],
) -> Response:
    """The outlines of a column's labels, as GeoJSON; `label` names the cell of each."""
    return outlines(parts.table(dataset), column, request)


def outlines(table: Table, column: str, request: Request) -> Response:
    """The regions of a column, compressed where that is understood, kept by the browser."""
    if column not in table.regions:
        raise NotFoundError("This column has no regions.")
    found = table.regions[column]
    headers = {
        "ETag": f'"{found.tag}"',
        "Cache-Control": "private, no-cache",
        "Vary": "Accept-Encoding",
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    packed = "gzip" in request.headers.get("accept-encoding", "")
    data = found.compressed if packed else found.plain
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(data, headers=headers, media_type=GeoJson.media_type)


def reply(value: object, status: int = 200) -> Response:
    """Plain values as an answer that no cache keeps."""
    headers = {"Cache-Control": "no-store"}
    return Response(errors.encode(value), status, headers, "application/json")
