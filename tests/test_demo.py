"""The demo: two measurements and a refusal, and what it shows beside the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

import trueup as tu
from trueup.demo import DELAY, EPSILON, KNOWN_PLANES, PLANES, QUESTIONS, _sides, flights, run, truth


def test_the_demo_spends_twice_is_refused_and_reports(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = run(tmp_path)
    words = capsys.readouterr().out
    assert "refused: This costs 1/2; 0 of 1 is left." in words
    assert "add up to the last, exactly: True" in words
    assert len(facts["answers"]) == len(QUESTIONS) == 10
    for answer in facts["answers"]:
        # Exact noise: ±400 counts is more than ten standard errors of any of these ranges.
        assert abs(answer["value"] - answer["truth"]) < 400
    page = browser.new_page()
    page.goto(Path(facts["report"]).as_uri())
    page.wait_for_selector(".main-svg")
    assert page.locator(".main-svg").count() >= 3
    text = page.inner_text("body")
    assert "What consistency buys" in text
    assert "more than 4 hours late" in text


def test_the_truth_is_what_pandas_counts(tmp_path: Path) -> None:
    import pandas as pd

    table = flights(tmp_path)
    frame = pd.read_csv(table, usecols=["dep_delay", "tailnum"], keep_default_na=False)
    late = pd.to_numeric(frame["dep_delay"], errors="coerce").dropna()
    delays, planes = truth(table)
    assert len(frame) == 336_776
    assert len(delays) == DELAY.size
    assert delays.tolist() == np.bincount(late.astype(int) + 60, minlength=DELAY.size).tolist()
    assert KNOWN_PLANES == "tailnum != 'NA'"
    flown = frame["tailnum"][frame["tailnum"] != "NA"].value_counts()
    assert planes[PLANES - len(flown) :].tolist() == sorted(flown)
    assert not planes[: PLANES - len(flown)].any()
    parts = [delays[slice(*DELAY.span(low, high))].sum() for _, low, high in QUESTIONS]
    assert sum(parts[:8]) == parts[-1] == len(late)


def test_the_standard_errors_beside_each_other_are_those_of_dense_algebra() -> None:
    sheet = _sides(EPSILON)
    size = DELAY.size
    flat = 2 / EPSILON**2  # about: the noise of a cell, on the line
    for length, row in zip((1, 10, 60, 240, 1000), sheet.rows, strict=True):
        cells = float(row[1].replace(",", ""))
        assert cells == pytest.approx((float(flat) * length) ** 0.5, rel=0.05)
        assert row[0] == f"{length:,} min"
    paper = tu.TreeCounts(DELAY, branching=2)
    scale = float(paper.height / EPSILON)  # a record is in one node of each level
    p = np.exp(-1 / scale)
    rows = paper.matrix().toarray()
    cells = np.linalg.inv(rows.T @ rows) * 2 * p / (1 - p) ** 2
    prefix = np.zeros((size + 1, size + 1))
    prefix[1:, 1:] = cells.cumsum(axis=0).cumsum(axis=1)
    own = np.diag(prefix)
    for length, row in zip((1, 10, 60, 240, 1000), sheet.rows, strict=True):
        starts = np.arange(0, size - length + 1, max(1, length // 7))
        each = own[starts] + own[starts + length] - 2 * prefix[starts, starts + length]
        assert float(row[3].replace(",", "")) == pytest.approx(each.mean() ** 0.5, rel=0.01)
        raw, best = (float(row[i].replace(",", "")) for i in (2, 4))
        assert raw > float(row[3].replace(",", "")) > best
