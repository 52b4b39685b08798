"""Labels, hierarchies and whole numbers: every label has a bar of its own, and is called itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from .conftest import Site, make_site

ROUTES = [
    [origin, f"{a}{b}A"] for origin in ("EWR", "JFK", "LGA") for a in "ABCDE" for b in "KLMNO"
]
DATASET = """
[datasets.flights]
title = "Flights"
source = "flights.parquet"
ledger = "flights.ledger"
limit = "9"
axes.route = {{ kind = "hierarchy", levels = ["origin", "destination"], paths = {routes} }}
axes.delay = {{ kind = "integers", first = -4, last = 150, title = "Delay", units = "minutes", description = "Past the plan." }}
axes.net = {{ kind = "ipv4", network = "10.0.0.0/8", length = 16 }}
axes.day = {{ kind = "dates", first = "2013-01-01", last = "2013-12-31", unit = "day" }}
axes.tail = {{ kind = "categories", labels = {tails} }}
"""  # noqa: E501
TAILS = [f"N{number} of a carrier with a long name" for number in range(300)]
_OVERLAPS = """
() => {
  const boxes = [...document.querySelectorAll(".picture .xtick text")].map((e) => {
    const slant = e.getAttribute("transform");
    const box = e.getBoundingClientRect();  // of slanted words: the end that stands under the bar
    return slant ? { left: box.right - 12, right: box.right } : box;
  });
  return boxes.slice(1).filter((box, i) => box.left < boxes[i].right + 1).length;
}
"""


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("flights")
    made = make_site(folder, deadline=0.3)
    draws = np.random.default_rng(3)
    rows = 20_000
    route = draws.choice(len(ROUTES), rows, p=draws.dirichlet(np.ones(len(ROUTES))))
    table = {
        "route": ["/".join(ROUTES[i]) for i in route],
        "delay": draws.integers(-4, 150, rows),
        "net": [f"10.{i}.0.1" for i in draws.integers(0, 256, rows)],
        "day": np.datetime64("2013-01-01") + draws.integers(0, 365, rows),
        "tail": [TAILS[i] for i in draws.integers(0, 300, rows)],
    }
    pq.write_table(pa.table(table), folder / "flights.parquet")
    with (folder / "trueup.toml").open("a") as config:
        config.write(DATASET.format(routes=json.dumps(ROUTES), tails=json.dumps(TAILS)))
    made.token("fay", "analyst", "8")
    made.tokens["ann"] = made.tokens["fay"]
    made.start()
    yield made
    made.kill()


def rows(page: Page) -> list[str]:
    expect(page.locator(".labels tbody tr").first).to_be_visible()
    return page.locator(".labels tbody th").all_inner_texts()


def test_a_hierarchy_opens_level_by_level_and_no_labels_are_merged(
    opened: Callable[..., Page], flights: Site
) -> None:
    release = flights.measure("flights", column="route", epsilon="1", strategy="best")
    page = opened(f"#/release/{release}", at=flights)
    assert sorted(rows(page)) == ["EWR", "JFK", "LGA"]
    counts = page.locator(".labels tbody td.number").all_inner_texts()
    sizes = [float(words.split("\n")[0].replace(",", "")) for words in counts]
    assert sizes == sorted(sizes, reverse=True)
    expect(page.get_by_role("radio", name="Share below")).to_have_count(0)
    page.get_by_role("button", name="JFK", exact=True).click()
    expect(page.locator(".labels tbody tr")).to_have_count(25)
    assert set(rows(page)) == {route[1] for route in ROUTES if route[0] == "JFK"}
    page.get_by_role("radio", name="A to Z").check()
    assert rows(page) == sorted(rows(page))
    ends = {"ranges": [["JFK/AKA", "JFK/ALA"]]}
    answer = flights.call(f"/releases/{release}/ranges", ends)["answers"][0]
    first = page.locator(".labels tbody tr").first
    found = answer["count"]
    written = f"{round(found):,}" if abs(found) >= 100 else f"{float(f'{found:.3g}'):g}"
    expect(first).to_contain_text(written.replace("-", "−"))
    page.get_by_label("Search").fill("eo")
    expect(page.locator(".labels tbody tr")).to_have_count(1)
    expect(page.locator(".labels tbody th")).to_have_text("EOA")
    page.get_by_role("button", name="Count EOA").click()
    expect(page.locator(".ranges .range")).to_have_text("JFK/EOA")
    again = opened(page.url.removeprefix(f"{flights.address}/"), at=flights)
    expect(again.locator(".labels tbody tr")).to_have_count(1)
    again.get_by_role("button", name="All", exact=True).click()
    expect(again.locator(".labels tbody tr")).to_have_count(3)
    again.go_back()
    expect(again.locator(".labels tbody th")).to_have_count(1)


def test_three_hundred_labels_have_three_hundred_bars(
    opened: Callable[..., Page], flights: Site
) -> None:
    release = flights.measure("flights", column="tail", epsilon="1")
    page = opened(f"#/release/{release}", at=flights)
    expect(page.locator(".labels tbody tr")).to_have_count(100)
    for shown in (200, 300):
        page.get_by_role("button", name="more of 300").click()
        expect(page.locator(".labels tbody tr")).to_have_count(shown)
    assert set(rows(page)) == set(TAILS)
    page.get_by_role("button", name="Picture as SVG").click()
    expect(page.get_by_text("Saved as")).to_be_visible()


def test_titles_units_and_descriptions_are_the_owners(
    opened: Callable[..., Page], flights: Site
) -> None:
    release = flights.measure("flights", column="delay", epsilon="1/10")
    page = opened("#/", at=flights)
    row = page.get_by_role("row", name="Delay (delay)")
    expect(row).to_contain_text("Past the plan. In minutes.")
    page.goto(f"{flights.address}/#/release/{release}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Delay of Flights")
    expect(page.locator(".picture .xtitle")).to_have_text("Delay (minutes)")
    expect(page.locator(".answer .of")).to_contain_text("all of Delay")
    page.goto(f"{flights.address}/#/ask/flights?column=delay")
    expect(page.get_by_text("Past the plan. In minutes.")).to_be_visible()


def test_a_whole_number_is_called_itself(opened: Callable[..., Page], flights: Site) -> None:
    release = flights.measure("flights", column="delay", epsilon="1")
    page = opened(f"#/release/{release}?show=table", at=flights)
    names = page.locator(".figures tbody th")
    expect(names.first).to_have_text("−4")
    expect(names.nth(1)).to_have_text("−3")
    page.get_by_label("From", exact=True).fill("-4")
    page.get_by_label("Through", exact=True).fill("10")
    page.keyboard.press("Enter")
    expect(page.locator(".ranges .range")).to_have_text("−4 to 10")
    answer = flights.call(f"/releases/{release}/range?low=-4&high=11&version=whole")
    expect(page.locator(".ranges .count")).to_have_text(f"{round(answer['count']):,}")


@pytest.mark.parametrize("column", ["day", "net", "delay"])
def test_words_under_a_picture_do_not_overlap(
    opened: Callable[..., Page], flights: Site, column: str
) -> None:
    release = flights.measure("flights", column=column, epsilon="1/2")
    page = opened(f"#/release/{release}", at=flights)
    for width in (400, 700, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(300)
        expect(page.locator(".picture .xtick").first).to_be_attached()
        assert page.locator(".picture .xtick").count() >= 3
        assert page.evaluate(_OVERLAPS) == 0


def test_a_last_bar_of_fewer_cells_stands_as_high_as_its_density(
    opened: Callable[..., Page], flights: Site
) -> None:
    """365 days at two a bar end in one day: half the count, and no fall in the picture."""
    release = flights.measure("flights", column="day", epsilon="2")
    page = opened(f"#/release/{release}", at=flights)
    view = flights.call(f"/releases/{release}/view?points=200")
    assert view["cells"][-1] - view["cells"][-2] == 1
    bars = page.locator(".picture .bars .point path")
    expect(bars).to_have_count(len(view["counts"]))
    heights = bars.evaluate_all("all => all.map((bar) => bar.getBBox().height)")
    widths = bars.evaluate_all("all => all.map((bar) => bar.getBBox().width)")
    assert widths[-1] < 0.7 * np.median(widths)
    doubled = 2 * view["counts"][-1] / np.median(view["counts"])
    assert heights[-1] / np.median(heights) == pytest.approx(doubled, rel=0.05)
    expect(page.locator(".picture .ytitle")).to_have_text("count per 2 cells")
