"""A dataset whose ledger counts ρ, on the page: quoted, asked by ± or by ρ, charged and shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import Site, make_site

Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server whose ledgers count ρ."""
    made = make_site(tmp_path_factory.mktemp("many"), deadline=0.3, rho="1/2")
    made.start()
    yield made
    made.kill()


def test_a_measurement_is_quoted_spent_and_shown_in_rho(opened: Opened, many: Any) -> None:
    page = opened("#/ask/trips?column=fare", at=many)
    expect(page.get_by_text("ρ = 0.5 of 0.5 is left, 0 is spent.").first).to_be_visible()
    page.get_by_label("ρ exactly").fill("1/200")
    quoted = many.call("/datasets/trips/quote", {"column": "fare", "rho": "1/200"})
    expect(page.locator(".sentence")).to_have_text(quoted["sentence"])
    expect(page.locator(".cost")).to_contain_text("This costs ρ = 0.005 of the 0.5 that is left.")
    expect(page.locator(".cost")).to_contain_text(f"ε = {quoted['shown']['epsilon']}, δ = 0.000001")
    page.get_by_text("What does ρ mean? One minute").click()
    expect(page.locator(".explain")).to_contain_text("With ρ = 0.005")
    page.get_by_role("button", name=re.compile("and measure$")).click()
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text("Spend ρ = 0.005 for good?")
    asked.get_by_role("button", name=re.compile("^Spend")).click()
    expect(page.get_by_text(re.compile("^ρ = 0.005, "))).to_be_visible()
    (charge,) = many.charges("trips")
    assert (charge["rho"], charge["epsilon"], charge["spent"]) == ("1/200", None, "1/200")
    page = opened("#/charges", at=many)
    card = page.get_by_role("region", name="Charges to Taxi trips")
    expect(card).to_contain_text("ρ = 0.495 of 0.5 is left")
    expect(card.get_by_role("columnheader", name="ρ")).to_be_visible()
    page = opened("#/", at=many)
    shown = many.call("/datasets/trips")["shown"]
    expect(page.get_by_text(f"as (ε, δ): ε = {shown['epsilon']}").first).to_be_visible()


def test_a_wished_error_is_found_in_rho(opened: Opened, many: Any) -> None:
    page = opened("#/ask/trips?column=fare&rho=0.001", at=many)
    expect(page.locator(".sentence")).to_contain_text("±")
    page.get_by_label("± you want").fill("60")
    found = page.get_by_label("ρ exactly")
    expect(found).not_to_have_value("0.001")
    expect(page.locator(".sentence")).to_contain_text("±60")
    body = {"column": "fare", "rho": str(Fraction(found.input_value()))}
    assert 58 < many.call("/datasets/trips/quote", body)["strategies"][0]["typical_95"] <= 60


def test_the_owner_gives_allowances_in_rho(opened: Opened, many: Any) -> None:
    page = opened("#/owner", who="olga", at=many)
    form = page.locator("form", has_text="A new token")
    form.get_by_label("Name").fill("bo")
    form.get_by_label("Limit of ρ").fill("1/50")
    form.get_by_role("button", name="Create the token").click()
    expect(form).to_contain_text("The token of bo")
    tokens = page.get_by_role("region", name="Tokens")
    expect(tokens).to_contain_text("trips: ρ = 0 of 0.02")
