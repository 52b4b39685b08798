"""Routes about series: listed once, counted over time, added up, compared, saved."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

import trueup as tu
from trueup.period import Calendar
from trueup.server import over_time

WEEK = [f"2026-01-0{day}" for day in range(1, 8)]


def test_a_series_is_listed_once_and_no_release_beside_it(standing: Any) -> None:
    listed = standing("rea").get("/api/v1/series").json()
    assert [one["name"] for one in listed["series"]] == ["fares", "both", "riders"]
    assert (listed["total"], listed["next"]) == (3, None)
    fares = listed["series"][0]
    assert (fares["published"], fares["first"], fares["last"]) == (7, WEEK[0], WEEK[-1])
    releases = standing("rea").get("/api/v1/releases").json()["releases"]
    assert all(one["dataset"] != "daily" for one in releases)
    told = standing("rea").get("/api/v1/datasets").json()["datasets"]
    assert {one["name"]: one["releases"] for one in told}["daily"] == 0
    one = standing("rea").get("/api/v1/series/fares").json()
    assert one["caption"] == "Protects the rows of one user of one day, at epsilon 1."
    assert one["loses"] == "a user with rows on 30 days: at most 30 × epsilon 1"
    assert one["gaps"] == []


def test_pages_of_counts_are_the_counts_of_the_releases(standing: Any) -> None:
    ask = standing("rea").get
    address, points, start = "/api/v1/series/fares/over?low=0&high=20&limit=3", [], 0
    while start is not None:
        page = ask(f"{address}&start={start}").json()
        points += page["points"]
        start = page["next"]
    assert [point["period"] for point in points] == WEEK
    for point in points:
        said = ask(f"/api/v1/releases/{point['release']}/range?low=0&high=20").json()
        assert {word: point[word] for word in said if word != "range"} == {
            word: said[word] for word in said if word != "range"
        }
    some = ask(f"/api/v1/series/fares/over?first={WEEK[2]}&through={WEEK[3]}").json()
    assert (some["total"], len(some["points"])) == (2, 2)


def test_sums_and_differences_are_those_of_the_client_who_infers_them(standing: Any) -> None:
    client = tu.connect(standing.url, token=standing.secrets["rea"])
    (fares, both, riders) = client.series()
    assert (fares.name, fares.per, fares.published) == ("fares", "day", 7)
    assert (str(fares.cost), both.columns, riders.last) == ("ε = 1", ("fare", "tip"), WEEK[-1])
    here = client.periods("fares", first=WEEK[1], through=WEEK[4])
    assert list(here) == WEEK[1:5]
    assert all(isinstance(each, tu.Release) for each in here.values())
    body = {"first": WEEK[1], "through": WEEK[4], "ranges": [[0, 20], [None, None]]}
    said = standing("rea").post("/api/v1/series/fares/sum", json=body).json()
    assert (said["periods"], said["missing"]) == (4, [])
    total = sum(each.range(0, 20) for each in here.values())
    assert said["answers"][0]["count"] == pytest.approx(total.value, abs=1e-9)
    assert [said["answers"][0][end] for end in ("low", "high")] == pytest.approx(total.interval())
    body = {"periods": WEEK[3:5], "others": WEEK[1:3], "ranges": [[0, 20]]}
    (found,) = standing("rea").post("/api/v1/series/fares/compare", json=body).json()["answers"]
    counts = [here[day].range(0, 20) for day in WEEK[1:5]]
    less = counts[2] + counts[3] - counts[0] - counts[1]
    assert found["difference"]["count"] == pytest.approx(less.value, abs=1e-9)
    ends = [found["difference"][end] for end in ("low", "high")]
    assert ends == pytest.approx(less.interval())
    body["others"] = WEEK[3:5]  # the same days: nothing differs, and that is certain
    (same,) = standing("rea").post("/api/v1/series/fares/compare", json=body).json()["answers"]
    assert (same["difference"]["low"], same["difference"]["high"]) == (0, 0)


@pytest.mark.parametrize("version", ["unbiased", "whole"])
def test_every_answer_is_of_the_periods_and_at_the_level_that_were_asked(
    standing: Any, version: str
) -> None:
    """Against the releases of the periods, added up here: one by one, their sums, differences."""
    shown = {"nonnegative": True, "integers": True} if version == "whole" else {}
    days = {}
    for day in WEEK:
        stored = standing("rea").get(f"/api/v1/releases/fares@{day}/measurement").content
        days[day] = tu.infer(tu.Measurement.from_bytes(stored), **shown).range(0, 20)
    level, asked = 0.6, {"ranges": [[0, 20]], "level": 0.6, "version": version}

    def check(said: dict[str, Any], counted: tu.Estimate) -> None:
        assert said["count"] == pytest.approx(counted.value, abs=1e-9)
        assert [said["low"], said["high"]] == pytest.approx(list(counted.interval(level)))
        assert said["standard_error"] == pytest.approx(counted.unbiased.std_error)

    ours, theirs = days[WEEK[4]] + days[WEEK[5]], days[WEEK[1]]
    body = {"first": WEEK[4], "through": WEEK[5], **asked}
    said = standing("rea").post("/api/v1/series/fares/sum", json=body).json()
    assert (said["first"], said["last"]) == (WEEK[4], WEEK[5])
    check(said["answers"][0], ours)
    body = {"periods": WEEK[4:6], "others": [WEEK[1], WEEK[1]], **asked}
    said = standing("rea").post("/api/v1/series/fares/compare", json=body).json()
    check(said["answers"][0]["first"], ours)
    check(said["answers"][0]["second"], theirs)
    check(said["answers"][0]["difference"], ours - theirs)


def test_a_picture_of_a_sum_is_of_the_periods_and_at_the_level_that_were_asked(
    standing: Any,
) -> None:
    ask = standing("rea").get
    address = f"/api/v1/series/fares/view?first={WEEK[2]}&through={WEEK[3]}&points=1&version=whole"
    for level in (0.6, 0.99):
        seen = ask(f"{address}&level={level}").json()
        body = {"first": WEEK[2], "through": WEEK[3], "ranges": [[None, None]], "level": level}
        body["version"] = "whole"
        summed = standing("rea").post("/api/v1/series/fares/sum", json=body).json()
        (total,) = summed["answers"]
        assert (seen["first"], seen["last"], seen["periods"]) == (WEEK[2], WEEK[3], 2)
        assert seen["counts"] == [total["count"]]
        assert [seen["low"][0], seen["high"][0]] == pytest.approx([total["low"], total["high"]])
    margin = ask(f"/api/v1/series/both/view?first={WEEK[2]}&through={WEEK[3]}&column=tip").json()
    assert margin["edges"][-1] != ask("/api/v1/series/both/view?column=fare").json()["edges"][-1]


def test_work_is_counted_over_all_periods_and_ranges(
    standing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(over_time, "MOST_SUMS", 12)
    for many, ranges, allowed in ((6, 2, True), (7, 2, False), (4, 3, True), (4, 4, False)):
        body = {"first": WEEK[0], "through": WEEK[many - 1], "ranges": [[0, 20]] * ranges}
        said = standing("rea").post("/api/v1/series/fares/sum", json=body)
        assert (said.status_code == 200) == allowed, said.text
        ends = {"periods": [WEEK[0], WEEK[many - 3]], "others": [WEEK[5], WEEK[6]]}
        body = {**ends, "ranges": [[0, 20]] * ranges}
        said = standing("rea").post("/api/v1/series/fares/compare", json=body)
        assert (said.status_code == 200) == allowed, said.text


def test_the_file_has_a_line_for_each_period(standing: Any) -> None:
    said = standing("rea").get("/api/v1/series/fares/file?low=0&high=20&version=whole&level=0.9")
    assert said.headers["content-disposition"] == 'attachment; filename="fares.csv"'
    rows = list(csv.DictReader(io.StringIO(said.text)))
    address = "/api/v1/series/fares/over?low=0&high=20&version=whole&level=0.9"
    points = standing("rea").get(address).json()["points"]
    assert [row["period"] for row in rows] == WEEK
    for row, point in zip(rows, points, strict=True):
        for word in ("count", "low", "high", "standard_error"):
            assert float(row[word]) == point[word]


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("sum", {"ranges": [[0, 20], [0.5, 3]]}, "/ranges/1"),
        ("sum", {"first": "soon", "ranges": [[0, 20]]}, "/first"),
        ("sum", {"first": WEEK[0], "through": "2029-01-01", "ranges": [[0, 20]]}, "/through"),
        ("compare", {"periods": WEEK[:2], "others": ["a", "b"], "ranges": [[0, 20]]}, "/others"),
        ("over?low=0.5", None, "/low"),
        ("over?first=2027-01-01", None, "/first"),
        ("over?limit=401", None, "/limit"),
        ("file?first=x", None, "/first"),
    ],
)
def test_what_is_refused_names_its_field(standing: Any, path: str, body: Any, pointer: str) -> None:
    address = f"/api/v1/series/fares/{path}"
    ask = standing("rea")
    said = ask.get(address) if body is None else ask.post(address, json=body)
    assert (said.status_code, said.json()["pointer"]) == (400, pointer), said.text


def test_a_period_is_a_release_like_any_other(standing: Any) -> None:
    ask, day = standing("rea").get, "/api/v1/releases/fares@2026-01-03"
    about = ask(day).json()
    assert (about["series"], about["period"], about["epsilon"]) == ("fares", "2026-01-03", "1")
    assert about["caption"].startswith("Protects one user: epsilon = 1, add-remove. Of 2026-01-03")
    for path in ("/view?points=5", "/cdf?points=5", "/file?format=csv", "/measurement"):
        assert ask(day + path).status_code == 200, path
    assert ask("/api/v1/releases/riders@2026-01-03/view").json()["kind"] == "sorted"
    assert ask("/api/v1/releases/both@2026-01-03/heatmap?points=4").status_code == 200
    link = standing("boss").put(f"{day}/public").json()["link"]
    public = standing(None).get(f"/api/v1/public/{link}/range?low=0&high=20").json()
    assert public == ask(f"{day}/range?low=0&high=20").json()
    assert standing("boss").delete(f"{day}/public").status_code == 200
    other = {"other": "fares@2026-01-04", "ranges": [[0, 20]]}
    (found,) = standing("rea").post(f"{day}/compare", json=other).json()["answers"]
    assert found["combined"] is None  # two days are not one question asked twice


@pytest.mark.parametrize(
    "path",
    [
        "series/nobody", "series/nobody/over", "releases/fares@2026-01-08", "jobs/fares@2026-01-03",
        "releases/nobody@2026-01-03/view",
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_found(standing: Any, path: str) -> None:
    assert standing("boss").get(f"/api/v1/{path}").status_code == 404


def test_only_the_owner_sees_how_far_publications_are(standing: Any) -> None:
    found = standing("boss").get("/api/v1/publications").json()["publications"]
    assert [one["series"] for one in found] == ["fares", "both", "riders"]
    assert all((one["status"], one["published"]) == ("due", 7) for one in found)
    assert all(one["missing"][0] == "2026-01-08" for one in found)
    for who in ("rea", "ana", None):
        assert standing(who).get("/api/v1/publications").status_code == 401
    assert standing(None).get("/api/v1/series").status_code == 401


@pytest.mark.parametrize("asked", ["periods", "over", "file"])
def test_periods_that_are_not_published_take_no_time(
    standing: Any, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    """A thousand years may be asked for: what is published is looked at, not the calendar."""

    def walked(*_: Any) -> Any:
        raise AssertionError("walks through the calendar")

    monkeypatch.setattr(Calendar, "between", walked)
    monkeypatch.setattr(Calendar, "after", walked)
    ends = "first=1900-01-01&through=2999-12-31"
    said = standing("rea").get(f"/api/v1/series/fares/{asked}?{ends}")
    assert said.status_code == 200
    assert WEEK[0] in said.text
    assert WEEK[-1] in said.text
    said = standing("rea").get(f"/api/v1/series/fares/{asked}?first=2027-01-01").json()
    assert (said["pointer"], said["detail"]) == ("/first", "2027-01-01 comes after 2026-01-07.")


def test_no_route_does_more_work_than_is_done_in_a_moment(
    standing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is asked of a series, its work is known and refused, or paged, before it begins."""
    monkeypatch.setattr(over_time, "MOST_WORK", 1)
    ask, series = standing("rea"), "/api/v1/series/fares"
    ends = {"first": WEEK[0], "through": WEEK[1], "ranges": [[0, 20]]}
    both = {"periods": WEEK[:2], "others": WEEK[2:4], "ranges": [[0, 20]]}
    for said in (
        ask.get(f"{series}/file"),
        ask.get(f"{series}/view"),
        ask.post(f"{series}/sum", json=ends),
        ask.post(f"{series}/compare", json=both),
    ):
        assert said.status_code == 400, said.url
        assert "Of so large releases 1" in said.json()["detail"]
    page = ask.get(f"{series}/over").json()
    assert (len(page["points"]), page["next"]) == (1, 1)
    assert ask.get(series).json()["at_once"] == 1  # so that nobody need try
    assert ask.get(f"{series}/file?through={WEEK[0]}").status_code == 200
