"""The docs as a site: it builds without a warning, its links lead somewhere, nothing is fetched."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
FETCHED = {("link", "href"), ("img", "src"), ("script", "src"), ("iframe", "src")}
FETCHED |= {("source", "src"), ("video", "src"), ("object", "data"), ("embed", "src")}


class Read(HTMLParser):
    """The links, the names and the fetched files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.names.add(value)
            if name in ("href", "src", "data") and tag != "base":
                self.links.append(value)
            if (tag, name) in FETCHED:
                self.fetched.append(value)
            if name in ("srcset", "poster", "background"):
                self.fetched.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return folder


def pages(site: Path) -> Iterator[tuple[Path, Read]]:
    for path in sorted(site.rglob("*.html")):
        if path.name != "404.html":  # its links begin at a server's root
            yield path, Read(path.read_text(encoding="utf-8"))


def test_every_link_and_picture_leads_to_something_that_is_there(site: Path) -> None:
    read = dict(pages(site))
    assert len(read) > 35
    lost = []
    for path, page in read.items():
        for link in page.links:
            to = urlsplit(link)
            if to.scheme or to.netloc:
                continue
            target = (path.parent / unquote(to.path)).resolve() if to.path else path
            if target.is_dir():
                target /= "index.html"
            known = read[target].names if target in read else {unquote(to.fragment)}
            if not target.is_file() or (to.fragment and unquote(to.fragment) not in known):
                lost.append(f"{path.name}: {link}")
    assert lost == []


def test_no_page_names_a_file_on_another_machine(site: Path) -> None:
    for path, page in pages(site):
        assert [url for url in page.fetched if re.match(r"(https?:)?//", url)] == [], path.name
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", text), style.name


def test_pages_read_from_the_disk_fetch_nothing_and_the_slider_moves_the_bars(
    site: Path, browser: Browser
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_offline(True)
    asked: list[str] = []
    troubles: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    for name in ("index", "tutorial", "notebook", "reference", "epsilon"):
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_load_state("load")
        assert page.locator("h1").first.is_visible()
        drawn = page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
        assert drawn, f"a picture of {name} does not show"
    slider = page.frame_locator("iframe").locator("#epsilon")
    words, bars = [], []
    slider.evaluate("() => { document.getElementById('pause').click() }")
    for step in ("0", "9"):
        slider.fill(step)
        frame = page.frame_locator("iframe")
        words.append(frame.locator("#words").inner_text())
        bars.append([bar.get_attribute("height") for bar in frame.locator("rect").all()])
    assert "141" in words[0]
    assert "50.25 %" in words[0]
    assert "100 %" not in words[1]
    assert bars[0] != bars[1]
    context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert troubles == []
