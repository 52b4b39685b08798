"""Numbers for Prometheus, over all workers."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from trueup.server.metrics import Metrics


def test_the_counts_of_all_workers_are_added_up_and_those_that_ended_stay(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('[["GET", "/health", 200, 3]]')
    (tmp_path / "2.json").write_text('[["GET", "/health", 200, 4], ["GET", "/", 200, 1]]')
    own = Metrics(tmp_path)
    own.requests["GET", "/health", 200] = 5
    assert own.all_requests() == {("GET", "/health", 200): 12, ("GET", "/", 200): 1}
    assert own.all_requests()["GET", "/health", 200] == 12  # its own file is not added twice


def test_budgets_are_those_of_the_ledgers(server: Any) -> None:
    release = server.measured("for-the-metrics", epsilon="1/4")
    assert release
    said = server("boss").get("/metrics").text
    assert f'trueup_budget_spent{{dataset="trips"}} {float(server.spent("trips"))!r}' in said
    assert 'trueup_budget_limit{dataset="friends"} 100.0' in said
    lines = [line for line in said.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r'\w+\{(\w+="[^"]*",?)+\} [0-9.e+-]+', line) for line in lines)


def test_where_each_day_has_a_limit_the_fullest_is_told(serving_in: Any, tmp_path: Path) -> None:
    with serving_in(tmp_path, series=True) as standing:
        days = standing("boss").get("/api/v1/datasets/daily/periods").json()["periods"]
        most = max(Fraction(day["spent"]) for day in days)
        standing.measured("a-little", dataset="daily", period="2031-01-01", epsilon="1/100")
        said = standing("boss").get("/metrics").text
    assert f'trueup_budget_spent{{dataset="daily",per="day"}} {float(most)!r}' in said
    assert 'trueup_budget_limit{dataset="daily",per="day"} 3.0' in said
