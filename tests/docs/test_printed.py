"""Errors that a page says are printed are those that its snippets print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SAID = re.compile(r"^print\(.*\)  # (.*)$")
SPREAD = re.compile(r"± ([\d.,]+)")
ENDS = re.compile(r"\(95 %: ([\d.,]+) to ([\d.,]+)\)")
PAGES = ["intervals.md", "reconcile.md"]  # errors of least squares: they do not depend on noise


def number(words: str) -> float:
    return float(words.rstrip(".,").replace(",", ""))


@pytest.mark.parametrize("page", PAGES)
def test_errors_that_a_page_shows_are_those_of_its_snippets(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.S)
    lines, told = "\n".join(blocks).splitlines(), dict[int, str]()
    for at, line in enumerate(lines):
        if line.startswith("print("):
            lines[at] = line.replace("print(", f"_told.__setitem__({at}, _printed(", 1)
            lines[at] = re.sub(r"\)(  #.*)?$", "))", lines[at])
    exec("\n".join(lines), {"_told": told, "_printed": lambda *given: " ".join(map(str, given))})
    compared = 0
    for at, line in enumerate("\n".join(blocks).splitlines()):
        said = SAID.match(line)
        if said is None:
            continue
        for shown, printed in zip(SPREAD.findall(said[1]), SPREAD.findall(told[at]), strict=False):
            assert number(shown) == pytest.approx(number(printed), rel=0.01), line
            compared += 1
        for shown_ends, ends in zip(ENDS.findall(said[1]), ENDS.findall(told[at]), strict=False):
            wide, own = (number(high) - number(low) for low, high in (shown_ends, ends))
            assert wide == pytest.approx(own, rel=0.5), line
            compared += 1
    assert compared
