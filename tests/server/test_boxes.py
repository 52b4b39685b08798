"""Boxes of a grid over the wire, held against the library and against plain sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.paper.noise import measure_for_experiment
from trueup.server.answers import OF_POOLED, Answering
from trueup.server.boxes import AnsweringBoxes

GRID = [{"column": "age", "cells": 50}, {"column": "borough"}]


@pytest.fixture(scope="module", params=["hats", "shown"])
def grid(request: Any, server: Any) -> tuple[str, tu.Release]:
    """A release of ages by borough, and the same inferred here."""
    name = server.measured(
        f"grid-{request.param}", columns=GRID, column=None, strategy=request.param, epsilon=1
    )
    stored = server("rea").get(f"/api/v1/releases/{name}/measurement").content
    found = tu.infer(tu.Measurement.from_bytes(stored))
    assert isinstance(found, tu.Release)
    return name, found


def test_boxes_have_the_library_s_counts_and_intervals(
    server: Any, grid: tuple[str, tu.Release]
) -> None:
    name, release = grid
    boxes: list[Any] = [[[20, 40], ["Queens", "Kings"]], [None, None], [[0, 2], None]]
    body = {"boxes": boxes, "level": 0.9}
    said = server("rea").post(f"/api/v1/releases/{name}/boxes", json=body).json()["answers"]
    for told, box in zip(said, boxes, strict=True):
        own = release.range(*box)
        assert told["count"] == own.value
        assert (told["low"], told["high"]) == own.interval(0.9)
        assert told["standard_error"] == own.std_error
    whole = server("rea").post(
        f"/api/v1/releases/{name}/boxes", json={**body, "version": "whole", "level": None}
    )
    assert all(type(told["count"]) is int for told in whole.json()["answers"])
    assert all(told["low"] is None for told in whole.json()["answers"])


@pytest.mark.parametrize("version", ["unbiased", "whole"])
def test_a_map_is_made_of_boxes_that_add_up(
    server: Any, grid: tuple[str, tu.Release], version: str
) -> None:
    name, _ = grid
    shown = {"first_start": 4, "first_stop": 37, "points": 20, "version": version}
    found = server("rea").get(f"/api/v1/releases/{name}/heatmap", params=shown).json()
    counts = np.array(found["counts"])
    assert counts.shape == (len(found["cells"][0]) - 1, len(found["cells"][1]) - 1)
    assert counts.shape[0] <= 20
    assert found["columns"] == ["age", "borough"]
    rows, columns = (np.array(each["counts"]) for each in found["margins"])
    assert (counts.sum(axis=1) == rows).all()
    assert (counts.sum(axis=0) == columns).all()
    assert counts.sum() == found["total"]["count"]
    boxes = [
        [found["edges"][0][i : i + 2], [found["edges"][1][j], found["edges"][1][j + 1]]]
        for i in range(counts.shape[0])
        for j in range(counts.shape[1])
    ]
    body = {"boxes": boxes, "version": version}
    each = server("rea").post(f"/api/v1/releases/{name}/boxes", json=body).json()["answers"]
    assert [one["count"] for one in each] == counts.ravel().tolist()
    spread = np.ravel(found["standard_errors"])
    assert np.allclose([one["standard_error"] for one in each], spread, rtol=1e-9)
    low, high = np.ravel(found["low"]), np.ravel(found["high"])
    assert ((low <= counts.ravel()) & (counts.ravel() <= high)).all()
    near = np.array([one["high"] - one["low"] for one in each])
    assert (np.abs(high - low - near) <= 0.25 * near + 2).all()


def test_a_margin_is_asked_as_a_release_over_one_column(
    server: Any, grid: tuple[str, tu.Release]
) -> None:
    name, release = grid
    ages = release.margin("age")
    one = server("rea").get(
        f"/api/v1/releases/{name}/range", params={"low": 20, "high": 40, "column": "age"}
    )
    assert one.json()["count"] == ages.range(20, 40).value
    assert (one.json()["low"], one.json()["high"]) == ages.range(20, 40).interval()
    view = server("rea").get(f"/api/v1/releases/{name}/view", params={"column": "age"}).json()
    assert view["counts"] == ages.counts().tolist()
    body = {"quantiles": [0.5], "column": "age"}
    middle = server("rea").post(f"/api/v1/releases/{name}/quantiles", json=body).json()["answers"]
    assert middle[0]["value"] == ages.quantile(0.5)
    for wrong in ({}, {"column": "fare"}):
        said = server("rea").get(f"/api/v1/releases/{name}/view", params=wrong)
        assert said.status_code == 400


def test_what_is_no_box_is_refused(server: Any, fares: str, grid: tuple[str, tu.Release]) -> None:
    name, _ = grid
    for boxes in ([[None]], [[[1, 3], None]], [[None] * 3], [[[0, "x"], None]], []):
        said = server("rea").post(f"/api/v1/releases/{name}/boxes", json={"boxes": boxes})
        assert said.status_code == 400, boxes
    body = {"boxes": [[None, None], [None, ["Queens", "Atlantis"]]]}
    said = server("rea").post(f"/api/v1/releases/{name}/boxes", json=body)
    assert said.json()["pointer"] == "/boxes/1/1"  # the second range of the second box
    one_axis = server("rea").post(f"/api/v1/releases/{fares}/boxes", json={"boxes": [[None] * 2]})
    assert one_axis.status_code == 400
    assert server("rea").get(f"/api/v1/releases/{fares}/heatmap").status_code == 400
    for part in ({"first_start": 5, "first_stop": 5}, {"second_start": 3}, {"points": 129}):
        said = server("rea").get(f"/api/v1/releases/{name}/heatmap", params=part)
        assert said.status_code == 400, part


def test_a_large_map_takes_a_bounded_time() -> None:
    import time

    from trueup.plan.offers import question
    from trueup.server.answers import Answering
    from trueup.workload import Workload

    axes = tu.Axis.integers("x", 0, (1 << 18) - 1), tu.Axis.integers("y", 0, 3)
    asked = question(axes, "hats", (Workload.all_ranges(),) * 2)
    counts = np.ones((1 << 18, 4), np.int64)  # so many that noise leaves a total to share out
    found = tu.infer(tu.measure(counts, asked, 1))
    assert isinstance(found, tu.Release)
    begun = time.process_time()
    boxes = AnsweringBoxes(found, "unbiased")
    picture = boxes.heatmap(((0, 1 << 18), (0, 4)), 128, 0.95)
    assert len(picture["cells"][0]) <= 65
    with pytest.raises(tu.InputError, match="at once"):
        boxes.many([((0, 1), (0, 1))] * 100, 0.95)
    margin = Answering(found.margin("x"), "unbiased")
    assert len(margin.view(0, 1 << 18, 2_000, 0.95)["counts"]) <= 64
    assert margin.quantiles([0.5] * 20, 0.999999999)[0]["low"] is None
    with pytest.raises(tu.InputError, match="at once"):
        margin.many(np.arange(100), np.arange(100) + 5, 0.95)
    assert time.process_time() - begun < 15


def test_what_stands_for_the_interval_of_a_box_is_no_narrower_than_of_unlike_ones() -> None:
    """Of one cell Laplace noise has heavy tails, of half a grid hardly any."""
    axes = tu.Axis.integers("x", 0, 15), tu.Axis.integers("y", 0, 15)
    asked = tu.GridCounts(*(tu.CellCounts(axis) for axis in axes))
    found = tu.infer(tu.measure(np.full((16, 16), 50), asked, 1))
    assert isinstance(found, tu.Release)
    boxes = AnsweringBoxes(found, "unbiased")
    for level in (0.5, 0.9, 0.999):
        for box in (((8, 9), (8, 9)), ((0, 8), (0, 8))):
            own = found.between(*box)
            low, high = own.interval(level)
            assert boxes._times_spread(level) * own.std_error >= (high - low) / 2 * (1 - 1e-9)


def test_no_box_of_a_map_has_a_narrower_interval_than_it_has_by_itself() -> None:
    """A quadtree that pools boxes leaves open what lies inside: more in one than in another."""
    x, y = tu.Axis.integers("x", 0, 31), tu.Axis.integers("y", 0, 31)
    counts = np.zeros((32, 32), np.int64)
    counts[3, 3], counts[16:24, 16:20] = 25, 60
    asked = tu.BoxCounts.quadtree(x, y, adaptive=True)
    release = tu.infer(measure_for_experiment(counts.ravel(), asked, "1/2", seed=1))
    seen = AnsweringBoxes(release, "unbiased").heatmap(((0, 32), (0, 32)), 16, 0.95)
    low, high, (across, down) = np.array(seen["low"]), np.array(seen["high"]), seen["cells"]
    for i, j in np.ndindex(low.shape):
        box = (across[i], across[i + 1]), (down[j], down[j + 1])
        least, most = release.between(*box).interval()
        assert high[i, j] - low[i, j] >= 0.99 * (most - least)


@pytest.fixture(scope="module")
def pooled() -> tu.Measurement:
    """Dense cells in the middle of a map; around them cells that are counted together."""
    sides = [tu.Axis.integers(name, 0, 63) for name in "xy"]
    counts = np.zeros((64, 64), np.int64)
    counts[16:48, 16:48] = 2000
    question = tu.BoxCounts.quadtree(*sides, adaptive=True)
    return measure_for_experiment(counts.ravel(), question, 0.1, seed=1)


def test_a_pooled_box_has_the_library_s_interval_however_many_are_asked(
    pooled: tu.Measurement,
) -> None:
    """By the standard errors of dense boxes it came out less than half as wide."""
    shown = tu.infer(pooled, nonnegative=True, integers=True)
    assert isinstance(shown, tu.Release)
    boxes: Any = [((i, i + 1), (3, 9)) for i in range(16)]
    for release, version in ((shown.unbiased, "unbiased"), (shown, "whole")):
        answering: Any = AnsweringBoxes(release, version)  # type: ignore[arg-type]
        many = answering.many(boxes * 64, 0.95)
        for told, box in zip(many, boxes, strict=False):
            own = release.between(*box)
            assert (told["low"], told["high"]) == own.interval()
        assert many[:16] == answering.many(boxes, 0.95) == many[-16:]
        assert ("an upper bound" in many[0]["kind"]) is True
        assert "an upper bound" in answering.many(boxes[:1], None)[0]["kind"]
        with pytest.raises(tu.InputError, match="1,024 are answered with intervals at once"):
            answering.many([*boxes * 64, boxes[0]], 0.95)
        assert len(answering.many(boxes * 65, None)) == 1040


def test_whole_pooled_counts_say_whose_interval_they_have() -> None:
    """Of what was asked as noise would have it nothing is unbiased."""
    asked = tu.measure(np.zeros(400, int), tu.TreeCounts(400, adaptive=True), epsilon=0.1)
    shown: Any = tu.infer(asked, nonnegative=True, integers=True)
    answering = Answering(shown, "whole")
    (told,) = answering.many(np.array([3]), np.array([7]), 0.95)
    assert told["kind"] == OF_POOLED
    assert answering.difference((3, 7), (7, 9), 0.95)["kind"] == OF_POOLED
