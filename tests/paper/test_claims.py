"""Claims as they are printed."""

from __future__ import annotations

from trueup.paper.claims import Figure, PaperClaim


def test_a_claim_says_whether_it_held() -> None:
    claims = (PaperClaim("good", "1", True), PaperClaim("bad", "2", False))
    text = Figure("f", "F", (), claims, "").text()
    assert "held  good" in text
    assert "NOT HELD  bad" in text
