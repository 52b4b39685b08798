"""Routes of anybody who reads: what was published, asked in every way that costs nothing."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from trueup.errors import InputError
from trueup.release import NamedRelease, Release, SortedRelease
from trueup.server import answers, errors
from trueup.server.answers import Version
from trueup.server.auth import Holder
from trueup.server.opened import Opened
from trueup.server.routes import told, told_counts
from trueup.server.routes.asking import (
    OUTLINES,
    Anyone,
    GeoJson,
    Identifier,
    Parts,
    outlines,
    reply,
)
from trueup.server.routes.bodies import (
    Difference,
    Heatmap,
    ManyBoxes,
    Nodes,
    Page,
    Quantiles,
    Ranges,
    View,
    Zoom,
)
from trueup.server.service import anybody
from trueup.server.written import (
    MEDIA,
    folder_file,
    measurement_file,
    release_file,
    rows_file,
)

_BYTES = {"type": "string", "format": "binary"}
router = APIRouter(prefix="/api/v1", tags=["releases"], dependencies=[Depends(anybody)])
Anybody = Annotated[Holder, Depends(anybody)]
FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A file.",
        "content": {
            kind.partition(";")[0]: {"schema": {} if "json" in kind else _BYTES}
            for kind in MEDIA.values()
        },
    },
}
Which = Annotated[Version, Query(description="Unbiased, or non-negative whole numbers.")]


@router.get("/releases", response_model=told.ReleaseList)
def releases(parts: Parts, who: Anyone, page: Annotated[Page, Query()]) -> Response:
    """Releases, oldest first."""
    links = parts.links.all()
    every = parts.releases.all()
    found = [parts.releases.entry(table, charge) for table, charge in page.of(every)]
    listed = [{**one, "link": links.get(one["id"])} for one in found]
    return reply({"releases": listed, **page.places(len(every))})


@router.get("/releases/{release}", response_model=told.ReleaseTold)
def release(parts: Parts, who: Anybody, release: Identifier) -> Response:
    """One release: what it is about, whom it protects."""
    opened = parts.releases.opened(release)
    table, entry = parts.releases.about(release)
    if who.role == "public":  # the world need not know who asked
        entry["by"] = None
    return reply({**entry, "link": parts.links.all().get(release), **opened.describe(table)})


@router.get("/releases/{release}/measurement", response_class=Response, responses=FILES)
def measurement(
    parts: Parts,
    release: Identifier,
    format: Literal["parquet", "json", "arrow", "csv"] = "parquet",
) -> Response:
    """The noisy answers, self-describing: all that inference needs."""
    opened = parts.releases.opened(release)
    return _file(measurement_file(opened, format), f"{release}.measurement", format)


@router.get("/releases/{release}/file", response_class=Response, responses=FILES)
def file(
    parts: Parts,
    release: Identifier,
    version: Which = "unbiased",
    format: Literal["parquet", "json", "arrow", "csv", "tar"] = "parquet",
) -> Response:
    """The release itself: a count for every cell; `tar` is the folder of one larger than memory."""
    opened = parts.releases.opened(release)
    if format == "tar":
        length, pieces = folder_file(opened)
        headers = {**_saved_as(release, format), "Content-Length": str(length)}
        return StreamingResponse(pieces, headers=headers, media_type=MEDIA[format])
    return _file(release_file(opened, version, format), f"{release}.{version}", format)


@router.get("/releases/{release}/rows", response_class=Response, responses=FILES)
def rows(
    parts: Parts,
    release: Identifier,
    format: Literal["parquet", "csv", "arrow", "json"] = "parquet",
    inside: Annotated[
        Literal["uniform", "middle"],
        Query(description="Values inside a bin: drawn, or its middle."),
    ] = "uniform",
) -> Response:
    """Synthetic rows whose every tabulation is the whole counts; `json` is the report about them.

    No row is a person, and they cost nothing: they are made from what was published.
    """
    data = rows_file(parts.releases.open(release), format, inside)
    return _file(data, f"{release}.{'report' if format == 'json' else 'rows'}", format)


def _file(data: bytes, name: str, kind: str) -> Response:
    return Response(data, headers=_saved_as(name, kind), media_type=MEDIA[kind])


def _saved_as(name: str, kind: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}


def _check_number(parts: Parts, what: str, given: int) -> None:
    most = parts.settings.most_ranges
    if given > most:
        raise errors.FieldError(f"At most {most:,} {what} at once, got {given:,}.", f"/{what}")


@router.post("/releases/{release}/ranges", response_model=told_counts.RangesTold)
def ranges(parts: Parts, release: Identifier, body: Ranges) -> Response:
    """The counts of many ranges, each with an interval of its own."""
    _check_number(parts, "ranges", len(body.ranges))
    asked = parts.releases.open(release).answering(body.version, body.column)
    try:
        starts, stops = answers.spans(asked.axis, body.ranges)
    except InputError:  # which of them it is
        for place, each in enumerate(body.ranges):
            with errors.field("ranges", place):
                answers.span_of(asked.axis, *each)
        raise
    return reply({"answers": asked.many(starts, stops, body.level)})


@router.post("/releases/{release}/difference", response_model=told_counts.DifferenceTold)
def difference(parts: Parts, release: Identifier, body: Difference) -> Response:
    """The count of one range less that of another, with the error of the difference."""
    asked = parts.releases.open(release).answering(body.version, body.column)
    with errors.field("first"):
        first = answers.span_of(asked.axis, *body.first)
    with errors.field("second"):
        second = answers.span_of(asked.axis, *body.second)
    return reply(asked.difference(first, second, body.level))


@router.post("/releases/{release}/quantiles", response_model=told_counts.QuantilesTold)
def quantiles(parts: Parts, release: Identifier, body: Quantiles) -> Response:
    """The values below which shares of the total lie."""
    asked = parts.releases.open(release).answering(body.version, body.column)
    return reply({"answers": asked.quantiles(body.quantiles, body.level)})


@router.get("/releases/{release}/view", response_model=told_counts.ViewTold)
def view(parts: Parts, release: Identifier, shown: Annotated[View, Query()]) -> Response:
    """A picture's worth of a release: at most so many bars, at any zoom.

    The part shown goes from `low` to `high` in axis units, or from cell `start` to cell `stop`.
    """
    opened = parts.releases.open(release)
    found = opened.version(shown.version)
    if isinstance(found, SortedRelease):
        ranked = {"kind": "sorted", **answers.sorted_view(found, shown.points, shown.level)}
        if shown.raw and opened.raw_cells is not None:  # one answer a rank
            order = opened.raw_cells[::-1]
            ranked["raw"] = order[answers.ranks(len(order), shown.points) - 1].tolist()
        return reply(ranked)
    if isinstance(found, NamedRelease):
        return reply({"kind": "queries", "answers": answers.queries_view(found, shown.level)})
    if isinstance(found, Release) and len(found.axes) > 1 and shown.raw:
        raise InputError("The noisy answers of a grid are in its measurement, not in a view.")
    asked = opened.answering(shown.version, shown.column)
    drawn = {
        "kind": "histogram",
        **asked.view(*shown.cells(asked.axis), shown.points, shown.level),
    }
    if shown.raw:
        drawn["raw"] = _raw(opened, drawn["cells"])
    return reply(drawn)


def _raw(opened: Opened, edges: list[int]) -> list[Any] | None:
    cells = opened.raw_cells
    return None if cells is None else answers.raw_counts(cells, np.array(edges, np.int64))


@router.get("/releases/{release}/cdf", response_model=told_counts.CdfTold)
def cdf(parts: Parts, release: Identifier, shown: Annotated[Zoom, Query()]) -> Response:
    """The share of the total below each edge, with a band."""
    asked = parts.releases.open(release).answering(shown.version, shown.column)
    return reply(asked.cdf(*shown.cells(asked.axis), shown.points, shown.level))


@router.get("/releases/{release}/nodes", response_model=told_counts.NodesTold)
def nodes(parts: Parts, release: Identifier, asked: Annotated[Nodes, Query()]) -> Response:
    """The labels, periods or prefixes of one level of the axis, to go down level by level."""
    found = parts.releases.open(release).answering(asked.version, asked.column)
    most = parts.settings.most_points
    return reply(found.nodes(asked.level, asked.start, asked.stop, most, asked.sure))


@router.post("/releases/{release}/boxes", response_model=told_counts.BoxesTold)
def boxes(parts: Parts, release: Identifier, body: ManyBoxes) -> Response:
    """The counts of boxes of a grid, each with an interval of its own."""
    _check_number(parts, "boxes", len(body.boxes))
    asked = parts.releases.open(release).boxes(body.version)
    found = []
    for place, each in enumerate(body.boxes):
        with errors.field("boxes", place):
            found.append(asked.box(each, ("boxes", place)))
    return reply({"answers": asked.many(found, body.level)})


@router.get("/releases/{release}/heatmap", response_model=told_counts.HeatmapTold)
def heatmap(parts: Parts, release: Identifier, shown: Annotated[Heatmap, Query()]) -> Response:
    """A picture's worth of a grid: boxes, the margins of what is shown, and its sum."""
    asked = parts.releases.open(release).boxes(shown.version)
    return reply(asked.heatmap(shown.spans(asked.axes), shown.points, shown.level))


@router.get("/releases/{release}/regions", response_class=GeoJson, responses=OUTLINES)
def regions(
    parts: Parts,
    request: Request,
    release: Identifier,
    column: Annotated[str, Query(max_length=200)],
) -> Response:
    """The outlines of a column's labels, as GeoJSON; `label` names the cell of each."""
    parts.releases.open(release)
    table, _ = parts.releases.about(release)
    return outlines(table, column, request)
