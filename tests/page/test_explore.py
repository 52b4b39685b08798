from __future__ import annotations

import math
import re
import urllib.parse
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

import trueup as tu
from trueup.config import read_config
from trueup.server.auth import open_ledger

Opened = Callable[..., Page]


def shown(value: float) -> str:
    """A count as the page writes it."""
    return f"{round(value):,}".replace("-", "−")


def interval(answer: dict[str, Any]) -> str:
    """An interval of more than 100 as the page writes it: rounded outward."""
    low, high = math.floor(answer["low"]), math.ceil(answer["high"])
    return f"{shown(low)} to {shown(high)}"


def drag(page: Page, start: float, stop: float) -> None:
    """Drags across the picture, from one share of its width to another."""
    expect(page.locator(".picture .bars path, .picture .line").first).to_be_attached()
    box = page.locator("svg.chart .area").bounding_box()
    assert box
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], height)
    page.mouse.down()
    page.mouse.move(box["x"] + stop * box["width"], height, steps=3)
    page.mouse.up()


def pick(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).check()


@pytest.fixture(scope="session")
def fares(site: Any) -> str:
    return site.measure("trips", column="fare", epsilon="1/10", strategy="tree")


def test_a_dragged_range_shows_the_numbers_of_the_api(
    opened: Opened, site: Any, fares: str
) -> None:
    page = opened(f"#/release/{fares}")
    drag(page, 10.2 / 128, 19.8 / 128)
    answer = site.call(f"/releases/{fares}/range?low=10&high=20")
    first = page.locator(".ranges tbody tr").first
    expect(first.locator(".range")).to_have_text("10 – 20")
    expect(first.locator(".count")).to_have_text(shown(answer["count"]))
    expect(first).to_contain_text(interval(answer))
    expect(page.locator("#announcer")).to_contain_text(shown(answer["count"]))

    page.get_by_label("From", exact=True).fill("20")  # the same by keyboard
    page.get_by_label("Up to", exact=True).fill("40")
    page.keyboard.press("Enter")
    second = page.locator(".ranges tbody tr").nth(1)
    other = site.call(f"/releases/{fares}/range?low=20&high=40")
    expect(second.locator(".count")).to_have_text(shown(other["count"]))
    less = {"first": [20, 40], "second": [10, 20], "level": 0.95}
    difference = site.call(f"/releases/{fares}/difference", less)
    words = second.locator(".difference")
    by = number(second.locator(".count")) - number(first.locator(".count"))
    assert number(words.locator(".by")) == pytest.approx(by, abs=1e-6)
    expect(words).to_contain_text(interval(difference))
    expect(page.locator(".picture .annotation")).to_have_count(2)

    page.get_by_label("Remove range A, 10 – 20").click()
    expect(page.locator(".ranges tbody tr")).to_have_count(1)
    expect(page.locator(".ranges .count")).to_have_text(shown(other["count"]))


def number(place: Locator) -> float:
    """What is shown there, read as a number."""
    return float(place.inner_text().replace(",", "").replace("−", "-"))


@pytest.mark.parametrize("version", ["whole", "unbiased"])
def test_a_difference_is_that_of_the_counts_shown_beside_it(
    opened: Opened, site: Any, fares: str, version: str
) -> None:
    ends = [[100, 128], [90, 100], [0, 20], [5, 6], [20, 40], [3, 50], [0, 128]]
    ranges = "&".join(f"range=%5B{low}%2C{high}%5D" for low, high in ends)
    page = opened(f"#/release/{fares}?version={version}&{ranges}")
    differences = page.locator(".ranges .by")
    expect(differences).to_have_count(len(ends) - 1)
    counts = [number(each) for each in page.locator(".ranges .count").all()]
    for other, words in zip(counts[1:], differences.all(), strict=True):
        assert number(words) == pytest.approx(other - counts[0], abs=1e-6)
        assert words.inner_text().startswith("+") == (other > counts[0])


def test_a_late_answer_does_not_replace_a_newer_one(opened: Opened, site: Any, fares: str) -> None:
    page = opened(f"#/release/{fares}")
    expect(page.locator(".answer .count")).not_to_be_empty()
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/ranges", hold_the_first)
    pick(page, "90 %")  # asks for the total again, and is kept waiting
    page.get_by_label("From", exact=True).fill("10")
    page.get_by_label("Up to", exact=True).fill("20")
    page.keyboard.press("Enter")
    answer = site.call(f"/releases/{fares}/range?low=10&high=20&level=0.9")
    expect(page.locator(".ranges .count")).to_have_text(shown(answer["count"]))
    assert held
    held[0].continue_()
    page.wait_for_timeout(500)
    expect(page.locator(".ranges .count")).to_have_text(shown(answer["count"]))


def test_an_end_between_two_cells_is_refused_in_the_servers_words(
    opened: Opened, site: Any, fares: str
) -> None:
    page = opened(f"#/release/{fares}", refused=("400",))
    page.get_by_label("From", exact=True).fill("0.3")
    page.get_by_role("button", name="Count", exact=True).click()
    wrong = {"ranges": [[0.3, None]]}
    said = site.refused(f"/releases/{fares}/ranges", wrong)
    expect(page.get_by_role("alert")).to_have_text(said)
    start = page.get_by_label("From", exact=True)  # and beside the field that is wrong
    expect(page.locator(".field", has=start).get_by_role("alert")).to_have_text(said)
    expect(start).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".ranges tbody tr")).to_have_count(0)
    start.fill("0")
    page.get_by_role("button", name="Count", exact=True).click()
    expect(page.locator(".ranges .share")).to_contain_text("100\u00a0% to 100\u00a0%")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert start.get_attribute("aria-invalid") is None


def test_zooming_splits_bars_and_the_link_reopens_the_same_view(
    opened: Opened, site: Any, fares: str
) -> None:
    page = opened(f"#/release/{fares}")
    note = page.locator(".note")
    expect(note).to_contain_text("1,024 of 1,024 cells, 8 cells a bar")
    pick(page, "zooms")
    drag(page, 16.2 / 128, 31.8 / 128)
    expect(note).to_contain_text("16 – 32: 128 of 1,024 cells, 1 cell a bar")
    view = site.call(f"/releases/{fares}/view?start=128&stop=256&points=200")
    expect(page.locator(".picture .bars .point")).to_have_count(len(view["counts"]))
    page.get_by_role("button", name="Zoom out").press("Enter")
    expect(note).to_contain_text("8 – 40: 256 of 1,024 cells")
    page.get_by_role("button", name="Move right").press("Enter")
    expect(note).to_contain_text("24 – 56: 256 of 1,024 cells")
    pick(page, "Non-negative whole")
    page.get_by_label("From", exact=True).fill("24")
    page.get_by_label("Up to", exact=True).fill("25")
    page.keyboard.press("Enter")
    number = page.locator(".ranges .count").inner_text()
    link = page.get_by_label("Link to this view").input_value()

    other = opened(link.removeprefix(f"{site.address}/"))
    expect(other.locator(".note")).to_have_text(note.inner_text())
    expect(other.locator(".ranges .count")).to_have_text(number)
    expect(other.get_by_label("Non-negative whole")).to_be_checked()
    page.get_by_role("button", name="Whole axis").click()
    expect(note).to_contain_text("1,024 of 1,024 cells")


def test_both_versions_show_their_own_counts_and_what_each_is_for(
    opened: Opened, site: Any, fares: str
) -> None:
    page = opened(f"#/release/{fares}?range=%5B100%2C128%5D&show=table")
    asked = f"/releases/{fares}/range?low=100&high=128"
    unbiased, whole = (site.call(f"{asked}&version={v}") for v in ("unbiased", "whole"))
    assert isinstance(whole["count"], int)
    expect(page.locator(".more .hint")).to_contain_text("Right on average")
    count = page.locator(".ranges .count")
    first = float(count.inner_text().replace(",", "").replace("−", "-"))
    assert first == pytest.approx(unbiased["count"], rel=0.01, abs=0.5)
    pick(page, "Non-negative whole")
    expect(count).to_have_text(shown(whole["count"]))
    expect(page.locator(".more .hint")).to_contain_text("for people to read")
    expect(page.locator(".answer")).to_contain_text("between")  # no ±: it is cut at 0
    view = site.call(f"/releases/{fares}/view?points=200&version=whole")
    cells = page.locator(".figures tbody td:nth-child(2)").all_inner_texts()
    assert len(cells) >= 64
    assert all(cell.replace(",", "").isdigit() for cell in cells)
    assert sum(int(cell.replace(",", "")) for cell in cells) == sum(view["counts"])


def test_pooled_counts_are_shown_first_in_the_version_that_errs_least(
    opened: Opened, site: Any
) -> None:
    release = site.measure("trips", column="fare", epsilon="1/20", strategy="adaptive")
    page = opened(f"#/release/{release}")
    expect(page.get_by_label("Non-negative whole")).to_be_checked()
    whole = site.call(f"/releases/{release}/range?version=whole")
    expect(page.locator(".answer .count")).to_have_text(shown(whole["count"]))
    expect(page.locator(".more .hint")).to_contain_text("at least as often as it says")
    pick(page, "As inferred")
    expect(page.locator(".more .hint")).to_contain_text("share their count evenly")
    expect(page.locator("main")).not_to_contain_text("Right on average")
    link = page.get_by_label("Link to this view")
    expect(link).to_have_value(re.compile("version=unbiased"))
    other = opened(link.input_value().removeprefix(f"{site.address}/"))
    expect(other.get_by_label("As inferred")).to_be_checked()


def test_raw_answers_stand_beside_the_inferred_ones(opened: Opened, site: Any, fares: str) -> None:
    page = opened(f"#/release/{fares}")
    page.get_by_label("See what consistency did").check()
    expect(page.locator(".picture .raw .point").first).to_be_attached()
    expect(page.locator(".note")).to_contain_text("as they were measured")
    pick(page, "Table")
    expect(page.locator(".figures thead")).to_contain_text("as measured")
    points = page.locator(".figures tbody tr").count()
    view = site.call(f"/releases/{fares}/view?points=200&raw=1")
    assert points == len(view["raw"])
    raw = page.locator(".figures tbody td:last-child").all_inner_texts()
    assert raw == [shown(value) for value in view["raw"]]


def test_shares_and_quantiles_are_those_of_the_api(opened: Opened, site: Any, fares: str) -> None:
    page = opened(f"#/release/{fares}")
    pick(page, "Share below")
    expect(page.locator(".picture .band")).to_be_attached()
    expect(page.locator(".note")).to_contain_text("share of the total below")
    page.get_by_label("Shares in %").fill("50")
    page.get_by_role("button", name="Show").click()
    answer = site.call(f"/releases/{fares}/quantiles", {"quantiles": [0.5]})["answers"][0]
    row = page.get_by_role("region", name="Quantiles").locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(f"{answer['value']:.5g}")
    expect(row).to_contain_text(f"{answer['low']:g} to {answer['high']:g}")


def test_what_is_downloaded_is_what_the_api_gives(opened: Opened, site: Any, fares: str) -> None:
    page = opened(f"#/release/{fares}?version=whole")
    for format in ("parquet", "csv", "json", "arrow"):
        page.get_by_label("Format").select_option(format)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Download the counts").click()
        path = f"/releases/{fares}/file?version=whole&format={format}"
        assert saved.value.path().read_bytes() == site.bytes(path)
        assert saved.value.suggested_filename.endswith(f".{format}")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Download the measurement").click()
        path = f"/releases/{fares}/measurement?format={format}"
        assert saved.value.path().read_bytes() == site.bytes(path)
        assert saved.value.suggested_filename.endswith(f".{format}")
    expect(page.get_by_text("Saved as")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download synthetic rows").click()
    assert saved.value.suggested_filename.startswith(f"{fares}.rows.")


def test_a_million_cells_are_drawn_as_two_hundred_bars(opened: Opened, site: Any) -> None:
    release = site.measure("trips", column="metres", epsilon="1/10", strategy="tree")
    page = opened(f"#/release/{release}")
    sizes: list[int] = []
    page.on("response", lambda r: sizes.append(len(r.body())) if "/view?" in r.url else None)
    note = page.locator(".note")
    expect(note).to_contain_text("1,000,000 of 1,000,000 cells, 8,192 cells a bar")
    for cells in (4096, 2048, 1024, 512):
        page.get_by_role("button", name="Zoom in").click()
        expect(note).to_contain_text(f"{cells:,} cells a bar")
        assert page.locator(".picture .bars .point").count() <= 200
    assert len(sizes) >= 4
    assert max(sizes) < 40_000


def test_a_link_that_was_cut_or_altered_still_opens(opened: Opened, site: Any, fares: str) -> None:
    ends = "range=%5B10%2C20%5D&range=%5B%7B%7D%2Cnull%5D&range=%5B1"
    page = opened(f"#/release/{fares}?version=none&show=x&level=2&{ends}", refused=("400", "404"))
    expect(page.locator(".ranges tbody tr")).to_have_count(1)
    expect(page.locator(".note")).to_contain_text("1,024 of 1,024 cells")
    page.goto(f"{site.address}/#/release/{fares}?low=ten")
    said = site.refused(f"/releases/{fares}/view?low=ten")
    expect(page.get_by_role("alert")).to_contain_text(said)
    page.goto(f"{site.address}/#/release/%E0%A4")
    expect(page.get_by_role("heading", name="This did not work")).to_be_visible()
    page.goto(f"{site.address}/#/nowhere")
    expect(page.get_by_role("heading", name="There is no such view")).to_be_visible()


def test_dates_and_labels_are_ranges_too(opened: Opened, site: Any) -> None:
    days = site.measure("trips", column="day", epsilon="1/10")
    page = opened(f"#/release/{days}")
    page.get_by_label("From", exact=True).fill("2013-02-01")
    page.get_by_label("Up to", exact=True).fill("2013-03-01")
    page.keyboard.press("Enter")
    ends = {"low": "2013-02-01", "high": "2013-03-01"}
    query = urllib.parse.urlencode({**ends, "version": "whole"})  # which pooled counts show first
    answer = site.call(f"/releases/{days}/range?{query}")
    expect(page.locator(".ranges .count")).to_have_text(shown(answer["count"]))
    places = site.measure("trips", column="borough", epsilon="1/10")
    page = opened(f"#/release/{places}")
    page.get_by_label("From", exact=True).select_option("Brooklyn")
    page.get_by_label("Through", exact=True).select_option("Staten Island")
    page.get_by_role("button", name="Count", exact=True).click()
    answer = site.call(f"/releases/{places}/range?low=Brooklyn")
    expect(page.locator(".ranges .range")).to_have_text("Brooklyn … Staten Island")
    expect(page.locator(".ranges .count")).to_have_text(shown(answer["count"]))
    labels = page.locator(".labels tbody th")
    expect(labels.filter(has_text="Queens <i>West</i>")).to_have_count(1)  # words, not markup
    page.get_by_role("button", name="Count Bronx").click()
    answer = site.call(f"/releases/{places}/range?high=Brooklyn")
    expect(page.locator(".ranges tbody tr").nth(1).locator(".range")).to_have_text("Bronx")
    expect(page.locator(".ranges .count").nth(1)).to_have_text(shown(answer["count"]))


def test_degrees_are_drawn_on_logarithmic_axes_with_their_band(opened: Opened, site: Any) -> None:
    release = site.measure("friends", epsilon="1/2", strategy="sorted")
    page = opened(f"#/release/{release}")
    expect(page.locator(".picture .band")).to_be_attached()
    view = site.call(f"/releases/{release}/view?points=600")
    corners = "e => e.getAttribute('d').match(/V/g).length"
    assert page.locator(".picture .line").evaluate(corners) == len(view["counts"]) - 1
    ticks = page.locator(".picture .xtick text").all_text_contents()
    assert {"1", "10", "100"} <= set(ticks)  # logarithmic
    expect(page.locator(".answer")).to_contain_text(shown(view["counts"][0]))
    expect(page.get_by_role("region", name="Ranges")).to_have_count(0)
    expect(page.locator("main")).not_to_contain_text("fractions")  # adaptive counts are whole
    page.get_by_role("radio", name="Table").check()
    first = page.locator(".figures tbody tr").first
    expect(first).to_contain_text(shown(view["counts"][0]))
    file = site.bytes(f"/releases/{release}/file?format=csv").decode().splitlines()
    rows = [line.split(",") for line in file if line[:1].isdigit()]
    largest = next(row for row in rows if row[0] == "1")
    assert float(largest[1]) == view["counts"][0]  # rank 1 is the same group everywhere


def test_a_grid_that_the_owner_measured_is_listed_and_can_be_taken_away(
    opened: Opened, site: Any
) -> None:
    trips = read_config(site.folder / "trueup.toml").datasets["trips"]
    owner = tu.Owner(trips.source, open_ledger(trips))
    fare, day = tu.Axis.regular("fare", 0, 8, 4), tu.Axis.dates("day", "2013-01-01", "2013-01-03")
    owner.measure(tu.GridCounts(fare, day), "1/10")
    page = opened("")
    page.get_by_role("link", name="fare × day").first.click()  # the newest
    expect(page.get_by_role("heading", level=1)).to_have_text("fare × day of Taxi trips")
    expect(page.get_by_text("hats: overlapping windows, 12 cells")).to_be_attached()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download the counts").click()
    release = tu.load(saved.value.path().rename(site.folder / "grid.parquet"))
    assert [axis.name for axis in release.axes] == ["fare", "day"]


def test_without_a_connection_what_is_shown_stays_and_the_page_says_what_to_do(
    opened: Opened, site: Any, fares: str
) -> None:
    page = opened(f"#/release/{fares}", refused=("ERR_",))
    note = page.locator(".note")
    expect(note).to_contain_text("8 cells a bar")
    page.context.set_offline(True)
    expect(page.locator("#banner")).to_contain_text("You are offline")
    page.get_by_role("button", name="Zoom in").click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    expect(note).to_contain_text("8 cells a bar")
    page.context.set_offline(False)
    expect(page.locator("#banner")).to_be_empty()
    page.get_by_role("button", name="Try again").click()
    expect(note).to_contain_text("4 cells a bar")
    expect(page.get_by_role("alert")).to_have_count(0)
