"""Routes that put counts together: of many ranges of a release, and of two releases."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import Field, StrictStr
from starlette.responses import Response

from trueup.errors import InputError
from trueup.release import Estimate, Release
from trueup.server import errors
from trueup.server.answers import Answering, check_affordable, span_of, told_count, told_difference
from trueup.server.opened import Opened
from trueup.server.over_time import added
from trueup.server.routes import told, told_counts
from trueup.server.routes.asking import Anyone, Identifier, Parts, reply
from trueup.server.routes.bodies import BoxAsked, Level, OfCounts, Range, Sent, example
from trueup.server.service import anybody

router = APIRouter(prefix="/api/v1", tags=["releases"])
_MOST_PARTS = 2_000  # of a sum
_MOST_COMPARED = 100
_MOST_SHARES = 20
_LAWS_OF_A_SHARE = 64  # looked at to find the ends of its interval, about
_MOST_WORK = 1 << 25  # cells × laws: what a comparison may take


class RangesSummed(OfCounts):
    """Ranges that are added up, such as the regions inside an outline; none may overlap."""

    model_config = example({"ranges": [[0, 10], [20, 30]], "level": 0.95})

    ranges: Annotated[list[Range], Field(min_length=1, max_length=_MOST_PARTS)]


class ReleasesCompared(Sent):
    """Ranges, or boxes, of two releases, one beside the other."""

    model_config = example(
        {"other": "trips.2", "ranges": [[0, 20]]},
        {"other": "trips.5", "boxes": [[[20, 40], None]]},
    )

    other: Annotated[StrictStr, Field(max_length=140, description="The release to compare with.")]
    ranges: Annotated[list[Range], Field(min_length=1, max_length=_MOST_COMPARED)] | None = None
    boxes: Annotated[list[BoxAsked], Field(min_length=1, max_length=_MOST_COMPARED)] | None = Field(
        None, description="Of two grids, in place of ranges."
    )
    level: Level = 0.95

    def pairs(self, first: Opened, second: Opened) -> list[tuple[Estimate, Estimate]]:
        """The counts of both releases, each by the cells that it has there."""
        if (self.ranges is None) == (self.boxes is None):
            raise errors.FieldError("Give ranges, or boxes of two grids.", "/ranges")
        if self.boxes is None:
            assert self.ranges is not None
            with errors.field("other"):
                theirs = second.answering("unbiased")
            ours = first.answering("unbiased")
            _check_work(ours.release, theirs.release, len(self.ranges))
            spans = zip(_spans(ours, self.ranges), _spans(theirs, self.ranges), strict=True)
            return [(ours.release.between(*a), theirs.release.between(*b)) for a, b in spans]
        with errors.field("other"):
            their_boxes = second.boxes("unbiased")
        own_boxes = first.boxes("unbiased")
        if [axis.name for axis in own_boxes.axes] != [axis.name for axis in their_boxes.axes]:
            raise errors.FieldError("The two grids are over different columns.", "/other")
        _check_work(own_boxes.release, their_boxes.release, len(self.boxes))
        found = []
        for place, box in enumerate(self.boxes):
            with errors.field("boxes", place):
                ends = own_boxes.box(box), their_boxes.box(box)
            found.append(
                (own_boxes.release.between(*ends[0]), their_boxes.release.between(*ends[1]))
            )
        return found


class SharesAsked(OfCounts):
    """Ranges whose part of the total is asked."""

    model_config = example({"ranges": [[0, 20], [20, 40]], "level": 0.95})

    ranges: Annotated[list[Range], Field(min_length=1, max_length=_MOST_SHARES)]


class ShareTold(told.Told):
    """A part of the total; an end is null where nothing bounds it, or where it takes too long."""

    share: float | None
    low: float | None
    high: float | None


class SharesTold(told.Told):
    """Parts of the total."""

    answers: list[ShareTold]


class ComparisonTold(told.Told):
    """A range of two releases: each count, the first less the second, and both as one."""

    first: told_counts.CountTold
    second: told_counts.CountTold
    difference: told_counts.CountTold
    combined: told_counts.CountTold | None = Field(
        description="Only of the same question, asked twice."
    )


class ComparisonsTold(told.Told):
    """Ranges of two releases."""

    answers: list[ComparisonTold]


@router.post(
    "/releases/{release}/sum", response_model=told_counts.CountTold, dependencies=[Depends(anybody)]
)
def sum_of_ranges(parts: Parts, release: Identifier, body: RangesSummed) -> Response:
    """The sum of ranges, with the exact error of the sum: their common noise accounted for."""
    asked = parts.releases.open(release).answering(body.version, body.column)
    found = sorted(_spans(asked, body.ranges))
    for (_, stop), (start, _) in pairwise(found):
        if start < stop:
            raise errors.FieldError("Two of the ranges overlap: give each cell once.", "/ranges")
    # Neighbours first become one range: the fewer estimates, the quicker their sum.
    joined: list[tuple[int, int]] = []
    for start, stop in found:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    check_affordable(asked.release.errors, len(joined))
    return reply(told_count(added([asked.release.between(*each) for each in joined]), body.level))


@router.post(
    "/releases/{release}/shares", response_model=SharesTold, dependencies=[Depends(anybody)]
)
def shares(parts: Parts, release: Identifier, body: SharesAsked) -> Response:
    """The part of the total that ranges have, each with an exact interval of that part."""
    asked = parts.releases.open(release).answering(body.version, body.column)
    total = asked.release.total()
    spans = _spans(asked, body.ranges)
    is_quick = asked.release.errors.work * len(spans) * _LAWS_OF_A_SHARE <= _MOST_WORK
    found = []
    for span in spans:
        ratio = asked.release.between(*span) / total
        ends = ratio.interval(body.level) if is_quick and total.value else (math.nan, math.nan)
        share, low, high = (x if math.isfinite(x) else None for x in (ratio.value, *ends))
        found.append({"share": share, "low": low, "high": high})
    return reply({"answers": found})


def _spans(asked: Answering, ranges: list[list[Any]]) -> list[tuple[int, int]]:
    found = []
    for place, (low, high) in enumerate(ranges):
        with errors.field("ranges", place):
            found.append(span_of(asked.axis, low, high))
    return found


@router.post("/releases/{release}/compare", response_model=ComparisonsTold)
def compare(parts: Parts, who: Anyone, release: Identifier, body: ReleasesCompared) -> Response:
    """Ranges of two releases: their difference, and of one question asked twice the better count.

    The noise of two measurements is independent, so the error of the difference is that of both.
    """
    if body.other == release:
        raise errors.FieldError("Give another release than this one.", "/other")
    first = parts.releases.open(release)
    with errors.field("other"):
        second = parts.releases.open(body.other)
    about = [parts.releases.about(each)[1] for each in (release, body.other)]
    same_rows = all(about[0][word] == about[1][word] for word in ("dataset", "where", "period"))
    weight = _weight(first, second) if same_rows else None
    answers = []
    for a, b in body.pairs(first, second):
        both = None if weight is None else a * weight + b * (1 - weight)
        answers.append(
            {
                **told_difference(a, b, body.level),
                "combined": None if both is None else told_count(both, body.level),
            }
        )
    return reply({"answers": answers})


def _check_work(first: Release, second: Release, number: int) -> None:
    """Refuses to compare more than can be answered in a moment: each takes four laws."""
    most = max(1, _MOST_WORK // (4 * max(first.errors.work, second.errors.work)))
    if number > most:
        raise InputError(f"Of so large releases {most:,} are compared at once, got {number:,}.")


def _weight(first: Opened, second: Opened) -> float | None:
    """What the first counts for beside the second; None if they are not of one question.

    Squared errors go as 1/ε², or as 1/ρ, so the best weights go as these. One weight for all ranges
    keeps sums adding up. Laplace and Gaussian noise are not put together.
    """
    a, b = first.facts, second.facts
    if a.noise.question.anew != b.noise.question.anew:
        return None
    if a.rho is not None and b.rho is not None:
        return float(a.rho / (a.rho + b.rho))
    if a.epsilon is None or b.epsilon is None:
        return None
    return float(a.epsilon**2 / (a.epsilon**2 + b.epsilon**2))
