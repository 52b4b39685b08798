"""Pages of ours, opened in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

_CUT_OFF = """
() => [...document.querySelectorAll("text, h1, h2, p, td, th, caption")].filter((e) => {
  const box = e.getBoundingClientRect();
  const inScroll = e.closest(".scroll") !== null;
  return box.width > 0 && (box.left < -1 || box.top + scrollY < -1 ||
    (!inScroll && box.right > innerWidth + 1));
}).map((e) => e.textContent)
"""


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[[Path], Page]]:
    """Opens a page of ours; fails on a console error, on a request, on text that is cut off.

    Looked at in a window of 400 pixels and then in one of 1280, in which it is left.
    """
    troubles: list[str] = []
    pages: list[Any] = []

    def opening(path: Path) -> Page:
        page = browser.new_page(viewport={"width": 400, "height": 720})
        pages.append(page)
        page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: troubles.append(str(e)))
        page.on("request", lambda r: troubles.append(r.url) if r.url.startswith("http") else None)
        page.goto(path.as_uri())
        page.wait_for_selector(".main-svg")
        for width in (400, 1280):
            page.set_viewport_size({"width": width, "height": 720})
            page.wait_for_timeout(300)
            assert page.evaluate(_CUT_OFF) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
        return page

    yield opening
    for page in pages:
        page.close()
    assert troubles == []
