"""Sums and comparisons over the wire, held against the library's own estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trueup as tu
from trueup.server import answers, boxes
from trueup.server.routes import combining

GRID = [{"column": "age"}, {"column": "borough"}]


def test_a_sum_of_ranges_has_the_librarys_error(
    server: Any, fares: str, release: tu.Release
) -> None:
    parts = [[0, 10], [10, 20], [40, 41], [64, 100]]
    said = server("rea").post(f"/api/v1/releases/{fares}/sum", json={"ranges": parts}).json()
    own = release.range(0, 20) + release.range(40, 41) + release.range(64, 100)
    assert said["count"] == pytest.approx(own.value, rel=1e-12)
    assert said["standard_error"] == pytest.approx(own.std_error, rel=1e-9)
    assert (said["low"], said["high"]) == pytest.approx(own.interval(0.95), rel=1e-9)
    apart = [release.range(*part).std_error for part in parts]
    assert said["standard_error"] != pytest.approx(np.sqrt(np.square(apart).sum()), rel=1e-3)


def test_ranges_that_overlap_are_refused_and_the_field_is_named(server: Any, fares: str) -> None:
    body = {"ranges": [[0, 20], [19, 30]]}
    said = server().post(f"/api/v1/releases/{fares}/sum", json=body)
    assert (said.status_code, said.json()["pointer"]) == (400, "/ranges")
    body = {"ranges": [[0, 20], [30, 30.001]]}
    said = server().post(f"/api/v1/releases/{fares}/sum", json=body)
    assert (said.status_code, said.json()["pointer"]) == (400, "/ranges/1")


def test_shares_are_the_librarys_ratios(
    server: Any, fares: str, release: tu.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"ranges": [[0, 20], [20, 128]], "level": 0.9}
    said = server("rea").post(f"/api/v1/releases/{fares}/shares", json=body).json()["answers"]
    for (low, high), one in zip([(0, 20), (20, 128)], said, strict=True):
        own = release.range(low, high) / release.total()
        assert one["share"] == pytest.approx(own.value)
        assert (one["low"], one["high"]) == pytest.approx(own.interval(0.9))
    monkeypatch.setattr(combining, "_MOST_WORK", 100)
    (slow, _) = server("rea").post(f"/api/v1/releases/{fares}/shares", json=body).json()["answers"]
    assert (slow["share"], slow["low"], slow["high"]) == (said[0]["share"], None, None)


def test_two_releases_differ_with_the_error_of_both_and_combine_by_their_prices(
    server: Any,
) -> None:
    first = server.measured("combined-one", column="age", epsilon="1/10", strategy="tree")
    second = server.measured("combined-two", column="age", epsilon="2/10", strategy="tree")
    other = server.measured("combined-no", column="age", epsilon="1/10", strategy="flat")
    client = server("rea")
    body = {"other": second, "ranges": [[10, 40], [40, 60], [10, 60]]}
    found = client.post(f"/api/v1/releases/{first}/compare", json=body).json()["answers"]
    for one in found:
        a, b, less, both = (one[name] for name in ("first", "second", "difference", "combined"))
        assert less["count"] == pytest.approx(a["count"] - b["count"], abs=1e-6)
        assert less["standard_error"] ** 2 == pytest.approx(
            a["standard_error"] ** 2 + b["standard_error"] ** 2, rel=1e-6
        )
        assert both["count"] == pytest.approx(0.2 * a["count"] + 0.8 * b["count"], abs=1e-6)
        assert both["standard_error"] < b["standard_error"] < a["standard_error"]
        assert less["low"] < less["count"] < less["high"]
    sums = found[0]["combined"]["count"] + found[1]["combined"]["count"]
    assert sums == pytest.approx(found[2]["combined"]["count"], abs=1e-6)
    body["other"] = other
    unlike = client.post(f"/api/v1/releases/{first}/compare", json=body).json()["answers"]
    assert [one["combined"] for one in unlike] == [None] * 3  # asked in another way


def test_adaptive_trees_combine_though_each_asked_something_else(server: Any) -> None:
    first, second = (
        server.measured(
            f"combined-adaptive-{k}", column="age", epsilon=f"{k}/10", strategy="adaptive"
        )
        for k in (1, 2)
    )
    body = {"other": second, "ranges": [[10, 40], [40, 60], [10, 60]]}
    found = server("rea").post(f"/api/v1/releases/{first}/compare", json=body).json()["answers"]
    for one in found:
        a, b, both = (one[name] for name in ("first", "second", "combined"))
        assert both["count"] == pytest.approx(0.2 * a["count"] + 0.8 * b["count"], abs=1e-6)
        assert both["low"] < both["count"] < both["high"]


def test_labels_and_grids_are_compared_too(server: Any) -> None:
    client = server("rea")
    columns = [{"column": "age", "cells": 10}, {"column": "borough"}]
    grids = [
        server.measured(f"combined-grid-{number}", column=None, columns=columns, epsilon=1)
        for number in range(2)
    ]
    stored = [client.get(f"/api/v1/releases/{one}/measurement").content for one in grids]
    own = [tu.infer(tu.Measurement.from_bytes(each)) for each in stored]
    box = [[20, 40], None]
    body: dict[str, Any] = {"other": grids[1], "boxes": [box]}
    (found,) = client.post(f"/api/v1/releases/{grids[0]}/compare", json=body).json()["answers"]
    first, second = (each.between((2, 4), (0, 3)) for each in own)  # type: ignore[union-attr]
    less = first - second
    assert found["difference"]["count"] == pytest.approx(less.value)
    assert (found["difference"]["low"], found["difference"]["high"]) == pytest.approx(
        less.interval(0.95), rel=1e-6
    )
    assert found["combined"]["count"] == pytest.approx((first.value + second.value) / 2)
    labels = [
        server.measured(f"combined-label-{number}", column="borough", epsilon=1)
        for number in range(2)
    ]
    body = {"other": labels[1], "ranges": [["Bronx", "Kings"]]}
    (found,) = client.post(f"/api/v1/releases/{labels[0]}/compare", json=body).json()["answers"]
    both = found["first"]["count"] - found["second"]["count"]
    assert found["difference"]["count"] == pytest.approx(both)
    for wrong, pointer in (
        ({"other": labels[1], "boxes": [box]}, "/other"),
        ({"other": grids[1]}, "/ranges"),
        ({"other": grids[1], "boxes": [box, [[3, 4], None]]}, "/boxes/1"),
    ):
        said = client.post(f"/api/v1/releases/{grids[0]}/compare", json=wrong)
        assert (said.status_code, said.json()["pointer"]) == (400, pointer)


def test_a_public_link_reaches_no_other_release(server: Any, fares: str) -> None:
    other = server.measured("combined-pub", column="age", epsilon="1/10")
    link = server("boss").put(f"/api/v1/releases/{fares}/public").json()["link"]
    nobody = server(None)
    body: dict[str, Any] = {"other": other, "ranges": [[0, 1]]}
    said = nobody.post(f"/api/v1/public/{link}/compare", json=body)
    assert said.status_code == 401
    body = {"ranges": [[0, 10], [20, 30]]}
    assert nobody.post(f"/api/v1/public/{link}/sum", json=body).status_code == 200


def test_no_question_about_a_release_takes_longer_than_a_moment(
    server: Any, names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its work is known by its size: refused, coarser or without intervals before it begins."""
    tree = f"/api/v1/releases/{names['release']}"
    for name in ("_MOST_SHARES", "_MOST_VARIANCES"):  # each of the two is enough
        with monkeypatch.context() as alone:
            alone.setattr(answers, name, 0)
            said = server("rea").post(f"{tree}/quantiles", json={"quantiles": [0.5]}).json()
            assert said["answers"][0]["low"] is None, name
    for room, name in (
        (combining, "_MOST_WORK"),
        (boxes, "_MOST_WORK"),
        (answers, "_MOST_VARIANCES"),
        (answers, "_MOST_SHARES"),
    ):
        monkeypatch.setattr(room, name, 1)
    ask = server("rea")
    grid = f"/api/v1/releases/{names['grid']}"
    other = server.measured("bounded-fares", strategy="tree")
    second = server.measured("bounded-grid", column=None, columns=GRID)
    many = [[2 * low, 2 * low + 1] for low in range(60)]
    box = [[0, 10], None]
    for path, body in (
        (f"{tree}/compare", {"other": other, "ranges": many[:2]}),
        (f"{grid}/compare", {"other": second, "boxes": [box, box]}),
        (f"{tree}/sum", {"ranges": many}),
        (f"{tree}/ranges", {"ranges": many}),
        (f"{grid}/boxes", {"boxes": [box] * 60}),
    ):
        said = ask.post(path, json=body)
        assert said.status_code == 400, path
        assert "at once" in said.json()["detail"]
    (share,) = ask.post(f"{tree}/shares", json={"ranges": many[:1]}).json()["answers"]
    (half,) = ask.post(f"{tree}/quantiles", json={"quantiles": [0.5]}).json()["answers"]
    assert share["low"] is share["high"] is half["low"] is half["high"] is None
    for word in ("view", "cdf"):
        assert len(ask.get(f"{tree}/{word}?points=600").json()["edges"]) <= 17
    assert len(ask.get(f"{grid}/heatmap?points=128").json()["cells"][0]) <= 17
    (one,) = ask.post(f"{grid}/boxes", json={"boxes": [box]}).json()["answers"]
    assert one["kind"] == answers.NEARLY


def test_counts_of_other_rows_are_compared_and_not_combined(server: Any) -> None:
    asked = {"column": "age", "epsilon": "1/10", "strategy": "tree"}
    first, second = server.measured("rows-all", **asked), server.measured("rows-more", **asked)
    some = server.measured("rows-some", **asked, where="borough = 'Kings'")
    for other, together in ((second, True), (some, False)):
        body = {"other": other, "ranges": [[10, 40]]}
        said = server("rea").post(f"/api/v1/releases/{first}/compare", json=body).json()
        assert (said["answers"][0]["combined"] is not None) is together
