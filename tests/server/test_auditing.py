"""A server of ours is audited over the wire, as anybody's mechanism is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from trueup.cli.auditing import InputOptions, _served


def test_every_draw_is_a_measurement_of_its_own_that_is_paid(server: Any) -> None:
    here, there = f"{server.url}/trips", f"{server.url}/trips/"
    given = InputOptions(against=there, column="age", token=server.secrets["ana"])
    before = server.spent("trips")
    target, (pair,) = _served(here, given, "1/10")
    found = target.run(pair.first, 2)
    assert found.shape == (2, 100)
    assert (found[0] != found[1]).any()
    assert target.run(pair.second, 1).shape == (1, 100)
    assert server.spent("trips") - before == Fraction(3, 10)
