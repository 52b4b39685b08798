from __future__ import annotations

from pathlib import Path

import pytest

import trueup as tu
from trueup.pictures.page import report, save_page


def test_words_in_a_report_are_words_not_markup(tmp_path: Path) -> None:
    page = report("<b>x</b>", {"<i>h</i>": ["<script>alert(1)</script>"]})
    assert "<script>alert" not in page
    assert "&lt;b&gt;x" in page
    with pytest.raises(tu.FileError, match="Cannot write"):
        save_page(page, tmp_path / "gone" / "x.html")
