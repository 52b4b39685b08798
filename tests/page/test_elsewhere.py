"""Two releases compared, and the same numbers elsewhere: what is copied runs and says the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import SOURCE

Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def twice(site: Any) -> tuple[str, str]:
    first, second = (
        site.measure("trips", column="fare", epsilon=price, strategy="tree")
        for price in ("1/20", "1/10")
    )
    return first, second


def test_a_question_asked_twice_is_compared_and_combined(
    opened: Opened, site: Any, twice: tuple[str, str]
) -> None:
    first, second = twice
    page = opened(f"#/release/{first}?range=%5B10%2C20%5D")
    card = page.get_by_role("region", name="Compare")
    card.get_by_label("With", exact=True).select_option(second)
    expect(page.locator(".picture .line.other")).to_be_attached()
    body = {"other": second, "ranges": [[None, None], [10, 20]]}
    answers = site.call(f"/releases/{first}/compare", body)["answers"]
    rows = card.locator("tbody tr")
    expect(rows).to_have_count(2)
    for row, answer in zip(rows.all(), answers, strict=True):
        for name in ("first", "second", "combined"):
            expect(row).to_contain_text(f"{round(answer[name]['count']):,}")
        shown = [
            float(text.replace(",", "").replace("−", "-"))
            for text in row.locator("strong").all_inner_texts()
        ]
        assert shown[2] == pytest.approx(shown[0] - shown[1], abs=1e-6)
        assert abs(shown[2] - answer["difference"]["count"]) <= 1
    expect(card).to_contain_text("asked twice")
    again = opened(page.url.removeprefix(f"{site.address}/"))
    expect(again.locator(".picture .line.other")).to_be_attached()
    expect(again.get_by_label("With", exact=True)).to_have_value(second)


def run(command: list[str], folder: Path, site: Any) -> str:
    bin_ = Path(sys.executable).parent
    environment = {
        **os.environ,
        "TRUEUP_TOKEN": site.tokens["ann"],
        "PYTHONPATH": str(SOURCE),
        "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
    }
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_what_is_copied_runs_and_gives_the_numbers_of_the_page(
    opened: Opened, site: Any, twice: tuple[str, str], tmp_path: Path
) -> None:
    release, _ = twice
    page = opened(f"#/release/{release}?version=whole&range=%5B10%2C20%5D&range=%5B20%2Cnull%5D")
    expect(page.locator(".ranges .count")).to_have_count(2)
    counts = [
        int(text.replace(",", "")) for text in page.locator(".ranges .count").all_inner_texts()
    ]
    card = page.get_by_role("region", name="Elsewhere")

    def code(kind: str) -> str:
        card.get_by_role("radio", name=kind).check()
        return card.locator(".code").inner_text()

    told = run([sys.executable, "-c", code("Python")], tmp_path, site)
    assert [int(line.split()[2]) for line in told.splitlines()] == counts
    answers = json.loads(run(["bash", "-c", code("curl")], tmp_path, site))["answers"]
    assert [answer["count"] for answer in answers] == counts
    told = run(["bash", "-c", code("Command line")], tmp_path, site)
    assert [count for count in counts if f"{count:,}" in told] == counts
    cited = code("Citation")
    assert re.search(rf"ε = 0\.05 .* Release {re.escape(release)}", cited)
    assert page.url in cited


def test_by_keyboard_alone_from_signing_in_to_a_downloaded_file(
    opened: Opened, site: Any, twice: tuple[str, str]
) -> None:
    """No mouse: Tab, letters, Enter and arrows."""
    page = opened("", who=None)
    expect(page.get_by_label("Token", exact=True)).to_be_focused()
    page.keyboard.type(site.tokens["ann"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Datasets")).to_be_focused()

    def tab_to(words: str) -> None:
        for _ in range(120):
            page.keyboard.press("Tab")
            name = page.evaluate(
                "(e => e.getAttribute('aria-label') ?? (e.labels?.[0] ?? e).textContent)"
                "(document.activeElement)"
            )
            if name.strip() == words:
                return
        raise AssertionError(f"Tab never came to {words}")

    tab_to("fare")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("fare of Taxi trips")
    expect(page.locator(".picture .bars path").first).to_be_attached()
    tab_to("From")
    page.keyboard.type("10")
    page.keyboard.press("Tab")
    page.keyboard.type("20")
    page.keyboard.press("Enter")
    expect(page.locator(".ranges tbody tr")).to_have_count(1)
    tab_to("Format")
    page.keyboard.type("csv")
    tab_to("Download the counts")
    with page.expect_download() as saved:
        page.keyboard.press("Enter")
    assert saved.value.suggested_filename.endswith(".csv")
    assert saved.value.path().read_text().count("\n") > 1000
