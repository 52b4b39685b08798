"""Grids of two columns: asked, drawn, zoomed, their boxes counted and their margins explored."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def crossed(site: Any) -> str:
    columns = [{"column": "fare", "cells": 64}, {"column": "borough"}]
    return str(site.measure("trips", columns=columns, epsilon="1/5"))


def test_two_columns_are_asked_as_a_grid(opened: Opened, site: Any) -> None:
    page = opened("#/ask/trips?column=fare&epsilon=1/50")
    cells = page.get_by_label("Cells", exact=True)
    expect(cells.get_by_role("option", name="32")).to_be_attached()
    cells.select_option("32")
    page.get_by_label("And by").select_option("day")
    page.get_by_label("Cells of the second").select_option("12")
    expect(page.locator(".sentence")).to_contain_text("on a typical box")
    page.wait_for_url(re.compile("by_cells=12"))
    again = opened(page.url.removeprefix(f"{site.address}/"))
    expect(again.get_by_label("Cells of the second")).to_have_value("12")
    page.get_by_role("button", name="Spend 0.02 and measure").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("fare × day in 384 cells")
    dialog.get_by_role("button", name=re.compile("^Spend")).click()
    expect(page.get_by_role("heading", name="fare × day of Taxi trips", exact=True)).to_be_visible()
    expect(page.locator(".picture .cell")).to_have_count(384)
    expect(page.locator(".picture .margin")).to_have_count(2)


def test_two_grids_are_compared_box_by_box(opened: Opened, site: Any, crossed: str) -> None:
    columns = [{"column": "fare", "cells": 64}, {"column": "borough"}]
    other = site.measure("trips", columns=columns, epsilon="1/5")
    box = [[0, 16], None]
    page = opened(f"#/release/{crossed}?box={urllib.parse.quote(json.dumps(box))}")
    card = page.get_by_role("region", name="Compare")
    card.get_by_label("With").select_option(other)
    body = {"other": other, "boxes": [[None, None], box]}
    said = site.call(f"/releases/{crossed}/compare", body)["answers"]
    rows = card.locator("tbody tr")
    expect(rows).to_have_count(2)
    for i, one in enumerate(said):
        expect(rows.nth(i)).to_contain_text(f"{round(one['first']['count']):,}")
        shown = [
            float(text.replace(",", "").replace("−", "-"))
            for text in rows.nth(i).locator("strong").all_inner_texts()
        ]
        assert shown[2] == pytest.approx(shown[0] - shown[1], abs=1e-6)
        assert abs(shown[2] - one["difference"]["count"]) <= 1
    expect(card).to_contain_text("nearer the truth than either")
    page.wait_for_url(re.compile("with="))


def test_boxes_zoom_and_margins_are_those_of_the_api(
    opened: Opened, site: Any, crossed: str
) -> None:
    page = opened(f"#/release/{crossed}")
    expect(page.locator(".picture .cell")).to_have_count(64 * 4)
    area = page.locator("svg.chart .area").bounding_box()
    assert area
    page.mouse.move(area["x"] + 4.1 / 64 * area["width"], area["y"] + 0.95 * area["height"])
    page.mouse.down()
    page.mouse.move(area["x"] + 7.9 / 64 * area["width"], area["y"] + 0.6 * area["height"], steps=3)
    page.mouse.up()
    box = [[8, 16], ["Bronx", "Queens <i>West</i>"]]
    answer = site.call(f"/releases/{crossed}/boxes", {"boxes": [box]})["answers"][0]
    expect(page.locator(".answer .count")).to_have_text(f"{round(answer['count']):,}")
    expect(page.locator(".ranges .range")).to_have_text("fare 8 – 16, borough Bronx … Brooklyn")
    expect(page.locator(".picture .mark")).to_have_count(1)
    page.get_by_role("button", name="Zoom in").click()
    expect(page.locator(".picture .cell")).to_have_count(32 * 2)
    asked = urllib.parse.urlencode(
        {"first_start": 16, "first_stop": 48, "second_start": 1, "second_stop": 3}
    )
    view = site.call(f"/releases/{crossed}/heatmap?{asked}")
    expect(page.locator(".note")).to_contain_text("32 × 2 boxes")
    assert [len(side["counts"]) for side in view["margins"]] == [32, 2]
    page.go_back()
    expect(page.locator(".picture .cell")).to_have_count(64 * 4)
    page.get_by_label("fare from").fill("20")
    page.get_by_label("fare up to").fill("40")
    page.get_by_label("borough from").select_option("Brooklyn")
    page.get_by_label("borough through").select_option("Brooklyn")
    page.get_by_role("button", name="Count", exact=True).click()
    box = [[20, 40], ["Brooklyn", "Queens <i>West</i>"]]
    answer = site.call(f"/releases/{crossed}/boxes", {"boxes": [box]})["answers"][0]
    expect(page.locator(".ranges tbody tr")).to_have_count(2)
    expect(page.locator(".ranges .count").nth(1)).to_have_text(f"{round(answer['count']):,}")
    page.get_by_role("radio", name="Table").check()
    expect(page.locator(".figures tbody tr")).to_have_count(200)


def test_a_margin_is_explored_by_itself(opened: Opened, site: Any, crossed: str) -> None:
    page = opened(f"#/release/{crossed}")
    page.get_by_role("link", name="fare alone").click()
    expect(page.locator(".picture .bars .point")).to_have_count(64)
    view = site.call(f"/releases/{crossed}/view?column=fare&points=200")
    assert len(view["counts"]) == 64
    page.get_by_label("From", exact=True).fill("20")
    page.keyboard.press("Enter")
    body = {"ranges": [[20, None]], "column": "fare"}
    answer = site.call(f"/releases/{crossed}/ranges", body)["answers"][0]
    expect(page.locator(".ranges .count")).to_have_text(f"{round(answer['count']):,}")
    kept = json.loads(urllib.parse.parse_qs(page.url.split("?")[1])["range"][0])
    assert kept == [20, None]
    page.goto(f"{site.address}/#/release/{crossed}?column=borough")
    expect(page.locator(".labels tbody tr")).to_have_count(4)


def test_a_wrong_end_of_a_box_is_blamed_in_its_field(opened: Opened, crossed: str) -> None:
    page = opened(f"#/release/{crossed}", refused=("400",))
    expect(page.locator(".picture .cell").first).to_be_attached()
    low = page.get_by_role("region", name="Boxes").get_by_label("fare from")
    low.fill("0.3")
    page.get_by_role("button", name="Count", exact=True).click()
    expect(low).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("alert")).to_contain_text("is not an edge")
    low.fill("8")
    page.get_by_role("button", name="Count", exact=True).click()
    expect(page.get_by_role("alert")).to_have_count(0)
