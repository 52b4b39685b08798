from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from playwright.sync_api import Page, expect

from trueup.server.auth import Tokens

Opened = Callable[..., Page]


def test_a_token_is_shown_once_works_and_stops_when_it_is_revoked(
    opened: Opened, site: Any
) -> None:
    page = opened("#/owner", who="olga")
    tokens = page.get_by_role("region", name="Tokens", exact=True)
    tokens.get_by_label("Name").fill("eve")
    tokens.get_by_label("Limit of ε").fill("1/2")
    tokens.get_by_role("button", name="Create the token").click()
    expect(tokens).to_contain_text("It is shown only once")
    site.tokens["eve"] = tokens.locator(".secret").inner_text()
    assert site.call("/me", who="eve")["role"] == "analyst"
    expect(tokens.get_by_role("row", name=re.compile("^eve "))).to_contain_text(
        "trips: ε = 0 of 0.5"
    )
    hers = opened("#/", who="eve", refused=("401",))
    expect(hers.get_by_role("heading", name="Datasets")).to_be_visible()

    tokens.get_by_role("button", name="Revoke the token of eve").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(tokens.get_by_role("row", name=re.compile("^eve "))).to_contain_text("revoked")
    said = site.refused("/me", who="eve")
    hers.locator("a[href='#/ask/trips?column=fare']").click()
    expect(hers.get_by_role("alert")).to_have_text(f"You are signed out. {said}")
    expect(hers.get_by_label("Token", exact=True)).to_be_focused()
    page.reload()
    expect(page.get_by_role("heading", name="Owner")).to_be_visible()
    assert site.tokens["eve"] not in page.content()


def test_a_token_that_is_good_no_longer_leads_back_to_signing_in_and_then_to_the_same_view(
    opened: Opened, site: Any
) -> None:
    site.token("late", "reader")
    page = opened("#/", who="late", refused=("401",))
    expect(page.get_by_role("heading", name="Datasets")).to_be_visible()
    Tokens(site.folder / "trueup.tokens").revoke("late")
    page.goto(f"{site.address}/#/charges")
    said = site.refused("/me", who="late")
    expect(page.get_by_role("alert")).to_have_text(f"You are signed out. {said}")
    page.get_by_label("Token", exact=True).fill(site.tokens["ann"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="My charges")).to_be_visible()


def test_charges_limits_and_the_ledger_are_as_the_api_has_them(opened: Opened, site: Any) -> None:
    site.measure("friends", epsilon="1/4", strategy="sorted")
    page = opened("#/owner", who="olga")
    card = page.get_by_role("region", name="Charges to Friendships")
    charges = site.charges("friends")
    made = card.get_by_role("table", name="Charges").locator("tbody tr")
    expect(made).to_have_count(len(charges))
    expect(made.first).to_contain_text("ann")
    left = Fraction(site.call("/datasets/friends")["remaining"])
    expect(card).to_contain_text(f"{float(left):g} of 4 is left")
    expect(card.locator(".picture .line")).to_be_attached()
    card.get_by_role("button", name="Verify the ledger").click()
    expect(card.locator(".good")).to_contain_text("entries")


def test_an_analyst_sees_only_charges_of_his_own(opened: Opened, site: Any) -> None:
    site.token("new", "analyst", "1")
    page = opened("#/charges", who="new")
    card = page.get_by_role("region", name="Charges to Taxi trips", exact=True)
    expect(card).to_contain_text("Nothing has been charged")
    expect(card).to_contain_text("1 of 1 is left")
    page = opened("#/owner", who="new")
    expect(page.locator("main")).to_contain_text("Only the owner can see this view")


def test_a_reader_explores_and_may_not_spend(opened: Opened, site: Any) -> None:
    release = site.measure("friends", epsilon="1/8", strategy="sorted")
    site.token("rita", "reader")
    page = opened("#/", who="rita")
    expect(page.get_by_role("heading", name="Datasets")).to_be_visible()
    expect(page.get_by_role("link", name="Ask about fare")).to_have_count(0)
    page.goto(f"{site.address}/#/release/{release}")
    expect(page.locator(".picture .line").first).to_be_attached()
    page.goto(f"{site.address}/#/ask/trips")
    expect(page.locator("main")).to_contain_text("It cannot spend")


def test_a_wrong_token_and_a_wrong_allowance_are_blamed_in_their_fields(
    opened: Callable[..., Page],
) -> None:
    page = opened("", who=None, refused=("401",))
    token = page.get_by_label("Token", exact=True)
    token.fill("trueup_nobody")
    page.get_by_role("button", name="Sign in").click()
    expect(token).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("alert")).to_contain_text("Your token does not allow this")
    page = opened("#/owner", who="olga", refused=("400",))
    allowance = page.get_by_role("textbox", name="Allowance of ann on trips")
    allowance.fill("much")
    page.get_by_role("button", name="Set the allowance of ann on trips").click()
    expect(allowance).to_have_attribute("aria-invalid", "true")
    allowance.fill("3")
    page.get_by_role("button", name="Set the allowance of ann on trips").click()
    expect(page.get_by_text("ann may spend ε = 3 in all")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
