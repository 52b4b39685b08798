"""What the page says of users with many rows, and of bins without an end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from .conftest import Site, make_site

CAPPED = "At most 3 rows of each user are counted: true totals may be higher."
DATASET = """
[datasets.incomes]
source = "incomes.parquet"
ledger = "incomes.ledger"
limit = "4"
unit = "user"
rows_per_unit = 3
axes.income = { kind = "edges", edges = [0, 10000, 50000, 250000, inf] }
"""


@pytest.fixture(scope="module")
def incomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("incomes")
    made = make_site(folder, deadline=0.3)
    draws = np.random.default_rng(1)
    table = {"user": np.arange(4000) // 5, "income": draws.lognormal(10.5, 1.2, 4000)}
    pq.write_table(pa.table(table), folder / "incomes.parquet")
    with (folder / "trueup.toml").open("a") as config:
        config.write(DATASET)
    made.token("uma", "analyst", "3")  # who may ask the new table, too
    made.tokens["ann"] = made.tokens["uma"]
    made.start()
    yield made
    made.kill()


def test_bins_without_an_end_and_users_with_many_rows_are_told(
    opened: Callable[..., Page], incomes: Site
) -> None:
    release = incomes.measure("incomes", column="income", epsilon="1", strategy="flat")
    page = opened(f"#/release/{release}", at=incomes)
    expect(page.locator("main")).to_contain_text(CAPPED)
    picture = page.locator(".picture")
    expect(picture.locator(".xtick text").last).to_have_text("250,000 and more")
    expect(picture.locator(".bars .point path")).to_have_count(4)
    page.get_by_label("From", exact=True).fill("50000")
    page.get_by_role("button", name="Count", exact=True).click()
    found = page.locator(".ranges tbody tr").first
    expect(found.locator(".range")).to_have_text("50,000 and more")
    answer = incomes.call(f"/releases/{release}/range?low=50000")
    assert answer["range"] == [50000, None]
    expect(found.locator(".count")).to_have_text(f"{round(answer['count']):,}")
    page.goto(f"{incomes.address}/#/ask/incomes")
    expect(page.locator("main")).to_contain_text("true totals may be higher")
