"""Keys that nobody can list, on the page: asked, listed, searched, looked up, opened as a tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

Opened = Callable[..., Page]


def test_keys_are_asked_for_at_a_price_that_is_confirmed(opened: Opened, site: Any) -> None:
    page = opened("#/")
    card = page.get_by_role("region", name="Searches")
    expect(card).to_contain_text("keys: text of up to 6 characters, from a–z (321,272,407 keys)")
    card.get_by_role("link", name="Ask about word").click()
    price = page.get_by_label("ε exactly")
    price.fill("1/4")
    quote = {"keys": "word", "epsilon": "1/4"}
    said = site.call("/datasets/words/quote", quote)
    expect(page.locator(".sentence")).to_contain_text(said["sentence"][2:])
    page.get_by_role("button", name="Spend 0.25 and measure").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("publishes those that are shown")
    dialog.get_by_role("button", name="Spend 0.25").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("word of Searches")
    release = page.url.rpartition("/")[2]
    told = site.call(f"/releases/{release}/keys")
    expect(page.locator(".answer .count")).to_have_text(f"{told['sum']['count']:,}")
    expect(page.locator(".labels tbody tr").first).to_contain_text(told["keys"][0]["key"])
    expect(page.locator(".labels tr.others .number")).to_have_text(f"{told['others']:,}")
    assert site.charges("words")[-1]["kind"] == "keys"


def test_a_wrong_filter_is_blamed_in_its_field(opened: Opened) -> None:
    page = opened("#/keys/words?keys=word&epsilon=1/4", refused=("400",))
    page.get_by_label("Only rows where").fill("word = 3")
    expect(page.get_by_role("alert")).to_contain_text("word")
    expect(page.get_by_label("Only rows where")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Only rows where").fill("age >= 18")
    expect(page.get_by_role("button", name="Spend 0.25 and measure")).to_be_enabled()


def test_keys_are_searched_paged_and_looked_up(opened: Opened, site: Any) -> None:
    release = site.measure("words", keys="word", epsilon=1)
    told = site.call(f"/releases/{release}/keys")
    page = opened(f"#/release/{release}", refused=("400",))
    rows = page.locator(".labels tbody tr:not(.others)")
    expect(rows).to_have_count(25)
    page.get_by_role("button", name=re.compile("^Show .* more of")).click()
    expect(rows).to_have_count(min(50, told["shown"]))
    page.get_by_label("Search").fill("AK")
    page.wait_for_url(re.compile("find=AK"))
    expect(rows).to_have_count(site.call(f"/releases/{release}/keys?find=ak")["total"])
    expect(page.locator(".labels tr.others")).to_have_count(0)
    best = site.call(f"/releases/{release}/top")["keys"]
    ranked = page.get_by_role("region", name="The highest counts").locator("tbody tr")
    expect(ranked).to_have_count(10)
    for row, one in zip(ranked.all(), best, strict=True):
        places = f"{one['first']} to {one['last']}"
        expect(row).to_contain_text(one["key"])
        expect(row).to_contain_text(places if one["first"] < one["last"] else str(one["first"]))
    card = page.get_by_role("region", name="One key")
    card.get_by_label("Key").fill("zzzz")
    card.get_by_role("button", name="Look up").click()
    most = site.call(f"/releases/{release}/key?key=zzzz")["high"]
    expect(card).to_contain_text(f"zzzz is not shown: it has at most {most:,}")
    card.get_by_label("Key").fill("NO KEY")
    card.get_by_role("button", name="Look up").click()
    expect(card.get_by_role("alert")).to_contain_text("no key of the universe")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Picture as SVG").click()
    assert saved.value.suggested_filename == f"{release}.svg"


def test_a_tree_of_prefixes_is_opened_level_by_level(opened: Opened, site: Any) -> None:
    release = site.measure("words", keys="hosts", epsilon=1)
    page = opened(f"#/release/{release}")
    page.get_by_role("button", name="10.0.0.0/8").click()
    page.get_by_role("button", name="10.1.0.0/16").click()
    count = site.call(f"/releases/{release}/prefixes?at=10.1.0.0/16")["count"]
    expect(page.locator(".answer .count")).to_have_text(f"{count:,}")
    page.get_by_role("navigation", name="Level").get_by_role("button", name="all").click()
    total = site.call(f"/releases/{release}/prefixes")["count"]
    expect(page.locator(".answer .count")).to_have_text(f"{total:,}")


def test_a_measurement_that_waits_is_not_forgotten_for_one_of_keys(
    opened: Opened, site: Any
) -> None:
    page = opened("#/")
    sent = '{"key": "0123456789", "by": "ann", "dataset": "trips", "body": {"column": "fare"}}'
    page.evaluate(f"sessionStorage.setItem('trueup.pending', '{sent}')")
    page.goto(f"{site.address}/#/keys/words?keys=word")
    expect(page.locator(".cost")).to_contain_text("Fetch the answer that is waiting first")
    expect(page.get_by_role("button", name="Spend")).to_have_count(0)
    expect(page.get_by_role("link", name="Fetch the answer")).to_be_visible()
    assert page.evaluate("sessionStorage.getItem('trueup.pending')") == sent
