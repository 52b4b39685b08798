from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

import trueup as tu
from trueup.demo import QUESTIONS, run
from trueup.pictures.page import report, save_page


def test_the_demo_spends_twice_is_refused_and_reports(
    opened: Callable[[Path], Page], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = run(tmp_path)
    words = capsys.readouterr().out
    assert "refused: This costs 1/2; 0 of 1 is left." in words
    assert "add up to the last, exactly: True" in words
    assert len(facts["answers"]) == len(QUESTIONS) == 10
    for answer in facts["answers"]:
        # Exact noise: ±400 counts is more than ten standard errors of any of these ranges.
        assert abs(answer["value"] - answer["truth"]) < 400
    page = opened(Path(facts["report"]))
    assert page.locator(".main-svg").count() >= 3
    text = page.inner_text("body")
    assert "What consistency buys" in text
    assert "more than 4 hours late" in text


def test_words_in_a_report_are_words_not_markup(tmp_path: Path) -> None:
    page = report("<b>x</b>", {"<i>h</i>": ["<script>alert(1)</script>"]})
    assert "<script>alert" not in page
    assert "&lt;b&gt;x" in page
    with pytest.raises(tu.FileError, match="Cannot write"):
        save_page(page, tmp_path / "gone" / "x.html")
