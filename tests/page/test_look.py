from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

_CUT_OFF = """
() => [...document.querySelectorAll("text, h1, h2, h3, p, td, th, label, button, legend, a")]
  .filter((e) => {
    const box = e.getBoundingClientRect();
    const away = e.closest(".scroll, .skip, .unseen") !== null;
    return box.width > 0 && !away && (box.left < -1 || box.right > innerWidth + 1);
  }).map((e) => e.textContent)
"""

_TOO_WIDE = """
() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("body *")]
  .filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll"))
  .map((e) => e.outerHTML.slice(0, 200))
"""


@pytest.fixture(scope="module")
def views(site: Any) -> dict[str, tuple[str | None, str, str]]:
    """Each view: who looks at it, its address, and what shows that it is there."""
    fares = site.measure("trips", column="fare", epsilon="1/20", strategy="tree")
    other = site.measure("trips", column="fare", epsilon="1/50", strategy="tree")
    friends = site.measure("friends", epsilon="1/4", strategy="sorted")
    places = site.measure("trips", column="borough", epsilon="1/50")
    columns = [{"column": "fare", "cells": 64}, {"column": "borough"}]
    crossed = site.measure("trips", columns=columns, epsilon="1/10")
    words = site.measure("words", keys="word", epsilon="1/2")
    box = "box=%5B%5B8%2C16%5D%2C%5B%22Bronx%22%2C%22Brooklyn%22%5D%5D"
    ranges = "range=%5B10%2C20%5D&range=%5B20%2C40%5D"
    return {
        "sign in": (None, "", "input"),
        "datasets": ("ann", "#/", "h2"),
        "ask": (
            "ann",
            "#/ask/trips?column=fare&strategy=tree&where=borough%20%3D%20%27Bronx%27",
            ".picture .trace",
        ),
        "explore": ("ann", f"#/release/{fares}?raw=1&{ranges}&with={other}", ".picture .bars path"),
        "shares": ("ann", f"#/release/{fares}?show=cdf", ".picture .line"),
        "table": ("ann", f"#/release/{fares}?show=table&raw=1&high=4", ".figures table"),
        "degrees": ("ann", f"#/release/{friends}?raw=1", ".picture .line"),
        "labels": ("ann", f"#/release/{places}", ".labels .bar"),
        "grid": ("ann", f"#/release/{crossed}?{box}", ".picture .cell"),
        "series": (
            "ann",
            "#/series/fares?first=2026-01-08&through=2026-01-14&with=before",
            ".view-series tbody .number",
        ),
        "keys": ("ann", f"#/release/{words}", ".labels .bar"),
        "charges": ("ann", "#/charges", ".picture .line"),
        "owner": ("olga", "#/owner", ".picture .line"),
    }


def settled(page: Page) -> None:
    """Waits until a picture has the width that its place has, and was drawn so."""
    page.wait_for_timeout(200)
    page.wait_for_function(
        """() => [...document.querySelectorAll(".picture")].every((at) =>
          !at.clientWidth || at.closest("details:not([open])") ||
          at.querySelector("svg.chart")?.clientWidth === at.clientWidth)"""
    )
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


NAMES = (
    "sign in", "datasets", "ask", "explore", "shares", "table", "degrees", "labels", "grid",
    "series", "keys", "charges", "owner",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cut_off_or_hard_to_read_or_to_hear(
    opened: Callable[..., Page], views: dict[str, tuple[str | None, str, str]], name: str
) -> None:
    """At 1280 and at 400 pixels, light and dark; axe-core finds no fault.

    TRUEUP_SCREENSHOTS=folder keeps what was seen.
    """
    kept = os.environ.get("TRUEUP_SCREENSHOTS")
    who, address, ready = views[name]
    page = opened(address, who=who)
    expect(page.locator(ready).first).to_be_attached()
    for scheme, width in product(("light", "dark"), (400, 1280)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        assert page.evaluate(_CUT_OFF) == []
        assert page.evaluate(_TOO_WIDE) == []
        if kept:
            file = Path(kept) / f"{name.replace(' ', '-')}-{width}-{scheme}.png"
            page.screenshot(path=file, full_page=True)
        if width == 400:
            continue
        rules = {} if scheme == "light" else {"runOnly": ["color-contrast"]}  # all else is the same
        found = Axe().run(page, options={"resultTypes": ["violations"], **rules})
        faults = found.response["violations"]
        assert [(v["id"], [n["html"][:120] for n in v["nodes"]]) for v in faults] == []


@pytest.mark.parametrize("name", ["explore", "grid", "owner"])
def test_a_phone_shows_every_column_of_a_wide_table_beside_its_name(
    opened: Callable[..., Page], views: dict[str, tuple[str | None, str, str]], name: str
) -> None:
    who, address, _ = views[name]
    page = opened(address, who=who)
    first = page.locator(".stacks tbody tr").first
    expect(first).to_be_attached()
    page.set_viewport_size({"width": 400, "height": 900})
    settled(page)
    wide = "[...document.querySelectorAll('.scroll:has(> .stacks)')]"
    assert (
        page.evaluate(f"{wide}.map((e) => e.scrollWidth - e.clientWidth).filter((d) => d > 0)")
        == []
    )
    heads = page.locator(".stacks").first.locator("thead th").all_text_contents()
    cells = first.locator("td[data-label]")
    labels = cells.evaluate_all("(all) => all.map((e) => getComputedStyle(e, '::before').content)")
    said = [label.partition('" / "')[0].strip('"') for label in labels]
    assert said == [head for head in heads[1:] if head != "remove" and head != "revoke"]
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    assert [(v["id"], v["nodes"][0]["html"][:120]) for v in found.response["violations"]] == []


WORDY = {
    "datasets": ("#/", "h2"),
    "ask": ("#/ask/{name}?column=fare&strategy=tree", ".picture .trace"),
    "filter": ("#/ask/{name}?column=borough&where=borough%20%3D%20%27{name}%27", ".condition"),
    "explore": ("#/release/{name}.{fares}?range=%5B10%2C20%5D", ".picture .bars path"),
    "labels": ("#/release/{name}.{places}", ".labels .bar"),
    "charges": ("#/charges", ".picture .line"),
    "owner": ("#/owner", ".picture .line"),
}


def test_words_of_any_length_leave_the_page_as_wide_as_its_window(
    opened: Callable[..., Page], wordy: Any
) -> None:
    """Whatever people call things: long names wrap, and tables scroll in boxes of their own."""
    (name, *_) = [each["name"] for each in wordy.call("/datasets")["datasets"]]
    numbers = {
        word: wordy.measure(name, column=column, epsilon="1/50").rpartition(".")[2]
        for word, column in (("fares", "fare"), ("places", "borough"))
    }
    for who in (name, name.lower()):
        body = {"more": "1/700000000000007", "reason": f"{name}{name}{name}"}
        wordy.call(f"/datasets/{name}/requests", body, who=who)
    decided = wordy.call("/requests", who="olga")["requests"][0]["number"]
    wordy.call(f"/requests/{decided}", {"decision": "grant"}, who="olga")
    for view, (address, ready) in WORDY.items():
        page = opened(address.format(name=name, **numbers), who="olga", at=wordy)
        expect(page.locator(ready).first).to_be_attached()
        for width in (400, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            settled(page)
            if kept := os.environ.get("TRUEUP_SCREENSHOTS"):
                page.screenshot(path=Path(kept) / f"wordy-{view}-{width}.png", full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view
            assert page.evaluate(_CUT_OFF) == [], view


def test_the_keyboard_reaches_everything_in_order(opened: Callable[..., Page]) -> None:
    page = opened("#/")
    expect(page.get_by_role("heading", name="Datasets")).to_be_focused()
    for _ in range(5):  # back from the heading: sign out, two views, the name, and before them
        page.keyboard.press("Shift+Tab")
    expect(page.locator("#skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    assert page.url.endswith("#/")
    names = []
    for _ in range(12):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert "Ask about fare" in names


def test_the_page_asks_nothing_of_anywhere_else_and_runs_no_script_of_its_own_markup(
    opened: Callable[..., Page], site: Any
) -> None:
    asked: list[str] = []
    page = opened("", who=None)
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    expect(page.get_by_label("Token", exact=True)).to_be_visible()
    assert asked
    assert all(url.startswith(site.address) for url in asked)
    policy = page.request.get(site.address).headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "script-src" not in policy  # so scripts are 'self' alone: no inline, no eval
