"""The messages that the page on troubleshooting explains are those that a user sees."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import trueup as tu

PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
HEADINGS = [text.strip("… ") for text in re.findall(r"^## “(.+)”$", PAGE, re.MULTILINE)]


def no_edge(_: Path) -> None:
    tu.publish([1.0], tu.Axis.regular("fare", 0, 10, bins=5), epsilon=1).range(1.0, 4.0)


def too_dear(folder: Path) -> None:
    ledger = tu.Ledger(folder / "x.ledger", limit=1)
    ledger.spend({"question": "first"}, "7/10", draw=lambda: b"noisy")
    ledger.spend({"question": "second"}, "1/2", draw=lambda: b"noisy")


def not_its_own(_: Path) -> None:
    print(tu.publish([1], tu.Axis.integers("age", 0, 3), epsilon=1).total().std_error)


def compared(_: Path) -> None:
    release = tu.publish([1], tu.Axis.integers("age", 0, 3), epsilon=1)
    print(release.range(0, 2) > release.range(2, 4))


def text(_: Path) -> None:
    tu.Axis.integers("age", 0, 99).count(np.array(["34", "unknown"]))


@pytest.mark.parametrize("mistake", [no_edge, too_dear, not_its_own, compared, text])
def test_a_message_is_explained_under_its_own_words(
    mistake: Callable[[Path], None], tmp_path: Path
) -> None:
    with pytest.raises(tu.TrueupError) as refused:
        mistake(tmp_path)
    assert [heading for heading in HEADINGS if heading in str(refused.value)], refused.value


def test_every_quoted_heading_is_tried() -> None:
    assert len(HEADINGS) == 5
