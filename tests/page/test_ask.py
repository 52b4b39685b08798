from __future__ import annotations

import re
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from playwright.sync_api import Page, Route, expect

Opened = Callable[..., Page]


def spend(page: Page) -> None:
    page.get_by_role("button", name=re.compile("and measure$")).click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Spend")).click()


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_a_wrong_token_is_refused_in_the_servers_words_and_a_good_one_lets_in(
    opened: Opened, site: Any
) -> None:
    page = opened(who=None, refused=("401",))
    token = page.get_by_label("Token", exact=True)
    expect(token).to_be_focused()
    token.fill("not a token")
    page.keyboard.press("Enter")
    site.tokens["nobody"] = "not-a-token"
    said = site.refused("/me", who="nobody")
    expect(page.get_by_role("alert")).to_have_text(said)
    token.fill(site.tokens["ann"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Datasets")).to_be_focused()
    card = page.get_by_role("region", name="Taxi trips", exact=True)
    expect(card).to_contain_text("Protects one row")
    left = Fraction(site.call("/datasets/trips")["remaining"])
    expect(card).to_contain_text(f"{float(left):g} of 4 is left")
    page.get_by_role("button", name="Sign out").click()
    expect(token).to_be_visible()
    page.reload()
    expect(token).to_be_visible()


def test_what_is_quoted_is_charged_and_what_was_asked_is_published(
    opened: Opened, site: Any
) -> None:
    before = site.charges("trips")
    page = opened("#/ask/trips?column=fare")
    asked = {"column": "fare", "epsilon": "1/50", "strategy": "tree", "range": [0, 64]}
    page.get_by_label("ε exactly").fill("1/50")
    page.get_by_label("Up to", exact=True).fill("64")
    page.get_by_text("ways compared").click()
    page.get_by_text("best tree").click()
    quoted = site.call("/datasets/trips/quote", asked)
    expect(page.locator(".sentence")).to_have_text(quoted["sentence"])
    rows = page.locator(".strategies label")
    assert rows.count() == len(quoted["strategies"]) >= 4
    expect(page.locator(".picture .trace")).to_have_count(rows.count())
    page.get_by_role("button", name="Spend 0.02 and measure").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("fare from the start up to 64 in 512 cells")
    expect(dialog).to_contain_text("cannot be taken back")
    dialog.get_by_role("button", name="Cancel").click()
    assert len(site.charges("trips")) == len(before)
    spend(page)
    expect(page.get_by_role("heading", name="fare of Taxi trips", exact=True)).to_be_visible()
    made = site.charges("trips")[len(before) :]
    assert [(c["column"], c["epsilon"], c["cells"], c["strategy"]) for c in made] == [
        ("fare", "1/50", 512, "tree")
    ]
    assert page.url.endswith(f"#/release/{made[0]['release']}")
    assert page.evaluate("sessionStorage.getItem('trueup.pending')") is None


def test_the_slider_works_by_keyboard_and_is_heard(opened: Opened) -> None:
    page = opened("#/ask/trips?column=day")
    slider = page.get_by_label("ε, the price")
    expect(page.locator(".sentence")).to_contain_text("±")
    slider.focus()
    page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "ε = 0.001")
    expect(page.get_by_label("ε exactly")).to_have_value("0.001")
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "ε = 0.002")
    expect(page.get_by_role("button", name="Spend 0.002 and measure")).to_be_visible()
    expect(page.locator("#announcer")).to_contain_text("for ε = 1/500")
    page.get_by_label("ε exactly").fill("a little")
    expect(page.locator(".sentence")).to_contain_text("must be a positive number")
    expect(page.get_by_role("button", name=re.compile("and measure"))).to_have_count(0)


def test_a_question_that_cannot_be_asked_is_answered_in_the_servers_words(
    opened: Opened, site: Any
) -> None:
    page = opened("#/ask/trips?column=fare", refused=("400",))
    page.get_by_label("Up to", exact=True).fill("63.3")
    asked = {"column": "fare", "range": [None, 63.3], "epsilon": "0.1"}
    said = site.refused("/datasets/trips/quote", asked)
    end = page.get_by_label("Up to", exact=True)
    expect(page.locator(".field", has=end).get_by_role("alert")).to_have_text(said)
    expect(end).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".sentence")).to_have_text("Change what is marked.")
    end.fill("64")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_text("Only some of the rows").click()
    where = page.get_by_label("Where", exact=True)
    where.fill("nothing = 3")
    expect(page.locator(".field", has=where).get_by_role("alert")).to_contain_text("nothing")


def test_when_the_budget_runs_out_nothing_is_charged_and_the_page_says_so(
    opened: Opened, site: Any
) -> None:
    site.token("poor", "analyst", "1/10")
    page = opened("#/ask/trips?column=day", who="poor", refused=("409",))
    page.get_by_label("ε exactly").fill("0.2")
    expect(page.get_by_role("alert")).to_contain_text("This costs 1/5; 1/10 is left for you.")
    page.get_by_label("ε exactly").fill("0.1")
    expect(page.get_by_role("button", name="Spend 0.1 and measure")).to_be_visible()
    site.call(  # another of his tabs is quicker
        "/datasets/trips/measure",
        {"column": "day", "epsilon": "1/20"},
        who="poor",
        Idempotency_Key="quicker-by-far",
    )
    before = len(site.charges("trips"))
    spend(page)
    expect(page.get_by_role("alert")).to_contain_text("1/20")
    expect(page.locator("main")).to_contain_text("nothing was charged")
    assert len(site.charges("trips")) == before
    page.get_by_role("button", name="Change the question").click()
    expect(page.get_by_label("ε exactly")).to_be_visible()


def test_a_refused_question_comes_back_whole_and_its_address_holds_it(
    opened: Opened, site: Any
) -> None:
    site.token("short", "analyst", "1/10")
    page = opened("#/ask/trips?column=fare", who="short", refused=("409",))
    page.get_by_label("From", exact=True).fill("16")
    page.get_by_label("Up to", exact=True).fill("80")
    cells = page.get_by_label("Cells", exact=True)
    expect(cells.get_by_role("option", name="256")).to_be_attached()
    cells.select_option("256")
    page.get_by_text("Only some of the rows").click()
    page.get_by_label("Where", exact=True).fill("borough = 'Bronx'")
    page.get_by_label("ε exactly").fill("1/13")
    page.get_by_text("ways compared").click()
    page.get_by_role("radio", name=re.compile("cells alone")).check()
    expect(page.get_by_role("button", name="Spend 1/13 and measure")).to_be_enabled()
    site.call(  # another tab is quicker
        "/datasets/trips/measure",
        {"column": "day", "epsilon": "1/20"},
        who="short",
        Idempotency_Key="quicker-than-whole",
    )
    spend(page)
    expect(page.get_by_role("alert")).to_contain_text("1/20 of your own 1/10 is left")
    page.get_by_role("button", name="Change the question").click()

    def whole(page: Page) -> None:
        expect(page.get_by_label("From", exact=True)).to_have_value("16")
        expect(page.get_by_label("Up to", exact=True)).to_have_value("80")
        expect(page.get_by_label("Cells", exact=True)).to_have_value("256")
        expect(page.get_by_label("Where", exact=True)).to_have_value("borough = 'Bronx'")
        expect(page.get_by_label("ε exactly")).to_have_value("1/13")
        expect(page.get_by_role("radio", name=re.compile("cells alone"))).to_be_checked()

    whole(page)
    expect(page.get_by_role("alert")).to_contain_text("1/20 is left for you")
    whole(opened(page.url.removeprefix(f"{site.address}/"), who="short"))


def test_a_lost_answer_is_fetched_again_under_its_key_and_charged_once(
    opened: Opened, site: Any
) -> None:
    before = site.charges("trips")
    page = opened("#/ask/trips?column=borough", refused=("ERR_",))
    keys: list[str | None] = []

    def lose(route: Route) -> None:
        keys.append(route.request.header_value("Idempotency-Key"))
        if len(keys) == 1:  # never reaches the server
            route.abort("connectionfailed")
        elif len(keys) == 2:  # reaches it, and the answer is lost on its way back
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/measure", lose)
    page.get_by_label("ε exactly").fill("0.01")
    expect(page.get_by_role("button", name="Spend 0.01 and measure")).to_be_visible()
    spend(page)
    lost = page.get_by_role("alert")
    expect(lost).to_contain_text("cannot be reached")
    expect(lost).to_contain_text("you are charged once")
    expect(page.get_by_role("heading", name="borough of Taxi trips", exact=True)).to_be_visible()
    made = site.charges("trips")[len(before) :]
    assert len(made) == 1
    assert len(keys) == 3
    assert len(set(keys)) == 1
    again = site.call(
        "/datasets/trips/measure",
        {"column": "borough", "epsilon": "0.01", "strategy": "best"},
        Idempotency_Key=str(keys[0]),
    )
    assert again["release"] == made[0]["release"]
    assert len(site.charges("trips")) == len(before) + 1


def test_a_reload_in_the_middle_finds_the_same_measurement(opened: Opened, site: Any) -> None:
    before = site.charges("trips")
    page = opened("#/ask/trips?column=borough", refused=("ERR_",))
    page.route("**/measure", lambda route: route.abort("connectionfailed"))
    page.get_by_label("ε exactly").fill("0.01")
    expect(page.get_by_role("button", name="Spend 0.01 and measure")).to_be_visible()
    spend(page)
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    key = page.evaluate("JSON.parse(sessionStorage.getItem('trueup.pending')).key")
    page.goto(f"{site.address}/#/")
    expect(page.locator("#banner")).to_contain_text("its answer has not arrived")
    page.unroute("**/measure")
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, site.tokens["olga"])  # under another name the key would be charged again
    page.goto(f"{site.address}/#/ask/trips")
    expect(page.get_by_label("ε exactly")).to_be_visible()
    expect(page.locator("#banner")).to_be_empty()
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, site.tokens["ann"])
    with page.expect_request("**/measure") as sent:
        page.get_by_role("link", name="Fetch the answer").click()
    assert sent.value.header_value("Idempotency-Key") == key
    expect(page.get_by_role("heading", name="borough of Taxi trips", exact=True)).to_be_visible()
    assert len(site.charges("trips")) == len(before) + 1
    expect(page.locator("#banner")).to_be_empty()


def test_a_server_killed_in_the_middle_of_a_measurement_answers_once_it_is_back(
    opened: Opened, fragile: Any
) -> None:
    page = opened("#/ask/friends", at=fragile, refused=("ERR_",))
    page.get_by_label("ε exactly").fill("0.5")
    with page.expect_request("**/measure"):
        spend(page)
    until = time.monotonic() + 120
    while not fragile.charges("friends") and time.monotonic() < until:
        time.sleep(0.05)  # charged before it is counted; the answer has not left
    charged = fragile.charges("friends")
    assert [charge["epsilon"] for charge in charged] == ["1/2"]
    fragile.kill()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    fragile.start()
    degrees = page.get_by_role("heading", name="Degrees of Friendships, sorted", exact=True)
    expect(degrees).to_be_visible()
    after = fragile.charges("friends")
    assert len(after) == 1
    assert page.url.endswith(f"#/release/{after[0]['release']}")
    stored = fragile.bytes(f"/releases/{after[0]['release']}/measurement")
    page.get_by_label("Format").select_option("parquet")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download the measurement").click()
    assert saved.value.path().read_bytes() == stored


def test_no_script_can_read_who_is_signed_in_and_a_new_tab_is_signed_in_too(
    opened: Opened, site: Any
) -> None:
    page = opened(who=None)
    sign_in(page, site.tokens["ann"])
    page.get_by_role("heading", name="Datasets").wait_for()
    kept = page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert site.tokens["ann"] not in kept
    assert page.evaluate("localStorage.length") == 0
    assert page.evaluate("document.cookie") == ""
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert cookie["value"] != site.tokens["ann"]
    other = page.context.new_page()
    other.goto(site.address)
    expect(other.get_by_role("heading", name="Datasets")).to_be_visible()
    other.close()


def test_a_key_that_paid_for_another_question_does_not_keep_the_page_waiting(
    opened: Opened, site: Any
) -> None:
    """The owner has changed what "best" means while an answer was on its way."""
    page = opened("#/", refused=("409",))
    sent = '{"key": "0123456789", "by": "ann", "dataset": "trips", "body": {"column": "fare"}}'
    page.evaluate(f"sessionStorage.setItem('trueup.pending', '{sent}')")
    refusal = {"code": "key_conflict", "detail": "This key was used for a different request."}
    page.route("**/measure", lambda route: route.fulfill(status=409, json=refusal))
    page.goto(f"{site.address}/#/ask/trips")
    expect(page.get_by_role("alert")).to_contain_text("used for a different request")
    expect(page.get_by_role("region", name="Progress")).to_contain_text("stays charged")
    assert page.evaluate("sessionStorage.getItem('trueup.pending')") is None
    page.get_by_role("button", name="Change the question").click()
    expect(page.get_by_label("ε exactly")).to_be_visible()
