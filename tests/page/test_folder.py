"""A release in a folder, larger than memory, on the page: zoomed, asked, taken away."""

from __future__ import annotations

import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import trueup as tu
from trueup.config import read_config
from trueup.server.auth import open_ledger

from .test_elsewhere import run
from .test_explore import drag, interval, pick, shown

Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def metres(site: Any) -> str:
    """A million cells that the owner published into a folder, while the server runs."""
    dataset = read_config(site.folder / "trueup.toml").datasets["trips"]
    ledger = open_ledger(dataset)
    owner = tu.Owner(site.folder / "trips.parquet", ledger)
    axis = dataset.axes["metres"]
    owner.publish(axis, "1/10", nonnegative=False, to=site.folder / "metres")
    return f"trips.{ledger.history()[-1].entry}"


def test_a_folder_is_zoomed_from_all_cells_to_single_ones(
    opened: Opened, site: Any, metres: str
) -> None:
    page = opened(f"#/release/{metres}")
    expect(page.locator(".answer .count")).not_to_be_empty()
    pick(page, "zooms")
    cells, wide = 10**6, 2
    while wide > 1:
        with page.expect_response(lambda answer: "/view?" in answer.url) as seen:
            drag(page, 0.4, 0.45)
        assert seen.value.status == 200
        view = seen.value.json()
        assert view["cells"][-1] - view["cells"][0] < cells / 4
        cells, wide = view["cells"][-1] - view["cells"][0], view["cells_per_point"]
    expect(page.locator(".note")).to_contain_text(f"{view['edges'][0]:,}".rstrip("0").rstrip("."))
    with page.expect_response(lambda answer: "/cdf?" in answer.url) as seen:
        pick(page, "Share below")
    assert seen.value.status == 200
    expect(page.locator(".picture .line").first).to_be_attached()


def test_ranges_and_quantiles_of_a_folder_are_those_of_the_api(
    opened: Opened, site: Any, metres: str
) -> None:
    page = opened(f"#/release/{metres}?range=%5B1000%2C60000%5D")
    answer = site.call(f"/releases/{metres}/range?low=1000&high=60000")
    row = page.locator(".ranges tbody tr").first
    expect(row.locator(".count")).to_have_text(shown(answer["count"]))
    expect(row).to_contain_text(interval(answer))
    quantiles = page.get_by_role("region", name="Quantiles")
    quantiles.get_by_label("Shares in %").fill("50")
    quantiles.get_by_role("button", name="Show").click()
    expect(quantiles.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_label("See what consistency did")).to_have_count(0)
    expect(page.get_by_role("radio", name="Non-negative whole")).to_have_count(0)


def test_a_folder_is_downloaded_and_what_is_copied_runs(
    opened: Opened, site: Any, metres: str, tmp_path: Path
) -> None:
    page = opened(f"#/release/{metres}?range=%5B1000%2C60000%5D")
    saves = page.get_by_role("link", name="Download the folder, 25 MB")
    with page.expect_download() as saved:
        saves.click()
    assert saved.value.suggested_filename == f"{metres}.tar"
    with tarfile.open(saved.value.path()) as packed:
        packed.extractall(tmp_path, filter="data")
    found = tu.load(tmp_path / metres, tu.Release)
    count = found.range(1000, 60000).value
    expect(page.locator(".ranges .count")).to_have_text(shown(count))
    card = page.get_by_role("region", name="Elsewhere")

    def code(kind: str) -> str:
        card.get_by_role("radio", name=kind).check()
        return card.locator(".code").inner_text()

    for name in ("python", "shell"):
        (tmp_path / name).mkdir()
    told = run([sys.executable, "-c", code("Python")], tmp_path / "python", site)
    assert float(told.split()[2]) == count
    told = run(["bash", "-c", code("Command line")], tmp_path / "shell", site)
    assert f"{round(count):,}" in told
