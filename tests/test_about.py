"""Words for people, and words that are not known."""

from __future__ import annotations

from pathlib import Path

import pytest

import trueup as tu
from trueup.about import WORDS, About, RegionsFile, about, refuse_unknown


def test_every_word_is_kept(tmp_path: Path) -> None:
    regions = {"file": "towns.geojson", "key": "name"}
    said = {"title": "Town", "description": "Where.", "units": "towns", "regions": regions}
    assert set(said) == set(WORDS)
    file = RegionsFile(tmp_path / "towns.geojson", "name")
    assert about(said, tmp_path) == About("Town", "Where.", "towns", file)
    assert about({}, tmp_path) == About()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("limt", "limt is not known. Did you mean limit? Known: limit, ledger."),
        ("LEDGER", "LEDGER is not known. Did you mean ledger?"),
        ("colour", "colour is not known. Known: limit, ledger."),
    ],
)
def test_a_word_that_is_not_known_is_refused_with_the_nearest(given: str, says: str) -> None:
    refuse_unknown(["limit", "ledger"], ["limit", "ledger"])
    with pytest.raises(tu.InputError) as refused:
        refuse_unknown(["limit", given], ["limit", "ledger"])
    assert str(refused.value).startswith(says)
