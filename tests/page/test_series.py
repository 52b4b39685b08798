"""A series on the page: drawn over time, brushed, added up, compared, saved."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Route, expect

Opened = Callable[..., Page]
ALL = [[None, None]]


def words(count: float) -> str:
    return f"{round(count):,}"


def test_a_series_is_listed_once_and_its_periods_are_brushed(opened: Opened, site: Any) -> None:
    page = opened("#/")
    card = page.get_by_role("region", name="Taxi trips, day by day")
    series = card.get_by_role("group", name="Series, free to explore")
    expect(series.locator("tbody tr")).to_have_count(2)
    card.get_by_role("link", name="Fares of each day").click()
    expect(page.locator(".picture .points circle")).to_have_count(14)
    total = site.call("/series/fares/sum", {"ranges": ALL})["answers"][0]
    expect(page.locator(".answer .count")).to_have_text(words(total["count"]))
    expect(page.locator(".figure")).not_to_have_attribute("aria-busy", "true")
    box = page.locator(".figure svg.chart .area").first.bounding_box()
    assert box
    step = box["width"] / 14
    for press, place in (("down", 2.5), ("up", 5.4)):  # the third day to the sixth
        page.mouse.move(box["x"] + place * step, box["y"] + 80, steps=4)
        getattr(page.mouse, press)()
    page.wait_for_url(re.compile("first=2026-01-03&through=2026-01-06"))
    body = {"first": "2026-01-03", "through": "2026-01-06", "ranges": ALL}
    some = site.call("/series/fares/sum", body)["answers"][0]
    expect(page.locator(".answer .count")).to_have_text(words(some["count"]))
    expect(page.locator(".answer")).to_contain_text("2026-01-03 to 2026-01-06 (4 days), 95 % sure")
    picture = page.get_by_role("region", name="Picture of the chosen periods")
    expect(picture.get_by_role("heading")).to_have_text("Fare, 2026-01-03 to 2026-01-06")
    expect(picture.locator(".bars path")).to_have_count(64)
    page.go_back()
    expect(page.locator(".answer .count")).to_have_text(words(total["count"]))


def test_days_and_fares_are_typed_and_a_wrong_one_is_blamed_in_its_field(
    opened: Opened, site: Any
) -> None:
    page = opened("#/series/fares", refused=("400",))
    expect(page.locator(".answer .count")).to_be_visible()  # all is read
    days = page.get_by_role("region", name="Periods")
    days.get_by_label("From day").fill("2026-01-32")
    days.get_by_role("button", name="Choose").click()
    expect(days.get_by_role("alert")).to_contain_text("A day is named like")
    expect(days.get_by_label("From day")).to_have_attribute("aria-invalid", "true")
    days.get_by_label("From day").fill("2026-01-05")
    days.get_by_label("Through day").fill("2026-01-05")
    days.get_by_role("button", name="Choose").click()
    days.get_by_label("From", exact=True).fill("10")
    days.get_by_label("Through", exact=True).fill("19")
    days.get_by_role("button", name="Count").click()
    said = site.call("/releases/fares@2026-01-05/range?low=10&high=20")
    expect(page.locator(".answer .count")).to_have_text(words(said["count"]))
    expect(page.locator(".answer")).to_contain_text("Fare 10 to 19, 2026-01-05, 95 % sure")
    page.get_by_role("link", name="Explore 2026-01-05 by itself").click()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Fare of Taxi trips, day by day, 2026-01-05")
    expect(page.locator(".path").get_by_role("link", name="fares")).to_be_visible()


def test_what_is_typed_and_chosen_while_the_periods_are_read_is_kept(
    opened: Opened, site: Any
) -> None:
    page = opened("#/", refused=("400",))
    held: list[Route] = []
    page.route("**/series/fares/over*", lambda route: held.append(route))
    page.evaluate("location.hash = '#/series/fares?first=2026-01-08&through=2026-01-14'")
    days = page.get_by_role("region", name="Periods")
    days.get_by_label("From day").fill("2026-01-32")
    card = page.get_by_role("region", name="Compare")
    card.get_by_label("Compare with").select_option("as many days before")
    page.wait_for_timeout(200)  # the choice has stopped the first reading, and begun another
    assert len(held) == 2
    page.unroute("**/series/fares/over*")  # now they are answered
    expect(page.locator(".mark.other")).to_have_count(1)
    expect(card.locator("tbody tr")).to_have_count(3)
    expect(days.get_by_label("From day")).to_have_value("2026-01-32")
    days.get_by_role("button", name="Choose").click()
    expect(days.get_by_role("alert")).to_contain_text("A day is named like")
    days.get_by_role("button", name="Last 7").click()
    expect(days.get_by_label("From day")).to_have_value("2026-01-08")


def test_a_week_is_compared_with_the_one_before_and_saved(
    opened: Opened, site: Any, tmp_path: Path
) -> None:
    page = opened("#/series/fares?first=2026-01-08&through=2026-01-14", refused=("400",))
    expect(page.locator(".answer .count")).to_be_visible()  # all is read
    card = page.get_by_role("region", name="Compare")
    card.get_by_label("Compare with").select_option("as many days before")
    body = {"periods": ["2026-01-08", "2026-01-14"], "others": ["2026-01-01", "2026-01-07"]}
    (said,) = site.call("/series/fares/compare", {**body, "ranges": ALL})["answers"]
    rows = card.locator("tbody tr")
    for i, one in enumerate((said["first"], said["second"])):
        expect(rows.nth(i)).to_contain_text(words(abs(one["count"])))
    shown = [
        float(text.replace(",", "").replace("−", "-"))
        for text in card.locator("tbody strong").all_inner_texts()
    ]
    assert shown[2] == shown[0] - shown[1]  # as a reader subtracts them
    expect(page.locator(".mark.other")).to_have_count(1)
    card.get_by_label("Compare with").select_option("the same a year before")
    expect(card).to_contain_text("Nothing is published from 2025-01-08 to 2025-01-14")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download as CSV").click()
    saved.value.save_as(tmp_path / "fares.csv")
    with (tmp_path / "fares.csv").open() as file:
        days = [row["period"] for row in csv.DictReader(file)]
    assert days == [f"2026-01-{day:02}" for day in range(8, 15)]


def test_grids_are_reached_and_the_owner_sees_what_is_due(opened: Opened) -> None:
    page = opened("#/series/both?show=table")
    expect(page.locator(".figures tbody tr")).to_have_count(1)
    page.get_by_role("region", name="Single periods").get_by_role("link").click()
    expect(page.locator(".picture .cell").first).to_be_attached()
    page = opened("#/owner", who="olga")
    card = page.get_by_role("region", name="Standing publications")
    expect(card.locator("tbody tr").first).to_contain_text("due: 2026-01-15, 2026-01-16")
    expect(card.locator("tbody tr").first).to_contain_text("14 days")


def test_a_long_series_opens_with_as_many_of_its_last_days_as_can_be_added_up(
    opened: Opened, site: Any
) -> None:
    """A year and more of days, or releases of many cells: the first view is an answer."""

    def long(route: Route) -> None:
        said = route.fetch().json()
        route.fulfill(json={**said, "at_once": 5, "gaps": ["2026-01-12"]})

    page = opened("#/")
    page.route(re.compile(r"/series/fares$"), long)
    page.goto(f"{site.address}/#/series/fares")
    expect(page.locator(".answer")).to_contain_text("2026-01-11 to 2026-01-14 (4 days)")
    body = {"first": "2026-01-11", "through": "2026-01-14", "ranges": ALL}
    some = site.call("/series/fares/sum", body)["answers"][0]
    expect(page.locator(".answer .count")).to_have_text(words(some["count"]))
    expect(page.locator(".picture .points circle")).to_have_count(14)  # all are drawn
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Last day").click()
    expect(page.locator(".answer")).to_contain_text("2026-01-14, 95 % sure")
    page.get_by_role("button", name="As many as can be added up").click()
    expect(page.locator(".answer")).to_contain_text("2026-01-11 to 2026-01-14 (4 days)")


def test_counts_of_a_sample_are_not_taken_for_all(opened: Opened, site: Any) -> None:
    words = "a sample: each unit counts on 3 of 30 days, so multiply by 10"

    def sampled(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "sample": words})

    page = opened("#/")
    page.route(re.compile(r"/(series/fares|releases/fares%402026-01-14)$"), sampled)
    for view in ("series/fares", "release/fares@2026-01-14"):
        page.goto(f"{site.address}/#/{view}")
        expect(page.locator(".answer .count").first).to_be_visible()
        expect(page.locator(".sample")).to_have_text(f"A{words[1:]}.")
        expect(page.locator(".sample")).to_be_visible()
    page = opened("#/release/fares@2026-01-14")
    expect(page.locator(".answer .count").first).to_be_visible()
    expect(page.locator(".sample")).to_have_count(0)
