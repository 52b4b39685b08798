"""Tables to be read: they line up, lose no value, and words in them are words."""

from __future__ import annotations

from xml.etree import ElementTree

from trueup.pictures.sheet import Sheet, shown


def test_columns_line_up_under_combining_marks() -> None:
    text = Sheet("t", ("size", "H̃", "H̄"), ((2, 1.5, 12_345.6), (1_024, 0.25, 3.0))).text()
    lines = [line.replace("\u0303", "").replace("\u0304", "") for line in text.splitlines()[1:]]
    assert len({len(line) for line in lines}) == 1


def test_markdown_has_a_cell_for_each_value() -> None:
    rows = Sheet("t", ("a", "b"), ((1, 2), (3, 4))).markdown().splitlines()[2:]
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
    assert [shown(v) for v in (34.0, 7.2, 99.96, -2.0, 1e-7)] == [
        "34.0",
        "7.20",
        "100",
        "-2.00",
        "1.00e-07",
    ]


def test_numbers_in_words_stand_to_the_right_as_numbers_do() -> None:
    lines = Sheet("t", ("what", "±"), (("a", "1,234 ± 5"), ("bb", "7 ± 1"))).text().splitlines()
    assert lines[-2:] == ["a     1,234 ± 5", "bb        7 ± 1"]


def test_a_page_shows_words_and_never_markup() -> None:
    page = Sheet("<b>t</b>", ("<i>", "n"), (("<script>x</script>", 12_345),)).html()
    root = ElementTree.fromstring(page)
    assert [cell.text for cell in root.iter("td")] == ["<script>x</script>", "12,345"]
    assert [cell.text for cell in root.iter("caption")] == ["<b>t</b>"]
