"""The answer comes first: on the first screen, at once, and in few bytes; Back undoes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page, expect

Opened = Callable[..., Page]
MOST_BYTES = 600_000
FIRST_PAINT = 1000.0  # milliseconds


@pytest.fixture(scope="module")
def fares(site: Any) -> str:
    return str(site.measure("trips", column="fare", epsilon="1/20", strategy="tree"))


@pytest.mark.parametrize(("width", "height", "fold"), [(1280, 800, 600), (400, 800, 800)])
def test_the_number_and_the_chart_are_on_the_first_screen(
    opened: Opened, fares: str, width: int, height: int, fold: int
) -> None:
    page = opened(f"#/release/{fares}?range=%5B10%2C20%5D")
    page.set_viewport_size({"width": width, "height": height})
    page.reload()
    expect(page.locator(".picture .bars path").first).to_be_attached()
    expect(page.locator(".answer .count")).to_be_visible()
    page.wait_for_timeout(300)
    for part in (".answer .count", ".answer .spread", ".picture svg.chart"):
        box = page.locator(part).bounding_box()
        assert box
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= fold, part
    size = page.locator(".answer .count").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert size >= 30
    if width == 1280:  # one thin line of tools
        tools = page.locator(".toolbar").bounding_box()
        assert tools
        assert tools["height"] < 50


def test_the_large_number_is_the_total_until_a_range_is_chosen(
    opened: Opened, site: Any, fares: str
) -> None:
    page = opened(f"#/release/{fares}")
    total = site.call(f"/releases/{fares}/range")
    expect(page.locator(".answer .count")).to_have_text(f"{round(total['count']):,}")
    page.get_by_label("From", exact=True).fill("10")
    page.get_by_label("Up to", exact=True).fill("20")
    page.keyboard.press("Enter")
    part = site.call(f"/releases/{fares}/range?low=10&high=20")
    expect(page.locator(".answer .count")).to_have_text(f"{round(part['count']):,}")
    share = f"{round(100 * part['count'] / total['count'], 1):g}"
    expect(page.locator(".ranges .share")).to_contain_text(f"{share}\u00a0%")
    page.get_by_role("button", name="Clear all").click()
    expect(page.locator(".answer .count")).to_have_text(f"{round(total['count']):,}")
    expect(page.locator(".ranges tbody tr")).to_have_count(0)


def test_back_undoes_and_forward_does_again(opened: Opened, fares: str) -> None:
    page = opened(f"#/release/{fares}")
    note = page.locator(".note")
    expect(note).to_contain_text("1,024 of 1,024 cells")
    page.get_by_label("From", exact=True).fill("10")
    page.get_by_label("Up to", exact=True).fill("20")
    page.keyboard.press("Enter")
    expect(page.locator(".ranges tbody tr")).to_have_count(1)
    expect(page.locator(".picture .mark")).to_have_count(1)
    page.get_by_role("button", name="Zoom in").click()
    expect(note).to_contain_text("512 of 1,024 cells")
    page.get_by_role("radio", name="Non-negative whole").check()
    expect(page.locator(".answer")).to_contain_text("between")
    page.go_back()
    expect(page.get_by_role("radio", name="Unbiased")).to_be_checked()
    page.go_back()
    expect(note).to_contain_text("1,024 of 1,024 cells")
    page.go_back()
    expect(page.locator(".ranges tbody tr")).to_have_count(0)
    page.go_forward()
    expect(page.locator(".ranges tbody tr")).to_have_count(1)


def test_the_first_chart_takes_few_bytes_and_is_painted_at_once_and_kept(
    browser: Browser, site: Any, fares: str
) -> None:
    window = browser.new_context()
    window.add_cookies([site.session("ann")])
    page = window.new_page()
    wire = page.context.new_cdp_session(page)
    wire.send("Network.enable")
    sizes: list[float] = []
    wire.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(f"{site.address}/#/release/{fares}")
    expect(page.locator(".picture .bars path").first).to_be_attached()
    page.wait_for_timeout(300)
    assert len(sizes) > 10
    assert sum(sizes) <= MOST_BYTES
    print(f"{sum(sizes):,.0f} bytes in {len(sizes)} answers")
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    assert page.evaluate(paint) <= FIRST_PAINT
    print(f"first paint {page.evaluate(paint):.0f} ms")
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    kept = page.context.new_page()
    asked: list[int] = []
    kept.on("response", lambda r: asked.append(r.status) if not r.from_service_worker else None)
    kept.goto(f"{site.address}/#/release/{fares}")
    expect(kept.locator(".picture .bars path").first).to_be_attached()
    scripts = kept.evaluate(
        "performance.getEntriesByType('resource').filter((r) => r.name.includes('/static/'))"
        ".map((r) => r.transferSize)"
    )
    assert scripts
    assert sum(scripts) == 0  # all of them from the browser's own keeping
    window.close()


def test_the_picture_is_saved_as_svg_and_png(opened: Opened, fares: str) -> None:
    page = opened(f"#/release/{fares}")
    expect(page.locator(".picture .bars path").first).to_be_attached()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Picture as SVG").click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert "var(--" not in text
    bars = ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}g")
    assert sum(1 for bar in bars if bar.get("class", "").startswith("point")) == 128
    with page.expect_download() as saved:
        page.get_by_role("button", name="Picture as PNG").click()
    data = saved.value.path().read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[16:20], "big") > 1500  # twice as fine as the screen
