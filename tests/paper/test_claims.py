"""Tables and claims as they are printed."""

from __future__ import annotations

from trueup.paper.claims import Claim, Figure, Table, shown


def test_columns_line_up_under_combining_marks() -> None:
    text = Table("t", ("size", "H̃", "H̄"), ((2, 1.5, 12_345.6), (1_024, 0.25, 3.0))).text()
    lines = [line.replace("\u0303", "").replace("\u0304", "") for line in text.splitlines()[1:]]
    assert len({len(line) for line in lines}) == 1


def test_markdown_has_a_cell_for_each_value() -> None:
    rows = Table("t", ("a", "b"), ((1, 2), (3, 4))).markdown().splitlines()[2:]
    assert all(row.count("|") == 3 for row in rows)


def test_numbers_are_short() -> None:
    assert [shown(v) for v in (12_345, 12_345.6, 0.012345, 0.0, "x", float("nan"))] == [
        "12,345",
        "12,346",
        "0.0123",
        "0",
        "x",
        "–",
    ]


def test_a_claim_says_whether_it_held() -> None:
    claims = (Claim("good", "1", True), Claim("bad", "2", False))
    text = Figure("f", "F", (), claims, "").text()
    assert "held  good" in text
    assert "NOT HELD  bad" in text
