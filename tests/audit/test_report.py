"""The report: it says all, escapes all, and fetches nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trueup.audit import (
    Claim,
    Effort,
    Pair,
    Target,
    examine,
    page,
    write_page,
)

ONE_MORE = [Pair(10, 11, "one more")]


def laplace(scale: float, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    return lambda count, times: count + rng.laplace(0, scale, times)


def test_the_page_says_it_all_and_fetches_nothing(tmp_path: Path) -> None:
    named = Target("<script>alert(1)</script>", lambda x, n: laplace(0.2)(x, n)[:, None])
    found = examine(named, ONE_MORE, Claim.of(1), Effort(4000))
    write_page(found, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    assert html == page(found)
    assert "<script" not in html
    assert "http" not in html
    assert "FALSE" in html
    for word in ("certified lower bound", "one more", "Clopper", "never\nclear it"):
        assert word in html
