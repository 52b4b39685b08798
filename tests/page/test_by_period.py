"""A dataset with a budget for each day, on the page: which day is asked, and what is left of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

Opened = Callable[..., Page]


def test_a_question_names_its_day_and_the_day_pays(opened: Opened, site: Any) -> None:
    page = opened("#/", refused=("400",))
    card = page.get_by_role("region", name="Taxi trips, day by day")
    expect(card).to_contain_text("ε = 2 for each day")
    expect(card).to_contain_text("a person with rows on 30 days: at most 30 × 2")
    expect(card).to_contain_text("at most ε = 2 of each day")  # of 3 that ann may, and 2 there are
    card.get_by_role("link", name="Ask about fare").click()
    day = page.get_by_label("Rows of which day")
    expect(day).to_have_value("2026-01-14")  # the last of which something is spent
    expect(page.locator(".cost")).to_contain_text("0 is left for you on 2026-01-14")
    day.fill("")
    expect(page.locator(".sentence")).to_contain_text("Choose a day")
    day.fill("2026-01-18")
    page.get_by_label("ε exactly").fill("1/4")
    expect(page.locator(".cost")).to_contain_text("of the 2 that is left on 2026-01-18")
    expect(page.locator(".epsilon .scale")).to_contain_text("all that is left: 2")
    page.get_by_label("Through", exact=True).fill("2026-01-17")
    expect(page.get_by_role("alert")).to_contain_text("2026-01-18 comes after 2026-01-17")
    page.get_by_label("Through", exact=True).fill("2026-01-19")
    expect(page.locator(".cost")).to_contain_text("on each of 2 days")
    assert "period=2026-01-18&through=2026-01-19" in page.url
    page.reload()  # the question comes back whole
    expect(page.get_by_label("Through", exact=True)).to_have_value("2026-01-19")
    page.get_by_role("button", name="Spend 0.25 and measure").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("of 2026-01-18 through 2026-01-19")
    expect(dialog).to_contain_text("will be left on each of 2 days")
    dialog.get_by_role("button", name="Spend 0.25").click()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("2026-01-18 to 2026-01-19")
    told = site.call("/datasets/daily/periods")["periods"]
    spent = {line["period"]: line["spent"] for line in told}
    assert (spent["2026-01-18"], spent["2026-01-19"]) == ("1/4", "1/4")
    assert "2026-01-17" not in spent
    page = opened("#/charges")
    card = page.get_by_role("region", name="Charges to Taxi trips, day by day")
    expect(card).to_contain_text("2026-01-18 to 2026-01-19")
    page = opened("#/owner", who="olga")
    card = page.get_by_role("region", name="Charges to Taxi trips, day by day")
    spent_of = card.get_by_role("group", name=re.compile("of which something is spent"))
    expect(spent_of).to_contain_text("2026-01-18")
    expect(card).to_contain_text("What each may spend of each day")


def test_features_of_people_are_described_asked_and_drawn(opened: Opened, site: Any) -> None:
    page = opened("#/")
    card = page.get_by_role("region", name="Riders")
    expect(card).to_contain_text("each is counted once, by all rows of theirs")
    expect(card).to_contain_text("How many rows each rider has, where tip >= 2.")
    card.get_by_role("link", name="Ask about trips").click()
    page.get_by_label("ε exactly").fill("1/2")
    page.get_by_role("button", name="Spend 0.5 and measure").click()
    page.get_by_role("dialog").get_by_role("button", name="Spend 0.5").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Trips of Riders")
    expect(page.locator(".picture .bars path").first).to_be_attached()
    release = page.url.rpartition("/")[2]
    count = site.call(f"/releases/{release}/range?version=whole")["count"]
    assert abs(count - 500) < 200  # riders, not their 20,000 rows
    expect(page.locator(".answer .count")).to_have_text(f"{round(count):,}")
    assert site.charges("riders")[-1]["column"] == "trips"
