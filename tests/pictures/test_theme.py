"""The words under every picture: what was paid, who is protected, and whether anyone is."""

from __future__ import annotations

import pytest

import trueup as tu
from trueup.facts import Facts
from trueup.pictures.theme import CURVES, caption, headline, price, stamp

QUESTION = tu.CellCounts(3)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (Facts.of(QUESTION, "1/7"), "ε = 1/7 · protects one row, added or removed"),
        (
            Facts.of(QUESTION, 1, "replace", "user", 3),
            "ε = 1 · protects one user, replaced · at most 3 rows of each user are counted: true "
            "totals may be higher",
        ),
        (Facts(), ""),
    ],
)
def test_a_picture_says_what_was_paid_and_for_whom(facts: Facts, said: str) -> None:
    assert price(facts) == said
    assert stamp(facts) == ""


def test_an_experiment_is_stamped_and_a_unit_is_text() -> None:
    facts = Facts.of(QUESTION, 1, unit="<b>x</b>", private=False)
    assert caption(facts).endswith("<b>NOT PRIVATE: an experiment</b>")
    assert "&lt;b&gt;x" in caption(facts)
    assert "&lt;i&gt;" in headline("<i>", "note")["text"]


def test_curves_have_colours_of_their_own() -> None:
    assert len(set(CURVES)) == len(CURVES) == 8
